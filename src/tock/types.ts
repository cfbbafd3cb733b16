// Room: tock. What createTock takes, and what a Tock can do. Types only.
// In: nothing. Out: the options and the methods, with what each promises.
import type { Pool } from 'pg';
import type { Daemon, StartOptions } from '../daemon/daemon.js';
import type { ResumedDefinition } from '../engine/definitions/pause.js';
import type { RegisterResult } from '../engine/definitions/register.js';
import type { CursorReset, ResetCursorsOptions } from '../engine/definitions/reset-cursors.js';
import type { ScheduleInput, VersionGuard } from '../engine/definitions/schedules.js';
import type { Settings, SettingsInput } from '../engine/engine.js';
import type { RunAtWork } from '../engine/execute/crash.js';
import type { Isolation } from '../engine/execute/isolate/isolation.js';
import type { BackfillOptions, BackfillResult } from '../engine/materialize/backfill.js';
import type { QueueLimits } from '../engine/operate/queues.js';
import type { WaitOptions } from '../engine/operate/runs.js';
import type { TickSummary } from '../engine/run-tick.js';
import type { Why } from '../engine/why/why.js';
import type { Duration } from '../model/duration.js';
import type { Hooks } from '../model/job/hooks.js';
import type {
  AnyJob,
  EnqueueOptions,
  JobReference,
  NewRun,
  OutputFor,
  PayloadAndOptions,
  PayloadFor,
  QueryClient,
} from '../model/job/job.js';
import type { Registry } from '../model/job/registry.js';
import type { Enqueued, OutputOfId, RunId } from '../model/job/run-id.js';
import type { Logger } from '../model/logger.js';
import type { PruneOptions, PruneResult, SchedulerStatus } from '../model/scheduler-view.js';
import type { QueueRecord } from '../store/reads/queues.js';
import type { DefinitionFilter, DefinitionRecord, RunFilter, RunRecord } from '../store/reads/runs.js';
import type { Adoption } from '../store/schema/database-identity.js';
import type { MigrateResult } from '../store/schema/migrate.js';

/** What {@link createTock} takes: how the database is reached, the jobs, and settings. Durations are `'30s'`, `'5m'`, or milliseconds. */
export interface TockOptions<Jobs extends readonly AnyJob[] = readonly AnyJob[]> extends SettingsInput {
  /** Names the database; or pass `pool`. */
  readonly connectionString?: string;
  /** The app's own pool. It stays the app's: `close` does not end it. */
  readonly pool?: Pool;
  /** Default `tock`. */
  readonly schema?: string;
  /** Most connections of Tock's own pool. Default 10. */
  readonly connections?: number;
  /** How long one statement of Tock's own may take; then its connection is given up. Handlers' are not meant. Default `60s`. */
  readonly statementTimeout?: Duration;
  /**
   * The jobs that this process knows. Written as a literal array, their names and payloads are checked by the
   * compiler in every call of this Tock; as an `AnyJob[]`, any name will do. Default: none.
   */
  readonly jobs?: Jobs;
  /** Functions that observe runs; they cannot change them. */
  readonly hooks?: Hooks;
  /**
   * Path or file URL of the compiled module that exports `jobs`; needed where a job has `isolate`. Its child
   * process imports it, so that the module must do nothing else, such as starting a worker.
   */
  readonly jobsModule?: string | URL;
  /** A pino logger, or false for silence. Default: pino to standard error, level `warn`. */
  readonly logger?: Logger | false;
}

/** Options of one tick. */
export interface TickCallOptions {
  /** For how long new runs are claimed. Default `50s`. */
  readonly budget?: Duration;
  /** Most runs at once. Default 10. */
  readonly concurrency?: number;
  readonly queues?: readonly string[];
  /** Aborts: drain and return. */
  readonly signal?: AbortSignal;
}

/** The runs that `enqueueMany` takes, each with the payload of its own job. */
export type NewRuns<
  References extends readonly unknown[],
  Jobs extends readonly AnyJob[] = readonly AnyJob[],
> = { readonly [Index in keyof References]: NewRun<References[Index], PayloadFor<References[Index], Jobs>> };

