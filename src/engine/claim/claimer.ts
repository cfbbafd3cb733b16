// Claims due runs in batches, as long as there are more and the worker has room for them.
import { performance } from 'node:perf_hooks';
import {
  type Claim,
  type ClaimOptions,
  type ClaimPosition,
  claimFreeRuns,
  claimRunsBehind,
  type QueuePriority,
} from '../../store/runs/claim/claim.js';
import { MAX_CLAIMED } from '../../store/runs/claim/claim-in-queue.js';
import { readOtherPlaces } from '../../store/runs/claim/other-places.js';
import { takeRestartTurn } from '../../store/runs/claim/restart-turn.js';
import type { Engine } from '../engine.js';
import { claimDespiteBadRows } from '../set-aside.js';
import { ALWAYS_WORTH_CLAIMING, createClaimBeside } from './beside/claim-beside.js';
import { createClaimTurns } from './beside/claim-turns.js';
import { createSideClaim } from './beside/side-claim.js';
import { createClaimCursor } from './claim-cursor.js';
import { type ClaimFloors, createClaimFloors } from './claim-floors.js';
import { claimOver } from './claim-over.js';
import { createFrontLock } from './front-lock.js';
import { createLooksBelow } from './looks-below.js';
import { createWaitingClaim } from './waiting-claim.js';

export interface Claimer {
  /**
   * Claims until there is no room, or nothing more is due. Called while a claim is under way, it returns that
   * one. Returns how many runs were accepted.
   *
   * @param hint where a run was just enqueued: claims only there
   */
  claim(hint?: QueuePriority): Promise<number>;
  /** Whether there was more at the last claim, or runs may wait for this code. */
  readonly hasMore: boolean;
  /** Runs may wait for this code: claims them, before others, as soon as there is room. */
  expectWaiting(): void;
  readonly isClaiming: boolean;
  /** Room that is kept for claims beside the one that continues. */
  readonly reserved: number;
  /** From where claims begin. */
  readonly floors: ClaimFloors;
  /** Resolves when no claim is under way, however it ended. */
  idle(): Promise<unknown>;
  /**
   * Forgets that there was more: a claim that fails by itself is left to the tick or daemon, which reports
   * it.
   */
  halt(): void;
  /** No claim is to come. */
  stop(): void;
}

export interface ClaimerOptions {
  readonly workerId: string;
  /** Only these; null: all. */
  readonly queues: readonly string[] | null;
  /** Whether claims may begin at floors, once walks from the beginning are slow. */
  readonly keepsFloors: boolean;
  /** How many more runs the worker may claim, without what is reserved. */
  readonly claimable: () => number;
  /**
   * Where there is more, room for fewer runs than this is worth no claim that follows another at once; but
   * room for 500 always is.
   */
  readonly worthClaiming: () => number;
  /** Accepts claimed runs. Returns how many. @param sentAt when the claim was sent, by performance.now() */
  readonly accept: (claim: Claim, sentAt: number) => Promise<number>;
  /** There was more, and now there is not. */
  readonly onExhausted: () => void;
  /** A claim is over, during which runs that ended started no other; or there is more to claim. */
  readonly onIdle: () => void;
}

/** How often one call claims again when what it found needs a slot. */
const MAX_PASSES = 20;
/** How many runs a claim of those left behind takes. If there are more, the next claims go on there. */
const MAX_BEHIND = 100;

