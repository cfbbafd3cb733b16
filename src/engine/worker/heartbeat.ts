// Renews the leases of a worker's runs, and aborts handlers whose lease is lost or whose run is to be
// cancelled. Writes progress and cursors.
import type { Timer } from '../../model/clock.js';
import { Cancel } from '../../model/errors.js';
import { readHeld, renewLeases } from '../../store/runs/leases.js';
import { createNotificationLimiter } from '../claim/notification-limiter.js';
import type { Engine } from '../engine.js';
import { abort } from '../execute/abort.js';
import { type ActiveRun, isHeld, leaseLost } from '../execute/active-run.js';
import { flushCursors, flushProgress } from './reports.js';

const REPORTS_EVERY_MS = 1000;
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

  // For information only: what counts is the lease.
  const refresh = oneAtATime(
    async () =>
      await refreshRow().catch((error: unknown) =>
        engine.logger.debug(
          { event: 'worker.unseen', error: String(error) },
          'the worker could not show that it lives',
        ),
      ),
  );
  const reportProgress = oneAtATime(async () => await flushProgress(engine, workerId, activeRuns));
  const reportCursors = oneAtATime(async () => await flushCursors(engine, workerId, activeRuns));

  const beats = clock.setInterval(() => {
    void refresh();
    void guardedBeat();
    void flushLogs?.();
  }, heartbeatMs);
  const reports = clock.setInterval(() => {
    void reportProgress();
    void reportCursors();
  }, REPORTS_EVERY_MS);
  const polls = pollMs === undefined ? undefined : clock.setInterval(cancelCheck.checkAll, pollMs);
  return {
    checkCancel: cancelCheck.check,
    stop() {
      isStopped = true;
      clock.clear(repetition);
      clock.clear(beats);
      clock.clear(reports);
      clock.clear(polls);
      cancelCheck.close();
    },
  };
}

/** Does nothing while the work is under way: what hangs must not use up the connections. */
function oneAtATime(work: () => Promise<void>): () => Promise<void> {
  let isUnderWay = false;
  return async () => {
    if (isUnderWay) return;
    isUnderWay = true;
    await work().finally(() => {
      isUnderWay = false;
    });
  };
}

// Applies what the database answers about held runs: lost, to be cancelled, or still held.

/** A run that is still held. A run that the answer lacks is lost. */
export interface HeldRow {
  readonly id: string;
  readonly cancel_requested: boolean;
}

/**
 * Aborts the handlers of lost and cancelled runs. Returns the runs that are still held.
 * @param activeRuns the runs that the worker holds now: others may have ended since the statement was sent
 */
export function applyLeaseAnswer(
  engine: Engine,
  activeRuns: ReadonlySet<ActiveRun>,
  checked: readonly ActiveRun[],
  answer: readonly HeldRow[],
): ActiveRun[] {
  const rows = new Map(answer.map(row => [row.id, row]));
  return checked.filter(active => {
    const row = rows.get(active.run.id);
    // A run that was finalized while the statement was under way is done, not lost.
    if (row === undefined && activeRuns.has(active) && !active.isCommitted && !active.isFinalizing)
      loseLease(engine, active);
    if (row?.cancel_requested) requestCancel(active);
    return row !== undefined;
  });
}

export function loseLease(engine: Engine, active: ActiveRun): void {
  if (active.isLost) return;
  active.isLost = true;
  engine.logger.error(
    { event: 'run.lease_lost', run_id: active.run.id, job: active.run.job, fence: active.run.fence },
    "the lease is lost; the handler's signal is aborted and nothing of this attempt is kept",
  );
  abort(active.interrupt, leaseLost(active));
}

function requestCancel(active: ActiveRun): void {
  if (active.cancelRequested) return;
  active.cancelRequested = true;
  abort(active.interrupt, new Cancel('cancelled by an operator'));
}

// Checks whether runs are to be cancelled: soon after a notification, and with each poll, at most a few times
// a second. The database decides, not the notification.

const MAX_NAMED = 1000;

export interface CancelCheck {
  /** Checks soon whether a cancel of this run was requested, if this worker holds it. */
  readonly check: (runId: string) => void;
  /** The same for all its runs: no notification may come, and heartbeats are rare. */
  readonly checkAll: () => void;
  close(): void;
}

export function createCancelCheck(
  engine: Engine,
  workerId: string,
  activeRuns: ReadonlySet<ActiveRun>,
): CancelCheck {
  /**
   * Ids that notifications have named since the last check. With `MAX_NAMED` of them, all runs are checked.
   */
  const named = new Set<string>();
  let isChecking = false;

  const checkNamed = async () => {
    if (isChecking) return;
    const isNamed = (id: string) => named.size >= MAX_NAMED || named.has(id);
    const checked = [...activeRuns].filter(active => isNamed(active.run.id) && canBeCancelled(active));
    named.clear();
    if (checked.length === 0) return;
    isChecking = true;
    try {
      const runs = checked.map(active => active.run);
      applyLeaseAnswer(engine, activeRuns, checked, await readHeld(engine.database, runs, workerId));
      if (checked.some(active => active.isLost || active.cancelRequested)) limiter.found();
    } catch (error) {
      engine.logger.debug(
        { event: 'cancel.unread', error: String(error) },
        'the next heartbeat checks it again',
      );
    } finally {
      isChecking = false;
      if (named.size > 0) limiter.notified();
    }
  };
  const limiter = createNotificationLimiter(engine.clock, () => void checkNamed());

  return {
    check(runId) {
      if (named.size < MAX_NAMED) named.add(runId);
      limiter.notified();
    },
    checkAll() {
      for (const { run } of activeRuns) if (named.size < MAX_NAMED) named.add(run.id);
      if (named.size > 0) limiter.notified();
    },
    close: () => limiter.close(),
  };
}

function canBeCancelled(active: ActiveRun): boolean {
  return !active.isLost && !active.cancelRequested && !active.isCommitted && !active.isFinalizing;
}
