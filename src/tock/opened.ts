// A Tock whose engine is loaded.
import { withAlertQueue } from '../engine/alerts/delivery-job.js';
import { withHeartbeat } from '../engine/alerts/heartbeat.js';
import { audit } from '../engine/audit.js';
import { pauseDefinition, resumeDefinition } from '../engine/definitions/pause.js';
import { register } from '../engine/definitions/register.js';
import { resetCursors } from '../engine/definitions/reset-cursors.js';
import { removeSchedule, upsertSchedule } from '../engine/definitions/schedules.js';
import { examine } from '../engine/doctor/examine.js';
import { forgetHost } from '../engine/doctor/forget-host.js';
import { checkConcurrency, checkQueues, type Engine } from '../engine/engine.js';
import { enqueue, enqueueMany } from '../engine/enqueue.js';
import { createSchedulerView, readHealth } from '../engine/execute/scheduler-view.js';
import { backfill } from '../engine/materialize/backfill.js';
import * as alerts from '../engine/operate/alerts.js';
import { beginExec } from '../engine/operate/exec/begin-exec.js';
import { cancelMany, retryMany } from '../engine/operate/many.js';
import * as queues from '../engine/operate/queues.js';
import { cancel, executeOrWait, retry, type WaitOptions } from '../engine/operate/runs.js';
import { prune } from '../engine/retention/prune.js';
import { runTick } from '../engine/run-tick.js';
import { why } from '../engine/why/why.js';
import { parseDuration } from '../model/duration.js';
import { TockError } from '../model/errors.js';
import type { NewRun } from '../model/job/job.js';
import type { OutputOfId } from '../model/job/run-id.js';
import {
  type Action,
  checkOperator,
  checkOperatorName,
  REDACTED,
  redacted,
  requireRole,
  type Work,
} from '../model/operator.js';
import { requireSight } from '../model/run/run-match.js';
import { openDatabase } from '../store/connection/database.js';
import { listAudit } from '../store/reads/audit.js';
import { type AttemptLog, readLog } from '../store/reads/runs/run-log.js';
import { getRun, listDefinitions, listRuns, type RunRecord } from '../store/reads/runs.js';
import { adoptDatabase } from '../store/schema/database-identity.js';
import { migrate, requireMigrated } from '../store/schema/migrate.js';
import { checkMethodOptions } from './check-options.js';
import type { Stoppable } from './engine-of.js';
import { handOffMethods } from './hand-off-methods.js';
import type { EnqueueManyOptions, TockOptions } from './options.js';
import type { ReadOptions } from './read-options.js';
import { withStoredPayload } from './stored-payload.js';
import type { OpenedTock } from './types.js';

export function openTock(options: TockOptions, read: ReadOptions): OpenedTock {
  const { registry, settings, statementTimeoutMs, isolation, logger, alerting, tracing } = read;
  const database = openDatabase({ ...options, statementTimeoutMs });
  const hooks = options.hooks ?? {};
  const workers: Engine['workers'] = new Set();
  const appName = options.operator === undefined ? null : checkOperatorName(options.operator);
  const engine: Engine = {
    database,
    registry,
    logger,
    settings,
    isolation,
    hooks,
    workers,
    operator: null,
    appName,
    tracing,
    alerting,
  };
  const daemons = new Set<Stoppable>();
  let isClosed = false;

  return methodsFor(engine, {
    daemons,
    kind: read.kind,
    open: () => {
      if (isClosed) throw new TockError('TOCK_CLOSED', 'this Tock is closed; make another with createTock');
    },
    close: async () => {
      if (isClosed) return;
      isClosed = true;
      await Promise.all([...daemons].map(daemon => daemon.stop()));
      await database.close();
    },
  });
}

/** What a Tock shares with those that act for operators on it. */
interface Shared {
  readonly daemons: Set<Stoppable>;
  /** Whose ticks they are. */
  readonly kind: ReadOptions['kind'];
  /** @throws TockError TOCK_CLOSED */
  readonly open: () => void;
  readonly close: () => Promise<void>;
}

