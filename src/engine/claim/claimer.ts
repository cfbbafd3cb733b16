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
import { Sweep } from './sweep.js';
import { createWaitingClaim, type WaitingClaim } from './waiting-claim.js';
import { type Sent, Watermarks } from './watermarks.js';

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

interface Answered {
  readonly claim: Claim;
  /** By performance.now(). */
  readonly sentAt: number;
  readonly isEverywhere: boolean;
}

export class Claimer {
  /** From where claims start. */
  readonly watermarks: Watermarks;
  private readonly engine: Engine;
  private readonly options: ClaimerOptions;
  private readonly sweep: Sweep;
  private readonly waiting: WaitingClaim;
  private afterQueue = '';
  private everywhereAt = Number.NEGATIVE_INFINITY;
  private foundMore = false;
  private claiming: Promise<number> | null = null;
  /** How many runs the claim under way may bring, or has brought and not handed over yet. */
  private expected = 0;

  /** It has claimed nothing yet. */
  constructor(engine: Engine, options: ClaimerOptions) {
    const { workerId, queues, finds, accept } = options;
    this.engine = engine;
    this.options = options;
    this.watermarks = new Watermarks(finds !== 'ending');
    this.sweep = new Sweep(engine, {
      watermarks: this.watermarks,
      isEndless: finds === 'polling',
      takesTurns: queues === null,
      canClaim: () => options.claimable() > 0,
      onFound: () => {
        this.foundMore = true;
        options.onIdle();
      },
    });
    this.waiting = createWaitingClaim(engine, { workerId, queues, room: () => this.room, accept });
  }

  /** Whether there was more at the last claim, or runs may wait for this code. */
  get hasMore(): boolean {
    return this.foundMore || this.waiting.isExpected;
  }

  get isClaiming(): boolean {
    return this.claiming !== null;
  }

  /**
   * Claims until there is no room, or nothing more is due. Called while a claim is under way, it returns that
   * one. Returns how many runs were accepted.
   *
   * @param hint where a run was just enqueued: claims only there
   */
  claim(hint?: QueuePriority): Promise<number> {
    this.claiming ??= (hint && !this.waiting.isExpected ? this.claimHinted(hint) : this.claimAll()).then(
      total => {
        this.claiming = null;
        this.options.onIdle();
        return total;
      },
      (error: unknown) => {
        this.claiming = null;
        throw error;
      },
    );
    return this.claiming;
  }

  /** Runs may wait for this code: claims them, before others, as soon as there is room. */
  expectWaiting(): void {
    this.waiting.isExpected = true;
    this.options.onIdle();
  }

  /** Resolves when no claim is under way, however it ended. */
  async idle(): Promise<void> {
    await this.claiming?.catch(() => undefined);
  }

  /**
   * Forgets that there was more: a claim that fails by itself is left to the tick or daemon, which reports
   * it.
   */
  halt(): void {
    this.foundMore = false;
    this.waiting.isExpected = false;
  }

  /** No claim is to come. */
  stop(): void {
    this.sweep.stop();
  }

  private get room(): number {
    return Math.min(this.options.claimable() - this.expected, MAX_CLAIMED);
  }

  private async claimAll(): Promise<number> {
    const { waiting } = this;
    const hadMore = this.hasMore;
    let total = waiting.takesTurn() ? await waiting.claim() : 0;
    let failure: { readonly error: unknown } | null = null;
    let underWay = this.send();
    for (let pass = 1; underWay !== null; pass++) {
      const { claim, sentAt, isEverywhere }: Answered = await underWay;
      this.foundMore = claim.hasMore || this.watermarks.hasMore || this.watermarks.haveFallen;
      const isLimited = claim.limited.length > 0;
      // Runs without a slot are blocked now, and others may lie behind them. A claim that continued where
      // there was more says nothing of other places.
      const goesOn = pass < MAX_PASSES && (this.foundMore || isLimited || !isEverywhere);
      // The server looks for the next runs while these start; but runs that need a slot must be blocked
      // first.
      underWay = goesOn && !isLimited && this.isWorthIt ? this.send() : null;
      this.expected -= claim.runs.length;
      try {
        total += await this.options.accept(claim, sentAt);
        if (goesOn && isLimited) underWay = this.send();
      } catch (error) {
        // The claim that is under way has leases already, so it must still be accepted, and is the last.
        failure ??= { error };
        pass = MAX_PASSES;
      }
    }
    if (total === 0) total = await waiting.claim();
    if (hadMore && !this.hasMore) this.options.onExhausted();
    if (failure !== null) throw failure.error;
    return total;
  }

  /** Where there is more, a claim that follows another at once must have room for enough runs. */
  private get isWorthIt(): boolean {
    return !this.foundMore || this.room >= Math.min(this.options.worthClaiming(), ALWAYS_WORTH_CLAIMING);
  }

  /** Sends a claim; null where there is no room for one. */
  private send(): Promise<Answered> | null {
    const limit = this.room;
    if (limit <= 0) return null;
    this.expected += limit;
    const underWay = this.claimNext(limit).then(
      answer => {
        this.expected += answer.claim.runs.length - limit;
        return answer;
      },
      (error: unknown) => {
        this.expected -= limit;
        throw error;
      },
    );
    // It is awaited later; until then a rejection must not count as unhandled.
    underWay.catch(() => undefined);
    return underWay;
  }

  /** Claims everywhere, or, where claims found more a moment ago, only there. */
  private async claimNext(limit: number): Promise<Answered> {
    const sentAt = performance.now();
    const mustBeEverywhere = sentAt >= this.everywhereAt || this.watermarks.haveFallen;
    const some = mustBeEverywhere ? null : this.watermarks.whereMore();
    if (some !== null) return { claim: await this.claimIn(some, limit), sentAt, isEverywhere: false };
    const sent = this.watermarks.everywhere();
    const claim = await this.ask(sent, limit, wanted =>
      claimFreeRuns(this.engine.database, wanted, sent.watermarks),
    );
    this.everywhereAt = sentAt + CONTINUE_MS + CONTINUE_MS_PER_PLACE * claim.places.length;
    return { claim, sentAt, isEverywhere: true };
  }

  /** Claims only where the hint says; the next look or claim finds the rest. */
  private async claimHinted(hint: QueuePriority): Promise<number> {
    const limit = this.room;
    if (limit <= 0) return 0;
    const sentAt = performance.now();
    const claim = await this.claimIn(this.watermarks.in(hint), limit);
    this.foundMore ||= claim.hasMore;
    return await this.options.accept(claim, sentAt);
  }

  private claimIn(sent: Sent, limit: number): Promise<Claim> {
    return this.ask(sent, limit, wanted => claimInPlaces(this.engine.database, wanted, sent.watermarks));
  }

  private async ask(
    sent: Sent,
    limit: number,
    send: (wanted: ClaimOptions) => Promise<Claim>,
  ): Promise<Claim> {
    const { workerId, queues, finds } = this.options;
    const { leaseMs } = this.engine.settings;
    const wanted = { limit, workerId, leaseMs, queues, afterQueue: this.afterQueue };
    const claim = await claimDespiteBadRows(this.engine, wanted, () => send(wanted));
    this.watermarks.claimed(claim, sent);
    this.afterQueue = claim.places.findLast(place => place.at !== null)?.queue ?? this.afterQueue;
    if (finds !== 'ending') this.sweep.begin(claim.runs.length + claim.limited.length === 0);
    return claim;
  }
}
