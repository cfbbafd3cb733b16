// Writes the outcomes of attempts, many in one statement: one loop for those that come, and one for those
// that the server has rejected. Each goes on for as long as there are any.
import type { Timer } from '../../model/clock.js';
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
import { type ActiveRun, isHeld } from '../execute/active-run.js';
import { afterCommit, createFollowUps } from '../finalize/after-commit.js';
import { refusedOutcome } from '../finalize/outcome-of.js';
import type { Reports } from './reports.js';

/** The first outcome waits so long for others. */
const GATHER_MS = 3;
/**
 * After a batch of this size outcomes come quickly: each statement has a cost of its own, so the next is
 * larger.
 */
const QUICK_BATCH = 50;
const GATHER_QUICK_MS = 30;
const ENOUGH_QUICK = 500;
/** So many wait for no others, nor for a batch that is under way; and as many are sent with a repetition. */
const MAX_BATCH = 2000;

/** Pauses before rejected outcomes are sent again. */
const FIRST_PAUSE_MS = 50;
const MAX_PAUSE_MS = 5000;
/** After this many rejected batches in a row, the rest waits for the next round. */
const MAX_REJECTED_IN_A_ROW = 3;

export interface OutcomesOptions {
  readonly workerId: string;
  /** Only these; null: all. Of slots that are passed on. */
  readonly queues: readonly string[] | null;
  /** What attempts report is written before their outcome, which ends the lease. */
  readonly reports: Pick<Reports, 'flush'>;
  /** To how many runs slots may be passed on. */
  readonly room: () => number;
  /**
   * Called once for each attempt: `isWritten` is false where the lease was lost, `isSlotFree` is true where
   * slots became free with the batch, under whatever limit, and were not passed on.
   */
  readonly onWritten: (
    active: ActiveRun,
    outcome: Outcome | null,
    isWritten: boolean,
    isSlotFree: boolean,
  ) => void;
  /** Accepts runs to which slots were passed on. @param sentAt by the engine's clock */
  readonly accept: (claimed: readonly ClaimedRun[], sentAt: number) => void;
  /** Called when no rejected outcome is left. */
  readonly onResumed: () => void;
}

/** An attempt that has ended. */
interface Entry extends Finalization {
  readonly outcome: Outcome;
  readonly active: ActiveRun;
}

interface Batch {
  readonly entries: readonly Entry[];
  /** The batch was sent before, and the reply was lost. */
  readonly mayBeWritten: boolean;
  /** Replaces the outcome of a single entry that PostgreSQL can never store; otherwise null. */
  readonly substitute: Outcome | null;
}

/** What the loop waits for before it writes. */
interface Gathering {
  readonly isQuick: boolean;
  /** Ends the wait. */
  readonly end: () => void;
}

/**
 * Outcomes are written 3 ms after the first of them, or when the batch before is written. After a batch of 50
 * or more: 30 ms after that was sent, or when there are 500, or one for which other runs wait.
 *
 * Outcomes that the server rejects, for whatever reason, are kept and sent again, with growing pauses, for as
 * long as the lease lasts. The fence makes a repetition harmless. If the reply was lost, reading back finds
 * the outcomes that were written. Each repetition is sent in halves, so that one rejected outcome does not
 * hold up others. An outcome that PostgreSQL can never store is replaced by a constant text.
 */
export class Outcomes {
  private readonly engine: Engine;
  private readonly options: OutcomesOptions;
  private readonly followUps: () => Promise<unknown>;
  private readonly passing: SlotPassing<Entry>;
  /** A drain does not wait forever for a server that renews leases but accepts no outcomes. */
  private writesUntil = Number.POSITIVE_INFINITY;
  private fresh: Entry[] = [];
  private isWriting = false;
  private gathering: Gathering | null = null;
  /** No other outcome is expected soon. */
  private isHurried = false;
  private rejected: Batch[] = [];
  private isRepeating = false;
  /** A rejected batch is being sent again; fresh outcomes are tried beside it. */
  private isSentAgain = false;
  private heldUp = false;
  private lastError: unknown;
  /** Errors that were logged since no outcome was rejected. */
  private readonly loggedErrors = new Set<string>();

  constructor(engine: Engine, options: OutcomesOptions) {
    this.engine = engine;
    this.options = options;
    this.followUps = createFollowUps(engine);
    this.passing = createSlotPassing<Entry>({
      leaseMs: engine.settings.leaseMs,
      queues: options.queues,
      holdsSlot: ({ active }) => active.run.slot_keys !== null,
      room: options.room,
    });
  }

