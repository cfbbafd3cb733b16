import { describe, expect, it } from 'vitest';
import { compileSchedule } from '../../../src/model/schedule/compile.js';
import { occurrencesBetween } from '../../../src/model/schedule/occurrences.js';
import type { ScheduleSpec } from '../../../src/model/schedule/spec.js';
import { refusal } from './attempt.js';

const HOUR = 3_600_000;
const invalid = new Date(Number.NaN);

const REFUSED: readonly (readonly [spec: unknown, ...says: string[]])[] = [
  [null, 'a schedule is an object', 'null'],
  [undefined, 'a schedule is an object'],
  ['* * * * *', 'a schedule is an object', '{ cron:'],
  [{}, 'needs one of cron, every and at'],
  [{ overlap: 'skip' }, 'needs one of cron, every and at'],
  [{ cron: '* * * * *', every: '5m' }, 'has cron and every', 'exactly one'],
  [{ cron: '* * * * *', at: new Date(0) }, 'has cron and at'],
  [{ cron: '* * * * *', every: 1000, at: new Date(0) }, 'has cron and every and at'],
  [{ cron: null }, 'cron is null'],
  [{ every: null }, 'every is null', "write a duration such as '5m'"],
  [{ every: '' }, 'every'],
  [{ every: 'soon' }, 'every "soon" is not a duration'],
  [{ every: -1000 }, 'every -1000'],
  [{ every: 0 }, 'too short', 'at least 1s'],
  [{ every: 1500 }, 'every 1500 is not whole seconds'],
  [{ every: '250ms' }, 'not whole seconds'],
  [{ every: '1h', phase: '90m' }, 'phase "90m" is not shorter than every "1h"'],
  [{ every: '1h', phase: '1h' }, 'not shorter'],
  [{ every: '1h', phase: 10.6 }, 'phase 10.6 is not whole seconds'],
  [{ every: '1h', phase: null }, 'phase is null', 'leave it out'],
  [{ cron: '* * * * *', phase: '1m' }, 'phase belongs to every'],
  [{ at: null }, 'at null is not an instant'],
  [{ at: 5 }, 'at 5 is not an instant'],
  [{ at: invalid }, 'at Invalid Date is not an instant'],
  [{ at: 'tomorrow' }, 'at "tomorrow" is not an instant', '2026-03-08T02:30:00Z'],
  [{ at: '2026-02-30T00:00:00Z' }, 'is not an instant'],
  [{ at: '2026-01-01T25:00:00Z' }, 'is not an instant'],
  [{ at: '2026-01-01T09:00:00' }, 'has no offset', 'end it with Z'],
  [{ at: '2026-01-01' }, 'has no time and no offset', '2026-01-01T00:00:00Z'],
  [{ at: '2300-01-01T00:00:00Z' }, 'between the years 1900 and 2200'],
  [{ cron: '* * * * *', startAt: 'x' }, 'startAt "x" is not an instant'],
  [{ cron: '* * * * *', endAt: invalid }, 'endAt Invalid Date'],
  [
    { cron: '* * * * *', startAt: '2026-01-02T00:00:00Z', endAt: '2026-01-01T00:00:00Z' },
    'endAt "2026-01-01T00:00:00Z" is before startAt',
  ],
  [{ cron: '* * * * *', dst: 'twice' }, 'dst is "twice"', 'once, skip or literal'],
  [{ cron: '* * * * *', dst: null }, 'dst is null'],
  [{ cron: '* * * * *', exclude: '2026-01-01' }, 'exclude is "2026-01-01"', 'a list'],
  [{ cron: '* * * * *', exclude: null }, 'exclude is null'],
  [{ cron: '* * * * *', exclude: ['2026-02-29'] }, 'exclude "2026-02-29" is not a date'],
  [{ cron: '* * * * *', exclude: ['25.12.2026'] }, 'is not a date', '2026-12-25'],
  [{ cron: '* * * * *', exclude: [5] }, 'exclude has 5'],
  [{ cron: '* * * * *', exclude: [{ cron: 5 }] }, 'exclude has an object'],
  [{ cron: '* * * * *', exclude: [null] }, 'exclude has null'],
  [{ cron: '* * * * *', exclude: [{ cron: '* * 99 * *' }] }, 'day of month "99"'],
  [{ cron: '* * * * *', exclude: [{ cron: '* * * * * *' }] }, 'has seconds', 'five fields'],
  [{ cron: '* * * * *', exclude: Array.from({ length: 10_001 }, () => '2026-01-01') }, 'at most 10000'],
  [
    { cron: '* * * * *', exclude: [{ cron: '* * * * *' }] },
    'exclude leaves no occurrence of cron "* * * * *"',
  ],
  [
    { every: '2m', exclude: [{ cron: '*/2 * * * *' }] },
    'exclude leaves no occurrence of every "2m"',
    'exclude less',
  ],
  [{ cron: '* * * * *', exclude: Array.from({ length: 101 }, () => ({ cron: '0 0 1 1 *' })) }, 'at most 100'],
];

