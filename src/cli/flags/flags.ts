// Reads the values of flags and arguments, and reports usage errors before anything is opened.
import { type Command, InvalidArgumentError } from 'commander';
import { hostZone } from '../../environment/host-zone.js';
import { parseDuration } from '../../model/duration.js';
import { TockError } from '../../model/errors.js';
import { readAskedInstant } from '../../model/explain/asked-instant.js';
import { period } from '../../model/explain/queue-state.js';
import { checkName, quote } from '../../model/names.js';
import { didYouMean } from '../../model/nearest.js';
import type { QueueLimits } from '../../model/queue/queue-limits.js';
import { RUN_STATUSES, type RunStatus } from '../../model/run/states.js';
import { joinTags, tagsIn } from '../../model/run/tags.js';
import { readInstant } from '../../model/schedule/instant-text.js';
import { findZone } from '../../model/schedule/zone/zone.js';
import { readIdle } from '../../model/sleep/sleep.js';

export function count(min: number, max: number): (text: string) => number {
  return text => {
    const value = /^[+-]?\d{1,15}$/.test(text.trim()) ? Number(text) : Number.NaN;
    if (value >= min && value <= max) return value;
    throw new InvalidArgumentError(`it must be a whole number from ${min} to ${max}`);
  };
}

/** Checks a duration; returns the text. */
export function duration(text: string): string {
  try {
    parseDuration(text);
    return text;
  } catch {
    throw new InvalidArgumentError('write a duration such as 30s, 5m, 1h30m or PT5M');
  }
}

/** Checks how long a process may sleep; returns the text. */
export function idle(text: string): string {
  try {
    readIdle(text, '--idle');
    return text;
  } catch {
    throw new InvalidArgumentError('write a duration from 1m to 24h, such as 15m');
  }
}

/** Starts per period: `5/s`, `100/1m`. */
export function rate(text: string): NonNullable<QueueLimits['rate']> {
  const [, starts = '', per = ''] = /^\s*(\d{1,7})\s*\/\s*(\S+)\s*$/.exec(text) ?? [];
  if (starts === '') throw new InvalidArgumentError('write it as 5/s or 100/1m: starts per period');
  return { count: count(1, 1_000_000)(starts), per: duration(period(per)) };
}

/** Removes a value. Not null, which commander passes on as empty text; nor `none`, which is a policy. */
export const NONE: unique symbol = Symbol('none');

export function orNone<T>(parse: (text: string) => T): (text: string) => T | typeof NONE {
  return text => {
    if (text.trim().toLowerCase() === 'none') return NONE;
    try {
      return parse(text);
    } catch (error) {
      if (!(error instanceof InvalidArgumentError)) throw error;
      throw new InvalidArgumentError(`${error.message}, or none`);
    }
  };
}

/** Names of definitions, separated by commas or by repeating the flag. */
export function names(text: string, before: readonly string[] = []): string[] {
  try {
    const words = text.split(',').map(word => word.trim());
    return [...before, ...words.map(word => checkName(word, 'definition', 'TOCK_BAD_OPTION'))];
  } catch (error) {
    throw new InvalidArgumentError(error instanceof Error ? error.message : String(error));
  }
}

/** Names of queues, separated by commas. */
export function queues(text: string): string[] {
  const names = text.split(',').map(name => name.trim());
  try {
    return names.map(name => checkName(name, 'queue', 'TOCK_BAD_OPTION'));
  } catch (error) {
    throw new InvalidArgumentError(error instanceof Error ? error.message : String(error));
  }
}

/** States, separated by commas or by repeating the flag. */
export function statuses(text: string, before: RunStatus[] = []): RunStatus[] {
  const words = text.split(',').map(word => word.trim());
  const found = words.map(word => RUN_STATUSES.find(status => status === word.toLowerCase()));
  const unknown = words.find((_, index) => found[index] === undefined);
  if (unknown === undefined) return [...before, ...found.filter(status => status !== undefined)];
  throw new InvalidArgumentError(
    `${quote(unknown)} is not one of ${RUN_STATUSES.join(', ')}${didYouMean(unknown, RUN_STATUSES)}`,
  );
}

/** Checks that a run's id is digits, not whether the run exists. */
export function checkRunId(text: string): string {
  const id = text.trim();
  if (/^\d{1,18}$/.test(id)) return id;
  throw new TockError(
    'TOCK_BAD_OPTION',
    `${quote(text)} is not the id of a run: ids are whole numbers (tock runs lists them)`,
  );
}

/** Tags, separated by commas or by repeating the flag. */
export function tags(text: string, before: readonly string[] = []): string[] {
  try {
    return joinTags(before, tagsIn(text)) ?? [];
  } catch (error) {
    throw new InvalidArgumentError(error instanceof Error ? error.message : String(error));
  }
}

export function runId(text: string): string {
  try {
    return checkRunId(text);
  } catch {
    throw new InvalidArgumentError('it must be the id of a run, a whole number');
  }
}

export function instant(text: string): Date {
  try {
    return new Date(readInstant(text.trim(), 'it'));
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    if (/^\s*\d{1,2}:\d{2}(:\d{2})?\s*$/.test(text))
      throw new InvalidArgumentError(
        `it has no date; write it as ${new Date().toISOString().slice(0, 11)}${text.trim().padStart(5, '0')}Z`,
      );
    const wording = why.replace('write a Date, or text such as', 'write it as').replace(/^it "[^"]*" /, '');
    throw new InvalidArgumentError(`it ${wording}`);
  }
}

/** A time as people say it: `+1h`, `tomorrow`, `14:30` in this host's zone, or an instant. */
export function moment(text: string): Date {
  try {
    return readAskedInstant(text, findZone(hostZone()), new Date(), 'it');
  } catch (error) {
    throw new InvalidArgumentError(
      error instanceof Error
        ? error.message.replace(/^it "[^"]*" /, 'it ').replace('-2h', '+1h')
        : String(error),
    );
  }
}

/** When something ends: `2h` or `+2h` from now, by the database's clock; or a moment. */
export function end(text: string): string | Date {
  const [, span = ''] = /^\s*\+?(\S+)\s*$/.exec(text) ?? [];
  try {
    return duration(span);
  } catch {
    return moment(text);
  }
}

export function withJson(command: Command): Command {
  return command.option('--json', 'print one JSON document');
}

export function examples(...lines: readonly (readonly [string, string])[]): string {
  const width = Math.max(...lines.map(([line]) => line.length));
  return `\nExamples:\n${lines.map(([line, why]) => `  ${line.padEnd(width)}  ${why}`).join('\n')}`;
}
