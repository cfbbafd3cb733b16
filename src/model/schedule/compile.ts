// Compiles a schedule into two pure functions: the next and the previous occurrence of an instant.
import { TockError } from '../errors.js';
import type { AtTime } from './at-text.js';
import { badSchedule, show } from './bad-schedule.js';
import { DAY_SECONDS } from './calendar.js';
import { instantsOfCivil, nextInstant, previousInstant } from './civil.js';
import { nextCivil } from './civil-walk.js';
import { createDayGates } from './day-gates.js';
import { localDays } from './days/local-days.js';
import { EARLIEST_MS, LATEST_MS } from './instant-text.js';
import { createOpenGrid, type Interval, type OpenGrid } from './open-grid.js';
import { type Dst, type ReadSpec, readSpec, type ScheduleSpec } from './spec.js';
import type { Zone } from './zone/zone.js';

/** A set of instants, all of them whole seconds, between the years 1900 and 2200. */
export interface CompiledSchedule {
  /** The least occurrence > `after`, or null. Epoch milliseconds. @throws TockError TOCK_BAD_TIME on NaN */
  readonly next: (after: number) => number | null;
  /** The greatest occurrence < `before`, or null. Epoch ms. @throws TockError TOCK_BAD_TIME on NaN */
  readonly previous: (before: number) => number | null;
}

/** In seconds. Instants beyond the bound need not be found; startAt and endAt are the caller's. */
interface Instants {
  readonly atOrAfter: (second: number, last: number) => number | null;
  readonly atOrBefore: (second: number, first: number) => number | null;
}

const ALL_TIMES = { hours: 2 ** 24 - 1, minutes: { low: 2 ** 30 - 1, high: 2 ** 30 - 1 } };
/** Exclusions must leave something between these; without startAt from 2020 on. No date is rarer. */
const CHECKED_FROM = Date.UTC(2020, 0, 1) / 1000;
const CHECKED_SECONDS = 40 * 366 * 86_400;

/**
 * Compiles a schedule. Cheap to repeat: expressions and zones are cached, within bounds.
 * @param seed the definition's name, which decides what `H` stands for. Without it H is the same for all.
 * @throws TockError TOCK_BAD_SCHEDULE; the message names the option, what is wrong and how to fix it
 */
export function compileSchedule(spec: ScheduleSpec, seed?: string): CompiledSchedule {
  const read = readSpec(spec, seed);
  let compiled: Instants | undefined;
  // Compiled on first use: checking a schedule does not need it.
  const instants = () => {
    compiled ??= instantsOf(read);
    return compiled;
  };
  const first = Math.ceil((read.startAt ?? EARLIEST_MS) / 1000);
  const last = Math.floor((read.endAt ?? LATEST_MS) / 1000);
  if (mayBeEmpty(spec, read)) requireSome(spec, read, instants);
  return {
    next(after) {
      const from = Math.max(Math.floor(checkTime(after) / 1000) + 1, first);
      if (from > last) return null;
      const found = instants().atOrAfter(from, last);
      return found === null || found > last ? null : found * 1000;
    },
    previous(before) {
      const to = Math.min(Math.ceil(checkTime(before) / 1000) - 1, last);
      if (to < first) return null;
      const found = instants().atOrBefore(to, first);
      return found === null || found < first ? null : found * 1000;
    },
  };
}

function checkTime(ms: number): number {
  if (!Number.isNaN(ms)) return ms;
  throw new TockError(
    'TOCK_BAD_TIME',
    'the time is NaN; pass epoch milliseconds, as Date.getTime() gives for a valid date',
  );
}

/** Days of any weekday: over the years each falls on one that a weekend leaves. */
const ANY_WEEKDAY = /^[^b]*\s\*\s*$/i;

function mayBeEmpty({ cron }: ScheduleSpec, { timing, exclusions }: ReadSpec): boolean {
  const sets = exclusions?.sets.length ?? 0;
  if (timing.kind === 'at' || sets === 0) return false;
  const isWeekendAlone = sets === 1 && exclusions?.hasWeekend === true;
  return !isWeekendAlone || !ANY_WEEKDAY.test(cron ?? '');
}

/** Refuses exclusions that leave nothing: every later question would look through centuries. */
function requireSome(spec: ScheduleSpec, read: ReadSpec, instants: () => Instants): void {
  const { timing, startAt } = read;
  const begin = timing.kind === 'days' ? Math.max(CHECKED_FROM, timing.anchor) : CHECKED_FROM;
  const from = startAt === null ? begin : Math.ceil(startAt / 1000);
  const last = from + CHECKED_SECONDS;
  // Of local times any will do, in whatever zone: the offsets need not be looked up.
  const found =
    timing.kind === 'cron' || timing.kind === 'days'
      ? nextCivil(localDays(timing, read.exclusions, read.shift).set, from - DAY_SECONDS)
      : instants().atOrAfter(from, last);
  if (found !== null && found <= last) return;
  const what = spec.cron === undefined ? `every ${show(spec.every)}` : `cron ${show(spec.cron)}`;
  throw badSchedule(
    `exclude leaves no occurrence of ${what}, for 40 years at least; exclude less, or choose other times`,
  );
}

function instantsOf({ timing, zone, dst, exclusions, shift }: ReadSpec): Instants {
  if (timing.kind === 'cron' || timing.kind === 'days') {
    const { set } = localDays(timing, exclusions, shift);
    const mapping = set.fields.everyHour ? 'literal' : dst;
    return {
      atOrAfter: second => nextInstant(set, zone, mapping, second),
      atOrBefore: second => previousInstant(set, zone, mapping, second),
    };
  }
  const interval = timing.kind === 'at' ? { every: 1, phase: 0 } : timing;
  const grid =
    exclusions === null
      ? plainGrid(interval)
      : createOpenGrid(interval, zone, createDayGates(exclusions, ALL_TIMES));
  if (timing.kind === 'every') return { atOrAfter: grid.next, atOrBefore: grid.previous };
  // Computed each time: a local time moves with the zone's data.
  const open = () => instantsAt(timing.at, zone, dst).filter(at => grid.next(at, at) !== null);
  return {
    atOrAfter: second => open().find(at => at >= second) ?? null,
    atOrBefore: second => open().findLast(at => at <= second) ?? null,
  };
}

const instantsAt = (at: AtTime, zone: Zone, dst: Dst): readonly number[] =>
  at.kind === 'instant' ? [at.second] : instantsOfCivil(zone, at.civil, dst);

function plainGrid({ every, phase }: Interval): OpenGrid {
  return {
    next: from => phase + Math.ceil((from - phase) / every) * every,
    previous: to => phase + Math.floor((to - phase) / every) * every,
  };
}