describe('the form of a spec', () => {
  for (const [spec, ...says] of REFUSED) {
    it(`refuses ${JSON.stringify(spec)?.slice(0, 70)}`, () => {
      const error = refusal(spec);
      expect(error.code).toBe('TOCK_BAD_SCHEDULE');
      for (const part of says) expect(error.message).toContain(part);
    });
  }

  it('ignores other options, and undefined ones', () => {
    const spec = {
      cron: '0 3 * * *',
      every: undefined,
      overlap: 'skip',
      jitter: '5m',
      window: [1],
      priority: 3,
    };
    expect(compileSchedule(spec as unknown as ScheduleSpec).next(0)).toBe(3 * HOUR);
  });
});

describe('every', () => {
  it('is aligned to the epoch, whatever the zone', () => {
    const { next, previous } = compileSchedule({ every: '6h', timezone: 'America/New_York' });
    expect(next(0)).toBe(6 * HOUR);
    expect(next(6 * HOUR - 1)).toBe(6 * HOUR);
    expect(previous(6 * HOUR)).toBe(0);
    expect(previous(1)).toBe(0);
    expect(previous(0)).toBe(-6 * HOUR);
  });

  it('ignores summer time', () => {
    const found = occurrencesBetween(
      { every: '1d', phase: '7h30m', timezone: 'America/New_York' },
      new Date('2026-03-07T00:00Z'),
      new Date('2026-03-10T00:00Z'),
    );
    expect(found.map(each => each.toISOString().slice(11, 16))).toEqual(['07:30', '07:30', '07:30']);
  });

  it('is offset by its phase', () => {
    const { next, previous } = compileSchedule({ every: 90_000, phase: '10s' });
    expect(next(0)).toBe(10_000);
    expect(next(10_000)).toBe(100_000);
    expect(previous(10_000)).toBe(-80_000);
  });
});

describe('at', () => {
  it('is a single instant', () => {
    const { next, previous } = compileSchedule({ at: '2026-03-08T04:30:00+02:00' });
    const at = Date.parse('2026-03-08T02:30:00Z');
    expect(next(at - 1)).toBe(at);
    expect(next(at)).toBeNull();
    expect(previous(at + 1)).toBe(at);
    expect(previous(at)).toBeNull();
  });

  it('is rounded up to a whole second, so that it is never early', () => {
    expect(compileSchedule({ at: new Date(1500) }).next(0)).toBe(2000);
    expect(compileSchedule({ at: new Date(2000) }).next(0)).toBe(2000);
  });

  it('takes timestamps in PostgreSQL’s format', () => {
    expect(compileSchedule({ at: '2026-12-25T10:00:00+05' }).next(0)).toBe(
      Date.parse('2026-12-25T05:00:00Z'),
    );
    expect(compileSchedule({ at: '2026-03-08 02:30:00.25+00' }).next(0)).toBe(
      Date.parse('2026-03-08T02:30:01Z'),
    );
  });
});

