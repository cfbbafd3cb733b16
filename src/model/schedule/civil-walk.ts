// The civil times that an expression names, as a walk over days in either direction. Without zones: a civil
// time, in local seconds since 1970-01-01T00:00, may be one that a zone skips or repeats.
import { bitFrom, bitFrom60, bitTo, bitTo60, has60 } from './bits.js';
import {
  DAY_SECONDS,
  dayOf,
  FIRST_YEAR,
  LAST_YEAR,
  monthLength,
  monthOf,
  packedDate,
  weekdayOf,
  yearOf,
} from './calendar.js';
import { type CronFields, dayMask } from './cron/cron-fields.js';
import type { DayGates } from './day-gates.js';
import type { DaysOf } from './days/month-days.js';
import { isOpenAt } from './open-minutes.js';

export interface CivilSet {
  readonly fields: CronFields;
  readonly gates: DayGates;
  /** In place of the days of the fields: those that a month's kind does not tell. */
  readonly days?: DaysOf | undefined;
}

/** The least civil time of the set that is >= `civil`, or Infinity if there is none up to the year 2200. */
export function nextCivil(set: CivilSet, civil: number): number {
  const { fields, gates, days } = set;
  const from = Math.floor(civil / DAY_SECONDS);
  let time = civil - from * DAY_SECONDS;
  for (let day = from; ; day++) {
    const found = days === undefined ? nextDay(fields, gates.openDays, day) : nextDay(EVERY_DAY, days, day);
    if (found === Number.POSITIVE_INFINITY) return found;
    if (found > from) time = 0;
    day = found;
    const gate = gates.gateOf(day);
    if (gate === 'closed') continue;
    let at = nextTime(fields, time);
    while (at >= 0 && gate !== 'open' && !isOpenAt(gate, at)) at = nextTime(fields, at - (at % 60) + 60);
    if (at >= 0) return day * DAY_SECONDS + at;
  }
}

/** The greatest civil time of the set that is <= `civil`, or -Infinity if there is none since 1900. */
export function previousCivil(set: CivilSet, civil: number): number {
  const { fields, gates, days } = set;
  const from = Math.floor(civil / DAY_SECONDS);
  let time = civil - from * DAY_SECONDS;
  for (let day = from; ; day--) {
    const found =
      days === undefined ? previousDay(fields, gates.openDays, day) : previousDay(EVERY_DAY, days, day);
    if (found === Number.NEGATIVE_INFINITY) return found;
    if (found < from) time = DAY_SECONDS - 1;
    day = found;
    const gate = gates.gateOf(day);
    if (gate === 'closed') continue;
    let at = previousTime(fields, time);
    while (at >= 0 && gate !== 'open' && !isOpenAt(gate, at)) at = previousTime(fields, at - (at % 60) - 1);
    if (at >= 0) return day * DAY_SECONDS + at;
  }
}

/** Which days of a month: those of an expression, or all. */
export type DayFields = Pick<CronFields, 'months' | 'days'>;

export const EVERY_DAY: DayFields = { months: 2 ** 13 - 2, days: new Int32Array(28).fill(2 ** 31 - 1) };

/**
 * The least day >= `day` that is among the fields' and the open ones, or Infinity if there is none up to the
 * month of `last`. A month at a time.
 */
export function nextDay(
  fields: DayFields,
  openDays: DaysOf,
  day: number,
  last = Number.POSITIVE_INFINITY,
): number {
  const packed = packedDate(day);
  let year = yearOf(packed);
  let month = monthOf(packed);
  let date = dayOf(packed);
  let first = day - date + 1;
  // A match is at most 40 years away: 29 February on a given weekday.
  while (first <= last && year <= LAST_YEAR) {
    const length = monthLength(year, month);
    if (((fields.months >>> month) & 1) === 1) {
      const weekday = weekdayOf(first);
      const days = dayMask(fields, length, weekday) & openDays(month, length, weekday, first);
      const found = bitFrom(days, date - 1);
      if (found >= 0) return first + found;
    }
    first += length;
    date = 1;
    if (++month > 12) {
      month = 1;
      year++;
    }
  }
  return Number.POSITIVE_INFINITY;
}

/** The greatest day <= `day` in the same way, or -Infinity if there is none back to `least`. */
export function previousDay(
  fields: DayFields,
  openDays: DaysOf,
  day: number,
  least = Number.NEGATIVE_INFINITY,
): number {
  const packed = packedDate(day);
  let year = yearOf(packed);
  let month = monthOf(packed);
  let date = dayOf(packed);
  let first = day - date + 1;
  while (year >= FIRST_YEAR) {
    const length = monthLength(year, month);
    if (((fields.months >>> month) & 1) === 1) {
      const weekday = weekdayOf(first);
      const days = dayMask(fields, length, weekday) & openDays(month, length, weekday, first);
      const found = bitTo(days, date - 1);
      if (found >= 0) return first + found;
    }
    if (first <= least) break;
    if (--month < 1) {
      month = 12;
      year--;
    }
    first -= monthLength(year, month);
    date = 31;
  }
  return Number.NEGATIVE_INFINITY;
}

/** The least matching second of a day that is >= `time` (up to 86,400), or -1. */
function nextTime(fields: CronFields, time: number): number {
  const hour = Math.floor(time / 3600);
  if (((fields.hours >>> hour) & 1) === 1) {
    const minute = Math.floor(time / 60) % 60;
    if (has60(fields.minutes, minute)) {
      const second = bitFrom60(fields.seconds, time % 60);
      if (second >= 0) return hour * 3600 + minute * 60 + second;
    }
    const later = bitFrom60(fields.minutes, minute + 1);
    if (later >= 0) return hour * 3600 + later * 60 + bitFrom60(fields.seconds, 0);
  }
  const later = bitFrom(fields.hours, hour + 1);
  return later < 0 ? -1 : later * 3600 + bitFrom60(fields.minutes, 0) * 60 + bitFrom60(fields.seconds, 0);
}

/** The greatest matching second of a day that is <= `time` (-1 or more), or -1. */
function previousTime(fields: CronFields, time: number): number {
  if (time < 0) return -1;
  const hour = Math.floor(time / 3600);
  if (((fields.hours >>> hour) & 1) === 1) {
    const minute = Math.floor(time / 60) % 60;
    if (has60(fields.minutes, minute)) {
      const second = bitTo60(fields.seconds, time % 60);
      if (second >= 0) return hour * 3600 + minute * 60 + second;
    }
    const earlier = bitTo60(fields.minutes, minute - 1);
    if (earlier >= 0) return hour * 3600 + earlier * 60 + bitTo60(fields.seconds, 59);
  }
  const earlier = bitTo(fields.hours, hour - 1);
  return earlier < 0 ? -1 : earlier * 3600 + bitTo60(fields.minutes, 59) * 60 + bitTo60(fields.seconds, 59);
}
