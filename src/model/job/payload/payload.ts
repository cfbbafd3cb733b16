// What may be stored as a payload, or as the result of an effect: JSON that comes back unchanged.
import { TockError, type TockErrorCode } from '../../errors.js';
import { MAX_DEPTH } from '../../json-depth.js';
import { isStorable } from '../../names.js';
import { MAX_OUTPUT_BYTES } from '../../run/sanitize.js';
import type { Json } from '../job.js';

export const DEFAULT_MAX_PAYLOAD_BYTES = 1024 * 1024;
/** The most that `maxPayloadBytes` may allow. In SQL: the domain tock.payload, which counts spaces too. */
export const MAX_PAYLOAD_BYTES = 16 * 1024 * 1024;

interface Kind {
  readonly code: TockErrorCode;
  readonly noun: 'payload' | 'result';
  /** Begins each message. */
  readonly prefix: string;
  readonly ifTooLarge: string;
  /** It must come back exactly as it is: no Date, but any finite number. */
  readonly isExact: boolean;
}

const PAYLOAD: Kind = {
  code: 'TOCK_BAD_PAYLOAD',
  noun: 'payload',
  prefix: '',
  ifTooLarge: 'store the data in a table and pass its id',
  isExact: false,
};

/**
 * Checks that a value survives the way into a jsonb column and back unchanged, and returns it as plain JSON.
 * A Date becomes its ISO text and an undefined property is left out, as JSON.stringify does. Refused: NUL and
 * lone surrogates, BigInt, symbols, functions, NaN and infinities, whole numbers over 2^53, Map, Set and
 * other objects that would turn into `{}`, cycles, depth over 200, and more than `maxBytes` (default 1 MiB).
 * @throws TockError TOCK_BAD_PAYLOAD
 */
export function checkPayload(value: unknown, maxBytes = DEFAULT_MAX_PAYLOAD_BYTES): Json {
  const checked = copy(value, PAYLOAD.noun, 0, PAYLOAD);
  checkLength(JSON.stringify(checked), maxBytes, PAYLOAD);
  return checked;
}

/** {@link checkPayload}, as JSON text on one line, without a copy of plain payloads. @throws as above */
export function payloadText(value: unknown, maxBytes = DEFAULT_MAX_PAYLOAD_BYTES): string {
  return textOf(value, maxBytes, PAYLOAD);
}

/**
 * The result of an effect as JSON text; null for undefined. Refuses whatever would come back changed,
 * including a Date; an undefined property is left out.
 * @param effect names it in the message, such as `step "fetch"`
 * @throws TockError TOCK_BAD_RESULT
 */
export function resultText(value: unknown, effect: string): string | null {
  if (value === undefined) return null;
  return textOf(value, MAX_OUTPUT_BYTES, {
    code: 'TOCK_BAD_RESULT',
    noun: 'result',
    prefix: `the result of ${effect} cannot be kept: `,
    ifTooLarge: 'store the data in a table of your own and return its id',
    isExact: true,
  });
}

/**
 * The result of a run that was handed off, as JSON text; null for undefined.
 * @throws TockError TOCK_BAD_RESULT
 */
export function completionText(value: unknown): string | null {
  if (value === undefined) return null;
  return textOf(value, MAX_OUTPUT_BYTES, {
    code: 'TOCK_BAD_RESULT',
    noun: 'result',
    prefix: '',
    ifTooLarge: 'store the data in a table of your own and pass its id',
    isExact: false,
  });
}

function textOf(value: unknown, maxBytes: number, kind: Kind): string {
  const plain = isPlain(value, 0) ? JSON.stringify(value) : null;
  // JSON escapes NUL and lone surrogates, and other characters too; the copy tells them apart.
  const text =
    plain === null || plain.includes('\\u') ? JSON.stringify(copy(value, kind.noun, 0, kind)) : plain;
  checkLength(text, maxBytes, kind);
  return text;
}

function checkLength(text: string, maxBytes: number, kind: Kind): void {
  // A UTF-16 unit takes at most three bytes in UTF-8.
  if (text.length * 3 <= maxBytes) return;
  const bytes = Buffer.byteLength(text);
  if (bytes > maxBytes) {
    throw refusal(
      `the ${kind.noun} has ${bytes} bytes, over the limit of ${maxBytes}; ${kind.ifTooLarge}`,
      kind,
    );
  }
}

/** Whether JSON.stringify gives what {@link copy} would, apart from unstorable text. May be falsely false. */
export function isPlain(value: unknown, depth: number): boolean {
  if (typeof value === 'string' || typeof value === 'boolean' || value === null) return true;
  if (typeof value === 'number')
    return Number.isFinite(value) && (Number.isSafeInteger(value) || !Number.isInteger(value));
  if (typeof value !== 'object' || depth >= MAX_DEPTH) return false;
  const prototype: unknown = Object.getPrototypeOf(value);
  // A hole in an array is undefined, which is not plain.
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

function copy(value: unknown, path: string, depth: number, kind: Kind): Json {
  if (depth > MAX_DEPTH)
    throw refusal(`the ${kind.noun} is nested deeper than ${MAX_DEPTH} levels, or holds itself`, kind);
  switch (typeof value) {
    case 'string':
      if (isStorable(value)) return value;
      throw refusal(`${path} holds a NUL character or a lone surrogate, which PostgreSQL cannot store`, kind);
    case 'boolean':
      return value;
    case 'number':
      return checkNumber(value, path, kind);
    case 'object':
      return value === null ? null : copyObject(value, path, depth, kind);
    default:
      throw refusal(
        `${path} is a ${typeof value}, which JSON cannot hold${typeof value === 'bigint' ? '; pass it as text' : ''}`,
        kind,
      );
  }
}

function checkNumber(value: number, path: string, kind: Kind): number {
  if (!Number.isFinite(value)) throw refusal(`${path} is ${value}, which JSON cannot hold`, kind);
  // Any double comes back unchanged; but in a payload, a large one is likely an id that has lost digits.
  if (!kind.isExact && Number.isInteger(value) && !Number.isSafeInteger(value))
    throw refusal(`${path} is a whole number over 2^53, which would lose digits; pass it as text`, kind);
  return value;
}

function copyObject(value: object, path: string, depth: number, kind: Kind): Json {
  if (value instanceof Date) {
    if (kind.isExact)
      throw refusal(`${path} is a Date, which would come back as text; return its ISO text`, kind);
    if (Number.isNaN(value.getTime())) throw refusal(`${path} is an invalid Date`, kind);
    return value.toISOString();
  }
  if (Array.isArray(value))
    return Array.from(value, (element, index) => copy(element, `${path}[${index}]`, depth + 1, kind));
  const prototype: unknown = Object.getPrototypeOf(value);
  if (prototype !== null && prototype !== Object.prototype && Object.getPrototypeOf(prototype) !== null) {
    throw refusal(
      `${path} is a ${value.constructor?.name ?? 'class instance'}, not a plain object; ${kind.isExact ? 'return' : 'pass'} plain JSON`,
      kind,
    );
  }
  const entries: [string, Json][] = [];
  for (const [key, property] of Object.entries(value)) {
    if (property === undefined) continue;
    if (!isStorable(key)) throw refusal(`${path} has a key with a NUL character or a lone surrogate`, kind);
    entries.push([key, copy(property, `${path}.${key}`, depth + 1, kind)]);
  }
  // fromEntries defines own properties, so a key "__proto__" stays a key.
  return Object.fromEntries(entries);
}

function refusal(message: string, { code, prefix }: Kind): TockError {
  return new TockError(code, prefix + message);
}
