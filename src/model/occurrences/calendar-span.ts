// Which span of time a calendar shows, and at which scale: from how often a schedule occurs.
import { firstInstant } from '../explain/day.js';
import { DAY_SECONDS, dayOf, monthOf, packedDate, readDate, yearOf } from '../schedule/calendar.js';
import type { CompiledSchedule } from '../schedule/compile.js';
import type { Zone } from '../schedule/zone/zone.js';
import { dayOfInstant } from './local-days.js';

/**
 * - `years`: a row for each year, the months across
 * - `months`: a row for each month, its days across
 * - `days`: a row for each day, its hours across, and a mark for each occurrence
 * - `hours`: the same, with a count for each hour
 * - `minutes`: one day, a row for each hour, its minutes across
 */
export type Scale = 'years' | 'months' | 'days' | 'hours' | 'minutes';

/** Day numbers count from 1970-01-01. */
export interface CalendarSpan {
  readonly scale: Scale;
  readonly firstDay: number;
  /** Inclusive. */
  readonly lastDay: number;
  /** Inclusive, epoch milliseconds. */
  readonly from: number;
  /** Exclusive, epoch milliseconds. */
  readonly to: number;
  /** The first day of the span before, and of the one after; null at the end of the calendar. */
  readonly earlier: number | null;
  readonly later: number | null;
}

const DAY_MS = DAY_SECONDS * 1000;
const HOUR_MS = 3_600_000;
/** A schedule is looked at this far in both directions to learn how often it occurs. */
const RATE_REACH_MS = 14 * DAY_MS;
const MAX_COUNTED = 5000;
/** With up to one occurrence each quarter of an hour, marks can be distinguished. */
const MAX_MARKS_PER_HOUR = 4;
const MAX_MARKS = 700;
const MAX_COUNTS = 25_000;
const YEAR_DAYS = 365.2425;

/** How often a schedule occurs. */
export interface Density {
  /** On average. 0: once at most. */
  readonly perDay: number;
  /** In its busiest hour. */
  readonly perHour: number;
}

/** How often a schedule occurs around an instant. */
export function densityOf(schedule: CompiledSchedule, now: number): Density {
  const [from, to] = [now - RATE_REACH_MS, now + RATE_REACH_MS];
  const first = schedule.next(from - 1);
  const hours = new Map<number, number>();
  let count = 0;
  let last = from;
  for (let at = first; at !== null && at < to && count < MAX_COUNTED; at = schedule.next(at)) {
    const hour = Math.floor(at / HOUR_MS);
    hours.set(hour, (hours.get(hour) ?? 0) + 1);
    count++;
    last = at;
  }
  const perHour = Math.max(...hours.values(), 1);
  if (count === MAX_COUNTED)
    return { perDay: ((count - 1) / Math.max(last - (first ?? from), 1000)) * DAY_MS, perHour };
  return { perDay: count > 1 ? (count / (to - from)) * DAY_MS : rareRate(schedule, now), perHour };
}

/** From the nearest three occurrences, for those with long gaps; 0 for a single one. */
function rareRate(schedule: CompiledSchedule, now: number): number {
  const around: number[] = [];
  let at: number | null = now;
  for (let step = 0; step < 2 && at !== null; step++) {
    at = schedule.previous(at);
    if (at !== null) around.unshift(at);
  }
  at = schedule.next(now - 1);
  if (at !== null) around.push(at);
  const [first, last] = [around[0], around.at(-1)];
  if (first === undefined || last === undefined || last === first) return 0;
  return ((around.length - 1) / (last - first)) * DAY_MS;
}

function scaleFor({ perDay, perHour }: Density): Scale {
  if (perHour > MAX_MARKS_PER_HOUR) return 'hours';
  if (perDay >= 0.5) return 'days';
  return perDay * YEAR_DAYS >= 4 || perDay === 0 ? 'months' : 'years';
}

const clamp = (value: number, low: number, high: number) => Math.min(Math.max(value, low), high);
/** The years 1900 to 2200, less what a span may reach beyond. */
const [FIRST_DAY, LAST_DAY] = [readDate('1902-01-01') ?? 0, readDate('2190-01-01') ?? 0];

/**
 * The span to show.
 * @param density from {@link densityOf}
 * @param from the first day; null: such that `around` lies in it, with a little of what comes after
 * @param day one day alone, by the minute; null: no
 */
export function calendarSpan(
  zone: Zone,
  density: Density,
  around: number,
  { from = null, day = null }: { readonly from?: number | null; readonly day?: number | null } = {},
): CalendarSpan {
  const today = dayOfInstant(zone, around);
  if (day !== null) {
    const only = clamp(day, FIRST_DAY, LAST_DAY);
    return spanOf(zone, 'minutes', only, only + 1, 1);
  }
  const scale = scaleFor(density);
  const { perDay } = density;
  if (scale === 'months' || scale === 'years') {
    const [count, ahead, months] = scale === 'months' ? [15, 2, 1] : [10, 2, 12];
    const begin = (from === null ? monthsSince(today) : monthsSince(clamp(from, FIRST_DAY, LAST_DAY))) | 0;
    const aligned = begin - (begin % months);
    const first = from === null ? aligned - (count - 1 - ahead) * months : aligned;
    const bounds = [first, first + count * months, first - count * months].map(firstDayOf);
    const [firstDay = 0, end = 0, earlier = 0] = bounds;
    return spanOf(zone, scale, firstDay, end, firstDay - earlier);
  }
  const days =
    scale === 'days' ? clamp(MAX_MARKS / perDay, 7, 14) : clamp(MAX_COUNTS / Math.max(perDay, 1), 1, 14);
  const count = Math.floor(days);
  const ahead = count >= 14 ? 3 : count >= 7 ? 2 : count >= 3 ? 1 : 0;
  const first = from === null ? today - (count - 1 - ahead) : clamp(from, FIRST_DAY, LAST_DAY);
  return spanOf(zone, scale, first, first + count, count);
}

function spanOf(zone: Zone, scale: Scale, firstDay: number, end: number, back: number): CalendarSpan {
  const instant = (day: number) => firstInstant(zone, day * DAY_SECONDS) * 1000;
  return {
    scale,
    firstDay,
    lastDay: end - 1,
    from: instant(firstDay),
    to: instant(end),
    earlier: firstDay - back < FIRST_DAY ? null : firstDay - back,
    later: end > LAST_DAY ? null : end,
  };
}

function monthsSince(day: number): number {
  const packed = packedDate(day);
  return yearOf(packed) * 12 + monthOf(packed) - 1;
}

/** @param months since the year 0 */
export function firstDayOf(months: number): number {
  const [year, month] = [Math.floor(months / 12), (months % 12) + 1];
  return readDate(`${String(year).padStart(4, '0')}-${String(month).padStart(2, '0')}-01`) ?? 0;
}

export interface CalendarDate {
  readonly year: number;
  /** 1-12 */
  readonly month: number;
  /** 1-31 */
  readonly date: number;
}

export function dateOfDay(day: number): CalendarDate {
  const packed = packedDate(day);
  return { year: yearOf(packed), month: monthOf(packed), date: dayOf(packed) };
}
