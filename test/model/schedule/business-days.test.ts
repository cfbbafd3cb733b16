// Business days, shifted days and every n-th day: against an oracle in Python that shares no code, and what
// is refused.
import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { compileSchedule } from '../../../src/model/schedule/compile.js';
import { occurrencesBetween } from '../../../src/model/schedule/occurrences.js';
import type { ScheduleSpec } from '../../../src/model/schedule/spec.js';
import { rounds } from '../../support/rounds.js';
import { newSeed } from '../../support/seed.js';
import { refusal } from './attempt.js';
import { askOracle, hasNoDateutil, type OracleCase } from './business-oracle.js';
import { type Random, random } from './random.js';

const WEEK = ['sun', 'mon', 'tue', 'wed', 'thu', 'fri', 'sat'] as const;
/** Public holidays of all of Germany. */
const GERMANY = {
  calendar: 'de-holidays',
  dates: '01-01 03-26 03-29 05-01 05-06 05-17 10-03 12-25 12-26'.split(' ').map(day => `2027-${day}`),
};
const business = { exclude: [{ weekend: ['sat', 'sun'] }, GERMANY] } as const;

const found = (spec: ScheduleSpec, from: string, to: string): string[] =>
  occurrencesBetween(spec, new Date(from), new Date(to)).map(at => at.toISOString());
const daysOf = (spec: ScheduleSpec, from: string, to: string): string[] =>
  found(spec, `${from}T00:00:00Z`, `${to}T00:00:00Z`).map(at => at.slice(5, 10));

describe.skipIf(hasNoDateutil())('beside the oracle', () => {
  it('has the working days of Germany in 2027, as the table of the documentation says', () => {
    const berlin = { timezone: 'Europe/Berlin', ...business } as const;
    const specs: readonly ScheduleSpec[] = [
      { cron: '0 9 3B * *', ...berlin, shift: 'next' },
      { cron: '0 9 LB * *', ...berlin },
      { cron: '0 9 1 * *', ...berlin, shift: 'next' },
      { cron: '0 9 15 * *', ...berlin, shift: 'previous' },
    ];
    const year = {
      zone: 'Europe/Berlin',
      from: '2027-01-01T00:00:00+01:00',
      to: '2028-01-01T00:00:00+01:00',
    };
    const common = { ...year, times: ['09:00'], weekend: [0, 6], holidays: 'de' } as const;
    const expected = askOracle([
      { ...common, business: [3] },
      { ...common, business: [-1] },
      { ...common, dates: [1], shift: 'next' },
      { ...common, dates: [15], shift: 'previous' },
    ]);
    expect(specs.map(spec => found(spec, year.from, year.to))).toEqual(expected);

    const names = new Intl.DateTimeFormat('en-GB', { weekday: 'short', timeZone: 'Europe/Berlin' });
    const text = (at = '') => `${names.format(new Date(at))} ${Number(at.slice(8, 10))}`;
    const month = (index: number) =>
      new Intl.DateTimeFormat('en-GB', { month: 'long' }).format(new Date(Date.UTC(2027, index, 15)));
    const rows = Array.from(
      { length: 12 },
      (_, index) => `| ${month(index)} | ${expected.map(each => text(each[index])).join(' | ')} |`,
    );
    const docs = path.join(import.meta.dirname, '../../../docs');
    const [decision = ''] = readdirSync(path.join(docs, 'adr')).filter(name => name.startsWith('0081-'));
    expect(readFileSync(path.join(docs, 'adr', decision), 'utf8')).toContain(rows.join('\n'));
    const page = readFileSync(path.join(docs, 'schedules.md'), 'utf8');
    const shown = page.match(/^\| (?:January|May|August) .*$/gm) ?? [];
    expect(shown).toEqual([rows[0], rows[4], rows[7]]);
  });

  it('has every second week at a local time, through the changes of the clocks', () => {
    const spec = { every: '2w', anchor: '2027-01-04T09:00', timezone: 'Europe/Berlin' } as const;
    const [expected] = askOracle([
      {
        zone: 'Europe/Berlin',
        from: '2026-06-01T00:00:00+00:00',
        to: '2029-01-01T00:00:00+00:00',
        times: ['09:00'],
        step: 14,
        anchor: '2027-01-04',
      },
    ]);
    expect(found(spec, '2026-06-01T00:00:00Z', '2029-01-01T00:00:00Z')).toEqual(expected);
    expect(expected?.[0]).toBe('2027-01-04T08:00:00.000Z');
  });

  it('counts from a day before 1970 too', () => {
    const spec = { every: '2w', anchor: '1969-12-29T09:30', timezone: 'Europe/Berlin' } as const;
    expect(found(spec, '2027-01-01T00:00:00Z', '2027-01-20T00:00:00Z')).toEqual(['2027-01-11T08:30:00.000Z']);
  });

  it('agrees on random schedules, forwards and backwards', { tags: 'check' }, () => {
    const seed = newSeed();
    const dice = random(seed);
    const made = Array.from({ length: rounds(60, 1500) }, () => makeCase(dice));
    const expected = askOracle(made.map(each => each.oracle));
    for (const [index, { spec, oracle }] of made.entries()) {
      const told = `TOCK_TEST_SEED=${seed} ${JSON.stringify({ spec, oracle })}`;
      const instants = expected[index] ?? [];
      let schedule: ReturnType<typeof compileSchedule>;
      try {
        schedule = compileSchedule(spec);
      } catch (error) {
        // Nothing is left in any year.
        if (instants.length === 0) continue;
        throw new Error(told, { cause: error });
      }
      const [from, to] = [Date.parse(oracle.from), Date.parse(oracle.to)];
      const forwards = occurrencesBetween(schedule, new Date(from), new Date(to)).map(at => at.toISOString());
      expect(forwards, told).toEqual(instants);
      const backwards: string[] = [];
      for (let at = schedule.previous(to); at !== null && at >= from; at = schedule.previous(at))
        backwards.push(new Date(at).toISOString());
      expect(backwards.toReversed(), told).toEqual(instants);
      // Memoryless: from any instant, the same answer.
      for (let probe = 0; probe < 5; probe++) {
        const at = from + dice.below((to - from) / 1000) * 1000;
        const next = schedule.next(at);
        const answer = next === null || next >= to ? undefined : new Date(next).toISOString();
        expect(answer, `${told} after ${at}`).toBe(instants.find(each => Date.parse(each) > at));
      }
    }
  });
});

