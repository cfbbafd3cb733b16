// What a worker claims next. There are three kinds of claims: of plain runs, where its watermarks are; of
// runs that wait for its code; and of runs of fair keys. Those that may find something take turns.
import type { Timer } from '../../model/clock.js';
import { knownJob } from '../../model/job/registry.js';
import { isConnectionFailure } from '../../store/connection/errors.js';
import {
  type Claim,
  type ClaimOptions,
  claimFreeRuns,
  claimInLanes,
  type QueueLane,
} from '../../store/runs/claim/claim.js';
import { claimWaitingRuns, readAwaitedJobs } from '../../store/runs/claim/waiting/claim-waiting.js';
import { claimFair } from '../../store/runs/fair/claim-fair.js';
import type { Engine } from '../engine.js';
import { claimDespiteBadRows, FAIR, waitingFor } from '../set-aside.js';
import { type Asked, askedToo, type Expected, type Sent, Watermarks } from './watermarks.js';

export interface ClaimsOptions {
  readonly workerId: string;
  /** Only these; null: all. */
  readonly queues: readonly string[] | null;
  /**
   * Whether the worker goes on when nothing is left. Then its claims start at watermarks, and now and then at
   * the first run of each lane. A tick ends, so it keeps no watermarks and claims everywhere.
   */
  readonly goesOn: boolean;
  /** It is time to claim again. */
  readonly onMore: () => void;
}

/** What a claim has brought. Its runs are leased from `sentAt` on, by the engine's clock. */
export interface Got extends Pick<Claim, 'runs' | 'needsAdmission'> {
  readonly sentAt: number;
}

/**
 * After this time, a claim visits all lanes again and finds more urgent runs; until then, claims visit only
 * lanes that had more. The time grows with the number of lanes, since a claim everywhere costs an index
 * descent in each.
 */
const CONTINUE_MS = 100;
const CONTINUE_MS_PER_LANE = 0.1;
/**
 * Complete claims start at the first run of each lane: they find what has come to lie below the watermarks,
 * and may read the entries of many ended runs. Other claims wait for them, so they take 1/120 of a worker's
 * time at most, and those of all daemons 1/20 of one's.
 */
const COMPLETE_MS = 500;
const COMPLETE_SHARE = 120;
const COMPLETE_SHARE_OF_ALL = 20;
/** After a claim that found nothing, a complete one follows at once if the last took no longer than this. */
const QUICK_MS = 5;
/** A fair key that is ready later than this is found by a poll. */
const MAX_WAIT_MS = 60_000;

export class Claims {
  /** Where claims of plain runs start. */
  readonly watermarks: Watermarks;
  /** Where plain runs are said to be due, since the last claim there was sent. */
  asked: Asked = null;
  /** The last claim of plain runs has left more: the next one comes when there is room enough. */
  leftMore = false;
  /** Whether fair keys were ever expected: this process need not look for them otherwise. */
  usesFair = false;
  /** How many daemons claim beside each other, as far as is known. */
  daemons = 1;
  private readonly engine: Engine;
  private readonly options: ClaimsOptions;
  /** Runs may wait for this code: workers with other code did not know their jobs. */
  private expectsWaiting = false;
  /** When fair keys are ready next. */
  private fairAt = Number.POSITIVE_INFINITY;
  private fairTimer: Timer | undefined;
  /** Whose turn it is: the place in the order of `kinds`. */
  private turn = 0;
  private everywhereAt = Number.NEGATIVE_INFINITY;
  /** When the next complete claim is due; infinite: none is. */
  private completeAt = Number.POSITIVE_INFINITY;
  private completeTimer: Timer | undefined;
  /** How long the last complete claim took. */
  private completeMs = 0;
  /** The server has refused the last complete claim, and that was logged. */
  private isRefused = false;
  private isStopped = false;
  private afterQueue = '';
  /**
   * Up to which job the list of awaited jobs was read last; null: to its end. It is read in a circle, so that
   * jobs that nobody here has, or whose queues are closed, keep no others waiting, however many they are.
   */
  private awaitedFrom: string | null = null;
  private readonly kinds = [
    // Half of the room, so that they keep no others waiting.
    {
      isExpected: () => this.expectsWaiting,
      claim: (room: number) => this.claimWaiting(Math.ceil(room / 2)),
    },
    {
      isExpected: () => this.engine.clock.now() >= this.fairAt,
      claim: (room: number) => this.claimFair(this.leftMore ? Math.ceil(room / 2) : room),
    },
    {
      isExpected: () => this.asked !== null || this.leftMore,
      claim: (room: number) => this.claimPlain(room),
    },
  ] as const;

  /** Nothing is expected, and nothing was claimed yet. */
  constructor(engine: Engine, options: ClaimsOptions) {
    this.engine = engine;
    this.options = options;
    this.watermarks = new Watermarks(options.goesOn);
  }

