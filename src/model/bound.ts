// How long a step goes on that works in batches, before it leaves what remains to a later one.
import type { Clock } from './clock.js';

/**
 * Whether a step is to leave the rest to a later one. It is asked after each batch, never before the first: so
 * each step gets on, however slow the database is.
 */
export type IsOver = () => boolean;

/** For who wants all of it. */
export const NEVER_OVER: IsOver = () => false;

/**
 * How long each step before a claim goes on; then the batch that is under way ends. Short for somebody who
 * waits for a run, and long compared with a claim, so that the claims in between hardly slow a backlog down.
 */
export const STEP_MS = 500;

/** Over after `ms` from now, or once the signal aborts. */
export function boundOf(clock: Clock, ms: number, signal?: AbortSignal): IsOver {
  const until = clock.now() + ms;
  return () => signal?.aborted === true || clock.now() >= until;
}
