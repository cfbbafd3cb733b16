// Room: engine. Keeps the leases of this process's runs, tells a handler at once when its lease is lost or
// somebody asked to cancel it, and writes progress.
// In: the runs that are active. Out: renewed leases; aborted signals.
import { performance } from 'node:perf_hooks';
import { Cancel } from '../model/errors.js';
import { isUnstorable } from '../store/database-errors.js';
import { renewLeases, writeProgress } from '../store/finalize-runs.js';
import { type ActiveRun, isHeld } from './active-run.js';
import { leaseLost } from './effects.js';
import type { Engine } from './engine.js';
import { abort } from './interrupt.js';

const PROGRESS_EVERY_MS = 1000;
/** A beat that failed is repeated after this, then less and less often. */
const FIRST_PAUSE_MS = 100;

export interface Heartbeat {
  stop(): void;
}

/**
 * Beats every `heartbeatMs`: one statement for all runs of the worker, and `beSeen` for itself, beside each other: who is
 * not seen keeps its leases. A run past its timeout is left out until its attempt has ended: its lease may expire. A
 * run that the answer does not name is lost, and so is one whose lease has run out by our own clock. A beat that fails,
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
    const renewals = new Map(answer.map(row => [row.id, row]));
    let isWhole = true;
    for (const each of held) {
      const row = renewals.get(each.run.id);
      if (row === undefined) {
        // It may have been finalized while the statement was under way; then it is not lost but done.
        if (active.has(each) && !each.isSettled && !each.isFinalizing) lose(engine, each);
        continue;
      }
      if (row.is_renewed) each.renewedAt = sentAt;
      else if (isHeld(each, leaseMs)) isWhole = false;
      else lose(engine, each);
      if (row.cancel_requested) requestCancel(each);
    }
    return isWhole;
  };

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
    stop() {
      isStopped = true;
      clearTimeout(repetition);
      clearInterval(beats);
      clearInterval(notes);
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
export function requestCancel(active: ActiveRun): void {
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