/** A claimer that has claimed nothing yet. */
export function createClaimer(engine: Engine, options: ClaimerOptions): Claimer {
  const { workerId, queues, claimable, worthClaiming, accept, onExhausted, onIdle, keepsFloors } = options;
  const { leaseMs } = engine.settings;
  const cursor = createClaimCursor();
  const floors = createClaimFloors(keepsFloors, () => looksBelow.begin());
  let hasMore = false;
  let claiming: Promise<number> | null = null;
  /** How many runs the claims that continue may bring, or have brought and not handed over yet. */
  let expected = 0;
  const takeTurn = createClaimTurns();
  const frontLock = createFrontLock();

  /** The next claim looks everywhere, from the beginning. */
  const beginAnew = () => {
    cursor.forget();
    floors.forget();
  };
  const looksBelow = createLooksBelow(engine, {
    floors,
    // Claims that continue look for what was left behind themselves.
    canLook: () => cursor.positions === null && claimable() > 0,
    onFound() {
      hasMore = true;
      onIdle();
    },
  });

  const claimRuns = (wanted: ClaimOptions, positions: readonly ClaimPosition[] | null) =>
    claimDespiteBadRows(engine, wanted, () =>
      frontLock.claim(wanted, frontWaitMs =>
        claimFreeRuns(engine.database, { ...wanted, frontWaitMs }, positions),
      ),
    );

  const behind = createSideClaim({ accept, onFailed: beginAnew, onIdle });
  const beside = createClaimBeside({
    room: () => Math.min(room(), MAX_CLAIMED),
    takeTurn,
    claim(limit, position) {
      const wanted = { limit, workerId, leaseMs, queues, fromFront: true };
      return claimRuns(wanted, [position]);
    },
    accept,
    onFailed: beginAnew,
    onIdle,
  });

  const room = () => claimable() - expected;
  const ofWaiting = { workerId, queues, room: () => Math.min(room(), MAX_CLAIMED), accept };
  const waiting = createWaitingClaim(engine, ofWaiting);

  /** Sends a claim; null where there is no room for one. */
  const send = () => {
    if (room() <= 0) return null;
    const limit = Math.min(room(), MAX_CLAIMED);
    const { afterQueue, fromFront } = cursor;
    const wanted = { limit, workerId, leaseMs, queues, afterQueue, fromFront };
    const underWay = expecting(wanted.limit, claimOn(wanted));
    // It is awaited later; until then a rejection must not count as unhandled.
    underWay.catch(() => undefined);
    return underWay;
  };

  const expecting = async (limit: number, underWay: ReturnType<typeof claimFrom>) => {
    expected += limit;
    try {
      const answer = await underWay;
      expected += answer.claimed.runs.length;
      return answer;
    } finally {
      expected -= limit;
    }
  };

  const claimOn = async (wanted: ClaimOptions) => {
    const sentAt = performance.now();
    let { limit } = wanted;
    if (!behind.isUnderWay && cursor.mustRestart(sentAt) && (await restart(wanted, sentAt)))
      limit -= MAX_BEHIND;
    const { positions } = cursor;
    if (positions !== null && cursor.mustLook(sentAt))
      cursor.looked(await readOtherPlaces(engine.database, positions, queues), sentAt, performance.now());
    return await claimFrom({ ...wanted, limit }, cursor.positions);
  };

  /**
   * Claims what was left behind, if no other worker does. It may walk far, and urgent runs would wait for it:
   * so it does that beside the claim that continues, or, where there is little room, in its place. Returns
   * whether it is beside.
   */
  const restart = async (wanted: ClaimOptions, now: number): Promise<boolean> => {
    if (queues === null && !(await takeRestartTurn(engine.database, cursor.pauseMs))) {
      cursor.leaveRestart(now);
      return false;
    }
    const { positions } = cursor;
    if (positions === null || wanted.limit < 2 * MAX_BEHIND) {
      beginAnew();
      return false;
    }
    const wantedBehind = { ...wanted, limit: MAX_BEHIND };
    behind.begin(MAX_BEHIND, async sentAt => {
      const claimed = await claimDespiteBadRows(engine, wantedBehind, () =>
        claimRunsBehind(engine.database, wantedBehind, positions),
      );
      cursor.restarted(claimed, sentAt, performance.now());
      return claimed;
    });
    return true;
  };

  const claimFrom = async (wanted: ClaimOptions, positions: readonly ClaimPosition[] | null) => {
    const sentAt = performance.now();
    const turn = takeTurn();
    const [position] = positions ?? [];
    const isInFront = position?.needSlots === 'none' && positions?.length === 1 && wanted.fromFront;
    if (isInFront && wanted.limit === MAX_CLAIMED) beside.begin(position);
    const from = positions === null ? floors.begin() : floors.goOn();
    try {
      const claimed = await claimRuns({ ...wanted, floors: from.floors }, positions);
      floors.claimed(claimed, from);
      cursor.advance(claimed, positions, sentAt, performance.now(), from.floors.length > 0);
      return { claimed, sentAt, turn, isFromStart: positions === null };
    } catch (error) {
      turn.over();
      throw error;
    }
  };

  /** Claims only where the hint says; the next look or claim finds the rest. */
  const claimHinted = async (hint: QueuePriority): Promise<number> => {
    const limit = Math.min(claimable(), MAX_CLAIMED);
    if (limit <= 0) return 0;
    const sentAt = performance.now();
    const wanted = { limit, workerId, leaseMs, queues };
    const claimed = await claimOver(engine, engine.database, hint, wanted, floors);
    hasMore ||= claimed.hasMore;
    return await accept(claimed, sentAt);
  };

  const claimAll = async (): Promise<number> => {
    const hadMore = hasMore || waiting.isExpected;
    let total = waiting.takesTurn() ? await waiting.claim() : 0;
    let failure: unknown;
    let underWay = send();
    for (let pass = 1; underWay !== null; pass++) {
      const { claimed, sentAt, turn, isFromStart }: Awaited<typeof underWay> = await underWay;
      hasMore = claimed.hasMore || floors.mustBegin;
      const hasLimited = claimed.limited.length > 0;
      // Runs without a slot are blocked now, and others may lie behind them. A claim that continued an
      // earlier one and came up short says nothing about what lies before.
      const goesOn = () =>
        failure === undefined && pass < MAX_PASSES && (hasMore || hasLimited || !isFromStart);
      // The server looks for the next runs while these start; but runs that need a slot must be blocked
      // first.
      const isWorthIt = !hasMore || room() >= Math.min(worthClaiming(), ALWAYS_WORTH_CLAIMING);
      underWay = goesOn() && !hasLimited && isWorthIt ? send() : null;
      await turn.answered(claimed.positions);
      expected -= claimed.runs.length;
      try {
        total += await accept(claimed, sentAt);
      } catch (error) {
        // The claim that is under way has leases already, so it must still be accepted.
        failure = error;
      } finally {
        turn.over();
      }
      if (hasLimited && goesOn()) underWay = send();
    }
    // What was not found here may be under way beside: a tick ends once a claim has brought nothing.
    if (total === 0) total = await beside.idle().then(() => waiting.claim());
    if (hadMore && !hasMore && !waiting.isExpected) onExhausted();
    if (failure !== undefined) throw failure;
    return total;
  };

  return {
    claim(hint) {
      cursor.lookSoon();
      claiming ??= (hint && !waiting.isExpected ? claimHinted(hint) : claimAll()).then(
        total => {
          claiming = null;
          onIdle();
          return total;
        },
        (error: unknown) => {
          claiming = null;
          throw error;
        },
      );
      return claiming;
    },
    get hasMore() {
      return hasMore || waiting.isExpected;
    },
    expectWaiting() {
      waiting.isExpected = true;
      onIdle();
    },
    get isClaiming() {
      return claiming !== null;
    },
    get reserved() {
      return behind.reserved + beside.reserved;
    },
    floors,
    async idle() {
      await claiming?.catch(() => undefined);
      await Promise.all([behind.idle(), beside.idle()]);
    },
    halt() {
      hasMore = false;
      waiting.isExpected = false;
    },
    stop() {
      looksBelow.stop();
    },
  };
}
