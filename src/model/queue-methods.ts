// What a Tock, and a handler, does with queues, and what each method promises.
import type { Duration } from './duration.js';

/** `tock.queues`, and `ctx.queues`. */
export interface QueueMethods {
  /** Queues that have limits or a pause, or live runs. */
  list(): Promise<QueueRecord[]>;
  /**
   * Sets limits: concurrency, rate, window. Absent ones stay; null removes a limit.
   * @throws TockError TOCK_BAD_OPTION, TOCK_BAD_DURATION, TOCK_BAD_SCHEDULE
   */
  set(name: string, limits: QueueLimits): Promise<QueueRecord>;
  /** Starts none of its runs until it is resumed; running ones go on. */
  pause(name: string, options?: PauseOptions): Promise<QueueRecord>;
  /**
   * Ends a pause: what waits starts, at a `rate` if one is given, which the queue keeps until it is changed.
   * With `dryRun` it only tells what waits. @throws TockError TOCK_BAD_STATE for a rate where the queue is
   * not paused, or has one; TOCK_BAD_OPTION
   */
  resume(name: string, options?: ResumeQueueOptions): Promise<ResumedQueue>;
  /** Removes all its limits and its pause; resolves to whether it had any. Its runs stay. */
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
  readonly pauseReason: string | null;
  /** The broker to which a relay hands its runs off; null: workers execute them. */
  readonly relayedTo: string | null;
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

/** Limits of a queue, over all hosts. Absent ones stay as they are; null removes a limit. */
export interface QueueLimits {
  /** Most runs at once; 0 lets none start. */
  readonly concurrency?: number | null;
  /**
   * Most starts per period, such as `{ count: 100, per: '1m' }`: spread evenly, one every 600ms; unused
   * starts are kept for one second at most.
   */
  readonly rate?: { readonly count: number; readonly per: Duration } | null;
  /** Local hours in which runs may start, such as `23:00-06:00`. */
  readonly window?: string | null;
  /** The zone of those hours: an IANA name. Default UTC. */
  readonly timezone?: string;
  /**
   * The broker to which a relay hands its runs off, such as `rabbitmq`: then only workers that name the
   * queue claim from it. Null: all workers execute its runs.
   */
  readonly relay?: string | null;
}

/** Options of `schedules.pause` and `queues.pause`. */
export interface PauseOptions {
  /** Shown with the pause; at most 500 characters. */
  readonly note?: string;
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
