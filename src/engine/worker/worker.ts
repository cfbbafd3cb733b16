// A worker: the runs on their way through this process. They are claimed, wait for a place, are executed, and
// end with an outcome that is written; or they are given back. The methods are in this order.
import type { Ending, Outcome } from '../../model/run/decide.js';
import { noOutcomes } from '../../model/run/outcome-counts.js';
import { MAX_CLAIMED, type QueueLane } from '../../store/runs/claim/claim.js';
import type { ClaimedRun } from '../../store/runs/claim/claimed-run.js';
import { wakeSleepers } from '../../store/runs/workers/sleepers.js';
import { claimById } from '../claim/claim-by-id.js';
import { Claims, type Got } from '../claim/claims.js';
import {
  claimable,
  createPrefetchBuffer,
  createThroughput,
  isWorthClaiming,
  type PrefetchBuffer,
  type WorkerLoad,
} from '../claim/prefetch.js';
import type { Expected } from '../claim/watermarks.js';
import { type Engine, expectRuns, lowerWatermarks } from '../engine.js';
import { abort } from '../execute/abort.js';
import { type ActiveRun, activeRun } from '../execute/active-run.js';
import { endingsAtCrash, NOT_STARTED, runsAtWork } from '../execute/endings.js';
import { createExecutor, drainReason, type Executor } from '../execute/execute.js';
import { logWarning } from '../execute/run-logger.js';
import { notifyOutcome, notifyStart } from '../finalize/hooks.js';
import { countOutcome, logClaimed } from '../finalize/log-outcome.js';
import { isGone, outcomeOf } from '../finalize/outcome-of.js';
import { admitDespiteBadRows, setAside } from '../set-aside.js';
import { type Batches, openBatches } from './batches.js';
import { type Heartbeat, startHeartbeat } from './heartbeat.js';
import { Outcomes } from './outcomes.js';
import { Reports } from './reports.js';
import { createWakeup } from './wakeup.js';
import type { Worker, WorkerOptions } from './worker-interface.js';
import { newWorkerId, type WorkerRow, workerRow } from './worker-row.js';

const DEFAULT_CONCURRENCY = 10;
/** How many claims one call makes at most. */
const MAX_CLAIMS = 20;
/** Prefetched runs that wait for longer, because handlers have become slow, are released to other workers. */
const MAX_PREFETCHED_MS = 300;

/**
 * Opens a worker under a new id, so that it is never mistaken for an older process's. Its row in `workers` is
 * inserted by `announce`, or before its first run: an idle tick leaves no trace.
 */
export function openWorker(engine: Engine, options: WorkerOptions): Worker {
  return new OpenWorker(engine, options);
}

class OpenWorker implements Worker, WorkerLoad {
  readonly id: string;
  readonly capacity: number;
  readonly outcomeCounts = noOutcomes();
  readonly change: Worker['change'];
  /** How many handlers have not ended; one that executes a batch counts once. */
  executing = 0;
  /** Null: no job has `batch`. */
  readonly batches: Batches | null;
  isClosed = false;
  private readonly engine: Engine;
  private readonly kind: WorkerOptions['kind'];
  private readonly onLeft: WorkerOptions['onLeft'];
  private readonly row: WorkerRow;
  private readonly onChange: ReturnType<typeof createWakeup>['wake'];
  /** One for each attempt: a failed run may be claimed again before its last attempt is removed. */
  private readonly activeRuns = new Set<ActiveRun>();
  private readonly claims: Claims;
  private filling: Promise<number> | null = null;
  private readonly throughput = createThroughput();
  private readonly ready: PrefetchBuffer<ActiveRun>;
  private isBatchsTurn = false;
  private readonly executor: Executor;
  private readonly heartbeat: Heartbeat;
  private readonly outcomes: Outcomes;
  private isStopping = false;
  /** The worker's heartbeats and outcomes have a connection that nobody else can use up. */
  private readonly giveBackConnection: () => void;

