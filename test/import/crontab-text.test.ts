// Changes of a crontab's text: the block of the tick, lines that are commented out, and what is shown of it.
import { describe, expect, it } from 'vitest';
import { lineChanges } from '../../src/model/crontab/line-changes.js';
import { switchedLines, switchOff, switchOn } from '../../src/model/crontab/switched-lines.js';
import { readBlock, withBlock, withoutBlock } from '../../src/model/crontab/tick-block.js';
import { CRONTABS } from './crontabs.js';

const LINE = '* * * * * cd /srv/app && node tick';

describe('the block of the tick', () => {
  it.each(['', '# mine\n', 'A=1\n\n0 1 * * * x\n'])('goes to the end, and leaves no trace: %j', text => {
    const installed = withBlock(text, '/srv/app', [LINE]);
    expect(installed).toBe(`${text}# BEGIN tock /srv/app\n${LINE}\n# END tock /srv/app\n`);
    expect(readBlock(installed, '/srv/app')).toEqual([LINE]);
    expect(withoutBlock(installed, '/srv/app')).toBe(text);
  });

  it('ends a last line that has no end, since cron would not run it', () => {
    expect(withBlock('0 1 * * * x', '/a', [LINE])).toBe(
      `0 1 * * * x\n# BEGIN tock /a\n${LINE}\n# END tock /a\n`,
    );
  });

  it('is replaced in its place, and nothing around it', () => {
    const before = `# one\r\n# BEGIN tock /srv/app\nold\nolder\n# END tock /srv/app\n\n\xFF two`;
    const after = withBlock(before, '/srv/app', [LINE]);
    expect(after).toBe(`# one\r\n# BEGIN tock /srv/app\n${LINE}\n# END tock /srv/app\n\n\xFF two`);
    expect(withBlock(after, '/srv/app', [LINE])).toBe(after);
    expect(withoutBlock(after, '/srv/app')).toBe('# one\r\n\n\xFF two');
  });

  it('is one for each folder', () => {
    const both = withBlock(withBlock('', '/a', ['1']), '/b', ['2']);
    expect(readBlock(both, '/a')).toEqual(['1']);
    expect(withoutBlock(both, '/a')).toBe(withBlock('', '/b', ['2']));
    expect(readBlock(both, '/c')).toBeNull();
    expect(withoutBlock(both, '/c')).toBe(both);
  });

  it.each([
    ['# BEGIN tock /a\nx\n', /line 1 .* has no end|line 1 .* no end/],
    ['x\n# END tock /a\n', /line 2 .* no beginning/],
    ['# BEGIN tock /a\n# BEGIN tock /b\n# END tock /b\n', /line 2 .* inside the one of line 1/],
    ['# BEGIN tock /a\n# END tock /b\n', /line 2 .* does not end the block of line 1/],
    ['# BEGIN tock /a\n# END tock /a\n# BEGIN tock /a\n# END tock /a\n', /line 3 .* second block/],
  ])('is not touched where its markers are damaged: %j', (text, message) => {
    for (const change of [
      () => withBlock(text, '/a', [LINE]),
      () => withoutBlock(text, '/a'),
      () => readBlock(text, '/a'),
    ])
      expect(change).toThrow(message);
  });

  it('refuses a folder that no line can hold', () => {
    expect(() => withBlock('', '/a\nb', [LINE])).toThrow(/line end in its name/);
  });
});

describe('lines that are commented out', () => {
  it('come back byte for byte', () => {
    for (const { text } of CRONTABS) {
      const all = text.split('\n').map((_, index) => index + 1);
      for (const lines of [[], [1], [2, 3], all]) expect(switchOn(switchOff(text, lines))).toBe(text);
    }
  });

  it('are marked, and counted', () => {
    const text = 'A=1\n0 1 * * * x\r\n# c\n0 2 * * * y';
    const off = switchOff(text, [2, 4]);
    expect(off).toBe('A=1\n#tock# 0 1 * * * x\r\n# c\n#tock# 0 2 * * * y');
    expect(switchedLines(off)).toEqual([2, 4]);
    expect(switchedLines(text)).toEqual([]);
  });
});

it('lineChanges shows what goes and what comes', () => {
  expect(lineChanges('a\nb\nc\n', 'a\nx\nc\n')).toEqual([
    { sign: '-', line: 'b' },
    { sign: '+', line: 'x' },
  ]);
  expect(lineChanges('a\n', 'a\nb\nc\n')).toEqual([
    { sign: '+', line: 'b' },
    { sign: '+', line: 'c' },
  ]);
  expect(lineChanges('a\na\nb\n', 'a\nb\n')).toEqual([{ sign: '-', line: 'a' }]);
  expect(lineChanges('', '')).toEqual([]);
});
