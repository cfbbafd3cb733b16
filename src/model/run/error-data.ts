// Room: model. An error as plain data, for the way from one process to another.
// In: whatever was thrown, hostile values included. Out: data; and from data an Error that steers and tells the same.
import { Cancel, Dead, isSteering, RetryLater, TockError, type TockErrorCode } from '../errors.js';
import { describeError } from './sanitize.js';

type Plain = string | number | boolean;
const KINDS = ['tock.retry-later', 'tock.cancel', 'tock.dead'] as const;
const MOST_DETAILS = 50;
const LONGEST_DETAIL = 1000;
const TOLD_OTHERWISE = ['name', 'message', 'code', 'stack', 'kind', 'delay', 'cause', '__proto__'];

export interface ErrorData {
  readonly name: string;
  readonly message: string;
  readonly code: string | null;
  readonly stack: string | null;
  /** Which of the three errors that steer a run it is. */
  readonly kind: (typeof KINDS)[number] | null;
  /** The delay of RetryLater. */
  readonly delay: string | number | null;
  /** Its own texts, numbers and booleans, such as an HTTP status: a backoff function may look at them. */
  readonly details: Readonly<Record<string, Plain>>;
}

/** Turns whatever was thrown into data. Never throws; long texts are cut, as they are when an error is stored. */
export function packError(thrown: unknown): ErrorData {
  const { name, message, code, stack } = describeError(thrown, 0);
  const kind = KINDS.find(each => isSteering(thrown, each)) ?? null;
  const delay = kind === 'tock.retry-later' ? plain(thrown as RetryLater, 'delay') : undefined;
  return {
    name,
    message,
    code,
    stack,
    kind,
    delay: typeof delay === 'string' || typeof delay === 'number' ? delay : null,
    details: detailsOf(thrown),
  };
}

/** The error that the data tell of. Its class is Error, TockError or one of the three that steer. */
export function unpackError(data: ErrorData): Error {
  const error = bare(data);
  for (const [key, value] of Object.entries({ ...data.details, name: data.name })) define(error, key, value);
  if (data.code !== null) define(error, 'code', data.code);
  define(error, 'stack', data.stack ?? undefined);
  return error;
}

function bare({ name, message, code, kind, delay }: ErrorData): Error {
  if (kind === 'tock.retry-later') return new RetryLater(delay ?? 'unknown', message);
  if (kind === 'tock.cancel') return new Cancel(message);
  if (kind === 'tock.dead') return new Dead(message);
  if (name === 'TockError' && code !== null) return new TockError(code as TockErrorCode, message);
  return new Error(message);
}

function detailsOf(thrown: unknown): Record<string, Plain> {
  if (!(thrown instanceof Error)) return {};
  try {
    const pairs = Object.keys(thrown)
      .filter(key => !TOLD_OTHERWISE.includes(key))
      .slice(0, MOST_DETAILS)
      .map(key => [key, plain(thrown, key)] as const);
    return Object.fromEntries(pairs.filter((pair): pair is [string, Plain] => pair[1] !== undefined));
  } catch {
    // A proxy that does not tell its keys.
    return {};
  }
}

function plain(thrown: object, key: string): Plain | undefined {
  try {
    const value: unknown = Reflect.get(thrown, key);
    if (typeof value === 'string') return value.slice(0, LONGEST_DETAIL).toWellFormed();
    return typeof value === 'number' || typeof value === 'boolean' ? value : undefined;
  } catch {
    return undefined;
  }
}

function define(error: Error, key: string, value: unknown): void {
  Object.defineProperty(error, key, {
    value,
    configurable: true,
    writable: true,
    enumerable: key === 'code',
  });
}
