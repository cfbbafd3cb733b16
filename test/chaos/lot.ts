// Chance that can be repeated: what a handler does depends on its run and attempt alone.
// In: a run's attempt. Out: a number that belongs to it.
import type { JobContext } from '../../src/index.js';

/** A number in [0, 1) that belongs to the run's attempt. */
export function lot({ runId, attempt }: Pick<JobContext, 'runId' | 'attempt'>, salt: number): number {
  let hash = Number(runId) * 2_654_435_761 + attempt * 40_503 + salt * 97;
  hash = Math.imul(hash ^ (hash >>> 15), 2_246_822_519);
  hash = Math.imul(hash ^ (hash >>> 13), 3_266_489_917);
  return ((hash ^ (hash >>> 16)) >>> 0) / 2 ** 32;
}
