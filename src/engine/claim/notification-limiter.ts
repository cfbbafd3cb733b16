// Limits how often notifications make a worker look: every role that may connect can send any number.
import { performance } from 'node:perf_hooks';

const FIRST_PAUSE_MS = 5;
const MAX_PAUSE_MS = 250;

export interface NotificationLimiter {
  /** A notification has arrived: looks now, or once the pause since the last look is over. */
  notification(): void;
  /** A look found something, so the next notification makes the worker look at once. */
  found(): void;
  /** Looks no more, neither for notifications that wait nor for later ones. */
  close(): void;
}

/** @param look must not throw */
export function createNotificationLimiter(look: () => void): NotificationLimiter {
  let pauseMs = 0;
  let lookedAt = Number.NEGATIVE_INFINITY;
  let timer: NodeJS.Timeout | undefined;
  let isClosed = false;

  const lookNow = () => {
    timer = undefined;
    lookedAt = performance.now();
    pauseMs = Math.min(Math.max(pauseMs * 2, FIRST_PAUSE_MS), MAX_PAUSE_MS);
    look();
  };

  return {
    notification() {
      if (timer !== undefined || isClosed) return;
      const waitMs = lookedAt + pauseMs - performance.now();
      if (waitMs <= 0) lookNow();
      else timer = setTimeout(lookNow, waitMs);
    },
    found() {
      pauseMs = 0;
    },
    close() {
      isClosed = true;
      clearTimeout(timer);
    },
  };
}
