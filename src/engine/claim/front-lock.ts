// Whether a claim from the front waits for the one that holds it: claims of many runs do, since each would
// walk over what the others are locking.
//
// A claim holds the front until it is committed, which takes as long as its worker takes to read the answer.
// So one whose worker is frozen, or far away, makes others wait; they do not for a while then.
import { performance } from 'node:perf_hooks';
import { isLockTimeout } from '../../store/connection/errors.js';
import type { Claim } from '../../store/runs/claim/claim.js';

/** For fewer runs than this, waiting takes longer than walking. */
const WAITS_FROM = 1000;
/** How long a claim waits at most: several times what one takes where both cores are full. */
const WAIT_MS = 1000;
/** For how long none waits after one has waited in vain. */
const PAUSE_MS = 60_000;

export interface FrontLock {
  /**
   * Claims from the front, and waits for it where that is worth it.
   * @param claim waits for the front for at most so long; 0: neither waits for it nor holds it
   */
  claim(limit: number, claim: (frontWaitMs: number) => Promise<Claim>): Promise<Claim>;
}

/** A lock that was never waited for in vain. */
export function createFrontLock(): FrontLock {
  let waitsFrom = Number.NEGATIVE_INFINITY;
  return {
    async claim(limit, claim) {
      if (limit < WAITS_FROM || performance.now() < waitsFrom) return await claim(0);
      try {
        return await claim(WAIT_MS);
      } catch (error) {
        if (!isLockTimeout(error)) throw error;
        waitsFrom = performance.now() + PAUSE_MS;
        return await claim(0);
      }
    },
  };
}