  /** How many runs may come with outcomes that are being written. */
  get awaited(): number {
    return this.passing.awaited;
  }

  /** Slots are passed on only soon after a claim. @param sentAt by the engine's clock */
  claimed(sentAt: number): void {
    this.passing.recordClaim(sentAt);
  }

  /** Outcomes that cannot be written within `ms` from now are given up. */
  endWithin(ms: number): void {
    this.writesUntil = this.engine.clock.now() + ms;
  }

  /**
   * The server accepted nothing of the last batch, and nothing since: the worker claims only what it must.
   */
  get isHeldUp(): boolean {
    return this.heldUp;
  }

  /**
   * An attempt has ended: writes what it has reported, then its outcome.
   * @param outcome null: its lease is lost
   */
  add(active: ActiveRun, outcome: Outcome | null): void {
    if (outcome === null || (active.progress ?? active.cursors ?? active.log ?? active.span) === null)
      this.addReported(active, outcome);
    else void this.options.reports.flush([active]).then(() => this.addReported(active, outcome));
  }

  private addReported(active: ActiveRun, outcome: Outcome | null): void {
    const { run, isCommitted } = active;
    // The handler's own commit may have freed a slot.
    if (isCommitted || outcome === null)
      return this.options.onWritten(active, outcome, isCommitted, isCommitted);
    const entry = { id: run.id, fence: run.fence, outcome, active };
    this.fresh.push(entry);
    if (!this.isWriting) void this.writeFresh();
    else if (this.gathering === null) {
      // The batch that is under way may hang, as at a row that somebody has locked.
      if (this.fresh.length >= MAX_BATCH) void this.sendFresh();
    } else if (this.isEnough(this.gathering.isQuick, [entry])) this.gathering.end();
  }

  /** No other outcome is expected soon: writes now, or as soon as the batch before is written. */
  flushSoon(): void {
    if (!this.isWriting) return;
    this.isHurried = true;
    this.gathering?.end();
  }

  private async writeFresh(): Promise<void> {
    this.isWriting = true;
    const { clock } = this.engine;
    let isQuick = false;
    let waitMs = GATHER_MS;
    try {
      while (this.fresh.length > 0 || isQuick) {
        await this.gather(waitMs, isQuick);
        const sentAt = clock.now();
        const count = await this.sendFresh();
        if (count === 0) break;
        // All that have come meanwhile go at once: the slower the database, the larger the batches.
        isQuick = count >= QUICK_BATCH;
        waitMs = isQuick ? sentAt + GATHER_QUICK_MS - clock.now() : 0;
      }
    } finally {
      this.isHurried = false;
      this.isWriting = false;
    }
  }

  /** Sends all that are fresh. Resolves to how many; 0 also where the next repetition sends them too. */
  private async sendFresh(): Promise<number> {
    if (this.heldUp && !this.isSentAgain) return 0;
    const entries = this.take(Number.POSITIVE_INFINITY);
    if (entries.length === 0) return 0;
    this.heldUp = !(await this.write({ entries, mayBeWritten: false, substitute: null }));
    if (this.rejected.length > 0 && !this.isRepeating) void this.repeat();
    return entries.length;
  }

  /** Resolves after `waitMs`, or once no more are to be waited for. */
  private async gather(waitMs: number, isQuick: boolean): Promise<void> {
    if (waitMs <= 0 || this.isHurried || this.isEnough(isQuick, this.fresh)) return;
    let timer: Timer | undefined;
    await new Promise<void>(resolve => {
      this.gathering = { isQuick, end: resolve };
      timer = this.engine.clock.setTimeout(resolve, waitMs);
    });
    this.gathering = null;
    this.engine.clock.clear(timer);
  }

  private isEnough(isQuick: boolean, added: readonly Entry[]): boolean {
    if (this.fresh.length >= MAX_BATCH) return true;
    return isQuick && (this.fresh.length >= ENOUGH_QUICK || added.some(this.passing.holdsSlot));
  }

  private take(count: number): readonly Entry[] {
    const taken = this.fresh.slice(0, count);
    this.fresh = this.fresh.slice(count);
    this.isHurried = false;
    return taken;
  }