  /**
   * Whether the last claims left more that is due, runs may wait for this code, or fair keys may be ready.
   */
  get hasMore(): boolean {
    return this.leftMore || this.expectsWaiting || this.engine.clock.now() >= this.fairAt;
  }

  /**
   * Whether it is time to claim: there is more, somebody says that runs are due, or a complete claim is due.
   */
  get isDue(): boolean {
    return this.hasMore || this.asked !== null || (this.options.goesOn && this.isCompleteDue);
  }

  /** Plain runs are due. @param lane where they were just enqueued. Default: anywhere */
  ask(lane?: QueueLane): void {
    this.asked = askedToo(this.asked, lane ?? null);
  }

  /**
   * Such runs may be claimable; where they are below the watermarks, the next claim of plain runs is
   * complete.
   */
  expect(what: Expected): void {
    if (what === 'waiting') this.expectsWaiting = true;
    else if (what === 'below') this.completeAt = 0;
    else [this.usesFair, this.fairAt] = [true, 0];
  }

  /**
   * After a failure no runs are due, until somebody says so again: a tick or daemon claims, and reports it.
   */
  forget(): void {
    this.asked = null;
    this.leftMore = false;
    this.expectsWaiting = false;
    this.fairAt = Number.POSITIVE_INFINITY;
  }

  /** Claims what is next in turn; null: nothing is due. @param room for how many runs, at least 1 */
  next(room: number): Promise<Got> | null {
    for (let n = 0; n < this.kinds.length; n++) {
      const kind = this.kinds[this.turn % this.kinds.length];
      this.turn++;
      if (kind?.isExpected()) return kind.claim(room);
    }
    return this.isDue ? this.claimPlain(room) : null;
  }

  /** No more claims will come. */
  stop(): void {
    this.isStopped = true;
    this.engine.clock.clear(this.completeTimer);
    this.engine.clock.clear(this.fairTimer);
  }

  private get isCompleteDue(): boolean {
    return this.engine.clock.now() >= this.completeAt;
  }

  /** Claims in the lane that was named, or in those that had more a moment ago; else everywhere. */
  private async claimPlain(limit: number): Promise<Got> {
    const { asked, watermarks } = this;
    const sentAt = this.engine.clock.now();
    if (this.isCompleteDue) {
      const claim = await this.claimComplete(limit);
      if (claim !== null) return { ...claim, sentAt };
    } else if (asked !== null && asked !== 'anywhere') {
      this.asked = null;
      const claim = await this.claimIn(watermarks.in(asked), limit);
      this.leftMore ||= claim.hasMore;
      return { ...claim, sentAt };
    }
    const mustBeEverywhere = sentAt >= this.everywhereAt || watermarks.haveFallen;
    const some = mustBeEverywhere ? null : watermarks.whereMore();
    const claim =
      some === null
        ? await this.claimEverywhere(limit, watermarks.everywhere())
        : await this.claimIn(some, limit);
    this.leftMore = claim.hasMore || watermarks.hasMore || watermarks.haveFallen;
    // It tells nothing about the other lanes.
    if (some !== null) this.asked = 'anywhere';
    else this.oweComplete(isVain(claim));
    return { ...claim, sentAt };
  }

  private async claimEverywhere(limit: number, sent: Sent): Promise<Claim> {
    const sentAt = this.engine.clock.now();
    // Before the statement: what is said meanwhile counts.
    this.asked = null;
    const claim = await this.claimFrom(sent, limit, wanted =>
      claimFreeRuns(this.engine.database, wanted, sent.watermarks),
    );
    this.everywhereAt = sentAt + CONTINUE_MS + CONTINUE_MS_PER_LANE * claim.lanes.length;
    return claim;
  }

  /**
   * Claims from the first run of each lane. Null: the server refuses that, and claims go on without it for a
   * while.
   */
  private async claimComplete(limit: number): Promise<Claim | null> {
    const { watermarks } = this;
    const { clock, logger } = this.engine;
    const sentAt = clock.now();
    this.completeAt = Number.POSITIVE_INFINITY;
    const answered = () => {
      this.completeMs = clock.now() - sentAt;
    };
    try {
      const claim = await this.claimEverywhere(limit, watermarks.everywhere(true)).finally(answered);
      this.isRefused = false;
      this.leftMore = claim.hasMore || watermarks.hasMore || watermarks.haveFallen;
      if (!isVain(claim)) this.oweComplete(false);
      return claim;
    } catch (error) {
      this.oweComplete(false);
      if (isConnectionFailure(error)) throw error;
      this.asked = 'anywhere';
      if (!this.isRefused)
        logger.warn(
          { event: 'claim.incomplete', error: String(error) },
          `cannot claim from the first runs on, so runs that were given back or enqueued for the past wait: ${String(error)}; tock doctor names sessions whose snapshots keep ended runs from being vacuumed`,
        );
      this.isRefused = true;
      return null;
    }
  }

