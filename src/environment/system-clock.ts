// The clock of a process that runs in real time.
import { setTimeout as sleep } from 'node:timers/promises';
import type { Clock } from '../model/clock.js';

/**
 * `performance.now()` and Node's timers. Handed to the engine and to the database where a process puts them
 * together; they take no other.
 */
export const systemClock: Clock = {
  now: () => performance.now(),
  setTimeout: (work, ms) => setTimeout(work, ms),
  setInterval: (work, ms) => setInterval(work, ms),
  // It clears intervals as well.
  clear: timer => clearTimeout(timer as NodeJS.Timeout | undefined),
  sleep: (ms, signal) => sleep(ms, undefined, signal && { signal }),
};
