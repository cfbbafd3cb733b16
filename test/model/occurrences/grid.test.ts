// Model: which span a calendar shows, and where each occurrence stands in it.
import { describe, expect, it } from 'vitest';
import { dayText } from '../../../src/model/explain/asked-time.js';
import { calendarSpan, densityOf, type Scale } from '../../../src/model/occurrences/calendar-span.js';
import { type Grid, gridOf } from '../../../src/model/occurrences/grid.js';
import type { Occurrence } from '../../../src/model/occurrences/occurrence.js';
import { tallyOf, tallyText } from '../../../src/model/occurrences/tally.js';
import { readDate } from '../../../src/model/schedule/calendar.js';
import { compileSchedule } from '../../../src/model/schedule/compile.js';
import { occurrencesBetween } from '../../../src/model/schedule/occurrences.js';
import type { ScheduleSpec } from '../../../src/model/schedule/spec.js';
import { findZone } from '../../../src/model/schedule/zone/zone.js';

const NOW = Date.parse('2026-11-12T15:20:00Z');
const dayIn = (date: string) => readDate(date) ?? Number.NaN;

const density = (spec: ScheduleSpec) => densityOf(compileSchedule(spec), NOW);
const rate = (spec: ScheduleSpec) => density(spec).perDay;
const span = (spec: ScheduleSpec, asked = {}) =>
  calendarSpan(findZone(spec.timezone ?? 'UTC'), density(spec), NOW, asked);
const days = ({ firstDay, lastDay }: { firstDay: number; lastDay: number }) => [
  dayText(firstDay),
  dayText(lastDay),
];

describe('how often', () => {
  it('is counted around now, for the dense and for the rare', () => {
    expect(rate({ every: '1m' })).toBeCloseTo(1440, -1);
    expect(rate({ every: '1s' })).toBeCloseTo(86_400, -2);
    expect(rate({ cron: '0 3 * * *' })).toBeCloseTo(1, 1);
    expect(rate({ cron: '0 3 1 * *' })).toBeCloseTo(1 / 30.4, 2);
    expect(rate({ cron: '0 3 1 1 *' })).toBeCloseTo(1 / 365, 3);
    expect(rate({ at: '2026-11-20T00:00:00Z' })).toBe(0);
  });

  it('is told for the busiest hour too', () => {
    expect(density({ cron: '*/5 9-10 * * 1' }).perHour).toBe(12);
    expect(density({ cron: '0 3 1 1 *' }).perHour).toBe(1);
  });
});

describe('the span', () => {
  it.each<[Scale, ScheduleSpec]>([
    ['days', { cron: '0 3 * * *' }],
    ['days', { every: '15m' }],
    ['days', { cron: '0 9 * * 1-5' }],
    ['hours', { every: '14m' }],
    ['hours', { cron: '*/5 9-17 * * 1-5' }],
    ['days', { cron: '0,1 3 * * *' }],
    ['hours', { every: '1m' }],
    ['months', { cron: '0 3 1 * *' }],
    ['months', { cron: '0 3 * * 1' }],
    ['months', { at: '2026-11-20T00:00:00Z' }],
    ['years', { cron: '0 3 1 1 *' }],
  ])('is one of %s for %o', (scale, spec) => {
    expect(span(spec).scale).toBe(scale);
  });

  it('has today in it, and a little of what comes after', () => {
    expect(days(span({ cron: '0 3 * * *' }))).toEqual(['2026-11-02', '2026-11-15']);
    expect(days(span({ every: '1m' }))).toEqual(['2026-11-02', '2026-11-15']);
    expect(days(span({ every: '10s' }))).toEqual(['2026-11-11', '2026-11-12']);
    expect(days(span({ every: '1s' }))).toEqual(['2026-11-12', '2026-11-12']);
    expect(days(span({ cron: '0 3 1 * *' }))).toEqual(['2025-11-01', '2027-01-31']);
    expect(days(span({ cron: '0 3 1 1 *' }))).toEqual(['2019-01-01', '2028-12-31']);
  });

  it('begins where it is asked to, and leads on without a gap', () => {
    for (const spec of [
      { cron: '0 3 * * *' },
      { every: '1m' },
      { cron: '0 3 1 * *' },
      { cron: '0 3 1 1 *' },
    ]) {
      const first = span(spec, { from: dayIn('2026-07-01') });
      expect(first.firstDay).toBeGreaterThanOrEqual(dayIn('2026-01-01'));
      expect(span(spec, { from: first.later }).firstDay).toBe(first.lastDay + 1);
      expect(span(spec, { from: first.earlier }).lastDay).toBe(first.firstDay - 1);
    }
  });

  it('is one day by the minute, where that is asked for', () => {
    const day = span({ every: '1m' }, { day: dayIn('2026-11-01') });
    expect(day).toMatchObject({ scale: 'minutes', from: Date.parse('2026-11-01T00:00:00Z') });
    expect(days(day)).toEqual(['2026-11-01', '2026-11-01']);
  });

  it('stays within the years that a schedule has', () => {
    const far = span({ cron: '0 3 * * *' }, { from: dayIn('9999-01-01') });
    expect(far.to).toBeLessThan(Date.parse('2201-01-01T00:00:00Z'));
    expect(far.later).toBeNull();
    expect(span({ cron: '0 3 * * *' }, { from: dayIn('0001-01-01') }).earlier).toBeNull();
  });
});

