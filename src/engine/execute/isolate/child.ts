// Executes one attempt in a child process: the child's side.

import type pg from 'pg';
import type { Clock, Timer } from '../../../model/clock.js';
import type { AnyJob } from '../../../model/job/job.js';
import type { LogLevel } from '../../../model/job/logs-option.js';
import { createRegistry, findJob } from '../../../model/job/registry.js';
import type { Logger } from '../../../model/logger.js';
import { successWith } from '../../../model/run/decide.js';
import { type ErrorData, packError, unpackError } from '../../../model/run/errors/error-data.js';
import { type LogLine, plainFields } from '../../../model/run/log/log-line.js';
import { RunLog } from '../../../model/run/log/run-log.js';
import { endPool, openPoolTo } from '../../../store/connection/connection.js';
import { openDatabase } from '../../../store/connection/database.js';
import type { Engine, HandlerMethods } from '../../engine.js';
import type { AttemptSpan, Tracing } from '../../tracing/tracing.js';
import { abort } from '../abort.js';
import { type ActiveRun, activeRun } from '../active-run.js';
import { callHandler, readPayload } from '../call-handler.js';
import { endingOfResult } from '../hand-off.js';
import { logWarning } from '../run-logger.js';
import { endingOfThrown } from '../suspend.js';
import type { Answer, FromChild, Order } from './protocol.js';

type Send = (message: FromChild) => void;

export interface IsolatedAttempt {
  readonly abort: (reason: ErrorData) => void;
  /** Loads the jobs and executes the handler. Never rejects. */
  readonly execute: (loadJobs: () => Promise<readonly AnyJob[]>) => Promise<Answer>;
}

/** Makes what handlers get of a Tock, over a pool that stays the caller's. Connects with the first call. */
export type OpenMethods = (pool: pg.Pool, order: Order, jobs: readonly AnyJob[]) => HandlerMethods;

/** A handler may use one connection in a transaction and others beside it; a child does not need ten. */
const MAX_CONNECTIONS = 4;

/** Its effects have the worker's fence and id. The first use of the database connects to it. */
export function openIsolatedAttempt(
  clock: Clock,
  order: Order,
  send: Send,
  openMethods: OpenMethods,
): IsolatedAttempt {
  const active = reportedRun(clock, order, send);
  return {
    abort: reason => {
      const error = unpackError(reason);
      active.isLost ||= reason.code === 'TOCK_LEASE_LOST';
      abort(active.interrupt, error);
    },
    async execute(loadJobs) {
      const pool = openPoolTo(order.connection, MAX_CONNECTIONS);
      try {
        const { traceparent } = order;
        const tracing = traceparent === null ? null : await loadTracing();
        const { schema, settings, appName } = order;
        const jobs = await loadJobs();
        let methods: HandlerMethods | undefined;
        const engine: Engine = {
          clock,
          database: openDatabase({ clock, pool, schema }),
          registry: createRegistry(jobs, [], settings.service),
          logger: forwardingLogger(send, {}),
          settings,
          // The parent has written that there is work.
          wakeHost: () => undefined,
          forHandlers: () => (methods ??= openMethods(pool, order, jobs)),
          isolation: null,
          workers: new Set(),
          hooks: {},
          tracing,
          operator: null,
          appName,
        };
        const job = findJob(engine.registry, order.run.job);
        const payload = await readPayload(engine, job, active);
        if (tracing && traceparent !== null) active.span = remoteSpan(tracing, traceparent);
        const call = () => callHandler(engine, active, order.workerId, job, payload);
        const value = await (active.span === null ? call() : active.span.around(call));
        const ending = endingOfResult(active, value);
        if (ending.kind === 'threw') throw ending.error;
        if (ending.kind === 'handedOff') return ending;
        const outcome = successWith(value);
        if (!active.isCommitted) logWarning(engine, active, outcome);
        return { kind: 'returned', value: outcome.output };
      } catch (error) {
        return { kind: 'threw', error: packError(endingOfThrown(active, error).error) };
      } finally {
        active.flush();
        await endPool(pool, clock);
      }
    },
  };
}

/** The span of the attempt, which the worker ends. */
function remoteSpan(tracing: Tracing, traceparent: string): AttemptSpan {
  return { traceparent, around: work => tracing.within(traceparent, work), end: () => undefined };
}

/** With the global provider of this process, which the job module, or NODE_OPTIONS, has set up. */
async function loadTracing(): Promise<Tracing> {
  const { openTracing } = await import('../../tracing/open-tracing.js');
  return await openTracing(true);
}

const PROGRESS_EVERY_MS = 250;

/** The run for createContext and createEffects. Whatever they write to it is sent to the worker. */
function reportedRun(clock: Clock, { run }: Order, send: Send): ActiveRun & { readonly flush: () => void } {
  let progress: ActiveRun['progress'] = null;
  let hasCommitted = false;
  let timer: Timer | undefined;
  const flush = () => {
    if (progress !== null) send({ kind: 'progress', ...progress });
    progress = null;
  };
  const accessors = {
    flush,
    log: new SentLog(send),
    cursors: new SentCursors(send),
    get progress() {
      return progress;
    },
    /** The first is sent at once, since a handler that only computes lets no timer fire; later 4 a second. */
    set progress(reported) {
      progress = reported;
      if (timer !== undefined) return;
      flush();
      timer = clock.setTimeout(() => {
        timer = undefined;
        flush();
      }, PROGRESS_EVERY_MS);
    },
    get isCommitted() {
      return hasCommitted;
    },
    set isCommitted(isCommitted) {
      hasCommitted = isCommitted;
      if (isCommitted) send({ kind: 'committed' });
    },
  };
  return Object.defineProperties(
    // The worker watches over the lease.
    activeRun(run, Number.POSITIVE_INFINITY),
    Object.getOwnPropertyDescriptors(accessors),
  ) as ActiveRun & typeof accessors;
}

/** Sends cursors to the worker, which keeps them. */
class SentCursors extends Map<string, string> {
  private readonly send: Send;

  constructor(send: Send) {
    super();
    this.send = send;
  }

  override set(key: string, result: string): this {
    this.send({ kind: 'cursor', key, result });
    return this;
  }
}

/** Sends the handler's lines to the worker, which keeps them: a crash of this process loses none. */
class SentLog extends RunLog {
  private readonly send: Send;

  constructor(send: Send) {
    super(0);
    this.send = send;
  }

  override add(line: LogLine): void {
    this.send({ kind: 'line', ...line });
  }
}

/** Sends log lines to the worker, whose logger decides about level and format. */
function forwardingLogger(send: Send, bindings: Readonly<Record<string, unknown>>): Logger {
  const at = (level: LogLevel) => (fields: Readonly<Record<string, unknown>>, message?: string) => {
    // pino also accepts only a text.
    const text = typeof fields === 'string' ? fields : message;
    const all = typeof fields === 'string' ? bindings : { ...bindings, ...fields };
    send({ kind: 'log', level, fields: plainFields(all), message: text });
  };
  return {
    debug: at('debug'),
    info: at('info'),
    warn: at('warn'),
    error: at('error'),
    child: more => forwardingLogger(send, { ...bindings, ...more }),
  };
}