  constructor(engine: Engine, options: WorkerOptions) {
    const { clock } = engine;
    const { kind, concurrency = DEFAULT_CONCURRENCY, queues = null, pollMs } = options;
    this.engine = engine;
    this.capacity = concurrency;
    this.kind = kind;
    this.onLeft = options.onLeft;
    const goesOn = kind === 'daemon' || kind === 'relay';
    this.giveBackConnection = engine.database.shares.kept.keep();
    const workerId = newWorkerId(engine);
    this.id = workerId;
    const { change, wake } = createWakeup(clock);
    this.change = change;
    this.onChange = wake;
    this.row = workerRow(engine, workerId, { ...options, capacity: concurrency });
    this.executor = createExecutor(engine, workerId);
    const onStalled = () => this.throughput.reset(clock.now());
    this.ready = createPrefetchBuffer<ActiveRun>(clock, MAX_PREFETCHED_MS, () => {
      onStalled();
      this.giveBack();
    });
    this.batches = openBatches(engine, {
      workerId,
      load: this.executor.load,
      mayMore: () => !this.isClosed && (goesOn || this.isClaiming || this.hasMore),
      onReady: () => this.startNext(),
      onStart: active => this.begin(active),
      onEnd: (active, ending) => this.ended(active, ending),
      onLeft: (active, ending) => this.finish(active, ending),
      onReturned: () => {
        this.executing--;
      },
      onOver: () => this.goOn(),
      onStalled,
    });
    this.claims = new Claims(engine, {
      workerId,
      queues,
      goesOn,
      onMore: () => this.refill(),
    });
    const reports = new Reports(engine, workerId);
    this.outcomes = new Outcomes(engine, {
      workerId,
      queues,
      reports,
      room: () => (this.hasNext ? 0 : this.claimable),
      onWritten: (...written) => this.onWritten(...written),
      accept: (claimed, sentAt) => this.takeOver(claimed, sentAt),
      onResumed: () => this.onChange(),
    });
    this.heartbeat = startHeartbeat(engine, workerId, this.activeRuns, this.row.refresh, {
      flushLogs: () => reports.logs.flush(this.activeRuns),
      pollMs,
    });
    engine.workers.add(this);
  }

  get running(): number {
    return this.activeRuns.size;
  }

  get prefetched(): number {
    return this.ready.length;
  }

  /** Unwritten outcomes take no capacity. */
  get unwritten(): number {
    return this.activeRuns.size - this.executing - this.prefetched - (this.batches?.besides ?? 0);
  }

  get isHeldUp(): boolean {
    return this.outcomes.isHeldUp;
  }

  get prefetchTarget(): number {
    return this.throughput.prefetchTarget(this.engine.clock.now());
  }

  get claimable(): number {
    if (this.engine.database.shares.isEnding) return 0;
    const own = claimable(this) - this.outcomes.awaited;
    return Math.max(0, Math.min(own, this.engine.relay?.room(this.activeRuns.size) ?? own));
  }

  get watermarks() {
    return this.claims.watermarks;
  }

  get isClaiming(): boolean {
    return this.filling !== null;
  }

  get hasMore(): boolean {
    return this.claims.hasMore;
  }

  get usesFair(): boolean {
    return this.claims.usesFair;
  }

  readonly announce = (): Promise<void> => this.row.announce();

  sharesWith(daemons: number): void {
    this.claims.daemons = Math.max(1, daemons);
  }

  expect(what: Expected): void {
    this.claims.expect(what);
    this.refill();
  }

  get asked() {
    return this.claims.asked;
  }

  ask(lane?: QueueLane): void {
    this.claims.ask(lane);
  }

  claim(lane?: QueueLane): Promise<number> {
    this.ask(lane);
    return this.fillOnce();
  }

  async claimOne(runId: string): Promise<boolean> {
    if (this.isStopping) return false;
    const sentAt = this.engine.clock.now();
    const { leaseMs } = this.engine.settings;
    const claim = await claimById(this.engine, runId, { workerId: this.id, leaseMs });
    const accepted = claim === null ? 0 : await this.accept({ ...claim, sentAt });
    this.startNext();
    this.batches?.settle();
    return accepted > 0;
  }

  /** Claims more when half of what was prefetched has started. A manual worker executes no other runs. */
  private refill(): void {
    if (!this.claims.isDue || this.isClosed || this.isClaiming || this.kind === 'manual') return;
    if (this.prefetched > this.prefetchTarget / 2 || this.claimable === 0) return;
    const { leftMore } = this.claims;
    this.fillOnce().then(
      count => {
        // What is due next was not asked meanwhile.
        if (!this.hasMore && (leftMore || count > 0)) this.onChange();
      },
      // The tick or daemon claims again, and reports it.
      () => {
        this.claims.forget();
        this.onChange();
      },
    );
  }

  /** One at a time: a call meanwhile returns the promise of the one that is under way. */
  private fillOnce(): Promise<number> {
    this.filling ??= this.fill().then(
      count => {
        this.filling = null;
        this.refill();
        this.batches?.settle();
        return count;
      },
      (error: unknown) => {
        this.filling = null;
        throw error;
      },
    );
    return this.filling;
  }

