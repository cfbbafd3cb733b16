// What a Tock can do, and what each method promises.

import type { DoctorOptions } from '../answers/doctor/examine.js';
import type { Why } from '../answers/why/why.js';
import type { Daemon, StartOptions } from '../daemon/daemon.js';
import type { ResumedDefinition } from '../engine/definitions/pause.js';
import type {
  PausedMany,
  PauseManyOptions,
  ResumedMany,
  ResumeManyOptions,
} from '../engine/definitions/pause-many.js';
import type { RegisterResult } from '../engine/definitions/register.js';
import type { CursorReset, ResetCursorsOptions } from '../engine/definitions/reset-cursors.js';
import type {
  ScheduleInputFor,
  UpsertManyOptions,
  UpsertOptions,
  VersionGuard,
} from '../engine/definitions/schedules.js';
import type { BackfillOptions, BackfillResult } from '../engine/materialize/backfill.js';
import type { ExecBeginning } from '../engine/operate/exec/begin-exec.js';
import type { WaitOptions } from '../engine/operate/wait.js';
import type { TickSummary } from '../engine/run-tick.js';
import type { RunAtWork } from '../engine/worker/worker-interface.js';
import type { Heartbeat } from '../model/alerts/read-alerts.js';
import type { AuditRecord } from '../model/audit.js';
import type { CalendarMethods } from '../model/calendar/calendar.js';
import type { ChangeMethods } from '../model/changes/change.js';
import type { DeployMethods } from '../model/deploys/deploys.js';
import type { DoctorReport } from '../model/doctor/check.js';
import type { FreezeMethods } from '../model/freeze/freeze.js';
import type { Health } from '../model/health.js';
import type { EnqueueCallOptions, EnqueueManyOptions } from '../model/job/enqueue-options.js';
import type { KeyMethods } from '../model/job/fair/key-methods.js';
import type { HandOffMethods } from '../model/job/hand-off-methods.js';
import type {
  AnyJob,
  EnqueuedRuns,
  JobReference,
  NewRuns,
  OutputFor,
  PayloadAndOptions,
  PayloadFor,
} from '../model/job/job.js';
import type { EnqueuedOr, OutputOfId } from '../model/job/run-id.js';
import type { EmitOptions } from '../model/job/wait-methods.js';
import type { Logger } from '../model/logger.js';
import type { Operator } from '../model/operator.js';
import type { ProblemLimits } from '../model/problems.js';
import type { PauseOptions, QueueMethods } from '../model/queue-methods.js';
import type { RunMethods } from '../model/run/run-methods.js';
import type { RunRecord } from '../model/run/run-record.js';
import type { PruneOptions, PruneResult, SchedulerStatus } from '../model/scheduler-view.js';
import type { ExecOptions } from '../model/shell/exec-options.js';
import type { Database } from '../store/connection/database.js';
import type { SharedPause } from '../store/definitions/paused-together.js';
import type { ScheduleMatch } from '../store/definitions/schedule-match.js';
import type { AuditFilter } from '../store/reads/audit.js';
import type { DefinitionFilter, DefinitionRecord } from '../store/reads/runs.js';
import type { Adoption } from '../store/schema/database-identity.js';
import type { MigrateResult } from '../store/schema/migrate.js';
import type { AlertMethods } from './alert-methods.js';
import type { Start, Stoppable } from './engine-of.js';
import type { ExceptionMethods } from './exception-methods.js';
import type { GroupMethods } from './group-methods.js';
import type { AdoptOptions, ScheduleInputs, TickCallOptions } from './options.js';
import type { ReportMethods } from './report-methods.js';

/**
 * A Tock. `Jobs` are those that it was created with; in a plain `Tock` the compiler does not know them.
 *
 * Every method connects when it first needs it, and rejects with the driver's error if that fails, with
 * TOCK_NOT_MIGRATED, with TOCK_CLOSED after `close`, and with TOCK_BAD_OPTION for an unknown option.
 */
