// Room: engine/claim. Where the next claim continues: after the last claimed run, so that it skips ended
// runs.
// In: each claim's answer. Out: a position per queue and priority; every 500 ms, the beginning.
import type { Claim, ClaimPosition } from '../../store/runs/claim/claim.js';

/** How often a claim starts at the beginning, where late, urgent or resumed runs are found. */
const RESTART_EVERY_MS = 500;

export interface ClaimCursor {
  /** Where the next claim continues; null: at the beginning. @param now milliseconds of any steady clock */
  position(now: number): readonly ClaimPosition[] | null;
  /** Moves past what a claim took. @param now when that claim was sent */
  advance(claim: Claim, now: number): void;
}

/** A cursor at the beginning. */
export function createClaimCursor(): ClaimCursor {
  let positions: readonly ClaimPosition[] | null = null;
  let restartedAt = Number.NEGATIVE_INFINITY;
  const mustRestart = (now: number) => positions === null || now - restartedAt >= RESTART_EVERY_MS;
  return {
    position(now) {
      return mustRestart(now) ? null : positions;
    },
    advance(claim, now) {
      if (mustRestart(now)) restartedAt = now;
      // A claim that came up short has reached the end, and what comes next may be anywhere.
      const canContinue =
        claim.hasMore && claim.positions.length > 0 && !claim.positions.some(position => position.isLimited);
      positions = canContinue ? advanced(positions, claim.positions) : null;
    },
  };
}

function advanced(
  before: readonly ClaimPosition[] | null,
  claimed: readonly ClaimPosition[],
): ClaimPosition[] {
  return claimed.map(position => {
    if (position.at !== null) return position;
    // This claim took nothing from that queue and priority, so the earlier position stays.
    const { queue, priority } = position;
    return before?.find(known => known.queue === queue && known.priority === priority) ?? position;
  });
}