function methodsFor(acting: Engine, shared: Shared): OpenedTock {
  const { operator, workers } = acting;
  const open = (): Engine => {
    shared.open();
    return acting;
  };
  /** The engine that acts for the operator, whose role suffices. */
  const may = (action: Action): Engine => {
    requireRole(operator, action);
    return open();
  };
  /** The engine that acts for no operator: what handlers do is not an operator's action. */
  const mayWork = (work: Work): Engine => {
    requireRole(operator, work);
    return { ...open(), operator: null };
  };
  const shown = <Held extends Parameters<typeof redacted>[0]>(record: Held): Held =>
    operator === null || operator.seesPayloads ? record : redacted(record);
  /** What handlers log may say as much as payloads do. */
  const shownLog = (log: AttemptLog): AttemptLog =>
    operator === null || operator.seesPayloads
      ? log
      : { ...log, lines: log.lines.map(line => ({ ...line, text: REDACTED, fields: null })) };

  return {
    database: acting.database,
    startWith: async start => {
      const started = await start(mayWork('start'));
      shared.daemons.add(started);
      return started;
    },
    as: next => methodsFor({ ...acting, operator: checkOperator(next, operator) }, shared),
    enqueue: async (job, ...[payload, enqueueOptions]) =>
      await enqueue(may('enqueue'), job, payload, enqueueOptions),
    enqueueMany: (async (runs: readonly NewRun[], options: EnqueueManyOptions = {}) => {
      const { client, details = false } = checked('enqueueMany', options);
      const enqueued = await enqueueMany(may('enqueue'), runs, client);
      return details ? enqueued : enqueued.map(({ id }) => id);
    }) as OpenedTock['enqueueMany'],
    tick: async (tickOptions = {}) => {
      const { budget = '50s', ...rest } = checked('tick', tickOptions);
      const engine = mayWork('tick');
      const tick = {
        budgetMs: parseDuration(budget, 'budget'),
        ...rest,
        concurrency: checkConcurrency(rest.concurrency),
        queues: withAlertQueue(checkQueues(rest.queues), engine.alerting),
        kind: shared.kind,
      };
      return await withHeartbeat(engine, () => runTick(engine, tick));
    },
    start: async startOptions => {
      const engine = mayWork('start');
      checkConcurrency(checked('start', startOptions)?.concurrency);
      checkQueues(startOptions?.queues);
      // Loaded late: a tick does not need node-cron.
      const { startDaemon } = await import('../daemon/daemon.js');
      const daemonQueues = withAlertQueue(startOptions?.queues, engine.alerting);
      const daemon = await startDaemon(engine, { ...startOptions, queues: daemonQueues });
      shared.daemons.add(daemon);
      return daemon;
    },
    migrate: async () => {
      const engine = may('migrate');
      return await migrate(engine.database, (session, names) =>
        audit(session, engine, { action: 'migrate', targets: names }),
      );
    },
    requireMigrated: async () => await requireMigrated(open().database),
    register: async () => await register(mayWork('register')),
    ...handOffMethods(may, mayWork),
    runs: {
      // Only the compiler knows the output that an id's type carries.
      get: async <Id extends string>(id: Id) => {
        const run = await getRun(open().database, id);
        return (run && shown(run)) as RunRecord<OutputOfId<Id>> | null;
      },
      list: async (filter = {}) => {
        requireSight(operator, checked('runs.list', filter));
        return (await listRuns(open().database, filter)).map(shown);
      },
      retry: async (id, options) => shown(await retry(may('runs.retry'), id, checked('runs.retry', options))),
      cancel: async (id, options) =>
        shown(await cancel(may('runs.cancel'), id, checked('runs.cancel', options))),
      log: async (id, options) =>
        (await readLog(open().database, id, checked('runs.log', options)?.attempt)).map(shownLog),
      retryMany: async (match, options) =>
        await retryMany(may('runs.retry'), checked('runs.match', match), checked('runs.retryMany', options)),
      cancelMany: async (match, options) =>
        await cancelMany(
          may('runs.cancel'),
          checked('runs.match', match),
          checked('runs.cancelMany', options),
        ),
      wait: async <Id extends string>(id: Id, options: WaitOptions = {}) => {
        const { onChange, ...rest } = checked('runs.wait', options);
        const watching = onChange ? { onChange: (run: RunRecord) => onChange(shown(run)) } : {};
        const run = await executeOrWait(mayWork('runs.wait'), id, { ...rest, ...watching });
        return shown(run) as RunRecord<OutputOfId<Id>>;
      },
    },
    schedules: {
      list: async filter =>
        (await listDefinitions(open().database, checked('schedules.list', filter))).map(shown),
      upsert: async (schedule, guard) => {
        const engine = may('schedules.upsert');
        checkMethodOptions('schedules.upsert', guard);
        const unseen = operator?.seesPayloads === false && schedule.payload === REDACTED;
        const kept = unseen ? await withStoredPayload(engine, schedule, guard) : { schedule, guard };
        return shown(await upsertSchedule(engine, kept.schedule, kept.guard));
      },
      remove: async (name, guard) =>
        shown(await removeSchedule(may('schedules.remove'), name, checked('schedules.remove', guard))),
      pause: async (name, options) =>
        shown(await pauseDefinition(may('schedules.pause'), name, checked('schedules.pause', options))),
      resume: async name => shown(await resumeDefinition(may('schedules.resume'), name)),
      backfill: async (name, options) => {
        const { dryRun } = checked('schedules.backfill', options);
        return await backfill(dryRun ? open() : may('schedules.backfill'), name, options);
      },
      resetCursors: async options => {
        const isDry = checked('schedules.resetCursors', options)?.dryRun === true;
        return await resetCursors(isDry ? open() : may('schedules.resetCursors'), options);
      },
    },
    queues: {
      list: async () => await queues.queues(open()),
      set: async (name, limits) =>
        await queues.limitQueue(may('queues.set'), name, checked('queues.set', limits)),
      pause: async (name, options) =>
        await queues.pause(may('queues.pause'), name, checked('queues.pause', options)),
      resume: async name => await queues.resume(may('queues.resume'), name),
      remove: async name => await queues.unlimitQueue(may('queues.remove'), name),
    },
    audit: {
      list: async filter => await listAudit(open().database, checked('audit.list', filter)),
    },
    alerts: {
      list: async ({ limit = 1000 } = {}) => await alerts.list(open(), limit),
      mutes: async () => await alerts.mutes(open()),
      mute: async (name, options) =>
        await alerts.mute(may('alerts.mute'), name, checked('alerts.mute', options)),
      unmute: async name => await alerts.unmute(may('alerts.unmute'), name),
      test: async channel => await alerts.test(mayWork('alerts.test'), channel),
    },
    why: async (definition, time) => await why(open(), definition, time),
    status: async () => await createSchedulerView(open()).status(),
    metrics: async metricsOptions => {
      const { openMetrics } = await import('../engine/metrics/openmetrics.js');
      return await openMetrics(open().database, checked('metrics', metricsOptions));
    },
    capacity: async capacityOptions => {
      const report = await import('../engine/metrics/capacity.js');
      return await report.measureCapacity(open().database, checked('capacity', capacityOptions));
    },
    health: async limits => await readHealth(open(), checked('health', limits)),
    doctor: async doctorOptions => await examine(open(), checked('doctor', doctorOptions)),
    forgetHost: async host => await forgetHost(may('forgetHost'), host),
    prune: async pruneOptions =>
      await prune(may('prune'), checked('prune', pruneOptions), { isByHand: true }),
    beginExec: async (execOptions, stop) => await beginExec(mayWork('runs.wait'), execOptions, stop),
    logger: acting.logger,
    atWork: () => [...workers].flatMap(worker => worker.atWork()),
    crash: async thrown => {
      await Promise.all([...workers].map(worker => worker.crash(thrown)));
    },
    adopt: async adoptOptions => {
      const isDry = checked('adopt', adoptOptions)?.dryRun === true;
      const engine = isDry ? open() : may('adopt');
      return await adoptDatabase(engine.database, adoptOptions, async (session, { queued, running }) => {
        await audit(session, engine, {
          action: 'adopt',
          targets: [],
          count: 1,
          details: { queued, running },
        });
      });
    },
    close: shared.close,
  };
}

function checked<Options>(method: Parameters<typeof checkMethodOptions>[0], options: Options): Options {
  checkMethodOptions(method, options);
  return options;
}