/** What `enqueueMany` gives: an id for each run, or with `details` what became of it. */
export type EnqueuedRuns<
  References extends readonly unknown[],
  Jobs extends readonly AnyJob[] = readonly AnyJob[],
  Details extends boolean = false,
> = {
  -readonly [Index in keyof References]: Details extends true
    ? Enqueued<OutputFor<References[Index], Jobs>>
    : RunId<OutputFor<References[Index], Jobs>>;
};

/** Options of `enqueueMany`, for all its runs. */
export interface EnqueueManyOptions<Details extends boolean = boolean> {
  /** The caller's own transaction: a pg client, or anything with `query(text, values)`. */
  readonly client?: QueryClient;
  /** What became of each run in place of its id. Default false. */
  readonly details?: Details;
}

/** Options of `runs.retry`. */
export interface RetryOptions {
  /** How many more attempts it gets. Default: as many as its job has. */
  readonly attempts?: number;
}

/** Options of `runs.cancel`. */
export interface CancelOptions {
  /** Kept with the run; at most 500 characters. */
  readonly reason?: string;
}

/** Options of `schedules.pause` and `queues.pause`. */
export interface PauseOptions {
  /** Shown with the pause; at most 500 characters. */
  readonly note?: string;
}

/** Options of `adopt`. */
export interface AdoptOptions {
  /** Only report what the database holds. Default false. */
  readonly dryRun?: boolean;
}