describe('startAt and endAt', () => {
  it('are inclusive', () => {
    const { next, previous } = compileSchedule({
      cron: '0 * * * *',
      startAt: '2026-01-01T03:00:00Z',
      endAt: new Date('2026-01-01T05:00:00Z'),
    });
    const hour = (value: number): number => Date.UTC(2026, 0, 1, value);
    expect(next(0)).toBe(hour(3));
    expect(next(hour(3))).toBe(hour(4));
    expect(next(hour(5) - 1)).toBe(hour(5));
    expect(next(hour(5))).toBeNull();
    expect(previous(Number.POSITIVE_INFINITY)).toBe(hour(5));
    expect(previous(hour(4))).toBe(hour(3));
    expect(previous(hour(3))).toBeNull();
  });

  it('also bound every and at, and need not be whole seconds', () => {
    const startAt = new Date(1500);
    expect(compileSchedule({ every: '1s', startAt }).next(-5000)).toBe(2000);
    expect(compileSchedule({ every: '1s', endAt: startAt }).previous(9000)).toBe(1000);
    expect(compileSchedule({ at: new Date(1000), startAt }).next(0)).toBeNull();
    expect(compileSchedule({ at: new Date(2000), endAt: startAt }).next(0)).toBeNull();
  });

  it('may be the same instant', () => {
    const { next } = compileSchedule({
      cron: '* * * * *',
      startAt: new Date(60_000),
      endAt: new Date(60_000),
    });
    expect(next(0)).toBe(60_000);
    expect(next(60_000)).toBeNull();
  });
});

