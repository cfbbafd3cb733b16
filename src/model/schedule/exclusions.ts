// What a schedule leaves out: local dates, and cron sets such as holidays. Exclusion acts on nominal civil
// time, before a zone maps it to instants.
import { checkOptions } from '../options.js';
import { badSchedule, show } from './bad-schedule.js';
import { readDate } from './calendar.js';
import { type CronFields, readCron } from './cron/cron-fields.js';

/** Excluded days as day numbers, and excluded sets, each of whole minutes. */
export interface Exclusions {
  readonly dates: ReadonlySet<number>;
  readonly sets: readonly CronFields[];
}

const MAX_ENTRIES = 10_000;
const MAX_SETS = 100;
const SET_OPTIONS: ReadonlySet<string> = new Set(['cron']);

/**
 * Reads the option `exclude`: dates `'YYYY-MM-DD'` in the schedule's zone, and sets `{ cron }` of five
 * fields. A set excludes whole minutes: `'* * 25 12 *'` is all of Christmas Day, `'0 9 25 12 *'` only 09:00.
 * Null if nothing is excluded.
 * @throws TockError TOCK_BAD_SCHEDULE
 */
export function readExclusions(exclude: unknown, seed: string | undefined): Exclusions | null {
  if (exclude === undefined) return null;
  if (!Array.isArray(exclude)) {
    throw badSchedule(
      `exclude is ${show(exclude)}; write a list, as in ['2026-12-25', { cron: '* * 1 1 *' }]`,
    );
  }
  if (exclude.length === 0) return null;
  if (exclude.length > MAX_ENTRIES)
    throw badSchedule(`exclude has ${exclude.length} entries; at most ${MAX_ENTRIES}`);
  const dates = new Set<number>();
  const sets: CronFields[] = [];
  for (const entry of exclude as readonly unknown[]) {
    if (typeof entry === 'string') dates.add(readDay(entry));
    else sets.push(readSet(entry, seed));
  }
  if (sets.length > MAX_SETS) throw badSchedule(`exclude has ${sets.length} cron sets; at most ${MAX_SETS}`);
  return { dates, sets };
}

function readDay(text: string): number {
  const day = readDate(text);
  if (day === null) throw badSchedule(`exclude ${show(text)} is not a date; write it as 2026-12-25`);
  return day;
}

function readSet(entry: unknown, seed: string | undefined): CronFields {
  const cron = typeof entry === 'object' && entry !== null && 'cron' in entry ? entry.cron : undefined;
  if (typeof cron !== 'string') {
    throw badSchedule(
      `exclude has ${show(entry)}; each entry is a date '2026-12-25' or { cron: '* * 1 1 *' }`,
    );
  }
  checkOptions(entry, SET_OPTIONS, 'an entry of exclude', 'TOCK_BAD_SCHEDULE');
  if (cron.trim().split(/\s+/).length === 6) {
    throw badSchedule(
      `exclude ${show(cron)} has seconds; a cron set excludes whole minutes: write five fields`,
    );
  }
  return readCron(cron, seed);
}
