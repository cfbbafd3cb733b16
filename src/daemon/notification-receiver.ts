// What each notification makes a daemon do. Whatever leads to statements waits for a limiter: until then the
// worker is told nothing, since one that is awake would act at once. Notifications of runs that are due soon
// have a limiter of their own: a stream of them leads to no claim, and must not hold up those of runs that
// are due.

import { createNotificationLimiter } from '../engine/claim/notification-limiter.js';
import { type Asked, askedToo } from '../engine/claim/watermarks.js';
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
  /** What was said since the last check. */
  let asked: Asked = null;
  const said = new Set<() => void>();
  const due = createNotificationLimiter(clock, () => {
    for (const act of said) act();
    said.clear();
    if (asked !== null) worker.ask(asked === 'anywhere' ? undefined : asked);
    asked = null;
    worker.wakeNotified();
  });
  const soon = createNotificationLimiter(clock, worker.wake);
  const code = createNotificationLimiter(clock, () => worker.expect('waiting'));
  return {
    receive(notification) {
      const { kind } = notification;
      if (kind === 'cancel') worker.checkCancel(notification.runId);
      else if (kind === 'soon') soon.notified();
      else if (kind === 'code') code.notified();
      else if (kind === 'outbox' || kind === 'fair' || kind === 'reap') {
        said.add({ outbox: onOutbox, fair: onFair, reap: onReap }[kind]);
        // The runs that are taken back may be in any lane.
        if (kind === 'reap') asked = askedToo(asked, null);
        due.notified();
      } else if (kind === 'queued') {
        const { lane } = notification;
        if (lane !== null && !serves(lane.queue)) return;
        asked = askedToo(asked, lane);
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
