// What definitions would do in a window: how many runs would start in each minute, and what jitter does.
import { simulateRuns } from '../plan/simulate-runs.js';
import type { SharedLimits } from '../plan/slot-keys.js';
import type { LateRuns, SkipCounts } from '../plan/tally.js';
import {
  checkWindow,
  hoursOf,
  MAX_SIMULATED,
  MAX_WAIT_MS,
  type SimulatedDefinition,
  type SimulationWindow,
  walk,
} from '../plan/walk.js';
import { jitterMs } from '../schedule/jitter.js';
import { findZone } from '../schedule/zone/zone.js';
import { type Chain, chainWords } from './chain.js';
import { counterOf, MINUTE_MS, type Peak } from './minute-counter.js';
import { startIn } from './window.js';

export type { Peak } from './minute-counter.js';

/** A minute, how many runs start in it, and of which definitions. */
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
  /** Runs that would start in the window: after jitter, windows, limits, and the runs that they follow. */
  readonly starts: number;
  /** Runs that are due when their definition's window opens. */
  readonly deferred: number;
  /** Occurrences without a run, because they are outside their definition's window. */
  readonly skipped: number;
  /** Occurrences without a run, by the reason. */
  readonly skips: SkipCounts;
  /** Runs that start at least 10 s after they are due, by what they wait for. */
  readonly late: Omit<LateRuns, 'cause'>;
  readonly lateFor: readonly LateRuns[];
  /** Runs that are due, and have not started in the end. */
  readonly unstarted: number;
  /** Each local hour; the first and last may be partial, and a repeated hour is listed twice. */
  readonly hours: readonly { readonly start: Date; readonly count: number }[];
  /** The five minutes in which most runs start. */
  readonly busiest: readonly BusyMinute[];
  /** The most runs that are due in one minute, those of chains left out. */
  readonly peaks: { readonly withoutJitter: Peak; readonly asDefined: Peak; readonly jitterForAll: Peak };
}

const JITTER_FOR_ALL_MS = 300_000;
const BUSIEST = 5;

/**
 * Simulates definitions in [from, to): which runs start when, with what is given of limits and durations.
 * Nothing waits or runs in the beginning; catch-up has no part in it. An occurrence just before the window
 * counts if its jitter or its definition's window moves its start into it.
 * @throws TockError TOCK_BAD_TIME for a window that is empty or longer than 366 days, and for over 5 million
 * occurrences; TOCK_BAD_SCHEDULE
 */
export function simulate(
  definitions: readonly SimulatedDefinition[],
  window: SimulationWindow,
  limits: SharedLimits = {},
): Simulation {
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
      const jitter = jitterMs(name, own, gap);
      const start = startIn(hours, at, jitter);
      if (start > at + jitter && isInside(start)) deferred++;
      counts.plain.add(startIn(hours, at));
      counts.own.add(start);
      counts.all.add(startIn(hours, at, jitterMs(name, JITTER_FOR_ALL_MS, gap)));
    });
  }
  const simulated = simulateRuns(definitions, window, limits);
  const { skips, late, lateFor, unstarted, startedAt } = simulated;
  const started = counterOf(window);
  for (const at of startedAt) started.add(at);
  return {
    from,
    to,
    timezone,
    definitions: definitions.length,
    starts: startedAt.length,
    deferred,
    skipped,
    skips,
    late,
    lateFor,
    unstarted,
    hours: started.byHour(zone).map(({ start, count }) => ({ start, count })),
    busiest: busiestOf(definitions, simulated, started.busiest(BUSIEST)),
    peaks: {
      withoutJitter: counts.plain.peak(),
      asDefined: counts.own.peak(),
      jitterForAll: counts.all.peak(),
    },
  };
}

/** Says which definitions start in these minutes. */
export function busiestOf(
  definitions: readonly SimulatedDefinition[],
  { startedAt, placeOf }: { readonly startedAt: Float64Array; readonly placeOf: Int32Array },
  minutes: readonly { readonly minute: Date; readonly count: number }[],
): BusyMinute[] {
  const byMinute = new Map(minutes.map(({ minute }) => [minute.getTime(), new Map<string, number>()]));
  for (const [index, at] of startedAt.entries()) {
    const counts = byMinute.get(Math.floor(at / MINUTE_MS) * MINUTE_MS);
    if (counts === undefined) continue;
    const name = definitions[placeOf[index] ?? 0]?.name ?? '';
    counts.set(name, (counts.get(name) ?? 0) + 1);
  }
  return minutes.map(({ minute, count }) => ({
    minute,
    count,
    definitions: [...(byMinute.get(minute.getTime()) ?? [])]
      .map(([name, starts]) => ({ name, count: starts }))
      .sort((a, b) => b.count - a.count || (a.name < b.name ? -1 : 1)),
  }));
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
  // When a chained run starts depends on how long others take.
  return chain === null ? null : `it runs ${chainWords(chain)}; chains are not simulated`;
}
