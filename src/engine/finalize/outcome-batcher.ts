// Room: engine, last of a tick. Writes the outcomes of attempts, many in one statement.
// In: outcomes, one at a time as handlers end. Out: finished rows, or rows that wait for their next attempt.
import { setTimeout as sleep } from 'node:timers/promises';
import { TockError } from '../../model/errors.js';
import type { Outcome } from '../../model/run/decide.js';
import { isConnectionFailure, isUnstorable, sqlState } from '../../store/connection/errors.js';
import {
  type FailedPart,
  type Finalization,
  finalizeRuns,
  readEndedAttempts,
} from '../../store/runs/finalize.js';
import type { Engine } from '../engine.js';
import { settle } from './after-commit.js';
import { refusedOutcome } from './refused-outcome.js';

const MOST_IN_A_BATCH = 2000;
const FLUSH_AFTER_MS = 3;
const FIRST_PAUSE_MS = 50;
const LONGEST_PAUSE_MS = 5000;
/** After so many pieces in vain, one after the other, the rest of them waits for the next round. */
const MOST_IN_VAIN = 3;

export interface Finalizer<Entry extends Finalization> {
  /** Takes an outcome; `done` is called when it is written. */
  add(entry: Entry): void;
  /** Nothing else is coming soon: writes what has gathered as soon as the batch before is written. */
  hurry(): void;
  /** The server takes no outcome now: whoever has more to do should wait with it. */
  readonly isHeldUp: boolean;
}

/** The worker whose outcomes are written. */
export interface Holder<Entry extends Finalization> {
  readonly workerId: string;
  /** Whether its lease still lasts: else the outcome is given up. */
  readonly mayWrite: (entry: Entry) => boolean;
  /** What should be written before the outcomes, where it could not be. Does not throw. */
  readonly beforeResend: (entries: readonly Entry[]) => Promise<void>;
  /** Called for each, in the end: with true when it is written, with false where the lease was lost. */
  readonly done: (entry: Entry, isWritten: boolean) => void;
  /** Called when nothing that was kept is left. */
  readonly onResumed: () => void;
}

/** Outcomes that are sent together. */
interface Piece<Entry> {
  readonly entries: readonly Entry[];
  /** It was sent before and its reply was lost. */
  readonly mayBeWritten: boolean;
  /** Sent in place of the outcome, of which there is only one then: PostgreSQL can never store that. Else null. */
  readonly substitute: Outcome | null;
}

/**
 * Gathers outcomes and writes them in batches: at 2,000, or when the batch before is written, or 3 ms after the first, or
 * when told that nothing else is coming.
 *
 * What the server does not take, for whatever reason, is kept and sent again, with growing pauses, for as long as the
 * lease lasts. The fence makes a repetition harmless, and an outcome that was written though the reply was lost is found
 * by reading it back. What is sent again is halved each time, so that one outcome that is held up holds up no other.
 * Only what PostgreSQL can never store is given up: a constant text takes its place.
 */
