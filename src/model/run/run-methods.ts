// What a Tock, and a handler, does with runs, and what each method promises.
import type { Duration } from '../duration.js';
import type { OutputOfId } from '../job/run-id.js';
import type { AttemptLog } from './log/attempt-log.js';
import type { RunMatch } from './match/run-match.js';
import type { RunFilter, RunRecord } from './run-record.js';
import type { RunStatus } from './states.js';

/** `tock.runs` without `wait`, and `ctx.runs`. */
export interface RunMethods {
  /** A run, its output typed by the job that `enqueue` was given; null if there is no run of this id. */
  get<const Id extends string>(id: Id): Promise<RunRecord<OutputOfId<Id>> | null>;
  /** Runs, newest first; 50 unless the filter has a limit. */
  list(filter?: RunFilter): Promise<RunRecord[]>;
  /**
   * Puts a dead or cancelled run into the queue, due now. @throws TockError TOCK_NOT_FOUND, TOCK_BAD_STATE
   */
  retry(id: string, options?: RetryOptions): Promise<RunRecord>;
  /**
   * Gives a run that waits another payload, checked by the job's schema; retries one that is dead or
   * cancelled with it. With the fence and the status as the run was read, it is refused if the run was
   * claimed, cancelled, retried or edited since.
   * @throws TockError TOCK_NOT_FOUND; TOCK_UNKNOWN_JOB for a job that is not in code here; TOCK_BAD_PAYLOAD;
   * TOCK_VERSION_CONFLICT; TOCK_BAD_STATE for a run that runs, has succeeded or was skipped
   */
  edit(id: string, options: EditOptions): Promise<RunRecord>;
  /**
   * Cancels a run: at once if it is not running; otherwise its signal aborts and it is cancelled when its
   * handler has stopped. @throws TockError TOCK_NOT_FOUND; TOCK_BAD_STATE for a run that has ended
   */
  cancel(id: string, options?: CancelOptions): Promise<RunRecord>;
  /**
   * The lines that its handler has logged, as far as they are kept, one entry for each attempt that logged,
   * the earliest first. Lines of a running attempt come with its worker's next heartbeat. Empty if there
   * are none, or no such run.
   */
  log(id: string, options?: LogOptions): Promise<AttemptLog[]>;
  /**
   * Retries all dead (or cancelled) runs that match, in batches of a transaction each, oldest first. With
   * `dryRun` it counts them. Safe to repeat: what was done no longer matches. Default status: dead.
   * @throws TockError TOCK_BAD_OPTION
   */
  retryMany(match: RunMatch, options?: RetryManyOptions): Promise<ManyResult>;
  /** The same for cancel. Default status: queued and failed. @throws TockError TOCK_BAD_OPTION */
  cancelMany(match: RunMatch, options?: CancelManyOptions): Promise<ManyResult>;
}

/** Options of `runs.retry`. */
export interface RetryOptions {
  /** How many more attempts it gets. Default: as many as its job has. */
  readonly attempts?: number;
}

/** Options of `runs.edit`. */
export interface EditOptions {
  /** In place of the run's payload. */
  readonly payload: unknown;
  /** The run's, as it was read. Default: as it is now. */
  readonly fence?: number;
  /** The same. A cancel does not change the fence. */
  readonly status?: RunStatus;
  /** How many more attempts a run gets that has ended. Default: as many as its job has. */
  readonly attempts?: number;
}

/** Options of `runs.cancel`. */
export interface CancelOptions {
  /** Kept with the run; at most 500 characters. */
  readonly reason?: string;
}

/** Options of `runs.log`. */
export interface LogOptions {
  /** Only this attempt: 1 for the first. Default: all. */
  readonly attempt?: number;
}

/** Options of an action on all runs that match. */
export interface ManyOptions {
  /** Only count them. Default false. */
  readonly dryRun?: boolean;
  /** At most this many, the oldest first. Default: all. */
  readonly limit?: number;
  /** No run with a higher id: the `upTo` of a dry run. Default: none that is enqueued after the call. */
  readonly upTo?: string;
  /** Called after each batch with how many were looked at so far. */
  readonly onProgress?: (done: number) => void;
  /** When it aborts, no further batch is begun. What was done stays done. */
  readonly signal?: AbortSignal;
}

/** Options of `runs.retryMany`. */
export interface RetryManyOptions extends ManyOptions {
  /** How many more attempts each gets. Default: as many as its job has. */
  readonly attempts?: number;
  /**
   * So many of them start per period, spread evenly: each is due a little later than the one before. Default:
   * all are due now. Other runs of their queues are not slowed down.
   */
  readonly rate?: RetryRate;
}

/** A rate such as 5 per second: `{ count: 5, per: '1s' }`. */
export interface RetryRate {
  /** A whole number from 1. */
  readonly count: number;
  readonly per: Duration;
}

/** Options of `runs.cancelMany`. */
export interface CancelManyOptions extends ManyOptions {
  /** Kept with each run; at most 500 characters. */
  readonly reason?: string;
}

/** Runs in a queue that is paused. */
export interface PausedRuns {
  readonly queue: string;
  /** At most 10,001, which means more than 10,000. */
  readonly runs: number;
}

/** What became of the runs that match. */
export interface ManyResult {
  /** With `dryRun`, of a retry: those that would wait in a queue that is paused. Else empty. */
  readonly pausedQueues: readonly PausedRuns[];
  /** How many match; with `dryRun` at most 10,001, which means more than 10,000. */
  readonly matched: number;
  /** The newest run when it began: nothing was done to newer ones. */
  readonly upTo: string;
  /** By the state they are in now: `queued`; `cancelled`, or `running` if they were asked to stop. */
  readonly done: Readonly<Record<string, number>>;
  /** They had changed their state meanwhile, or had been asked to stop before. */
  readonly passed: number;
  /** How many could not be changed, and the first 100 of them. */
  readonly failedCount: number;
  readonly failed: readonly { readonly id: string; readonly code: string; readonly message: string }[];
  /** The signal aborted before the last of them. */
  readonly isStopped: boolean;
  /** With `rate`: when the last of them is due; null: none was retried. */
  readonly lastDueAt?: Date | null;
}
