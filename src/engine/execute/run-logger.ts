// The logger of an attempt: passes each line on to the engine's logger, and keeps it with the attempt.
import { format } from 'node:util';
import { lossCount, lossSince } from '../../environment/output.js';
import {
  isAtLeast,
  LOG_LEVELS,
  type LogLevel,
  type LogLimits,
  MIN_BYTES,
  readLogsOption,
} from '../../model/job/logs-option.js';
import { knownJob } from '../../model/job/registry.js';
import type { Logger, LogMethod } from '../../model/logger.js';
import type { Outcome } from '../../model/run/decide.js';
import { describeLine, type LogLine } from '../../model/run/log/log-line.js';
import { RunLog } from '../../model/run/log/run-log.js';
import type { Engine } from '../engine.js';
import type { ActiveRun } from './active-run.js';

type Fields = Readonly<Record<string, unknown>>;

const NO_FIELDS: Fields = {};

/** A job that keeps no lines gets the plain logger. */
export function createRunLogger(engine: Engine, active: ActiveRun): Logger {
  const { run } = active;
  const logger = engine.logger.child({ run_id: run.id, job: run.job, attempt: run.attempts });
  const limits = limitsOf(engine, active);
  if (limits === null) return logger;
  const keep = (level: LogLevel, text: string, fields: Fields) =>
    keepLine(engine, active, describeLine(level, text, fields, limits.maxBytes), limits.maxBytes);
  return keepingLogger(logger, limits.level, keep, NO_FIELDS);
}

/** The logger of a handler that gets a batch: a line is written once, and kept with each run. */
export function createBatchLogger(engine: Engine, job: string, actives: readonly ActiveRun[]): Logger {
  const [first] = actives;
  const logger = engine.logger.child({ job, batch: actives.length, run_id: first?.run.id });
  const limits = first === undefined ? null : limitsOf(engine, first);
  if (limits === null) return logger;
  const keep = (level: LogLevel, text: string, fields: Fields) => {
    const line = describeLine(level, text, fields, limits.maxBytes);
    for (const active of actives) if (!active.isFinalizing) keepLine(engine, active, line, limits.maxBytes);
  };
  return keepingLogger(logger, limits.level, keep, NO_FIELDS);
}

/** Of a batch, each run keeps its share, so that a thousand runs keep no thousand times as much. */
function limitsOf(engine: Engine, { run, batchSize }: ActiveRun): LogLimits | null {
  const limits = readLogsOption(knownJob(engine.registry, run.job)?.logs, engine.settings.logs);
  if (limits === null || batchSize <= 1) return limits;
  return { ...limits, maxBytes: Math.max(MIN_BYTES, Math.floor(limits.maxBytes / batchSize)) };
}

/** Keeps a line that the child process of an isolated attempt has sent. */
export function keepSentLine(engine: Engine, active: ActiveRun, line: LogLine): void {
  const limits = limitsOf(engine, active);
  if (limits !== null) keepLine(engine, active, line, limits.maxBytes);
}

/**
 * Keeps with the attempt that what was printed while it ran is lost: by its handler, or by another one of
 * this process. The lines of its logger are kept anyway.
 * @param losses how much was lost before it began
 */
export function keepLosses(engine: Engine, active: ActiveRun, losses: number): void {
  if (lossCount() === losses) return;
  const limits = limitsOf(engine, active);
  if (limits === null) return;
  const lost = lossSince(losses);
  const text = `${lost}: some of what this process printed during the attempt is lost`;
  keepLine(engine, active, describeLine('warn', text, NO_FIELDS, limits.maxBytes), limits.maxBytes);
}

/** Says in the run's log what its outcome leaves out. */
export function logWarning(engine: Engine, active: ActiveRun, { warning }: Pick<Outcome, 'warning'>): void {
  if (warning) createRunLogger(engine, active).warn({ event: 'run.warning' }, warning);
}

/** Adds a line to the attempt's log, which the next heartbeat, or the outcome, writes. */
function keepLine({ clock }: Engine, active: ActiveRun, line: LogLine, maxBytes: number): void {
  active.log ??= new RunLog(maxBytes);
  active.log.add(line, clock.now());
}

/** Inherits from the logger that it wraps, so that whatever else that one can do is there. */
function keepingLogger(
  logger: Logger,
  least: LogLevel,
  keep: (level: LogLevel, text: string, fields: Fields) => void,
  bindings: Fields,
): Logger {
  const methodOf =
    (level: LogLevel): LogMethod =>
    (given: unknown, ...rest: readonly unknown[]) => {
      (logger[level] as (...all: readonly unknown[]) => void)(given, ...rest);
      const { text, fields } = partsOf(given, rest);
      keep(level, text, { ...bindings, ...fields });
    };
  const methods = LOG_LEVELS.map(level => [
    level,
    isAtLeast(level, least) ? methodOf(level) : logger[level].bind(logger),
  ]);
  return Object.assign(Object.create(logger) as Logger, {
    ...Object.fromEntries(methods),
    child: (more: Fields, ...rest: readonly unknown[]) =>
      keepingLogger((logger.child as (...all: readonly unknown[]) => Logger)(more, ...rest), least, keep, {
        ...bindings,
        ...more,
      }),
    isLevelEnabled: (level: string) =>
      logger.isLevelEnabled?.(level) !== false ||
      LOG_LEVELS.some(each => each === level && isAtLeast(each, least)),
  });
}

/** As pino reads a call: fields or an error, then a message with its arguments; or only these. */
function partsOf(given: unknown, rest: readonly unknown[]): { text: string; fields: Fields } {
  if (given instanceof Error)
    return { text: rest.length > 0 ? format(...rest) : given.message, fields: { err: given } };
  if (typeof given !== 'object' || given === null) return { text: format(given, ...rest), fields: NO_FIELDS };
  const fields = given as Fields;
  if (rest.length > 0 && rest[0] !== undefined) return { text: format(...rest), fields };
  const { event } = fields;
  return { text: typeof event === 'string' ? event : '', fields };
}
