// Room: engine/worker. Renews the leases of a worker's runs. Aborts a handler whose lease is lost or whose
// run is to be cancelled; the database decides both, never a notice. Writes progress.
// In: the active runs. Out: renewed leases, aborted signals.
import { performance } from 'node:perf_hooks';
import { Cancel } from '../../model/errors.js';
import { isUnstorable } from '../../store/connection/errors.js';
import { readHeld, renewLeases, writeProgress } from '../../store/runs/leases.js';
import { createNoticeLimiter } from '../claim/notice-limiter.js';
import type { Engine } from '../engine.js';
import { abort } from '../execute/abort.js';
import { type ActiveRun, isHeld } from '../execute/active-run.js';
import { leaseLost } from '../execute/effects.js';

const PROGRESS_EVERY_MS = 1000;
const MAX_NAMED = 1000;
/** The pause before a failed beat is repeated; it doubles up to a heartbeat. */
const FIRST_PAUSE_MS = 100;

export interface Heartbeat {
  /**
   * Soon checks whether somebody asked to cancel a run, if it is one of ours; at most a few times a second.
   */
  readonly checkCancel: (runId: string) => void;
  stop(): void;
}

/** A run that is still held, as the database knows it. A run that is missing in its answer is lost. */
interface HeldRow {
  readonly id: string;
  readonly cancel_requested: boolean;
}

/**
 * Beats every `heartbeatMs`: one statement renews the leases of all runs, and `refreshRow` shows that the
 * worker lives; neither waits for the other. A run past its timeout is left out, so its lease may expire. A
 * run that the answer does not name is lost, and so is one whose lease has run out by our own clock. A beat
 * that fails, or skips a row that somebody else has locked, is repeated soon, because it says nothing about
 * the lease.
 */