const ZONES = [
  'Europe/Berlin',
  'America/New_York',
  'Australia/Lord_Howe',
  'Asia/Kolkata',
  'Pacific/Apia',
  'UTC',
];
const dateText = (day: number) => new Date(day * 86_400_000).toISOString().slice(0, 10);

/** A schedule in both languages. Days around changes of the clocks are often excluded. */
function makeCase(dice: Random): { readonly spec: ScheduleSpec; readonly oracle: OracleCase } {
  const zone = dice.pick(ZONES);
  const year = 2024 + dice.below(4);
  const begin = Date.UTC(year, dice.below(12), 1 + dice.below(28)) / 86_400_000;
  const end = begin + 40 + dice.below(300);
  const weekend = dice.pick([[0, 6], [5, 6], [5], [], [0, 6]] as const);
  const closed = Array.from({ length: dice.below(40) }, () =>
    dateText(begin - 40 + dice.below(end - begin + 80)),
  );
  const holiday = begin + dice.below(end - begin);
  if (dice.chance(0.3)) for (let day = 0; day < dice.below(45); day++) closed.push(dateText(holiday + day));
  const hour = dice.pick([0, 1, 2, 2, 3, 9, 23]);
  const minute = dice.pick([0, 15, 30]);
  const dst = dice.pick(['once', 'skip', 'literal'] as const);
  const picked = dice.pick(['none', 'next', 'previous'] as const);
  const shift = picked === 'none' ? undefined : picked;
  const clock = `${String(hour).padStart(2, '0')}:${String(minute).padStart(2, '0')}`;
  const common = {
    oracle: {
      zone,
      from: `${dateText(begin)}T00:00:00+00:00`,
      to: `${dateText(end)}T00:00:00+00:00`,
      times: [clock],
      dst,
      weekend,
      holidays: [...new Set(closed)],
      shift,
    },
    spec: {
      timezone: zone,
      dst,
      exclude: [{ weekend: weekend.map(day => WEEK[day] ?? 'sun') }, ...new Set(closed)],
      ...(shift === undefined ? {} : { shift }),
    },
  } as const;
  const both = (spec: ScheduleSpec, oracle: Partial<OracleCase>) => ({
    spec: { ...common.spec, ...spec },
    oracle: { ...common.oracle, ...oracle },
  });
  const kind = dice.below(4);
  if (kind === 0) {
    const dates = [1 + dice.below(31), 1 + dice.below(28)];
    return both({ cron: `${minute} ${hour} ${dates.join(',')} * *` }, { dates });
  }
  if (kind === 1) {
    const weekdays = [dice.below(7), dice.below(7)];
    return both({ cron: `${minute} ${hour} * * ${weekdays.join(',')}` }, { weekdays });
  }
  if (kind === 2) {
    const places = [1 + dice.below(24), -1 - dice.below(20)];
    const entries = [`${places[0]}B`, places[1] === -1 ? 'LB' : `L-${-1 - (places[1] ?? 0)}B`];
    return both({ cron: `${minute} ${hour} ${entries.join(',')} * *` }, { business: places });
  }
  const step = 1 + dice.below(20);
  const anchor = dateText(begin - 60 + dice.below(90));
  return both({ every: `${step}d`, anchor: `${anchor}T${clock}` }, { step, anchor });
}

