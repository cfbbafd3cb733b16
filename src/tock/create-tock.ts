// createTock: the engine as a library, which all programs use too. It checks the options at once and loads
// the engine with the first call that needs it (tock/opened.ts): a job module imports this only for
// `defineJob`.
import { deliveryJob, queuesOfWorker } from '../engine/alerts/delivery-job.js';
import { alertLimits } from '../engine/alerts/limits.js';
import { checkConcurrency, checkQueues, readSettings } from '../engine/engine.js';
import { readIsolation } from '../engine/execute/isolate/isolation.js';
import {
  askIdleTick,
  askSleep,
  type IdleTickOptions,
  noteOwnSleep,
  sessionOver,
} from '../engine/idle-tick.js';
import type { Tracing } from '../engine/tracing/tracing.js';
import { webhookJob } from '../engine/webhooks/webhook-job.js';
import { deployOf } from '../environment/deploy.js';
import { isolatedEntry } from '../environment/paths.js';
import { systemClock } from '../environment/system-clock.js';
import { readAlerts } from '../model/alerts/read-alerts.js';
import { parseDuration } from '../model/duration.js';
import { TockError } from '../model/errors.js';
import { URL_JOB } from '../model/http/stored-request.js';
import type { AnyJob } from '../model/job/job.js';
import { createRegistry } from '../model/job/registry.js';
import { readTracingOption, type TracingOption } from '../model/job/tracing-option.js';
import { type Logger, silentLogger } from '../model/logger.js';
import { checkSchemaName } from '../model/names.js';
import { checkOperator, checkOperatorName, type Operator, requireRole } from '../model/operator.js';
import { checkText } from '../model/options.js';
import { requireReachable } from '../store/connection/connection.js';
import { explainMissing, isForbidden, mayNotMigrate, withRemedy } from '../store/connection/errors.js';
import { DELIVERY_JOB } from '../store/runs/alert-events.js';
import { checkTockOptions } from './check-options.js';
import { rememberDatabase } from './database-of.js';
import { rememberStarter, type Start } from './engine-of.js';
import { subscribeLater } from './methods/subscribe-later.js';
import type { TickCallOptions, TockOptions } from './options.js';
import type { OptionsWithPool } from './read-options.js';
import type { OpenedTock, ShellTock, Tock } from './types.js';
import { urlJob } from './url-job.js';

/**
 * Makes a Tock. Nothing is connected or written until it is used.
 * @throws TockError for a bad schema name, setting or job
 */
export function createTock<const Jobs extends readonly AnyJob[] = readonly AnyJob[]>(
  options: TockOptions<Jobs>,
): Tock<Jobs> {
  const makeLogger = async () => {
    if (options.logger !== undefined) return options.logger || silentLogger;
    return (await import('../environment/logger.js')).createLogger();
  };
  return assembleTock(options, makeLogger, 'library');
}

/**
 * Like {@link createTock}; makes the logger when the engine is loaded, and ignores `options.logger`.
 * @param kind whose ticks they are
 */
