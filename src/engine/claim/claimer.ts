// Claims due runs in batches, as long as more are due and the worker has room.
import {
  type Claim,
  type ClaimOptions,
  claimFreeRuns,
  type QueueLane,
} from '../../store/runs/claim/claim.js';
import { claimInLanes, MAX_CLAIMED } from '../../store/runs/claim/claim-in-lanes.js';
import type { Engine } from '../engine.js';
import { claimDespiteBadRows } from '../set-aside.js';
import { createFairClaim, type FairClaim } from './fair-claim.js';
import { Sweep } from './sweep.js';
import { createWaitingClaim, type WaitingClaim } from './waiting-claim.js';
import { type Sent, Watermarks } from './watermarks.js';

export interface ClaimerOptions {
  readonly workerId: string;
  /** Only these; null: all. */
  readonly queues: readonly string[] | null;
  /**
   * Whether the worker goes on when nothing is left. Then its claims start at watermarks, and sweeps look
   * below them. A tick ends, so it keeps no watermarks and claims everywhere.
   */
  readonly goesOn: boolean;
  /** How many more runs the worker may claim. */
  readonly claimable: () => number;
  /** While more is due, the next claim follows at once only if there is room for so many runs, or for 500. */
  readonly worthClaiming: () => number;
  /** Accepts claimed runs. Returns how many. @param sentAt when the claim was sent, by the engine's clock */
  readonly accept: (claim: Claim, sentAt: number) => Promise<number>;
  /** More was due, and now nothing is. */
  readonly onExhausted: () => void;
  /** A claim is over, or more has become due. While a claim is under way, runs that end start no other. */
  readonly onIdle: () => void;
}

/** Room for so many runs is always worth a claim. */
const ALWAYS_WORTH_CLAIMING = 500;
/** How many claims one call makes at most. */
const MAX_PASSES = 20;
/**
 * After this time, a claim visits all lanes again and finds more urgent runs; until then, claims visit only
 * lanes that had more. The time grows with the number of lanes, since a claim everywhere costs an index
 * descent in each.
 */
const CONTINUE_MS = 100;
const CONTINUE_MS_PER_LANE = 0.1;

interface Answered {
  readonly claim: Claim;
  /** By the engine's clock. */
  readonly sentAt: number;
  readonly isEverywhere: boolean;
}

export class Claimer {
  /** Where claims start. */
  readonly watermarks: Watermarks;
  private readonly engine: Engine;
  private readonly options: ClaimerOptions;
  private readonly sweep: Sweep;
  private readonly waiting: WaitingClaim;
  private readonly fair: FairClaim;
  private afterQueue = '';
  private everywhereAt = Number.NEGATIVE_INFINITY;
  private foundMore = false;
  private claiming: Promise<number> | null = null;
  /** How many runs the claim under way may bring, or has brought and the worker has not accepted yet. */
  private expected = 0;

  /** A claimer that has claimed nothing yet. */
  constructor(engine: Engine, options: ClaimerOptions) {
    const { workerId, queues, goesOn, accept } = options;
    this.engine = engine;
    this.options = options;
    this.watermarks = new Watermarks(goesOn);
    this.sweep = new Sweep(engine, {
      watermarks: this.watermarks,
      takesTurns: queues === null,
      canClaim: () => options.claimable() > 0,
      onFound: () => {
        this.foundMore = true;
        options.onIdle();
      },
    });
    this.waiting = createWaitingClaim(engine, { workerId, queues, room: () => this.room, accept });
    this.fair = createFairClaim(engine, { workerId, queues, accept, onReady: options.onIdle });
  }

  /** Whether the last claim left more that is due, runs may wait for this code, or fair keys may be ready. */
  get hasMore(): boolean {
    return this.foundMore || this.waiting.isExpected || this.fair.isExpected;
  }

  get isClaiming(): boolean {
    return this.claiming !== null;
  }

