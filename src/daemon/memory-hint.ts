// Logs once how to limit the memory of a busy worker: a library sets no flags of the process.
import v8 from 'node:v8';
import type { Logger } from '../model/logger.js';

/** Up to this size Node 20 lets the young generation grow. */
const MUCH_BYTES = 32 * 2 ** 20;
/** With fewer runs, something else has made the memory grow. */
const MIN_RUNS = 10_000;

/** Called now and then with the number of runs that were claimed so far. */
export type MemoryHint = (claimed: number) => void;

/**
 * Logs `memory.young_generation` the first time that this process has claimed many runs and V8's young
 * generation is larger than 32 MiB. Most of that is garbage that V8 has not collected, since it had room.
 *
 * @param youngBytes how large the young generation is
 */
export function createMemoryHint(
  logger: Logger,
  youngBytes: () => number = sizeOfYoungGeneration,
): MemoryHint {
  let isGiven = false;
  return claimed => {
    if (isGiven || claimed < MIN_RUNS) return;
    const bytes = youngBytes();
    if (bytes <= MUCH_BYTES) return;
    isGiven = true;
    const mib = Math.round(bytes / 2 ** 20);
    logger.info(
      { event: 'memory.young_generation', bytes },
      `V8’s young generation has grown to ${mib} MiB, mostly garbage that it has not collected yet; to use less memory, start this process with NODE_OPTIONS=--max-semi-space-size=8`,
    );
  };
}

function sizeOfYoungGeneration(): number {
  return v8.getHeapSpaceStatistics().find(({ space_name }) => space_name === 'new_space')?.space_size ?? 0;
}
