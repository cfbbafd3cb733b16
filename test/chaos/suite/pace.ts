// The time of the plan: it goes on only as far as the work does, so that on a slow machine
// the faults do not all happen before the runs.
// In: how much has been asked for, how much of it waits. Out: when an order or a fault is due.
import { sleep } from './loop.js';

/** So many runs may wait or be running; then the clients wait. */
const MOST_WAITING = 200;
const LOOK_EVERY_MS = 100;

export type Pace = ReturnType<typeof startPace>;

/** Starts the clock of a plan. */
export function startPace() {
  const startedAt = performance.now();
  let reached = 0;
  let waiting = 0;
  const elapsed = () => performance.now() - startedAt;
  const waitFor = async (isDue: () => boolean, signal: AbortSignal) => {
    while (!isDue() && !signal.aborted) await sleep(LOOK_EVERY_MS, signal);
  };
  return {
    /** Resolves when a client may place what is due at this time of the plan. */
    async order(atMs: number, signal: AbortSignal) {
      await sleep(atMs - elapsed(), signal);
      await waitFor(() => waiting < MOST_WAITING, signal);
    },
    /** Resolves when a fault is due: at its time, and not before the clients have come so far. */
    async fault(atMs: number, signal: AbortSignal) {
      await sleep(atMs - elapsed(), signal);
      await waitFor(() => reached >= atMs, signal);
    },
    /** Notes that the clients have come so far in the plan. */
    reach(atMs: number) {
      reached = Math.max(reached, atMs);
    },
    /** Notes how many runs wait. */
    note(count: number) {
      waiting = count;
    },
  };
}
