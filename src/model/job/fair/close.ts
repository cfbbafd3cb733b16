// ctx.closeUntil, the part of a handler's context that is about closing its key.
import type { Duration } from '../../duration.js';

/** Options of `ctx.closeUntil`. */
export interface CloseOptions {
  /** Closes the queue of the run instead of its key. Default false. */
  readonly queue?: boolean;
}

/** The part of a handler's context that is about closing. */
export interface CloseMethods {
  /**
   * Closes the fair key of this run on all hosts until then: no run of it starts, also no retry. For answers
   * such as HTTP 429. Of two times the later one counts; it is what this resolves to. Runs that have
   * started go on, as this one does: throw Snooze, or return. So do the few that another process has claimed
   * and not started. `tock key open` opens it sooner.
   * @param until a Date, text such as `2026-03-01T12:00:00Z`, or a duration from now, `'30s'`
   * @throws TockError TOCK_BAD_OPTION for a run without a key; TOCK_BAD_TIME, TOCK_BAD_DURATION,
   * TOCK_LEASE_LOST
   */
  readonly closeUntil: (until: Date | Duration, options?: CloseOptions) => Promise<Date>;
}
