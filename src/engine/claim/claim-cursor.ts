// Room: engine. Where a worker's claims go on: after what the last one claimed, so that none walks over what has ended.
// In: each claim's answer. Out: where the next one begins; now and then at the beginning, so that what is late or
// urgent is seen.
import type { Claim, ClaimPosition } from '../../store/runs/claim/claim.js';

/** So long after the last claim from the beginning the next one begins there too. */
const FROM_THE_START_EVERY_MS = 500;

export interface Scan {
  /** Where the next claim goes on; null: from the beginning. @param now milliseconds of any steady clock */
  from(now: number): readonly ClaimPosition[] | null;
  /** A claim has been answered. */
  note(claim: Claim, now: number): void;
}

/** A scan that has seen nothing. */
export function createScan(): Scan {
  let lanes: readonly ClaimPosition[] | null = null;
  let startedAt = Number.NEGATIVE_INFINITY;
  return {
    from(now) {
      if (lanes === null || now - startedAt >= FROM_THE_START_EVERY_MS) return null;
      return lanes;
    },
    note(claim, now) {
      const isFromStart = lanes === null || now - startedAt >= FROM_THE_START_EVERY_MS;
      if (isFromStart) startedAt = now;
      // Less than was asked for: nothing more lies ahead, and what comes may lie anywhere.
      const mayGoOn =
        claim.hasMore && claim.positions.length > 0 && !claim.positions.some(lane => lane.isLimited);
      lanes = mayGoOn ? goneOn(lanes, claim.positions) : null;
    },
  };
}

function goneOn(before: readonly ClaimPosition[] | null, claimed: readonly ClaimPosition[]): ClaimPosition[] {
  return claimed.map(lane => {
    if (lane.at !== null) return lane;
    // Nothing was claimed from it this time; it stays where it was.
    return before?.find(each => each.queue === lane.queue && each.priority === lane.priority) ?? lane;
  });
}
