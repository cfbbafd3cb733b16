// Limits how often notifications make a worker check the database: every role that may connect can send any
// number of them.
import type { Clock, Timer } from '../../model/clock.js';

const FIRST_PAUSE_MS = 5;
const MAX_PAUSE_MS = 250;

export interface NotificationLimiter {
  /** A notification has arrived: checks now, or once the pause since the last check is over. */
  notified(): void;
  /** A check found something, so a notification that waits, or the next one, leads to a check at once. */
  found(): void;
  /** Checks no more, neither for notifications that wait nor for later ones. */
  close(): void;
}

/** @param check must not throw */
export function createNotificationLimiter(clock: Clock, check: () => void): NotificationLimiter {
  let pauseMs = 0;
  let checkedAt = Number.NEGATIVE_INFINITY;
  let timer: Timer | undefined;
  let isClosed = false;

  const checkNow = () => {
    timer = undefined;
    checkedAt = clock.now();
    pauseMs = Math.min(Math.max(pauseMs * 2, FIRST_PAUSE_MS), MAX_PAUSE_MS);
    check();
  };

  return {
    notified() {
      if (timer !== undefined || isClosed) return;
      const waitMs = checkedAt + pauseMs - clock.now();
      if (waitMs <= 0) checkNow();
      else timer = clock.setTimeout(checkNow, waitMs);
    },
    found() {
      pauseMs = 0;
      if (timer === undefined) return;
      clock.clear(timer);
      checkNow();
    },
    close() {
      isClosed = true;
      clock.clear(timer);
    },
  };
}
