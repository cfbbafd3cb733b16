// A run of `tock exec` in the ledger, while this process executes its command: its lease, log, progress,
// attempts and outcome. Its command goes on whatever becomes of the database.

import { lossCount } from '../../../environment/output.js';
import type { Timer } from '../../../model/clock.js';
import type { Ending } from '../../../model/run/decide.js';
import { describeLine } from '../../../model/run/log/log-line.js';
import { RunLog } from '../../../model/run/log/run-log.js';
import { describeError } from '../../../model/run/sanitize.js';
import { isTransient } from '../../../store/connection/errors.js';
import type { ClaimedRun } from '../../../store/runs/claim/claimed-run.js';
import { beginNextAttempt, noteFailedAttempt } from '../../../store/runs/exec/attempts.js';
import { finalizeRuns, readEndedAttempts } from '../../../store/runs/finalize.js';
import { renewLeases } from '../../../store/runs/leases.js';
import type { Engine } from '../../engine.js';
import { type ActiveRun, activeRun } from '../../execute/active-run.js';
import { keepLosses } from '../../execute/run-logger.js';
import type { OutputName } from '../../execute/shell/run-command.js';
import { afterCommit } from '../../finalize/after-commit.js';
import { outcomeOf } from '../../finalize/outcome-of.js';
import { retryUntil } from '../../finalize/retry-until.js';
import { Reports } from '../../worker/reports.js';
import type { WorkerRow } from '../../worker/worker-row.js';

/** What became of an outcome. `lost`: the run was taken for dead before, as its lease had expired. */
export type Recorded =
  | { readonly kind: 'written' | 'lost' }
  | { readonly kind: 'unwritten'; readonly reason: unknown };

const WRITTEN: Recorded = { kind: 'written' };

/** A next attempt does not wait longer for the server. */
const MAX_ATTEMPT_WAIT_MS = 5000;

export class ExecRun {
  /** Called once when an operator asks to cancel the run. */
  onCancel: () => void = () => undefined;
  private readonly engine: Engine;
  private readonly workerId: string;
  private readonly row: WorkerRow;
  private readonly reports: Reports;
  private readonly beats: Timer;
  private active: ActiveRun;
  private beating: Promise<void> | null = null;
  private isCancelled = false;
  private isEnding = false;
  /** When the attempt began. */
  private losses = lossCount();

  constructor(engine: Engine, workerId: string, row: WorkerRow, run: ClaimedRun) {
    this.engine = engine;
    this.workerId = workerId;
    this.row = row;
    this.reports = new Reports(engine, workerId);
    this.active = activeRun(run, engine.clock.now());
    this.beats = engine.clock.setInterval(() => {
      this.beating ??= this.beat().finally(() => {
        this.beating = null;
      });
    }, engine.settings.heartbeatMs);
  }

  get id(): string {
    return this.active.run.id;
  }

  get attempt(): number {
    return this.active.run.attempts;
  }

  get fence(): number {
    return this.active.run.fence;
  }

  addLine(name: OutputName, text: string): void {
    const { logs } = this.engine.settings;
    if (logs === null) return;
    const fields = name === 'stderr' ? { stream: name } : {};
    this.active.log ??= new RunLog(logs.maxBytes);
    this.active.log.add(describeLine('info', text, fields, logs.maxBytes), this.engine.clock.now());
  }

  progress(fraction: number, stage: string | null): void {
    const events = ++this.active.progressEvents;
    const text = stage?.slice(0, 200).replaceAll('\0', '').toWellFormed() ?? null;
    this.active.progress = { fraction, stage: text, events };
  }

  /** Notes the error of an attempt that another follows, and that the run waits for it. */
  async noteFailure(error: Error, waits: string): Promise<void> {
    const { active, engine, workerId } = this;
    const described = describeError(error, this.attempt);
    this.progress(0, waits);
    keepLosses(engine, active, this.losses);
    this.losses = lossCount();
    await this.quickly(async () => {
      await this.reports.flush([active]);
      return await noteFailedAttempt(engine.database, active.run, workerId, described);
    });
  }

