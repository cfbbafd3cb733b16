// The time of the plan: it goes on only as far as the work does, so that on a slow machine
// the faults do not all happen before the runs.
// In: how much has been asked for, how much of it waits. Out: when an order or a fault is due.
import { sleep } from './sleep.js';

/** So many runs may wait or be running; then the clients wait. */
const MOST_WAITING = 200;
const LOOK_EVERY_MS = 100;

export interface Pace {
  /** Resolves when a client may place what is due at this time of the plan. */
  readonly order: (atMs: number, signal: AbortSignal) => Promise<void>;
  /** Resolves when a fault is due: at its time, and not before the clients have come so far. */
  readonly fault: (atMs: number, signal: AbortSignal) => Promise<void>;
  /** Notes that the clients have come so far in the plan. */
  readonly reach: (atMs: number) => void;
  readonly note: (waiting: number) => void;
  /** The time of the plan, at most its end. */
  readonly now: () => number;
}

/** Starts the clock of a plan. */
export function startPace(durationMs: number): Pace {
  const startedAt = performance.now();
  let reached = 0;
  let waiting = 0;
  const elapsed = () => performance.now() - startedAt;
  const waitFor = async (isDue: () => boolean, signal: AbortSignal) => {
    while (!isDue() && !signal.aborted) await sleep(LOOK_EVERY_MS, signal);
  };
  return {
    async order(atMs, signal) {
      await sleep(atMs - elapsed(), signal);
      await waitFor(() => waiting < MOST_WAITING, signal);
    },
    async fault(atMs, signal) {
      await sleep(atMs - elapsed(), signal);
      await waitFor(() => reached >= atMs, signal);
    },
    reach(atMs) {
      reached = Math.max(reached, atMs);
    },
    note(count) {
      waiting = count;
    },
    now: () => Math.min(elapsed(), reached, durationMs),
  };
}
