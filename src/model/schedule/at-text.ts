// The one time of a schedule: an instant, or a local time, which stays what it is when zone data changes.
import { badSchedule, show } from './bad-schedule.js';
import { DAY_SECONDS, readDate } from './calendar.js';
import { readInstant } from './instant-text.js';

/** In whole seconds: an instant, since 1970-01-01T00:00Z, or a local time, since 1970-01-01T00:00. */
export type AtTime =
  | { readonly kind: 'instant'; readonly second: number }
  | { readonly kind: 'local'; readonly civil: number };

const LOCAL = /^(\d{4}-\d{2}-\d{2})[T ](\d{2}):(\d{2})(?::(\d{2}))?$/i;

/**
 * Reads a Date, ISO text with Z or an offset, or a local time such as `2027-11-12T08:00`. Fractions are
 * rounded up: a future time must not fall before the cursor.
 * @param hasZone whether the schedule states a time zone: a local time needs one
 * @throws TockError TOCK_BAD_SCHEDULE
 */
export function readAt(value: unknown, hasZone: boolean): AtTime {
  const local = typeof value === 'string' ? LOCAL.exec(value) : null;
  if (local === null) return { kind: 'instant', second: Math.ceil(readInstant(value, 'at') / 1000) };
  if (!hasZone)
    throw badSchedule(
      `at ${show(value)} has no offset, and the schedule states no timezone; end it with Z, or state the timezone in which it is a local time`,
    );
  const [, date = '', hour, minute, second = '0'] = local;
  const day = readDate(date);
  const [h, m, s] = [Number(hour), Number(minute), Number(second)];
  if (day === null || h > 23 || m > 59 || s > 59)
    throw badSchedule(`at ${show(value)} is not a time; write a local time such as 2027-11-12T08:00`);
  // Its year must be one in which schedules have occurrences.
  readInstant(`${date}T00:00:00Z`, 'at');
  return { kind: 'local', civil: day * DAY_SECONDS + h * 3600 + m * 60 + s };
}

/**
 * As it is stored and shown: `2027-11-12T08:00:00.000Z`, an instant, or `2027-11-12T08:00:00`, a local time.
 * The value is one that `readAt` has read.
 */
export function atText(value: Date | string): string {
  const local = typeof value === 'string' ? LOCAL.exec(value) : null;
  if (local === null) return new Date(value).toISOString();
  const [, date, hour, minute, second = '00'] = local;
  return `${date}T${hour}:${minute}:${second}`;
}

/** Whether it is a local time. */
export const isLocalAt = (text: string): boolean => LOCAL.test(text);

/** For people: `2027-11-12T08:00:00Z`, or `2027-11-12 08:00 Asia/Amman`. */
export function atWords(value: Date | string, timezone: string): string {
  const local = typeof value === 'string' ? LOCAL.exec(value) : null;
  if (local === null) return `${new Date(value).toISOString().slice(0, 19)}Z`;
  const [, date, hour, minute, second = '00'] = local;
  return `${date} ${hour}:${minute}${second === '00' ? '' : `:${second}`} ${timezone}`;
}
