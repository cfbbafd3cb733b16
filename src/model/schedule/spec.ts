// A schedule as code writes it, and its validation.
import { type Duration, parseDuration } from '../duration.js';
import { TockError } from '../errors.js';
import { type AtTime, readAt } from './at-text.js';
import { badSchedule, show } from './bad-schedule.js';
import { type CronFields, checkCron, readCron } from './cron/cron-fields.js';
import type { BusinessDays } from './days/business-days.js';
import { SHIFTS, type Shift } from './days/shifted-days.js';
import { type Exclusion, type Exclusions, excludeOf, readExclusions } from './exclusions.js';
import { readInstant, readLocalTime } from './instant-text.js';
import { findZone, type Zone } from './zone/zone.js';

/**
 * What happens to local times that a time zone skips or repeats.
 *
 * - `once` (default): each local time gives exactly one instant. 02:30 in a gap happens at 03:30 summer time;
 *   a repeated time happens at its first pass.
 * - `skip`: as `once`, but a time in a gap does not happen.
 * - `literal`: every instant whose local time matches: in a gap none, in an overlap two.
 *
 * A schedule whose hour field covers all 24 hours is continuous in real time under all three.
 */
export type Dst = 'once' | 'skip' | 'literal';

/** When to run. Exactly one of `cron`, `every` and `at`. */
export interface ScheduleSpec {
  /**
   * Five fields, six with seconds first, or a name such as `@daily`. `H` stands for a value that the
   * definition's name decides.
   */
  readonly cron?: string;
  /**
   * An interval of whole seconds, aligned to 1970-01-01T00:00Z and not affected by daylight saving time; with
   * `anchor`, of whole days at a local time.
   */
  readonly every?: Duration;
  /** With `every`: an offset from its alignment, less than the interval. Default 0. */
  readonly phase?: Duration;
  /**
   * With `every` of whole days: the first occurrence in local time, such as `2027-01-04T09:00`. The others
   * follow after so many days each, at the same time by the clocks of `timezone`; `dst` decides as for cron.
   * Default: none.
   */
  readonly anchor?: string;
  /**
   * One time. A Date, or ISO text with Z or an offset, is an instant, rounded up to a whole second. Text
   * without either, such as `2027-11-12T08:00`, is a local time in `timezone`, which must be stated then: it
   * stays 08:00 there if the zone's rules change before.
   */
  readonly at?: Date | string;
  /** An IANA name. Default UTC. */
  readonly timezone?: string;
  /** Default `once`. */
  readonly dst?: Dst;
  /** The first instant that may be an occurrence, inclusive; before jitter. Default: no bound. */
  readonly startAt?: Date | string;
  /** The last instant that may be an occurrence, inclusive; before jitter. Default: no bound. */
  readonly endAt?: Date | string;
  /**
   * Excluded times: local dates `'YYYY-MM-DD'` in the schedule's zone, those of a calendar (`{ calendar:
   * 'de-holidays' }`), days of the week (`{ weekend: ['sat', 'sun'] }`), or cron sets of five fields, which
   * exclude the minutes that they name. `{ cron: '* * 25 12 *' }` is all of Christmas Day. Default: none.
   */
  readonly exclude?: readonly Exclusion[];
  /**
   * Only on business days: short for `exclude` with a weekend, by default Saturday and Sunday, and a
   * calendar. In cron, `3B` is then the third business day of the month, `LB` the last. Default: each day is
   * one.
   */
  readonly businessDays?: BusinessDays;
  /**
   * With cron, or `every` and `anchor`: an occurrence on a day of which `exclude` leaves none moves to the
   * next, or the previous, day of which it leaves some, at the same local time. What falls on one instant is
   * one occurrence. It moves by at most 31 days, else there is none. Default: what is excluded is left out.
   */
  readonly shift?: Shift;
}

/** A spec with its parts read. Instants in epoch milliseconds, intervals in seconds. */
export interface ReadSpec {
  readonly timing:
    | { readonly kind: 'cron'; readonly fields: CronFields }
    /** Each `step` days from a local time on, in local seconds since 1970-01-01T00:00. */
    | { readonly kind: 'days'; readonly step: number; readonly anchor: number }
    | { readonly kind: 'every'; readonly every: number; readonly phase: number }
    | { readonly kind: 'at'; readonly at: AtTime };
  readonly zone: Zone;
  readonly dst: Dst;
  readonly startAt: number | null;
  readonly endAt: number | null;
  readonly exclusions: Exclusions | null;
  readonly shift: Shift | null;
}

const MODES: readonly unknown[] = ['once', 'skip', 'literal'];
/** An expression without a B is not expanded for the question whether it counts business days. */
const COUNTS_DAYS = /b/i;
const DAY_SECONDS = 86_400;

/**
 * Reads a spec. Ignores keys that are not schedule options; `undefined` counts as absent, `null` does not.
 * @param seed decides what `H` stands for: the definition's name
 * @throws TockError TOCK_BAD_SCHEDULE
 */
