// Renews the leases of a worker's runs, and aborts handlers whose lease is lost or whose run is to be
// cancelled. Writes progress.
import type { Timer } from '../../model/clock.js';
import { renewLeases } from '../../store/runs/leases.js';
import type { Engine } from '../engine.js';
import { type ActiveRun, isHeld } from '../execute/active-run.js';
import { createCancelCheck } from './cancel-check.js';
import { applyLeaseAnswer, loseLease } from './lease-answer.js';
import { flushCursors, flushProgress } from './progress.js';

const PROGRESS_EVERY_MS = 1000;
/** The pause before a failed beat is repeated; it doubles up to a heartbeat. */
const FIRST_PAUSE_MS = 100;

export interface Heartbeat {
  /** Checks soon whether a cancel of a held run was requested; at most a few times a second. */
  readonly checkCancel: (runId: string) => void;
  stop(): void;
}

export interface HeartbeatOptions {
  readonly flushLogs?: () => Promise<void>;
  /**
   * How often to ask whether runs are to be cancelled. Default: with heartbeats, and after a notification.
   */
  readonly pollMs?: number | undefined;
}

/**
 * Beats every `heartbeatMs`: one statement renews the leases of all runs, `refreshRow` shows that the worker
 * lives, and `flushLogs` writes what handlers have logged. None of them waits for another. The lease of a run
 * past its timeout is not renewed, so it may expire. A run that the answer lacks is lost, and so is a run
 * whose lease has expired by our own clock. A beat that fails, or skips a row that another session has
 * locked, is repeated soon, because it tells nothing about the lease.
 */
export function startHeartbeat(
  engine: Engine,
  workerId: string,
  activeRuns: ReadonlySet<ActiveRun>,
  refreshRow: () => Promise<void>,
  { flushLogs, pollMs }: HeartbeatOptions = {},
): Heartbeat {
  const { clock } = engine;
  const { leaseMs, heartbeatMs } = engine.settings;
  const cancelCheck = createCancelCheck(engine, workerId, activeRuns);
  let isBeating = false;
  let isRefreshing = false;
  /** A series of failed beats is logged once. */
  let isFailing = false;
  let pauseMs = FIRST_PAUSE_MS;
  let repetition: Timer | undefined;
  let isStopped = false;

  /** Returns whether every lease that is still ours was renewed. */
  const beat = async (): Promise<boolean> => {
    const sentAt = clock.now();
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
    for (const active of applyLeaseAnswer(engine, activeRuns, held, answer)) {
      if (renewed.has(active.run.id)) active.renewedAt = sentAt;
      else if (isHeld(active, leaseMs, clock.now())) areAllRenewed = false;
      else loseLease(engine, active);
    }
    return areAllRenewed;
  };

  const loseExpired = () => {
    for (const active of activeRuns) {
      if (!active.isCommitted && clock.now() - active.renewedAt >= leaseMs) loseLease(engine, active);
    }
  };

  const repeat = () => {
    if (!isStopped) repetition = clock.setTimeout(() => void guardedBeat(), pauseMs);
    pauseMs = Math.min(pauseMs * 2, heartbeatMs);
  };

  const guardedBeat = async () => {
    // The previous beat hangs, so leases may have expired by our own clock.
    if (isBeating) return loseExpired();
    isBeating = true;
    clock.clear(repetition);
    try {
      if (await beat()) pauseMs = FIRST_PAUSE_MS;
      else repeat();
      isFailing = false;
    } catch (error) {
      // The beat was under way while the worker closed: there is no lease to renew.
      if (isStopped) return;
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
    // For information only: what counts is the lease.
    await refreshRow().catch((error: unknown) =>
      engine.logger.debug(
        { event: 'worker.unseen', error: String(error) },
        'the worker could not show that it lives',
      ),
    );
    isRefreshing = false;
  };

  const beats = clock.setInterval(() => {
    void guardedRefresh();
    void guardedBeat();
    void flushLogs?.();
  }, heartbeatMs);
  const report = () => {
    void flushProgress(engine, workerId, activeRuns);
    void flushCursors(engine, workerId, activeRuns);
  };
  const progress = clock.setInterval(report, PROGRESS_EVERY_MS);
  const polls = pollMs === undefined ? undefined : clock.setInterval(cancelCheck.checkAll, pollMs);
  return {
    checkCancel: cancelCheck.check,
    stop() {
      isStopped = true;
      clock.clear(repetition);
      clock.clear(beats);
      clock.clear(progress);
      clock.clear(polls);
      cancelCheck.close();
    },
  };
}
