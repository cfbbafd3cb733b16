// An entry of `exclude` as text, as people type it on the command line and on pages.
import { isWeekendEntry, type Weekday } from '../schedule/days/business-days.js';
import type { Exclusion } from '../schedule/exclusions.js';
import { isCalendarEntry } from './calendar-entries.js';

const WEEKEND = 'weekend=';

/**
 * A cron set has blanks or is a name such as @daily; a weekend is `weekend=sat,sun`; a calendar begins with a
 * letter; the rest are dates.
 */
export function readExclusion(text: string): Exclusion {
  const word = text.trim();
  if (/\s|^@/.test(word)) return { cron: word };
  if (word.startsWith(WEEKEND)) return { weekend: weekdaysIn(word.slice(WEEKEND.length)) };
  return /^[a-z]/i.test(word) ? { calendar: word } : word;
}

/** Days that are none are left to the reader of `exclude`. */
const weekdaysIn = (text: string) =>
  text
    .toLowerCase()
    .split(',')
    .filter(day => day !== '') as Weekday[];

/** What {@link readExclusion} reads; `?` for what is none. */
export function exclusionText(entry: unknown): string {
  if (typeof entry === 'string') return entry;
  if (isCalendarEntry(entry)) return entry.calendar;
  if (isWeekendEntry(entry)) return `${WEEKEND}${[entry.weekend].flat().join(',')}`;
  return typeof entry === 'object' && entry !== null && 'cron' in entry ? String(entry.cron) : '?';
}
