// When another scheduler starts something, as sets of values, and its starts by the clock of a zone.

import type { CronTimes } from '../../model/crontab/crontab.js';
import { dayOf, monthLength, monthOf, packedDate, weekdayOf, yearOf } from '../../model/schedule/calendar.js';
import type { Zone } from '../../model/schedule/zone/zone.js';
import { matchesDay } from '../crontab/cron-clock.js';

export interface Times {
  readonly minutes: ReadonlySet<number>;
  readonly hours: ReadonlySet<number>;
  readonly months: ReadonlySet<number>;
  /** @param weekday 0 is Sunday */
  readonly isDay: (date: number, weekday: number, monthLength: number) => boolean;
}

/** By Vixie's day rule: either matches, unless one of the two begins with a star. */
export function timesOf(times: CronTimes): Times {
  return {
    minutes: times.minute.values,
    hours: times.hour.values,
    months: times.month.values,
    isDay: (date, weekday) => matchesDay(times, date, weekday),
  };
}

const MINUTE_MS = 60_000;
const MINUTES_A_DAY = 1440;

/**
 * The starts in [from, to), in epoch milliseconds: each minute whose local time matches. So what a clock
 * skips does not happen, and what it repeats happens twice. All but cron itself go by the clock like this.
 */
export function startsByTheClock(times: Times, zone: Zone, from: number, to: number): number[] {
  const { minutes, hours } = times;
  const starts: number[] = [];
  let day = Number.NaN;
  let isToday = false;
  for (let minute = Math.ceil(from / MINUTE_MS); minute * MINUTE_MS < to; minute++) {
    const local = minute + Math.floor(zone.segmentAt(minute * 60).offset / 60);
    const time = ((local % MINUTES_A_DAY) + MINUTES_A_DAY) % MINUTES_A_DAY;
    if (!minutes.has(time % 60) || !hours.has(Math.floor(time / 60))) continue;
    const today = Math.floor(local / MINUTES_A_DAY);
    if (today !== day) {
      day = today;
      isToday = isOn(times, today);
    }
    if (isToday) starts.push(minute * MINUTE_MS);
  }
  return starts;
}

function isOn({ months, isDay }: Times, day: number): boolean {
  const date = packedDate(day);
  const month = monthOf(date);
  return months.has(month) && isDay(dayOf(date), weekdayOf(day), monthLength(yearOf(date), month));
}
