// What an import from another scheduler has found: schedules that become definitions, and those that do not.
import { findZone } from '../../model/schedule/zone/zone.js';
import type { CodeHead, CodeJob } from '../code/job-code.js';
import { type Comparison, compareInstants, occurrencesOf } from '../crontab/compare.js';
import type { ComparedWords } from '../crontab/compare-words.js';
import { startsByTheClock, type Times } from './times.js';

export interface TakenSchedule {
  /** Where it is, such as `CronJob shop/backup` or `line 4`. */
  readonly from: string;
  readonly job: CodeJob;
  readonly differences: readonly string[];
  /** When it starts, by the clock of its zone; null: not at times of the clock, so it is not compared. */
  readonly clock: { readonly times: Times; readonly timezone: string } | null;
}

export interface LeftSchedule {
  readonly from: string;
  readonly problem: string;
  readonly remedy: string;
}

/** The whole of an import. */
export interface Found {
  /** What was read: a file, or a database without its password. */
  readonly source: string;
  readonly taken: readonly TakenSchedule[];
  readonly left: readonly LeftSchedule[];
  /** What the report says of all of them. */
  readonly notes: readonly string[];
  readonly head: CodeHead;
}

/** What is taken and what is not, each in its order. */
export function apart(results: readonly (TakenSchedule | LeftSchedule)[]): Pick<Found, 'taken' | 'left'> {
  return {
    taken: results.filter(result => 'job' in result),
    left: results.filter(result => 'problem' in result),
  };
}

/** Compares over [from, to), in epoch milliseconds. What is suspended is not compared. */
export function compareTaken({ job, clock }: TakenSchedule, from: number, to: number): Comparison {
  if (clock === null || Object.keys(job.schedule).length === 0) return { same: null, differences: [] };
  const zone = findZone(clock.timezone);
  const starts = startsByTheClock(clock.times, zone, from, to);
  const occurrences = occurrencesOf(job.schedule, job.name, from, to);
  return compareInstants(starts, occurrences, [zone]);
}

/** @param system what it is called in the comparison */
export function comparedWords(system: string): ComparedWords {
  return {
    system,
    uncompared: 'it is suspended, or not started by the clock',
    gap: `the clock goes forward: ${system} leaves out what it skips`,
    overlap: `the clock goes back: ${system} starts what it repeats a second time`,
    unknown: 'no change of the clock explains it',
  };
}

/** The report as lines of text. */
export function foundReport({ source, taken, left, notes }: Found): string[] {
  const differing = taken.filter(({ differences }) => differences.length > 0).length;
  return [
    `${source}:`,
    ...taken.flatMap(({ from, job, differences }) => [
      `  ${from}: ${differences.length === 0 ? 'taken' : 'taken, with a difference'}: ${job.name}`,
      ...differences.map(each => `      ${each}`),
    ]),
    ...left.flatMap(({ from, problem, remedy }) => [
      `  ${from}: not taken`,
      `      ${problem}`,
      `      ${remedy}`,
    ]),
    `${taken.length} taken, ${differing} of them with a difference; ${left.length} not taken`,
    ...(taken.length === 0 ? [] : ['', 'For all of them:', ...notes.map(note => `  ${note}`)]),
  ];
}

/** The zone's name where clocks never change; then `dst` says nothing. */
const isUtc = (timezone: string): boolean => /^(?:etc\/)?(?:utc|gmt|uct|zulu)$/i.test(timezone);

/** The options of time: by the clock, whatever it shows, unless the schedule has all hours. */
export function clockOptions(
  cron: string,
  timezone: string,
  { hours }: Times,
): { cron: string; timezone: string; dst?: 'literal' } {
  const isPlain = isUtc(timezone) || hours.size === 24;
  return { cron, timezone: isUtc(timezone) ? 'UTC' : timezone, ...(isPlain ? {} : { dst: 'literal' }) };
}

/** Seconds as a duration: `90s`, `2h`. */
export function secondsText(seconds: number): string {
  if (seconds % 86_400 === 0 && seconds > 0) return `${seconds / 86_400}d`;
  if (seconds % 3600 === 0 && seconds > 0) return `${seconds / 3600}h`;
  return seconds % 60 === 0 && seconds > 0 ? `${seconds / 60}m` : `${seconds}s`;
}

/** What is left out of the schedule of a suspended one, as a comment and a difference. */
export function suspended(schedule: string, how: string): string {
  return `it is ${how}, so the definition has no schedule and runs by hand only; to go on, add schedule: ${schedule}`;
}

/** A text as the name of a definition; empty if nothing of it can be one. */
export function asName(text: string): string {
  return text
    .replaceAll('/', ':')
    .replace(/[^A-Za-z0-9._:@-]+/g, '-')
    .replace(/^[^A-Za-z0-9]+/, '')
    .slice(0, 190);
}
