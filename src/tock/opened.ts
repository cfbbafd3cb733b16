// A Tock whose engine is loaded.
import { examine } from '../answers/doctor/examine.js';
import { why } from '../answers/why/why.js';
import { queuesOfWorker } from '../engine/alerts/delivery-job.js';
import { withHeartbeat } from '../engine/alerts/heartbeat.js';
import { audit } from '../engine/audit.js';
import { freeze, thaw } from '../engine/definitions/freeze.js';
import { pauseDefinition, resumeDefinition } from '../engine/definitions/pause.js';
import { pauseMany, pauses, resumeMany } from '../engine/definitions/pause-many.js';
import { register } from '../engine/definitions/register.js';
import { resetCursors } from '../engine/definitions/reset-cursors.js';
import { removeSchedule, upsertSchedule, upsertSchedules } from '../engine/definitions/schedules.js';
import { emit } from '../engine/emit.js';
import { checkConcurrency, checkQueues, type Engine } from '../engine/engine.js';
import { enqueue, enqueueMany } from '../engine/enqueue.js';
import { createSchedulerView, readHealth } from '../engine/execute/scheduler-view.js';
import { backfill } from '../engine/materialize/backfill.js';
import { type ChangeFeed, createChangeFeed } from '../engine/operate/changes/change-feed.js';
import { markDeployed } from '../engine/operate/deploys.js';
import { beginExec } from '../engine/operate/exec/begin-exec.js';
import { forgetHost } from '../engine/operate/forget-host.js';
import { createRunEnds, type RunEnds } from '../engine/operate/run-ends.js';
import { executeOrWait, type WaitOptions, waitForEnd } from '../engine/operate/wait.js';
import { prune } from '../engine/retention/prune.js';
import { readWithin, runTick, tickWithin } from '../engine/run-tick.js';
import { createWaker } from '../environment/wake-file.js';
import { parseDuration } from '../model/duration.js';
import { TockError } from '../model/errors.js';
import type { EnqueueManyOptions } from '../model/job/enqueue-options.js';
import type { NewRun } from '../model/job/job.js';
import type { OutputOfId } from '../model/job/run-id.js';
import {
  type Action,
  checkOperator,
  checkOperatorName,
  redacted,
  requireRole,
  type Work,
} from '../model/operator.js';
import type { RunRecord } from '../model/run/run-record.js';
import { readIdle } from '../model/sleep/sleep.js';
import { openDatabase } from '../store/connection/database.js';
import { readFreeze } from '../store/definitions/freeze/freezes.js';
import { listAudit } from '../store/reads/audit.js';
import { listDeploys } from '../store/reads/runs/deploys.js';
import { listDefinitions } from '../store/reads/runs.js';
import { adoptDatabase } from '../store/schema/database-identity.js';
import { migrate, requireMigrated } from '../store/schema/migrate.js';
import { checked, required } from './check-options.js';
import type { Stoppable } from './engine-of.js';
import { alertMethods } from './methods/alert-calls.js';
import { calendarMethods } from './methods/calendar-methods.js';
import { changeMethods } from './methods/change-methods.js';
import { exceptionCalls } from './methods/exception-calls.js';
import { groupMethods } from './methods/group-calls.js';
import { handOffMethods } from './methods/hand-off-methods.js';
import { keyMethods } from './methods/key-methods.js';
import { queueMethods } from './methods/queue-methods.js';
import { reportCalls } from './methods/report-calls.js';
import { runMethods } from './methods/run-methods.js';
import type { OptionsWithPool, ReadOptions } from './read-options.js';
import { withStoredPayload, withStoredPayloads } from './stored-payload.js';
import type { OpenedTock } from './types.js';

export function openTock(options: OptionsWithPool, read: ReadOptions): OpenedTock {
  const { clock, registry, settings, statementTimeoutMs, isolation, logger, alerting, tracing } = read;
  const database = openDatabase({ ...options, clock, statementTimeoutMs });
  const hooks = options.hooks ?? {};
  const workers: Engine['workers'] = new Set();
  const appName = options.operator === undefined ? null : checkOperatorName(options.operator);
  const engine: Engine = {
    clock,
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
    forHandlers: () => ofHandlers,
    wakeHost: createWaker(clock, logger),
  };
  const daemons = new Set<Stoppable>();
  const ends = createRunEnds(engine);
  let isClosed = false;

  const shared: Shared = {
    daemons,
    ends,
    feed: createChangeFeed(engine, ends),
    kind: read.kind,
    open: () => {
      if (isClosed) throw new TockError('TOCK_CLOSED', 'this Tock is closed; make another with createTock');
    },
    close: async () => {
      if (isClosed) return;
      isClosed = true;
      ends.close();
      await Promise.all([...daemons].map(daemon => daemon.stop()));
      await database.close();
    },
  };
  // Handlers go on while this Tock closes, which waits for them.
  const ofHandlers = methodsFor(engine, { ...shared, open: () => undefined });
  return methodsFor(engine, shared);
}