describe('exclude', () => {
  const list = (spec: ScheduleSpec, from: string, to: string): string[] =>
    occurrencesBetween(spec, new Date(from), new Date(to)).map(each => each.toISOString().slice(5, 16));

  it("excludes dates of the schedule's own zone", () => {
    const spec = { cron: '0 */12 * * *', timezone: 'Asia/Tokyo', exclude: ['2026-01-02'] };
    expect(list(spec, '2025-12-31T15:00Z', '2026-01-03T15:00Z')).toEqual([
      '12-31T15:00',
      '01-01T03:00',
      '01-02T15:00',
      '01-03T03:00',
    ]);
  });

  it('excludes whole minutes of a cron set', () => {
    const spec = { cron: '*/30 0 9-11 * * *', exclude: [{ cron: '0 10 * * *' }] };
    expect(list(spec, '2026-01-01T00:00Z', '2026-01-02T00:00Z')).toEqual([
      '01-01T09:00',
      '01-01T09:00',
      '01-01T11:00',
      '01-01T11:00',
    ]);
    const christmas = { cron: '0 9,17 * * *', exclude: [{ cron: '* * 25 12 *' }] };
    expect(list(christmas, '2026-12-25T00:00Z', '2026-12-26T12:00Z')).toEqual(['12-26T09:00']);
    const morning = { cron: '0 9,17 * * *', exclude: [{ cron: '0 9 25 12 *' }] };
    expect(list(morning, '2026-12-25T00:00Z', '2026-12-26T12:00Z')).toEqual(['12-25T17:00', '12-26T09:00']);
  });

  it('acts on nominal time: a time shifted out of a gap is excluded by its nominal time', () => {
    const spec = { cron: '30 2 * * *', timezone: 'America/New_York', exclude: [{ cron: '30 2 8 3 *' }] };
    expect(list(spec, '2026-03-08T00:00Z', '2026-03-09T12:00Z')).toEqual(['03-09T06:30']);
    const date = { cron: '30 2 * * *', timezone: 'America/New_York', exclude: ['2026-03-08'] };
    expect(list(date, '2026-03-08T00:00Z', '2026-03-09T12:00Z')).toEqual(['03-09T06:30']);
  });

  it('gives the same forwards, backwards, and by filtering', { tags: 'check' }, () => {
    const exclude = [
      '2026-03-08',
      '2026-03-10',
      { cron: '*/20 1-3 * * 3' },
      { cron: '* * 12-13 3 *' },
      { cron: '0-29 * * * 0' },
    ];
    for (const base of [
      { cron: '*/10 * * * *' },
      { cron: '5,20,40 1-4 * * *' },
      { every: '25m', phase: '5m' },
      { every: '61s' },
      { every: '97m', phase: '13s' },
      { every: '31h' },
    ] as const) {
      const spec = { ...base, timezone: 'America/New_York' } as const;
      const [from, to] = [Date.parse('2026-03-06T05:00Z'), Date.parse('2026-03-20T04:00Z')];
      const { next, previous } = compileSchedule({ ...spec, exclude });
      const forwards: number[] = [];
      for (let at = next(from - 1); at !== null && at < to; at = next(at)) forwards.push(at);
      const backwards: number[] = [];
      for (let at = previous(to); at !== null && at >= from; at = previous(at)) backwards.unshift(at);
      expect(backwards).toEqual(forwards);
      const kept = occurrencesBetween(spec, new Date(from), new Date(to)).filter(each => !isOut(each));
      expect(forwards).toEqual(kept.map(each => each.getTime()));
      expect(kept.length).toBeGreaterThan(3);
    }
  });

  it('refuses exclusions that leave nothing', () => {
    const sets = [{ cron: '0-29 * * * *' }, { cron: '30-59 * * * *' }];
    for (const spec of [
      { cron: '* * * * *', exclude: [{ cron: '* * * * *' }] },
      { cron: '* * * * * *', exclude: sets },
      { cron: '*/7 3 * * 1-5', exclude: [{ cron: '* * * * 1-3' }, { cron: '* 3 * * 4,5' }] },
      { cron: '0 9 * * *', startAt: '2026-01-01T00:00:00Z', exclude: sets },
      { every: '1m', exclude: sets },
      { every: '2m', exclude: [{ cron: '*/2 * * * *' }] },
      { every: '2m', timezone: 'America/New_York', exclude: [{ cron: '*/2 * * * *' }] },
    ]) {
      const { code, message } = refusal(spec);
      expect(code).toBe('TOCK_BAD_SCHEDULE');
      expect(message).toMatch(/^exclude leaves no occurrence of (?:cron|every) "/);
    }
    const { next, previous } = compileSchedule({ at: new Date(0), exclude: ['1970-01-01'] });
    expect([next(-1), previous(1)]).toEqual([null, null]);
  });

  it('skips long excluded spans', () => {
    const spec = { cron: '* * * * *', exclude: [{ cron: '*/2 * * 1-11 *' }, { cron: '1-59/2 * * 1-11 *' }] };
    expect(compileSchedule(spec).next(Date.UTC(2026, 0, 1))).toBe(Date.UTC(2026, 11, 1));
    expect(compileSchedule(spec).previous(Date.UTC(2026, 5, 1))).toBe(Date.UTC(2026, 0, 1) - 60_000);
    const every = { every: '1m', exclude: [{ cron: '* * * 1-11 *' }] };
    expect(compileSchedule(every).next(Date.UTC(2026, 0, 1))).toBe(Date.UTC(2026, 11, 1));
    const second = { every: '2m', exclude: [{ cron: '*/2 * * 1-11 *' }] };
    expect(compileSchedule(second).next(Date.UTC(2026, 0, 1))).toBe(Date.UTC(2026, 11, 1));
    expect(compileSchedule(second).previous(Date.UTC(2026, 10, 30))).toBe(Date.UTC(2026, 0, 1) - 120_000);
  });

  const newYork = new Intl.DateTimeFormat('sv-SE', {
    timeZone: 'America/New_York',
    dateStyle: 'short',
    timeStyle: 'medium',
  });

  /** The list above, told again with Intl. 2026-03-08 is in the list of dates: no gap is left to matter. */
  function isOut(date: Date): boolean {
    const local = new Date(`${newYork.format(date).replace(' ', 'T')}Z`);
    const [day, weekday, hour, minute] = [
      local.getUTCDate(),
      local.getUTCDay(),
      local.getUTCHours(),
      local.getUTCMinutes(),
    ];
    if (day === 8 || day === 10 || day === 12 || day === 13) return true;
    if (weekday === 3 && hour >= 1 && hour <= 3 && minute % 20 === 0) return true;
    return weekday === 0 && minute < 30;
  }
});