export function createFinalizer<Entry extends Finalization>(
  engine: Engine,
  { workerId, mayWrite, beforeResend, done, onResumed }: Holder<Entry>,
): Finalizer<Entry> {
  let waiting: Entry[] = [];
  let timer: NodeJS.Timeout | undefined;
  let underWay = 0;
  /** What the server has not taken yet. */
  let kept: Piece<Entry>[] = [];
  /** The server has taken nothing of the last batch, and nothing since. */
  let isHeldUp = false;
  let isResending = false;
  /** Something that was kept is under way: meanwhile, what is new may find out by itself. */
  let isTrying = false;
  let lastError: unknown;
  /** The errors that were logged since nothing was kept. */
  const said = new Set<string>();

  const flush = () => {
    clearTimeout(timer);
    timer = undefined;
    // What comes meanwhile goes with the next try.
    if (isHeldUp && !isTrying) return;
    const batch = waiting;
    waiting = [];
    if (batch.length === 0) return;
    underWay++;
    void writeFresh(batch).finally(() => {
      underWay--;
      // What has gathered meanwhile: the slower the database, the larger the batches.
      if (underWay === 0) flush();
    });
  };

  const writeFresh = async (entries: readonly Entry[]) => {
    const isTaken = await write({ entries, mayBeWritten: false, substitute: null });
    isHeldUp = !isTaken;
    if (kept.length > 0 && !isResending) void resend();
  };

  /** Writes a piece, and does what follows from it. Keeps what the server does not take; true if it took anything. */
  const write = async (piece: Piece<Entry>): Promise<boolean> => {
    const { entries, mayBeWritten, substitute } = piece;
    const batch = substitute === null ? entries : entries.map(each => ({ ...each, outcome: substitute }));
    const { lost, failed, freed, outboxWritten } = await finalizeRuns(engine.database, batch, workerId);
    let gone = lost;
    try {
      if (mayBeWritten && lost.size > 0) gone = await withoutSettled(entries, lost);
    } catch (error) {
      keep(piece, error);
      return false;
    }
    const taken = failed.length === 0 ? entries : without(entries, failed);
    const dead = taken.filter(each => each.outcome.transition === 'exhaust' && !gone.has(each.id));
    if (freed.length > 0 || outboxWritten || dead.length > 0)
      await settle(engine, { freed, outboxWritten, dead: dead.map(each => each.id) });
    for (const entry of taken) done(entry, !gone.has(entry.id));
    let isTaken = taken.length > 0;
    for (const { part, error } of failed) {
      const rest = substitute === null ? { ...piece, entries: part } : piece;
      isTaken = (await writeOtherwise(rest, error)) || isTaken;
    }
    return isTaken;
  };

  /** What could not be written as it was: at once in halves, or without what PostgreSQL refuses; or later. */
  const writeOtherwise = async (piece: Piece<Entry>, error: unknown): Promise<boolean> => {
    const [first] = piece.entries;
    if (!isUnstorable(error) || first === undefined) {
      keep(piece, error);
      return false;
    }
    if (piece.entries.length > 1) {
      let isTaken = false;
      for (const half of halvesOf(piece)) isTaken = (await write(half)) || isTaken;
      return isTaken;
    }
    if (piece.substitute === null)
      return await write({ ...piece, substitute: refusedOutcome(engine, first.id, first.outcome, error) });
    engine.logger.error(
      { event: 'finalize.failed', run_id: first.id, error: String(error), code: sqlState(error) },
      'PostgreSQL refuses even the constant text; the lease will expire',
    );
    done(first, false);
    return true;
  };

  const withoutSettled = async (batch: readonly Entry[], lost: ReadonlySet<string>) => {
    const settled = await readEndedAttempts(engine.database, batch, workerId);
    return new Set([...lost].filter(id => !settled.has(id)));
  };

  const keep = (piece: Piece<Entry>, error: unknown) => {
    lastError = error;
    const mayBeWritten = piece.mayBeWritten || isConnectionFailure(error);
    // A server that is away is not asked more often than need be; one that did not answer may wait for a single row.
    const isAway = isConnectionFailure(error) && !(error instanceof TockError);
    for (const each of isAway ? [piece] : halvesOf(piece)) kept.push({ ...each, mayBeWritten });
    const name = sqlState(error) ?? String(error);
    if (said.has(name)) return;
    said.add(name);
    engine.logger.warn(
      { event: 'finalize.waiting', runs: piece.entries.length, error: String(error), code: sqlState(error) },
      'the database does not take outcomes now; they are kept and sent again while their leases last',
    );
  };

  /** Sends again what is kept, until nothing is. */
  const resend = async () => {
    isResending = true;
    let pause = FIRST_PAUSE_MS;
    while (kept.length > 0) {
      await sleep(pause);
      pause = (await round()) ? FIRST_PAUSE_MS : Math.min(pause * 2, LONGEST_PAUSE_MS);
    }
    [isResending, isHeldUp] = [false, false];
    said.clear();
    engine.logger.info({ event: 'finalize.resumed' }, 'no outcome waits for the database any longer');
    onResumed();
    flush();
  };

  /** Sends each piece once, what is new first; none after a few in vain. Returns whether the server took anything. */
  const round = async (): Promise<boolean> => {
    const pieces = kept;
    kept = [];
    if (isHeldUp && waiting.length > 0) {
      pieces.unshift({ entries: waiting.slice(0, MOST_IN_A_BATCH), mayBeWritten: false, substitute: null });
      waiting = waiting.slice(MOST_IN_A_BATCH);
    }
    const untried: Piece<Entry>[] = [];
    let isAnyTaken = false;
    let inVain = 0;
    for (const piece of pieces) {
      const entries = giveUpExpired(piece.entries);
      if (entries.length === 0) continue;
      if (inVain >= MOST_IN_VAIN) {
        untried.push({ ...piece, entries });
        continue;
      }
      isTrying = true;
      await beforeResend(entries);
      const isTaken = await write({ ...piece, entries });
      isTrying = false;
      if (isTaken) {
        [isAnyTaken, isHeldUp, inVain] = [true, false, 0];
        if (underWay === 0) flush();
      } else inVain = isConnectionFailure(lastError) ? MOST_IN_VAIN : inVain + 1;
    }
    // In turn: those that were in vain come last.
    kept = [...untried, ...kept];
    return isAnyTaken;
  };

  const giveUpExpired = (entries: readonly Entry[]): readonly Entry[] => {
    const held = entries.filter(mayWrite);
    if (held.length === entries.length) return entries;
    const expired = new Set(entries);
    for (const entry of held) expired.delete(entry);
    engine.logger.error(
      { event: 'finalize.lost', runs: expired.size, error: String(lastError) },
      'outcomes could not be written while their leases lasted; the runs will be tried again',
    );
    for (const entry of expired) done(entry, false);
    return held;
  };

  return {
    add(entry) {
      waiting.push(entry);
      if (waiting.length >= MOST_IN_A_BATCH) flush();
      else if (underWay === 0) timer ??= setTimeout(flush, FLUSH_AFTER_MS);
    },
    hurry() {
      if (underWay === 0) flush();
    },
    get isHeldUp() {
      return isHeldUp;
    },
  };
}

function halvesOf<Entry>(piece: Piece<Entry>): Piece<Entry>[] {
  const { entries } = piece;
  if (entries.length < 2) return [piece];
  const middle = Math.ceil(entries.length / 2);
  return [
    { ...piece, entries: entries.slice(0, middle) },
    { ...piece, entries: entries.slice(middle) },
  ];
}

function without<Entry extends Finalization>(
  entries: readonly Entry[],
  failed: readonly FailedPart<Entry>[],
): readonly Entry[] {
  const ids = new Set(failed.flatMap(({ part }) => part.map(each => each.id)));
  return entries.filter(each => !ids.has(each.id));
}
