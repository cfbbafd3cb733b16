// The background work of a daemon, so that no run waits for it: figures, upkeep, alerts, webhooks.
import type { Engine } from '../engine/engine.js';
import { createRollUp } from '../engine/metrics/roll-up.js';
import { beginUpkeep, type Upkeep } from '../engine/retention/coming-partitions.js';
import { type BeatAlerts, createBeatAlerts } from './beat-alerts.js';
import { createWebhookLooks } from './webhook-looks.js';

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
  /** Resolves when none of this work is under way. */
  done(): Promise<void>;
}

const UPKEEP_EVERY_MS = 3_600_000;

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
    async done() {
      await upkeep.done();
      await figures.done();
      await alerts.done();
      await webhooks.done();
    },
  };
}

function hourlyUpkeep(engine: Engine, signal: AbortSignal) {
  let dueAt = 0;
  let upkeep: Upkeep | null = null;
  return {
    async startIfDue() {
      if (engine.clock.now() < dueAt) return;
      dueAt = engine.clock.now() + UPKEEP_EVERY_MS;
      await upkeep?.done;
      upkeep = await beginUpkeep(engine, signal);
    },
    done: async () => await upkeep?.done,
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
    done: async () => await working,
  };
}
