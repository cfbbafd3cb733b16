// A run's way through this process. The methods are in the order of a run's life: claim → accept → prefetch →
// start → ended → finish → onWritten; or release, if the run cannot start.
import type { Ending, Outcome } from '../../model/run/decide.js';
import { noOutcomes, type OutcomeCounts } from '../../model/run/outcome-counts.js';
import type { Claim, ClaimOptions } from '../../store/runs/claim/claim.js';
import type { ClaimedRun } from '../../store/runs/claim/claimed-run.js';
import type { Finalization } from '../../store/runs/finalize.js';
import { claimById } from '../claim/claim-by-id.js';
import { claimable, type WorkerLoad } from '../claim/claimable.js';
import { Claimer, type ClaimerOptions } from '../claim/claimer.js';
import { createSlotPassing, type SlotPassing } from '../claim/passing-on.js';
import { createThroughput } from '../claim/throughput.js';
import { type Engine, expectFair, lowerWatermarks } from '../engine.js';
import { abort } from '../execute/abort.js';
import { type ActiveRun, activeRun, isHeld } from '../execute/active-run.js';
import { endingsAtCrash } from '../execute/endings.js';
import { drainReason } from '../execute/execute.js';
import { logWarning } from '../execute/run-logger.js';
import { notifyOutcome } from '../finalize/hooks.js';
import { logClaimed } from '../finalize/log-outcome.js';
import { Outcomes } from '../finalize/outcomes.js';
import { isGone, outcomeOf } from '../finalize/outcome-of.js';
import { admitDespiteBadRows, setAside } from '../set-aside.js';
import { countOutcome } from './outcome-counts.js';
import { Reports } from './reports.js';
import { Starts } from './starts.js';
import type { WorkerOptions } from './worker-interface.js';
import type { WorkerRow } from './worker-row.js';

export interface PipelineOptions extends Pick<WorkerOptions, 'queues'> {
  readonly workerId: string;
  readonly capacity: number;
  readonly row: WorkerRow;
  readonly goesOn: ClaimerOptions['goesOn'];
  /** Called when something changed that a tick or daemon may wait for. */
  readonly onChange: (cause?: 'idle') => void;
}

interface PendingOutcome extends Finalization {
  readonly active: ActiveRun;
}

export class RunPipeline implements WorkerLoad {
  readonly capacity: number;
  readonly outcomeCounts: OutcomeCounts = noOutcomes();
  /** One for each attempt: a failed run may be claimed again before its last attempt is removed. */
  readonly activeRuns = new Set<ActiveRun>();
  readonly claimer: Claimer;
  readonly reports: Reports;
  isClosed = false;
  private readonly engine: Engine;
  private readonly options: PipelineOptions;
  private readonly lease: Pick<ClaimOptions, 'workerId' | 'leaseMs'>;
  private readonly starts: Starts;
  private readonly throughput = createThroughput();
  private readonly slotPassing: SlotPassing<PendingOutcome>;
  private readonly outcomes: Outcomes<PendingOutcome>;
  private isStopping = false;
  /** A drain does not wait forever for a server that renews leases but accepts no outcomes. */
  private writesUntil = Number.POSITIVE_INFINITY;
  constructor(engine: Engine, options: PipelineOptions) {
    const { workerId, queues, goesOn, onChange } = options;
    this.engine = engine;
    this.options = options;
    this.lease = { workerId, leaseMs: engine.settings.leaseMs };
    this.capacity = options.capacity;
    this.starts = new Starts(engine, {
      workerId,
      capacity: options.capacity,
      mayMore: () => !this.isClosed && (goesOn || this.claimer.isClaiming || this.claimer.hasMore),
      onEnd: (active, ending) => this.ended(active, ending),
      onLeft: (active, ending) => this.finish(active, ending),
      onFree: () => this.goOn(),
      onStalled: () => this.throughput.reset(engine.clock.now()),
    });
    this.claimer = new Claimer(engine, {
      workerId,
      queues: queues ?? null,
      goesOn,
      claimable: () => this.claimable,
      worthClaiming: () => this.prefetchTarget / 2,
      accept: (claim, sentAt) => {
        this.slotPassing.recordClaim(sentAt);
        return this.accept(claim, sentAt);
      },
      onExhausted: () => onChange(),
      onIdle: () => {
        this.refill();
        this.batches?.settle();
      },
    });
    this.slotPassing = createSlotPassing<PendingOutcome>({
      leaseMs: engine.settings.leaseMs,
      queues: queues ?? null,
      holdsSlot: ({ active }) => active.run.slot_keys !== null,
      room: () => (this.hasNext ? 0 : this.claimable),
    });
    this.reports = new Reports(engine, workerId);
    this.outcomes = new Outcomes(engine, {
      workerId,
      canWrite: ({ active }) => this.canWrite(active),
      slotPassing: this.slotPassing,
      beforeResend: entries => this.reports.flush(entries.map(({ active }) => active)),
      onWritten: ({ active, outcome }, isWritten, isSlotFree) =>
        this.onWritten(active, outcome, isWritten, isSlotFree),
      accept: (claimed, sentAt) => void this.acceptRuns(claimed, sentAt).catch(() => onChange()),
      onResumed: () => onChange(),
    });
  }

  /** How many handlers have not ended. Unwritten outcomes take no capacity. */
  get executing(): number {
    return this.starts.executing;
  }

  get prefetched(): number {
    return this.starts.prefetched;
  }

  get batches(): Starts['batches'] {
    return this.starts.batches;
  }

  get unwritten(): number {
    return this.activeRuns.size - this.starts.unfinished;
  }

