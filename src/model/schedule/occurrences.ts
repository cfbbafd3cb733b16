// The public functions: when does, or did, a schedule fire? The host's own time zone does not matter.
import { TockError } from '../errors.js';
import { checkOptions } from '../options.js';
import { SCHEDULE_OPTIONS } from '../planning/definition.js';
import { show } from './bad-schedule.js';
import { type CompiledSchedule, compileSchedule } from './compile.js';
import type { ScheduleSpec } from './spec.js';

export const MAX_OCCURRENCES = 1_000_000;

/**
 * Lists the occurrences in [from, to). Nominal times: jitter is not added.
 * @param name the definition's name, for a schedule that uses `H`
 * @returns Dates in ascending order, each a whole second; empty when `to` is not after `from`
 * @throws TockError TOCK_BAD_SCHEDULE, or TOCK_BAD_TIME for an invalid Date or over a million occurrences
 */
export function occurrencesBetween(
  schedule: ScheduleSpec | CompiledSchedule,
  from: Date,
  to: Date,
  name?: string,
): Date[] {
  const { next } = compiled(schedule, name);
  const end = timeOf(to, 'to');
  const found: Date[] = [];
  for (let at = next(timeOf(from, 'from') - 1); at !== null && at < end; at = next(at)) {
    if (found.length === MAX_OCCURRENCES) {
      throw new TockError(
        'TOCK_BAD_TIME',
        `more than ${MAX_OCCURRENCES} occurrences; ask for a shorter time span`,
      );
    }
    found.push(new Date(at));
  }
  return found;
}

/**
 * The first occurrence after an instant, exclusive; null if there is none up to the year 2200. Nominal time:
 * jitter is not added.
 * @param name the definition's name, for a schedule that uses `H`
 * @throws TockError TOCK_BAD_SCHEDULE, or TOCK_BAD_TIME for an invalid Date
 */
export function nextOccurrence(
  schedule: ScheduleSpec | CompiledSchedule,
  after: Date,
  name?: string,
): Date | null {
  return dateOf(compiled(schedule, name).next(timeOf(after, 'after')));
}

/**
 * The last occurrence before an instant, exclusive; null if there is none back to the year 1900. Nominal
 * time: jitter is not added.
 * @param name the definition's name, for a schedule that uses `H`
 * @throws TockError TOCK_BAD_SCHEDULE, or TOCK_BAD_TIME for an invalid Date
 */
export function previousOccurrence(
  schedule: ScheduleSpec | CompiledSchedule,
  before: Date,
  name?: string,
): Date | null {
  return dateOf(compiled(schedule, name).previous(timeOf(before, 'before')));
}

function compiled(schedule: ScheduleSpec | CompiledSchedule, name: string | undefined): CompiledSchedule {
  const ready =
    typeof schedule === 'object' && schedule !== null && 'next' in schedule && 'previous' in schedule;
  if (ready) return schedule;
  // A whole schedule of a job will do; a misspelt option must not be ignored.
  if (typeof schedule === 'object' && schedule !== null)
    checkOptions(schedule, SCHEDULE_OPTIONS, 'the schedule', 'TOCK_BAD_SCHEDULE');
  return compileSchedule(schedule, name);
}

function timeOf(date: Date, what: string): number {
  const ms = date instanceof Date ? date.getTime() : Number.NaN;
  if (Number.isNaN(ms)) throw new TockError('TOCK_BAD_TIME', `${what} is ${show(date)}; pass a valid Date`);
  return ms;
}

function dateOf(ms: number | null): Date | null {
  return ms === null ? null : new Date(ms);
}
