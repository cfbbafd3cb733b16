// Room: model. The little that Tock asks of a logger; a pino logger has it.

type LogMethod = (fields: Readonly<Record<string, unknown>>, message?: string) => void;

/** A logger of events: fields first, then the message. pino satisfies it. */
export interface Logger {
  readonly debug: LogMethod;
  readonly info: LogMethod;
  readonly warn: LogMethod;
  readonly error: LogMethod;
  child(fields: Readonly<Record<string, unknown>>): Logger;
  /** Whether lines of this level go anywhere; without it they all do. */
  isLevelEnabled?(level: string): boolean;
}

/** Whether lines of this level are logged; if not, none needs to be composed. */
export function isEnabled(logger: Logger, level: 'debug' | 'info' | 'warn' | 'error'): boolean {
  return logger.isLevelEnabled?.(level) !== false;
}

const nothing: LogMethod = () => undefined;
/** A logger that keeps silent. */
export const silentLogger: Logger = {
  debug: nothing,
  info: nothing,
  warn: nothing,
  error: nothing,
  child: () => silentLogger,
  isLevelEnabled: () => false,
};
