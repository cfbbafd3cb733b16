// What another system, or a handler, says of a run that was handed off, and what each method promises.
import type { Duration } from '../duration.js';
import type { QueryClient } from './enqueue-options.js';

/**
 * What another system says of a run that `ctx.handOff` has handed off, by the run's id and the fence of the
 * attempt. Each resolves to false, and changes nothing, if that comes too late or the fence is another: the
 * lease has ended, the run was cancelled, or its outcome is decided already.
 */
export interface HandOffMethods {
  /**
   * Completes the run: it has succeeded, with this result. The next tick or daemon writes it, within seconds.
   * @throws TockError TOCK_BAD_RESULT for a result that JSON cannot hold, or that is over 1 MiB
   */
  complete(id: string, fence: number, result?: unknown, options?: CompleteOptions): Promise<boolean>;
  /**
   * Ends the attempt as failed, with an error or a text: it is tried again while attempts are left, or is
   * dead. @throws TockError TOCK_BAD_OPTION, TOCK_BAD_TIME
   */
  fail(id: string, fence: number, error: unknown, options?: FailOptions): Promise<boolean>;
  /**
   * Prolongs its lease: it ends this long from now at the earliest.
   * @throws TockError TOCK_BAD_OPTION, TOCK_BAD_DURATION
   */
  extend(id: string, fence: number, lease: Duration): Promise<boolean>;
  /**
   * Records how far it is: a fraction of 0 to 1, and a word for the stage.
   * @throws TockError TOCK_BAD_OPTION
   */
  progress(id: string, fence: number, fraction: number, stage?: string): Promise<boolean>;
}

/** Options of `complete`. */
export interface CompleteOptions {
  /** The caller's own transaction: a pg client, or anything with `query(text, values)`. */
  readonly client?: QueryClient;
  /** Of an operator, for the audit; at most 500 characters. */
  readonly note?: string;
}

/** Options of `fail`. */
export interface FailOptions {
  /** Whether it may be tried again while attempts are left. Default true; false: it is dead. */
  readonly retry?: boolean;
  /** When to try again. Default: as the job's backoff says. */
  readonly retryAt?: Date | string;
  /** The caller's own transaction: a pg client, or anything with `query(text, values)`. */
  readonly client?: QueryClient;
}
