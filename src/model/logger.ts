// The logger that Tock needs; a pino logger fits.

/** Writes one event: its fields, then the message for people. */
export type LogMethod = (fields: Readonly<Record<string, unknown>>, message?: string) => void;

/** A logger of events. pino satisfies it. */
export interface Logger {
  readonly debug: LogMethod;
  readonly info: LogMethod;
  readonly warn: LogMethod;
  readonly error: LogMethod;
  child(fields: Readonly<Record<string, unknown>>): Logger;
  /** Whether lines of this level are written. If this method is missing, all are. */
  isLevelEnabled?(level: string): boolean;
}

/** Whether lines of this level are written, so that building them is worthwhile. */
export function isEnabled(logger: Logger, level: 'debug' | 'info' | 'warn' | 'error'): boolean {
  return logger.isLevelEnabled?.(level) !== false;
}

const ignore: LogMethod = () => undefined;
export const silentLogger: Logger = {
  debug: ignore,
  info: ignore,
  warn: ignore,
  error: ignore,
  child: () => silentLogger,
  isLevelEnabled: () => false,
};
