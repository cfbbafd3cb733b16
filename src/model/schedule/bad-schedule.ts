// Room: schedule. The one way in which this room refuses.
// In: what is wrong and the mend. Out: a TockError with the code TOCK_BAD_SCHEDULE, and values made safe to show.
import { TockError } from '../errors.js';

/** The error for a schedule that makes no sense; the message names the option, what is wrong, and the mend. */
export function badSchedule(message: string, cause?: unknown): TockError {
  return new TockError('TOCK_BAD_SCHEDULE', message, cause === undefined ? undefined : { cause });
}

/** A value as it may stand in a message: text quoted, cut at 60 characters and free of control characters. */
export function show(value: unknown): string {
  if (value instanceof Date) return Number.isNaN(value.getTime()) ? 'Invalid Date' : value.toISOString();
  if (typeof value === 'string') return JSON.stringify(value.length > 60 ? `${value.slice(0, 60)}…` : value);
  if (Array.isArray(value)) return 'a list';
  if (typeof value === 'object' && value !== null) return 'an object';
  return String(value);
}
