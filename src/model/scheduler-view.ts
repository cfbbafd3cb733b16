// The scheduler as a job, the app and `tock status` see it.
import type { Duration } from './duration.js';
import type { Freeze } from './freeze/freeze.js';
import type { AwaitedJob, BlockedRuns, OverlookedRun } from './queue/waiting-runs.js';
import type { FinishedStatus } from './run/states.js';

/** Figures of the scheduler at one moment. Times in milliseconds. */
export interface SchedulerStatus {
  readonly at: Date;
  /** The database is a copy of another one and refuses to tick until it is adopted. */
  readonly isCopy: boolean;
  /** How far the replica that was read is behind, in milliseconds; null: it is the primary. */
  readonly replicaLagMs: number | null;
  /** Nothing starts on any host; null: nothing is frozen. Waits do not count that time. */
  readonly frozen: Freeze | null;
  readonly definitions: {
    readonly scheduled: number;
    readonly due: number;
    readonly paused: number;
    readonly broken: number;
    /** Definitions over a minute ahead of the database's clock, which was set back: no runs until then. */
    readonly ahead: number;
    /** How far the cursor that is furthest ahead is; 0 if none is. */
    readonly aheadMs: number;
    /** Wait of the longest-due occurrence to be materialized: under two minutes with a tick a minute. */
    readonly overdueMs: number;
  };
  /** `waiting` are due and not yet claimed. */
  readonly runs: {
    readonly waiting: number;
    readonly scheduled: number;
    readonly running: number;
    /** How many of the running ones are handed off to another system. */
    readonly handedOff: number;
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
    /** Dead runs that were set aside because their rows made statements fail. */
    readonly setAside: number;
  };
  readonly workers: readonly {
    readonly id: string;
    readonly kind: string;
    readonly host: string;
    readonly pid: number;
    /** Whose jobs it executes; empty: of the service without a name. */
    readonly service: string;
    readonly seenAt: Date;
    /** It has missed two heartbeats: killed, cut off, or too busy. Its leases have not expired yet. */
    readonly silent: boolean;
    /** How often it reports. */
    readonly heartbeatMs: number;
    readonly running: number;
    /** Until the last of its leases expires, unless it renews them; null: it holds none. */
    readonly leasesEndMs: number | null;
  }[];
  /** The last tick, or beat of a daemon, of each host and checkout; the latest first, 100 at most. */
  readonly ticks: readonly LastTick[];
  /** Services whose live processes have had different definitions for ten minutes: longer than a deploy. */
  readonly splitServices: readonly SplitService[];
  /** Occurrences that have been due for over a minute and have no run: of ten definitions at most. */
  readonly missed: readonly MissedOccurrences[];
  readonly queues: readonly {
    readonly queue: string;
    readonly waiting: number;
    readonly running: number;
    readonly failed: number;
    readonly paused: boolean;
    /** The broker to which a relay hands its runs off; null: workers execute them. */
    readonly relayedTo: string | null;
    /** A live worker names it: a relay, or a daemon. Only such a one claims from a relayed queue. */
    readonly named: boolean;
    /** A live worker claims from it. */
    readonly isClaimed: boolean;
    /** How long the longest-waiting of its due runs has waited, those that wait for a slot aside. */
    readonly oldestWaitMs: number;
  }[];
  /** Limits under which runs wait for a slot, fair keys aside: those with most runs first, 5 at most. */
  readonly blockingKeys: readonly BlockedRuns[];
  /**
   * Jobs that runs wait for, because no worker that claimed them has these: those with most runs first, 100
   * at most.
   */
  readonly awaitedJobs: readonly AwaitedJob[];
  /** Runs that a worker should have taken, one of each queue and priority: the longest due, 5 at most. */
  readonly overlooked: readonly OverlookedRun[];
  /** What became of the runs that relays have handed off in the last 24 hours, by queue. */
  readonly handOffs: readonly QueueHandOffs[];
  /** The oldest snapshot that any session of this database holds, and that session's pid. */
  readonly oldestSnapshot: { readonly ageMs: number; readonly pid: number } | null;
  /** Rows of the live runs that vacuum has yet to remove. */
  readonly deadRows: number;
  /** The partitions of finished runs. */
  readonly partitions: {
    /** From then on, runs that end go to the default partition, for lack of another. */
    readonly end: Date;
    /** The span of the latest partition. */
    readonly unit: 'month' | 'day';
    /** The end is less than 10 days away, or 3 days for daily partitions. */
    readonly runningOut: boolean;
  };
  /** Zones in use whose offsets differ between this process and the server within the next 400 days. */
  readonly zoneDisagreements: readonly ZoneDisagreement[];
}

/** Runs of a relayed queue that were handed off: the first figure is the sum of the next four. */
export interface QueueHandOffs {
  readonly queue: string;
  readonly relayedTo: string;
  readonly handedOff: number;
  /** Answered, and succeeded. */
  readonly completed: number;
  /** Answered, and failed. */
  readonly failed: number;
  /** Taken back: the lease ended without an answer, or the run was cancelled. */
  readonly leaseEnded: number;
  readonly waiting: number;
  /** Answers that came too late, and changed nothing. */
  readonly refused: number;
}

