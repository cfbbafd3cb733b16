// createTock: the engine as a library. Everything a shell does, it does through here.
// In: a database, jobs, settings. Out: a Tock.
import type { Pool } from 'pg';
import type { Daemon, StartOptions } from './daemon.js';
import { type BackfillOptions, type BackfillResult, backfill } from './engine/backfill.js';
import { cancel, executeOrWait, retry, type WaitOptions } from './engine/commands.js';
import { type Engine, readSettings, type SettingsInput } from './engine/engine.js';
import { type Enqueued, enqueue, enqueueAll, type NewRun } from './engine/enqueue.js';
import { readIsolation } from './engine/isolation.js';
import { pauseDefinition, type ResumedDefinition, resumeDefinition } from './engine/pause.js';
import type { QueueLimits } from './engine/queues.js';
import * as queues from './engine/queues.js';
import { type RegisterResult, register } from './engine/register.js';
import { runTick, type TickSummary } from './engine/run-tick.js';
import { createSchedulerView } from './engine/scheduler-view.js';
import { removeSchedule, type ScheduleInput, upsertSchedule, type VersionGuard } from './engine/schedules.js';
import { type Why, why } from './engine/why.js';
import { createLogger } from './environment/logger.js';
import { isolatedEntry, migrationsFolder } from './environment/paths.js';
import { type Duration, parseDuration } from './model/duration.js';
import { TockError } from './model/errors.js';
import type { Hooks } from './model/hooks.js';
import type { AnyJob, PayloadAndOptions, QueryClient } from './model/job.js';
import { type Logger, silentLogger } from './model/logger.js';
import { createRegistry } from './model/registry.js';
import type { PruneOptions, PruneResult, SchedulerStatus } from './model/scheduler-view.js';
import { openDatabase } from './store/database.js';
import { demandMigrated, type MigrateResult, migrate } from './store/migrate.js';
import type { QueueRecord } from './store/queues.js';
import {
  type DefinitionFilter,
  type DefinitionRecord,
  getRun,
  listDefinitions,
  listRuns,
  type RunFilter,
  type RunRecord,
} from './store/reads.js';

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
  /** Called once what is due is materialized, before anything is claimed. */
  readonly onPlanned?: () => void;
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
  /** Stops the daemons it started and ends its pool. */
  close(): Promise<void>;
}

/**
 * Makes a Tock. Nothing is connected or written until it is used.
 *
 * @throws TockError for a bad schema name, setting or job
 */
export function createTock(options: TockOptions): Tock {
  const logger = options.logger === false ? silentLogger : (options.logger ?? createLogger());
  const registry = createRegistry(options.jobs ?? []);
  const settings = readSettings(options);
  const statementTimeoutMs = parseDuration(options.statementTimeout ?? '60s', 'statementTimeout');
  const database = openDatabase({ ...options, statementTimeoutMs });
  const isolation = readIsolation(registry, isolatedEntry(), options);
  const engine: Engine = { database, registry, logger, settings, isolation, hooks: options.hooks ?? {} };
  const daemons = new Set<Daemon>();
  let isClosed = false;

  const open = (): Engine => {
    if (isClosed) throw new TockError('TOCK_CLOSED', 'this Tock is closed; make another with createTock');
    return engine;
  };

  return {
    jobs: registry.jobs,
    enqueue: async (job, ...[payload, enqueueOptions]) => await enqueue(open(), job, payload, enqueueOptions),
    enqueueMany: async (runs, { client } = {}) =>
      (await enqueueAll(open(), runs, client)).map(each => each.id),
    enqueueAll: async (runs, { client } = {}) => await enqueueAll(open(), runs, client),
    tick: async ({ budget = '50s', ...rest } = {}) =>
      await runTick(open(), {
        budgetMs: parseDuration(budget, 'budget'),
        ...rest,
        concurrency: checkConcurrency(rest.concurrency),
        kind: 'library',
      }),
    start: async startOptions => {
      checkConcurrency(startOptions?.concurrency);
      // Loaded only here: a tick has no use for node-cron.
      const { startDaemon } = await import('./daemon.js');
      const daemon = await startDaemon(open(), startOptions);
      daemons.add(daemon);
      return daemon;
    },
    migrate: async () => await migrate(open().database, migrationsFolder()),
    demandMigrated: async () => await demandMigrated(open().database, migrationsFolder()),
    register: async () => await register(open()),
    runs: {
      get: async id => await getRun(open().database, id),
      list: async filter => await listRuns(open().database, filter),
      retry: async (id, retryOptions) => await retry(open(), id, retryOptions),
      cancel: async (id, cancelOptions) => await cancel(open(), id, cancelOptions),
      wait: async (id, waitOptions) => await executeOrWait(open(), id, waitOptions),
    },
    schedules: {
      list: async filter => await listDefinitions(open().database, filter),
      upsert: async (schedule, guard) => await upsertSchedule(open(), schedule, guard),
      remove: async (name, guard) => await removeSchedule(open(), name, guard),
      pause: async (name, pauseOptions) => await pauseDefinition(open(), name, pauseOptions),
      resume: async name => await resumeDefinition(open(), name),
      backfill: async (name, window) => await backfill(open(), name, window),
    },
    queues: {
      list: async () => await queues.queues(open()),
      set: async (name, limits) => await queues.limitQueue(open(), name, limits),
      pause: async (name, note) => await queues.pause(open(), name, note),
      resume: async name => await queues.resume(open(), name),
      remove: async name => await queues.unlimitQueue(open(), name),
    },
    why: async (definition, time) => await why(open(), definition, time),
    status: async () => await createSchedulerView(open()).status(),
    prune: async pruneOptions => await createSchedulerView(open()).prune(pruneOptions),
    close: async () => {
      if (isClosed) return;
      isClosed = true;
      await Promise.all([...daemons].map(daemon => daemon.stop()));
      await engine.database.close();
    },
  };
}

/** Checks how many runs at once: a whole number from 1 to 10000. */
export function checkConcurrency(concurrency: number | undefined): number | undefined {
  if (
    concurrency === undefined ||
    (Number.isInteger(concurrency) && concurrency >= 1 && concurrency <= 10_000)
  )
    return concurrency;
  throw new TockError(
    'TOCK_BAD_OPTION',
    `concurrency ${String(concurrency)} is not a whole number from 1 to 10000`,
  );
}
