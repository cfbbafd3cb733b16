// Refuses options that do not exist, so that a typing error is not ignored in silence.
import { TockError, type TockErrorCode } from './errors.js';
import { quote } from './names.js';
import { nearMisses } from './nearest.js';

/** The names of all options of a type. The compiler refuses an incomplete list, and unknown names. */
// oxlint-disable-next-line typescript/no-unnecessary-type-parameters -- the caller names the type
export function optionNames<Options>(
  names: { readonly [Name in keyof Required<Options>]: true },
): ReadonlySet<string> {
  return new Set(Object.keys(names));
}

/**
 * Refuses unknown options. Those that are undefined count as absent.
 * @param what the subject of the message: `retry`, or `enqueue of job "mail"`
 * @param code of the error. Default TOCK_BAD_OPTION
 * @param example what to write, for a value that is not an object
 * @throws TockError with that code, also for a value that is not an object
 */
export function checkOptions(
  options: unknown,
  known: ReadonlySet<string>,
  what: string,
  code: TockErrorCode = 'TOCK_BAD_OPTION',
  example?: string,
): void {
  if (typeof options !== 'object' || options === null || Array.isArray(options)) {
    const such = example === undefined ? '' : `, such as ${example}`;
    throw new TockError(code, `${what} is ${describe(options)}; write an object of options${such}`);
  }
  for (const name in options) {
    if (!known.has(name) && (options as Readonly<Record<string, unknown>>)[name] !== undefined)
      throw new TockError(code, `${what} has no option ${quote(name)}${meant(name, known)}`);
  }
}

/** What other schedulers and languages call an option. */
const OTHER_NAMES: Readonly<Record<string, readonly string[]>> = {
  tz: ['timezone'],
  zone: ['timezone'],
  retries: ['retry', 'maxAttempts'],
  attempts: ['retry', 'maxAttempts'],
  retryLimit: ['retry', 'maxAttempts'],
  interval: ['every'],
  handler: ['run'],
  data: ['payload'],
  tx: ['client'],
  trx: ['client'],
  transaction: ['client'],
  connection: ['client'],
  db: ['client'],
  idempotencyKey: ['key'],
  jobId: ['key'],
};

function meant(name: string, known: ReadonlySet<string>): string {
  const other = Object.hasOwn(OTHER_NAMES, name) ? (OTHER_NAMES[name] ?? []) : [];
  const renamed = other.filter(each => known.has(each)).slice(0, 1);
  const near = (renamed.length > 0 ? renamed : nearMisses(name, known)).map(quote);
  return near.length === 0 ? `; it has ${[...known].join(', ')}` : `; did you mean ${near.join(' or ')}?`;
}

/** @param what the subject of the message @throws TockError TOCK_BAD_OPTION for anything but a list */
export function checkList<Element>(given: readonly Element[], what: string): readonly Element[] {
  if (Array.isArray(given)) return given;
  throw new TockError('TOCK_BAD_OPTION', `${what} is ${describe(given)}; write a list`);
}

/** @param what the subject of the message @throws TockError TOCK_BAD_OPTION for anything but a text */
export function checkText(given: unknown, what: string): void {
  if (typeof given !== 'string')
    throw new TockError('TOCK_BAD_OPTION', `${what} is ${describe(given)}; write a text`);
}

function describe(value: unknown): string {
  return Array.isArray(value) ? 'a list' : quote(value);
}
