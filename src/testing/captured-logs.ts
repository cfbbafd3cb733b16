// Keeps what is logged, by Tock and by the handlers.
import type { Logger } from '../model/logger.js';

/** One line of the log, of any level. */
export interface LogLine {
  readonly level: 'debug' | 'info' | 'warn' | 'error';
  /** Such as `run.succeeded`; null if the line has none. */
  readonly event: string | null;
  readonly fields: Readonly<Record<string, unknown>>;
  readonly message: string | null;
}

/** Gives each line to `keep`, and to `next` if there is one. */
export function capturingLogger(
  keep: (line: LogLine) => void,
  next: Logger | null,
  bound: Readonly<Record<string, unknown>> = {},
): Logger {
  const at = (level: LogLine['level']) => (given: Readonly<Record<string, unknown>>, message?: string) => {
    const fields = { ...bound, ...given };
    const event = fields['event'];
    keep({ level, event: typeof event === 'string' ? event : null, fields, message: message ?? null });
    next?.[level](given, message);
  };
  return {
    debug: at('debug'),
    info: at('info'),
    warn: at('warn'),
    error: at('error'),
    child: fields => capturingLogger(keep, next?.child(fields) ?? null, { ...bound, ...fields }),
  };
}