/** A Tock. `Jobs` are those that it was created with; in a plain `Tock` the compiler does not know them. */
export interface Tock<Jobs extends readonly AnyJob[] = readonly AnyJob[]> {
  /**
   * Enqueues one run; resolves to its id. With a `key` that was used before, to the id of the run that has it.
   * With `client` it happens in the caller's transaction.
   *
   * @throws TockError TOCK_UNKNOWN_JOB, TOCK_BAD_PAYLOAD, TOCK_BAD_KEY, TOCK_BAD_TIME, TOCK_BAD_OPTION, TOCK_BAD_JOB
   */
  enqueue<const J extends JobReference<Jobs>>(
    job: J,
    ...rest: PayloadAndOptions<J, EnqueueOptions, Jobs>
  ): Promise<RunId<OutputFor<J, Jobs>>>;
  /**
   * Enqueues many runs in one statement, all or none; resolves to their ids in order. With `details: true`, to what
   * became of each: whether it is new, or its key had been used before.
   *
   * @throws TockError as `enqueue` does; then nothing is enqueued
   */
  enqueueMany<const J extends readonly JobReference<Jobs>[], Details extends boolean = false>(
    runs: NewRuns<J, Jobs>,
    options?: EnqueueManyOptions<Details>,
  ): Promise<EnqueuedRuns<J, Jobs, Details>>;
  /** Registers, reaps, materializes, then executes until nothing is due or the budget is over. */
  tick(options?: TickCallOptions): Promise<TickSummary>;
  /** Starts a daemon in this process. */
  start(options?: StartOptions): Promise<Daemon>;
  /** Brings the schema to this version. Safe to repeat, and from several hosts at once. */
  migrate(): Promise<MigrateResult>;
  /** Refuses a schema that lacks a migration, with TOCK_NOT_MIGRATED. */
  requireMigrated(): Promise<void>;
  /** Registers the definitions of `jobs` now; `tick` and `start` do so by themselves. */
  register(): Promise<RegisterResult>;
  readonly runs: {
    /** A run, its output typed by the job that `enqueue` was given; null where there is none of this id. */
    get<const Id extends string>(id: Id): Promise<RunRecord<OutputOfId<Id>> | null>;
    /** Runs, the newest first; 50 where the filter says nothing else. */
    list(filter?: RunFilter): Promise<RunRecord[]>;
    /** Puts a dead or cancelled run back into the queue. */
    retry(id: string, options?: RetryOptions): Promise<RunRecord>;
    /** Cancels a run: at once if it is not running, else its handler is asked to stop. */
    cancel(id: string, options?: CancelOptions): Promise<RunRecord>;
    /**
     * Waits until the run has ended; executes it here unless another worker does. Its output is typed by the job that
     * `enqueue` was given.
     *
     * @throws TockError TOCK_NOT_FOUND; TOCK_BAD_STATE when `signal` aborts
     */
    wait<const Id extends string>(id: Id, options?: WaitOptions): Promise<RunRecord<OutputOfId<Id>>>;
  };
  readonly schedules: {
    /** Definitions, those due next first. */
    list(options?: DefinitionFilter): Promise<DefinitionRecord[]>;
    /** Makes a schedule at run time, or edits it; several may share one job. Safe to repeat. */
    upsert<const J extends JobReference<Jobs>>(
      schedule: ScheduleInput<J, PayloadFor<J, Jobs>>,
      options?: VersionGuard,
    ): Promise<DefinitionRecord>;
    /** Removes a schedule that was made at run time. */
    remove(name: string, options?: VersionGuard): Promise<DefinitionRecord>;
    /** Makes no new runs of a definition until it is resumed. The note is shown with it. */
    pause(name: string, options?: PauseOptions): Promise<DefinitionRecord>;
    /** Ends a pause. What came due in it is not caught up. */
    resume(name: string): Promise<ResumedDefinition>;
    /** Makes runs for the occurrences in [from, to) that have none. Safe to repeat. */
    backfill(name: string, options: BackfillOptions): Promise<BackfillResult>;
    /**
     * Sets cursors back that are ahead of the database's clock, which was wrong for a while. No occurrence that has had a
     * run comes again. Resolves to those that were ahead.
     */
    resetCursors(options?: ResetCursorsOptions): Promise<CursorReset[]>;
  };
  /** Queues, their limits over all hosts, and their pauses. */
  readonly queues: {
    /** Those that have limits or a pause, or runs that are live. */
    list(): Promise<QueueRecord[]>;
    /** Sets limits: concurrency, rate, window. What is left out stays; null takes a limit back. */
    set(name: string, limits: QueueLimits): Promise<QueueRecord>;
    /** Lets no run of it start until it is resumed. */
    pause(name: string, options?: PauseOptions): Promise<QueueRecord>;
    resume(name: string): Promise<QueueRecord>;
    /** Takes all its limits and its pause back. Whether it had any. */
    remove(name: string): Promise<boolean>;
  };
  /**
   * Why a definition ran, or did not, at a time: a Date, an ISO instant, or local time in the definition's zone
   * (`2026-03-08T02:30`, `2026-03-08` for the whole day, `02:30` for today).
   */
  why(definition: string, time: Date | string): Promise<Why>;
  /** The jobs of this process, by name. */
  readonly jobs: ReadonlyMap<string, AnyJob>;
  status(): Promise<SchedulerStatus>;
  /** Removes old runs, keys and effects, and makes the coming partitions, as the job `prune-history` does. */
  prune(options?: PruneOptions): Promise<PruneResult>;
  /**
   * Makes a database that was copied from another (a restored dump) one of its own: until then it refuses to tick, so that
   * nothing happens twice. Resolves to what it holds; with `dryRun` it changes nothing. Needs the owner's rights.
   */
  adopt(options?: AdoptOptions): Promise<Adoption>;
  /** Stops the daemons it started and ends its pool. */
  close(): Promise<void>;
}

/** A Tock whose engine is loaded. */
export interface OpenedTock extends Omit<Tock, 'jobs'> {
  readonly logger: Logger;
  readonly atWork: () => readonly RunAtWork[];
  readonly crash: (thrown: unknown) => Promise<void>;
}

/** What the shells have beyond a Tock. */
export interface ShellTock extends Tock {
  /**
   * Looks, with one statement over `pool`, whether a tick would find anything to do. Its summary when it would not, and
   * null when it might; or when the look said nothing, as before the first migration.
   */
  idleTick(options?: TickCallOptions): Promise<TickSummary | null>;
  /** The engine's; null before it is loaded. */
  readonly logger: Logger | null;
  /** The runs whose handlers are at work in this process. */
  readonly atWork: () => readonly RunAtWork[];
  /** For a process that is about to end by an error that nothing caught: see `Worker.crash`. */
  readonly crash: (thrown: unknown) => Promise<void>;
}

/** What createTock has read and checked. */
export interface ReadOptions {
  readonly registry: Registry;
  readonly settings: Settings;
  readonly statementTimeoutMs: number;
  readonly isolation: Isolation | null;
  readonly logger: Logger;
}
