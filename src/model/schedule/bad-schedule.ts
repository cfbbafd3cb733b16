// The error for an invalid schedule, TOCK_BAD_SCHEDULE.
import { TockError } from '../errors.js';

/** @param message names the option, what is wrong, and how to fix it */
export function badSchedule(message: string, cause?: unknown): TockError {
  return new TockError('TOCK_BAD_SCHEDULE', message, cause === undefined ? undefined : { cause });
}

/** A value for a message: quoted, cut at 60 characters and free of control characters. */
export function show(value: unknown): string {
  if (value instanceof Date) return Number.isNaN(value.getTime()) ? 'Invalid Date' : value.toISOString();
  if (typeof value === 'string') return JSON.stringify(value.length > 60 ? `${value.slice(0, 60)}…` : value);
  if (Array.isArray(value)) return 'a list';
  if (typeof value === 'object' && value !== null) return 'an object';
  return String(value);
}
