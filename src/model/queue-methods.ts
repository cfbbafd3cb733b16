// What a Tock, and a handler, does with queues, and what each method promises.
import type { Duration } from './duration.js';
import type { FairScope } from './job/fair/fair.js';
import type { QueueLimits, QueueOverrides, QueueSettings } from './queue/queue-limits.js';

/** `tock.queues`, and `ctx.queues`. */
export interface QueueMethods {
  /** Queues that have limits or a pause, or live runs. */
  list(): Promise<QueueRecord[]>;
  /**
   * Sets limits: concurrency, rate, window. Absent ones stay; null removes a limit. In a queue that is in
   * code they lie on top of what code states, until `until`, or until `reset`.
   * @throws TockError TOCK_BAD_OPTION, TOCK_BAD_DURATION, TOCK_BAD_SCHEDULE, TOCK_BAD_TIME; TOCK_BAD_STATE
   * for `until` where the queue is not in code
   */
  set(name: string, limits: SetQueueOptions): Promise<QueueRecord>;
  /**
   * Resets a queue to its code: what was set on top ends, and what code states holds again. A pause
   * stays.
   * @throws TockError TOCK_BAD_STATE if the queue is not in code
   */
  reset(name: string): Promise<QueueRecord>;
  /**
   * Starts none of its runs until it is resumed, or until `until`; running ones go on. What is paused already
   * has the new end, or none. @throws TockError TOCK_BAD_TIME, TOCK_BAD_DURATION
   */
  pause(name: string, options?: PauseOptions): Promise<QueueRecord>;
  /**
   * Ends a pause, or what a handler has closed: what waits starts, at a `rate` if one is given, which the
   * queue keeps until it is changed. With `dryRun` it only tells what waits. @throws TockError TOCK_BAD_STATE
   * for a rate where the queue is not paused, or has one; TOCK_BAD_OPTION
   */
  resume(name: string, options?: ResumeQueueOptions): Promise<ResumedQueue>;
  /**
   * Removes all its limits and its pause; resolves to whether it had any. Its runs stay.
   * @throws TockError TOCK_BAD_STATE if the queue is in code
   */
  remove(name: string): Promise<boolean>;
}

/** Limits hold over all hosts. */
export interface QueueRecord {
  readonly name: string;
  /** Most runs at once; null: no limit. */
  readonly concurrency: number | null;
  /** Most starts per period, spread evenly over it; null: no limit. */
  readonly rate: { readonly count: number; readonly perMs: number } | null;
  /** Local hours in which its runs may start; null: all. */
  readonly window: string | null;
  readonly timezone: string;
  readonly pausedAt: Date | null;
  /** When its pause ends by itself; null: it is not paused, or until it is resumed. */
  readonly pausedUntil: Date | null;
  readonly pauseReason: string | null;
  /** A handler has closed it until then; null: it is open. */
  readonly closedUntil: Date | null;
  /** By which key its runs share the workers; null: by none. */
  readonly fair: FairScope | null;
  /** The broker to which a relay hands its runs off; null: workers execute them. */
  readonly relayedTo: string | null;
  /** What code states of it; null: it is not in code. */
  readonly inCode: QueueSettings | null;
  /** What was set on top of the code, by its name: by whom, and until when. */
  readonly overrides: QueueOverrides;
  /** Due and not claimed, including runs that wait for a slot. */
  readonly waiting: number;
  readonly running: number;
}

/** What would start in a queue if nothing held it back. */
export interface QueueBacklog {
  /** How many runs are due and wait for no slot of another limit: at most 10,001, for more than 10,000. */
  readonly count: number;
  /** Since when the one that waits longest is due; null: none waits. */
  readonly oldestAt: Date | null;
  /** For how long, by the database's clock. */
  readonly oldestMs: number | null;
}

/** Options of `queues.set`. */
export interface SetQueueOptions extends QueueLimits {
  /**
   * When what is set ends, and what code states holds again: a Date, text such as `2026-03-01T12:00:00Z`, or
   * a duration from now, `'2h'`. Only for a queue that is in code. Default: when it is reset.
   */
  readonly until?: Date | Duration;
}

/** Options of `schedules.pause` and `queues.pause`. */
export interface PauseOptions {
  /** Shown with the pause; at most 500 characters. */
  readonly note?: string;
  /**
   * When it ends by itself, by the database's clock: a Date, text such as `2026-03-01T10:20:00Z`, or a
   * duration from now, `'2h'`. A few seconds later with a daemon, with the next tick otherwise. Default: when
   * it is resumed.
   */
  readonly until?: Date | Duration;
}

/** Options of `queues.resume`. */
export interface ResumeQueueOptions {
  /**
   * Most starts per period from now on, as in `queues.set`: the queue keeps it until it is changed. Only for
   * a queue that has no rate; one that has a rate keeps that. Default: no rate.
   */
  readonly rate?: QueueLimits['rate'];
  /** Only tells what waits. Default false. */
  readonly dryRun?: boolean;
}

/** A queue after its pause. */
export interface ResumedQueue extends QueueRecord {
  readonly wasPaused: boolean;
  /** What the pause has held back. */
  readonly backlog: QueueBacklog;
}
