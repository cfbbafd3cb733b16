// When cron itself starts a line: its loop, minute by minute, with what it does when clocks change.
//
// Cron keeps a virtual time in local minutes. One minute later than at the last look: everything that matches
// runs. More than 5 and up to 180 minutes later (a gap): lines whose minute or hour begins with `*` run for
// the minute that it is now; the other lines run at once for each minute that was missed. Earlier by up to
// 180 minutes (an overlap): only the lines with `*` run, until virtual time is reached again. Any other jump:
// virtual time jumps as well.

import type { CronTimes } from '../../model/crontab/crontab.js';
import { dayOf, monthOf, packedDate, weekdayOf } from '../../model/schedule/calendar.js';
import type { Zone } from '../../model/schedule/zone/zone.js';

const MINUTE_MS = 60_000;
const MINUTES_A_DAY = 1440;
/** A jump of the clock beyond this is no daylight saving time. */
const LARGE = 180;
const SMALL = 5;

/** By the clock of which zones cron runs a line. */
export interface CronZones {
  /** That of the host. */
  readonly host: Zone;
  /** Of the line, where cronie finds CRON_TZ; null: the host's. */
  readonly line: Zone | null;
}

/** Whether minute or hour begin with `*`: such a line runs by the clock, whatever it shows. */
export const isByTheClock = ({ minute, hour }: CronTimes): boolean => minute.isStarred || hour.isStarred;

/**
 * The starts of a line in [from, to), in epoch milliseconds, ascending. The same instant may occur more than
 * once: after a gap cron makes up for each time that was missed.
 */
export function cronStarts(times: CronTimes, { host, line }: CronZones, from: number, to: number): number[] {
  const matches = matcher(times);
  const byTheClock = isByTheClock(times);
  const starts: number[] = [];
  // Beginning earlier than the longest change, so that virtual time is right at `from`.
  const first = Math.ceil(from / MINUTE_MS) - 2 * LARGE;
  let virtual = first + offsetMinutes(host, first) - 1;
  let virtualOffset = offsetMinutes(host, first);
  for (let minute = first; minute * MINUTE_MS < to; minute++) {
    const offset = offsetMinutes(host, minute);
    const running = minute + offset;
    const start = (local: number, localOffset: number): void => {
      // Lines with a zone of their own are left out while virtual time has the offset from before the change.
      if (line === null ? !matches(local) : localOffset !== offset || !matchesIn(line, matches, minute))
        return;
      if (minute * MINUTE_MS >= from) starts.push(minute * MINUTE_MS);
    };
    const late = running - virtual;
    const isGap = late > SMALL && late <= LARGE;
    if (late > LARGE || late < -LARGE) {
      virtual = running;
      virtualOffset = offset;
      start(running, offset);
    } else if (byTheClock && (isGap || late <= 0)) {
      start(running, offset);
    }
    while (late <= LARGE && virtual < running) {
      virtual++;
      if (virtual === running) virtualOffset = offset;
      if (!(isGap && byTheClock)) start(virtual, virtualOffset);
    }
  }
  return starts;
}

function offsetMinutes(zone: Zone, minute: number): number {
  return Math.floor(zone.segmentAt(minute * 60).offset / 60);
}

type Matches = (local: number) => boolean;

function matchesIn(zone: Zone, matches: Matches, minute: number): boolean {
  return matches(minute + offsetMinutes(zone, minute));
}

/** Whether a local time, in minutes since 1970-01-01T00:00, matches. */
function matcher(times: CronTimes): Matches {
  let day = Number.NaN;
  let isDay = false;
  return local => {
    const time = ((local % MINUTES_A_DAY) + MINUTES_A_DAY) % MINUTES_A_DAY;
    if (!times.minute.values.has(time % 60) || !times.hour.values.has(Math.floor(time / 60))) return false;
    const today = Math.floor(local / MINUTES_A_DAY);
    if (today !== day) {
      day = today;
      const packed = packedDate(today);
      isDay = times.month.values.has(monthOf(packed)) && matchesDay(times, dayOf(packed), weekdayOf(today));
    }
    return isDay;
  };
}

/** Vixie's day rule: OR only where neither field begins with `*`. */
export function matchesDay({ dayOfMonth, weekday }: CronTimes, date: number, day: number): boolean {
  const byDate = dayOfMonth.values.has(date);
  const byWeekday = weekday.values.has(day) || (day === 0 && weekday.values.has(7));
  return dayOfMonth.isStarred || weekday.isStarred ? byDate && byWeekday : byDate || byWeekday;
}
