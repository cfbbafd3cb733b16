// createTock: the engine as a library. Everything a shell does, it does through here.
// In: a database, jobs, settings. Out: a Tock. What is wrong with the options is said at once; the engine is loaded with
// the first call that needs it (tock/opened.ts), since a job module imports this file for `defineJob` alone.
import type { Pool } from 'pg';
import type { Daemon, StartOptions } from '../daemon/daemon.js';
import type { ResumedDefinition } from '../engine/definitions/pause.js';
import type { RegisterResult } from '../engine/definitions/register.js';
import type { CursorReset, ResetCursorsOptions } from '../engine/definitions/reset-cursors.js';
import type { ScheduleInput, VersionGuard } from '../engine/definitions/schedules.js';
import { checkConcurrency, checkQueues, readSettings, type SettingsInput } from '../engine/engine.js';
import type { Enqueued, NewRun } from '../engine/enqueue.js';
import type { RunAtWork } from '../engine/execute/crash.js';
import { readIsolation } from '../engine/execute/isolate/isolation.js';
import { askIdleTick } from '../engine/idle-tick.js';
import type { BackfillOptions, BackfillResult } from '../engine/materialize/backfill.js';
import type { QueueLimits } from '../engine/operate/queues.js';
import type { WaitOptions } from '../engine/operate/runs.js';
import type { TickSummary } from '../engine/run-tick.js';
import type { Why } from '../engine/why/why.js';
import { isolatedEntry, migrationsFolder } from '../environment/paths.js';
import { type Duration, parseDuration } from '../model/duration.js';
import { TockError } from '../model/errors.js';
import type { Hooks } from '../model/job/hooks.js';
import type { AnyJob, PayloadAndOptions, QueryClient } from '../model/job/job.js';
import { createRegistry } from '../model/job/registry.js';
import { type Logger, silentLogger } from '../model/logger.js';
import { checkSchemaName } from '../model/names.js';
import type { PruneOptions, PruneResult, SchedulerStatus } from '../model/scheduler-view.js';
import { requireReachable } from '../store/connection/connection.js';
import type { QueueRecord } from '../store/reads/queues.js';
import type { DefinitionFilter, DefinitionRecord, RunFilter, RunRecord } from '../store/reads/runs.js';
import type { Adoption } from '../store/schema/database-identity.js';
import type { MigrateResult } from '../store/schema/migrate.js';

export interface TockOptions extends SettingsInput {
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
  readonly jobs?: readonly AnyJob[];
  /** Functions that are told what becomes of runs; they cannot harm them. */
  readonly hooks?: Hooks;
  /**
   * Path or file URL of the compiled module that exports `jobs`; needed where a job has `isolate`. Its child
   * process imports it, so that the module must do nothing else, such as starting a worker.
   */
  readonly jobsModule?: string | URL;
  /** A pino logger, or false for silence. Default: pino to standard error, level `warn`. */
  readonly logger?: Logger | false;
}

export interface TickCallOptions {
  /** For how long new runs are claimed. Default `50s`. */
  readonly budget?: Duration;
  /** Most runs at once. Default 10. */
  readonly concurrency?: number;
  readonly queues?: readonly string[];
  /** Aborts: drain and return. */
  readonly signal?: AbortSignal;
}