describe('a shift', () => {
  const monthly = { cron: '0 9 1 * *', ...business } as const;

  it('moves an excluded day to the next or the previous that is left', () => {
    // 1 May 2027 is a Saturday and a holiday, 1 August a Sunday.
    expect(daysOf({ ...monthly, shift: 'next' }, '2027-05-01', '2027-09-01')).toEqual([
      '05-03',
      '06-01',
      '07-01',
      '08-02',
    ]);
    expect(daysOf({ ...monthly, shift: 'previous' }, '2027-04-15', '2027-09-01')).toEqual([
      '04-30',
      '06-01',
      '07-01',
      '07-30',
    ]);
    expect(daysOf(monthly, '2027-05-01', '2027-09-01')).toEqual(['06-01', '07-01']);
  });

  it('makes one occurrence of what falls on one instant', () => {
    const daily = { cron: '0 9 * * *', ...business, shift: 'next' } as const;
    expect(daysOf(daily, '2027-03-24', '2027-03-31')).toEqual(['03-24', '03-25', '03-30']);
  });

  it('moves whole days: a cron set that leaves some times of a day leaves those out, and moves none', () => {
    const twice = {
      cron: '0 9,15 * * *',
      exclude: [{ cron: '* 9 2 3 *' }, '2027-03-01'],
      shift: 'next',
    } as const;
    expect(found(twice, '2027-03-01T00:00:00Z', '2027-03-04T00:00:00Z')).toEqual([
      '2027-03-02T15:00:00.000Z',
      '2027-03-03T09:00:00.000Z',
      '2027-03-03T15:00:00.000Z',
    ]);
  });

  it('looks 31 days far, and then there is no occurrence', () => {
    const closed = (count: number) => ({
      cron: '0 9 1 3 *',
      exclude: Array.from({ length: count }, (_, day) => dateText(Date.UTC(2027, 2, 1) / 86_400_000 + day)),
      shift: 'next' as const,
    });
    expect(daysOf(closed(31), '2027-01-01', '2028-01-01')).toEqual(['04-01']);
    expect(daysOf(closed(32), '2027-01-01', '2028-01-01')).toEqual([]);
  });

  it('keeps the local time of a day whose clocks change: the day to which it moves decides', () => {
    const spec = { cron: '30 2 28 * *', timezone: 'Europe/Berlin', exclude: ['2027-03-28'] } as const;
    // The 28th of March 2027 has no 02:30; the 29th has.
    expect(found({ ...spec, shift: 'next' }, '2027-03-01T00:00:00Z', '2027-04-01T00:00:00Z')).toEqual([
      '2027-03-29T00:30:00.000Z',
    ]);
    const into = { ...spec, cron: '30 2 27 * *', exclude: ['2027-03-27'], shift: 'next' } as const;
    expect(found(into, '2027-03-01T00:00:00Z', '2027-04-01T00:00:00Z')).toEqual(['2027-03-28T01:30:00.000Z']);
    expect(found({ ...into, dst: 'skip' }, '2027-03-01T00:00:00Z', '2027-04-01T00:00:00Z')).toEqual([]);
  });

  it('is bounded by where an occurrence has moved to', () => {
    const spec = {
      ...monthly,
      shift: 'next',
      startAt: '2027-05-02T00:00:00Z',
      endAt: '2027-08-01T12:00:00Z',
    } as const;
    expect(daysOf(spec, '2027-01-01', '2028-01-01')).toEqual(['05-03', '06-01', '07-01']);
  });
});

