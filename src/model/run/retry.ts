// How long a failed run waits for its next attempt.
import { type Duration, parseDuration } from '../duration.js';
import { badJob } from '../job/bad-job.js';
import { quote } from '../names.js';
import { checkOptions, optionNames } from '../options.js';

/** How a failed attempt is followed by the next. */
export interface RetryPolicy {
  /** Attempts in all, including the first. Default 10. */
  readonly maxAttempts?: number;
  /**
   * Default `exponential`: base, 2 × base, 4 × base, … `linear`: base, 2 × base, 3 × base, … A function gets
   * the attempt that failed (1, 2, …) and its error.
   */
  readonly backoff?: 'fixed' | 'linear' | 'exponential' | ((attempt: number, error: unknown) => Duration);
  /** Default `10s`. */
  readonly base?: Duration;
  /** Longest wait. Default `1h`. */
  readonly max?: Duration;
  /** Random share, 0 to 1: a wait of w lies in [w × (1 − jitter), w × (1 + jitter)]. Default 0.2. */
  readonly jitter?: number;
}

export const DEFAULT_MAX_ATTEMPTS = 10;
export const DEFAULT_BASE = '10s';
export const DEFAULT_MAX = '1h';
const DEFAULT_JITTER = 0.2;
const OPTIONS = optionNames<RetryPolicy>({
  maxAttempts: true,
  backoff: true,
  base: true,
  max: true,
  jitter: true,
});
const BACKOFFS = ['fixed', 'linear', 'exponential'];

export function checkRetryPolicy(policy: RetryPolicy): void {
  checkOptions(policy, OPTIONS, 'retry', 'TOCK_BAD_JOB', '{ maxAttempts: 5 }');
  if (policy.maxAttempts !== undefined) checkMaxAttempts(policy.maxAttempts);
  if (policy.base !== undefined) parseDuration(policy.base, 'retry.base');
  if (policy.max !== undefined) parseDuration(policy.max, 'retry.max');
  const { jitter, backoff } = policy;
  if (jitter !== undefined && !(jitter >= 0 && jitter <= 1))
    throw badJob(`retry.jitter ${quote(jitter)} is not a number between 0 and 1`);
  if (backoff !== undefined && typeof backoff !== 'function' && !BACKOFFS.includes(backoff)) {
    throw badJob(`retry.backoff ${quote(backoff)} is none of ${BACKOFFS.join(', ')} and no function`);
  }
}

/** Checks a number of attempts: 1 to 1,000,000, so that the column has room for many operator retries. */
export function checkMaxAttempts(count: number): number {
  if (Number.isInteger(count) && count >= 1 && count <= 1_000_000) return count;
  throw badJob(`maxAttempts ${quote(count)} is not a whole number from 1 to 1000000`);
}

/**
 * Thrown by a handler: ends this attempt as failed and tries again after `delay` (a duration such as `'5m'`,
 * or milliseconds) instead of the job's own backoff. The attempt counts towards `maxAttempts`.
 * @throws TockError TOCK_BAD_DURATION where the delay cannot be read
 */
export class RetryLater extends Error {
  readonly kind = 'tock.retry-later';
  readonly delay: Duration;
  constructor(delay: Duration, reason = 'the handler asked to be run again later', options?: ErrorOptions) {
    super(reason, options);
    parseDuration(delay, 'the delay of RetryLater');
    this.name = 'RetryLater';
    this.delay = delay;
  }
}

/**
 * The wait before the next attempt, in milliseconds: the base times the backoff, at most max, spread in both
 * directions by the jitter, so that runs that failed together are not retried together.
 * @param attempt the attempt that failed: 1, 2, …
 * @param random a number in [0, 1)
 */
export function backoffMs(policy: RetryPolicy, attempt: number, error: unknown, random: number): number {
  const { backoff = 'exponential' } = policy;
  if (typeof backoff === 'function')
    return parseDuration(backoff(attempt, error), 'the result of retry.backoff');
  const base = parseDuration(policy.base ?? DEFAULT_BASE);
  const max = parseDuration(policy.max ?? DEFAULT_MAX);
  const jitter = policy.jitter ?? DEFAULT_JITTER;
  // 2^40 times any base but 0 exceeds every max; the bound keeps the power finite.
  const factor = { fixed: 1, linear: attempt, exponential: 2 ** Math.min(attempt - 1, 40) }[backoff];
  const wait = Math.min(base * factor, max);
  return Math.round(wait * (1 - jitter + 2 * jitter * random));
}
