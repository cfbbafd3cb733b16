// A cron expression as sets of bits, by Vixie's day rule. The only file that uses cron-parser, which expands
// the entries of a field and never sees a zone or a clock.
import type { CronExpression } from 'cron-parser';
import { badSchedule, show } from '../bad-schedule.js';
import { type Bits60, bits, bits60 } from '../bits.js';
import { monthLength } from '../calendar.js';
import { createLru } from '../lru.js';
import { isPastMonthEnd } from '../never-comes.js';
import { type CronText, type FieldText, readCronText } from './cron-text.js';
import cronParser from './load-cron-parser.cjs';
import { businessDayPlace, isBusinessDay, isRelativeDay, relativeDay } from './relative-day.js';

/** An expression, ready to be walked. Bit n stands for the value n; in `days`, for the day n + 1. */
export interface CronFields {
  readonly seconds: Bits60;
  readonly minutes: Bits60;
  readonly hours: number;
  readonly months: number;
  /** The matching days, by length of the month and weekday of its first day: see {@link dayMask}. */
  readonly days: Int32Array;
  /**
   * The places of the business days that match too, from the month's beginning, or if negative from its end:
   * which days these are depends on what the schedule leaves out.
   */
  readonly businessDays: readonly number[];
  /** Whether the hour field covers all 24 hours: then the expression is continuous in real time. */
  readonly everyHour: boolean;
}

/** How many parsed expressions are cached, each about 400 bytes. */
const CACHED_EXPRESSIONS = 5000;
const ALL_HOURS = 2 ** 24 - 1;
/** An H for a hash, not one inside THU or MARCH. */
const HASHED = /(?:^|[\s,])H/;
/** For a definition without a name. With an empty seed cron-parser would choose at random. */
const NO_NAME = 'tock';

const cache = createLru<CronFields>(CACHED_EXPRESSIONS);

/** The matching days of a month, as bits. @param length 28-31 @param firstWeekday 0 is Sunday */
export function dayMask(fields: Pick<CronFields, 'days'>, length: number, firstWeekday: number): number {
  return fields.days[(length - 28) * 7 + firstWeekday] ?? 0;
}

/**
 * Reads a cron expression. Cached: the same expression and seed give the same object. Day of month and
 * weekday are OR only if neither begins with `*`, else AND, as in Vixie cron.
 * @param seed decides what `H` stands for: the definition's name. Without it, H is the same for all.
 * @throws TockError TOCK_BAD_SCHEDULE for invalid cron, and for a date that never comes
 */
export function readCron(expression: string, seed?: string): CronFields {
  const key = HASHED.test(expression) ? `${expression}\n${seed ?? ''}` : expression;
  const known = cache.get(key);
  if (known) return known;
  const text = readCronText(expression);
  if (isPastMonthEnd(text)) throw neverComes(text, expression);
  const fields = expand(text, expression, seed);
  cache.set(key, fields);
  return fields;
}

/**
 * Like {@link readCron}, but expands a plain expression only on first use: most processes that define a
 * schedule, such as each tick, never use it.
 * @throws TockError TOCK_BAD_SCHEDULE
 */
export function checkCron(expression: string, seed?: string): void {
  if (HASHED.test(expression) || !isPlain(readCronText(expression))) readCron(expression, seed);
}

/** `*`, `5`, `mon`, `1-5`, `0-30/10`: no hash, no day counted from the month's end, no nth weekday. */
const PLAIN = /^(?:\*|(?:\d+|[a-z]{3})(?:-(?:\d+|[a-z]{3}))?)(?:\/\d+)?$/i;

/**
 * Whether the text alone shows that the parser accepts it and that it has occurrences: over the years, each
 * date of a month falls on every weekday.
 */
function isPlain(text: CronText): boolean {
  const fields: readonly FieldText[] = Object.values({ ...text });
  return !isPastMonthEnd(text) && fields.every(({ entries }) => entries.every(entry => PLAIN.test(entry)));
}

type Row = readonly [
  second: string,
  minute: string,
  hour: string,
  dayOfMonth: string,
  month: string,
  weekday: string,
];

interface Days {
  readonly dates: Set<number>;
  readonly weekdays: Set<number>;
  readonly lastWeekdays: Set<number>;
  /** `L`, `15W`: of each month another date. */
  readonly relative: readonly string[];
  nth: number;
}

/**
 * The parser refuses lists that overlap and drops days that the month lacks. So it gets one entry of each
 * field at a time, and the months separately from the days.
 */