  /**
   * Claims until there is no room, or nothing more is due. A call while a claim is under way returns the
   * promise of that claim. Returns how many runs were accepted.
   *
   * @param hint the lane in which a run was just enqueued: the call claims only there
   */
  claim(hint?: QueueLane): Promise<number> {
    this.claiming ??= (
      hint && !this.waiting.isExpected && !this.fair.isExpected ? this.claimHinted(hint) : this.claimAll()
    ).then(
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

  /** Runs may wait for this code: claims them before other runs, as soon as there is room. */
  expectWaiting(): void {
    this.waiting.isExpected = true;
    this.options.onIdle();
  }

  /** Fair keys may be ready: claims their runs as soon as there is room. */
  expectFair(): void {
    this.fair.expect();
    this.options.onIdle();
  }

  /** Whether fair keys were ever expected. */
  get usesFair(): boolean {
    return this.fair.isUsed;
  }

  /** Resolves when no claim is under way, however it ended. */
  async idle(): Promise<void> {
    await this.claiming?.catch(() => undefined);
  }

  /**
   * Forgets that more was due: after a failed claim the tick or daemon claims again, and reports the failure.
   */
  halt(): void {
    this.foundMore = false;
    this.waiting.isExpected = false;
    this.fair.forget();
  }

  /** No more claims will come. */
  stop(): void {
    this.sweep.stop();
    this.fair.stop();
  }

  private get room(): number {
    return Math.min(this.options.claimable() - this.expected, MAX_CLAIMED);
  }

  private async claimAll(): Promise<number> {
    const { waiting, fair } = this;
    // A poll expects waiting runs also where this code lacks their jobs, and fair keys also where another
    // session holds them. Where none of them came, nothing has changed, and no further poll is needed.
    const hadMore = this.foundMore;
    const expectedOthers = waiting.isExpected || fair.isExpected;
    let total = waiting.takesTurn() ? await waiting.claim() : 0;
    if (fair.takesTurn()) total += await fair.claim(this.foundMore ? Math.ceil(this.room / 2) : this.room);
    let failure: { readonly error: unknown } | null = null;
    let underWay = this.send();
    for (let pass = 1; underWay !== null; pass++) {
      const { claim, sentAt, isEverywhere }: Answered = await underWay;
      this.foundMore = claim.hasMore || this.watermarks.hasMore || this.watermarks.haveFallen;
      const needsAdmission = claim.needsAdmission.length > 0;
      // Runs that get no slot are blocked by the admission, and other due runs may follow them. And a claim
      // in some lanes tells nothing about the other lanes.
      const goesOn = pass < MAX_PASSES && (this.foundMore || needsAdmission || !isEverywhere);
      // The server finds the next runs while these start. But an admission must come before the next claim.
      underWay = goesOn && !needsAdmission && this.isWorthIt ? this.send() : null;
      this.expected -= claim.runs.length;
      try {
        total += await this.options.accept(claim, sentAt);
        if (goesOn && needsAdmission) underWay = this.send();
      } catch (error) {
        // The claim that is under way may have leases already. So it must still be accepted; it is the last.
        failure ??= { error };
        pass = MAX_PASSES;
      }
    }
    if (total === 0) total = await waiting.claim();
    if (failure === null) total += await fair.claim(this.room);
    if ((hadMore || (expectedOthers && total > 0)) && !this.hasMore) this.options.onExhausted();
    if (failure !== null) throw failure.error;
    return total;
  }

  /** While more is due, a claim that follows another at once must have room for enough runs. */
  private get isWorthIt(): boolean {
    return !this.foundMore || this.room >= Math.min(this.options.worthClaiming(), ALWAYS_WORTH_CLAIMING);
  }

  /** Sends a claim; null if there is no room. */
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
    // The promise is awaited later. Until then a rejection must not count as unhandled.
    underWay.catch(() => undefined);
    return underWay;
  }

  /** Claims in the lanes that had more a moment ago; else everywhere. */
  private async claimNext(limit: number): Promise<Answered> {
    const sentAt = this.engine.clock.now();
    const mustBeEverywhere = sentAt >= this.everywhereAt || this.watermarks.haveFallen;
    const some = mustBeEverywhere ? null : this.watermarks.whereMore();
    if (some !== null) return { claim: await this.claimIn(some, limit), sentAt, isEverywhere: false };
    const sent = this.watermarks.everywhere();
    const claim = await this.ask(sent, limit, wanted =>
      claimFreeRuns(this.engine.database, wanted, sent.watermarks),
    );
    this.everywhereAt = sentAt + CONTINUE_MS + CONTINUE_MS_PER_LANE * claim.lanes.length;
    return { claim, sentAt, isEverywhere: true };
  }

  /** Claims only in the lane of the hint; the next poll or claim finds the rest. */
  private async claimHinted(hint: QueueLane): Promise<number> {
    const limit = this.room;
    if (limit <= 0) return 0;
    const sentAt = this.engine.clock.now();
    const claim = await this.claimIn(this.watermarks.in(hint), limit);
    this.foundMore ||= claim.hasMore;
    return await this.options.accept(claim, sentAt);
  }

  private claimIn(sent: Sent, limit: number): Promise<Claim> {
    return this.ask(sent, limit, wanted => claimInLanes(this.engine.database, wanted, sent.watermarks));
  }

  private async ask(
    sent: Sent,
    limit: number,
    send: (wanted: ClaimOptions) => Promise<Claim>,
  ): Promise<Claim> {
    const { workerId, queues, goesOn } = this.options;
    const { leaseMs } = this.engine.settings;
    const wanted = { limit, workerId, leaseMs, queues, afterQueue: this.afterQueue };
    const claim = await claimDespiteBadRows(this.engine, wanted, () => send(wanted));
    this.watermarks.claimed(claim, sent);
    this.afterQueue = claim.lanes.findLast(lane => lane.at !== null)?.queue ?? this.afterQueue;
    if (goesOn) this.sweep.begin(claim.runs.length + claim.needsAdmission.length === 0);
    return claim;
  }
}