export function assembleTock(
  given: TockOptions,
  makeLogger: () => Promise<Logger>,
  kind: 'tick' | 'library' = 'tick',
): ShellTock {
  checkTockOptions(given);
  const options = given as OptionsWithPool;
  const schema = checkSchemaName(options.schema === undefined ? 'tock' : options.schema);
  const alerting = options.alerts === undefined ? undefined : readAlerts(options.alerts);
  const settings = readSettings({
    ...options,
    service: options.service ?? process.env['TOCK_SERVICE']?.trim() ?? '',
    deploy: options.deploy === undefined ? deployOf(process.env) : options.deploy,
  });
  const jobs = createRegistry(options.jobs ?? [], options.queues, settings.service);
  const registry = {
    ...jobs,
    builtIn: (name: string) => {
      if (name === URL_JOB) return urlJob();
      return name === DELIVERY_JOB ? deliveryJob(alerting, schema) : webhookJob(jobs, name);
    },
  };
  const checked = {
    clock: systemClock,
    registry,
    settings,
    statementTimeoutMs: parseDuration(options.statementTimeout ?? '60s', 'statementTimeout'),
    isolation: readIsolation(registry, isolatedEntry(), options),
    alerting,
    kind,
  };
  requireReachable(options);
  if (options.operator !== undefined) checkOperatorName(options.operator);
  const tracingOption = readTracingOption(options.tracing);
  /** Loaded, perhaps before its schema is there. */
  let loaded: OpenedTock | null = null;
  let opened: OpenedTock | null = null;
  let opening: Promise<OpenedTock> | null = null;
  let isClosed = false;

  const load = async () => {
    const [{ openTock }, logger, tracing] = await Promise.all([
      import('./opened.js'),
      makeLogger(),
      tracingOption && loadTracing(tracingOption),
    ]);
    return openTock(options, { ...checked, logger, tracing });
  };
  const open = async () => {
    loaded ??= await load();
    if (options.migrate) await migrateIfNeeded(loaded, schema);
    opened = loaded;
    return opened;
  };
  /** After a failure, the next call tries again. */
  const openOnce = () =>
    (opening ??= open().catch((error: unknown) => {
      opening = null;
      throw error;
    }));
  const close = async () => {
    isClosed = true;
    await opening?.catch(() => null);
    await loaded?.close();
  };

  const actingFor = (operator: Operator | null): ShellTock => {
    let own: OpenedTock | null = null;
    const ownOf = (tock: OpenedTock) => (own ??= operator === null ? tock : tock.as(operator));
    /** Opens the Tock with the first call of any method. */
    const later =
      <Input extends readonly unknown[], Output>(
        method: (tock: OpenedTock, ...input: Input) => Promise<Output>,
      ) =>
      async (...input: Input): Promise<Output> => {
        if (isClosed) throw new TockError('TOCK_CLOSED', 'this Tock is closed; make another with createTock');
        try {
          // Without an await once it is loaded, so that arguments are read at the time of the call.
          if (opened) return await method(ownOf(opened), ...input);
          return await method(ownOf(await openOnce()), ...input);
        } catch (error) {
          throw withRemedy(error, schema, { inCode: kind === 'library' && !options.migrate });
        }
      };
    /** The same, of a method whose first argument names what it is about. */
    const about: typeof later = method =>
      later(async (tock, ...input) => {
        checkText(input[0], 'the name');
        return await method(tock, ...input);
      });

    /** Null: there is no pool yet, and the whole tick opens one. */
    const idleOptions = ({
      budget = '50s',
      concurrency,
      queues,
    }: TickCallOptions): IdleTickOptions | null => {
      requireRole(operator, 'tick');
      parseDuration(budget, 'budget');
      checkConcurrency(concurrency);
      checkQueues(queues);
      const { clock, statementTimeoutMs } = checked;
      if (options.pool === undefined) return null;
      return {
        clock,
        session: sessionOver(options.pool, { clock, schema, statementTimeoutMs }),
        registry,
        service: checked.settings.service,
        retention: checked.settings.retention,
        queues: queuesOfWorker(queues, checked),
        alerts: alertLimits(alerting),
        kind,
      };
    };

    const acting: ShellTock = {
      jobs: registry.jobs,
      enqueue: later((tock, ...input) => tock.enqueue(...input)),
      enqueueMany: later((tock, ...input) => tock.enqueueMany(...input)),
      enqueueGroup: later((tock, ...input) => tock.enqueueGroup(...input)),
      enqueueFlow: later((tock, ...input) => tock.enqueueFlow(...input)),
      group: later((tock, ...input) => tock.group(...input)),
      flow: later((tock, ...input) => tock.flow(...input)),
      continueGroup: later((tock, ...input) => tock.continueGroup(...input)),
      retryGroup: later((tock, ...input) => tock.retryGroup(...input)),
      cancelGroup: later((tock, ...input) => tock.cancelGroup(...input)),
      emit: later((tock, ...input) => tock.emit(...input)),
      tick: later((tock, ...input) => tock.tick(...input)),
      idleTick: async (tickOptions = {}) => {
        const asked = idleOptions(tickOptions);
        return asked === null ? null : await askIdleTick(asked);
      },
      fallAsleep: async (mostMs, tickOptions) => {
        const asked = idleOptions(tickOptions ?? {});
        const ms = asked === null ? 0 : await askSleep(asked, mostMs);
        if (asked !== null && ms > 0) await noteOwnSleep(asked, ms);
        return ms;
      },
      fingerprint: registry.fingerprint,
      start: later((tock, ...input) => tock.start(...input)),
      migrate: later((tock, ...input) => tock.migrate(...input)),
      requireMigrated: later((tock, ...input) => tock.requireMigrated(...input)),
      register: later((tock, ...input) => tock.register(...input)),
      complete: later((tock, ...input) => tock.complete(...input)),
      fail: later((tock, ...input) => tock.fail(...input)),
      extend: later((tock, ...input) => tock.extend(...input)),
      progress: later((tock, ...input) => tock.progress(...input)),
      runs: {
        get: later((tock, ...input) => tock.runs.get(...input)),
        list: later((tock, ...input) => tock.runs.list(...input)),
        retry: later((tock, ...input) => tock.runs.retry(...input)),
        edit: later((tock, ...input) => tock.runs.edit(...input)),
        cancel: later((tock, ...input) => tock.runs.cancel(...input)),
        log: later((tock, ...input) => tock.runs.log(...input)),
        retryMany: later((tock, ...input) => tock.runs.retryMany(...input)),
        cancelMany: later((tock, ...input) => tock.runs.cancelMany(...input)),
        wait: later((tock, ...input) => tock.runs.wait(...input)),
      },
      schedules: {
        list: later((tock, ...input) => tock.schedules.list(...input)),
        upsert: later((tock, ...input) => tock.schedules.upsert(...input)),
        upsertMany: later((tock, ...input) => tock.schedules.upsertMany(...input)),
        remove: about((tock, ...input) => tock.schedules.remove(...input)),
        pause: about((tock, ...input) => tock.schedules.pause(...input)),
        resume: about((tock, ...input) => tock.schedules.resume(...input)),
        pauseMany: later((tock, ...input) => tock.schedules.pauseMany(...input)),
        resumeMany: later((tock, ...input) => tock.schedules.resumeMany(...input)),
        pauses: later((tock, ...input) => tock.schedules.pauses(...input)),
        skip: about((tock, ...input) => tock.schedules.skip(...input)),
        move: about((tock, ...input) => tock.schedules.move(...input)),
        restore: about((tock, ...input) => tock.schedules.restore(...input)),
        exceptions: about((tock, ...input) => tock.schedules.exceptions(...input)),
        backfill: about((tock, ...input) => tock.schedules.backfill(...input)),
        resetCursors: later((tock, ...input) => tock.schedules.resetCursors(...input)),
      },
      freeze: later((tock, ...input) => tock.freeze(...input)),
      frozen: later((tock, ...input) => tock.frozen(...input)),
      thaw: later((tock, ...input) => tock.thaw(...input)),
      deploys: {
        list: later((tock, ...input) => tock.deploys.list(...input)),
        mark: about((tock, ...input) => tock.deploys.mark(...input)),
      },
      queues: {
        list: later((tock, ...input) => tock.queues.list(...input)),
        set: about((tock, ...input) => tock.queues.set(...input)),
        pause: about((tock, ...input) => tock.queues.pause(...input)),
        resume: about((tock, ...input) => tock.queues.resume(...input)),
        remove: about((tock, ...input) => tock.queues.remove(...input)),
        reset: about((tock, ...input) => tock.queues.reset(...input)),
      },
      calendars: {
        list: later((tock, ...input) => tock.calendars.list(...input)),
        get: about((tock, ...input) => tock.calendars.get(...input)),
        set: about((tock, ...input) => tock.calendars.set(...input)),
        remove: about((tock, ...input) => tock.calendars.remove(...input)),
      },
      keys: {
        list: later((tock, ...input) => tock.keys.list(...input)),
        get: about((tock, ...input) => tock.keys.get(...input)),
        set: about((tock, ...input) => tock.keys.set(...input)),
        reset: about((tock, ...input) => tock.keys.reset(...input)),
        open: about((tock, ...input) => tock.keys.open(...input)),
      },
      alerts: {
        list: later((tock, ...input) => tock.alerts.list(...input)),
        rules: later((tock, ...input) => tock.alerts.rules(...input)),
        channels: later((tock, ...input) => tock.alerts.channels(...input)),
        flips: later((tock, ...input) => tock.alerts.flips(...input)),
        deliveries: later((tock, ...input) => tock.alerts.deliveries(...input)),
        mutes: later((tock, ...input) => tock.alerts.mutes(...input)),
        mute: about((tock, ...input) => tock.alerts.mute(...input)),
        unmute: about((tock, ...input) => tock.alerts.unmute(...input)),
        test: later(async (tock, channel) => {
          if (channel !== undefined) checkText(channel, 'the channel');
          return await tock.alerts.test(channel);
        }),
      },
      changes: { subscribe: options => subscribeLater(later, options) },
      why: about((tock, ...input) => tock.why(...input)),
      prove: later((tock, ...input) => tock.prove(...input)),
      plan: later((tock, ...input) => tock.plan(...input)),
      zones: later(tock => tock.zones()),
      status: later((tock, ...input) => tock.status(...input)),
      metrics: later((tock, ...input) => tock.metrics(...input)),
      capacity: later((tock, ...input) => tock.capacity(...input)),
      health: later((tock, ...input) => tock.health(...input)),
      doctor: later((tock, ...input) => tock.doctor(...input)),
      forgetHost: about((tock, ...input) => tock.forgetHost(...input)),
      prune: later((tock, ...input) => tock.prune(...input)),
      heartbeat: alerting?.heartbeat ?? null,
      get logger() {
        return opened?.logger ?? null;
      },
      atWork: () => opened?.atWork() ?? [],
      crash: async thrown => await opened?.crash(thrown),
      adopt: later((tock, ...input) => tock.adopt(...input)),
      beginExec: later((tock, ...input) => tock.beginExec(...input)),
      audit: { list: later((tock, ...input) => tock.audit.list(...input)) },
      as: next => actingFor(checkOperator(next, operator)),
      close,
    };
    rememberDatabase(
      acting,
      later(tock => Promise.resolve(tock)),
    );
    rememberStarter(
      acting,
      later((tock, start: Start) => tock.startWith(start)),
    );
    return acting;
  };
  return actingFor(null);
}

/** @throws TockError TOCK_NOT_MIGRATED where the role may not do it */
async function migrateIfNeeded(tock: OpenedTock, schema: string): Promise<void> {
  try {
    await tock.requireMigrated();
    return;
  } catch (error) {
    const explained = explainMissing(error, schema);
    // A role that only enqueues may not read it: what is missing, its own statements say.
    if (isForbidden(error)) return;
    if (!(explained instanceof TockError && explained.code === 'TOCK_NOT_MIGRATED')) throw error;
  }
  try {
    await tock.migrate();
  } catch (error) {
    throw mayNotMigrate(error, schema) ?? error;
  }
}

async function loadTracing(option: Exclude<TracingOption, false>): Promise<Tracing> {
  const { openTracing } = await import('../engine/tracing/open-tracing.js');
  return await openTracing(option);
}
