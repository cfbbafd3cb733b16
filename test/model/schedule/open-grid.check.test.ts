// What exclusions leave, of an interval and of an expression: found in few steps, which are counted, and the same as by
// looking at each occurrence and each minute.
import { describe, expect, it } from 'vitest';
import type { Bits60 } from '../../../src/model/schedule/bits.js';
import { nextCivil, previousCivil } from '../../../src/model/schedule/civil-walk.js';
import { readCron } from '../../../src/model/schedule/cron/cron-fields.js';
import { createDayGates, type DayGates } from '../../../src/model/schedule/day-gates.js';
import { createOpenGrid } from '../../../src/model/schedule/open-grid.js';
import { findZone, type Zone } from '../../../src/model/schedule/zone/zone.js';
import { newSeed } from '../../support/seed.js';
import { type MadeCron, makeCron, matches } from './oracle.js';
import { type Random, random } from './random.js';

const ALL = readCron('* * * * * *');
const DAY = 86_400;
const at = (text: string) => Date.parse(text) / 1000;
const LAST = at('2200-12-31T23:59:59Z');
const FIRST = at('1900-01-01T00:00:00Z');
const NEW_YEAR = at('2026-01-01T00:00:00Z');
/** All months from 2026 on, and back from it. */
const MONTHS_ON = 175 * 12;
const MONTHS_BACK = 126 * 12 + 1;
/** Of months: each begins on seven weekdays, and February has two lengths. */
const KINDS = 13 * 7;

/** Counts how often months, days, and a zone are looked at. */
function counted(gates: DayGates, zone: Zone) {
  const looks = { months: 0, days: 0, zone: 0 };
  return {
    looks,
    zone: { name: zone.name, segmentAt: (instant: number) => (looks.zone++, zone.segmentAt(instant)) },
    gates: {
      gateOf: day => (looks.days++, gates.gateOf(day)),
      openDays: (...month) => (looks.months++, gates.openDays(...month)),
      gatesOf: (...month) => (looks.months++, gates.gatesOf(...month)),
    } satisfies DayGates,
  };
}

const gatesOf = (crons: readonly string[], times = ALL, dates: readonly number[] = []) =>
  createDayGates(
    {
      dates: new Set(dates),
      sets: crons.map(cron => readCron(cron)),
      calendars: new Map(),
      hasWeekend: false,
    },
    times,
  );

function gridOf(every: number, crons: readonly string[], name = 'UTC') {
  const { looks, zone, gates } = counted(gatesOf(crons), findZone(name));
  return { ...createOpenGrid({ every, phase: 0 }, zone, gates), looks };
}

describe('an interval with exclusions', () => {
  it('passes over a long excluded span, a month in one step', () => {
    const { next, previous, looks } = gridOf(120, ['*/2 * * 1-11 *']);
    expect(next(NEW_YEAR, LAST)).toBe(at('2026-12-01T00:00:00Z'));
    expect(looks).toEqual({ months: 24, days: 2, zone: 2 });
    expect(previous(at('2026-11-30T23:59:59Z'), FIRST)).toBe(at('2025-12-31T23:58:00Z'));
    expect(looks).toEqual({ months: 26, days: 4, zone: 4 });
  });

  it.each([
    [120, ['*/2 * * * *']],
    [60, ['0-29 * * * *', '30-59 * * * *']],
    [3600, ['0 * * * *']],
    [7, ['* * * * *']],
    [86_400, ['0 0 * * 0-3', '0 0 * * 4-6']],
    [100_000, ['* * * * *']],
  ])('of %d s gives no more than one step to a month where nothing is left: %j', (every, crons) => {
    const { next, previous, looks } = gridOf(every, crons);
    expect(next(NEW_YEAR, LAST)).toBeNull();
    expect(previous(NEW_YEAR, FIRST)).toBeNull();
    expect(looks.months).toBeLessThanOrEqual(MONTHS_ON + MONTHS_BACK);
    expect(looks).toMatchObject({ days: 2, zone: 2 });
  });

  it('looks at each kind of month once, where the interval never meets what is left', () => {
    // Every 64 s meets all minutes of a day but each sixteenth. Each date leaves one of those.
    const crons = Array.from({ length: 31 }, (_, index) => {
      const minute = 16 * index + 15;
      const [hour, rest] = [Math.floor(minute / 60), minute % 60];
      const hours = [...Array(24).keys()].filter(each => each !== hour).join();
      const minutes = [...Array(60).keys()].filter(each => each !== rest).join();
      return [`* ${hours} ${index + 1} * *`, `${minutes} ${hour} ${index + 1} * *`];
    });
    const { next, looks } = gridOf(64, crons.flat());
    expect(next(NEW_YEAR, LAST)).toBeNull();
    expect(looks).toEqual({ months: 2 * KINDS, days: 1, zone: 1 });
  });

  it('does not ask a zone about years whose days are all closed', () => {
    // 29 February on a Saturday: 2020, 2048, 2076.
    const crons = ['* * * 1,3-12 *', '* * 1-28 2 *', '* * * 2 0-5'];
    const { next, previous, looks } = gridOf(900, crons, 'America/New_York');
    expect(next(NEW_YEAR, LAST)).toBe(at('2048-02-29T05:00:00Z'));
    expect(previous(NEW_YEAR, FIRST)).toBe(at('2020-03-01T04:45:00Z'));
    expect(looks.zone).toBeLessThanOrEqual(10);
    expect(looks.days).toBeLessThanOrEqual(10);
  });

  it('stops at its bound', () => {
    const { next, previous, looks } = gridOf(120, ['*/2 * * * *'], 'America/New_York');
    expect(next(NEW_YEAR, at('2026-01-03T12:00:00Z'))).toBeNull();
    expect(previous(at('2026-01-03T12:00:00Z'), NEW_YEAR)).toBeNull();
    expect(looks.zone).toBe(2);
    const open = gridOf(3600, ['0 0-22 * * *']);
    expect(open.next(NEW_YEAR, at('2026-01-01T22:00:00Z'))).toBeNull();
    expect(open.previous(at('2026-01-01T22:00:00Z'), NEW_YEAR)).toBeNull();
  });

  it('looks at a day twice where the offset changes on it, and follows the new one', () => {
    // Only 02:30 is left, which comes twice that day.
    const { next, looks } = gridOf(1800, ['0 * * * *', '30 0-1,3-23 * * *'], 'Europe/Berlin');
    expect(next(at('2026-10-24T22:00:00Z'), LAST)).toBe(at('2026-10-25T00:30:00Z'));
    expect(next(at('2026-10-25T00:31:00Z'), LAST)).toBe(at('2026-10-25T01:30:00Z'));
    expect(next(at('2026-10-25T01:31:00Z'), LAST)).toBe(at('2026-10-26T01:30:00Z'));
    expect(looks.days).toBeLessThan(8);
    // In spring it does not exist.
    expect(next(at('2026-03-28T02:00:00Z'), LAST)).toBe(at('2026-03-30T00:30:00Z'));
  });
});

