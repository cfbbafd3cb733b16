// The steady time of a process, and its timers, as they are given to whatever measures or waits.

/**
 * A timer of a {@link Clock}. Node's own is one as it is, so that none is wrapped.
 */
export interface Timer {
  /** The process may end while this timer waits. */
  readonly unref: () => unknown;
}

/**
 * How long things take, and when they are next: never what time of day it is, which is the database's. All in
 * milliseconds. There is one in a process; a test may hand in its own, of which it moves the hands.
 */
export interface Clock {
  /** Since some instant in the past. Never goes back, whatever is done to the host's clock. */
  readonly now: () => number;
  /** Calls `work` once, after `ms`. */
  readonly setTimeout: (work: () => void, ms: number) => Timer;
  /** Calls `work` every `ms`. */
  readonly setInterval: (work: () => void, ms: number) => Timer;
  /** The timer fires no more; undefined: there is none. */
  readonly clear: (timer: Timer | undefined) => void;
  /** Resolves after `ms`; rejects with an AbortError when `signal` aborts. */
  readonly sleep: (ms: number, signal?: AbortSignal) => Promise<void>;
}

/**
 * Whether a step that works in batches is to leave the rest to a later one. It is asked after each batch, and
 * never before the first: so each step gets on, however slow the database is.
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
