// How many runs to prefetch: as many as the worker starts while two claims are answered.
// With slow handlers that is none, so that others may take the runs.

/**
 * Prefetched runs start within about the time of two claims, and within these bounds. Two, since the next
 * claim is sent when half of the runs have started. With fewer runs, slow claims would be small and many.
 */
const MIN_PREFETCH_MS = 50;
const MAX_PREFETCH_MS = 1000;
const CLAIMS_AHEAD = 2;
/** Limits on what one process holds, whatever the backlog: runs, and characters of payload. */
export const MAX_PREFETCHED = 4000;
const MAX_PREFETCHED_PAYLOAD = 8 * 2 ** 20;
const WINDOW_MS = 10;

export interface Throughput {
  /**
   * Counts a run that has ended.
   *
   * @param now milliseconds of any steady clock
   * @param payloadLength in characters
   */
  recordEnd(now: number, payloadLength?: number): void;
  /** Counts a claim that brought runs. */
  recordClaim(sentAt: number, answeredAt: number): void;
  /** How many runs to hold besides those that are executing. */
  prefetchTarget(now: number): number;
  /** Starts again from zero, because prefetched runs could not start in time. */
  reset(now: number): void;
}

/** A throughput of zero, so nothing is prefetched. */
export function createThroughput(): Throughput {
  let runsPerMs = 0;
  let count = 0;
  let windowStart = 0;
  let meanPayloadLength = 0;
  let meanClaimMs = 0;
  const closeWindow = (now: number) => {
    const elapsed = now - windowStart;
    if (elapsed < WINDOW_MS) return;
    // A new window weighs as much as all earlier ones; the first, and one after a long silence, counts alone.
    const countsAlone = runsPerMs === 0 || elapsed > 10 * WINDOW_MS;
    runsPerMs = countsAlone ? count / elapsed : (runsPerMs + count / elapsed) / 2;
    count = 0;
    windowStart = now;
  };
  return {
    recordEnd(now, payloadLength = 0) {
      closeWindow(now);
      count++;
      meanPayloadLength += (payloadLength - meanPayloadLength) / 16;
    },
    recordClaim(sentAt, answeredAt) {
      meanClaimMs += (answeredAt - sentAt - meanClaimMs) / 8;
    },
    prefetchTarget(now) {
      closeWindow(now);
      const aheadMs = Math.min(Math.max(CLAIMS_AHEAD * meanClaimMs, MIN_PREFETCH_MS), MAX_PREFETCH_MS);
      const max = Math.min(MAX_PREFETCHED, MAX_PREFETCHED_PAYLOAD / Math.max(meanPayloadLength, 1));
      return Math.floor(Math.min(max, runsPerMs * aheadMs));
    },
    reset(now) {
      runsPerMs = 0;
      count = 0;
      windowStart = now;
    },
  };
}
