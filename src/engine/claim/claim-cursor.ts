// Where the next claim continues: after the last claimed run, so that it skips ended runs.
import type { Claim, ClaimPosition } from '../../store/runs/claim/claim.js';
import type { OtherPlaces } from '../../store/runs/claim/other-places.js';
import { createClaimFront } from './claim-front.js';

/** How often a claim starts at the beginning, where late runs are found, if that takes no time. */
const RESTART_EVERY_MS = 500;
/**
 * A claim from the beginning walks over what all workers have claimed and what has just ended. Each worker
 * spends at most this share of its time on it, but restarts after this time at the latest.
 */
const RESTART_SHARE = 1 / 60;
const MAX_RESTART_MS = 5000;
/** How often to look for other queues and priorities, and the share of the time that this may take. */
const LOOK_EVERY_MS = 100;
const LOOK_SHARE = 1 / 20;

/** Times are milliseconds of any steady clock. */
export interface ClaimCursor {
  /** Where the next claim continues; null: at the beginning. */
  position(now: number): readonly ClaimPosition[] | null;
  /** The queue from which the last claim took its last run: others of its priority come first. */
  readonly afterQueue: string;
  /** Whether the next claim, if it continues in one place, may start at the front. */
  readonly fromFront: boolean;
  /** Whether to look for other places before a claim that continues. */
  mustLook(now: number): boolean;
  /** Runs were enqueued: looks as soon as the share of the time allows. */
  lookSoon(): void;
  /** Adds the places that a look found. */
  looked(found: OtherPlaces, sentAt: number, answeredAt: number): void;
  /** Moves past what a claim took. */
  advance(claim: Claim, sentAt: number, answeredAt: number): void;
}

/** A cursor at the beginning. */
export function createClaimCursor(): ClaimCursor {
  let positions: readonly ClaimPosition[] | null = null;
  let restartAt = Number.NEGATIVE_INFINITY;
  let lookAt = Number.NEGATIVE_INFINITY;
  let lookAllowedAt = Number.NEGATIVE_INFINITY;
  let afterQueue = '';
  const front = createClaimFront();
  const mustRestart = (now: number) => positions === null || now >= restartAt;
  return {
    position(now) {
      return mustRestart(now) ? null : positions;
    },
    get afterQueue() {
      return afterQueue;
    },
    get fromFront() {
      return front.isUsed;
    },
    mustLook(now) {
      return !mustRestart(now) && now >= lookAt;
    },
    lookSoon() {
      lookAt = lookAllowedAt;
    },
    looked({ places, mustRestart: isOutdated }, sentAt, answeredAt) {
      lookAllowedAt = sentAt + (answeredAt - sentAt) / LOOK_SHARE;
      lookAt = Math.max(sentAt + LOOK_EVERY_MS, lookAllowedAt);
      positions = isOutdated ? null : [...(positions ?? []), ...places.map(positionAtStart)];
    },
    advance(claim, sentAt, answeredAt) {
      if (mustRestart(sentAt)) {
        const pauseMs = Math.max(RESTART_EVERY_MS, (answeredAt - sentAt) / RESTART_SHARE);
        restartAt = sentAt + Math.min(pauseMs, MAX_RESTART_MS);
        lookAt = Math.max(sentAt + LOOK_EVERY_MS, lookAllowedAt);
        front.restarted(claim);
      } else if (positions?.length === 1) front.continued(claim);
      afterQueue = claim.positions.findLast(position => position.at !== null)?.queue ?? afterQueue;
      // A claim that came up short has reached the end, and what comes next may be anywhere.
      const canContinue =
        claim.hasMore && claim.positions.length > 0 && !claim.positions.some(position => position.isLimited);
      positions = canContinue ? advanced(positions, claim.positions) : null;
    },
  };
}

/** Nothing is known of the runs there: they may need a slot. */
const positionAtStart = ({ queue, priority }: OtherPlaces['places'][number]): ClaimPosition => ({
  queue,
  priority,
  at: null,
  id: null,
  hasMore: true,
  isLimited: false,
  isPlain: false,
});

/**
 * Drops places that gave nothing: a look finds them again once they have something to give. Those that were
 * not looked at come first now.
 */
function advanced(
  before: readonly ClaimPosition[] | null,
  claimed: readonly ClaimPosition[],
): ClaimPosition[] {
  const taken = claimed.filter(position => position.at !== null);
  const unread = claimed.filter(position => position.at === null && position.hasMore);
  return unread.length === 0 ? taken : [...unread.map(earlierOr(before ?? [])), ...taken];
}

/** Where a claim took nothing, the earlier position stays. */
function earlierOr(before: readonly ClaimPosition[]): (position: ClaimPosition) => ClaimPosition {
  const known = new Map(before.map(position => [placeOf(position), position]));
  return position => known.get(placeOf(position)) ?? position;
}

const placeOf = ({ queue, priority }: ClaimPosition) => `${priority} ${queue}`;
