// The `logs` option of createTock and of a job: how much of a run's log is kept in the database.
import { TockError, type TockErrorCode } from '../errors.js';
import { quote } from '../names.js';
import { checkOptions, optionNames } from '../options.js';

/** The levels of a log, the least important first. */
export const LOG_LEVELS = ['debug', 'info', 'warn', 'error'] as const;
/** How important a line of a log is. */
export type LogLevel = (typeof LOG_LEVELS)[number];

/** Which lines of `ctx.log` are kept with each attempt: none (`false`), or up to these bounds. */
export type LogsOption =
  | boolean
  | {
      /**
       * The most bytes kept of one attempt: half for its first lines, half for its last. 1,024 to 1,048,576.
       * Default 65,536.
       */
      readonly maxBytes?: number;
      /** Lines below this level are not kept. Default `info`. */
      readonly level?: LogLevel;
    };

export interface LogLimits {
  readonly maxBytes: number;
  readonly level: LogLevel;
}

const DEFAULT_LIMITS: LogLimits = { maxBytes: 65_536, level: 'info' };
/** The least that may be kept of one attempt. */
export const MIN_BYTES = 1024;
const MAX_BYTES = 1_048_576;
const OPTIONS = optionNames<Exclude<LogsOption, boolean>>({ maxBytes: true, level: true });

/**
 * Null: nothing is kept.
 * @param base what holds where the option says nothing
 * @throws TockError with `code`
 */
export function readLogsOption(
  option: LogsOption | undefined,
  base: LogLimits | null = DEFAULT_LIMITS,
  code: TockErrorCode = 'TOCK_BAD_OPTION',
): LogLimits | null {
  if (option === undefined) return base;
  if (option === false) return null;
  const limits = base ?? DEFAULT_LIMITS;
  if (option === true) return limits;
  checkOptions(option, OPTIONS, 'logs', code, `{ maxBytes: ${DEFAULT_LIMITS.maxBytes} }`);
  const { maxBytes = limits.maxBytes, level = limits.level } = option;
  if (!Number.isInteger(maxBytes) || maxBytes < MIN_BYTES || maxBytes > MAX_BYTES) {
    throw new TockError(
      code,
      `logs.maxBytes ${quote(maxBytes)} is not a whole number from ${MIN_BYTES} to ${MAX_BYTES}; to keep nothing, write logs: false`,
    );
  }
  if (!LOG_LEVELS.includes(level))
    throw new TockError(code, `logs.level ${quote(level)} is none of ${LOG_LEVELS.join(', ')}`);
  return { maxBytes, level };
}

/** Whether a line of `level` is kept, or written, where `least` is the lowest level that is. */
export function isAtLeast(level: LogLevel, least: LogLevel): boolean {
  return LOG_LEVELS.indexOf(level) >= LOG_LEVELS.indexOf(least);
}