export interface Tock<Jobs extends readonly AnyJob[] = readonly AnyJob[]>
  extends HandOffMethods,
    FreezeMethods,
    GroupMethods<Jobs>,
    ReportMethods {
  /**
   * Enqueues one run; resolves to its id. With a `key` that was used before, to the id of that key's run.
   * With `client` it happens in the caller's transaction. With `details: true` it resolves to
   * `{ id, isNew, isReplaced }`.
   * @throws TockError TOCK_UNKNOWN_JOB, TOCK_BAD_PAYLOAD, TOCK_BAD_KEY, TOCK_BAD_TIME, TOCK_BAD_OPTION
   */
  enqueue<const J extends JobReference<Jobs>, Details extends boolean = false>(
    job: J,
    ...rest: PayloadAndOptions<J, EnqueueCallOptions<Details>, Jobs>
  ): Promise<EnqueuedOr<Details, OutputFor<J, Jobs>>>;
  /**
   * Enqueues many runs in one statement, all or none; resolves to their ids in order. With `details: true`,
   * also to whether each is new, or its key had been used before.
   * @throws TockError as `enqueue` does; then nothing is enqueued
   */
  enqueueMany<const J extends readonly JobReference<Jobs>[], Details extends boolean = false>(
    runs: NewRuns<J, Jobs>,
    options?: EnqueueManyOptions<Details>,
  ): Promise<EnqueuedRuns<J, Jobs, Details>>;
  /**
   * Emits an event; resolves to its id. Runs that wait for it by `ctx.waitFor` go on at once; it is kept for
   * seven days, for waits that begin later. With `client` it happens in the caller's transaction.
   * @throws TockError TOCK_BAD_KEY, TOCK_BAD_PAYLOAD, TOCK_BAD_OPTION
   */
  emit(event: string, options?: EmitOptions): Promise<string>;
  /**
   * Registers, reaps and materializes; then executes runs until nothing is due or the budget is over.
   * @throws TockError TOCK_DATABASE_COPIED until `adopt`; TOCK_BAD_OPTION, TOCK_BAD_DURATION
   */
  tick(options?: TickCallOptions): Promise<TickSummary>;
  /** Starts a daemon: it does what ticks do, until its `stop`. @throws TockError as `tick` does */
  start(options?: StartOptions): Promise<Daemon>;
  /**
   * Brings the schema to this version. Safe to repeat, and from several hosts at once.
   * @throws TockError TOCK_MIGRATION_CHANGED, TOCK_DATABASE_TOO_OLD
   */
  migrate(): Promise<MigrateResult>;
  /** Does nothing if the schema is up to date. @throws TockError TOCK_NOT_MIGRATED */
  requireMigrated(): Promise<void>;
  /** Registers the definitions of `jobs` now; `tick` and `start` do so too. */
  register(): Promise<RegisterResult>;
  readonly runs: RunMethods & {
    /**
     * Waits until a worker has ended the run, or ends it here with `execute`. Its output is typed by the job
     * that `enqueue` was given. @throws TockError TOCK_NOT_FOUND; TOCK_BAD_STATE when `signal` aborts
     */
    wait<const Id extends string>(id: Id, options?: WaitOptions): Promise<RunRecord<OutputOfId<Id>>>;
  };
  readonly schedules: ExceptionMethods & {
    /** Definitions, those due next first; with `after`, a page of them by name. */
    list(options?: DefinitionFilter): Promise<DefinitionRecord[]>;
    /**
     * Makes a schedule at run time, or edits it; several may share one job. Safe to repeat. With `client` it
     * happens in the caller's transaction.
     * @throws TockError TOCK_VERSION_CONFLICT; TOCK_BAD_STATE for a name that code defines; TOCK_UNKNOWN_JOB,
     * TOCK_NOT_FOUND, TOCK_BAD_PAYLOAD, TOCK_BAD_SCHEDULE, TOCK_BAD_DURATION, TOCK_BAD_OPTION
     */
    upsert<const J extends JobReference<Jobs>>(
      schedule: ScheduleInputFor<J, PayloadFor<J, Jobs>>,
      options?: UpsertOptions,
    ): Promise<DefinitionRecord>;
    /**
     * The same for many at once, in one transaction, all or none; resolves to them in their order.
     * @throws TockError as `upsert` does; TOCK_BAD_OPTION also for two of one name
     */
    upsertMany<const J extends readonly JobReference<Jobs>[]>(
      schedules: ScheduleInputs<J, Jobs>,
      options?: UpsertManyOptions,
    ): Promise<DefinitionRecord[]>;
    /**
     * Removes a schedule that was made at run time.
     * @throws TockError TOCK_NOT_FOUND; TOCK_VERSION_CONFLICT; TOCK_BAD_STATE for one that code defines
     */
    remove(name: string, options?: VersionGuard): Promise<DefinitionRecord>;
    /**
     * Makes no new runs of a definition until it is resumed, or until `until`. What is paused already has the
     * new end, or none.
     * @throws TockError TOCK_NOT_FOUND, TOCK_BAD_TIME, TOCK_BAD_DURATION; TOCK_BAD_STATE for one without a
     * schedule
     */
    pause(name: string, options?: PauseOptions): Promise<DefinitionRecord>;
    /** Ends a pause. Occurrences within it are not caught up. @throws TockError TOCK_NOT_FOUND */
    resume(name: string): Promise<ResumedDefinition>;
    /**
     * Pauses all definitions that match and have a schedule, by one act with an id; `{}`: all. Those that are
     * paused already are left as they are. @throws TockError TOCK_NOT_FOUND, TOCK_BAD_OPTION
     */
    pauseMany(match: ScheduleMatch, options?: PauseManyOptions): Promise<PausedMany>;
    /**
     * Resumes what one act has paused (`{ pause: id }`), except those that somebody has resumed or paused
     * since; or definitions by `names`. @throws TockError TOCK_NOT_FOUND, TOCK_BAD_OPTION
     */
    resumeMany(match: ScheduleMatch, options?: ResumeManyOptions): Promise<ResumedMany>;
    /** The acts of `pauseMany` of which pauses still hold, the latest first. */
    pauses(): Promise<SharedPause[]>;
    /**
     * Makes runs for the occurrences in [from, to) that have none. Safe to repeat.
     * @throws TockError TOCK_NOT_FOUND, TOCK_BAD_TIME, TOCK_BAD_STATE
     */
    backfill(name: string, options: BackfillOptions): Promise<BackfillResult>;
    /**
     * Sets back cursors that are ahead of the database's clock, which was wrong for a while, and resolves to
     * them. No occurrence that has had a run comes again.
     */
    resetCursors(options?: ResetCursorsOptions): Promise<CursorReset[]>;
  };
  readonly queues: QueueMethods;
  readonly keys: KeyMethods;
  /** Named sets of dates that schedules leave out, such as public holidays. */
  readonly calendars: CalendarMethods;
  /** Versions of the app, as workers and operators have named them. */
  readonly deploys: DeployMethods;
  readonly alerts: AlertMethods;
  /** What becomes of the runs of jobs that have `changes`. */
  readonly changes: ChangeMethods;
  /**
   * Why a definition ran, or did not, at a time: a Date, an ISO instant, or local time in the definition's
   * zone (`2026-03-08T02:30`, `2026-03-08` for the whole day, `02:30` for today).
   * @throws TockError TOCK_UNKNOWN_JOB for a definition that does not exist, TOCK_BAD_TIME
   */
  why(definition: string, time: Date | string): Promise<Why>;
  /** The jobs of this process, by name. */
  readonly jobs: ReadonlyMap<string, AnyJob>;
  status(): Promise<SchedulerStatus>;
  /**
   * The state of the scheduler in sentences, the most important first. Quick enough for a probe: it does not
   * count the runs that ended well, and does not compare time zone data, as `status` and `doctor` do.
   */
  health(limits?: Partial<ProblemLimits>): Promise<Health>;
  /**
   * Checks everything that can be checked from here: the last tick, schema, rights, clocks, notifications,
   * the server's settings, definitions, leases, limits and more. Changes nothing; sends one notification. A
   * check that fails to read what it needs is `unknown`. @throws TockError TOCK_BAD_DURATION
   */
  doctor(options?: DoctorOptions): Promise<DoctorReport>;
  /**
   * Forgets the ticks of a host that is gone, so that it is not missed; resolves to how many rows it had. If
   * it ticks again, it is on record again.
   */
  forgetHost(host: string): Promise<number>;
  /**
   * Removes old runs, keys and effects, and makes the coming partitions, as is done by itself once a day.
   * Needs the owner's rights. @throws TockError TOCK_BAD_OPTION, TOCK_BAD_DURATION
   */
  prune(options?: PruneOptions): Promise<PruneResult>;
  /**
   * Makes a copied database (a restored dump) one of its own: until then it refuses to tick, so that nothing
   * happens twice. Resolves to what it holds; with `dryRun` it changes nothing. Needs the owner's rights.
   */
  adopt(options?: AdoptOptions): Promise<Adoption>;
  readonly audit: {
    /** Who did what, newest first; 50 rows unless the filter has a limit. */
    list(filter?: AuditFilter): Promise<AuditRecord[]>;
  };
  /**
   * The same Tock acting for an operator: what they do and enqueue is audited under their name, and refused
   * with TOCK_FORBIDDEN if their role does not suffice. Unless they may see payloads, payloads and outputs
   * are replaced by `[redacted]`. Both share their connections, daemons and `close`.
   * @throws TockError TOCK_BAD_OPTION; TOCK_FORBIDDEN on a Tock that acts for an operator with fewer rights
   */
  as(operator: Operator): Tock<Jobs>;
  /**
   * Stops its daemons and ends its own pool; for a connection that a handler does not give back it waits 1 s.
   * Safe to repeat.
   */
  close(): Promise<void>;
}

