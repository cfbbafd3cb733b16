// Checks whether runs are to be cancelled: soon after a notification, and with each poll, at most a few times
// a second. The database decides, not the notification.
import { readHeld } from '../../store/runs/leases.js';
import { createNotificationLimiter } from '../claim/notification-limiter.js';
import type { Engine } from '../engine.js';
import type { ActiveRun } from '../execute/active-run.js';
import { applyLeaseAnswer } from './lease-answer.js';

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
