// `tock skip` and `tock move`: what they do to one occurrence, what they say, and what they refuse.
import { describe, expect, it } from 'vitest';
import { openOnce } from '../../support/open.js';
import { openCliHarness, words } from '../cli-harness.js';

const harness = openOnce(openCliHarness, async harness => {
  await harness.tock(['tick']);
  await harness.tock(words(`schedule add berlin --job greet --cron '30 2 * * *' --timezone Europe/Berlin`));
  await harness.tock(['schedule', 'add', 'follows', '--job', 'greet', '--after', 'berlin']);
});
const skip = (...args: string[]) => harness.tock(['skip', ...args]);
const move = (...args: string[]) => harness.tock(['move', ...args]);

describe('tock skip and tock move', () => {
  it('say what they have done, by whom, and how to undo it', async () => {
    const skipped = await skip('berlin', '2032-01-10', '--note', 'nobody \u001B[31mthere');
    expect(skipped.stderr).toBe('');
    expect(skipped.stdout).toMatch(
      /^the occurrence 2032-01-10 02:30 \(2032-01-10T01:30:00Z\) of berlin is skipped by \S+: nobody there\nto undo it: tock skip berlin 2032-01-10T01:30:00Z --undo\n$/,
    );
    const moved = await move('berlin', '2032-01-11T02:30', '2032-01-11T09:00', '--note', 'late data');
    expect(moved.stdout).toMatch(
      /^the occurrence 2032-01-11 02:30 \(2032-01-11T01:30:00Z\) of berlin is moved to 2032-01-11 09:00 \(2032-01-11T08:00:00Z\), in .*, by \S+: late data\nto undo it: tock move berlin 2032-01-11T01:30:00Z --undo\n$/,
    );
    expect((await skip('berlin', '2032-01-10')).stdout).toContain('is already skipped by');
    const again = await move('berlin', '2032-01-10', '2032-01-10T04:00');
    expect(again.stdout).toMatch(/\nbefore, it was skipped by \S+: nobody there\n/);
    expect(await harness.json(['skip', 'berlin'])).toMatchObject({
      exceptions: [
        { kind: 'move', occurrence: '2032-01-10T01:30:00.000Z', movedTo: '2032-01-10T03:00:00.000Z' },
        { kind: 'move', note: 'late data', isDue: false, hasEffect: true },
      ],
    });
    expect((await skip('berlin')).stdout).toMatch(
      /^2032-01-10 02:30 \(2032-01-10T01:30:00Z\): moved to .*\n2032-01-11 .*: late data\n$/,
    );
  });

  it('are shown by tock next and tock why, before the time', async () => {
    const next = await harness.tock(['next', 'berlin', '--from', '2032-01-10T00:00:00Z', '--count', '2']);
    expect(next.stdout).toMatch(/Sat 2032-01-10 02:30 CET .* moved to 2032-01-10 04:00 .* by /);
    const why = await harness.tock(['why', 'berlin', '2032-01-11T02:30']);
    expect(why.stdout).toMatch(
      /it was moved from 2032-01-11 02:30 \(2032-01-11T01:30:00Z\) to 2032-01-11 09:00 \(2032-01-11T08:00:00Z\) by \S+: late data/,
    );
    const there = await harness.tock(['why', 'berlin', '2032-01-11T09:00']);
    expect(there.stdout).toMatch(/the occurrence 2032-01-11 02:30 .* was moved here by \S+: late data/);
  });

  it('are undone by --undo', async () => {
    expect((await move('berlin', '2032-01-10', '--undo')).stdout).toBe(
      'the occurrence 2032-01-10 02:30 (2032-01-10T01:30:00Z) of berlin is no longer moved: it is as the schedule says\n',
    );
    expect((await skip('berlin', '2032-01-11', '--undo')).stdout).toContain('is no longer moved');
    expect((await skip('berlin')).stdout).toBe('no occurrence of berlin is to be skipped or was moved\n');
    const { code, stderr } = await skip('berlin', '2032-01-11', '--undo');
    expect(stderr).toContain(
      'the occurrence 2032-01-11 02:30 (2032-01-11T01:30:00Z) of "berlin" is neither skipped nor moved',
    );
    expect(code).toBe(1);
  });

  it('work for a definition in code', async () => {
    const { code, stdout } = await skip('nightly', '2032-06-01');
    expect(stdout).toContain('of nightly is skipped');
    expect(code).toBe(0);
    expect((await harness.tock(['audit', '--target', 'nightly'])).stdout).toMatch(
      /skipped the occurrence 2032-06-01T06:30:00Z of nightly/,
    );
  });

  it('know the nights on which the clocks change', async () => {
    // 02:30 happens twice on 26 October 2031, and the first pass is the occurrence.
    expect((await skip('berlin', '2031-10-26T02:30')).stdout).toContain('2031-10-26T00:30:00Z');
    // It does not exist on 30 March 2031, and happens at 03:30.
    expect((await skip('berlin', '2031-03-30T02:30')).stdout).toContain(
      '2031-03-30 03:30 (2031-03-30T01:30:00Z)',
    );
    const twice = await move('berlin', '2031-10-25', '2031-10-26T02:15');
    expect(twice.stderr).toBe(
      'tock move: 2031-10-26 02:15 happens twice in Europe/Berlin; write which: 2031-10-26T00:15:00Z or 2031-10-26T01:15:00Z\n',
    );
    const never = await move('berlin', '2031-03-29', '2031-03-30T02:15');
    expect(never.stderr).toBe(
      'tock move: 2031-03-30 02:15 does not exist in Europe/Berlin: the clocks go from 02:00 to 03:00; write another time\n',
    );
    expect([twice.code, never.code]).toEqual([2, 2]);
  });

  it.each([
    [
      ['skip', 'berlin', '2032-01-10T02:31'],
      /"berlin" has no occurrence then: .*the previous one is 2032-01-10 02:30 .*, the next one is 2032-01-11 02:30/,
      2,
    ],
    [
      ['skip', 'steady', '2032-01-10'],
      /which one of "steady"\? 2032-01-10 in UTC has more than one occurrence: .*; write one of them, such as 2032-01-10T01:00:00Z/,
      2,
    ],
    [['skip', 'berlin', 'soon'], /"soon" is not a time; write an instant/, 2],
    [['skip', 'berlin', '2025-01-10'], /of "berlin" has passed/, 1],
    [
      ['move', 'berlin', '2032-01-10', '2025-01-10T00:00'],
      /has passed \(the database has .*\); write a later time, or run it now: tock run berlin/,
      2,
    ],
    [
      ['move', 'berlin', '2032-01-10', '2032-01-11'],
      /2032-01-11 is a whole day; write a time too, such as 2032-01-11T09:00/,
      2,
    ],
    [['move', 'berlin', '2032-01-10', '2032-01-10T02:30'], /is the time at which it occurs/, 2],
    [['skip', 'berlin', '--note', 'x'], /--note needs a time/, 2],
    [
      ['skip', 'brelin', '2032-01-10'],
      /there is no definition "brelin" in the database; did you mean berlin\?/,
      2,
    ],
    [
      ['skip', 'follows', '2032-01-10'],
      /"follows" has no times of its own: it runs after berlin.*; skip or move the occurrence there/,
      1,
    ],
    [['skip', 'greet', '2032-01-10'], /"greet" has no schedule, and so no occurrences/, 1],
  ])('refuse %j', async (args, message, expected) => {
    const { code, stdout, stderr } = await harness.tock(args);
    expect(stderr).toMatch(message);
    expect(stdout).toBe('');
    expect(code).toBe(expected);
  });

  it('say that a paused definition makes no runs', async () => {
    await harness.tock(['pause', 'berlin']);
    const { stderr } = await skip('berlin', '2032-02-02');
    expect(stderr).toContain('berlin is paused: it makes no runs until tock resume berlin');
    await harness.tock(['resume', 'berlin']);
  });
});
