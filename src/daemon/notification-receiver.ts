// What each notification makes a daemon do. Notifications of runs that are due soon have a limiter of their
// own: a stream of them leads to no claim, and must not hold up notifications of runs that are due.

import { createNotificationLimiter } from '../engine/claim/notification-limiter.js';
import type { Worker } from '../engine/worker/worker-interface.js';
import type { Clock } from '../model/clock.js';
import type { Notification } from '../store/connection/notifications.js';

export interface NotificationReceiver {
  readonly receive: (notification: Notification) => void;
  /** A claim has found runs, so the next notification takes effect at once. */
  found(): void;
  /** Notifications have no effect from now on. */
  readonly close: () => void;
}

interface NotificationReceiverOptions {
  readonly clock: Clock;
  readonly worker: Pick<Worker, 'ask' | 'checkCancel' | 'wake' | 'wakeNotified' | 'expect'>;
  /** Whether the worker claims from a queue. */
  readonly serves: (queue: string) => boolean;
  /** There is something to reap. */
  readonly onReap: () => void;
  /** The outbox has rows. */
  readonly onOutbox: () => void;
  /** Runs of fair keys have come. */
  readonly onFair: () => void;
}

export function createNotificationReceiver({
  clock,
  worker,
  serves,
  onReap,
  onOutbox,
  onFair,
}: NotificationReceiverOptions): NotificationReceiver {
  const due = createNotificationLimiter(clock, worker.wakeNotified);
  const soon = createNotificationLimiter(clock, worker.wake);
  const code = createNotificationLimiter(clock, () => worker.expect('waiting'));
  return {
    receive(notification) {
      if (notification.kind === 'cancel') worker.checkCancel(notification.runId);
      else if (notification.kind === 'soon') soon.notified();
      else if (notification.kind === 'code') code.notified();
      else if (notification.kind === 'outbox') {
        onOutbox();
        due.notified();
      } else if (notification.kind === 'fair') {
        onFair();
        due.notified();
      } else if (notification.kind === 'reap') {
        onReap();
        // The runs that are taken back may be in any lane.
        worker.ask();
        due.notified();
      } else if (notification.kind === 'queued') {
        const { lane } = notification;
        if (lane !== null && !serves(lane.queue)) return;
        worker.ask(lane ?? undefined);
        due.notified();
      }
    },
    found() {
      due.found();
      soon.found();
      code.found();
    },
    close() {
      due.close();
      soon.close();
      code.close();
    },
  };
}
