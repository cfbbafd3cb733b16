// Which occurrences in a data interval lack a run, and what a run waits for, in words.
import { describe, expect, it } from 'vitest';
import {
  awaitedIn,
  type InInterval,
  intervalText,
  lackingOf,
} from '../../../src/model/flow/interval-wait.js';
import { compileSchedule } from '../../../src/model/schedule/compile.js';

const HOUR = 3_600_000;
const run = { from: 0, to: 24 * HOUR, on: 'success' } as const;
const hours = compileSchedule({ cron: '0 * * * *' }, 'hourly');
const hourly = (more: Partial<InInterval> = {}): InInterval => ({
  run: '9',
  name: 'hourly',
  id: '1',
  hasTimes: true,
  stop: null,
  cursor: 23 * HOUR,
  next: 24 * HOUR,
  runs: [],
  skipped: [],
  ...more,
});
const skip = (first: number, last: number, more = {}) => ({
  id: `${100 + last}`,
  first: first * HOUR,
  last: last * HOUR,
  reason: 'overlap',
  standsForThem: null,
  ...more,
});
const caughtUp = (id: string) =>
  skip(3, 5, { reason: 'catchup', standsForThem: { id, at: 6 * HOUR, status: 'succeeded' } });
const lacking = (more: Partial<InInterval>, on: 'success' | 'completion' = 'success') =>
  lackingOf({ ...run, on }, hourly(more), hours).map(each =>
    each.why === 'skipped' ? each.at / HOUR : each.why,
  );

describe('lackingOf', () => {
  it.each([
    ['no such definition', { id: null }, ['unknown']],
    ['an occurrence before the end that no tick has considered', { next: 23 * HOUR }, ['due']],
    ['one that was never planned', { next: Number.NEGATIVE_INFINITY }, ['due']],
    ['a pause, before it had considered all', { next: 23 * HOUR, stop: 'paused' }, ['paused']],
    ['a pause after that', { stop: 'paused' }, []],
    ['a removal before the end', { next: null, stop: 'vanished', cursor: 5 * HOUR }, ['vanished']],
    ['a removal after it', { next: null, stop: 'vanished', cursor: 24 * HOUR }, []],
    [
      'broken before the end, without a calendar',
      { next: null, stop: 'broken', cursor: 5 * HOUR },
      ['broken'],
    ],
    ['broken after it', { next: null, stop: 'broken', cursor: 24 * HOUR }, []],
    ['a schedule that is over', { next: null }, []],
    ['a chain', { next: null, hasTimes: false }, ['timeless']],
    ['the boundary belongs to the next interval', { next: 24 * HOUR }, []],
  ] as const)('%s', (_, more, expected) => {
    expect(lacking(more)).toEqual(expected);
  });

  it('is what was skipped, and has no run', () => {
    const runs = [{ id: '5', at: 4 * HOUR, status: 'queued' }] as const;
    expect(lacking({ skipped: [skip(3, 5)], runs })).toEqual([3, 5]);
    expect(lacking({ skipped: [skip(3, 5)], runs }, 'completion')).toEqual([]);
  });

  it('is only what lies in the interval', () => {
    expect(lacking({ skipped: [skip(-5, 1), skip(23, 30)] })).toEqual([0, 1, 23]);
  });

  it('is nothing of what a run stands for, or an operator has skipped', () => {
    expect(lacking({ skipped: [caughtUp('77')] })).toEqual([]);
    expect(lacking({ skipped: [skip(4, 4, { reason: 'excepted' })] })).toEqual([]);
    expect(lacking({ skipped: [skip(3, 5), skip(4, 4, { reason: 'excepted' })] })).toEqual([3, 5]);
  });

  it('names the first of a span where its schedule cannot be evaluated', () => {
    expect(lackingOf(run, hourly({ skipped: [skip(3, 5)] }), null)).toEqual([
      { why: 'skipped', at: 3 * HOUR, reason: 'overlap' },
    ]);
  });
});

it('awaitedIn names each run once, and what stands for others', () => {
  const runs = [{ id: '5', at: HOUR, status: 'queued' }] as const;
  expect(awaitedIn([hourly({ runs, skipped: [caughtUp('5'), caughtUp('8')] })])).toEqual(['5', '8']);
});

describe('intervalText', () => {
  const text = (more: Partial<InInterval>, on: 'success' | 'completion' = 'success') => {
    const each = hourly(more);
    return intervalText({ on }, each, lackingOf({ ...run, on }, each, hours), at => `${at / HOUR}:00`);
  };
  const runs = [
    { id: '5', at: 0, status: 'succeeded' },
    { id: '6', at: HOUR, status: 'dead' },
    { id: '7', at: 2 * HOUR, status: 'running' },
  ] as const;

  it('says how many of how many, and which not', () => {
    expect(text({ runs, skipped: [skip(3, 3)] })).toBe(
      'hourly: 1 of 4 have succeeded; not 1:00 (run 6, dead), 2:00 (run 7, running), 3:00 (skipped: overlap)',
    );
    expect(text({ runs }, 'completion')).toBe('hourly: 2 of 3 have ended; not 2:00 (run 7, running)');
    expect(text({ next: 0 })).toBe(
      'hourly: 0 of 0 have succeeded; it has occurrences in the interval that no tick has considered yet',
    );
    expect(text({ runs: runs.slice(0, 1) })).toBeNull();
  });

  it('names the first five', () => {
    expect(text({ skipped: [skip(0, 6)] })).toContain('4:00 (skipped: overlap) and 2 more');
  });
});