export interface Tock {
  /**
   * Enqueues one run; resolves to its id. With a `key` that was used before, to the id of the run that has it.
   * With `client` it happens in the caller's transaction.
   */
  enqueue<J extends string | AnyJob>(job: J, ...rest: PayloadAndOptions<J>): Promise<string>;
  /** Enqueues many runs in one statement, all or none; resolves to their ids in order. */
  enqueueMany(runs: readonly NewRun[], options?: { readonly client?: QueryClient }): Promise<string[]>;
  /** As `enqueueMany`, and tells of each whether it is new, or its key had been used before. */
  enqueueAll(runs: readonly NewRun[], options?: { readonly client?: QueryClient }): Promise<Enqueued[]>;
  /** Registers, reaps, materializes, then executes until nothing is due or the budget is over. */
  tick(options?: TickCallOptions): Promise<TickSummary>;
  /** Starts a daemon in this process. */
  start(options?: StartOptions): Promise<Daemon>;
  /** Brings the schema to this version. Safe to repeat, and from several hosts at once. */
  migrate(): Promise<MigrateResult>;
  /** Refuses a schema that lacks a migration, with TOCK_NOT_MIGRATED. */
  demandMigrated(): Promise<void>;
  /** Registers the definitions of `jobs` now; `tick` and `start` do so by themselves. */
  register(): Promise<RegisterResult>;
  readonly runs: {
    get(id: string): Promise<RunRecord | null>;
    list(filter?: RunFilter): Promise<RunRecord[]>;
    /** Puts a dead or cancelled run back into the queue. */
    retry(id: string, options?: { readonly attempts?: number }): Promise<RunRecord>;
    /** Cancels a run: at once if it is not running, else its handler is told to stop. */
    cancel(id: string, options?: { readonly reason?: string }): Promise<RunRecord>;
    /** Waits until the run has ended; executes it here if nobody else does. */
    wait(id: string, options?: WaitOptions): Promise<RunRecord>;
  };
  readonly schedules: {
    /** Definitions, those due next first. */
    list(options?: DefinitionFilter): Promise<DefinitionRecord[]>;
    /** Makes a schedule at run time, or edits it; several may share one job. Safe to repeat. */
    upsert<J extends string | AnyJob>(
      schedule: ScheduleInput<J>,
      options?: VersionGuard,
    ): Promise<DefinitionRecord>;
    /** Removes a schedule that was made at run time. */
    remove(name: string, options?: VersionGuard): Promise<DefinitionRecord>;
    /** Makes no new runs of a definition until it is resumed. The note is shown with it. */
    pause(name: string, options?: { readonly note?: string }): Promise<DefinitionRecord>;
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
    pause(name: string, options?: { readonly note?: string }): Promise<QueueRecord>;
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
  /** Forgets old runs, keys and effects, and makes the coming partitions, as the job `prune-history` does. */
  prune(options?: PruneOptions): Promise<PruneResult>;
  /**
   * Makes a database that was copied from another (a restored dump) one of its own: until then it refuses to tick, so that
   * nothing happens twice. Tells what it holds; with `dryRun` it does no more. Needs the owner's rights.
   */
  adopt(options?: { readonly dryRun?: boolean }): Promise<Adoption>;
  /** Stops the daemons it started and ends its pool. */
  close(): Promise<void>;
}

/** A Tock whose engine is loaded. */
export interface OpenedTock extends Omit<Tock, 'jobs'> {
  readonly logger: Logger;
  readonly atWork: () => readonly RunAtWork[];
  readonly crash: (thrown: unknown) => Promise<void>;
}

/**
 * Makes a Tock. Nothing is connected or written until it is used.
 *
 * @throws TockError for a bad schema name, setting or job
 */
export function createTock(options: TockOptions): Tock {
  return assembleTock(options, async () => {
    if (options.logger !== undefined) return options.logger || silentLogger;
    return (await import('../environment/logger.js')).createLogger();
  });
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

/** As {@link createTock}; the logger is made when the engine is loaded, and `options.logger` is not looked at. */
export function assembleTock(options: TockOptions, makeLogger: () => Promise<Logger>): ShellTock {
  const registry = createRegistry(options.jobs ?? []);
  const checked = {
    registry,
    settings: readSettings(options),
    statementTimeoutMs: parseDuration(options.statementTimeout ?? '60s', 'statementTimeout'),
    isolation: readIsolation(registry, isolatedEntry(), options),
  };
  const schema = checkSchemaName(options.schema === undefined ? 'tock' : options.schema);
  requireReachable(options);
  let opened: OpenedTock | null = null;
  let opening: Promise<OpenedTock> | null = null;
  let isClosed = false;

  const load = async () => {
    const [{ openTock }, logger] = await Promise.all([import('./opened.js'), makeLogger()]);
    opened = openTock(options, { ...checked, logger });
    return opened;
  };
  /** A method of the opened Tock, which is opened with the first call of any. */
  const later =
    <Input extends readonly unknown[], Output>(
      method: (tock: OpenedTock, ...input: Input) => Promise<Output>,
    ) =>
    async (...input: Input): Promise<Output> => {
      if (isClosed) throw new TockError('TOCK_CLOSED', 'this Tock is closed; make another with createTock');
      // Without a wait once it is there: what the caller hands over is read when he calls.
      if (opened) return await method(opened, ...input);
      opening ??= load();
      return await method(await opening, ...input);
    };

  return {
    jobs: registry.jobs,
    enqueue: later((tock, ...input) => tock.enqueue(...input)),
    enqueueMany: later((tock, ...input) => tock.enqueueMany(...input)),
    enqueueAll: later((tock, ...input) => tock.enqueueAll(...input)),
    tick: later((tock, ...input) => tock.tick(...input)),
    idleTick: async ({ budget = '50s', concurrency, queues } = {}) => {
      parseDuration(budget, 'budget');
      checkConcurrency(concurrency);
      checkQueues(queues);
      const { statementTimeoutMs } = checked;
      return options.pool
        ? await askIdleTick({
            pool: options.pool,
            schema,
            registry,
            queues,
            statementTimeoutMs,
            migrations: migrationsFolder(),
          })
        : null;
    },
    start: later((tock, ...input) => tock.start(...input)),
    migrate: later((tock, ...input) => tock.migrate(...input)),
    demandMigrated: later((tock, ...input) => tock.demandMigrated(...input)),
    register: later((tock, ...input) => tock.register(...input)),
    runs: {
      get: later((tock, ...input) => tock.runs.get(...input)),
      list: later((tock, ...input) => tock.runs.list(...input)),
      retry: later((tock, ...input) => tock.runs.retry(...input)),
      cancel: later((tock, ...input) => tock.runs.cancel(...input)),
      wait: later((tock, ...input) => tock.runs.wait(...input)),
    },
    schedules: {
      list: later((tock, ...input) => tock.schedules.list(...input)),
      upsert: later((tock, ...input) => tock.schedules.upsert(...input)),
      remove: later((tock, ...input) => tock.schedules.remove(...input)),
      pause: later((tock, ...input) => tock.schedules.pause(...input)),
      resume: later((tock, ...input) => tock.schedules.resume(...input)),
      backfill: later((tock, ...input) => tock.schedules.backfill(...input)),
      resetCursors: later((tock, ...input) => tock.schedules.resetCursors(...input)),
    },
    queues: {
      list: later((tock, ...input) => tock.queues.list(...input)),
      set: later((tock, ...input) => tock.queues.set(...input)),
      pause: later((tock, ...input) => tock.queues.pause(...input)),
      resume: later((tock, ...input) => tock.queues.resume(...input)),
      remove: later((tock, ...input) => tock.queues.remove(...input)),
    },
    why: later((tock, ...input) => tock.why(...input)),
    status: later((tock, ...input) => tock.status(...input)),
    prune: later((tock, ...input) => tock.prune(...input)),
    get logger() {
      return opened?.logger ?? null;
    },
    atWork: () => opened?.atWork() ?? [],
    crash: async thrown => await opened?.crash(thrown),
    adopt: later((tock, ...input) => tock.adopt(...input)),
    close: async () => {
      isClosed = true;
      await (await opening?.catch(() => null))?.close();
    },
  };
}
