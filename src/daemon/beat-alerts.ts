// What a daemon does for alerts at each beat: it evaluates them, and requests the URL of the heartbeat.
import { evaluateAlerts } from '../engine/alerts/evaluate.js';
import { reportHeartbeat } from '../engine/alerts/heartbeat.js';
import type { Engine } from '../engine/engine.js';

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
