// What addresses carry, read strictly: a number that is none is refused, not guessed.
import { TockError } from '../model/errors.js';
import { quote } from '../model/names.js';

/**
 * A whole number of an address.
 * @param text null and empty: `fallback`
 * @throws TockError TOCK_BAD_OPTION, which is a page with status 400
 */
export function readCount(
  text: string | null | undefined,
  name: string,
  { min = 1, max, fallback }: { readonly min?: number; readonly max: number; readonly fallback: number },
): number {
  if (text === undefined || text === null || text === '') return fallback;
  const count = /^\d{1,9}$/.test(text) ? Number(text) : Number.NaN;
  if (count >= min && count <= max) return count;
  throw new TockError(
    'TOCK_BAD_OPTION',
    `${name} is ${quote(text)}; it must be a whole number from ${min} to ${max}`,
  );
}

/** The id of a run. @throws TockError TOCK_BAD_OPTION, which is a page with status 400 */
export function readRunId(text: string, name = 'id'): string {
  if (/^\d{1,18}$/.test(text)) return text;
  throw new TockError('TOCK_BAD_OPTION', `${name} is ${quote(text)}; the id of a run is a whole number`);
}

/** A version or a fence that a form sends back. @throws TockError TOCK_BAD_OPTION */
export function readShown(value: unknown, what: string): number {
  if (typeof value === 'string' && /^\d{1,9}$/.test(value)) return Number(value);
  throw new TockError('TOCK_BAD_OPTION', `the form names no ${what}; open its page again`);
}

/** The most that one page lists. */
export const MAX_LIMIT = 1000;

/** Checks what every page understands in the same way. @throws TockError TOCK_BAD_OPTION */
export function checkQuery(search: URLSearchParams): void {
  readCount(search.get('limit'), 'limit', { max: MAX_LIMIT, fallback: MAX_LIMIT });
  // A form sends its empty fields too.
  const id = search.get('id');
  if (id) readRunId(id);
}
