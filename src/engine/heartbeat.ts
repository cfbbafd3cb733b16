// Room: engine. Keeps the leases of this process's runs, tells a handler at once when its lease is lost or
// somebody asked to cancel it, and writes progress.
// In: the runs that are active. Out: renewed leases; aborted signals.
import { performance } from 'node:perf_hooks';
import { Cancel } from '../model/errors.js';
import { renewLeases, writeProgress } from '../store/finalize-runs.js';
import type { ActiveRun } from './active-run.js';
import { leaseLost } from './effects.js';
import type { Engine } from './engine.js';
import { abort } from './interrupt.js';

const PROGRESS_EVERY_MS = 1000;

export interface Heartbeat {
  /** Beats at once, or as soon as the beat that is under way has ended. */
  beatNow(): void;
  stop(): void;
}

/**
 * Beats every `heartbeatMs`: `beSeen` for the worker, and one statement for all its runs. A run past its timeout is left out: its lease may
 * expire. A run that the answer does not name is lost, and so is one whose lease has run out by our own clock
 * while the database could not be reached.
 */
export function startHeartbeat(
  engine: Engine,
  workerId: string,
  active: ReadonlySet<ActiveRun>,
  beSeen: () => Promise<void>,
): Heartbeat {
  const { leaseMs, heartbeatMs } = engine.settings;
  let isBeating = false;
  let beatsAgain = false;

  const beat = async () => {
    await beSeen();
    const sentAt = performance.now();
    // What is being finalized will be gone; only if that takes long is its lease still of use.
    const held = [...active].filter(
      each =>
        !each.isLost &&
        !each.isTimedOut &&
        !each.isSettled &&
        !(each.isFinalizing && sentAt - each.renewedAt < leaseMs / 2),
    );
    if (held.length === 0) return;
    const renewed = new Map(
      (
        await renewLeases(
          engine.database,
          held.map(each => each.run),
          workerId,
          leaseMs,
        )
      ).map(row => [row.id, row]),
    );
    for (const each of held) {
      const row = renewed.get(each.run.id);
      // It may have been finalized while the statement was under way; then it is not lost but done.
      if (row === undefined && active.has(each) && !each.isSettled && !each.isFinalizing) lose(engine, each);
      if (row !== undefined) each.renewedAt = sentAt;
      if (row?.cancel_requested) requestCancel(each);
    }
  };

  const loseExpired = () => {
    for (const each of active) {
      if (!each.isSettled && performance.now() - each.renewedAt >= leaseMs) lose(engine, each);
    }
  };

  const guardedBeat = async () => {
    // The beat before hangs: by our own clock the leases may be over.
    if (isBeating) return loseExpired();
    isBeating = true;
    try {
      await beat();
    } catch (error) {
      engine.logger.warn(
        { event: 'heartbeat.failed', error: String(error) },
        'a heartbeat did not reach the database',
      );
      loseExpired();
    } finally {
      isBeating = false;
    }
    if (!beatsAgain) return;
    beatsAgain = false;
    await guardedBeat();
  };

  const beats = setInterval(() => void guardedBeat(), heartbeatMs);
  const notes = setInterval(() => void noteProgress(engine, workerId, active), PROGRESS_EVERY_MS);
  return {
    beatNow() {
      if (isBeating) beatsAgain = true;
      else void guardedBeat();
    },
    stop() {
      beatsAgain = false;
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
function requestCancel(active: ActiveRun): void {
  if (active.cancelRequested) return;
  active.cancelRequested = true;
  abort(active.interrupt, new Cancel('cancelled by an operator'));
}

/** Writes what progress there is; a failure is not worth a word, the next note comes in a second. */
export async function noteProgress(
  engine: Engine,
  workerId: string,
  active: ReadonlySet<ActiveRun>,
): Promise<void> {
  const noted = [...active].flatMap(each => {
    if (each.progress === null || each.isLost) return [];
    const entry = { id: each.run.id, fence: each.run.fence, progress: each.progress };
    each.progress = null;
    return [entry];
  });
  if (noted.length > 0) await writeProgress(engine.database, noted, workerId).catch(() => undefined);
}