  /** A claim was answered: a complete one follows after a pause. */
  private oweComplete(wasVain: boolean): void {
    const { goesOn, onMore } = this.options;
    if (!goesOn || this.isStopped || this.watermarks.known.length === 0) return;
    const { clock } = this.engine;
    const isSoon = wasVain && this.completeMs <= QUICK_MS;
    const usualMs = isSoon ? 0 : Math.max(COMPLETE_MS, COMPLETE_SHARE * this.completeMs);
    const pauseMs = Math.max(usualMs, COMPLETE_SHARE_OF_ALL * this.daemons * this.completeMs);
    const at = clock.now() + pauseMs;
    if (at >= this.completeAt) return;
    this.completeAt = at;
    clock.clear(this.completeTimer);
    this.completeTimer = clock.setTimeout(() => {
      // A timer may come a moment early.
      this.completeAt = 0;
      onMore();
    }, pauseMs);
    this.completeTimer.unref();
  }

  private async claimIn(sent: Sent, limit: number): Promise<Claim> {
    const claim = await this.claimFrom(sent, limit, wanted =>
      claimInLanes(this.engine.database, wanted, sent.watermarks),
    );
    this.oweComplete(isVain(claim));
    return claim;
  }

  private async claimFrom(
    sent: Sent,
    limit: number,
    send: (wanted: ClaimOptions) => Promise<Claim>,
  ): Promise<Claim> {
    const wanted = { ...this.wanted(limit), afterQueue: this.afterQueue };
    const claim = await claimDespiteBadRows(this.engine, wanted, () => send(wanted));
    this.watermarks.claimed(claim, sent);
    this.afterQueue = claim.lanes.findLast(lane => lane.at !== null)?.queue ?? this.afterQueue;
    return claim;
  }

  private wanted(limit: number): ClaimOptions {
    const { workerId, queues } = this.options;
    const { leaseMs, service: ownService } = this.engine.settings;
    return { workerId, queues, ownService, leaseMs, limit };
  }

  private async claimWaiting(limit: number): Promise<Got> {
    const { clock, database } = this.engine;
    // Before the statement: a run that is given back meanwhile sets it again.
    this.expectsWaiting = false;
    const wanted = this.wanted(limit);
    const isFromFirst = this.awaitedFrom === null;
    for (let isLastRound = isFromFirst; ; isLastRound ||= this.awaitedFrom === null) {
      const awaited = await readAwaitedJobs(database, this.awaitedFrom);
      this.awaitedFrom = awaited.next;
      const jobs = awaited.jobs.filter(job => canExecute(this.engine, job));
      const sentAt = clock.now();
      const send = () => claimWaitingRuns(database, jobs, wanted);
      const claim =
        jobs.length === 0 ? null : await claimDespiteBadRows(this.engine, wanted, send, waitingFor(jobs));
      if (claim !== null && claim.runs.length + claim.needsAdmission.length > 0) {
        // There may be more of these jobs, of those after them, and of those before.
        if (claim.hasMore || this.awaitedFrom !== null || !isFromFirst) this.expectsWaiting = true;
        return { ...claim, sentAt };
      }
      if (this.awaitedFrom === null && isLastRound) return { runs: [], needsAdmission: [], sentAt };
    }
  }

  private async claimFair(limit: number): Promise<Got> {
    const { clock, database } = this.engine;
    // Before the statement: what comes meanwhile is expected again.
    this.fairAt = Number.POSITIVE_INFINITY;
    const sentAt = clock.now();
    const wanted = this.wanted(limit);
    const claim = await claimDespiteBadRows(this.engine, wanted, () => claimFair(database, wanted), FAIR);
    const nextMs = 'nextMs' in claim ? claim.nextMs : null;
    const nextAt = nextMs === null ? Number.POSITIVE_INFINITY : clock.now() + nextMs;
    this.fairAt = Math.min(this.fairAt, claim.hasMore ? 0 : nextAt);
    clock.clear(this.fairTimer);
    if (nextMs !== null && nextMs < MAX_WAIT_MS && !this.isStopped) {
      this.fairTimer = clock.setTimeout(
        () => {
          this.fairAt = 0;
          this.options.onMore();
        },
        Math.max(0, Math.ceil(nextMs)),
      );
      this.fairTimer.unref();
    }
    return { ...claim, sentAt };
  }
}

const isVain = ({ runs, needsAdmission }: Claim) => runs.length + needsAdmission.length === 0;

/**
 * Whether a run of the job can be executed here: by its code, or by a relay's consumer, which may know it.
 */
function canExecute({ registry, relay }: Engine, job: string): boolean {
  return relay !== undefined || knownJob(registry, job) !== undefined;
}
