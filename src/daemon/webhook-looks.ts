// When a daemon looks whether changes are to be delivered: when it is notified, at each beat, and after each
// pass where no notification comes; and while a run delivers, each second. Without webhooks among its jobs,
// never.

import { createNotificationLimiter } from '../engine/claim/notification-limiter.js';
import type { Engine } from '../engine/engine.js';
import { lookForWebhooks } from '../engine/webhooks/look.js';
import { webhooksOf } from '../model/changes/webhook.js';
import type { Timer } from '../model/clock.js';

export interface WebhookLooks {
  /** There may be changes. */
  readonly changed: () => void;
  /** Looks no more. Resolves when no look is under way. */
  done(): Promise<void>;
}

const NEVER: WebhookLooks = { changed: () => undefined, done: () => Promise.resolve() };
/**
 * How soon to look again while a run is to deliver, or does: it may have read its last page. No look comes
 * before, so that there is not a run for each change.
 */
const AGAIN_MS = 1000;

export function createWebhookLooks(engine: Engine, signal: AbortSignal): WebhookLooks {
  if (webhooksOf(engine.registry).length === 0) return NEVER;
  const { clock } = engine;
  let looking: Promise<void> | null = null;
  let mustLookAgain = false;
  let timer: Timer | undefined;

  const look = async () => {
    do {
      mustLookAgain = false;
      const { isBusy } = await lookForWebhooks(engine);
      if (isBusy && !signal.aborted) timer = clock.setTimeout(lookAgain, AGAIN_MS);
    } while (mustLookAgain && timer === undefined && !signal.aborted);
    looking = null;
  };
  const start = () => {
    if (signal.aborted || timer !== undefined) return;
    mustLookAgain = looking !== null;
    looking ??= look();
  };
  const lookAgain = () => {
    timer = undefined;
    start();
  };
  const limiter = createNotificationLimiter(clock, start);

  return {
    changed: () => limiter.notified(),
    async done() {
      limiter.close();
      clock.clear(timer);
      await looking;
      clock.clear(timer);
    },
  };
}