/** Two applications in one service, or a deploy that was not finished. */
export interface SplitService {
  /** Empty: the one without a name. */
  readonly service: string;
  /** Those whose definitions are in force. */
  readonly inForce: readonly string[];
  /** Those that have others. */
  readonly others: readonly string[];
  /** Definitions of the service that have vanished within a day, ten at most. */
  readonly vanished: readonly string[];
}

/** When a host last ticked, or its daemon last reported. Noted at most once in half a minute. */
export interface LastTick {
  readonly host: string;
  /** The checkout: the folder of the project. */
  readonly folder: string;
  /** `tick`: cron, or a person; `daemon`: tock start; `library`: an app that ticks. */
  readonly kind: 'tick' | 'daemon' | 'library';
  /** Empty: of the service without a name. */
  readonly service: string;
  readonly firstAt: Date;
  readonly at: Date;
  /** How many were noted. */
  readonly count: number;
  /** Of Tock. */
  readonly version: string;
  /** Of Node. */
  readonly node: string;
  /** Of Node's time zone data, such as `2025c`. */
  readonly zoneData: string;
  /** The host's clock minus the database's, in milliseconds. */
  readonly clockMs: number;
  /** When the daemon was stopped in order; null: it should go on. */
  readonly stoppedAt: Date | null;
  /** Until when it sends no statement (`--idle`), and is not missed; null: it is awake. */
  readonly asleepUntil: Date | null;
}

/** What a definition has missed since nothing ticks. */
export interface MissedOccurrences {
  readonly definition: string;
  readonly count: number;
  /** There are more than `count`. */
  readonly isCapped: boolean;
  readonly first: Date;
  readonly last: Date;
}

/** A span in which Node and the server differ about a zone: the data of one of them are older. */
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
  /** Definitions with an occurrence in that span. Empty: only windows of queues are affected. */
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

/** How long finished runs are kept: for all states, or by state; `default` is for all unnamed states. */
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
  /**
   * Counted from a run's end. The default of each is the longest that a process has kept within a week by its
   * `retention`; where that of none is known, `90d`, and what is said below.
   */
  readonly keep?: Keep | undefined;
  /** Of keys and effects. Default `400d`, or the longest `keep` if that is longer. */
  readonly keepKeys?: Duration | undefined;
  /** Of the audit: who did what. Default `365d`. */
  readonly keepAudit?: Duration | undefined;
  /** Of events, for waits that begin later. Default `7d`. */
  readonly keepEvents?: Duration | undefined;
  /**
   * Of the logs of runs, which go as whole partitions: up to a tenth of this later. Default: the longest
   * `keep`.
   */
  readonly keepLogs?: Duration | undefined;
  /**
   * The unit of coming partitions. Default `auto`: days from a million finished runs a day, months below half
   * a million.
   */
  readonly partition?: 'month' | 'day' | 'auto' | undefined;
  readonly onProgress?: (progress: PruneProgress) => void;
  /** When it aborts, prune ends after the current batch. What is done stays done. */
  readonly signal?: AbortSignal;
}

/** What a worker keeps, and for how long; see {@link PruneOptions}. */
export type RetentionOptions = Pick<
  PruneOptions,
  'keep' | 'keepKeys' | 'keepLogs' | 'keepAudit' | 'keepEvents' | 'partition'
>;

/** How far a step is, in blocks of its table. */
export interface PruneProgress {
  readonly stage: string;
  readonly done: number;
  readonly total: number;
}

/** What a prune has removed and made. */
export interface PruneResult {
  /** How long it keeps what, in milliseconds: runs by their state. */
  readonly keeps: Readonly<Record<FinishedStatus | 'keys' | 'logs' | 'audit' | 'events', number>>;
  /** Of finished runs and of logs. Including those that an earlier prune had detached and could not drop. */
  readonly droppedPartitions: readonly string[];
  /** Runs in them whose state is kept longer, which are now in a small partition. */
  readonly keptRuns: number;
  /** Deleted in batches, from partitions that stay. */
  readonly deletedRuns: number;
  /** Of callers and of occurrences. */
  readonly deletedKeys: number;
  readonly deletedEffects: number;
  readonly deletedEvents: number;
  /** Rows of the audit. */
  readonly deletedAudit: number;
  readonly madePartitions: number;
  /** The unit of coming partitions. */
  readonly partition: 'month' | 'day';
  /** Left to the next prune for lack of locks: partitions past their time, or `coming partitions`. */
  readonly left: readonly string[];
  /** Another prune changes partitions now: they were left to it, and runs and keys too. */
  readonly isBusy: boolean;
}

/** The scheduler as a job sees it. */
export interface SchedulerView {
  status(): Promise<SchedulerStatus>;
  report(from: Date, to: Date): Promise<RunReport>;
  /**
   * Removes finished runs that ended before `keep` ago, by detaching and dropping their partitions, and keys
   * after `keepKeys`. Makes the coming partitions. Needs the owner's rights, and two connections.
   * @throws TockError TOCK_BAD_OPTION, TOCK_BAD_DURATION
   */
  prune(options?: PruneOptions): Promise<PruneResult>;
}