  /** Sends rejected outcomes again, until none is left. */
  private async repeat(): Promise<void> {
    this.isRepeating = true;
    let pauseMs = FIRST_PAUSE_MS;
    while (this.rejected.length > 0) {
      await this.engine.clock.sleep(pauseMs);
      pauseMs = (await this.repeatOnce()) ? FIRST_PAUSE_MS : Math.min(pauseMs * 2, MAX_PAUSE_MS);
    }
    this.isRepeating = false;
    this.heldUp = false;
    this.loggedErrors.clear();
    this.engine.logger.info({ event: 'finalize.resumed' }, 'the database has accepted all outcomes again');
    this.options.onResumed();
    this.goOn();
  }

  /** Sends each batch once, until several in a row are rejected. Returns whether any was accepted. */
  private async repeatOnce(): Promise<boolean> {
    const batches = this.rejected;
    this.rejected = [];
    const fresh = this.heldUp ? this.take(MAX_BATCH) : [];
    if (fresh.length > 0) batches.unshift({ entries: fresh, mayBeWritten: false, substitute: null });
    const unsent: Batch[] = [];
    let isAnyAccepted = false;
    let rejectedInARow = 0;
    for (const batch of batches) {
      const entries = this.giveUpExpired(batch.entries);
      if (entries.length === 0) continue;
      if (rejectedInARow >= MAX_REJECTED_IN_A_ROW) {
        unsent.push({ ...batch, entries });
        continue;
      }
      this.isSentAgain = true;
      await this.options.reports.flush(entries.map(({ active }) => active));
      const isAccepted = await this.write({ ...batch, entries });
      this.isSentAgain = false;
      if (isAccepted) {
        [isAnyAccepted, this.heldUp, rejectedInARow] = [true, false, 0];
        this.goOn();
      } else {
        rejectedInARow = isConnectionFailure(this.lastError) ? MAX_REJECTED_IN_A_ROW : rejectedInARow + 1;
      }
    }
    // Batches that were rejected again come last.
    this.rejected = [...unsent, ...this.rejected];
    return isAnyAccepted;
  }

  /** Writes the fresh outcomes that were held up. */
  private goOn(): void {
    if (this.fresh.length === 0) return;
    if (!this.isWriting) void this.writeFresh();
    this.flushSoon();
  }

