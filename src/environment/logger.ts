// The pino logger: one event per line as JSON, or readable lines for people.
import { pino } from 'pino';
import type { Logger } from '../model/logger.js';
import { redact } from '../model/run/sanitize.js';
import { checkLogLevel } from './log-level.js';

export type LogFormat = 'json' | 'pretty';

export interface LoggerOptions {
  /** debug, info, warn (default), error, silent. */
  readonly level?: string;
  /** Default `json`. */
  readonly format?: LogFormat;
}

/** Writes to standard error synchronously, so that no last line is lost when a process dies. */
export function createLogger(options: LoggerOptions = {}): Logger {
  const level = checkLogLevel(options.level ?? 'warn');
  const base = {
    level,
    base: { pid: process.pid },
    timestamp: pino.stdTimeFunctions.isoTime,
    formatters: { level: (label: string) => ({ level: label }) },
    // Any text may contain a connection string or control characters. JSON escapes the C0 controls; these are
    // the others.
    hooks: { streamWrite: (line: string) => redact(line).replace(/[\u007F-\u009F]/g, escaped) },
  };
  if (options.format === 'pretty') return pino(base, { write: prettyLine });
  return pino(base, pino.destination({ fd: 2, sync: true }));
}

function escaped(control: string): string {
  return `\\u${control.charCodeAt(0).toString(16).padStart(4, '0')}`;
}

const COLOURS: Readonly<Record<string, number>> = { debug: 90, info: 32, warn: 33, error: 31 };

/** Local time, level, message. Only the JSON format has the fields. */
function prettyLine(line: string): void {
  const { time, level, msg, event } = JSON.parse(line) as {
    time: string;
    level: string;
    msg?: string;
    event?: string;
  };
  const clock = new Date(time).toTimeString().slice(0, 8);
  const word = level.toUpperCase().padEnd(5);
  const coloured =
    process.stderr.isTTY && !process.env['NO_COLOR']
      ? `\u001B[${COLOURS[level] ?? 0}m${word}\u001B[0m`
      : word;
  process.stderr.write(`${clock} ${coloured} ${escapeControls(msg ?? event ?? '')}\n`);
}

/** An error's text may contain escape sequences, which must not reach the terminal. */
function escapeControls(text: string): string {
  // oxlint-disable-next-line no-control-regex
  return text.replace(/[\u0000-\u001F\u007F-\u009F]/g, char => (char === '\n' ? ' ⏎ ' : ''));
}
