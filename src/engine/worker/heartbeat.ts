// Room: engine. Keeps the leases of this process's runs, tells a handler at once when its lease is lost or
// somebody asked to cancel it (the database says so, never a notice), and writes progress.
// In: the runs that are active. Out: renewed leases; aborted signals.
import { performance } from 'node:perf_hooks';
import { Cancel } from '../../model/errors.js';
import { isUnstorable } from '../../store/connection/errors.js';
import { readHeld, renewLeases, writeProgress } from '../../store/runs/leases.js';
import { createNoticeGate } from '../claim/notice-limiter.js';
import type { Engine } from '../engine.js';
import { abort } from '../execute/abort.js';
import { type ActiveRun, isHeld } from '../execute/active-run.js';
import { leaseLost } from '../execute/effects.js';

const PROGRESS_EVERY_MS = 1000;
const MAX_NAMED = 1000;
/** A beat that failed is repeated after this, then less and less often. */
const FIRST_PAUSE_MS = 100;

export interface Heartbeat {
  /** Looks soon whether somebody asked to cancel a run, if it is one of ours; a few times a second at most. */
  readonly lookAt: (runId: string) => void;
  stop(): void;
}

/** What the database says of a run that is still held. A run that is missing from its answer is lost. */
interface HeldRow {
  readonly id: string;
  readonly cancel_requested: boolean;
}

/**
 * Beats every `heartbeatMs`: one statement for all runs of the worker, and `beSeen` for itself, beside each other: who is
 * not seen keeps its leases. A run past its timeout is left out until its attempt has ended: its lease may expire. A
 * run that the answer does not name is lost, and so is one whose lease has run out by our own clock. A beat that fails
 * or passes over a row that somebody else has locked, is repeated soon: it says nothing about the leases.
 */
