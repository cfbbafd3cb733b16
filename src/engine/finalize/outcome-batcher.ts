// Writes the outcomes of attempts, many in one statement.
import { performance } from 'node:perf_hooks';
import { setTimeout as sleep } from 'node:timers/promises';
import { TockError } from '../../model/errors.js';
import type { Outcome } from '../../model/run/decide.js';
import { isConnectionFailure, isPoolEnded, isUnstorable, sqlState } from '../../store/connection/errors.js';
import type { ClaimedRun } from '../../store/runs/claim/claimed-run.js';
import {
  type FailedPart,
  type Finalization,
  finalizeRuns,
  type PassingOn,
  readEndedAttempts,
} from '../../store/runs/finalize.js';
import type { Engine } from '../engine.js';
import { afterCommit } from './after-commit.js';
import { createOutcomeGathering, MAX_BATCH, type OutcomeGathering } from './outcome-gathering.js';
import { refusedOutcome } from './refused-outcome.js';

const FIRST_PAUSE_MS = 50;
const MAX_PAUSE_MS = 5000;
/** After this many rejected batches in a row, the rest waits for the next round. */
const MAX_REJECTED_IN_A_ROW = 3;

export interface OutcomeHolder<Entry extends Finalization> {
  readonly workerId: string;
  /** Whether the lease still lasts; otherwise the outcome is given up. */
  readonly canWrite: (entry: Entry) => boolean;
  /** Whether other runs wait for this one to end: then its outcome is not gathered for long. */
  readonly isAwaited: (entry: Entry) => boolean;
  /** Called before outcomes are sent again. Must not throw. */
  readonly beforeResend: (entries: readonly Entry[]) => Promise<void>;
  /**
   * Called once for each outcome: `isWritten` is false where the lease was lost, `isSlotFree` is true where
   * slots became free with the batch, under whatever limit, and were not passed on.
   */
  readonly onWritten: (entry: Entry, isWritten: boolean, isSlotFree: boolean) => void;
  /** Which of the runs may pass on their slots, to runs of this worker; null: none. */
  readonly passingOn: (entries: readonly Entry[]) => PassingOn<Entry> | null;
  /** Called once for each `passingOn` that was not null, with the runs that were claimed by then. */
  readonly onPassedOn: (passingOn: PassingOn<Entry>, claimed: readonly ClaimedRun[], sentAt: number) => void;
  /** Runs have waited for slots that became free with a batch. */
  readonly onUnblocked: () => void;
  /** Called when no rejected outcome is left. */
  readonly onResumed: () => void;
}

interface Batch<Entry> {
  readonly entries: readonly Entry[];
  /** It was sent before, and the reply was lost. */
  readonly mayBeWritten: boolean;
  /** Replaces the outcome of a single entry that PostgreSQL can never store; otherwise null. */
  readonly substitute: Outcome | null;
}

/**
 * Writes outcomes in batches: see {@link createOutcomeGathering}; or at once, when `flushSoon` says that no
 * other is coming.
 *
 * Rejected outcomes, for whatever reason, are kept and sent again, with growing pauses, for as long as the
 * lease lasts. The fence makes a repetition harmless, and an outcome that was written though the reply was
 * lost is found by reading it back. Each repetition is sent in halves, so that one rejected outcome does not
 * hold up others. Only what PostgreSQL can never store is given up: a constant text replaces it.
 */
export class OutcomeBatcher<Entry extends Finalization> {
  private readonly engine: Engine;
  private readonly holder: OutcomeHolder<Entry>;
  private readonly gathering: OutcomeGathering<Entry>;
  private batchesUnderWay = 0;
  private rejected: Batch<Entry>[] = [];
  private heldUp = false;
  private isResending = false;
  /** A rejected batch is being sent again; new outcomes may be tried beside it. */
  private isRetrying = false;
  private lastError: unknown;
  /** Errors that were logged since no outcome was rejected. */
  private readonly loggedErrors = new Set<string>();

  constructor(engine: Engine, holder: OutcomeHolder<Entry>) {
    this.engine = engine;
    this.holder = holder;
    this.gathering = createOutcomeGathering({ isAwaited: holder.isAwaited, send: this.flush });
  }

  /** The server accepted nothing of the last batch, and nothing since: claim no more than necessary. */
  get isHeldUp(): boolean {
    return this.heldUp;
  }