function occurrencesOf(spec: ScheduleSpec, from: number, to: number): Occurrence[] {
  return occurrencesBetween(spec, new Date(from), new Date(to)).map(date => ({
    at: date.getTime(),
    state: date.getTime() > NOW ? 'upcoming' : 'succeeded',
    reason: null,
    runId: null,
    isExpected: true,
    standsFor: 1,
    attempts: 1,
    startedAt: null,
    finishedAt: null,
  }));
}

function grid(spec: ScheduleSpec, asked = {}, more = {}): Grid {
  const shown = span(spec, asked);
  const zone = findZone(spec.timezone ?? 'UTC');
  return gridOf({
    span: shown,
    zone,
    now: NOW,
    occurrences: occurrencesOf(spec, shown.from, shown.to),
    ...more,
  });
}
const rowNamed = ({ rows }: Grid, label: string) => rows.find(row => row.label === label);

describe('days as rows', () => {
  const newYork = { cron: '30 1,2 * * *', timezone: 'America/New_York', dst: 'literal' } as const;

  it('hold each occurrence at its place on the clock', () => {
    const row = rowNamed(grid({ cron: '0 6,18 * * *' }), 'Thu 5 Nov');
    expect(row?.marks.map(({ x, lane }) => [x, lane])).toEqual([
      [0.25, 0],
      [0.75, 0],
    ]);
  });

  it('have now in the row of today', () => {
    const { rows } = grid({ cron: '0 6 * * *' });
    expect(rows.filter(({ now }) => now !== null).map(({ label, isToday }) => [label, isToday])).toEqual([
      ['Thu 12 Nov', true],
    ]);
    expect(rows.find(({ isToday }) => isToday)?.now?.x).toBeCloseTo((15 + 20 / 60) / 24, 5);
  });

  it('show the hour that comes twice in a lane of its own', () => {
    const row = rowNamed(grid(newYork, { from: dayIn('2026-10-30') }), 'Sun 1 Nov');
    expect(row?.again).toEqual([{ from: 1 / 24, to: 2 / 24, text: '01 again' }]);
    expect(row?.marks.map(({ x, lane }) => [Math.round(x * 24 * 60), lane])).toEqual([
      [90, 0],
      [90, 1],
      [150, 0],
    ]);
  });

  it('show the hour that does not exist', () => {
    const row = rowNamed(grid(newYork, { from: dayIn('2027-03-10') }), 'Sun 14 Mar');
    expect(row?.voids).toEqual([{ from: 2 / 24, to: 3 / 24, text: '02 does not exist' }]);
    expect(row?.marks).toHaveLength(1);
  });

  it('show half an hour in Lord Howe, by its times', () => {
    const spec = { cron: '*/30 1-3 * * *', timezone: 'Australia/Lord_Howe', dst: 'literal' } as const;
    const spring = rowNamed(grid(spec, { from: dayIn('2026-10-01') }), 'Sun 4 Oct');
    expect(spring?.voids[0]?.text).toBe('02:00–02:30 does not exist');
    const autumn = rowNamed(grid(spec, { from: dayIn('2026-04-01') }), 'Sun 5 Apr');
    expect(autumn?.again[0]?.text).toBe('01:30–02:00 again');
    expect(autumn?.marks.filter(({ lane }) => lane === 1)).toHaveLength(1);
  });

  it('count by the hour where there are too many for marks, each once, also in the night of a change', () => {
    for (const from of ['2026-10-30', '2027-03-10']) {
      const spec = { cron: '* * * * *', timezone: 'America/New_York' };
      const { rows } = grid(spec, { from: dayIn(from) });
      const shown = span(spec, { from: dayIn(from) });
      const total = rows.flatMap(({ cells }) => cells).reduce((sum, { tally }) => sum + tally.total, 0);
      expect(total).toBe((shown.to - shown.from) / 60_000);
      expect(rows.every(({ marks }) => marks.length === 0)).toBe(true);
    }
    const night = rowNamed(
      grid({ cron: '* * * * *', timezone: 'America/New_York' }, { from: dayIn('2026-10-30') }),
      'Sun 1 Nov',
    );
    expect(night?.cells).toHaveLength(25);
    expect(night?.cells[2]).toMatchObject({ lane: 1, from: 1 / 24, to: 2 / 24 });
  });

  it('are void before the definition was made', () => {
    const since = Date.parse('2026-11-04T12:00:00Z');
    const { rows } = grid({ cron: '0 6 * * *' }, {}, { since });
    expect(rows.slice(0, 4).map(({ voids }) => voids.map(({ from, to }) => [from, to]))).toEqual([
      [[0, 1]],
      [[0, 1]],
      [[0, 0.5]],
      [],
    ]);
  });
});

