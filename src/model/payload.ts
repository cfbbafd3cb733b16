// Room: model. What may be stored as a payload: JSON that comes back as it went in.
// In: any value. Out: the same as JSON, or a TockError that names the place and the mend.
import { TockError } from './errors.js';
import type { Json } from './job.js';
import { isStorable } from './names.js';

export const DEFAULT_MAX_PAYLOAD_BYTES = 1024 * 1024;
const MOST_DEPTH = 200;

/**
 * Checks that a value survives the way into a jsonb column and back unchanged, and returns it as plain JSON.
 *
 * A Date becomes its ISO text and an undefined property is left out, as JSON.stringify does. Refused: NUL and
 * lone surrogates, BigInt, symbols, functions, NaN and infinities, whole numbers over 2^53, Map, Set and other
 * objects that would turn into `{}`, cycles, depth over 200, and more than `maxBytes` (default 1 MiB).
 *
 * @throws TockError TOCK_BAD_PAYLOAD
 */
export function checkPayload(value: unknown, maxBytes = DEFAULT_MAX_PAYLOAD_BYTES): Json {
  const checked = copy(value, 'payload', 0);
  checkLength(JSON.stringify(checked), maxBytes);
  return checked;
}

/**
 * The same, as the JSON text that is stored, on one line. Most payloads are plain and are not copied for it.
 *
 * @throws TockError TOCK_BAD_PAYLOAD
 */
export function payloadText(value: unknown, maxBytes = DEFAULT_MAX_PAYLOAD_BYTES): string {
  const plain = isPlain(value, 0) ? JSON.stringify(value) : null;
  // NUL and lone surrogates are escaped in JSON; so are other characters, and the copy finds out.
  const text = plain === null || plain.includes('\\u') ? JSON.stringify(copy(value, 'payload', 0)) : plain;
  checkLength(text, maxBytes);
  return text;
}

function checkLength(text: string, maxBytes: number): void {
  // No character has more than three bytes in UTF-8 for each of its units.
  if (text.length * 3 <= maxBytes) return;
  const bytes = Buffer.byteLength(text);
  if (bytes > maxBytes) {
    throw bad(
      `the payload has ${bytes} bytes, over the limit of ${maxBytes}; store the data in a table and pass its id`,
    );
  }
}

/** Whether JSON.stringify gives what {@link copy} would, but for what the texts hold. False may only mean: ask the copy. */
function isPlain(value: unknown, depth: number): boolean {
  if (typeof value === 'string' || typeof value === 'boolean' || value === null) return true;
  if (typeof value === 'number')
    return Number.isFinite(value) && (Number.isSafeInteger(value) || !Number.isInteger(value));
  if (typeof value !== 'object' || depth >= MOST_DEPTH) return false;
  const prototype: unknown = Object.getPrototypeOf(value);
  // A hole of an array is undefined, which is not plain.
  if (prototype === Array.prototype) {
    const elements = value as readonly unknown[];
    for (let index = 0; index < elements.length; index++)
      if (!isPlain(elements[index], depth + 1)) return false;
    return Array.isArray(value);
  }
  if (prototype !== Object.prototype) return false;
  for (const key of Object.keys(value))
    if (!isPlain((value as Readonly<Record<string, unknown>>)[key], depth + 1)) return false;
  return true;
}

function copy(value: unknown, path: string, depth: number): Json {
  if (depth > MOST_DEPTH)
    throw bad(`the payload is nested deeper than ${MOST_DEPTH} levels, or holds itself`);
  switch (typeof value) {
    case 'string':
      if (isStorable(value)) return value;
      throw bad(`${path} holds a NUL character or a lone surrogate, which PostgreSQL cannot store`);
    case 'boolean':
      return value;
    case 'number':
      return checkNumber(value, path);
    case 'object':
      return value === null ? null : copyObject(value, path, depth);
    default:
      throw bad(
        `${path} is a ${typeof value}, which JSON cannot hold${typeof value === 'bigint' ? '; pass it as text' : ''}`,
      );
  }
}

function checkNumber(value: number, path: string): number {
  if (!Number.isFinite(value)) throw bad(`${path} is ${value}, which JSON cannot hold`);
  if (Number.isInteger(value) && !Number.isSafeInteger(value))
    throw bad(`${path} is a whole number over 2^53, which would lose digits; pass it as text`);
  return value;
}

function copyObject(value: object, path: string, depth: number): Json {
  if (value instanceof Date) {
    if (Number.isNaN(value.getTime())) throw bad(`${path} is an invalid Date`);
    return value.toISOString();
  }
  if (Array.isArray(value))
    return Array.from(value, (element, index) => copy(element, `${path}[${index}]`, depth + 1));
  const prototype: unknown = Object.getPrototypeOf(value);
  if (prototype !== null && prototype !== Object.prototype && Object.getPrototypeOf(prototype) !== null) {
    throw bad(
      `${path} is a ${value.constructor?.name ?? 'class instance'}, not a plain object; pass plain JSON`,
    );
  }
  const entries: [string, Json][] = [];
  for (const [key, property] of Object.entries(value)) {
    if (property === undefined) continue;
    if (!isStorable(key)) throw bad(`${path} has a key with a NUL character or a lone surrogate`);
    entries.push([key, copy(property, `${path}.${key}`, depth + 1)]);
  }
  // fromEntries defines own properties, so that a key "__proto__" stays a key.
  return Object.fromEntries(entries);
}

function bad(message: string): TockError {
  return new TockError('TOCK_BAD_PAYLOAD', message);
}
