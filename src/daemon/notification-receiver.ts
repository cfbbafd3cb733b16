// What each notification makes a daemon do. Runs that are only due soon have a limit of their own: a stream of them
// finds nothing to claim, and must not hold up those that are due.
import type { EnqueueHint } from '../engine/claim/enqueue-hint.js';
import { createNotificationLimiter } from '../engine/claim/notification-limiter.js';
import type { Worker } from '../engine/worker/worker-interface.js';
import type { Notification } from '../store/connection/notifications.js';

export interface NotificationReceiver {
  readonly receive: (notification: Notification) => void;
  /** A claim has found runs, so the next notification has its effect at once. */
  found(): void;
  /** Notifications have no effect from now on. */
  readonly close: () => void;
}

interface NotificationReceiverOptions {
  readonly worker: Pick<Worker, 'checkCancel' | 'wake' | 'wakeNotified' | 'expectWaiting'>;
  readonly hint: EnqueueHint;
  /** There is something to reap. */
  readonly onReap: () => void;
}

export function createNotificationReceiver({ worker, hint, onReap }: NotificationReceiverOptions): NotificationReceiver {
  const due = createNotificationLimiter(worker.wakeNotified);
  const soon = createNotificationLimiter(worker.wake);
  const code = createNotificationLimiter(() => worker.expectWaiting());
  return {
    receive(notification) {
      if (notification.kind === 'cancel') worker.checkCancel(notification.runId);
      else if (notification.kind === 'soon') soon.notification();
      else if (notification.kind === 'code') code.notification();
      else if (notification.kind === 'reap') {
        onReap();
        // What is handed back may lie anywhere.
        hint.record(null);
        due.notification();
      } else if (notification.kind === 'queued' && hint.record(notification.lane)) due.notification();
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
