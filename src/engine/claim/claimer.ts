// Claims due runs in batches, as long as there are more and the worker has room for them.
import { performance } from 'node:perf_hooks';
import {
  type Claim,
  type ClaimOptions,
  claimFreeRuns,
  type QueuePriority,
} from '../../store/runs/claim/claim.js';
import { claimInPlaces, MAX_CLAIMED } from '../../store/runs/claim/claim-in-places.js';
import type { Engine } from '../engine.js';
import { claimDespiteBadRows } from '../set-aside.js';
import { createSweep } from './sweep.js';
import { createWaitingClaim } from './waiting-claim.js';
import { createWatermarks, type Sent, type Watermarks } from './watermarks.js';

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
  /** From where claims start. */
  readonly watermarks: Watermarks;
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
  /**
   * What finds runs below the watermarks: a sweep after claims, for a worker that is notified of each run;
   * for one that polls, sweeps again and again; for a tick, which ends when nothing is left, claims
   * everywhere.
   */
  readonly finds: 'notified' | 'polling' | 'ending';
  /** How many more runs the worker may claim. */
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

/** Room for so many runs is always worth a claim. */
const ALWAYS_WORTH_CLAIMING = 500;
/** How often one call claims again when what it found needs a slot. */
const MAX_PASSES = 20;
/**
 * How long claims continue where others found more, before one looks everywhere, for more urgent runs: this,
 * and so much for each place, into which such a claim descends.
 */
const CONTINUE_MS = 100;
const CONTINUE_MS_PER_PLACE = 0.1;

/** A claimer that has claimed nothing yet. */
export function createClaimer(engine: Engine, options: ClaimerOptions): Claimer {
  const { workerId, queues, finds, claimable, worthClaiming, accept, onExhausted, onIdle } = options;
  const { leaseMs } = engine.settings;
  const watermarks = createWatermarks(finds !== 'ending');
  let afterQueue = '';
  let everywhereAt = Number.NEGATIVE_INFINITY;
  let hasMore = false;
  let claiming: Promise<number> | null = null;
  /** How many runs the claim under way may bring, or has brought and not handed over yet. */
  let expected = 0;

  const sweep = createSweep(engine, {
    watermarks,
    isEndless: finds === 'polling',
    takesTurns: queues === null,
    canClaim: () => claimable() > 0,
    onFound() {
      hasMore = true;
      onIdle();
    },
  });
  const room = () => Math.min(claimable() - expected, MAX_CLAIMED);
  const waiting = createWaitingClaim(engine, { workerId, queues, room, accept });

  const answered = (claim: Claim, sent: Sent) => {
    watermarks.claimed(claim, sent);
    afterQueue = claim.places.findLast(place => place.at !== null)?.queue ?? afterQueue;
    if (finds !== 'ending') sweep.begin(claim.runs.length + claim.limited.length === 0);
  };

  /** Claims everywhere, or, where claims found more a moment ago, only there. */
  const claimNext = async (wanted: ClaimOptions) => {
    const sentAt = performance.now();
    const isEverywhere = sentAt >= everywhereAt || watermarks.haveFallen;
    const some = isEverywhere ? null : watermarks.whereMore();
    const sent = some ?? watermarks.everywhere();
    const claim = await claimDespiteBadRows(engine, wanted, () =>
      some === null
        ? claimFreeRuns(engine.database, wanted, sent.watermarks)
        : claimInPlaces(engine.database, wanted, sent.watermarks),
    );
    if (some === null) everywhereAt = sentAt + CONTINUE_MS + CONTINUE_MS_PER_PLACE * claim.places.length;
    answered(claim, sent);
    return { claim, sentAt, isEverywhere: some === null };
  };

  /** Sends a claim; null where there is no room for one. */
  const send = () => {
    const limit = room();
    if (limit <= 0) return null;
    expected += limit;
    const underWay = claimNext({ limit, workerId, leaseMs, queues, afterQueue }).then(
      answer => {
        expected += answer.claim.runs.length - limit;
        return answer;
      },
      (error: unknown) => {
        expected -= limit;
        throw error;
      },
    );
    // It is awaited later; until then a rejection must not count as unhandled.
    underWay.catch(() => undefined);
    return underWay;
  };

  /** Claims only where the hint says; the next look or claim finds the rest. */
  const claimHinted = async (hint: QueuePriority): Promise<number> => {
    const limit = room();
    if (limit <= 0) return 0;
    const sentAt = performance.now();
    const wanted = { limit, workerId, leaseMs, queues };
    const sent = watermarks.in(hint);
    const claim = await claimDespiteBadRows(engine, wanted, () =>
      claimInPlaces(engine.database, wanted, sent.watermarks),
    );
    answered(claim, sent);
    hasMore ||= claim.hasMore;
    return await accept(claim, sentAt);
  };

  const claimAll = async (): Promise<number> => {
    const hadMore = hasMore || waiting.isExpected;
    let total = waiting.takesTurn() ? await waiting.claim() : 0;
    let failure: unknown;
    let underWay = send();
    for (let pass = 1; underWay !== null; pass++) {
      const { claim, sentAt, isEverywhere }: Awaited<typeof underWay> = await underWay;
      hasMore = claim.hasMore || watermarks.hasMore || watermarks.haveFallen;
      const hasLimited = claim.limited.length > 0;
      // Runs without a slot are blocked now, and others may lie behind them. A claim that continued where
      // there was more says nothing of other places.
      const goesOn = () =>
        failure === undefined && pass < MAX_PASSES && (hasMore || hasLimited || !isEverywhere);
      // The server looks for the next runs while these start; but runs that need a slot must be blocked
      // first.
      const isWorthIt = !hasMore || room() >= Math.min(worthClaiming(), ALWAYS_WORTH_CLAIMING);
      underWay = goesOn() && !hasLimited && isWorthIt ? send() : null;
      expected -= claim.runs.length;
      try {
        total += await accept(claim, sentAt);
      } catch (error) {
        // The claim that is under way has leases already, so it must still be accepted.
        failure = error;
      }
      if (hasLimited && goesOn()) underWay = send();
    }
    if (total === 0) total = await waiting.claim();
    if (hadMore && !hasMore && !waiting.isExpected) onExhausted();
    if (failure !== undefined) throw failure;
    return total;
  };

  return {
    claim(hint) {
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
    watermarks,
    async idle() {
      await claiming?.catch(() => undefined);
    },
    halt() {
      hasMore = false;
      waiting.isExpected = false;
    },
    stop() {
      sweep.stop();
    },
  };
}