  /** Calls `onWritten` when the outcome is written. */
  add(entry: Entry): void {
    this.gathering.add(entry, this.batchesUnderWay === 0);
  }

  /** No other outcome is expected soon: writes now, or as soon as the previous batch is written. */
  flushSoon(): void {
    if (this.batchesUnderWay === 0) this.flush();
    else this.gathering.expectNoOther();
  }

  private readonly flush = (): void => {
    this.gathering.stopWaiting();
    // The next retry takes them along.
    if (this.heldUp && !this.isRetrying) return;
    const entries = this.gathering.take(Number.POSITIVE_INFINITY);
    if (entries.length === 0) return;
    this.batchesUnderWay++;
    const sentAt = performance.now();
    void this.writeNew(entries).finally(() => {
      this.batchesUnderWay--;
      if (this.batchesUnderWay === 0) this.gathering.batchDone(entries.length, sentAt);
    });
  };

  private async writeNew(entries: readonly Entry[]): Promise<void> {
    const isAccepted = await this.write({ entries, mayBeWritten: false, substitute: null });
    this.heldUp = !isAccepted;
    if (this.rejected.length > 0 && !this.isResending) void this.resend();
  }

  /** Writes a batch and does what follows. Keeps rejected outcomes. Returns whether any was accepted. */
  private async write(batch: Batch<Entry>): Promise<boolean> {
    const { entries, mayBeWritten, substitute } = batch;
    const { engine, holder } = this;
    const sent = substitute === null ? entries : entries.map(entry => ({ ...entry, outcome: substitute }));
    const passingOn = mayBeWritten || substitute !== null ? null : holder.passingOn(entries);
    const sentAt = performance.now();
    const { lost, failed, freed, outboxWritten, claimed } = await finalizeRuns(
      engine.database,
      sent,
      holder.workerId,
      passingOn as PassingOn<Finalization> | null,
    );
    if (passingOn !== null) holder.onPassedOn(passingOn, claimed, sentAt);
    let gone = lost;
    try {
      if (mayBeWritten && lost.size > 0) gone = await this.withoutWritten(entries, lost);
    } catch (error) {
      this.keep(batch, error);
      return false;
    }
    const accepted = failed.length === 0 ? entries : without(entries, failed);
    const dead = accepted.filter(entry => entry.outcome.transition === 'exhaust' && !gone.has(entry.id));
    if (freed.length > 0 || outboxWritten || dead.length > 0) {
      const committed = { freed, outboxWritten, dead: dead.map(entry => entry.id) };
      if ((await afterCommit(engine, committed)) > 0) holder.onUnblocked();
    }
    for (const entry of accepted) holder.onWritten(entry, !gone.has(entry.id), freed.length > 0);
    let isAccepted = accepted.length > 0;
    for (const { part, error } of failed) {
      const rest = substitute === null ? { ...batch, entries: part } : batch;
      isAccepted = (await this.writeOtherwise(rest, error)) || isAccepted;
    }
    return isAccepted;
  }

  /** Writes a rejected batch at once in halves, or without what PostgreSQL refuses; or keeps it for later. */
  private async writeOtherwise(batch: Batch<Entry>, error: unknown): Promise<boolean> {
    const [first] = batch.entries;
    if (isPoolEnded(error)) {
      this.giveUp(batch.entries, error);
      return true;
    }
    if (!isUnstorable(error) || first === undefined) {
      this.keep(batch, error);
      return false;
    }
    if (batch.entries.length > 1) {
      let isAccepted = false;
      for (const half of halvesOf(batch)) isAccepted = (await this.write(half)) || isAccepted;
      return isAccepted;
    }
    if (batch.substitute === null) {
      const substitute = refusedOutcome(this.engine, first.id, first.outcome, error);
      return await this.write({ ...batch, substitute });
    }
    this.engine.logger.error(
      { event: 'finalize.failed', run_id: first.id, error: String(error), code: sqlState(error) },
      'PostgreSQL refuses even the constant text; the lease will expire',
    );
    this.holder.onWritten(first, false, false);
    return true;
  }

  /** Of the runs that seem lost, those that an earlier attempt did not write. */
  private async withoutWritten(
    entries: readonly Entry[],
    lost: ReadonlySet<string>,
  ): Promise<ReadonlySet<string>> {
    const written = await readEndedAttempts(this.engine.database, entries, this.holder.workerId);
    return new Set([...lost].filter(id => !written.has(id)));
  }