/** What a Tock shares with those that act for operators on it. */
interface Shared {
  readonly daemons: Set<Stoppable>;
  readonly ends: RunEnds;
  readonly feed: ChangeFeed;
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
    acting.wakeHost();
    return open();
  };
  /** The engine that acts for no operator: what handlers do is not an operator's action. */
  const mayWork = (work: Work): Engine => {
    requireRole(operator, work);
    return { ...open(), operator: null };
  };
  const shown = <Held extends Parameters<typeof redacted>[0]>(record: Held): Held =>
    operator === null || operator.seesPayloads ? record : redacted(record);

  return {
    database: acting.database,
    hearChanges: wake => {
      shared.open();
      return shared.ends.join({ runId: null, changes: true, wake });
    },
    startWith: async start => {
      const started = await start(mayWork('start'));
      shared.daemons.add(started);
      return started;
    },
    as: next => methodsFor({ ...acting, operator: checkOperator(next, operator) }, shared),
    enqueue: async (job, ...[payload, enqueueOptions]) =>
      await enqueue(may('enqueue'), job, payload, enqueueOptions),
    enqueueMany: (async (runs: readonly NewRun[], options: EnqueueManyOptions = {}) => {
      const { client, details } = checked('enqueueMany', options);
      const enqueued = await enqueueMany(may('enqueue'), runs, client);
      return details ? enqueued : enqueued.map(({ id }) => id);
    }) as OpenedTock['enqueueMany'],
    ...groupMethods(open, may),
    emit: async (event, emitOptions) => await emit(may('emit'), event, emitOptions),
    tick: async (tickOptions = {}) => {
      const { budget, within, ...rest } = checked('tick', tickOptions);
      const engine = mayWork('tick');
      if (budget !== undefined && within !== undefined)
        throw new TockError(
          'TOCK_BAD_OPTION',
          'tick takes either budget, for claiming, or within, for all of it',
        );
      const tick = {
        ...rest,
        concurrency: checkConcurrency(rest.concurrency),
        queues: queuesOfWorker(checkQueues(rest.queues), engine),
        offers: rest.queues === undefined,
        kind: shared.kind,
      };
      const budgetMs = parseDuration(budget ?? '50s', 'budget');
      const withinMs = within === undefined ? null : readWithin(within, 'within');
      return await withHeartbeat(engine, () =>
        withinMs === null ? runTick(engine, { ...tick, budgetMs }) : tickWithin(engine, tick, withinMs),
      );
    },
    start: async startOptions => {
      const engine = mayWork('start');
      checkConcurrency(checked('start', startOptions)?.concurrency);
      checkQueues(startOptions?.queues);
      const { idle, ...rest } = startOptions ?? {};
      const mostMs = idle === undefined ? null : readIdle(idle, 'idle');
      const options = {
        ...rest,
        queues: queuesOfWorker(rest.queues, engine),
        offers: rest.queues === undefined,
      };
      // Loaded late: a tick does not need node-cron.
      const daemon =
        mostMs === null
          ? await (await import('../daemon/daemon.js')).startDaemon(engine, options)
          : await (await import('../daemon/idle-daemon.js')).startIdleDaemon(engine, options, mostMs);
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
      ...runMethods(open, may),
      wait: async <Id extends string>(id: Id, options: WaitOptions = {}) => {
        const { onChange, execute, ...rest } = checked('runs.wait', options);
        const watch = { ...rest, onChange: (run: RunRecord) => onChange?.(shown(run)) };
        const run = execute
          ? await executeOrWait(mayWork('runs.wait'), id, watch)
          : await waitForEnd(open(), shared.ends, id, watch);
        return shown(run) as RunRecord<OutputOfId<Id>>;
      },
    },
    schedules: {
      ...exceptionCalls(open, may),
      list: async filter =>
        (await listDefinitions(open().database, checked('schedules.list', filter))).map(shown),
      upsert: async (schedule, options) => {
        const engine = may('schedules.upsert');
        const { ifVersion, client } = checked('schedules.upsert', options) ?? {};
        const edit = await withStoredPayload(engine, { schedule, ifVersion });
        return shown(await upsertSchedule(engine, edit, { client }));
      },
      upsertMany: async (schedules, options) => {
        const engine = may('schedules.upsert');
        const { client } = checked('schedules.upsertMany', options) ?? {};
        const edits = await withStoredPayloads(engine, schedules);
        return (await upsertSchedules(engine, edits, { client })).map(shown);
      },
      remove: async (name, guard) =>
        shown(await removeSchedule(may('schedules.remove'), name, checked('schedules.remove', guard))),
      pause: async (name, options) =>
        shown(await pauseDefinition(may('schedules.pause'), name, checked('schedules.pause', options))),
      resume: async name => shown(await resumeDefinition(may('schedules.resume'), name)),
      pauseMany: async (match, options) => {
        const { dryRun } = checked('schedules.pauseMany', options) ?? {};
        const engine = dryRun ? open() : may('schedules.pause');
        return await pauseMany(engine, required('schedules.match', match), options);
      },
      resumeMany: async (match, options) => {
        const { dryRun } = checked('schedules.resumeMany', options) ?? {};
        const engine = dryRun ? open() : may('schedules.resume');
        return await resumeMany(engine, required('schedules.match', match), options);
      },
      pauses: async () => await pauses(open()),
      backfill: async (name, options) => {
        const { dryRun } = required('schedules.backfill', options);
        return await backfill(dryRun ? open() : may('schedules.backfill'), name, options);
      },
      resetCursors: async options => {
        const isDry = checked('schedules.resetCursors', options)?.dryRun === true;
        return await resetCursors(isDry ? open() : may('schedules.resetCursors'), options);
      },
    },
    freeze: async options => await freeze(may('freeze'), required('freeze', options)),
    frozen: async () => await readFreeze(open().database),
    thaw: async options => await thaw(may('thaw'), checked('thaw', options)),
    queues: queueMethods(open, may),
    keys: keyMethods(open, may),
    calendars: calendarMethods(open, may),
    deploys: {
      list: async options => await listDeploys(open().database, checked('deploys.list', options)),
      mark: async (name, options) =>
        await markDeployed(may('deploys.mark'), name, checked('deploys.mark', options)),
    },
    audit: { list: async filter => await listAudit(open().database, checked('audit.list', filter)) },
    alerts: alertMethods(open, may),
    changes: changeMethods(open, shared.feed),
    why: async (definition, time) => await why(open(), definition, time),
    ...reportCalls(open),
    status: async () => await createSchedulerView(open()).status(),
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
