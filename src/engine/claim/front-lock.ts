// Whether a claim from the front waits until no other claim holds it. Claims of many runs do: otherwise
// each would walk over the runs that the others are locking.
//
// A claim holds the front until it is committed, and it is committed only when its worker has read the
// answer. A worker that is frozen, or far away, would so hold up all others. Hence the bound.
import { performance } from 'node:perf_hooks';
import { isLockTimeout } from '../../store/connection/errors.js';
import type { Claim, ClaimOptions } from '../../store/runs/claim/claim.js';

/** A claim of fewer runs does not wait: walking over locked runs is quicker. */
const MIN_RUNS = 1000;
/** The longest wait: several times what a claim takes where all cores are busy. */
const WAIT_MS = 1000;
/** After a wait in vain, claims of this worker do not wait for so long. */
const PAUSE_MS = 60_000;

export interface FrontLock {
  /**
   * Carries out `claim`, and once more without a wait if the wait was in vain.
   * @param claim waits at most this many milliseconds for the front, and then holds it; 0: does neither
   */
  claim(
    wanted: Pick<ClaimOptions, 'limit' | 'fromFront'>,
    claim: (frontWaitMs: number) => Promise<Claim>,
  ): Promise<Claim>;
}

/** For one worker. */
export function createFrontLock(): FrontLock {
  let noWaitUntil = Number.NEGATIVE_INFINITY;
  return {
    async claim({ limit, fromFront = false }, claim) {
      if (!fromFront || limit < MIN_RUNS || performance.now() < noWaitUntil) return await claim(0);
      try {
        return await claim(WAIT_MS);
      } catch (error) {
        if (!isLockTimeout(error)) throw error;
        noWaitUntil = performance.now() + PAUSE_MS;
        return await claim(0);
      }
    },
  };
}
