// Room: model. Makes whatever a handler throws or returns fit to be stored: no NUL, no lone surrogate, no secret, bounded.
// In: any value, hostile ones included. Out: an error entry, or JSON.
import type { Json } from '../job/job.js';
import { isStorable } from '../names.js';

/** One failed attempt, as `job_runs.errors` keeps it. */
export interface ErrorEntry {
  readonly at?: string;
  readonly attempt: number;
  readonly name: string;
  readonly code: string | null;
  readonly message: string;
  readonly stack: string | null;
}

const MOST_MESSAGE = 4000;
const MOST_STACK = 8000;
const MOST_NAME = 200;
/** What is cut off is searched for passwords this far. */
const LONGEST_SECRET = 2000;
/** An output larger than this is left out, with a note in its place. */
export const MOST_OUTPUT_BYTES = 1024 * 1024;

/** Describes whatever was thrown. Never throws itself, not even for a hostile getter. */
export function describeError(thrown: unknown, attempt: number): ErrorEntry {
  const isObject = typeof thrown === 'object' && thrown !== null;
  const message = isObject ? read(thrown, 'message') : stringify(thrown);
  const name = isObject ? read(thrown, 'name') : `thrown ${thrown === null ? 'null' : typeof thrown}`;
  return {
    attempt,
    name: clean(name ?? 'Error', MOST_NAME),
    code: isObject ? cleanOrNull(read(thrown, 'code'), MOST_NAME) : null,
    message: clean(message ?? 'no message', MOST_MESSAGE),
    stack: isObject ? cleanOrNull(read(thrown, 'stack'), MOST_STACK) : null,
  };
}

/** Turns a handler's result into JSON that can be stored; what cannot be is replaced by a note. */
export function describeOutput(value: unknown): Json | null {
  if (value === undefined || value === null) return null;
  try {
    const text = JSON.stringify(value);
    if (text === undefined) return note(`a ${typeof value} cannot be kept as JSON`);
    if (Buffer.byteLength(text) > MOST_OUTPUT_BYTES)
      return note(`the output of ${text.length} characters is too large to keep`);
    // Escaped NULs and lone surrogates are legal JSON, but PostgreSQL refuses them.
    return JSON.parse(text, (_key, part: unknown) => storablePart(part)) as Json;
  } catch (error) {
    return note(`the output cannot be kept as JSON: ${describeError(error, 0).message}`);
  }
}

function note(reason: string): Json {
  return { outputLeftOut: reason };
}

function read(thrown: object, key: string): string | null {
  try {
    const value: unknown = Reflect.get(thrown, key);
    return typeof value === 'string' || typeof value === 'number' ? String(value) : null;
  } catch {
    return null;
  }
}

function stringify(value: unknown): string {
  try {
    return String(value);
  } catch {
    return 'a value that cannot be shown';
  }
}

function cleanOrNull(text: string | null, most: number): string | null {
  return text === null ? null : clean(text, most);
}

function clean(text: string, most: number): string {
  // A message of 10 MB must not be searched whole; but a password must not be cut before it is found.
  const told = redact(storable(text.slice(0, most + LONGEST_SECRET)));
  return told.length > most ? `${told.slice(0, most - 1)}…`.toWellFormed() : told;
}

/** One value of parsed JSON, made storable: a text, or an object with a key that is not. */
function storablePart(part: unknown): unknown {
  if (typeof part === 'string') return storable(part);
  if (typeof part !== 'object' || part === null || Object.keys(part).every(isStorable)) return part;
  return Object.fromEntries(Object.entries(part).map(([key, value]) => [storable(key), value]));
}

function storable(text: string): string {
  return text.replaceAll('\0', '\uFFFD').toWellFormed();
}

// The look-behind and the counts keep the search linear and its stack small. A quote before , : } ] or the end
// closes a JSON text: a line of a log is redacted as a whole and must stay JSON.
const DSN_PASSWORD = /((?<![a-z0-9+.-])[a-z0-9+.-]+:\/\/[^\s:/@"]*:)(?:[^\s/"]|"(?![,:}\]]|$)){0,1000}(@)/gi;
const KEYWORD_PASSWORD =
  /(password\s*=\s*)(?:'(?:[^'\\]|\\.){0,1000}'|(?:[^\s;&"]|"(?![,:}\]]|$)){1,1000})/gi;

/** Takes passwords out of connection strings in a text, or in a line of JSON. */
export function redact(text: string): string {
  return text.replace(DSN_PASSWORD, '$1***$2').replace(KEYWORD_PASSWORD, '$1***');
}