export function startHeartbeat(
  engine: Engine,
  workerId: string,
  activeRuns: ReadonlySet<ActiveRun>,
  refreshRow: () => Promise<void>,
): Heartbeat {
  const { leaseMs, heartbeatMs } = engine.settings;
  let isBeating = false;
  let isRefreshing = false;
  /** A series of failed beats is logged once. */
  let isFailing = false;
  let pauseMs = FIRST_PAUSE_MS;
  let repetition: NodeJS.Timeout | undefined;
  let isStopped = false;

  /** Returns whether every lease that is still ours was renewed. */
  const beat = async (): Promise<boolean> => {
    const sentAt = performance.now();
    // A finalized run needs its lease only if writing its outcome takes long.
    const held = [...activeRuns].filter(
      active =>
        !active.isLost &&
        !active.isCommitted &&
        (active.isFinalizing ? sentAt - active.renewedAt >= leaseMs / 2 : !active.isTimedOut),
    );
    if (held.length === 0) return true;
    const runs = held.map(active => active.run);
    const answer = await renewLeases(engine.database, runs, workerId, leaseMs);
    const renewed = new Set(answer.filter(row => row.is_renewed).map(row => row.id));
    let areAllRenewed = true;
    for (const active of applyAnswer(held, answer)) {
      if (renewed.has(active.run.id)) active.renewedAt = sentAt;
      else if (isHeld(active, leaseMs)) areAllRenewed = false;
      else loseLease(engine, active);
    }
    return areAllRenewed;
  };

  /** Aborts the handlers of lost and cancelled runs. Returns the runs that are still held. */
  const applyAnswer = (held: readonly ActiveRun[], answer: readonly HeldRow[]): ActiveRun[] => {
    const rows = new Map(answer.map(row => [row.id, row]));
    return held.filter(active => {
      const row = rows.get(active.run.id);
      // A run that was finalized while the statement was under way is done, not lost.
      if (row === undefined && activeRuns.has(active) && !active.isCommitted && !active.isFinalizing)
        loseLease(engine, active);
      if (row?.cancel_requested) requestCancel(active);
      return row !== undefined;
    });
  };

  /** Ids that notices have named since the last check. Once it is full, all runs are checked. */
  const named = new Set<string>();
  let isChecking = false;

  const checkNamed = async () => {
    if (isChecking) return;
    const isNamed = (id: string) => named.size >= MAX_NAMED || named.has(id);
    const canBeCancelled = (active: ActiveRun) =>
      !active.isLost && !active.cancelRequested && !active.isCommitted && !active.isFinalizing;
    const held = [...activeRuns].filter(active => isNamed(active.run.id) && canBeCancelled(active));
    named.clear();
    if (held.length === 0) return;
    isChecking = true;
    try {
      const runs = held.map(active => active.run);
      applyAnswer(held, await readHeld(engine.database, runs, workerId));
      if (held.some(active => active.isLost || active.cancelRequested)) limiter.found();
    } catch (error) {
      engine.logger.debug(
        { event: 'cancel.unread', error: String(error) },
        'the next heartbeat checks it again',
      );
    } finally {
      isChecking = false;
      if (named.size > 0) limiter.notice();
    }
  };
  const limiter = createNoticeLimiter(() => void checkNamed());

  const loseExpired = () => {
    for (const active of activeRuns) {
      if (!active.isCommitted && performance.now() - active.renewedAt >= leaseMs) loseLease(engine, active);
    }
  };

  const repeat = () => {
    if (!isStopped) repetition = setTimeout(() => void guardedBeat(), pauseMs);
    pauseMs = Math.min(pauseMs * 2, heartbeatMs);
  };

  const guardedBeat = async () => {
    // The previous beat hangs, so leases may have run out by our own clock.
    if (isBeating) return loseExpired();
    isBeating = true;
    clearTimeout(repetition);
    try {
      if (await beat()) pauseMs = FIRST_PAUSE_MS;
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

  const guardedRefresh = async () => {
    if (isRefreshing) return;
    isRefreshing = true;
    // Informational only: the lease is what counts.
    await refreshRow().catch((error: unknown) =>
      engine.logger.debug(
        { event: 'worker.unseen', error: String(error) },
        'the worker could not show that it lives',
      ),
    );
    isRefreshing = false;
  };

  const beats = setInterval(() => {
    void guardedRefresh();
    void guardedBeat();
  }, heartbeatMs);
  const progress = setInterval(() => void flushProgress(engine, workerId, activeRuns), PROGRESS_EVERY_MS);
  return {
    checkCancel(runId) {
      if (named.size < MAX_NAMED) named.add(runId);
      limiter.notice();
    },
    stop() {
      isStopped = true;
      clearTimeout(repetition);
      clearInterval(beats);
      clearInterval(progress);
      limiter.close();
    },
  };
}

function loseLease(engine: Engine, active: ActiveRun): void {
  if (active.isLost) return;
  active.isLost = true;
  engine.logger.error(
    { event: 'run.lease_lost', run_id: active.run.id, job: active.run.job, fence: active.run.fence },
    'the lease is lost; the handler is told to stop and nothing of this attempt is kept',
  );
  abort(active.interrupt, leaseLost(active));
}

function requestCancel(active: ActiveRun): void {
  if (active.cancelRequested) return;
  active.cancelRequested = true;
  abort(active.interrupt, new Cancel('cancelled by an operator'));
}

/**
 * Writes the progress that is not written yet. If that fails, it stays for the next flush, a second later.
 */
export async function flushProgress(
  engine: Engine,
  workerId: string,
  activeRuns: Iterable<ActiveRun>,
): Promise<void> {
  const pending = [...activeRuns].flatMap(active => {
    if (active.progress === null || active.isLost) return [];
    const { progress, run } = active;
    active.progress = null;
    return [{ id: run.id, fence: run.fence, progress, active }];
  });
  if (pending.length === 0) return;
  try {
    await writeProgress(engine.database, pending, workerId);
  } catch (error) {
    if (isUnstorable(error)) return;
    for (const { active, progress } of pending) active.progress ??= progress;
  }
}
