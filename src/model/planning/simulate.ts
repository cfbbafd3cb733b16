// What definitions would do in a window: how many runs would start in each minute, and what jitter does.
import { TockError } from '../errors.js';
import { compileSchedule } from '../schedule/compile.js';
import { jitterMs } from '../schedule/jitter.js';
import type { ScheduleSpec } from '../schedule/spec.js';
import { findZone } from '../schedule/zone/zone.js';
import { type Chain, chainWords } from './chain.js';
import type { DefinitionRecord } from './definition-columns.js';
import { counterOf, MINUTE_MS, type Peak } from './minute-counter.js';
import { type Window, windowIn } from './window.js';

export type { Peak } from './minute-counter.js';

/** Without jitter, a limit or hours unless they are given; the hours are in the zone of the schedule. */
export interface SimulatedDefinition
  extends Partial<Pick<DefinitionRecord, 'jitterMs' | 'remaining' | 'window' | 'outsideWindow'>> {
  readonly name: string;
  readonly spec: ScheduleSpec;
}

export interface SimulationWindow {
  /** Inclusive. */
  readonly from: Date;
  /** Exclusive. */
  readonly to: Date;
  /** The zone of the counted hours. Default UTC. */
  readonly timezone?: string;
}

export interface BusyMinute {
  readonly minute: Date;
  readonly count: number;
  /** Those with the most runs first. */
  readonly definitions: readonly { readonly name: string; readonly count: number }[];
}

export interface Simulation {
  readonly from: Date;
  readonly to: Date;
  readonly timezone: string;
  readonly definitions: number;
  /** Runs that would start in the window, after jitter and after waiting for their own window to open. */
  readonly starts: number;
  /** Starts that wait for their definition's window to open. */
  readonly deferred: number;
  /** Occurrences without a run, because they are outside their definition's window. */
  readonly skipped: number;
  /** Each local hour; the first and last may be partial, and a repeated hour is listed twice. */
  readonly hours: readonly { readonly start: Date; readonly count: number }[];
  /** The five busiest minutes with the definitions' own jitter. */
  readonly busiest: readonly BusyMinute[];
  readonly peaks: { readonly withoutJitter: Peak; readonly asDefined: Peak; readonly jitterForAll: Peak };
}

const JITTER_FOR_ALL_MS = 300_000;
export const MAX_SIMULATED = 5_000_000;
const YEAR_MS = 366 * 86_400_000;
const BUSIEST = 5;
/** A window opens once a day; when the clocks change, an hour or two later. */
export const MAX_WAIT_MS = 27 * 3_600_000;

/**
 * Simulates definitions in [from, to). Counts when runs would start, not how long they take; catch-up,
 * overlap, pauses and chains are ignored. An occurrence just before the window counts if its jitter or its
 * definition's window moves its start into it.
 * @throws TockError TOCK_BAD_TIME for a window that is empty or longer than 366 days, and for over 5 million
 * occurrences; TOCK_BAD_SCHEDULE
 */
export function simulate(definitions: readonly SimulatedDefinition[], window: SimulationWindow): Simulation {
  const { from, to, timezone = 'UTC' } = window;
  checkWindow(from, to);
  const zone = findZone(timezone);
  const counts = { plain: counterOf(window), own: counterOf(window), all: counterOf(window) };
  let left = MAX_SIMULATED;
  let [deferred, skipped] = [0, 0];
  const isInside = (at: number) => at >= from.getTime() && at < to.getTime();
  for (const definition of definitions) {
    const { name, jitterMs: own = 0 } = definition;
    const hours = hoursOf(definition);
    const reach = Math.max(own, JITTER_FOR_ALL_MS) + (hours === null ? 0 : MAX_WAIT_MS);
    left -= walk(definition, window, reach, left, (at, gap) => {
      if (hours && definition.outsideWindow === 'skip' && !hours.isOpen(at)) {
        if (isInside(at)) skipped++;
        return;
      }
      const jittered = at + jitterMs(name, own, gap);
      const start = startIn(hours, jittered);
      if (start !== jittered && isInside(start)) deferred++;
      counts.plain.add(startIn(hours, at));
      counts.own.add(start);
      counts.all.add(startIn(hours, at + jitterMs(name, JITTER_FOR_ALL_MS, gap)));
    });
  }
  const busiest = counts.own.busiest(BUSIEST);
  return {
    from,
    to,
    timezone,
    definitions: definitions.length,
    starts: counts.own.total(),
    deferred,
    skipped,
    hours: counts.own.byHour(zone).map(({ start, count }) => ({ start, count })),
    busiest: busiest.map(({ minute, count }) => ({
      minute,
      count,
      definitions: startsIn(definitions, minute),
    })),
    peaks: {
      withoutJitter: counts.plain.peak(),
      asDefined: counts.own.peak(),
      jitterForAll: counts.all.peak(),
    },
  };
}

