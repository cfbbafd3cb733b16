// When something ends that somebody sets, pauses, closes or freezes: a time, or a duration from now.
import { type Duration, parseDuration } from '../duration.js';
import { TockError } from '../errors.js';
import { readInstant, utcText } from '../schedule/instant-text.js';

/** Of what was given: epoch milliseconds, or how many from now. */
export type EndTime = { readonly at: number } | { readonly inMs: number };

/**
 * Reads a time, or a duration from now. @param what names it in messages
 * @throws TockError TOCK_BAD_TIME, TOCK_BAD_DURATION
 */
export function readTimeOrDuration(until: Date | Duration, what: string): EndTime {
  const isTime = until instanceof Date || (typeof until === 'string' && /^\d{4}-\d\d-\d\d/.test(until));
  if (!isTime) return { inMs: parseDuration(until, what) };
  try {
    return { at: readInstant(until, what) };
  } catch (error) {
    throw new TockError('TOCK_BAD_TIME', error instanceof Error ? error.message : String(error));
  }
}

/**
 * Reads a time, or a duration from now. @param now the database's time, in epoch milliseconds
 * @throws TockError TOCK_BAD_TIME, also for one that is not in the future; TOCK_BAD_DURATION
 */
export function readEndTime(until: Date | Duration, now: number): Date {
  const read = readTimeOrDuration(until, 'until');
  const end = 'at' in read ? read.at : now + read.inMs;
  if (end > now) return new Date(end);
  throw new TockError('TOCK_BAD_TIME', `until ${utcText(end)} is not in the future`);
}