  /** Writes a batch, then follows up. Keeps what is rejected. Returns whether any was accepted. */
  private async write(batch: Batch): Promise<boolean> {
    const { entries, mayBeWritten, substitute } = batch;
    const { engine } = this;
    const { workerId, accept } = this.options;
    const sent = substitute === null ? entries : entries.map(entry => ({ ...entry, outcome: substitute }));
    const sentAt = engine.clock.now();
    const passingOn = mayBeWritten || substitute !== null ? null : this.passing.begin(entries, sentAt);
    const { lost, failed, freed, outboxWritten, claimed } = await finalizeRuns(
      engine.database,
      sent,
      workerId,
      passingOn,
    );
    if (passingOn !== null) {
      this.passing.end(passingOn, claimed.length);
      accept(claimed, sentAt);
    }
    engine.wakeHost();
    let gone = lost;
    try {
      if (mayBeWritten && lost.size > 0) gone = await this.withoutWritten(entries, lost);
    } catch (error) {
      this.keep(batch, error);
      return false;
    }
    const accepted = failed.length === 0 ? entries : without(entries, failed);
    const dead = accepted.filter(entry => entry.outcome.transition === 'exhaust' && !gone.has(entry.id));
    if (freed.length > 0 || dead.length > 0) {
      const committed = { freed, outboxWritten: false, dead: dead.map(entry => entry.id) };
      if ((await afterCommit(engine, committed)) > 0) this.passing.recordUnblocked();
    }
    const tell = () => {
      for (const entry of accepted) this.tell(entry, !gone.has(entry.id), freed.length > 0);
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
  private async writeOtherwise(batch: Batch, error: unknown): Promise<boolean> {
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
    this.tell(first, false);
    return true;
  }

  /** Of the runs that seem lost, those whose outcome an earlier attempt has not written. */
  private async withoutWritten(
    entries: readonly Entry[],
    lost: ReadonlySet<string>,
  ): Promise<ReadonlySet<string>> {
    const written = await readEndedAttempts(this.engine.database, entries, this.options.workerId);
    return new Set([...lost].filter(id => !written.has(id)));
  }

  private keep(batch: Batch, error: unknown): void {
    this.lastError = error;
    const mayBeWritten = batch.mayBeWritten || isConnectionFailure(error);
    // Halves mean more statements. They help if one row is locked, not if the server cannot be reached.
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

  private giveUpExpired(entries: readonly Entry[]): readonly Entry[] {
    const now = this.engine.clock.now();
    const { leaseMs } = this.engine.settings;
    const held = entries.filter(({ active }) => isHeld(active, leaseMs, now) && now < this.writesUntil);
    if (held.length < entries.length) {
      const isKept = new Set(held);
      const expired = entries.filter(entry => !isKept.has(entry));
      this.giveUp(expired, this.lastError);
    }
    return held;
  }

  private tell({ active, outcome }: Entry, isWritten: boolean, isSlotFree = false): void {
    this.options.onWritten(active, outcome, isWritten, isSlotFree);
  }

  private giveUp(entries: readonly Entry[], error: unknown): void {
    const why = isPoolEnded(error) ? 'because the pool was ended' : 'while their leases lasted';
    this.engine.logger.error(
      { event: 'finalize.lost', runs: entries.length, error: String(error) },
      `outcomes could not be written ${why}; the runs will be tried again`,
    );
    for (const entry of entries) this.tell(entry, false);
  }
}

function halvesOf(batch: Batch): Batch[] {
  const { entries } = batch;
  if (entries.length < 2) return [batch];
  const middle = Math.ceil(entries.length / 2);
  return [
    { ...batch, entries: entries.slice(0, middle) },
    { ...batch, entries: entries.slice(middle) },
  ];
}

function without(entries: readonly Entry[], failed: readonly FailedPart<Entry>[]): readonly Entry[] {
  const ids = new Set(failed.flatMap(({ part }) => part.map(entry => entry.id)));
  return entries.filter(entry => !ids.has(entry.id));
}

// Whether the slots of runs that end are passed on, to runs that this worker executes.

/** The longest time without a claim: only a claim sees more urgent runs of other keys and queues. */
const MAX_UNSEEN_MS = 500;
/** After so many slots in a row for which no run waited, no slot is passed on until a run has waited. */
const MAX_IN_VAIN = 100;

export interface SlotPassing<Run> {
  /** Other runs may wait for this one to end. */
  readonly holdsSlot: (run: Run) => boolean;
  /** How many runs may come with outcomes that are being written. */
  readonly awaited: number;
  /** @param sentAt by the engine's clock */
  recordClaim(sentAt: number): void;
  /**
   * Which of these runs may pass on their slots; null: none. To be ended by `end`.
   * @param now by the engine's clock
   */
  begin(ending: readonly Run[], now: number): PassingOn<Run> | null;
  /** @param count how many runs got a slot */
  end(passingOn: PassingOn<Run>, count: number): void;
  /** Runs were waiting for slots that ended runs had held. */
  recordUnblocked(): void;
}

export interface SlotPassingOptions<Run> {
  readonly leaseMs: number;
  /** Only these; null: all. */
  readonly queues: readonly string[] | null;
  readonly holdsSlot: (run: Run) => boolean;
  /** How many more runs the worker may claim. */
  readonly room: () => number;
}

/**
 * No slot is passed on before the first claim. If each key has only a few runs, hardly any run waits for a
 * slot: then passing on would cost more than it saves, and keep room for runs that do not come.
 */
export function createSlotPassing<Run>(options: SlotPassingOptions<Run>): SlotPassing<Run> {
  const { leaseMs, queues, holdsSlot, room } = options;
  let claimedAt = Number.NEGATIVE_INFINITY;
  let awaited = 0;
  let inVain = 0;
  return {
    holdsSlot,
    get awaited() {
      return awaited;
    },
    recordClaim(sentAt) {
      claimedAt = sentAt;
    },
    begin(ending, now) {
      if (inVain >= MAX_IN_VAIN || now - claimedAt > MAX_UNSEEN_MS) return null;
      const count = ending.filter(holdsSlot).length;
      const limit = count === 0 ? 0 : Math.min(count, room());
      if (limit <= 0) return null;
      awaited += limit;
      return { limit, leaseMs, queues, holdsSlot };
    },
    end({ limit }, count) {
      awaited -= limit;
      inVain = count === 0 ? inVain + limit : 0;
    },
    recordUnblocked() {
      inVain = 0;
    },
  };
}