export function checkWindow(from: Date, to: Date): void {
  const length = to.getTime() - from.getTime();
  if (Number.isNaN(length)) throw new TockError('TOCK_BAD_TIME', 'from or to is not a valid Date');
  if (length <= 0) {
    throw new TockError(
      'TOCK_BAD_TIME',
      `to ${to.toISOString()} is not after from ${from.toISOString()}; swap them, or move to`,
    );
  }
  if (length > YEAR_MS) {
    throw new TockError(
      'TOCK_BAD_TIME',
      'the window is longer than a year; simulate at most 366 days at once',
    );
  }
}

export function hoursOf({ window = null, spec }: SimulatedDefinition): Window | null {
  return window === null ? null : windowIn(window, spec.timezone ?? 'UTC');
}

export function startIn(hours: Window | null, at: number): number {
  return hours === null ? at : hours.opening(at);
}

/**
 * Visits the occurrences from `reach` before the window to its end, with the gap to the next one. Returns how
 * many there were. Those before the window do not count towards `remaining`.
 */
export function walk(
  { name, spec, remaining = null }: SimulatedDefinition,
  { from, to }: SimulationWindow,
  reach: number,
  most: number,
  visit: (at: number, gap: number) => void,
): number {
  const schedule = compileSchedule(spec, name);
  const [begin, end] = [from.getTime(), to.getTime()];
  let [count, made] = [0, 0];
  let at = schedule.next(begin - reach - 1);
  while (at !== null && at < end && (remaining === null || made < remaining)) {
    if (++count > most) {
      throw new TockError(
        'TOCK_BAD_TIME',
        `there are more than ${MAX_SIMULATED} occurrences; simulate a shorter window, or fewer definitions`,
      );
    }
    const next = schedule.next(at);
    visit(at, next === null ? Number.POSITIVE_INFINITY : next - at);
    if (at >= begin) made++;
    at = next;
  }
  return count;
}

export function startsIn(
  definitions: readonly SimulatedDefinition[],
  minute: Date,
): { readonly name: string; readonly count: number }[] {
  const begin = minute.getTime();
  const found = definitions.map(each => ({
    name: each.name,
    count: countIn(each, begin, begin + MINUTE_MS),
  }));
  return found
    .filter(({ count }) => count > 0)
    .sort((a, b) => b.count - a.count || (a.name < b.name ? -1 : 1));
}

function countIn(definition: SimulatedDefinition, begin: number, end: number): number {
  const { name, spec, jitterMs: own = 0, outsideWindow } = definition;
  const schedule = compileSchedule(spec, name);
  const hours = hoursOf(definition);
  let count = 0;
  for (let at = schedule.next(begin - own - (hours ? MAX_WAIT_MS : 0) - 1); at !== null && at < end; ) {
    const next = schedule.next(at);
    const jittered = at + jitterMs(name, own, next === null ? Number.POSITIVE_INFINITY : next - at);
    const isSkipped = hours !== null && outsideWindow === 'skip' && !hours.isOpen(at);
    const start = startIn(hours, jittered);
    if (!isSkipped && start >= begin && start < end) count++;
    at = next;
  }
  return count;
}

/** Why a definition is left out of a simulation; null if it makes runs by itself. */
export function reasonNotSimulated({
  isPaused,
  isBroken,
  isVanished,
  remaining,
  chain,
}: {
  readonly isPaused: boolean;
  readonly isBroken: boolean;
  readonly isVanished: boolean;
  readonly remaining: number | null;
  readonly chain: Chain | null;
}): string | null {
  if (isPaused) return 'paused';
  if (isBroken) return 'broken';
  if (isVanished) return 'vanished from code';
  if (remaining === 0) return 'remaining is 0';
  // When a chained run starts depends on how long others take, which is not simulated.
  return chain === null ? null : `it runs ${chainWords(chain)}; chains are not simulated`;
}