  /** Claims until there is no room, or nothing more is due. Returns how many runs were accepted. */
  private async fill(): Promise<number> {
    let accepted = 0;
    for (let claim = 1; ; claim++) {
      const claiming = this.isWorthIt(claim) ? this.claims.next(Math.min(this.claimable, MAX_CLAIMED)) : null;
      // The server finds the next runs while these start.
      this.startNext();
      if (claiming === null) return accepted;
      const got = await claiming;
      this.outcomes.claimed(got.sentAt);
      // Runs that get no slot are blocked by the admission, and other due runs may follow them.
      if (got.needsAdmission.length > 0 && claim < MAX_CLAIMS) this.claims.ask();
      accepted += await this.accept(got);
    }
  }

  /** While more is due, a claim that follows another at once must have room for enough runs. */
  private isWorthIt(claim: number): boolean {
    if (claim > MAX_CLAIMS || this.claimable === 0) return false;
    if (claim === 1 || !this.claims.leftMore) return true;
    return isWorthClaiming(this.claimable, this.prefetchTarget);
  }

  /**
   * Admits the runs that need it. What was claimed starts with the next `startNext`. Returns how many there
   * are.
   */
  private async accept({ runs, needsAdmission, sentAt }: Got): Promise<number> {
    const { engine } = this;
    if (runs.length > 0) this.throughput.recordClaim(sentAt, engine.clock.now());
    // Before the first handler starts: if the handler kills the process, the reaper can name the host.
    if (runs.length + needsAdmission.length > 0 && !this.row.isAnnounced) await this.row.announce();
    await this.take(runs, sentAt);
    if (needsAdmission.length === 0) return runs.length;
    this.startNext();
    const admittedAt = engine.clock.now();
    const lease = { workerId: this.id, leaseMs: engine.settings.leaseMs, byHand: this.kind === 'manual' };
    const { admitted, unblocked, failure, waitsForTurn } = await admitDespiteBadRows(
      engine,
      needsAdmission,
      lease,
    );
    lowerWatermarks(engine, unblocked);
    if (waitsForTurn) expectRuns(engine, 'fair');
    if (admitted.length < needsAdmission.length) this.onLeft?.();
    await this.take(admitted, admittedAt);
    if (failure === null) return runs.length + admitted.length;
    this.startNext();
    throw failure.error;
  }

  private async take(runs: readonly ClaimedRun[], claimedAt: number): Promise<void> {
    const broken = [];
    for (const run of runs) {
      if (run.defect !== null) {
        broken.push({ ...run, defect: run.defect });
        continue;
      }
      const active = activeRun(run, claimedAt);
      this.activeRuns.add(active);
      this.outcomeCounts.claimed++;
      logClaimed(this.engine, run);
      if (this.batches?.take(active) !== true) this.ready.push(active);
    }
    if (broken.length === 0) return;
    this.startNext();
    for (const { id, fence, defect } of broken) {
      const holder = { workerId: this.id, fence };
      await setAside(this.engine, id, { reason: defect, isToBlame: true, holder });
    }
  }

  /** Takes runs to which the slots of others were passed on. */
  private takeOver(runs: readonly ClaimedRun[], claimedAt: number): void {
    this.take(runs, claimedAt).catch(() => this.onChange());
    this.startNext();
    this.batches?.settle();
  }

  /** Whether a prefetched run, or one that comes with a claim, starts after each run that ends. */
  private get hasNext(): boolean {
    return this.prefetched > 0 || (this.isClaiming && this.prefetchTarget === 0);
  }

  /** Starts as much as there is room for. */
  private startNext(): void {
    if (this.isStopping) {
      this.giveBack();
      this.batches?.stop();
    }
    // By turns: neither batches nor runs that go by themselves keep the others waiting.
    while (this.executing < this.capacity) {
      this.isBatchsTurn = !this.isBatchsTurn;
      const hasStarted = this.isBatchsTurn
        ? this.startBatch() || this.startRun()
        : this.startRun() || this.startBatch();
      if (!hasStarted) break;
    }
  }

  private startBatch(): boolean {
    if (this.batches?.startNext() !== true) return false;
    this.executing++;
    return true;
  }

  private startRun(): boolean {
    const active = this.ready.shift();
    if (active === undefined) return false;
    this.executing++;
    this.begin(active);
    this.executor.execute(active, ending => {
      // A crash of the process has ended the attempt before.
      if (active.isFinalizing) return;
      // First, because the outcome may pass its slot on to a run that takes the place.
      this.executing--;
      this.ended(active, ending);
      this.goOn();
    });
    return true;
  }

  private begin(active: ActiveRun): void {
    active.startedAt = this.engine.clock.now();
    notifyStart(this.engine, active.run);
  }

