// Calendars: named sets of dates that definitions leave out. What is wrong with one is refused here.
import { TockError } from '../errors.js';
import { checkName, quote } from '../names.js';
import { readDate } from '../schedule/calendar.js';

export const MAX_DATES = 10_000;

/** A calendar, as `calendars.list` gives it. */
export interface CalendarRecord {
  readonly name: string;
  /** `'YYYY-MM-DD'`, in their order. They are local: each definition reads them in its own zone. */
  readonly dates: readonly string[];
  /** Grows with each edit. */
  readonly version: number;
  readonly updatedAt: Date;
  /** The names of the definitions that name it. */
  readonly definitions: readonly string[];
}

/** What an edit of a calendar changes for a definition, in the 366 days from now. */
export interface ChangedOccurrences {
  readonly definition: string;
  /** Occurrences that there are no longer. */
  readonly removed: number;
  /** Occurrences that there were not. */
  readonly added: number;
  /** Counted to the end; false for one that has too many, whose counts are then the least. */
  readonly isComplete: boolean;
}

/** What `calendars.set` has done, or with `dryRun` would do. */
export interface CalendarEdit {
  readonly name: string;
  /** After the edit; 1 for a new one. */
  readonly version: number;
  readonly change: 'made' | 'edited' | 'unchanged';
  readonly dates: readonly string[];
  readonly addedDates: readonly string[];
  readonly removedDates: readonly string[];
  /** The definitions whose occurrences change, by name. */
  readonly definitions: readonly ChangedOccurrences[];
}

/** What `calendars.set` takes. */
export interface CalendarOptions {
  /** All of its dates, `'YYYY-MM-DD'`, at most 10,000: those that are left out are no longer in it. */
  readonly dates: readonly string[];
  /** Only tells what would change. Default false. */
  readonly dryRun?: boolean;
}

/** What a Tock does with calendars. */
export interface CalendarMethods {
  /** All calendars, by name. */
  list(): Promise<CalendarRecord[]>;
  /** @throws TockError TOCK_NOT_FOUND */
  get(name: string): Promise<CalendarRecord>;
  /**
   * Makes a calendar, or gives it other dates: for the future only. Each definition that names it is edited
   * in the same transaction: what came due is materialized by the old dates first, and no run is withdrawn.
   * Locks the calendar and these definitions. If nothing changed, nothing is written.
   * @throws TockError TOCK_BAD_OPTION for a name or date that is none
   */
  set(name: string, options: CalendarOptions): Promise<CalendarEdit>;
  /** @throws TockError TOCK_NOT_FOUND; TOCK_BAD_STATE while definitions name it */
  remove(name: string): Promise<void>;
}

/**
 * A calendar's name begins with a letter, so that it is told from a date.
 * @throws TockError
 */
export function checkCalendarName(
  name: unknown,
  code: 'TOCK_BAD_OPTION' | 'TOCK_BAD_SCHEDULE' = 'TOCK_BAD_OPTION',
): string {
  const checked = checkName(name, 'calendar', code);
  if (/^[a-z]/i.test(checked)) return checked;
  throw new TockError(code, `the calendar ${quote(checked)} does not begin with a letter; write de-holidays`);
}

/** Sorted, each once. @throws TockError TOCK_BAD_OPTION */
export function readCalendarDates(dates: unknown): readonly string[] {
  if (!Array.isArray(dates))
    throw new TockError('TOCK_BAD_OPTION', `dates is ${quote(dates)}; write a list, as in ['2027-01-01']`);
  const texts = [...new Set(dates as readonly unknown[])].map(date => {
    if (typeof date === 'string' && readDate(date) !== null) return date;
    throw new TockError('TOCK_BAD_OPTION', `the date ${quote(date)} is not one; write it as 2027-01-01`);
  });
  if (texts.length > MAX_DATES)
    throw new TockError('TOCK_BAD_OPTION', `a calendar has at most ${MAX_DATES} dates, not ${texts.length}`);
  return texts.sort();
}