export function startHeartbeat(
  engine: Engine,
  workerId: string,
  active: ReadonlySet<ActiveRun>,
  beSeen: () => Promise<void>,
): Heartbeat {
  const { leaseMs, heartbeatMs } = engine.settings;
  let isBeating = false;
  let isBeingSeen = false;
  /** It is logged when this begins. */
  let isFailing = false;
  let pause = FIRST_PAUSE_MS;
  let repetition: NodeJS.Timeout | undefined;
  let isStopped = false;

  /** Returns whether all leases were renewed that are still ours. */
  const beat = async (): Promise<boolean> => {
    const sentAt = performance.now();
    // What is being finalized will be gone; only if that takes long is its lease still of use.
    const held = [...active].filter(
      each =>
        !each.isLost &&
        !each.isSettled &&
        (each.isFinalizing ? sentAt - each.renewedAt >= leaseMs / 2 : !each.isTimedOut),
    );
    if (held.length === 0) return true;
    const runs = held.map(each => each.run);
    const answer = await renewLeases(engine.database, runs, workerId, leaseMs);
    const renewed = new Set(answer.filter(row => row.is_renewed).map(row => row.id));
    let isWhole = true;
    for (const each of heed(held, answer)) {
      if (renewed.has(each.run.id)) each.renewedAt = sentAt;
      else if (isHeld(each, leaseMs)) isWhole = false;
      else lose(engine, each);
    }
    return isWhole;
  };

  /** Tells handlers what an answer means to them. Returns those that are still held. */
  const heed = (held: readonly ActiveRun[], answer: readonly HeldRow[]): ActiveRun[] => {
    const rows = new Map(answer.map(row => [row.id, row]));
    return held.filter(each => {
      const row = rows.get(each.run.id);
      // It may have been finalized while the statement was under way; then it is not lost but done.
      if (row === undefined && active.has(each) && !each.isSettled && !each.isFinalizing) lose(engine, each);
      if (row?.cancel_requested) requestCancel(each);
      return row !== undefined;
    });
  };

  /** Ids that notices have named since the last look; once it is full, any run may be meant. */
  const named = new Set<string>();
  let isLooking = false;

  const lookAtNamed = async () => {
    if (isLooking) return;
    const isNamed = (id: string) => named.size >= MAX_NAMED || named.has(id);
    const isOpen = (each: ActiveRun) =>
      !each.isLost && !each.cancelRequested && !each.isSettled && !each.isFinalizing;
    const held = [...active].filter(each => isNamed(each.run.id) && isOpen(each));
    named.clear();
    if (held.length === 0) return;
    isLooking = true;
    try {
      const runs = held.map(each => each.run);
      heed(held, await readHeld(engine.database, runs, workerId));
      if (held.some(each => each.isLost || each.cancelRequested)) gate.found();
    } catch (error) {
      engine.logger.debug({ event: 'cancel.unread', error: String(error) }, 'the next heartbeat looks again');
    } finally {
      isLooking = false;
      if (named.size > 0) gate.notice();
    }
  };
  const gate = createNoticeGate(() => void lookAtNamed());

  const loseExpired = () => {
    for (const each of active) {
      if (!each.isSettled && performance.now() - each.renewedAt >= leaseMs) lose(engine, each);
    }
  };

  const repeat = () => {
    if (!isStopped) repetition = setTimeout(() => void guardedBeat(), pause);
    pause = Math.min(pause * 2, heartbeatMs);
  };

  const guardedBeat = async () => {
    // The beat before hangs: by our own clock the leases may be over.
    if (isBeating) return loseExpired();
    isBeating = true;
    clearTimeout(repetition);
    try {
      if (await beat()) pause = FIRST_PAUSE_MS;
      else repeat();
      isFailing = false;
    } catch (error) {
      if (!isFailing) {
        engine.logger.warn(
          { event: 'heartbeat.failed', error: String(error) },
          'a heartbeat did not reach the database; it is repeated while the leases last',
        );
      }
      isFailing = true;
      loseExpired();
      repeat();
    } finally {
      isBeating = false;
    }
  };

  const showItself = async () => {
    if (isBeingSeen) return;
    isBeingSeen = true;
    // Only a courtesy: the lease is what counts.
    await beSeen().catch((error: unknown) =>
      engine.logger.debug(
        { event: 'worker.unseen', error: String(error) },
        'the worker could not say that it lives',
      ),
    );
    isBeingSeen = false;
  };

  const beats = setInterval(() => {
    void showItself();
    void guardedBeat();
  }, heartbeatMs);
  const notes = setInterval(() => void noteProgress(engine, workerId, active), PROGRESS_EVERY_MS);
  return {
    lookAt(runId) {
      if (named.size < MAX_NAMED) named.add(runId);
      gate.notice();
    },
    stop() {
      isStopped = true;
      clearTimeout(repetition);
      clearInterval(beats);
      clearInterval(notes);
      gate.close();
    },
  };
}

function lose(engine: Engine, active: ActiveRun): void {
  if (active.isLost) return;
  active.isLost = true;
  engine.logger.error(
    { event: 'run.lease_lost', run_id: active.run.id, job: active.run.job, fence: active.run.fence },
    'the lease is lost; the handler is told to stop and nothing of this attempt is kept',
  );
  abort(active.interrupt, leaseLost(active));
}

/** Tells a handler that an operator wants it to stop. */
function requestCancel(active: ActiveRun): void {
  if (active.cancelRequested) return;
  active.cancelRequested = true;
  abort(active.interrupt, new Cancel('cancelled by an operator'));
}

/** Writes what progress there is. What fails for now goes with the next note, in a second; that is not worth a word. */
export async function noteProgress(
  engine: Engine,
  workerId: string,
  active: Iterable<ActiveRun>,
): Promise<void> {
  const noted = [...active].flatMap(each => {
    if (each.progress === null || each.isLost) return [];
    const { progress, run } = each;
    each.progress = null;
    return [{ id: run.id, fence: run.fence, progress, each }];
  });
  if (noted.length === 0) return;
  try {
    await writeProgress(engine.database, noted, workerId);
  } catch (error) {
    if (isUnstorable(error)) return;
    for (const { each, progress } of noted) each.progress ??= progress;
  }
}
