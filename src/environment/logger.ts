// The pino logger: one event per line as JSON, or readable lines for people.
import { pino } from 'pino';
import { showHidden } from '../model/hidden-characters.js';
import type { Logger } from '../model/logger.js';
import { redact } from '../model/run/sanitize.js';
import { checkLogLevel } from './log-level.js';
import { writeOutput } from './output.js';

export type LogFormat = 'json' | 'pretty';

export interface LoggerOptions {
  /** debug, info, warn (default), error, silent. */
  readonly level?: string;
  /** Default `json`. */
  readonly format?: LogFormat;
}

/** Writes to standard error. Lines that cannot be written are lost; before the next one is their count. */
export function createLogger(options: LoggerOptions = {}): Logger {
  const level = checkLogLevel(options.level ?? 'warn');
  const base = {
    level,
    base: { pid: process.pid },
    timestamp: pino.stdTimeFunctions.isoTime,
    formatters: { level: (label: string) => ({ level: label }) },
    // Any text may contain a connection string or hidden characters, of which JSON escapes only some.
    hooks: { streamWrite: (line: string) => showHidden(redact(line)) },
  };
  const format = options.format === 'pretty' ? prettyLine : (line: string) => line;
  let lost = 0;
  const write = (line: string) => {
    // The last line that was written may have been cut short.
    const before = lost === 0 ? '' : `\n${format(lostLine(lost))}`;
    lost = writeOutput('stderr', before + format(line)) === null ? 0 : lost + 1;
  };
  return pino(base, { write });
}

function lostLine(lines: number): string {
  return `${JSON.stringify({
    level: 'warn',
    time: new Date().toISOString(),
    pid: process.pid,
    event: 'log.lost',
    lines,
    msg: `${lines} ${lines === 1 ? 'line' : 'lines'} of the log before this one could not be written`,
  })}\n`;
}

const COLOURS: Readonly<Record<string, number>> = { debug: 90, info: 32, warn: 33, error: 31 };

/** Local time, level, message. Only the JSON format has the fields. */
function prettyLine(line: string): string {
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
  return `${clock} ${coloured} ${showHidden((msg ?? event ?? '').replaceAll('\n', ' ⏎ '))}\n`;
}
