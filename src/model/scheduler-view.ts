// Room: model. The scheduler as it is looked at: by a job, by the app, by `tock status`. Types only.
// In: nothing. Out: figures of a moment, a report on a span of time, what retention removed.
import type { Duration } from './duration.js';

/** Figures of the scheduler at one moment. Times in milliseconds. */
export interface SchedulerStatus {
  readonly at: Date;
  /** The database is a copy of another and refuses to tick, until it is adopted. */
  readonly isCopy: boolean;
  readonly definitions: {
    readonly scheduled: number;
    readonly due: number;
    readonly paused: number;
    readonly broken: number;
    /**
     * Their cursor is over a minute ahead of the database's clock, which was set back: they get no runs until
     * then.
     */
    readonly ahead: number;
    /** How far the cursor that is furthest ahead is; 0: none is. */
    readonly aheadMs: number;
    /**
     * How long the longest-due occurrence has not been materialized. A tick a minute keeps it under a minute
     * or two.
     */
    readonly overdueMs: number;
  };
  /** `waiting` are due and not yet claimed. */
  readonly runs: {
    readonly waiting: number;
    readonly scheduled: number;
    readonly running: number;
    readonly failed: number;
    readonly stuck: number;
  };
  readonly oldestWaitMs: number;
  /** Runs that ended in the last 24 hours, by state. */
  readonly lastDay: {
    readonly succeeded: number;
    readonly dead: number;
    readonly cancelled: number;
    readonly skipped: number;
    /** Of the dead ones, those that were set aside: their rows made statements fail. */
    readonly setAside: number;
  };
  readonly workers: readonly {
    readonly id: string;
    readonly kind: string;
    readonly host: string;
    readonly pid: number;
    readonly seenAt: Date;
    /**
     * It has missed two heartbeats and more: it was killed, cut off, or is too busy. Its leases have not
     * expired yet.
     */
    readonly silent: boolean;
    readonly running: number;
  }[];
  readonly queues: readonly {
    readonly queue: string;
    readonly waiting: number;
    readonly running: number;
    readonly failed: number;
    readonly paused: boolean;
  }[];
  /** Age of the oldest snapshot that any session of this database holds, and its session's pid. */
  readonly oldestSnapshot: { readonly ageMs: number; readonly pid: number } | null;
  /** Rows of the live runs that vacuum has yet to remove. */
  readonly deadRows: number;
  /** Those of the finished runs. */
  readonly partitions: {
    /** From when on runs that end go to the default partition, for want of another: now, or later. */
    readonly end: Date;
    /** What the latest of them holds. */
    readonly unit: 'month' | 'day';
    /** The end is over or near: less than 10 days away; where they are of days, 3. */
    readonly runningOut: boolean;
  };
  /** Zones in use of which this process and the server expect different offsets within the next 400 days. */
  readonly zoneDisagreements: readonly ZoneDisagreement[];
}

/**
 * A stretch of time in which Node and the server place a zone differently: the data of one of them is older.
 */
export interface ZoneDisagreement {
  readonly timezone: string;
  /** Exact to a day. */
  readonly from: Date;
  readonly to: Date;
  /** East of UTC. */
  readonly nodeOffsetMinutes: number;
  readonly serverOffsetMinutes: number;
  /** Of Node's time zone data, such as `2025c`. */
  readonly nodeVersion: string;
  /** Definitions with an occurrence in it. Empty: only the windows of queues are affected. */
  readonly definitions: readonly string[];
  readonly firstAffected: Date | null;
}

/** What happened over a span of time, by job. Durations in milliseconds. */
export interface RunReport {
  readonly from: Date;
  readonly to: Date;
  readonly jobs: readonly {
    readonly job: string;
    readonly succeeded: number;
    readonly dead: number;
    readonly cancelled: number;
    readonly skipped: number;
    readonly retries: number;
    readonly meanMs: number | null;
    readonly p95Ms: number | null;
  }[];
  readonly days: readonly {
    readonly day: string;
    readonly succeeded: number;
    readonly dead: number;
    readonly skipped: number;
  }[];
  readonly errors: readonly {
    readonly job: string;
    readonly name: string;
    readonly message: string;
    readonly count: number;
  }[];
}

/**
 * How long finished runs are kept: for all states, or by state; `default` is for those that are not named.
 */
export type Keep =
  | Duration
  | {
      readonly succeeded?: Duration | undefined;
      readonly dead?: Duration | undefined;
      readonly cancelled?: Duration | undefined;
      readonly skipped?: Duration | undefined;
      /** Default `90d`. */
      readonly default?: Duration | undefined;
    };

/** Options of `prune`. */
export interface PruneOptions {
  /** Since a run's end. Default `90d`. */
  readonly keep?: Keep;
  /** Of keys and effects. Default `400d`, or the longest `keep` if that is longer. */
  readonly keepKeys?: Duration | undefined;
  /**
   * What the coming partitions hold. Default `auto`: days from a million finished runs a day on, months again
   * below half a million.
   */
  readonly partition?: 'month' | 'day' | 'auto';
  readonly onProgress?: (progress: PruneProgress) => void;
  /** Aborts: it ends after the batch at work. What is done stays done. */
  readonly signal?: AbortSignal;
}

/** How far a step is, in blocks of the table that it goes through. */
export interface PruneProgress {
  readonly stage: string;
  readonly done: number;
  readonly total: number;
}

/** What a prune has removed and made. */
export interface PruneResult {
  /** Also those that an earlier prune had detached and could not drop. */
  readonly droppedPartitions: readonly string[];
  /** Runs of them whose state is kept longer: they are where they can be found, in a small partition. */
  readonly keptRuns: number;
  /** In batches, where their partition is not yet to go. */
  readonly deletedRuns: number;
  /** Of callers and of occurrences. */
  readonly deletedKeys: number;
  readonly deletedEffects: number;
  readonly madePartitions: number;
  /** What the coming partitions hold. */
  readonly partition: 'month' | 'day';
  /**
   * What could not get its locks in several tries and is left to the next prune: partitions that are past
   * their time, or `coming partitions`.
   */
  readonly left: readonly string[];
  /** Another prune is at work: nothing was done. */
  readonly isBusy: boolean;
}

/** The scheduler as a job sees it. */
export interface SchedulerView {
  status(): Promise<SchedulerStatus>;
  report(from: Date, to: Date): Promise<RunReport>;
  /**
   * Forgets finished runs that ended before `keep` ago, by detaching and dropping their partitions; keys are
   * kept for `keepKeys`. Makes the coming partitions. Needs the owner's rights, and two connections.
   *
   * @throws TockError TOCK_BAD_OPTION, TOCK_BAD_DURATION
   */
  prune(options?: PruneOptions): Promise<PruneResult>;
}
