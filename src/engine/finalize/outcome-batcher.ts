// Writes the outcomes of attempts, many in one statement.
import { isPoolEnded, isUnstorable, sqlState } from '../../store/connection/errors.js';
import {
  type FailedPart,
  type Finalization,
  finalizeRuns,
  type PassingOn,
  readEndedAttempts,
} from '../../store/runs/finalize.js';
import type { Engine } from '../engine.js';
import { afterCommit, createFollowUps } from './after-commit.js';
import { createOutcomeGathering, MAX_BATCH, type OutcomeGathering } from './outcome-gathering.js';
import { refusedOutcome } from './refused-outcome.js';
import { type Batch, halvesOf, type OutcomeHolder, RejectedOutcomes } from './rejected-outcomes.js';

/**
 * Writes outcomes in batches (see {@link createOutcomeGathering}), or at once when `flushSoon` was called.
 *
 * Outcomes that the server rejects, for whatever reason, are kept and sent again, with growing pauses, for as
 * long as the lease lasts. The fence makes a repetition harmless. If the reply was lost, reading back finds
 * the outcomes that were written. Each repetition is sent in halves, so that one rejected outcome does not
 * hold up others. An outcome that PostgreSQL can never store is replaced by a constant text.
 */
export class OutcomeBatcher<Entry extends Finalization> {
  private readonly engine: Engine;
  private readonly holder: OutcomeHolder<Entry>;
  private readonly gathering: OutcomeGathering<Entry>;
  private batchesUnderWay = 0;
  private readonly rejected: RejectedOutcomes<Entry>;
  private readonly followUps: () => Promise<unknown>;

  constructor(engine: Engine, holder: OutcomeHolder<Entry>) {
    this.engine = engine;
    this.holder = holder;
    this.followUps = createFollowUps(engine);
    this.gathering = createOutcomeGathering({
      clock: engine.clock,
      isAwaited: holder.slotPassing.holdsSlot,
      send: this.flush,
    });
    this.rejected = new RejectedOutcomes(engine, holder, {
      take: () => this.gathering.take(MAX_BATCH),
      write: batch => this.write(batch),
      flush: () => {
        if (this.batchesUnderWay === 0) this.flush();
      },
    });
  }

  /**
   * The server accepted nothing of the last batch, and nothing since: the worker claims only what it must.
   */
  get isHeldUp(): boolean {
    return this.rejected.isHeldUp;
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
    // The next retry sends them too.
    if (this.rejected.isHeldUp && !this.rejected.isRetrying) return;
    const entries = this.gathering.take(Number.POSITIVE_INFINITY);
    if (entries.length === 0) return;
    this.batchesUnderWay++;
    const sentAt = this.engine.clock.now();
    void this.writeNew(entries).finally(() => {
      this.batchesUnderWay--;
      if (this.batchesUnderWay === 0) this.gathering.batchDone(entries.length, sentAt);
    });
  };

  private async writeNew(entries: readonly Entry[]): Promise<void> {
    const isAccepted = await this.write({ entries, mayBeWritten: false, substitute: null });
    this.rejected.afterNew(isAccepted);
  }

  /** Writes a batch, then follows up. Keeps rejected outcomes. Returns whether any was accepted. */
  private async write(batch: Batch<Entry>): Promise<boolean> {
    const { entries, mayBeWritten, substitute } = batch;
    const { engine, holder } = this;
    const sent = substitute === null ? entries : entries.map(entry => ({ ...entry, outcome: substitute }));
    const sentAt = engine.clock.now();
    const passingOn = mayBeWritten || substitute !== null ? null : holder.slotPassing.begin(entries, sentAt);
    const { lost, failed, freed, outboxWritten, claimed } = await finalizeRuns(
      engine.database,
      sent,
      holder.workerId,
      passingOn as PassingOn<Finalization> | null,
    );
    if (passingOn !== null) {
      holder.slotPassing.end(passingOn, claimed.length);
      holder.accept(claimed, sentAt);
    }
    let gone = lost;
    try {
      if (mayBeWritten && lost.size > 0) gone = await this.withoutWritten(entries, lost);
    } catch (error) {
      this.rejected.keep(batch, error);
      return false;
    }
    const accepted = failed.length === 0 ? entries : without(entries, failed);
    const dead = accepted.filter(entry => entry.outcome.transition === 'exhaust' && !gone.has(entry.id));
    if (freed.length > 0 || dead.length > 0) {
      const committed = { freed, outboxWritten: false, dead: dead.map(entry => entry.id) };
      if ((await afterCommit(engine, committed)) > 0) holder.slotPassing.recordUnblocked();
    }
    const tell = () => {
      for (const entry of accepted) holder.onWritten(entry, !gone.has(entry.id), freed.length > 0);
    };
    // The next batch does not wait for that.
    if (outboxWritten) void this.followUps().then(tell);
    else tell();
    let isAccepted = accepted.length > 0;
    for (const { part, error } of failed) {
      const rest = substitute === null ? { ...batch, entries: part } : batch;
      isAccepted = (await this.writeOtherwise(rest, error)) || isAccepted;
    }
    return isAccepted;
  }

  /** Writes a rejected batch at once, in halves or without what PostgreSQL refuses; or keeps it for later. */
  private async writeOtherwise(batch: Batch<Entry>, error: unknown): Promise<boolean> {
    const [first] = batch.entries;
    if (isPoolEnded(error)) {
      this.rejected.giveUp(batch.entries, error);
      return true;
    }
    if (!isUnstorable(error) || first === undefined) {
      this.rejected.keep(batch, error);
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

  /** Of the runs that seem lost, those whose outcome an earlier attempt has not written. */
  private async withoutWritten(
    entries: readonly Entry[],
    lost: ReadonlySet<string>,
  ): Promise<ReadonlySet<string>> {
    const written = await readEndedAttempts(this.engine.database, entries, this.holder.workerId);
    return new Set([...lost].filter(id => !written.has(id)));
  }
}

function without<Entry extends Finalization>(
  entries: readonly Entry[],
  failed: readonly FailedPart<Entry>[],
): readonly Entry[] {
  const ids = new Set(failed.flatMap(({ part }) => part.map(entry => entry.id)));
  return entries.filter(entry => !ids.has(entry.id));
}
