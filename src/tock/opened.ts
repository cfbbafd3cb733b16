// Room: tock. A Tock whose engine is loaded.
// In: the options of createTock, read and checked. Out: the methods of a Tock.
import type { Daemon } from '../daemon/daemon.js';
import { pauseDefinition, resumeDefinition } from '../engine/definitions/pause.js';
import { register } from '../engine/definitions/register.js';
import { resetCursors } from '../engine/definitions/reset-cursors.js';
import { removeSchedule, upsertSchedule } from '../engine/definitions/schedules.js';
import { checkConcurrency, checkQueues, type Engine, type Settings } from '../engine/engine.js';
import { enqueue, enqueueAll } from '../engine/enqueue.js';
import type { Isolation } from '../engine/execute/isolate/isolation.js';
import { createSchedulerView } from '../engine/execute/scheduler-view.js';
import { backfill } from '../engine/materialize/backfill.js';
import * as queues from '../engine/operate/queues.js';
import { cancel, executeOrWait, retry } from '../engine/operate/runs.js';
import { runTick } from '../engine/run-tick.js';
import { why } from '../engine/why/why.js';
import { migrationsFolder } from '../environment/paths.js';
import { parseDuration } from '../model/duration.js';
import { TockError } from '../model/errors.js';
import type { Registry } from '../model/job/registry.js';
import type { Logger } from '../model/logger.js';
import { openDatabase } from '../store/connection/database.js';
import { getRun, listDefinitions, listRuns } from '../store/reads/runs.js';
import { adoptDatabase } from '../store/schema/database-identity.js';
import { migrate, requireMigrated } from '../store/schema/migrate.js';
import type { OpenedTock, TockOptions } from './create-tock.js';

/** What createTock has read and checked. */
export interface ReadOptions {
  readonly registry: Registry;
  readonly settings: Settings;
  readonly statementTimeoutMs: number;
  readonly isolation: Isolation | null;
  readonly logger: Logger;
}

/** Opens the engine. Nothing is connected or written until it is used. */
export function openTock(options: TockOptions, read: ReadOptions): OpenedTock {
  const { registry, settings, statementTimeoutMs, isolation, logger } = read;
  const database = openDatabase({ ...options, statementTimeoutMs });
  const hooks = options.hooks ?? {};
  const workers: Engine['workers'] = new Set();
  const engine: Engine = { database, registry, logger, settings, isolation, hooks, workers };
  const daemons = new Set<Daemon>();
  let isClosed = false;

  const open = (): Engine => {
    if (isClosed) throw new TockError('TOCK_CLOSED', 'this Tock is closed; make another with createTock');
    return engine;
  };

  return {
    enqueue: async (job, ...[payload, enqueueOptions]) => await enqueue(open(), job, payload, enqueueOptions),
    enqueueMany: async (runs, { client } = {}) =>
      (await enqueueAll(open(), runs, client)).map(each => each.id),
    enqueueAll: async (runs, { client } = {}) => await enqueueAll(open(), runs, client),
    tick: async ({ budget = '50s', ...rest } = {}) =>
      await runTick(open(), {
        budgetMs: parseDuration(budget, 'budget'),
        ...rest,
        concurrency: checkConcurrency(rest.concurrency),
        queues: checkQueues(rest.queues),
        kind: 'library',
      }),
    start: async startOptions => {
      checkConcurrency(startOptions?.concurrency);
      checkQueues(startOptions?.queues);
      // Loaded only here: a tick has no use for node-cron.
      const { startDaemon } = await import('../daemon/daemon.js');
      const daemon = await startDaemon(open(), startOptions);
      daemons.add(daemon);
      return daemon;
    },
    migrate: async () => await migrate(open().database, migrationsFolder()),
    demandMigrated: async () => await requireMigrated(open().database, migrationsFolder()),
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
      resetCursors: async resetOptions => await resetCursors(open(), resetOptions),
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
    logger,
    atWork: () => [...workers].flatMap(worker => worker.atWork()),
    crash: async thrown => {
      await Promise.all([...workers].map(worker => worker.crash(thrown)));
    },
    adopt: async adoptOptions => await adoptDatabase(open().database, adoptOptions),
    close: async () => {
      if (isClosed) return;
      isClosed = true;
      await Promise.all([...daemons].map(daemon => daemon.stop()));
      await engine.database.close();
    },
  };
}