  private ended(active: ActiveRun, ending: Ending | null): void {
    this.throughput.recordEnd(this.engine.clock.now(), active.run.payload_length);
    this.finish(active, ending);
  }

  /** The place of a handler is free while its outcome is being written. */
  private goOn(): void {
    this.startNext();
    this.refill();
    if (this.executing === 0) this.outcomes.flushSoon();
  }

  private finish(active: ActiveRun, ending: Ending | null): void {
    active.isFinalizing = true;
    const elapsedMs = active.startedAt === null ? 0 : this.engine.clock.now() - active.startedAt;
    const outcome = ending && outcomeOf(this.engine, active.run, ending, elapsedMs, active.batchSize);
    active.span?.end(outcome, active.isCommitted);
    if (outcome !== null && !active.isCommitted) logWarning(this.engine, active, outcome);
    if (outcome?.transition === 'succeed') active.cursors = null;
    this.outcomes.add(active, outcome);
  }

  private onWritten(active: ActiveRun, outcome: Outcome | null, isWritten: boolean, isSlotFree: boolean) {
    this.activeRuns.delete(active);
    this.engine.relay?.onWritten(active);
    const durationMs = active.startedAt === null ? 0 : this.engine.clock.now() - active.startedAt;
    countOutcome(this.engine, this.outcomeCounts, active, outcome, isWritten, durationMs);
    if (isWritten && outcome) notifyOutcome(this.engine, active.run, outcome, durationMs);
    // The run may be due again at once.
    if (outcome?.transition === 'release') this.expect('below');
    if (!isWritten || !isGone(outcome) || isSlotFree) this.onChange();
    else if (this.activeRuns.size === 0) this.onChange('idle');
  }

  readonly wake = (): void => this.onChange();

  readonly wakeNotified = (): void => this.onChange('notified');

  readonly checkCancel = (runId: string): void => this.heartbeat.checkCancel(runId);

  readonly atWork = () => runsAtWork(this.activeRuns);

  async leaveRest(): Promise<void> {
    if (this.claimable <= 0 || this.hasMore) await this.wakeOthers();
  }

  async idle(): Promise<void> {
    while (this.activeRuns.size > 0) await this.change(1000);
  }

  releasePrefetched(shares: (run: ClaimedRun) => boolean): void {
    this.giveBack(({ run }) => shares(run));
  }

  close(): void {
    this.isClosed = true;
    this.batches?.settle();
  }

  beginStop(): void {
    this.isClosed = true;
    this.isStopping = true;
    this.claims.stop();
    this.giveBack();
    this.batches?.stop();
  }

  async crash(thrown: unknown): Promise<void> {
    this.beginStop();
    for (const [active, ending] of endingsAtCrash(this.activeRuns, thrown)) this.finish(active, ending);
    this.outcomes.flushSoon();
    await this.leave();
  }

  async stop(graceMs = 0): Promise<void> {
    const { clock, settings, workers } = this.engine;
    this.beginStop();
    const until = clock.now() + graceMs;
    if (this.activeRuns.size > 0) await this.row.drain();
    let left = 0;
    while (this.activeRuns.size > 0 && clock.now() < until) {
      const { released, failed } = this.outcomeCounts;
      if (released + failed > left) await this.wakeOthers();
      left = released + failed;
      await this.change(Math.max(1, until - clock.now()));
    }
    // Outcomes are still written within the grace and one lease.
    for (const active of this.activeRuns) if (!active.isFinalizing) abort(active.interrupt, drainReason());
    this.outcomes.endWithin(settings.graceMs + settings.leaseMs);
    await this.leave();
    workers.delete(this);
    this.onChange();
  }

  /** Releases prefetched runs. @param which default: all */
  private giveBack(which: (active: ActiveRun) => boolean = () => true): void {
    for (const active of this.ready.drain())
      if (which(active)) this.finish(active, NOT_STARTED);
      else this.ready.push(active);
  }

  private async wakeOthers(): Promise<void> {
    await wakeSleepers.run(this.engine.database, {}).catch(() => undefined);
  }

  /** The leases are renewed until the last outcome is written. */
  private async leave(): Promise<void> {
    try {
      // A claim under way may have leases already. The runs that it brings are released.
      await this.filling?.catch(() => undefined);
      await this.idle();
      this.heartbeat.stop();
      // Others claim the runs that it gave back, that are to be tried again, or that waited for a slot. Both
      // statements are sent at once, so that a lost database is not waited for twice.
      const woken = this.outcomeCounts.claimed > 0 ? this.wakeOthers() : null;
      await this.row.remove();
      await woken;
    } finally {
      this.giveBackConnection();
    }
  }
}
