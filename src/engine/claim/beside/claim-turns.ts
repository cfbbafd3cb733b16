// Claims that are under way at once: their runs are accepted in the order in which they are due, as far as
// that is known.
import type { ClaimPosition } from '../../../store/runs/claim/claim.js';
import { isBehind } from '../claim-front.js';

export interface ClaimTurn {
  /**
   * The claim was answered. Resolves when all that were sent earlier have been answered as well, and those
   * that ended further behind have been accepted.
   * @param ends where it ended: if that is one place, it can be compared
   */
  answered(ends: readonly ClaimPosition[]): Promise<void>;
  /** Its runs have been accepted, or it has failed. */
  over(): void;
}

interface UnderWay {
  end: ClaimPosition | null;
  accept: (() => void) | null;
}

/** Gives each claim its turn, when it is sent. */
export function createClaimTurns(): () => ClaimTurn {
  /** In the order in which they were sent. */
  const underWay = new Set<UnderWay>();
  let accepting: UnderWay | null = null;

  // One that was sent earlier may have begun later, because it had to wait for a connection.
  const acceptNext = () => {
    if (accepting !== null) return;
    for (const claim of underWay) {
      if (claim.accept === null) break;
      const isFirst = accepting?.end && claim.end && isBehind(claim.end, accepting.end);
      if (accepting === null || isFirst) accepting = claim;
    }
    accepting?.accept?.();
  };

  return () => {
    const claim: UnderWay = { end: null, accept: null };
    underWay.add(claim);
    return {
      answered: ends =>
        new Promise(resolve => {
          claim.end = ends.length === 1 ? (ends[0] ?? null) : null;
          claim.accept = resolve;
          acceptNext();
        }),
      over() {
        underWay.delete(claim);
        if (accepting === claim) accepting = null;
        acceptNext();
      },
    };
  };
}