describe('a cron expression with exclusions', () => {
  it('gives one step to a month, also where nothing is left', () => {
    const fields = readCron('*/7 3 * * *');
    const { looks, gates } = counted(gatesOf(['* * * * 0-2', '* 3 * * 3-6'], fields), findZone('UTC'));
    expect(nextCivil({ fields, gates }, NEW_YEAR)).toBe(Number.POSITIVE_INFINITY);
    expect(previousCivil({ fields, gates }, NEW_YEAR)).toBe(Number.NEGATIVE_INFINITY);
    expect(looks.months).toBeLessThanOrEqual(MONTHS_ON + MONTHS_BACK);
    expect(looks.days).toBe(0);
  });

  it('reads the excluded sets once for each kind of month', () => {
    const fields = readCron('* * * * *');
    let reads = 0;
    const set = new Proxy(readCron('* * * * *'), {
      get(target, key) {
        if (key === 'months') reads++;
        return Reflect.get(target, key) as unknown;
      },
    });
    const gates = createDayGates(
      { dates: new Set(), sets: [set], calendars: new Map(), hasWeekend: false },
      fields,
    );
    expect(nextCivil({ fields, gates }, NEW_YEAR)).toBe(Number.POSITIVE_INFINITY);
    expect(reads).toBe(KINDS);
  });
});

/** Sets that leave little or nothing, among any others. */
const HARSH: readonly (readonly [text: string, made: Partial<MadeCron>])[] = [
  ['*/2 * * * *', { minutes: range(0, 59, 2) }],
  ['*/15 * * * *', { minutes: range(0, 59, 15) }],
  ['0 * * * *', { minutes: range(0, 0) }],
  ['1-59 * * * *', { minutes: range(1, 59) }],
  ['* 1-23 * * *', { hours: range(1, 23) }],
  ['* * 2-31 * *', { dates: range(2, 31) }],
  ['* * * 2-12 *', { months: range(2, 12) }],
  ['*/2 * * 1-11 *', { minutes: range(0, 59, 2), months: range(1, 11) }],
  ['* * * * 1-6', { weekdays: range(1, 6) }],
  ['*/5 * * * 0,6', { minutes: range(0, 59, 5), weekdays: new Set([0, 6]) }],
];
const ANY: Omit<MadeCron, 'text'> = {
  minutes: range(0, 59),
  hours: range(0, 23),
  dates: range(1, 31),
  months: range(1, 12),
  weekdays: range(0, 6),
  starred: true,
};

function range(from: number, to: number, step = 1): ReadonlySet<number> {
  const values = new Set<number>();
  for (let value = from; value <= to; value += step) values.add(value);
  return values;
}

