// What this process asks of its host: reported by each heartbeat of a worker.
import { monitorEventLoopDelay } from 'node:perf_hooks';
import type { ProcessLoad } from '../model/metrics/process-load.js';

export interface LoadMeter {
  /** The load since the last reading; the first one, since the meter was made. */
  read(): ProcessLoad;
  stop(): void;
}

/** Seldom enough to cost nothing; a delay below it hardly shows. */
const SAMPLE_MS = 100;

export function startLoadMeter(): LoadMeter {
  const delays = monitorEventLoopDelay({ resolution: SAMPLE_MS });
  delays.enable();
  let cpu = process.cpuUsage();
  let at = performance.now();
  return {
    read() {
      const { user, system } = process.cpuUsage(cpu);
      const now = performance.now();
      const load = {
        cpu: (user + system) / 1000 / Math.max(now - at, 1),
        memoryBytes: process.memoryUsage.rss(),
        // The longest time from one sample to the next, in nanoseconds; 0 before the first.
        loopDelayMs: Math.max(0, delays.max / 1e6 - SAMPLE_MS),
      };
      cpu = process.cpuUsage();
      at = now;
      delays.reset();
      return load;
    },
    stop() {
      delays.disable();
    },
  };
}
