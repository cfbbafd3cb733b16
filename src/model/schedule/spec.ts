// A schedule as code writes it, and its validation.
import { type Duration, parseDuration } from '../duration.js';
import { TockError } from '../errors.js';
import { badSchedule, show } from './bad-schedule.js';
import { type CronFields, checkCron, readCron } from './cron/cron-fields.js';
import { type Exclusions, readExclusions } from './exclusions.js';
import { readInstant } from './instant-text.js';
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
  /** An interval of whole seconds, aligned to 1970-01-01T00:00Z. Not affected by daylight saving time. */
  readonly every?: Duration;
  /** With `every`: an offset from its alignment, less than the interval. Default 0. */
  readonly phase?: Duration;
  /** One instant: a Date, or ISO text with Z or an offset. Rounded up to a whole second. */
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
   * Excluded times: local dates `'YYYY-MM-DD'` in the schedule's zone, or cron sets of five fields, which
   * exclude the minutes that they name. `{ cron: '* * 25 12 *' }` is all of Christmas Day. Default: none.
   */
  readonly exclude?: readonly (string | { readonly cron: string })[];
}

/** A spec with its parts read. Instants in epoch milliseconds, intervals in seconds. */
export interface ReadSpec {
  readonly timing:
    | { readonly kind: 'cron'; readonly fields: CronFields }
    | { readonly kind: 'every'; readonly every: number; readonly phase: number }
    | { readonly kind: 'at'; readonly at: number };
  readonly zone: Zone;
  readonly dst: Dst;
  readonly startAt: number | null;
  readonly endAt: number | null;
  readonly exclusions: Exclusions | null;
}

const MODES: readonly unknown[] = ['once', 'skip', 'literal'];

/**
 * Reads a spec. Ignores keys that are not schedule options; `undefined` counts as absent, `null` does not.
 * @param seed decides what `H` stands for: the definition's name
 * @throws TockError TOCK_BAD_SCHEDULE
 */
export function readSpec(spec: ScheduleSpec, seed?: string): ReadSpec {
  if (typeof spec !== 'object' || spec === null) {
    throw badSchedule(`a schedule is an object, as in { cron: '30 2 * * *' }, but this is ${show(spec)}`);
  }
  const { dst = 'once', timezone = 'UTC', startAt: from, endAt: until } = spec;
  const timing = readTiming(spec, seed);
  if (!MODES.includes(dst)) throw badSchedule(`dst is ${show(dst)}; write once, skip or literal`);
  const zone = findZone(timezone);
  const startAt = from === undefined ? null : readInstant(from, 'startAt');
  const endAt = until === undefined ? null : readInstant(until, 'endAt');
  if (startAt !== null && endAt !== null && endAt < startAt) {
    throw badSchedule(`endAt ${show(until)} is before startAt ${show(from)}; swap them or leave one out`);
  }
  return { timing, zone, dst, startAt, endAt, exclusions: readExclusions(spec.exclude, seed) };
}

function readTiming(spec: ScheduleSpec, seed: string | undefined): ReadSpec['timing'] {
  const { cron, every, phase, at } = spec;
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
  if (at !== undefined) return { kind: 'at', at: readInstant(at, 'at') };
  const seconds = wholeSeconds(every, 'every');
  if (seconds < 1) throw badSchedule(`every ${show(every)} is too short; write at least 1s`);
  const offset = phase === undefined ? 0 : wholeSeconds(phase, 'phase');
  if (offset >= seconds) throw badSchedule(`phase ${show(phase)} is not shorter than every ${show(every)}`);
  return { kind: 'every', every: seconds, phase: offset };
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
