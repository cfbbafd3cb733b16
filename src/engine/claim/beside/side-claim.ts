// A claim beside the one that continues, at most one at a time. Room is kept for it until its runs are
// accepted.
import { performance } from 'node:perf_hooks';
import type { Claim } from '../../../store/runs/claim/claim.js';

export interface SideClaim {
  readonly isUnderWay: boolean;
  /** Room that is kept for it. */
  readonly reserved: number;
  /**
   * Sends one, where none is under way.
   * @param claim claims at most `limit` runs, and resolves when they may be accepted
   * @param onOver they have been accepted, or it has failed
   */
  begin(limit: number, claim: (sentAt: number) => Promise<Claim>, onOver?: () => void): void;
  /** Resolves when none is under way. */
  idle(): Promise<unknown>;
}

export interface SideClaimOptions {
  readonly accept: (claim: Claim, sentAt: number) => Promise<unknown>;
  /** It has failed. That is not reported: if the claims that continue fail too, theirs is. */
  readonly onFailed: () => void;
  /** It is over, and keeps no room. */
  readonly onIdle: () => void;
}

/** None under way yet. */
export function createSideClaim({ accept, onFailed, onIdle }: SideClaimOptions): SideClaim {
  let reserved = 0;
  let underWay: Promise<void> | null = null;

  const claimAndAccept = async (claim: (sentAt: number) => Promise<Claim>): Promise<void> => {
    const sentAt = performance.now();
    const claimed = await claim(sentAt);
    reserved = 0;
    if (claimed.runs.length + claimed.limited.length > 0) await accept(claimed, sentAt);
  };

  return {
    get isUnderWay() {
      return underWay !== null;
    },
    get reserved() {
      return reserved;
    },
    begin(limit, claim, onOver) {
      reserved = limit;
      underWay = claimAndAccept(claim)
        .catch(onFailed)
        .finally(() => {
          reserved = 0;
          underWay = null;
          onOver?.();
          onIdle();
        });
    },
    async idle() {
      await underWay;
    },
  };
}
