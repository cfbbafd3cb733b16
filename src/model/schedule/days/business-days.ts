// Business days: the days that neither a weekend nor a calendar leaves out. The option is short for two
// entries of `exclude`, so that a stored definition, and whatever reads it, knows exclusions only.
import { badSchedule, show } from '../bad-schedule.js';
import { bits, bits60 } from '../bits.js';
import type { CronFields } from '../cron/cron-fields.js';

/** In the order of ISO 8601. */
export const WEEKDAYS = ['mon', 'tue', 'wed', 'thu', 'fri', 'sat', 'sun'] as const;

/** A day of the week, as cron names it. */
export type Weekday = (typeof WEEKDAYS)[number];

/** Which days are business days. */
export interface BusinessDays {
  /** A calendar whose dates are none, such as public holidays. Default: only the weekend is left out. */
  readonly calendar?: string;
  /** The days of the week that are none. Default `['sat', 'sun']`. */
  readonly weekend?: readonly Weekday[];
}

/**
 * An entry of `exclude`: days of the week. Beside one, `3B` and `LB` in cron count the days that are left.
 */
export interface WeekendEntry {
  readonly weekend: readonly Weekday[];
}

export const isWeekendEntry = (entry: unknown): entry is { readonly weekend: unknown } =>
  typeof entry === 'object' && entry !== null && 'weekend' in entry;

export const USUAL_WEEKEND: readonly Weekday[] = ['sat', 'sun'];

const ALL_MINUTES = bits60(Array.from({ length: 60 }, (_, minute) => minute));

/**
 * All minutes of these days, as `* * * * sat,sun` has them: made without cron's parser, which ticks seldom
 * load.
 */
export function allOf(weekdays: readonly Weekday[]): CronFields {
  const days = new Int32Array(28);
  for (let length = 28; length <= 31; length++)
    for (let first = 0; first < 7; first++) {
      const dates = Array.from({ length }, (_, date) => date);
      // In cron's order the week begins on Sunday, in WEEKDAYS on Monday.
      const isOne = (date: number) =>
        weekdays.some(day => (WEEKDAYS.indexOf(day) + 1) % 7 === (first + date) % 7);
      days[(length - 28) * 7 + first] = bits(dates.filter(isOne));
    }
  return {
    seconds: bits60([0]),
    minutes: ALL_MINUTES,
    hours: 2 ** 24 - 1,
    months: 2 ** 13 - 2,
    days,
    businessDays: [],
    everyHour: true,
  };
}

/**
 * The days of a weekend in the order of the week, each once.
 * @param where the option that has it
 * @throws TockError TOCK_BAD_SCHEDULE
 */
export function readWeekend(weekend: unknown, where: string): readonly Weekday[] {
  if (!Array.isArray(weekend))
    throw badSchedule(
      `${where} has the weekend ${show(weekend)}; write a list of days, as in ['sat', 'sun']`,
    );
  const unknown = (weekend as readonly unknown[]).find(
    day => !(WEEKDAYS as readonly unknown[]).includes(day),
  );
  if (unknown !== undefined)
    throw badSchedule(`${where} has the weekend day ${show(unknown)}; write one of ${WEEKDAYS.join(', ')}`);
  if (new Set(weekend).size === WEEKDAYS.length)
    throw badSchedule(`${where} has a weekend of all seven days, which leaves none; leave one out`);
  return WEEKDAYS.filter(day => weekend.includes(day));
}
