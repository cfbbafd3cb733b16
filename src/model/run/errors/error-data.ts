// Errors as plain data, to send them from one process to another. Hostile values are possible.
import {
  Cancel,
  Dead,
  isSteering,
  STEERING,
  type Steering,
  TockError,
  type TockErrorCode,
} from '../../errors.js';
import { RetryLater } from '../retry.js';
import { describeError, type ErrorDescription, LEFT_OUT } from '../sanitize.js';
import { Snooze, Suspension } from '../snooze.js';

type Plain = string | number | boolean;
const MAX_DETAILS = 50;
const MAX_DETAIL_LENGTH = 1000;
/** Properties that the data hold under their own names. */
const NOT_DETAILS = ['name', 'message', 'code', 'stack', 'kind', 'cause', 'errors', '__proto__'];

/** What is stored of an error, and what a worker decides by. */
export interface ErrorData extends ErrorDescription {
  /** Which of the errors that decide a run's outcome it is. */
  readonly kind: Steering | null;
  /** Its own texts, numbers and booleans, such as a delay, or an HTTP status for a backoff function. */
  readonly details: Readonly<Record<string, Plain>>;
}

/** Turns any thrown value into data. Never throws. Texts are cut and cleaned as for storage. */
export function packError(thrown: unknown): ErrorData {
  const { attempt: _attempt, ...description } = describeError(thrown, 0);
  const kind = STEERING.find(candidate => isSteering(thrown, candidate)) ?? null;
  return { ...description, kind, details: detailsOf(thrown) };
}

/**
 * The described error: an Error, AggregateError, TockError, RetryLater, Cancel, Dead, Snooze or Suspension.
 */
export function unpackError(data: ErrorData): Error {
  return unpack(data, data.details, bare(data));
}

function unpack(
  data: ErrorDescription,
  details: ErrorData['details'],
  error: Error = data.errors === undefined ? new Error(data.message) : new AggregateError([], data.message),
): Error {
  const { name, code, stack, cause, errors, leftOut } = data;
  for (const [key, value] of Object.entries({ ...details, name })) define(error, key, value);
  if (code !== null) define(error, 'code', code);
  define(error, 'stack', stack ?? undefined);
  if (cause !== undefined) define(error, 'cause', unpack(cause, {}));
  if (errors !== undefined)
    define(
      error,
      'errors',
      errors.map(member => unpack(member, {})),
    );
  if (leftOut !== undefined) define(error, LEFT_OUT, leftOut);
  return error;
}

/** Undefined if it has no class of its own. */
function bare({ name, message, code, kind, details }: ErrorData): Error | undefined {
  // Of these three, `details` have the delay, and the other numbers.
  if (kind === 'tock.retry-later') return Object.assign(new RetryLater(0, message), { delay: 'unknown' });
  if (kind === 'tock.snooze') return Object.assign(new Snooze(0, { reason: message }), { delayMs: null });
  if (kind === 'tock.suspension')
    return new Suspension(String(details['wait']), String(details['waitId']), null);
  if (kind === 'tock.cancel') return new Cancel(message);
  if (kind === 'tock.dead') return new Dead(message);
  if (name === 'TockError' && code !== null) return new TockError(code as TockErrorCode, message);
  return undefined;
}

function detailsOf(thrown: unknown): Record<string, Plain> {
  if (!(thrown instanceof Error)) return {};
  try {
    const pairs = Object.keys(thrown)
      .filter(key => !NOT_DETAILS.includes(key))
      .slice(0, MAX_DETAILS)
      .map(key => [key, plain(thrown, key)] as const);
    return Object.fromEntries(pairs.filter((pair): pair is [string, Plain] => pair[1] !== undefined));
  } catch {
    // A proxy may refuse to list its keys.
    return {};
  }
}

function plain(thrown: object, key: string): Plain | undefined {
  try {
    const value: unknown = Reflect.get(thrown, key);
    if (typeof value === 'string') return value.slice(0, MAX_DETAIL_LENGTH).toWellFormed();
    return typeof value === 'number' || typeof value === 'boolean' ? value : undefined;
  } catch {
    return undefined;
  }
}

function define(error: Error, key: string | symbol, value: unknown): void {
  Object.defineProperty(error, key, {
    value,
    configurable: true,
    writable: true,
    enumerable: key === 'code',
  });
}
