// The load of a week, before and after a jitter for all: which hours and minutes are crowded.
import {
  checkWindow,
  hoursOf,
  MAX_WAIT_MS,
  type SimulatedDefinition,
  type SimulationWindow,
  walk,
} from '../plan/walk.js';
import { jitterMs } from '../schedule/jitter.js';
import { findZone } from '../schedule/zone/zone.js';
import { counterOf, type HourCount, MINUTE_MS, type Peak } from './minute-counter.js';
import type { BusyMinute } from './simulate.js';
import { startIn } from './window.js';

export interface LoadCurve {
  /** Each local hour; the first and last may be partial. */
  readonly hours: readonly HourCount[];
  readonly starts: number;
  readonly peak: Peak;
}

export interface Load {
  readonly definitions: number;
  /** With the definitions' own jitter. */
  readonly asDefined: LoadCurve;
  /** With one jitter for all in place of their own. */
  readonly jittered: LoadCurve;
  /** The five busiest minutes as defined; without names where there are more than 10,000 definitions. */
  readonly busiest: readonly BusyMinute[];
}

/** More would keep the process busy for seconds. */
export const MAX_LOAD_OCCURRENCES = 1_000_000;
const MAX_NAMED = 10_000;

/**
 * Simulates definitions in [from, to), in steps, so that a server can do other things in between: the last
 * value is the result. It counts what is due: overlap, limits and chains have no part in it.
 * @throws TockError TOCK_BAD_TIME for a bad window, and for over a million occurrences; TOCK_BAD_SCHEDULE
 */
export function* loadSteps(
  definitions: readonly SimulatedDefinition[],
  window: SimulationWindow & { readonly jitterMs: number },
): Generator<void, Load> {
  const { from, to, timezone = 'UTC' } = window;
  checkWindow(from, to);
  const zone = findZone(timezone);
  const [own, all] = [counterOf(window), counterOf(window)];
  let left = MAX_LOAD_OCCURRENCES;
  for (const definition of definitions) {
    const { name, jitterMs: ownMs = 0, outsideWindow } = definition;
    const hours = hoursOf(definition);
    const reach = Math.max(ownMs, window.jitterMs) + (hours === null ? 0 : MAX_WAIT_MS);
    left -= walk(definition, window, reach, Math.max(left, 0), (at, gap) => {
      if (hours && outsideWindow === 'skip' && !hours.isOpen(at)) return;
      own.add(startIn(hours, at, jitterMs(name, ownMs, gap)));
      all.add(startIn(hours, at, jitterMs(name, window.jitterMs, gap)));
    });
    yield;
  }
  const curve = (counter: typeof own): LoadCurve => ({
    hours: counter.byHour(zone),
    starts: counter.total(),
    peak: counter.peak(),
  });
  const busiest: BusyMinute[] = [];
  for (const { minute, count } of own.busiest(5)) {
    busiest.push({
      minute,
      count,
      definitions: definitions.length > MAX_NAMED ? [] : startsIn(definitions, minute),
    });
    yield;
  }
  return { definitions: definitions.length, asDefined: curve(own), jittered: curve(all), busiest };
}

function startsIn(definitions: readonly SimulatedDefinition[], minute: Date): BusyMinute['definitions'] {
  const found = definitions.map(each => ({ name: each.name, count: countIn(each, minute) }));
  return found
    .filter(({ count }) => count > 0)
    .sort((a, b) => b.count - a.count || (a.name < b.name ? -1 : 1));
}

function countIn(definition: SimulatedDefinition, minute: Date): number {
  const { name, jitterMs: own = 0, outsideWindow } = definition;
  const hours = hoursOf(definition);
  const end = minute.getTime() + MINUTE_MS;
  const window = { from: minute, to: new Date(end) };
  const reach = own + (hours === null ? 0 : MAX_WAIT_MS);
  let count = 0;
  walk({ ...definition, remaining: null }, window, reach, MAX_LOAD_OCCURRENCES, (at, gap) => {
    if (hours !== null && outsideWindow === 'skip' && !hours.isOpen(at)) return;
    const start = startIn(hours, at, jitterMs(name, own, gap));
    if (start >= minute.getTime() && start < end) count++;
  });
  return count;
}