  /** Counts the next attempt. If the server is away, it belongs to the same attempt in the ledger. */
  async beginNextAttempt(): Promise<void> {
    const { database, settings } = this.engine;
    const { run } = this.active;
    await this.quickly(async () => {
      // A heartbeat under the fence before would find no run.
      await this.beating;
      const fence = await beginNextAttempt(database, run, this.workerId, settings.leaseMs);
      if (fence === null) return;
      this.active = activeRun({ ...run, fence, attempts: run.attempts + 1 }, this.engine.clock.now());
    });
  }

  /** Writes the outcome. Tries for as long as a lease lasts; or until `signal` aborts. Never rejects. */
  async end(ending: Ending, signal: AbortSignal): Promise<Recorded> {
    this.engine.clock.clear(this.beats);
    this.isEnding = true;
    const { active, engine, workerId } = this;
    const until = engine.clock.now() + engine.settings.leaseMs;
    // Whether another attempt follows was decided before.
    const outcome = outcomeOf(engine, { ...active.run, max_attempts: active.run.attempts }, ending, 0);
    const entry = { id: active.run.id, fence: active.run.fence, outcome };
    keepLosses(engine, active, this.losses);
    const write = async (): Promise<Recorded> => {
      await this.reports.flush([active]);
      const { lost, failed, freed, outboxWritten } = await finalizeRuns(engine.database, [entry], workerId);
      const [failure] = failed;
      if (failure) throw failure.error;
      // The answer to an earlier try may have been lost.
      if (lost.size > 0)
        return (await readEndedAttempts(engine.database, [entry], workerId)).has(entry.id)
          ? WRITTEN
          : { kind: 'lost' };
      const dead = outcome.transition === 'exhaust' ? [entry.id] : [];
      await afterCommit(engine, { freed, outboxWritten, dead });
      return WRITTEN;
    };
    const stopped = new Promise<Recorded>(resolve => {
      const giveUp = () => resolve({ kind: 'unwritten', reason: new Error('asked to stop') });
      if (signal.aborted) giveUp();
      signal.addEventListener('abort', giveUp, { once: true });
    });
    const mayRetry = (error: unknown) => isTransient(error) && engine.clock.now() < until && !signal.aborted;
    const written = retryUntil(engine.clock, write, mayRetry).catch(
      (reason: unknown): Recorded => ({ kind: 'unwritten', reason }),
    );
    const recorded = await Promise.race([written, stopped]);
    if (recorded.kind !== 'unwritten') await this.row.remove();
    return recorded;
  }

  private async beat(): Promise<void> {
    const { active, engine, workerId } = this;
    if (active.isLost) return;
    try {
      const [held] = await renewLeases(engine.database, [active.run], workerId, engine.settings.leaseMs);
      if (active !== this.active || this.isEnding) return;
      if (held === undefined) return this.lose();
      if (held.cancel_requested && !this.isCancelled) {
        this.isCancelled = true;
        this.onCancel();
      }
      await Promise.all([this.reports.flush([active]), this.row.refresh()]);
    } catch (error) {
      engine.logger.debug(
        { event: 'heartbeat.failed', run_id: active.run.id, error: String(error) },
        'the next heartbeat tries again',
      );
    }
  }

  /** After a long loss of the server, the run may have been reaped. No other process executes its command. */
  private lose(): void {
    this.active.isLost = true;
    this.engine.logger.error(
      { event: 'run.lease_lost', run_id: this.id, job: this.active.run.job, fence: this.fence },
      'the lease is lost: the run was taken for dead; its command goes on, and its outcome is not recorded',
    );
  }

  /** Null if the server cannot be reached for a few seconds. */
  private async quickly<T>(work: () => Promise<T>): Promise<T | null> {
    const { clock } = this.engine;
    const until = clock.now() + MAX_ATTEMPT_WAIT_MS;
    const late = new Promise<null>(resolve => {
      clock.setTimeout(() => resolve(null), MAX_ATTEMPT_WAIT_MS).unref();
    });
    const done = retryUntil(clock, work, error => isTransient(error) && clock.now() < until);
    return await Promise.race([done.catch(() => null), late]);
  }
}
