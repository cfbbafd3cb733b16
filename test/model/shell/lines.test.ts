// Model: the output of a command as lines, however it comes in pieces.
import { describe, expect, it } from 'vitest';
import { LineReader } from '../../../src/model/shell/lines.js';

function read(...chunks: readonly (string | Buffer)[]) {
  const lines: string[] = [];
  const progress: string[] = [];
  const reader = new LineReader(
    text => lines.push(text),
    text => progress.push(text),
  );
  for (const chunk of chunks) reader.push(Buffer.from(chunk as string));
  reader.end();
  return { lines, progress };
}

describe('LineReader', () => {
  it('gives each line once, and the last one without a line end', () => {
    expect(read('one\ntwo\n\nthree').lines).toEqual(['one', 'two', '', 'three']);
    expect(read('').lines).toEqual([]);
    expect(read('\n').lines).toEqual(['']);
  });

  it('puts lines together, wherever the pieces were cut, also within a character', () => {
    const text = 'first\r\nsecönd\nprogress 1%\rprogress 99%\r\nläst';
    const whole = ['first', 'secönd', 'progress 99%', 'läst'];
    const bytes = Buffer.from(text);
    for (let size = 1; size <= bytes.length; size++) {
      const pieces = Array.from({ length: Math.ceil(bytes.length / size) }, (_, index) =>
        bytes.subarray(index * size, (index + 1) * size),
      );
      expect(read(...pieces).lines).toEqual(whole);
    }
  });

  it('keeps what a terminal would show of a line that was overwritten, and reports each version at once', () => {
    expect(read('10%\r20%\r30%\n')).toEqual({ lines: ['30%'], progress: ['10%', '20%', '30%'] });
    expect(read('10%\r')).toEqual({ lines: ['10%'], progress: ['10%'] });
    expect(read('a\r\r\nb')).toEqual({ lines: ['a', 'b'], progress: ['a', 'b'] });
  });

  it('cuts a long line, and says by how much', () => {
    const [line = ''] = read('x'.repeat(4000), 'x'.repeat(4000), `${'y'.repeat(50)}\nnext`).lines;
    expect(line).toBe(`${'x'.repeat(6000)}… (2050 more bytes)`);
    expect(read('x'.repeat(6001), '\nnext').lines[1]).toBe('next');
    expect(read(`${'x'.repeat(6000)}\n`).lines).toEqual(['x'.repeat(6000)]);
  });

  it('replaces what is not UTF-8', () => {
    expect(read(Buffer.from([0x61, 0xff, 0x00, 0x62, 0x0a])).lines).toEqual(['a\uFFFD\0b']);
  });
});