function makeSets(generator: Random): readonly MadeCron[] {
  const made = Array.from({ length: 1 + generator.below(4) }, (): MadeCron => {
    if (generator.chance(0.4)) return makeCron(generator);
    const [text, fields] = generator.pick(HARSH);
    return { ...ANY, ...fields, text };
  });
  return made.filter(({ text }) => isReadable(text));
}

/** Not a date that never comes. */
function isReadable(cron: string): boolean {
  try {
    return readCron(cron) !== null;
  } catch {
    return false;
  }
}

describe('random exclusions', () => {
  const seed = newSeed();
  const POINTS = 4000;

  it(`leave of an interval what a look at each of its instants finds (TOCK_TEST_SEED=${seed})`, () => {
    const generator = random(seed);
    const found = { some: 0, none: 0 };
    for (let round = 0; round < 300; round++) {
      const zone = findZone(
        generator.pick(['UTC', 'America/New_York', 'Asia/Kathmandu', 'Africa/Casablanca']),
      );
      const every = generator.pick([
        1,
        60,
        61,
        64,
        120,
        420,
        900,
        3600,
        3601,
        7200,
        21_600,
        DAY,
        90_061,
        7 * DAY,
      ]);
      const phase = generator.below(2) * generator.below(every);
      const sets = makeSets(generator);
      const from = at('2025-01-01T00:00:00Z') + generator.below(2 * 366 * DAY);
      const to = from + every * POINTS;
      const dates = generator.chance(0.2) ? [Math.floor(from / DAY), Math.floor(to / DAY)] : [];
      const isLeft = (instant: number) => {
        const civil = instant + zone.segmentAt(instant).offset;
        if (dates.includes(Math.floor(civil / DAY))) return false;
        return !sets.some(set => matches(set, Math.floor(civil / 60) * 60_000));
      };
      const grid = createOpenGrid(
        { every, phase },
        zone,
        gatesOf(
          sets.map(({ text }) => text),
          ALL,
          dates,
        ),
      );
      const said = `every ${every} s + ${phase} s in ${zone.name} from ${from}, without ${sets.map(({ text }) => text).join(' | ')}, seed ${seed}`;
      let next = phase + Math.ceil((from - phase) / every) * every;
      while (next <= to && !isLeft(next)) next += every;
      expect(grid.next(from, to), said).toBe(next <= to ? next : null);
      let previous = phase + Math.floor((to - phase) / every) * every;
      while (previous >= from && !isLeft(previous)) previous -= every;
      expect(grid.previous(to, from), said).toBe(previous >= from ? previous : null);
      found[next <= to ? 'some' : 'none']++;
    }
    expect(found.some).toBeGreaterThan(30);
    expect(found.none).toBeGreaterThan(30);
  });

  it(`leave of an expression what a look at each minute finds (TOCK_TEST_SEED=${seed})`, () => {
    const generator = random(seed);
    const found = { some: 0, none: 0 };
    for (let round = 0; round < 150; round++) {
      const { text } = makeCron(generator);
      const sets = makeSets(generator);
      if (!isReadable(text)) continue;
      const fields = readCron(text);
      const excluded = sets.map(set => set.text);
      const set = { fields, gates: gatesOf(excluded, fields) };
      const from = NEW_YEAR + generator.below(400 * DAY);
      const slow = { fields, gates: slowGates(sets, from) };
      const said = `${text} from ${from}, without ${excluded.join(' | ')}, seed ${seed}`;
      for (const find of [nextCivil, previousCivil]) {
        const expected = find(slow, from);
        const isNear = Math.abs(expected - from) < SLOW_DAYS * DAY;
        const quick = find(set, from);
        if (isNear) expect(quick, said).toBe(expected);
        else expect(Math.abs(quick - from), said).toBeGreaterThanOrEqual(SLOW_DAYS * DAY);
        found[isNear ? 'some' : 'none']++;
      }
    }
    expect(found.some).toBeGreaterThan(30);
    expect(found.none).toBeGreaterThan(10);
  });
});

const SLOW_DAYS = 40;

/** Asks each minute of a day. Beyond some days nothing is excluded, so that a search ends. */
function slowGates(sets: readonly MadeCron[], from: number): DayGates {
  return {
    gateOf: day => (Math.abs(day * DAY - from) > (SLOW_DAYS + 1) * DAY ? 'open' : slowGate(day, sets)),
    openDays: (_, length) => 2 ** length - 1,
    gatesOf: () => [],
  };
}

function slowGate(day: number, sets: readonly MadeCron[]): readonly Bits60[] {
  return Array.from({ length: 24 }, (_, hour) => {
    let [low, high] = [0, 0];
    for (let minute = 0; minute < 60; minute++) {
      const civil = (day * DAY + hour * 3600 + minute * 60) * 1000;
      if (sets.some(set => matches(set, civil))) continue;
      if (minute < 30) low |= 1 << minute;
      else high |= 1 << (minute - 30);
    }
    return { low, high };
  });
}