  private keep(batch: Batch<Entry>, error: unknown): void {
    this.lastError = error;
    const mayBeWritten = batch.mayBeWritten || isConnectionFailure(error);
    // Halving makes more statements. It helps if one row is locked, not if the server cannot be reached.
    const isAway = isConnectionFailure(error) && !(error instanceof TockError);
    for (const part of isAway ? [batch] : halvesOf(batch)) this.rejected.push({ ...part, mayBeWritten });
    const name = sqlState(error) ?? String(error);
    if (this.loggedErrors.has(name)) return;
    this.loggedErrors.add(name);
    this.engine.logger.warn(
      { event: 'finalize.waiting', runs: batch.entries.length, error: String(error), code: sqlState(error) },
      'the database accepts no outcomes now; they are kept and sent again while their leases last',
    );
  }

  private async resend(): Promise<void> {
    this.isResending = true;
    let pauseMs = FIRST_PAUSE_MS;
    while (this.rejected.length > 0) {
      await sleep(pauseMs);
      pauseMs = (await this.resendOnce()) ? FIRST_PAUSE_MS : Math.min(pauseMs * 2, MAX_PAUSE_MS);
    }
    this.isResending = false;
    this.heldUp = false;
    this.loggedErrors.clear();
    this.engine.logger.info({ event: 'finalize.resumed' }, 'the database has accepted all outcomes again');
    this.holder.onResumed();
    this.flush();
  }

  /** Sends each batch once, until several in a row are rejected. Returns whether any was accepted. */
  private async resendOnce(): Promise<boolean> {
    const batches = this.rejected;
    this.rejected = [];
    if (this.heldUp && this.gathering.length > 0) {
      const entries = this.gathering.take(MAX_BATCH);
      batches.unshift({ entries, mayBeWritten: false, substitute: null });
    }
    const unsent: Batch<Entry>[] = [];
    let isAnyAccepted = false;
    let rejectedInARow = 0;
    for (const batch of batches) {
      const entries = this.giveUpExpired(batch.entries);
      if (entries.length === 0) continue;
      if (rejectedInARow >= MAX_REJECTED_IN_A_ROW) {
        unsent.push({ ...batch, entries });
        continue;
      }
      this.isRetrying = true;
      await this.holder.beforeResend(entries);
      const isAccepted = await this.write({ ...batch, entries });
      this.isRetrying = false;
      if (isAccepted) {
        [isAnyAccepted, this.heldUp, rejectedInARow] = [true, false, 0];
        if (this.batchesUnderWay === 0) this.flush();
      } else {
        rejectedInARow = isConnectionFailure(this.lastError) ? MAX_REJECTED_IN_A_ROW : rejectedInARow + 1;
      }
    }
    // Those that were rejected again come last.
    this.rejected = [...unsent, ...this.rejected];
    return isAnyAccepted;
  }

  private giveUpExpired(entries: readonly Entry[]): readonly Entry[] {
    const held = entries.filter(this.holder.canWrite);
    if (held.length === entries.length) return entries;
    const expired = new Set(entries);
    for (const entry of held) expired.delete(entry);
    this.giveUp([...expired], this.lastError);
    return held;
  }

  private giveUp(entries: readonly Entry[], error: unknown): void {
    const why = isPoolEnded(error) ? 'because the pool was ended' : 'while their leases lasted';
    this.engine.logger.error(
      { event: 'finalize.lost', runs: entries.length, error: String(error) },
      `outcomes could not be written ${why}; the runs will be tried again`,
    );
    for (const entry of entries) this.holder.onWritten(entry, false, false);
  }
}

function halvesOf<Entry>(batch: Batch<Entry>): Batch<Entry>[] {
  const { entries } = batch;
  if (entries.length < 2) return [batch];
  const middle = Math.ceil(entries.length / 2);
  return [
    { ...batch, entries: entries.slice(0, middle) },
    { ...batch, entries: entries.slice(middle) },
  ];
}

function without<Entry extends Finalization>(
  entries: readonly Entry[],
  failed: readonly FailedPart<Entry>[],
): readonly Entry[] {
  const ids = new Set(failed.flatMap(({ part }) => part.map(entry => entry.id)));
  return entries.filter(entry => !ids.has(entry.id));
}
