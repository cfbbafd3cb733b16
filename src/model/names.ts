// Checks names, idempotency keys and notes.
import { TockError, type TockErrorCode } from './errors.js';
import { showHidden } from './hidden-characters.js';

const NAME = /^[A-Za-z0-9][A-Za-z0-9._:@-]*$/;
const SCHEMA = /^[a-z_][a-z0-9_]*$/;

/** Whether it can name a job, definition or queue: letters, digits and `. _ : @ -`, at most 200 bytes. */
export function isName(name: unknown): name is string {
  return typeof name === 'string' && name.length <= 200 && NAME.test(name) && !(name in Object.prototype);
}

export function checkName(name: unknown, what: string, code: TockErrorCode = 'TOCK_BAD_JOB'): string {
  if (isName(name)) return name;
  throw new TockError(
    code,
    `${quote(name)} cannot be the name of ${/^[aeiou]/.test(what) ? 'an' : 'a'} ${what}: use letters, digits and . _ : @ -, beginning with a letter or digit, at most 200 bytes`,
  );
}

/**
 * Checks the name of Tock's database schema: lower-case letters, digits and `_`, at most 63 bytes, and not
 * one of PostgreSQL's own.
 */
export function checkSchemaName(name: unknown): string {
  const fits = typeof name === 'string' && name.length <= 63 && SCHEMA.test(name);
  if (fits && !name.startsWith('pg_') && name !== 'information_schema' && name !== 'public') return name;
  throw new TockError(
    'TOCK_BAD_SCHEMA_NAME',
    `${quote(name)} cannot be Tock's schema: use lower-case letters, digits and _, at most 63 bytes, not public and not beginning with pg_`,
  );
}

/** Checks an idempotency key: 1 to 512 bytes of text without NUL or lone surrogates. */
export function checkKey(key: unknown): string {
  if (typeof key === 'string' && isStorable(key)) {
    const bytes = Buffer.byteLength(key);
    if (bytes >= 1 && bytes <= 512) return key;
  }
  if (typeof key !== 'string')
    throw new TockError('TOCK_BAD_KEY', `${quote(key)} cannot be an idempotency key: it must be a text`);
  throw new TockError(
    'TOCK_BAD_KEY',
    `${quote(key)} cannot be an idempotency key: it must have 1 to 512 bytes and neither NUL nor a lone surrogate`,
  );
}

/** Checks the key of an event: at most 512 bytes of text without NUL or lone surrogates; empty: no key. */
export function checkEventKey(key: unknown): string {
  if (typeof key === 'string' && isStorable(key) && Buffer.byteLength(key) <= 512) return key;
  throw new TockError(
    'TOCK_BAD_KEY',
    `${quote(key)} cannot be the key of an event: it must be text of at most 512 bytes, with neither NUL nor a lone surrogate`,
  );
}

/**
 * A note or reason as PostgreSQL can store it, at most 500 characters; null if there is none.
 * @throws TockError TOCK_BAD_OPTION for anything but a text
 */
export function storableNote(note: string | undefined): string | null {
  if (note !== undefined && typeof note !== 'string')
    throw new TockError('TOCK_BAD_OPTION', `${quote(note)} cannot be a note or a reason: write a text`);
  return note?.replaceAll('\0', '').slice(0, 500).toWellFormed() ?? null;
}

export function isStorable(text: string): boolean {
  return !text.includes('\0') && text.isWellFormed();
}

/** A value for an error message: short, on one line. */
export function quote(value: unknown): string {
  if (typeof value === 'function') return 'a function';
  if (typeof value !== 'string')
    return value === null || typeof value !== 'object' ? String(value) : 'an object';
  const short = value.length > 60 ? `${value.slice(0, 57)}…` : value;
  return showHidden(JSON.stringify(short.toWellFormed()));
}