describe('businessDays', () => {
  it('is short for a weekend and a calendar in exclude', () => {
    const short = {
      cron: '0 9 * * *',
      exclude: [{ calendar: 'de-holidays', dates: GERMANY.dates }],
    } as const;
    const week = ['2027-03-22', '2027-04-03'] as const;
    const expected = ['03-22', '03-23', '03-24', '03-25', '03-30', '03-31', '04-01', '04-02'];
    expect(daysOf({ ...short, businessDays: { calendar: 'de-holidays' } }, ...week)).toEqual(expected);
    expect(daysOf({ cron: '0 9 * * *', ...business }, ...week)).toEqual(expected);
    expect(
      daysOf({ cron: '0 9 * * *', businessDays: { weekend: ['fri', 'sat'] } }, '2027-03-21', '2027-03-29'),
    ).toEqual(['03-21', '03-22', '03-23', '03-24', '03-25', '03-28']);
  });

  it('counts days beside dates, and in the months of the expression', () => {
    const days = (cron: string) => daysOf({ cron, businessDays: {} }, '2027-01-01', '2027-07-01');
    expect(days('0 9 2B,10 */2 *')).toEqual(['01-04', '03-02', '03-10', '05-04', '05-10']);
    expect(days('0 9 l-1b 2 *')).toEqual(['02-25']);
    expect(days('0 9 23B * *')).toEqual(['03-31']);
  });

  it.each<[object, string]>([
    [{ cron: '0 9 3B * *' }, 'say which days these are: businessDays: { calendar'],
    [{ cron: '0 9 3B * *', exclude: ['2027-01-01'] }, 'say which days these are'],
    [{ cron: '0 9 3B * mon', businessDays: {} }, 'write * as weekday'],
    [{ cron: '0 9 B * *', businessDays: {} }, 'write 3B for the third'],
    [{ cron: '0 9 0B * *', businessDays: {} }, 'write 1B to 31B'],
    [{ cron: '0 9 L-31B * *', businessDays: {} }, 'write 1B to 31B'],
    [{ cron: '0 9 * 3B *', businessDays: {} }, 'only for the day of month'],
    [{ cron: '0 9 * * *', businessDays: { weekend: ['saturday'] } }, 'one of mon, tue'],
    [{ cron: '0 9 * * *', businessDays: { weekend: 'sat' } }, "as in ['sat', 'sun']"],
    [{ cron: '0 9 * * *', businessDays: { weekend: [...WEEK] } }, 'leaves none'],
    [{ cron: '0 9 * * *', businessDays: { calender: 'x' } }, 'did you mean "calendar"'],
    [{ cron: '0 9 * * *', businessDays: 'de' }, 'write an object'],
    [{ cron: '0 9 * * *', businessDays: { calendar: 'de' } }, 'whose dates are in the database'],
    [{ cron: '0 9 * * *', exclude: [{ weekend: ['sat'], dates: [] }] }, 'dates'],
    [{ cron: '0 9 1 * *', shift: 'forward' }, 'write next or previous'],
    [{ cron: '0 9 1 * *', shift: null }, 'write next or previous'],
    [{ cron: '0 9 * * sat', businessDays: {} }, 'leaves no occurrence'],
    [{ cron: '0 9 24B * *', businessDays: {} }, 'leaves no occurrence'],
    [{ every: '7d', anchor: '2027-01-02T09:00', businessDays: {} }, 'leaves no occurrence'],
    [{ every: '1d', shift: 'next' }, 'write every with anchor, or cron'],
    [{ at: '2027-01-01T00:00:00Z', shift: 'next' }, 'the instant to which it would move'],
    [{ every: '36h', anchor: '2027-01-04T09:00' }, 'counts whole days'],
    [{ every: '2w', anchor: '2027-01-04T09:00Z' }, 'without Z or an offset'],
    [{ every: '2w', anchor: '2027-02-30T09:00' }, 'not a local time'],
    [{ every: '2w', anchor: '2027-01-04' }, 'not a local time'],
    [{ every: '2w', anchor: new Date(0) }, 'not a local time'],
    [{ every: '2w', anchor: '2027-01-04T09:00', phase: '1h' }, 'leave phase out'],
    [{ cron: '0 9 * * *', anchor: '2027-01-04T09:00' }, 'anchor belongs to every'],
  ])('refuses %j', (spec, why) => {
    const { code, message } = refusal(spec);
    expect(code).toBe('TOCK_BAD_SCHEDULE');
    expect(message).toContain(why);
  });
});

it('every n-th day from an anchor begins there, keeps its local time, and moves what is excluded', () => {
  const spec = { every: '2w', anchor: '2027-03-15T02:30', timezone: 'Europe/Berlin' } as const;
  const year = ['2027-01-01T00:00:00Z', '2027-05-01T00:00:00Z'] as const;
  expect(found(spec, ...year)).toEqual([
    '2027-03-15T01:30:00.000Z',
    '2027-03-29T00:30:00.000Z',
    '2027-04-12T00:30:00.000Z',
    '2027-04-26T00:30:00.000Z',
  ]);
  expect(found({ ...spec, ...business, shift: 'next' }, ...year)[1]).toBe('2027-03-30T00:30:00.000Z');
  const gap = { ...spec, anchor: '2027-03-14T02:30' } as const;
  expect(found(gap, ...year)[1]).toBe('2027-03-28T01:30:00.000Z');
  expect(found({ ...gap, dst: 'skip' }, ...year)[1]).toBe('2027-04-11T00:30:00.000Z');
});
