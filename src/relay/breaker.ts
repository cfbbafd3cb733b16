// Whether a broker seems to be away, and when it is tried again. Pure: times by the engine's clock.

const FIRST_DELAY_MS = 1000;
const MAX_DELAY_MS = 30_000;

/** `failures`: how often in a row nothing was confirmed; 0: the broker works. */
export interface Breaker {
  readonly failures: number;
  /** Nothing is published before then. */
  readonly retryAt: number;
}

export const WORKING: Breaker = { failures: 0, retryAt: 0 };

/** 1 s, 2 s, 4 s … 30 s. */
export const delayMs = ({ failures }: Breaker) =>
  failures === 0 ? FIRST_DELAY_MS : Math.min(MAX_DELAY_MS, FIRST_DELAY_MS * 2 ** Math.min(failures - 1, 10));

export const isOpen = ({ failures, retryAt }: Breaker, now: number) => failures > 0 && now < retryAt;

/**
 * After a batch of which nothing was confirmed. Batches that were under way with it say nothing new.
 */
export function afterFailure(breaker: Breaker, now: number): Breaker {
  if (isOpen(breaker, now)) return breaker;
  const failures = breaker.failures + 1;
  return { failures, retryAt: now + delayMs({ failures, retryAt: 0 }) };
}
