// Model: what retention is asked to keep, and which partition's time is over.
import { describe, expect, it } from 'vitest';
import { parseDuration } from '../../../src/model/duration.js';
import {
  fateOf,
  isSegmentDue,
  isSegmentOver,
  type Partition,
  readRetention,
  unitOf,
} from '../../../src/model/planning/retention.js';
import type { PruneOptions } from '../../../src/model/scheduler-view.js';

const days = (count: number) => parseDuration(`${count}d`);

describe('readRetention', () => {
  it('keeps runs for 90 days, keys for 400 and the audit for 365 by default', () => {
    expect(readRetention({})).toEqual({
      keepMs: { succeeded: days(90), dead: days(90), cancelled: days(90), skipped: days(90) },
      shortestMs: days(90),
      longestMs: days(90),
      keepKeysMs: days(400),
      keepLogsMs: days(90),
      keepAuditMs: days(365),
      keepEventsMs: days(7),
      partition: 'auto',
    });
  });

  it('takes a keep by state, the rest by default', () => {
    const { keepMs, shortestMs, longestMs } = readRetention({
      keep: { succeeded: '7d', dead: '400d', default: '60d' },
    });
    expect(keepMs).toEqual({ succeeded: days(7), dead: days(400), cancelled: days(60), skipped: days(60) });
    expect([shortestMs, longestMs]).toEqual([days(7), days(400)]);
    expect(readRetention({ keep: { dead: '1d' } }).keepMs.skipped).toBe(days(90));
  });

  it('keeps the audit for a year, or as long as is asked', () => {
    expect(readRetention({ keepAudit: '30d' }).keepAuditMs).toBe(days(30));
  });

  it('lets keys outlive the runs of every state', () => {
    expect(readRetention({ keep: { dead: '600d' } }).keepKeysMs).toBe(days(600));
    expect(readRetention({ keep: '7d', keepKeys: '7d' }).keepKeysMs).toBe(days(7));
  });

  it('keeps logs as long as the runs that are kept longest, unless told otherwise', () => {
    expect(readRetention({ keep: { dead: '600d' } }).keepLogsMs).toBe(days(600));
    expect(readRetention({ keep: '90d', keepLogs: '14d' }).keepLogsMs).toBe(days(14));
  });

  it.each<[unknown, string]>([
    [{ keepLogs: 'x' }, 'keepLogs "x" is not a duration'],
    [{ keep: { failed: '7d' } }, 'write any of succeeded, dead, cancelled, skipped, default'],
    [{ keep: 'soon' }, 'keep "soon" is not a duration'],
    [{ keep: { dead: -1 } }, 'keep.dead -1 is not a duration'],
    [{ keep: { default: 'x' } }, 'keep.default "x" is not a duration'],
    [{ keepKeys: '1 year' }, 'keepKeys "1 year" is not a duration'],
    [{ keepAudit: 'for ever' }, 'keepAudit "for ever" is not a duration'],
    [{ keep: '30d', keepKeys: '29d' }, 'raise keepKeys, or leave it out'],
    [{ partition: 'week' }, 'partition "week" is none of month, day, auto'],
  ])('refuses %j', (options, message) => {
    expect(() => readRetention(options as PruneOptions)).toThrow(message);
  });
});

describe('fateOf', () => {
  const retention = readRetention({ keep: { default: '7d', dead: '30d' } });
  const span = (low: number, high: number, isKept = false): Partition => ({
    name: 'p',
    low,
    high,
    isKept,
    bytes: 0,
  });
  const fate = (partition: Partition, day: number) => fateOf(partition, retention, days(day));

  it('lets a partition go when the shortest keep is over for all of it', () => {
    expect(fate(span(0, days(28)), 34)).toBe('delete-runs');
    expect(fate(span(0, days(28)), 35)).toBe('compact');
    expect(fate(span(0, days(28)), 57)).toBe('compact');
    expect(fate(span(0, days(28)), 58)).toBe('drop');
  });

  it('waits for the end of a day, and does not thin what was thinned', () => {
    expect(fate(span(0, days(1)), 7.5)).toBe('keep');
    expect(fate(span(0, days(1)), 8)).toBe('compact');
    expect(fate(span(0, days(1), true), 8)).toBe('delete-runs');
    expect(fate(span(0, days(1), true), 31)).toBe('drop');
    expect(fateOf({ ...span(0, 0), low: null, high: null }, retention, 0)).toBe('delete-runs');
  });
});

it('unitOf changes to days at a million a day, and back at half of it', () => {
  const unit = (perDay: number, hasDays: boolean) => unitOf('auto', { perDay, hasDays });
  expect([unit(999_999, false), unit(1_000_000, false)]).toEqual(['month', 'day']);
  expect([unit(500_000, true), unit(499_999, true)]).toEqual(['day', 'month']);
  expect(unitOf('month', { perDay: 1e9, hasDays: true })).toBe('month');
});

describe('segments of logs', () => {
  const retention = readRetention({ keepLogs: '20d' });

  it('are closed after a tenth of the time that logs are kept', () => {
    const open = { segment: 1, openedAt: days(100), closedAt: null };
    expect(isSegmentDue(open, retention, days(102) - 1)).toBe(false);
    expect(isSegmentDue(open, retention, days(102))).toBe(true);
    expect(isSegmentDue({ ...open, closedAt: days(101) }, retention, days(200))).toBe(false);
  });

  it('are over when their last line is past its time; the open one never', () => {
    const closed = { segment: 1, openedAt: days(100), closedAt: days(102) };
    expect(isSegmentOver(closed, retention, days(122) - 1)).toBe(false);
    expect(isSegmentOver(closed, retention, days(122))).toBe(true);
    expect(isSegmentOver({ ...closed, closedAt: null }, retention, days(900))).toBe(false);
  });
});
