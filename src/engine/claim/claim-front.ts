// Whether a worker's next claim may start at the front, where the claims of all workers have come to.
//
// It may not while there are runs behind the front that are due: given back, or enqueued by a transaction
// that was committed late. Claims from the beginning find them, and the worker continues from there, as if
// it were alone, until it has come to the front again.
import type { Claim, ClaimPosition } from '../../store/runs/claim/claim.js';

export interface ClaimFront {
  readonly isUsed: boolean;
  /** After a claim from the beginning. */
  restarted(claim: Claim): void;
  /** After a claim of runs that were left behind this position. @param hasMore there may be more of them */
  claimedBehind(position: ClaimPosition, hasMore: boolean): void;
  /** After a claim that continued in one queue and priority. */
  continued(claim: Claim): void;
}

/** A front that is used from the first claim on. */
export function createClaimFront(): ClaimFront {
  /** Where this worker's last claim from the front ended. */
  let front: ClaimPosition | null = null;
  let cameUpShort = false;
  /** Not used until then; `restart`: until the next claim from the beginning. */
  let unusedUntil: ClaimPosition | 'restart' | null = null;
  return {
    get isUsed() {
      return unusedUntil === null;
    },
    restarted(claim) {
      const end = endOf(claim);
      if (front !== null && end !== null && claim.hasMore && isBehind(end, front)) unusedUntil = front;
      // Claims from the front find nothing more, and there is more: the front is too far ahead.
      else unusedUntil = cameUpShort && claim.hasMore ? 'restart' : null;
      cameUpShort = false;
    },
    claimedBehind(position, hasMore) {
      if (hasMore) unusedUntil = front ?? position;
      else if (unusedUntil === 'restart') unusedUntil = null;
    },
    continued(claim) {
      const end = endOf(claim);
      if (unusedUntil === null) {
        front = end ?? front;
        cameUpShort = !claim.hasMore;
      } else if (unusedUntil !== 'restart' && end !== null && !isBehind(end, unusedUntil)) unusedUntil = null;
    },
  };
}

const endOf = ({ positions }: Claim) => positions.findLast(position => position.at !== null) ?? null;

/** To the millisecond. False for places that cannot be compared. */
export function isBehind(one: ClaimPosition, other: ClaimPosition): boolean {
  if (one.queue !== other.queue || one.priority !== other.priority) return false;
  const difference = Date.parse(one.at ?? '') - Date.parse(other.at ?? '');
  return difference < 0 || (difference === 0 && BigInt(one.id ?? 0) < BigInt(other.id ?? 0));
}
