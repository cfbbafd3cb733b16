// A time that a person asks about: an instant, a local time, or a whole local day.
import { TockError } from '../errors.js';
import { show } from '../schedule/bad-schedule.js';
import {
  DAY_SECONDS,
  dayOf,
  FIRST_YEAR,
  LAST_YEAR,
  monthOf,
  packedDate,
  readDate,
  yearOf,
} from '../schedule/calendar.js';
import { readInstant } from '../schedule/instant-text.js';
import type { Zone } from '../schedule/zone/zone.js';

/** `at`: epoch seconds. `civil`: local seconds since 1970-01-01T00:00. `day`: days since then. */
export type AskedTime =
  | { readonly kind: 'instant'; readonly at: number }
  | { readonly kind: 'civil'; readonly civil: number }
  | { readonly kind: 'day'; readonly day: number };

const LOCAL = /^(?:(\d{4}-\d{2}-\d{2})[T ])?(\d{1,2}):(\d{2})(?::(\d{2}))?$/i;
const WITH_OFFSET = /(?:Z|[+-]\d{2}(?::?\d{2})?)$/i;

/**
 * Reads a time: an ISO instant with Z or an offset; `2026-03-08T02:30` or `2026-03-08 02:30` in the zone;
 * `2026-03-08` for that whole day; `02:30` for today. Fractions of a second are dropped.
 * @param now epoch milliseconds; decides what today is
 * @throws TockError TOCK_BAD_TIME
 */
export function readAskedTime(time: Date | string, zone: Zone, now: number): AskedTime {
  if (typeof time !== 'string') return instantOf(time);
  const text = time.trim();
  const day = readDate(text);
  if (day !== null) return { kind: 'day', day: checkDay(day, text) };
  const local = LOCAL.exec(text);
  if (!local) return instantOf(text);
  const [, date, hour, minute, second = '0'] = local;
  const onDay = date === undefined ? today(zone, now) : readDate(date);
  const [h, m, s] = [Number(hour), Number(minute), Number(second)];
  if (onDay === null || h > 23 || m > 59 || s > 59) throw badTime(time);
  return { kind: 'civil', civil: checkDay(onDay, text) * DAY_SECONDS + h * 3600 + m * 60 + s };
}

function instantOf(time: Date | string): AskedTime {
  try {
    if (typeof time === 'string' && !WITH_OFFSET.test(time)) throw badTime(time);
    return { kind: 'instant', at: Math.floor(readInstant(time, 'the time') / 1000) };
  } catch (error) {
    throw badTime(time, error);
  }
}

function today(zone: Zone, now: number): number {
  const second = Math.floor(now / 1000);
  return Math.floor((second + zone.segmentAt(second).offset) / DAY_SECONDS);
}

function checkDay(day: number, text: string): number {
  const year = yearOf(packedDate(day));
  if (year >= FIRST_YEAR && year <= LAST_YEAR) return day;
  throw new TockError(
    'TOCK_BAD_TIME',
    `${show(text)} is not between the years ${FIRST_YEAR} and ${LAST_YEAR}, the range in which schedules have occurrences`,
  );
}

function badTime(time: unknown, cause?: unknown): TockError {
  return new TockError(
    'TOCK_BAD_TIME',
    `${show(time)} is not a time; write an instant such as 2026-03-08T07:30:00Z, or a time in the schedule's zone such as 2026-03-08T02:30, 2026-03-08 (the whole day) or 02:30 (today)`,
    cause === undefined ? undefined : { cause },
  );
}

/** `2026-03-08`, from a day number. */
export function dayText(day: number): string {
  const packed = packedDate(day);
  return `${yearOf(packed)}-${two(monthOf(packed))}-${two(dayOf(packed))}`;
}

/** `02:30`, from a civil time; with seconds unless they are 0. */
export function clockText(civil: number): string {
  const time = civil - Math.floor(civil / DAY_SECONDS) * DAY_SECONDS;
  const seconds = time % 60 === 0 ? '' : `:${two(time % 60)}`;
  return `${two(Math.floor(time / 3600))}:${two(Math.floor(time / 60) % 60)}${seconds}`;
}

/** `2026-03-08 02:30`, from a civil time. */
export function civilText(civil: number): string {
  return `${dayText(Math.floor(civil / DAY_SECONDS))} ${clockText(civil)}`;
}

function two(number: number): string {
  return String(number).padStart(2, '0');
}
