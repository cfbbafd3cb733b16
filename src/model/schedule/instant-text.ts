// Instants as text. Text without an offset is refused: it would mean another instant on another host.
import { badSchedule, show } from './bad-schedule.js';
import { FIRST_YEAR, LAST_YEAR, readDate } from './calendar.js';

const TEXT = /^(\d{4}-\d{2}-\d{2})[T ]\d{2}:\d{2}(?::\d{2}(?:\.\d{1,9})?)?(Z|[+-]\d{2}(?::?\d{2})?)?$/i;

/** Schedules are evaluated within these bounds, in epoch milliseconds: [1900, 2201). */
export const EARLIEST_MS: number = Date.UTC(FIRST_YEAR, 0, 1);
export const LATEST_MS: number = Date.UTC(LAST_YEAR + 1, 0, 1) - 1000;

/**
 * Reads a Date or ISO 8601 text into epoch milliseconds.
 * @param what names the option in the error message
 * @throws TockError TOCK_BAD_SCHEDULE when it is not an instant, has no offset, or is not between 1900 and
 * 2200
 */
export function readInstant(value: unknown, what: string): number {
  const ms =
    value instanceof Date ? value.getTime() : typeof value === 'string' ? readText(value, what) : Number.NaN;
  if (Number.isNaN(ms)) {
    throw badSchedule(
      `${what} ${show(value)} is not an instant; write a Date, or text such as 2026-03-08T02:30:00Z`,
    );
  }
  if (ms < EARLIEST_MS || ms > LATEST_MS) {
    throw badSchedule(`${what} ${show(value)} is not between the years ${FIRST_YEAR} and ${LAST_YEAR}`);
  }
  return ms;
}

const LOCAL = /^(\d{4}-\d{2}-\d{2})[T ]([01]\d|2[0-3]):([0-5]\d)(?::([0-5]\d))?$/i;

/**
 * Reads a local time, `2027-01-04T09:00`, into local seconds since 1970-01-01T00:00. It may be one that a
 * zone skips.
 * @param what names the option in the error message
 * @throws TockError TOCK_BAD_SCHEDULE, also for a time with Z or an offset
 */
export function readLocalTime(value: unknown, what: string): number {
  const [, date = '', hour, minute, second = 0] =
    (typeof value === 'string' ? LOCAL.exec(value) : null) ?? [];
  const day = readDate(date);
  const ms = day === null ? Number.NaN : day * 86_400_000;
  if (day === null || ms < EARLIEST_MS || ms > LATEST_MS)
    throw badSchedule(
      `${what} ${show(value)} is not a local time; write it without Z or an offset, as in 2027-01-04T09:00: it is read in timezone`,
    );
  return day * 86_400 + Number(hour) * 3600 + Number(minute) * 60 + Number(second);
}

function readText(text: string, what: string): number {
  const match = TEXT.exec(text);
  if (!match) {
    if (readDate(text) === null) return Number.NaN;
    throw badSchedule(
      `${what} ${show(text)} has no time and no offset; write ${text}T00:00:00Z, or +02:00 instead of Z`,
    );
  }
  const [, date = '', offset] = match;
  if (offset === undefined) {
    throw badSchedule(`${what} ${show(text)} has no offset; end it with Z, or with an offset such as +02:00`);
  }
  // Date.parse would read 30 February as 2 March, and takes +05 only in some places.
  const whole = text.replace(/([+-]\d{2})$/, '$1:00');
  return readDate(date) === null ? Number.NaN : Date.parse(whole);
}

/** `2026-03-08T07:30:00Z`. */
export function utcText(at: Date | number): string {
  return `${new Date(at).toISOString().slice(0, 19)}Z`;
}
