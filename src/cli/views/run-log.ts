// A run's log in the terminal: `tock show --log`.
import type { LogLevel } from '../../model/job/logs-option.js';
import type { AttemptLog, KeptLine } from '../../model/run/log/attempt-log.js';
import { type Colour, cleanBlock, cleanLine, jsonText, paint } from '../terminal.js';
import { localStamp } from './time-text.js';

const COLOURS: Readonly<Record<LogLevel, Colour>> = {
  debug: 'grey',
  info: 'green',
  warn: 'yellow',
  error: 'red',
};

/** All logs of a run, each under a title that names its attempt. */
export function logLines(logs: readonly AttemptLog[]): string[] {
  if (logs.length === 0) return [`${paint('bold', 'log')}: no lines are kept`];
  return logs.flatMap(log => [titleOf(log), ...linesOf(log)]);
}

function titleOf({ attempt, cutBytes }: AttemptLog): string {
  const cut = cutBytes === 0 ? '' : paint('dim', ` (${cutBytes.toLocaleString('en')} bytes left out)`);
  return `${paint('bold', `log of attempt ${attempt}`)}:${cut}`;
}

function linesOf({ lines, cutLines, cutAfter }: AttemptLog): string[] {
  const cut = `  … ${cutLines.toLocaleString('en')} ${cutLines === 1 ? 'line' : 'lines'} left out …`;
  return [
    ...lines.slice(0, cutAfter).flatMap(lineText),
    ...(cutLines === 0 ? [] : [paint('dim', cut)]),
    ...lines.slice(cutAfter).flatMap(lineText),
  ];
}

/** A text of several lines is indented below the first. */
function lineText({ at, level, text, fields }: KeptLine): string[] {
  const clock = `${localStamp(at).slice(11)}.${String(at.getUTCMilliseconds()).padStart(3, '0')}`;
  const [first = '', ...others] = cleanBlock(text).split('\n');
  const values = fields === null ? '' : ` ${paint('dim', cleanLine(jsonText(fields)))}`;
  return [
    `  ${paint('dim', clock)}  ${paint(COLOURS[level], level.padEnd(5))}  ${first}${values}`,
    ...others.map(line => `    ${line}`),
  ];
}

/** Remembers what of a run's log has been shown. */
export class LogFollower {
  private readonly seen = new Map<number, number>();

  /** The logs that have new lines, with these only. `cutLines`: new lines that were left out before. */
  next(logs: readonly AttemptLog[]): AttemptLog[] {
    return logs.flatMap(log => {
      const from = this.seen.get(log.fence) ?? 0;
      const total = log.lines.length + log.cutLines;
      this.seen.set(log.fence, total);
      return total > from ? [linesSince(log, from)] : [];
    });
  }

  /** A title stands before the first lines of an attempt. */
  nextLines(logs: readonly AttemptLog[]): string[] {
    const isKnown = (fence: number) => this.seen.has(fence);
    const known = new Set(logs.map(log => log.fence).filter(isKnown));
    return this.next(logs).flatMap(log => [
      ...(known.has(log.fence) ? [] : [titleOf({ ...log, cutBytes: 0 })]),
      ...linesOf(log),
    ]);
  }
}

/** @param from how many lines were there before, with those left out */
function linesSince(log: AttemptLog, from: number): AttemptLog {
  const { lines, cutLines, cutAfter } = log;
  const head = lines.slice(Math.min(from, cutAfter), cutAfter);
  const tail = lines.slice(cutAfter + Math.max(0, from - cutAfter - cutLines));
  const missed = cutAfter + cutLines - Math.max(from, cutAfter);
  return { ...log, lines: [...head, ...tail], cutAfter: head.length, cutLines: Math.max(0, missed) };
}
