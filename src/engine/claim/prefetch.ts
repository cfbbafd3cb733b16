// How many runs a worker prefetches, and where they wait: as many as it starts while two claims are answered.
// With slow handlers that is none, so that others may take the runs.
import type { Clock, Timer } from '../../model/clock.js';

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

/** The most outcomes that may wait to be written, beyond the capacity. */
export const MAX_UNWRITTEN = 4000;

/** What a worker holds. */
export interface WorkerLoad {
  /** The worker claims no more: it stops, or its tick's budget is over. */
  readonly isClosed: boolean;
  /** The server accepts no outcomes now. */
  readonly isHeldUp: boolean;
  /** The most handlers that execute at once. */
  readonly capacity: number;
  /** Handlers that execute; one that executes a batch counts once. */
  readonly executing: number;
  /** Runs that wait for free capacity. */
  readonly prefetched: number;
  /** Batches that gather or are ready; null: no job has `batch`. */
  readonly batches: {
    /** How many runs they have. */
    readonly held: number;
    /** How many more runs may be held for them than there are places. @param places that are free */
    readonly wanted: (places: number) => number;
  } | null;
  /** Runs whose handler has ended and whose outcome is not written. */
  readonly unwritten: number;
  /** How many runs the recent throughput allows to prefetch. */
  readonly prefetchTarget: number;
}

/**
 * How many more runs to claim: up to the capacity and the prefetch target. Unwritten outcomes take no
 * capacity, only memory. While the server accepts no outcomes, all held runs count against the capacity plus
 * one: unwritten outcomes could be lost with this process, and the one run more shows when the server accepts
 * outcomes again.
 */
export function claimable(load: WorkerLoad): number {
  if (load.isClosed) return 0;
  const waitingOrExecuting = load.executing + load.prefetched + (load.batches?.held ?? 0);
  if (load.isHeldUp) return Math.max(0, load.capacity + 1 - waitingOrExecuting - load.unwritten);
  const wanted = load.batches?.wanted(load.capacity - load.executing) ?? 0;
  const free = load.capacity + load.prefetchTarget + wanted - waitingOrExecuting;
  return Math.max(0, Math.min(free, free + MAX_UNWRITTEN - load.unwritten));
}

/** Room for so many runs is always worth a claim. */
const ALWAYS_WORTH_CLAIMING = 500;

/** While more is due, whether there is room for enough runs that a claim follows another at once. */
export const isWorthClaiming = (room: number, prefetchTarget: number) =>
  room >= Math.min(prefetchTarget / 2, ALWAYS_WORTH_CLAIMING);

/** Claimed runs that wait for free capacity, first in, first out. */
export interface PrefetchBuffer<Run> {
  readonly length: number;
  push(run: Run): void;
  shift(): Run | undefined;
  /** Removes and returns all. */
  drain(): readonly Run[];
}

/** An empty buffer. Calls `onStalled` each time the same run has been first for `maxWaitMs`. */
export function createPrefetchBuffer<Run>(
  clock: Clock,
  maxWaitMs: number,
  onStalled: () => void,
): PrefetchBuffer<Run> {
  let waiting: Run[] = [];
  let head = 0;
  let timer: Timer | undefined;
  const watch = () => {
    const first = waiting[head];
    if (first === undefined || timer !== undefined) return;
    timer = clock.setTimeout(() => {
      timer = undefined;
      if (waiting[head] === first) onStalled();
      watch();
    }, maxWaitMs);
  };
  return {
    get length() {
      return waiting.length - head;
    },
    push(run) {
      waiting.push(run);
      watch();
    },
    shift() {
      const run = waiting[head];
      if (run === undefined) return undefined;
      head++;
      // Only now and then, because removing the first element of an array moves all the others.
      if (head === waiting.length || head >= 1000) {
        waiting = waiting.slice(head);
        head = 0;
      }
      return run;
    },
    drain() {
      const all = waiting.slice(head);
      waiting = [];
      head = 0;
      return all;
    },
  };
}
