// What a daemon does beside its passes, so that no run waits for it.
import { performance } from 'node:perf_hooks';
import type { Engine } from '../engine/engine.js';
import { beginUpkeep, type Upkeep } from '../engine/retention/coming-partitions.js';

const UPKEEP_EVERY_MS = 3_600_000;

export function hourlyUpkeep(engine: Engine, signal: AbortSignal) {
  let dueAt = 0;
  let upkeep: Upkeep | null = null;
  return {
    async startIfDue() {
      if (performance.now() < dueAt) return;
      dueAt = performance.now() + UPKEEP_EVERY_MS;
      await upkeep?.done;
      upkeep = await beginUpkeep(engine, signal);
    },
    done: async () => await upkeep?.done,
  };
}

/** Work that never throws, beside the passes; a start while it is under way is left out. */
export function inBackground(work: (signal: AbortSignal) => Promise<void>, signal: AbortSignal) {
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
