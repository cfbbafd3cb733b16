// A Tock whose engine is loaded.
import type { Daemon } from '../daemon/daemon.js';
import { withAlertQueue } from '../engine/alerts/delivery-job.js';
import { withHeartbeat } from '../engine/alerts/heartbeat.js';
import { pauseDefinition, resumeDefinition } from '../engine/definitions/pause.js';
import { register } from '../engine/definitions/register.js';
import { resetCursors } from '../engine/definitions/reset-cursors.js';
import { removeSchedule, upsertSchedule } from '../engine/definitions/schedules.js';
import { checkConcurrency, checkQueues, type Engine } from '../engine/engine.js';
import { enqueue, enqueueMany } from '../engine/enqueue.js';
import { createSchedulerView } from '../engine/execute/scheduler-view.js';
import { backfill } from '../engine/materialize/backfill.js';
import * as alerts from '../engine/operate/alerts.js';
import * as queues from '../engine/operate/queues.js';
import { cancel, executeOrWait, retry, type WaitOptions } from '../engine/operate/runs.js';
import { runTick } from '../engine/run-tick.js';
import { why } from '../engine/why/why.js';
import { migrationsFolder } from '../environment/paths.js';
import { parseDuration } from '../model/duration.js';
import { TockError } from '../model/errors.js';
import type { NewRun } from '../model/job/job.js';
import type { OutputOfId } from '../model/job/run-id.js';
import { openDatabase } from '../store/connection/database.js';
import { getRun, listDefinitions, listRuns, type RunRecord } from '../store/reads/runs.js';
import { adoptDatabase } from '../store/schema/database-identity.js';
import { migrate, requireMigrated } from '../store/schema/migrate.js';
import { checkMethodOptions } from './check-options.js';
import type { EnqueueManyOptions, TockOptions } from './options.js';
import type { OpenedTock, ReadOptions } from './types.js';

export function openTock(options: TockOptions, read: ReadOptions): OpenedTock {
  const { registry, settings, statementTimeoutMs, isolation, logger, kind, alerting } = read;
  const database = openDatabase({ ...options, statementTimeoutMs });
  const hooks = options.hooks ?? {};
  const workers: Engine['workers'] = new Set();
  const engine: Engine = { database, registry, logger, settings, isolation, hooks, workers, alerting };
  const daemons = new Set<Daemon>();
  let isClosed = false;

  const open = (): Engine => {
    if (isClosed) throw new TockError('TOCK_CLOSED', 'this Tock is closed; make another with createTock');
    return engine;
  };

  return {
    enqueue: async (job, ...[payload, enqueueOptions]) => await enqueue(open(), job, payload, enqueueOptions),
    enqueueMany: (async (runs: readonly NewRun[], options: EnqueueManyOptions = {}) => {
      const { client, details = false } = checked('enqueueMany', options);
      const enqueued = await enqueueMany(open(), runs, client);
      return details ? enqueued : enqueued.map(({ id }) => id);
    }) as OpenedTock['enqueueMany'],
    tick: async (tickOptions = {}) => {
      const { budget = '50s', ...rest } = checked('tick', tickOptions);
      const tick = {
        budgetMs: parseDuration(budget, 'budget'),
        ...rest,
        concurrency: checkConcurrency(rest.concurrency),
        queues: withAlertQueue(checkQueues(rest.queues), alerting),
        kind,
      };
      return await withHeartbeat(open(), () => runTick(engine, tick));
    },
    start: async startOptions => {
      checkConcurrency(checked('start', startOptions)?.concurrency);
      checkQueues(startOptions?.queues);
      // Loaded late: a tick does not need node-cron.
      const { startDaemon } = await import('../daemon/daemon.js');
      const daemonQueues = withAlertQueue(startOptions?.queues, alerting);
      const daemon = await startDaemon(open(), { ...startOptions, queues: daemonQueues });
      daemons.add(daemon);
      return daemon;
    },
    migrate: async () => await migrate(open().database, migrationsFolder()),
    requireMigrated: async () => await requireMigrated(open().database, migrationsFolder()),
    register: async () => await register(open()),
    runs: {
      // Only the compiler knows the output that an id's type carries.
      get: async <Id extends string>(id: Id) =>
        (await getRun(open().database, id)) as RunRecord<OutputOfId<Id>> | null,
      list: async filter => await listRuns(open().database, checked('runs.list', filter)),
      retry: async (id, options) => await retry(open(), id, checked('runs.retry', options)),
      cancel: async (id, options) => await cancel(open(), id, checked('runs.cancel', options)),
      wait: async <Id extends string>(id: Id, options?: WaitOptions) =>
        (await executeOrWait(open(), id, checked('runs.wait', options))) as RunRecord<OutputOfId<Id>>,
    },
    schedules: {
      list: async filter => await listDefinitions(open().database, checked('schedules.list', filter)),
      upsert: async (schedule, guard) =>
        await upsertSchedule(open(), schedule, checked('schedules.upsert', guard)),
      remove: async (name, guard) => await removeSchedule(open(), name, checked('schedules.remove', guard)),
      pause: async (name, options) =>
        await pauseDefinition(open(), name, checked('schedules.pause', options)),
      resume: async name => await resumeDefinition(open(), name),
      backfill: async (name, options) => await backfill(open(), name, checked('schedules.backfill', options)),
      resetCursors: async options => await resetCursors(open(), checked('schedules.resetCursors', options)),
    },
    queues: {
      list: async () => await queues.queues(open()),
      set: async (name, limits) => await queues.limitQueue(open(), name, checked('queues.set', limits)),
      pause: async (name, options) => await queues.pause(open(), name, checked('queues.pause', options)),
      resume: async name => await queues.resume(open(), name),
      remove: async name => await queues.unlimitQueue(open(), name),
    },
    alerts: {
      list: async ({ limit = 1000 } = {}) => await alerts.list(open(), limit),
      mutes: async () => await alerts.mutes(open()),
      mute: async (name, options) => await alerts.mute(open(), name, checked('alerts.mute', options)),
      unmute: async name => await alerts.unmute(open(), name),
      test: async channel => await alerts.test(open(), channel),
    },
    why: async (definition, time) => await why(open(), definition, time),
    status: async () => await createSchedulerView(open()).status(),
    prune: async pruneOptions => await createSchedulerView(open()).prune(checked('prune', pruneOptions)),
    logger,
    atWork: () => [...workers].flatMap(worker => worker.atWork()),
    crash: async thrown => {
      await Promise.all([...workers].map(worker => worker.crash(thrown)));
    },
    adopt: async adoptOptions => await adoptDatabase(open().database, checked('adopt', adoptOptions)),
    close: async () => {
      if (isClosed) return;
      isClosed = true;
      await Promise.all([...daemons].map(daemon => daemon.stop()));
      await engine.database.close();
    },
  };
}

function checked<Options>(method: Parameters<typeof checkMethodOptions>[0], options: Options): Options {
  checkMethodOptions(method, options);
  return options;
}
