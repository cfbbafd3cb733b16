// Keeps outcomes that the server has rejected, for whatever reason, and sends them again, with growing
// pauses, for as long as their leases last.
import { TockError } from '../../model/errors.js';
import type { Outcome } from '../../model/run/decide.js';
import { isConnectionFailure, isPoolEnded, sqlState } from '../../store/connection/errors.js';
import type { ClaimedRun } from '../../store/runs/claim/claimed-run.js';
import type { Finalization } from '../../store/runs/finalize.js';
import type { SlotPassing } from '../claim/passing-on.js';
import type { Engine } from '../engine.js';

const FIRST_PAUSE_MS = 50;
const MAX_PAUSE_MS = 5000;
/** After this many rejected batches in a row, the rest waits for the next round. */
const MAX_REJECTED_IN_A_ROW = 3;

export interface Batch<Entry> {
  readonly entries: readonly Entry[];
  /** The batch was sent before, and the reply was lost. */
  readonly mayBeWritten: boolean;
  /** Replaces the outcome of a single entry that PostgreSQL can never store; otherwise null. */
  readonly substitute: Outcome | null;
}

export interface OutcomeHolder<Entry extends Finalization> {
  readonly workerId: string;
  readonly slotPassing: SlotPassing<Entry>;
  /** Whether the lease still lasts. Otherwise the outcome is given up. */
  readonly canWrite: (entry: Entry) => boolean;
  /** Called before outcomes are sent again. Must not throw. */
  readonly beforeResend: (entries: readonly Entry[]) => Promise<void>;
  /**
   * Called once for each outcome: `isWritten` is false where the lease was lost, `isSlotFree` is true where
   * slots became free with the batch, under whatever limit, and were not passed on.
   */
  readonly onWritten: (entry: Entry, isWritten: boolean, isSlotFree: boolean) => void;
  /** Accepts runs to which slots were passed on. @param sentAt by the engine's clock */
  readonly accept: (claimed: readonly ClaimedRun[], sentAt: number) => void;
  /** Called when no rejected outcome is left. */
  readonly onResumed: () => void;
}

/** What sends outcomes. */
export interface OutcomeSender<Entry> {
  /** Takes new outcomes, to be sent with the next round. */
  readonly take: () => readonly Entry[];
  /** Resolves to whether any outcome was accepted. Keeps the others. */
  readonly write: (batch: Batch<Entry>) => Promise<boolean>;
  /** Sends new outcomes, unless others are under way. */
  readonly flush: () => void;
}

export class RejectedOutcomes<Entry extends Finalization> {
  private readonly engine: Engine;
  private readonly holder: OutcomeHolder<Entry>;
  private readonly sender: OutcomeSender<Entry>;
  private batches: Batch<Entry>[] = [];
  private heldUp = false;
  private isResending = false;
  private isRetryingOne = false;
  private lastError: unknown;
  /** Errors that were logged since no outcome was rejected. */
  private readonly loggedErrors = new Set<string>();

  constructor(engine: Engine, holder: OutcomeHolder<Entry>, sender: OutcomeSender<Entry>) {
    this.engine = engine;
    this.holder = holder;
    this.sender = sender;
  }

  /** The server accepted nothing of the last batch, and nothing since. */
  get isHeldUp(): boolean {
    return this.heldUp;
  }

  /** A rejected batch is being sent again; new outcomes may be tried beside it. */
  get isRetrying(): boolean {
    return this.isRetryingOne;
  }

  /** New outcomes were sent. @param isAccepted whether any of them was accepted */
  afterNew(isAccepted: boolean): void {
    this.heldUp = !isAccepted;
    if (this.batches.length > 0 && !this.isResending) void this.resend();
  }

  keep(batch: Batch<Entry>, error: unknown): void {
    this.lastError = error;
    const mayBeWritten = batch.mayBeWritten || isConnectionFailure(error);
    // Halves mean more statements. They help if one row is locked, not if the server cannot be reached.
    const isAway = isConnectionFailure(error) && !(error instanceof TockError);
    for (const part of isAway ? [batch] : halvesOf(batch)) this.batches.push({ ...part, mayBeWritten });
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
    while (this.batches.length > 0) {
      await this.engine.clock.sleep(pauseMs);
      pauseMs = (await this.resendOnce()) ? FIRST_PAUSE_MS : Math.min(pauseMs * 2, MAX_PAUSE_MS);
    }
    this.isResending = false;
    this.heldUp = false;
    this.loggedErrors.clear();
    this.engine.logger.info({ event: 'finalize.resumed' }, 'the database has accepted all outcomes again');
    this.holder.onResumed();
    this.sender.flush();
  }

  /** Sends each batch once, until several in a row are rejected. Returns whether any was accepted. */
  private async resendOnce(): Promise<boolean> {
    const batches = this.batches;
    this.batches = [];
    const waiting = this.heldUp ? this.sender.take() : [];
    if (waiting.length > 0) batches.unshift({ entries: waiting, mayBeWritten: false, substitute: null });
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
      this.isRetryingOne = true;
      await this.holder.beforeResend(entries);
      const isAccepted = await this.sender.write({ ...batch, entries });
      this.isRetryingOne = false;
      if (isAccepted) {
        [isAnyAccepted, this.heldUp, rejectedInARow] = [true, false, 0];
        this.sender.flush();
      } else {
        rejectedInARow = isConnectionFailure(this.lastError) ? MAX_REJECTED_IN_A_ROW : rejectedInARow + 1;
      }
    }
    // Batches that were rejected again come last.
    this.batches = [...unsent, ...this.batches];
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

  giveUp(entries: readonly Entry[], error: unknown): void {
    const why = isPoolEnded(error) ? 'because the pool was ended' : 'while their leases lasted';
    this.engine.logger.error(
      { event: 'finalize.lost', runs: entries.length, error: String(error) },
      `outcomes could not be written ${why}; the runs will be tried again`,
    );
    for (const entry of entries) this.holder.onWritten(entry, false, false);
  }
}

export function halvesOf<Entry>(batch: Batch<Entry>): Batch<Entry>[] {
  const { entries } = batch;
  if (entries.length < 2) return [batch];
  const middle = Math.ceil(entries.length / 2);
  return [
    { ...batch, entries: entries.slice(0, middle) },
    { ...batch, entries: entries.slice(middle) },
  ];
}
