// How many more runs a worker may claim.

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
  /** Handlers that execute. */
  readonly executing: number;
  /** Runs that wait for free capacity. */
  readonly prefetched: number;
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
  const waitingOrExecuting = load.executing + load.prefetched;
  if (load.isHeldUp) return Math.max(0, load.capacity + 1 - waitingOrExecuting - load.unwritten);
  const free = load.capacity + load.prefetchTarget - waitingOrExecuting;
  return Math.max(0, Math.min(free, free + MAX_UNWRITTEN - load.unwritten));
}
