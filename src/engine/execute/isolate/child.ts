// Room: engine. Executes one attempt in a child process: the child's side.
// In: the worker's order, and a way to tell it things. Out: one answer, when the handler has ended.

import type { AnyJob } from '../../../model/job/job.js';
import { createRegistry, findJob } from '../../../model/job/registry.js';
import type { Logger } from '../../../model/logger.js';
import { type ErrorData, packError, unpackError } from '../../../model/run/error-data.js';
import { describeError, describeOutput } from '../../../model/run/sanitize.js';
import { openPoolTo } from '../../../store/connection/connection.js';
import { openDatabase } from '../../../store/connection/database.js';
import type { Engine } from '../../engine.js';
import { abort } from '../abort.js';
import { type ActiveRun, activeRun } from '../active-run.js';
import { callHandler, readPayload } from '../call-handler.js';
import type { Answer, FromChild, LogLevel, Order } from './protocol.js';

type Tell = (message: FromChild) => void;

export interface IsolatedAttempt {
  /** Aborts the handler's signal. */
  readonly abort: (reason: ErrorData) => void;
  /** Loads the jobs and executes the handler. Never rejects. */
  readonly execute: (loadJobs: () => Promise<readonly AnyJob[]>) => Promise<Answer>;
}

/** A handler may use one connection in a transaction and others beside it; a child has no need of ten. */
const MOST_CONNECTIONS = 4;
/** How long connections may take to say goodbye. */
const CLOSE_MS = 500;

/**
 * Opens the attempt. Its effects are fenced as the worker's own: same run, fence and worker id. The database is
 * connected to when the handler first uses it.
 */
export function openIsolatedAttempt(order: Order, tell: Tell): IsolatedAttempt {
  const active = toldRun(order, tell);
  return {
    abort: reason => {
      const error = unpackError(reason);
      active.isLost ||= reason.code === 'TOCK_LEASE_LOST';
      abort(active.interrupt, error);
    },
    async execute(loadJobs) {
      const pool = openPoolTo(order.connection, MOST_CONNECTIONS);
      try {
        const engine: Engine = {
          database: openDatabase({ pool, schema: order.schema }),
          registry: createRegistry(await loadJobs()),
          logger: tellingLogger(tell, {}),
          settings: order.settings,
          isolation: null,
          workers: new Set(),
          hooks: {},
        };
        const job = findJob(engine.registry, order.run.job);
        const payload = await readPayload(job, active);
        const value = await callHandler(engine, active, order.workerId, job, payload);
        return { kind: 'returned', value: describeOutput(value) };
      } catch (error) {
        return { kind: 'threw', error: packError(error) };
      } finally {
        active.flush();
        await Promise.race([pool.end(), new Promise(resolve => setTimeout(resolve, CLOSE_MS))]);
      }
    },
  };
}

const PROGRESS_EVERY_MS = 250;

/** The run as createContext and createEffects know it; what they note in it is told to the worker. */
function toldRun({ run }: Order, tell: Tell): ActiveRun & { readonly flush: () => void } {
  let progress: ActiveRun['progress'] = null;
  let timer: NodeJS.Timeout | undefined;
  const flush = () => {
    if (progress !== null) tell({ kind: 'progress', ...progress });
    progress = null;
  };
  const accessors = {
    flush,
    get progress() {
      return progress;
    },
    /** The first is told at once, since a handler that only computes lets no timer fire; then a few a second. */
    set progress(noted) {
      progress = noted;
      if (timer !== undefined) return;
      flush();
      timer = setTimeout(() => {
        timer = undefined;
        flush();
      }, PROGRESS_EVERY_MS);
    },
    get isSettled() {
      return false;
    },
    set isSettled(isSettled) {
      if (isSettled) tell({ kind: 'settled' });
    },
  };
  return Object.defineProperties(
    activeRun(run, 0),
    Object.getOwnPropertyDescriptors(accessors),
  ) as ActiveRun & typeof accessors;
}

/** A logger whose lines are the worker's: it decides about level and form. */
function tellingLogger(tell: Tell, bindings: Readonly<Record<string, unknown>>): Logger {
  const at = (level: LogLevel) => (fields: Readonly<Record<string, unknown>>, message?: string) => {
    // pino takes a text alone as well.
    const text = typeof fields === 'string' ? fields : message;
    const told = typeof fields === 'string' ? bindings : { ...bindings, ...fields };
    tell({ kind: 'log', level, fields: plainFields(told), message: text });
  };
  return {
    debug: at('debug'),
    info: at('info'),
    warn: at('warn'),
    error: at('error'),
    child: more => tellingLogger(tell, { ...bindings, ...more }),
  };
}

/** Fields as they would stand in a line of JSON; an error with its name, code, message, stack and causes. */
function plainFields(fields: Readonly<Record<string, unknown>>): Record<string, unknown> {
  const plain = Object.entries(fields).map(([key, value]) => {
    if (!(value instanceof Error)) return [key, describeOutput(value)];
    const { name, code, attempt: _attempt, ...description } = describeError(value, 0);
    return [key, { type: name, ...(code === null ? {} : { code }), ...description }];
  });
  return Object.fromEntries(plain) as Record<string, unknown>;
}