  get isHeldUp(): boolean {
    return this.outcomes.isHeldUp;
  }

  get prefetchTarget(): number {
    return this.throughput.prefetchTarget(this.engine.clock.now());
  }

  get claimable(): number {
    if (this.engine.database.shares.isEnding) return 0;
    const own = claimable(this) - this.slotPassing.awaited;
    return Math.max(0, Math.min(own, this.engine.relay?.room(this.activeRuns.size) ?? own));
  }

  /** Whether a prefetched run, or one that comes with a claim, starts after each run that ends. */
  private get hasNext(): boolean {
    return this.prefetched > 0 || (this.claimer.isClaiming && this.prefetchTarget === 0);
  }

  /** Claims one run by its id, if it is due and free. */
  async claimOne(runId: string): Promise<boolean> {
    if (this.isStopping) return false;
    const claimedAt = this.engine.clock.now();
    const claimed = await claimById(this.engine, runId, this.lease);
    return claimed !== null && (await this.accept(claimed, claimedAt)) > 0;
  }

  private async accept({ runs, needsAdmission }: Claim, claimedAt: number): Promise<number> {
    if (runs.length > 0) this.throughput.recordClaim(claimedAt, this.engine.clock.now());
    // Before the first handler starts: if the handler kills the process, the reaper can name the host.
    if (runs.length + needsAdmission.length > 0 && !this.options.row.isAnnounced)
      await this.options.row.announce();
    await this.acceptRuns(runs, claimedAt);
    if (needsAdmission.length === 0) return runs.length;
    const admittedAt = this.engine.clock.now();
    const { admitted, unblocked, failure, waitsForTurn } = await admitDespiteBadRows(
      this.engine,
      needsAdmission,
      this.lease,
    );
    lowerWatermarks(this.engine, unblocked);
    if (waitsForTurn) expectFair(this.engine);
    await this.acceptRuns(admitted, admittedAt);
    if (failure !== null) throw failure.error;
    return runs.length + admitted.length;
  }

  private async acceptRuns(runs: readonly ClaimedRun[], claimedAt: number): Promise<void> {
    for (const run of runs) if (run.defect === null) this.prefetch(run, claimedAt);
    this.startNext();
    this.batches?.settle();
    for (const { id, fence, defect } of runs) {
      const holder = { workerId: this.options.workerId, fence };
      if (defect !== null) await setAside(this.engine, id, { reason: defect, isToBlame: true, holder });
    }
  }

  private prefetch(run: ClaimedRun, claimedAt: number): void {
    const active = activeRun(run, claimedAt);
    this.activeRuns.add(active);
    this.outcomeCounts.claimed++;
    logClaimed(this.engine, run);
    this.starts.add(active);
  }

  private startNext(): void {
    if (this.isStopping) this.starts.stop();
    this.starts.next();
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
    if (outcome === null || (active.progress ?? active.cursors ?? active.log ?? active.span) === null)
      return this.write(active, outcome);
    void this.reports.flush([active]).then(() => this.write(active, outcome));
  }

  private canWrite(active: ActiveRun): boolean {
    const now = this.engine.clock.now();
    return isHeld(active, this.engine.settings.leaseMs, now) && now < this.writesUntil;
  }

  private write(active: ActiveRun, outcome: Outcome | null): void {
    // The handler's own commit may have freed a slot.
    if (active.isCommitted || outcome === null)
      return this.onWritten(active, outcome, active.isCommitted, active.isCommitted);
    this.outcomes.add({ id: active.run.id, fence: active.run.fence, outcome, active });
  }

  private onWritten(active: ActiveRun, outcome: Outcome | null, isWritten: boolean, isSlotFree: boolean) {
    this.activeRuns.delete(active);
    this.engine.relay?.onWritten(active);
    const durationMs = active.startedAt === null ? 0 : this.engine.clock.now() - active.startedAt;
    countOutcome(this.engine, this.outcomeCounts, active, outcome, isWritten, durationMs);
    if (isWritten && outcome) notifyOutcome(this.engine, active.run, outcome, durationMs);
    // The run may be due again at once.
    if (outcome?.transition === 'release') this.claimer.watermarks.forget();
    if (!isWritten || !isGone(outcome) || isSlotFree) this.options.onChange();
    else if (this.activeRuns.size === 0) this.options.onChange('idle');
  }

  private refill(): void {
    if (!this.claimer.hasMore || this.isClosed || this.claimer.isClaiming) return;
    if (this.prefetched > this.prefetchTarget / 2 || this.claimable === 0) return;
    this.claimer.claim().catch(() => {
      this.claimer.halt();
      this.options.onChange();
    });
  }

  releasePrefetched(shares: (run: ClaimedRun) => boolean): void {
    this.starts.release(({ run }) => shares(run));
  }

  close(): void {
    this.isClosed = true;
    this.batches?.settle();
  }

  stop(): void {
    this.isClosed = true;
    this.isStopping = true;
    this.claimer.stop();
    this.starts.stop();
  }

  /** Aborts the handlers' signals. Outcomes are still written within the grace and one lease. */
  abortAll(): void {
    for (const active of this.activeRuns) if (!active.isFinalizing) abort(active.interrupt, drainReason());
    const { graceMs, leaseMs } = this.engine.settings;
    this.writesUntil = this.engine.clock.now() + graceMs + leaseMs;
  }

  /** Ends all attempts that have started, for an uncaught error that ends the process. */
  crash(thrown: unknown): void {
    for (const [active, ending] of endingsAtCrash(this.activeRuns, thrown)) this.finish(active, ending);
    this.outcomes.flushSoon();
  }
}
