// Where the next claim continues: after the last claimed run, so that it skips ended runs.
import type { Claim, ClaimPosition } from '../../store/runs/claim/claim.js';
import type { OtherPlaces } from '../../store/runs/claim/other-places.js';
import { createClaimFront, isBehind } from './claim-front.js';

/** How often runs that were left behind are looked for, if that takes no time. */
const RESTART_EVERY_MS = 500;
/**
 * That walks over what all workers have claimed and what has just ended. At most this share of the time is
 * spent on it, but it comes after this time at the latest.
 */
const RESTART_SHARE = 1 / 60;
const MAX_RESTART_MS = 5000;
/**
 * How often to look for other queues and priorities, and the share of the time that this may take. Of the
 * last two looks the shorter one counts: one that took long on a busy machine must not make urgent runs wait.
 */
const LOOK_EVERY_MS = 100;
const LOOK_SHARE = 1 / 20;

/** Times are milliseconds of any steady clock. */
export interface ClaimCursor {
  /** Where the next claim continues; null: at the beginning. */
  readonly positions: readonly ClaimPosition[] | null;
  /** Whether it is time to look for runs that were left behind, though claims can continue. */
  mustRestart(now: number): boolean;
  /** How long after one such look the next is due. */
  readonly pauseMs: number;
  /** Another worker looks for them. */
  leaveRestart(now: number): void;
  /** Runs that were left behind were claimed, while others continued: goes back if there are more. */
  restarted(claim: Claim, sentAt: number, answeredAt: number): void;
  /** The next claim starts at the beginning. */
  forget(): void;
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
  /**
   * Moves past what a claim took.
   * @param sent the positions with which it was sent
   * @param hadFloors whether it began at floors, and so has not looked for what was left behind
   */
  advance(
    claim: Claim,
    sent: readonly ClaimPosition[] | null,
    sentAt: number,
    answeredAt: number,
    hadFloors?: boolean,
  ): void;
}

/** A cursor at the beginning. */
export function createClaimCursor(): ClaimCursor {
  let positions: readonly ClaimPosition[] | null = null;
  let restartAt = Number.NEGATIVE_INFINITY;
  let lookAt = Number.NEGATIVE_INFINITY;
  let lookAllowedAt = Number.NEGATIVE_INFINITY;
  let lastLookMs = 0;
  let afterQueue = '';
  let pauseMs = RESTART_EVERY_MS;
  const front = createClaimFront();
  const pauseAfter = (sentAt: number, answeredAt: number) => {
    pauseMs = Math.min(Math.max(RESTART_EVERY_MS, (answeredAt - sentAt) / RESTART_SHARE), MAX_RESTART_MS);
    restartAt = sentAt + pauseMs;
  };
  return {
    get positions() {
      return positions;
    },
    mustRestart(now) {
      return positions !== null && now >= restartAt;
    },
    get pauseMs() {
      return pauseMs;
    },
    leaveRestart(now) {
      restartAt = now + pauseMs;
    },
    restarted({ positions: ends }, sentAt, answeredAt) {
      pauseAfter(sentAt, answeredAt);
      const found = ends.filter(end => end.at !== null);
      if (positions?.length === 1 && positions[0])
        front.claimedBehind(
          positions[0],
          found.some(end => end.hasMore),
        );
      if (positions !== null && found.length > 0)
        positions = positions.map(position => backTo(found, position));
    },
    forget() {
      positions = null;
    },
    get afterQueue() {
      return afterQueue;
    },
    get fromFront() {
      return front.isUsed;
    },
    mustLook(now) {
      return positions !== null && now >= lookAt;
    },
    lookSoon() {
      lookAt = lookAllowedAt;
    },
    looked({ places, mustRestart: isOutdated }, sentAt, answeredAt) {
      const lookMs = answeredAt - sentAt;
      lookAllowedAt = sentAt + Math.min(lookMs, lastLookMs) / LOOK_SHARE;
      lastLookMs = lookMs;
      lookAt = Math.max(sentAt + LOOK_EVERY_MS, lookAllowedAt);
      positions = isOutdated ? null : [...(positions ?? []), ...places.map(positionAtStart)];
    },
    advance(claim, sent, sentAt, answeredAt, hadFloors = false) {
      // Runs that were left behind were found meanwhile, or claiming them has failed.
      const isOutdated = sent !== null && positions !== sent;
      if (sent === null) {
        if (hadFloors) restartAt = sentAt + pauseMs;
        else pauseAfter(sentAt, answeredAt);
        lookAt = Math.max(sentAt + LOOK_EVERY_MS, lookAllowedAt);
        front.restarted(claim);
      } else if (sent.length === 1 && !isOutdated) front.continued(claim);
      afterQueue = claim.positions.findLast(position => position.at !== null)?.queue ?? afterQueue;
      // A claim that came up short has reached the end, and what comes next may be anywhere.
      const canContinue =
        claim.hasMore && claim.positions.length > 0 && !claim.positions.some(position => position.isLimited);
      const { unasked = [] } = claim;
      const moved = canContinue ? [...unasked, ...advanced(sent, claim.positions)] : null;
      positions = isOutdated ? moved && positions && furthestBack(moved, positions) : moved;
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
  needSlots: 'some',
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

/** Where to go on in a place, after runs were found that had been left behind there. */
function backTo(found: readonly ClaimPosition[], position: ClaimPosition): ClaimPosition {
  const end = found.find(each => placeOf(each) === placeOf(position));
  if (end === undefined) return position;
  return { ...(end.hasMore ? end : position), needSlots: both(end, position) };
}

/** Of two positions in one place, the one that is behind. */
function furthestBack(
  positions: readonly ClaimPosition[],
  others: readonly ClaimPosition[],
): ClaimPosition[] {
  return positions.map(position => {
    const other = others.find(each => placeOf(each) === placeOf(position));
    if (other === undefined) return position;
    return { ...(isBehind(other, position) ? other : position), needSlots: both(other, position) };
  });
}

/** Where a claim took nothing, the earlier position stays. */
function earlierOr(before: readonly ClaimPosition[]): (position: ClaimPosition) => ClaimPosition {
  const known = new Map(before.map(position => [placeOf(position), position]));
  return position => known.get(placeOf(position)) ?? position;
}

const both = (one: ClaimPosition, other: ClaimPosition) =>
  one.needSlots === other.needSlots ? one.needSlots : 'some';

const placeOf = ({ queue, priority }: ClaimPosition) => `${priority} ${queue}`;
