// Goes through a table a few blocks at a time, so that each statement reads and writes little.
import type { Clock } from '../../model/clock.js';
import type { PruneOptions } from '../../model/scheduler-view.js';
import type { Database } from '../../store/connection/database.js';
import { countBlocks, type Slice } from '../../store/partitions/partitions.js';

/** 4 MiB: some thousands of runs. */
const BLOCKS_PER_SLICE = 512;

/** Where progress is reported, and what ends the work between two batches. */
export interface Stop {
  readonly onProgress?: PruneOptions['onProgress'] | undefined;
  readonly signal?: AbortSignal | undefined;
  /** Waits after each batch, for it took so many milliseconds. Default: no waiting. */
  readonly rest?: (tookMs: number) => Promise<void>;
}

/** One batch of the work, and the rest that comes after it. */
export async function inPace<T>(clock: Clock, { signal, rest }: Stop, batch: () => Promise<T>): Promise<T> {
  signal?.throwIfAborted();
  const startedAt = clock.now();
  const done = await batch();
  await rest?.(clock.now() - startedAt);
  return done;
}

/** Blocks that are added meanwhile are not visited: their rows are new. */
export async function walkBlocks(
  database: Database,
  table: string,
  stage: string,
  visit: (slice: Slice) => Promise<void>,
  { onProgress }: Stop,
): Promise<void> {
  const total = await countBlocks(database, table);
  for (let from = 0; from < total; from += BLOCKS_PER_SLICE) {
    const to = Math.min(from + BLOCKS_PER_SLICE, total);
    await visit({ from, to });
    onProgress?.({ stage, done: to, total });
  }
}