/** For `tock exec`. */
interface Exec {
  readonly beginExec: (options: ExecOptions, stop: AbortSignal) => Promise<ExecBeginning>;
}

export interface OpenedTock extends Omit<Tock, 'jobs' | 'as'>, Exec {
  as(operator: Operator): OpenedTock;
  readonly database: Database;
  /** Calls `wake` when there may be changes to read. Returns a function that ends this. */
  readonly hearChanges: (wake: () => void) => () => void;
  /** Starts what works with the engine, and stops it at `close`. */
  startWith(start: Start): Promise<Stoppable>;
  readonly logger: Logger;
  readonly atWork: () => readonly RunAtWork[];
  readonly crash: (thrown: unknown) => Promise<void>;
}

/** The methods for Tock's own programs. */
export interface ShellTock extends Tock, Exec {
  as(operator: Operator): ShellTock;
  /**
   * Asks, with one statement over `pool`, whether a tick would find anything to do. Resolves to the summary
   * of an empty tick if not; to null if it might, or if the question cannot be answered, as before the first
   * migration.
   */
  idleTick(options?: TickCallOptions): Promise<TickSummary | null>;
  /**
   * Asks, over `pool`, for how many milliseconds, `mostMs` at most, nothing will be due, and notes that this
   * process sends no statement until then. 0: not even for a minute.
   */
  fallAsleep(mostMs: number, options?: TickCallOptions): Promise<number>;
  /** Of the jobs. */
  readonly fingerprint: string;
  /** Null: none is configured. */
  readonly heartbeat: Heartbeat | null;
  /** Null before the engine is loaded. */
  readonly logger: Logger | null;
  /** The runs whose handlers are executing in this process. */
  readonly atWork: () => readonly RunAtWork[];
  /** For an uncaught error that is about to end the process: see `Worker.crash`. */
  readonly crash: (thrown: unknown) => Promise<void>;
}
