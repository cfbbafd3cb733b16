// Room: model. The scheduler as it is looked at: by a job, by the app, by `tock status`. Types only.
// In: nothing. Out: figures of a moment, a report on a span of time, what retention removed.
import type { Duration } from './duration.js';

/** Figures of the scheduler at one moment. Times in milliseconds. */
export interface SchedulerStatus {
  readonly at: Date;
  readonly definitions: {
    readonly scheduled: number;
    readonly due: number;
    readonly paused: number;
    readonly broken: number;
    /** How long the longest-due occurrence has not been materialized. A tick a minute keeps it under a minute or two. */
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
  };
  readonly workers: readonly {
    readonly id: string;
    readonly kind: string;
    readonly host: string;
    readonly pid: number;
    readonly seenAt: Date;
    /** It has missed two heartbeats and more: it was killed, cut off, or is too busy. Its leases have not expired yet. */
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

export interface PruneResult {
  readonly droppedPartitions: readonly string[];
  readonly deletedRuns: number;
  readonly deletedKeys: number;
  readonly deletedEffects: number;
  readonly madePartitions: number;
}

/** The scheduler as a job sees it. */
export interface SchedulerView {
  status(): Promise<SchedulerStatus>;
  report(from: Date, to: Date): Promise<RunReport>;
  /** Forgets finished runs that ended before `keep` ago, in small batches; keys are kept for `keepKeys`. */
  prune(options: { readonly keep: Duration; readonly keepKeys?: Duration }): Promise<PruneResult>;
}
