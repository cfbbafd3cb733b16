// The error for an invalid schedule, TOCK_BAD_SCHEDULE.
import { TockError } from '../errors.js';
import { showHidden } from '../hidden-characters.js';

/** @param message names the option, what is wrong, and how to fix it */
export function badSchedule(message: string, cause?: unknown): TockError {
  return new TockError('TOCK_BAD_SCHEDULE', message, cause === undefined ? undefined : { cause });
}

const MOST_SHOWN = 60;
const MOST_ESCAPED = 80;

/** The beginning of a text that may be long. */
export const cut = (text: string, most = MOST_SHOWN): string =>
  text.length > most ? `${text.slice(0, most)}…` : text;

/** Control characters are escaped, which makes a text six times as long: then less of it is shown. */
function quoted(text: string, most = MOST_SHOWN): string {
  const shown = showHidden(JSON.stringify(cut(text, most)));
  return shown.length <= MOST_ESCAPED ? shown : quoted(text, most - 1);
}

/** A value for a message: quoted, cut at 60 characters and free of control characters. */
export function show(value: unknown): string {
  if (value instanceof Date) return Number.isNaN(value.getTime()) ? 'Invalid Date' : value.toISOString();
  if (typeof value === 'string') return quoted(value);
  if (Array.isArray(value)) return 'a list';
  if (typeof value === 'object' && value !== null) return 'an object';
  return String(value);
}
