// The background work of a daemon, so that no run waits for it: figures, upkeep, alerts, webhooks.

import { evaluateAlerts } from '../engine/alerts/evaluate.js';
import { reportHeartbeat } from '../engine/alerts/heartbeat.js';
import { createNotificationLimiter } from '../engine/claim/notification-limiter.js';
import type { Engine } from '../engine/engine.js';
import { createRollUp } from '../engine/metrics/roll-up.js';
import { beginUpkeep, pruneInTurn } from '../engine/retention/upkeep.js';
import { lookForWebhooks } from '../engine/webhooks/look.js';
import { webhooksOf } from '../model/changes/webhook.js';
import type { Timer } from '../model/clock.js';

export interface Background extends Pick<BeatAlerts, 'afterFailure'> {
  /** There may be changes for webhooks. */
  readonly changed: () => void;
  /** The minute has turned. */
  beat(): void;
  /**
   * Begins the work that is due. The daemon sleeps now, so the connection of its passes is free. Resolves to
   * whether there are alerts to deliver.
   */
  afterPass(isHealthy: boolean): Promise<boolean>;
  /** Whether any of it is under way that would begin anew: it prunes, counts or delivers. */
  isBusy(): boolean;
  /** Resolves when none of this work is under way. */
  done(): Promise<void>;
}

const UPKEEP_EVERY_MS = 3_600_000;
/** How many times as long as a batch took its pause is. */
const PAUSE = 19;
/** A batch that spans a suspension of the host took long only by the clock. */
const MAX_PAUSE_MS = 60_000;

/**
 * @param signal ends the work that is under way
 * @param isNotified whether `changed` is called for each change
 */
export function createBackground(engine: Engine, signal: AbortSignal, isNotified: boolean): Background {
  const alerts = createBeatAlerts(engine);
  const upkeep = hourlyUpkeep(engine, signal);
  const figures = inBackground(createRollUp(engine), signal);
  const webhooks = createWebhookLooks(engine, signal);
  let mustCount = false;
  return {
    changed: webhooks.changed,
    beat() {
      alerts.beat();
      webhooks.changed();
      mustCount = true;
    },
    async afterPass(isHealthy) {
      await upkeep.startIfDue();
      if (mustCount) figures.start();
      mustCount = false;
      if (!isNotified) webhooks.changed();
      return await alerts.afterPass(isHealthy);
    },
    afterFailure: () => alerts.afterFailure(),
    isBusy: () => upkeep.isBusy() || figures.isBusy() || webhooks.isBusy(),
    async done() {
      await upkeep.done();
      await figures.done();
      await alerts.done();
      await webhooks.done();
    },
  };
}

function hourlyUpkeep(engine: Engine, signal: AbortSignal) {
  const { clock } = engine;
  let dueAt = 0;
  let working: Promise<void> | null = null;
  /** It prunes a twentieth of the time, so that no run waits for it. */
  const rest = (tookMs: number) => clock.sleep(Math.min(PAUSE * tookMs, MAX_PAUSE_MS), signal);
  return {
    async startIfDue() {
      if (clock.now() < dueAt || working !== null) return;
      dueAt = clock.now() + UPKEEP_EVERY_MS;
      const { made, kept } = await beginUpkeep(engine, false, signal);
      working = made
        .then(() => (kept === null ? undefined : pruneInTurn(engine, kept, { signal, rest, mayCopy: true })))
        .finally(() => {
          working = null;
        });
    },
    isBusy: () => working !== null,
    done: async () => await working,
  };
}

/** Starts work that never throws. A start while it is under way does nothing. */
function inBackground(work: (signal: AbortSignal) => Promise<void>, signal: AbortSignal) {
  let working: Promise<void> | null = null;
  return {
    start() {
      working ??= work(signal).finally(() => {
        working = null;
      });
    },
    isBusy: () => working !== null,
    done: async () => await working,
  };
}

// What a daemon does for alerts at each beat: it evaluates them, and requests the URL of the heartbeat.

export interface BeatAlerts {
  /** The minute has turned. */
  beat(): void;
  /** After a pass. Resolves to whether there is something to deliver. Never rejects. */
  afterPass(isHealthy: boolean): Promise<boolean>;
  /** After a pass that failed. */
  afterFailure(): void;
  /** Resolves when the last answer has come, or its time is over. */
  done(): Promise<void>;
}

export function createBeatAlerts(engine: Engine): BeatAlerts {
  let isDue = false;
  let asking: Promise<void> | null = null;
  /** The request is not awaited, so that a late answer delays no run. The next request waits for it. */
  const ask = (isHealthy: boolean) => {
    asking ??= reportHeartbeat(engine, isHealthy).finally(() => {
      asking = null;
    });
  };
  return {
    beat() {
      isDue = true;
    },
    async afterPass(isHealthy) {
      if (!isDue) return false;
      isDue = false;
      ask(isHealthy);
      return (await evaluateAlerts(engine)) > 0;
    },
    afterFailure() {
      if (!isDue) return;
      isDue = false;
      ask(false);
    },
    done: async () => {
      await asking;
    },
  };
}

// When a daemon looks whether changes are to be delivered: when it is notified, at each beat, and after each
// pass where no notification comes; and while a run delivers, each second. Without webhooks among its jobs,
// never.

export interface WebhookLooks {
  /** There may be changes. */
  readonly changed: () => void;
  /** A look is under way, or one is to follow since a run delivers. */
  isBusy(): boolean;
  /** Looks no more. Resolves when no look is under way. */
  done(): Promise<void>;
}

const NEVER: WebhookLooks = {
  changed: () => undefined,
  isBusy: () => false,
  done: () => Promise.resolve(),
};
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
    isBusy: () => looking !== null || timer !== undefined,
    async done() {
      limiter.close();
      clock.clear(timer);
      await looking;
      clock.clear(timer);
    },
  };
}
