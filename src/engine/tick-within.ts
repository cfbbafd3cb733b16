// A tick that ends within a time, where a platform would kill it later.
import { type Duration, parseDuration } from '../model/duration.js';
import { TockError } from '../model/errors.js';
import type { Engine, Settings } from './engine.js';
import { runTick, type TickOptions, type TickSummary } from './run-tick.js';

const LEAST_MS = 1000;
const MAX_RESERVE_MS = 2000;

/** How a tick's time is divided. All in milliseconds, from its start. */
export interface TickParts {
  /** Until then new runs are claimed. */
  readonly claimMs: number;
  /** Then the signals of runs that have not ended abort. */
  readonly endMs: number;
  /** How long they have to stop after that; what remains of the time is for writing how they ended. */
  readonly graceMs: number;
}

/**
 * Most of the time is for claiming. A fifth is for the runs to end, and a tenth for those to stop that do
 * not, but no more than the settings `drain` and `grace`; another fifth, two seconds at most, is for the last
 * statements.
 */
export function partsOf(
  withinMs: number,
  { drainMs, graceMs }: Pick<Settings, 'drainMs' | 'graceMs'>,
): TickParts {
  const grace = Math.min(graceMs, withinMs / 10);
  const endMs = withinMs - Math.min(MAX_RESERVE_MS, withinMs / 5) - grace;
  return { claimMs: endMs - Math.min(drainMs, withinMs / 5), endMs, graceMs: grace };
}

/** @throws TockError TOCK_BAD_DURATION; TOCK_BAD_OPTION for less than a second */
export function readWithin(within: Duration, what: string): number {
  const ms = parseDuration(within, what);
  if (ms >= LEAST_MS) return ms;
  throw new TockError('TOCK_BAD_OPTION', `${what} is ${ms}ms; a tick takes 1s at least`);
}

/**
 * {@link runTick}, which returns within the time as long as the server answers. Runs that have not ended by
 * then are given back, and their attempts are not counted.
 */
export async function tickWithin(
  engine: Engine,
  options: Omit<TickOptions, 'budgetMs' | 'endMs'>,
  withinMs: number,
): Promise<TickSummary> {
  const { claimMs, endMs, graceMs } = partsOf(withinMs, engine.settings);
  const hurried = { ...engine, settings: { ...engine.settings, graceMs } };
  return await runTick(hurried, { ...options, budgetMs: claimMs, endMs });
}