export function readSpec(spec: ScheduleSpec, seed?: string): ReadSpec {
  if (typeof spec !== 'object' || spec === null) {
    throw badSchedule(`a schedule is an object, as in { cron: '30 2 * * *' }, but this is ${show(spec)}`);
  }
  const { dst = 'once', timezone = 'UTC', startAt: from, endAt: until, shift } = spec;
  const timing = readTiming(spec, seed);
  if (!MODES.includes(dst)) throw badSchedule(`dst is ${show(dst)}; write once, skip or literal`);
  const zone = findZone(timezone);
  const startAt = from === undefined ? null : readInstant(from, 'startAt');
  const endAt = until === undefined ? null : readInstant(until, 'endAt');
  if (startAt !== null && endAt !== null && endAt < startAt) {
    throw badSchedule(`endAt ${show(until)} is before startAt ${show(from)}; swap them or leave one out`);
  }
  const exclusions = readExclusions(excludeOf(spec), seed);
  requireBusinessDays(spec, timing, exclusions);
  if (shift !== undefined) checkShift(shift, timing);
  return { timing, zone, dst, startAt, endAt, exclusions, shift: shift ?? null };
}

/** What cron's B counts must have been said: a calendar alone would make Sundays business days. */
function requireBusinessDays(
  { cron }: ScheduleSpec,
  timing: ReadSpec['timing'],
  exclusions: Exclusions | null,
): void {
  if (timing.kind !== 'cron' || exclusions?.hasWeekend === true) return;
  if (!COUNTS_DAYS.test(cron ?? '') || timing.fields.businessDays.length === 0) return;
  throw badSchedule(
    `cron ${show(cron)} counts business days; say which days these are: businessDays: { calendar: 'de-holidays' }, or businessDays: {} for Monday to Friday`,
  );
}

function checkShift(shift: unknown, { kind }: ReadSpec['timing']): void {
  if (!(SHIFTS as readonly unknown[]).includes(shift))
    throw badSchedule(`shift is ${show(shift)}; write next or previous, or leave it out`);
  if (kind === 'cron' || kind === 'days') return;
  throw badSchedule(
    kind === 'at'
      ? 'shift does not go with at: write the instant to which it would move'
      : 'shift moves a local time to another day, which every has only beside an anchor: write every with anchor, or cron',
  );
}

function readTiming(spec: ScheduleSpec, seed: string | undefined): ReadSpec['timing'] {
  const { cron, every, phase, at, anchor } = spec;
  const given = [
    cron === undefined ? '' : 'cron',
    every === undefined ? '' : 'every',
    at === undefined ? '' : 'at',
  ];
  const names = given.filter(name => name !== '');
  if (names.length === 0)
    throw badSchedule("a schedule needs one of cron, every and at, as in { cron: '30 2 * * *' }");
  if (names.length > 1)
    throw badSchedule(`a schedule has ${names.join(' and ')}; write exactly one of cron, every and at`);
  if (phase !== undefined && every === undefined) {
    throw badSchedule('phase belongs to every; write both, or leave phase out');
  }
  if (anchor !== undefined && every === undefined) {
    throw badSchedule('anchor belongs to every; write both, or leave anchor out');
  }
  if (cron !== undefined) {
    if (typeof cron !== 'string') throw badSchedule(`cron is ${show(cron)}; write text, as in '30 2 * * *'`);
    checkCron(cron, seed);
    return {
      kind: 'cron',
      get fields() {
        return readCron(cron, seed);
      },
    };
  }
  if (at !== undefined) return { kind: 'at', at: readAt(at, spec.timezone !== undefined) };
  const seconds = wholeSeconds(every, 'every');
  if (seconds < 1) throw badSchedule(`every ${show(every)} is too short; write at least 1s`);
  if (anchor !== undefined) return daysFrom(anchor, seconds, spec);
  const offset = phase === undefined ? 0 : wholeSeconds(phase, 'phase');
  if (offset >= seconds) throw badSchedule(`phase ${show(phase)} is not shorter than every ${show(every)}`);
  return { kind: 'every', every: seconds, phase: offset };
}

function daysFrom(anchor: unknown, seconds: number, { every, phase }: ScheduleSpec): ReadSpec['timing'] {
  if (phase !== undefined && phase !== 0)
    throw badSchedule('every has an anchor and a phase; the anchor says when it begins: leave phase out');
  if (seconds % DAY_SECONDS !== 0)
    throw badSchedule(
      `every ${show(every)} has an anchor, which counts whole days; write 1d, 2w or the like, or phase in place of anchor`,
    );
  return { kind: 'days', step: seconds / DAY_SECONDS, anchor: readLocalTime(anchor, 'anchor') };
}

function wholeSeconds(value: Duration | null | undefined, what: string): number {
  if (value === undefined || value === null)
    throw badSchedule(`${what} is ${show(value)}; write a duration such as '5m', or leave it out`);
  const ms = readDuration(value, what);
  if (ms % 1000 !== 0) throw badSchedule(`${what} ${show(value)} is not whole seconds; write 1s, 90s or 5m`);
  return ms / 1000;
}

function readDuration(value: Duration, what: string): number {
  try {
    return parseDuration(value, what);
  } catch (error) {
    // All errors of a schedule have one code.
    throw error instanceof TockError ? badSchedule(error.message, error) : error;
  }
}
