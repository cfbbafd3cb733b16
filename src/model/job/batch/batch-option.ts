// The `batch` option of a job: its handler is called once for several runs.
import { type Duration, parseDuration } from '../../duration.js';
import { TockError } from '../../errors.js';
import { quote } from '../../names.js';
import { checkOptions, optionNames } from '../../options.js';
import { badJob } from '../bad-job.js';

/** Which runs of a job go together into one call of its handler. */
export interface BatchOptions<Payload = never> {
  /** The most runs in one call: 1 to 1000. */
  readonly size: number;
  /**
   * How long the first run of a batch waits for others, at most a minute; a batch that is full is executed at
   * once. A tick does not wait: it takes what is due. Default `100ms`.
   */
  readonly within?: Duration;
  /** Only runs with the same key go together, such as one tenant's. Default: all runs of the job. */
  readonly key?: (payload: Payload) => string | number;
}

export interface Batch {
  readonly size: number;
  readonly withinMs: number;
  readonly key: ((payload: never) => string | number) | null;
}

const OPTIONS = optionNames<BatchOptions>({ size: true, within: true, key: true });
const MAX_SIZE = 1000;
const DEFAULT_WITHIN_MS = 100;
const MAX_WITHIN_MS = 60_000;

/** Null: its handler is called for each run. @throws TockError TOCK_BAD_JOB, TOCK_BAD_DURATION */
export function readBatch(option: BatchOptions | undefined): Batch | null {
  if (option === undefined) return null;
  if (typeof option !== 'object' || option === null || Array.isArray(option))
    throw badJob(`batch ${quote(option)} is no object; write batch: { size: 100, within: '200ms' }`);
  checkOptions(option, OPTIONS, 'batch', 'TOCK_BAD_JOB');
  const { size, within, key } = option;
  if (!Number.isInteger(size) || size < 1 || size > MAX_SIZE)
    throw badJob(`batch.size ${quote(size)} is not a whole number from 1 to ${MAX_SIZE}`);
  const withinMs = within === undefined ? DEFAULT_WITHIN_MS : parseDuration(within, 'batch.within');
  if (withinMs > MAX_WITHIN_MS)
    throw badJob(
      'batch.within is over a minute, for which claimed runs would only be held; to execute what has come together until then, enqueue with a delay or give the job a schedule',
    );
  if (key !== undefined && typeof key !== 'function')
    throw badJob('batch.key is no function of the payload; write key: payload => payload.tenant');
  return { size, withinMs, key: key ?? null };
}

/**
 * How many runs may go together with a run. After each failed attempt half as many, and the last attempt
 * goes alone: what makes its batch fail comes to be with few, and ends no other run dead.
 * @param attempt 1, 2, …
 */
export function batchLimit(size: number, attempt: number, maxAttempts: number): number {
  if (attempt > 1 && attempt >= maxAttempts) return 1;
  return Math.ceil(size / 2 ** (attempt - 1));
}

/**
 * Which runs a run may go together with; '' without a key.
 * @throws TockError TOCK_BAD_KEY if the job's function gives an invalid key
 */
export function batchKey({ key }: Batch, job: string, payload: unknown): string {
  if (key === null) return '';
  const value = (key as (payload: unknown) => unknown)(payload);
  if (typeof value === 'string' || typeof value === 'number') return String(value);
  throw new TockError(
    'TOCK_BAD_KEY',
    `batch.key of job ${job} gave ${quote(value)}; it must give text or a number`,
  );
}
