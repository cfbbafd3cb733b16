// What a schedule leaves out: local dates, its own or those of calendars, and cron sets. Exclusion acts on
// nominal civil time, before a zone maps it to instants.

import { checkCalendarName } from '../calendar/calendar.js';
import { type CalendarEntry, isCalendarEntry } from '../calendar/calendar-entries.js';
import { checkOptions } from '../options.js';
import { badSchedule, show } from './bad-schedule.js';
import { readDate } from './calendar.js';
import { type CronFields, readCron } from './cron/cron-fields.js';
import {
  allOf,
  type BusinessDays,
  isWeekendEntry,
  readWeekend,
  USUAL_WEEKEND,
  type WeekendEntry,
} from './days/business-days.js';

/** An entry of `exclude`. */
export type Exclusion = string | { readonly cron: string } | CalendarEntry | WeekendEntry;

/** Excluded days as day numbers, and excluded sets, each of whole minutes. */
export interface Exclusions {
  readonly dates: ReadonlySet<number>;
  readonly sets: readonly CronFields[];
  /** Calendars whose dates are among the dates: for explanations. */
  readonly calendars: ReadonlyMap<string, ReadonlySet<number>>;
  /** Whether a weekend is among the sets: then the days that are left are business days. */
  readonly hasWeekend: boolean;
}

const MAX_ENTRIES = 10_000;
const MAX_SETS = 100;
const SET_OPTIONS: ReadonlySet<string> = new Set(['cron']);
const BUSINESS_OPTIONS: ReadonlySet<string> = new Set(['calendar', 'weekend']);
const WEEKEND_OPTIONS: ReadonlySet<string> = new Set(['weekend']);
const CALENDAR_OPTIONS: ReadonlySet<string> = new Set(['calendar', 'dates']);

/**
 * Reads the option `exclude`: dates `'YYYY-MM-DD'` in the schedule's zone, calendars with their dates
 * `{ calendar, dates }`, weekends `{ weekend: ['sat', 'sun'] }`, and sets `{ cron }` of five fields. A set
 * excludes whole minutes: `'* * 25 12 *'` is all of Christmas Day, `'0 9 25 12 *'` only 09:00. Null if
 * nothing is excluded.
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
  const calendars = new Map<string, ReadonlySet<number>>();
  let hasWeekend = false;
  for (const entry of exclude as readonly unknown[]) {
    if (typeof entry === 'string') dates.add(readDay(entry));
    else if (isCalendarEntry(entry)) {
      const days = readCalendar(entry);
      calendars.set(entry.calendar, days);
      for (const day of days) dates.add(day);
    } else if (isWeekendEntry(entry)) {
      hasWeekend = true;
      sets.push(...readWeekendSet(entry));
    } else sets.push(readSet(entry, seed));
  }
  if (sets.length > MAX_SETS) throw badSchedule(`exclude has ${sets.length} cron sets; at most ${MAX_SETS}`);
  return { dates, sets, calendars, hasWeekend };
}

/**
 * What a schedule leaves out, with its business days as entries of `exclude`, in place of a weekend there.
 * What is wrong with `exclude` itself is left to {@link readExclusions}.
 * @throws TockError TOCK_BAD_SCHEDULE
 */
export function excludeOf({ exclude, businessDays }: Stated): readonly Exclusion[] | undefined {
  if (businessDays === undefined || (exclude !== undefined && !Array.isArray(exclude))) return exclude;
  checkOptions(businessDays, BUSINESS_OPTIONS, 'businessDays', 'TOCK_BAD_SCHEDULE');
  const { calendar, weekend = USUAL_WEEKEND } = businessDays;
  const isOfCalendar = (entry: Exclusion) => isCalendarEntry(entry) && entry.calendar === calendar;
  const stated: readonly Exclusion[] = exclude ?? [];
  return [
    { weekend: readWeekend(weekend, 'businessDays') },
    // It may have been given with its dates.
    ...(calendar === undefined ? [] : [stated.find(isOfCalendar) ?? { calendar }]),
    ...stated.filter(entry => !isWeekendEntry(entry) && !isOfCalendar(entry)),
  ];
}

/** A spec that states its business days as exclusions. @throws TockError TOCK_BAD_SCHEDULE */
export function withExclusions<Spec extends Stated>(spec: Spec): Spec {
  if (spec.businessDays === undefined) return spec;
  const { businessDays: _, ...rest } = spec;
  return { ...rest, exclude: excludeOf(spec) } as unknown as Spec;
}

interface Stated {
  readonly exclude?: readonly Exclusion[] | undefined;
  readonly businessDays?: BusinessDays | undefined;
}

function readDay(text: string): number {
  const day = readDate(text);
  if (day === null) throw badSchedule(`exclude ${show(text)} is not a date; write it as 2026-12-25`);
  return day;
}

function readCalendar(entry: { readonly calendar: unknown; readonly dates?: unknown }): ReadonlySet<number> {
  checkOptions(entry, CALENDAR_OPTIONS, 'an entry of exclude', 'TOCK_BAD_SCHEDULE');
  const name = checkCalendarName(entry.calendar, 'TOCK_BAD_SCHEDULE');
  const { dates } = entry;
  if (!Array.isArray(dates))
    throw badSchedule(
      `exclude names the calendar ${show(name)}, whose dates are in the database: is it there (tock calendar)? Without a database, give them too: { calendar: ${show(name)}, dates: ['2027-01-01'] }`,
    );
  return new Set(dates.map(date => readDay(String(date))));
}

/** None for a week without a weekend. */
function readWeekendSet(entry: { readonly weekend: unknown }): readonly CronFields[] {
  checkOptions(entry, WEEKEND_OPTIONS, 'an entry of exclude', 'TOCK_BAD_SCHEDULE');
  const days = readWeekend(entry.weekend, 'exclude');
  return days.length === 0 ? [] : [allOf(days)];
}

function readSet(entry: unknown, seed: string | undefined): CronFields {
  const cron = typeof entry === 'object' && entry !== null && 'cron' in entry ? entry.cron : undefined;
  if (typeof cron !== 'string') {
    throw badSchedule(
      `exclude has ${show(entry)}; each entry is a date '2026-12-25', { calendar: 'de-holidays' } or { cron: '* * 1 1 *' }`,
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