function expand(text: CronText, expression: string, seed: string | undefined): CronFields {
  const months = new Set<number>();
  for (const month of text.month.entries) {
    for (const value of parseRow(['0', '0', '0', '*', month, '*'], seed).fields.month.values)
      months.add(value);
  }
  const days: Days = {
    dates: new Set(),
    weekdays: new Set(),
    lastWeekdays: new Set(),
    relative: text.dayOfMonth.entries.filter(isRelativeDay),
    nth: 0,
  };
  const seconds = new Set<number>();
  const minutes = new Set<number>();
  const hours = new Set<number>();
  const { second, minute, hour, weekday } = text;
  const businessDays = text.dayOfMonth.entries.filter(isBusinessDay).map(businessDayPlace);
  if (businessDays.length > 0 && weekday.text !== '*') throw countedAmongWeekdays(text, expression);
  const dayOfMonth: FieldText = { ...text.dayOfMonth, entries: datesOf(text.dayOfMonth) };
  const dayRows = Math.max(dayOfMonth.entries.length, weekday.entries.length);
  const rows = Math.max(dayRows, second.entries.length, minute.entries.length, hour.entries.length);
  for (let row = 0; row < rows; row++) {
    const { fields } = parseRow(
      [
        entryAt(second, row),
        entryAt(minute, row),
        entryAt(hour, row),
        entryAt(dayOfMonth, row),
        '*',
        entryAt(weekday, row),
      ],
      seed,
    );
    for (const value of fields.second.values) seconds.add(value);
    for (const value of fields.minute.values) minutes.add(value);
    for (const value of fields.hour.values) hours.add(value);
    if (row < dayRows) addDays(days, fields, dayOfMonth.entries.length > 0);
    if (businessDays.length > 0) continue;
    // Refused before a long list of minutes is read.
    if (row === dayRows - 1 && !everComes(months, daysOf(text, days))) throw neverComes(text, expression);
  }
  return {
    seconds: bits60(seconds),
    minutes: bits60(minutes),
    hours: bits(hours),
    months: bits(months),
    days: daysOf(text, days),
    businessDays,
    everyHour: bits(hours) === ALL_HOURS,
  };
}

/** A shorter list repeats its last entry, which does not change a set. */
function entryAt({ entries }: FieldText, row: number): string {
  return entries[Math.min(row, entries.length - 1)] ?? '*';
}

/** The entries that the parser expands: W and B are not in its language. */
const datesOf = ({ entries }: FieldText): string[] =>
  entries.filter(entry => !isRelativeDay(entry) && !isBusinessDay(entry));

function parseRow(row: Row, seed: string | undefined): CronExpression {
  try {
    return cronParser.parse(row.join(' '), {
      tz: 'UTC',
      currentDate: 0,
      hashSeed: seed === undefined || seed === '' ? NO_NAME : seed,
    });
  } catch (error) {
    throw badSchedule(`cron field ${show(row.join(' '))} is not understood: ${String(error)}`, error);
  }
}

/** @param hasDates whether the row's day of month is the expression's, and not in place of none */
function addDays(days: Days, fields: CronExpression['fields'], hasDates: boolean): void {
  if (hasDates) for (const value of fields.dayOfMonth.values) days.dates.add(Number(value));
  for (const value of fields.dayOfWeek.values as readonly (number | string)[]) {
    if (typeof value === 'number') days.weekdays.add(value % 7);
    else days.lastWeekdays.add(Number(value[0]) % 7);
  }
  days.nth = fields.dayOfWeek.nthDay;
}

/** By the length of a month and the weekday of its first day; see {@link dayMask}. */
function daysOf({ dayOfMonth, weekday }: CronText, days: Days): Int32Array {
  const and = dayOfMonth.text.startsWith('*') || weekday.text.startsWith('*');
  const masks = new Int32Array(28);
  for (let length = 28; length <= 31; length++) {
    for (let first = 0; first < 7; first++) {
      let mask = 0;
      const relative = new Set(days.relative.map(entry => relativeDay(entry, length, first)));
      for (let day = 1; day <= length; day++) {
        const weekday = (first + day - 1) % 7;
        const byDate = days.dates.has(day) || relative.has(day);
        const byWeekday =
          (days.weekdays.has(weekday) && (days.nth === 0 || Math.ceil(day / 7) === days.nth)) ||
          (days.lastWeekdays.has(weekday) && day + 7 > length);
        if (and ? byDate && byWeekday : byDate || byWeekday) mask |= 1 << (day - 1);
      }
      masks[(length - 28) * 7 + first] = mask;
    }
  }
  return masks;
}

/** Every month begins on every weekday in some year, also in leap years, so the masks suffice. */
function everComes(months: ReadonlySet<number>, days: Int32Array): boolean {
  return [...months].some(month => {
    // 2001 and 2000: February with 28 days and with 29.
    const lengths = [monthLength(2001, month), monthLength(2000, month)];
    return lengths.some(length =>
      days.subarray((length - 28) * 7, (length - 27) * 7).some(mask => mask !== 0),
    );
  });
}

function countedAmongWeekdays(text: CronText, expression: string): Error {
  return badSchedule(
    `cron ${show(expression.trim())}: day of month ${show(text.dayOfMonth.text)} counts business days, which the weekday ${show(text.weekday.text)} cannot change; write * as weekday, and which days are business days in businessDays`,
  );
}

function neverComes(text: CronText, expression: string): Error {
  const days = `day of month ${show(text.dayOfMonth.text)}, month ${show(text.month.text)}, weekday ${show(text.weekday.text)}`;
  return badSchedule(
    `cron ${show(expression.trim())}: ${days} is a date that never comes; choose a day that the month has (L is its last day)`,
  );
}
