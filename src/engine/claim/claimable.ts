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