describe('one day by the minute', () => {
  it('has a row for each hour that passes, and one for the hour that does not', () => {
    const spec = { cron: '* * * * *', timezone: 'Europe/Berlin' };
    const spring = grid(spec, { day: dayIn('2026-03-29') }).rows;
    expect(spring.map(({ label }) => label).slice(0, 5)).toEqual([
      '00:00',
      '01:00',
      '02:00',
      '03:00',
      '04:00',
    ]);
    expect(spring[2]).toMatchObject({ marks: [], voids: [{ from: 0, to: 1, text: '02 does not exist' }] });
    const autumn = grid(spec, { day: dayIn('2026-10-25') }).rows;
    expect(autumn.map(({ label }) => label).slice(1, 5)).toEqual(['01:00', '02:00', '02 again', '03:00']);
    expect(autumn[3]?.marks).toHaveLength(60);
    expect(autumn[3]?.marks[30]?.x).toBe(0.5);
  });

  it('counts by the minute where there are more', () => {
    const { rows } = grid({ every: '10s' }, { day: dayIn('2026-11-12') });
    expect(rows).toHaveLength(24);
    expect(rows[0]?.cells).toHaveLength(60);
    expect(rows[0]?.cells[0]?.tally.total).toBe(6);
  });
});

describe('months and years as rows', () => {
  it('hold a mark on each date, and no date that a month lacks', () => {
    const { rows, columns } = grid({ cron: '0 12 1 * *' });
    const february = rows.find(({ label }) => label === 'Feb 2026');
    expect(february?.voids).toEqual([{ from: 28 / 31, to: 1, text: '' }]);
    expect(february?.marks.map(({ x }) => x)).toEqual([0.5 / 31]);
    expect(columns[0]).toEqual({ x: 0.5 / 31, label: '1' });
    expect(rows.filter(({ now }) => now !== null).map(({ label }) => label)).toEqual(['Nov 2026']);
  });

  it('hold one of each year', () => {
    const { rows } = grid({ cron: '0 12 1 7 *' });
    expect(rows.map(({ label, marks }) => `${label}: ${marks.length}`).slice(0, 2)).toEqual([
      '2019: 1',
      '2020: 1',
    ]);
  });
});

describe('a tally', () => {
  it('leads with trouble, however rare', () => {
    const states = [...Array<'succeeded'>(58).fill('succeeded'), 'skipped' as const, 'lost' as const];
    const tally = tallyOf(states.map(state => ({ state })));
    expect(tally).toMatchObject({ total: 60, leading: 'lost' });
    expect(tallyText(tally)).toBe('58 ran, 1 skipped, 1 missed, nothing on record');
  });

  it('leads with what is most frequent, without trouble, and with nothing for nothing', () => {
    expect(tallyOf([{ state: 'upcoming' }, { state: 'succeeded' }, { state: 'upcoming' }]).leading).toBe(
      'upcoming',
    );
    expect(tallyOf([])).toEqual({ total: 0, counts: [], leading: null });
  });
});
