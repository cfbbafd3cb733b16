// Claimed runs that wait for free capacity in this process, first in, first out.
import type { Clock, Timer } from '../../model/clock.js';

export interface PrefetchBuffer<Run> {
  readonly length: number;
  push(run: Run): void;
  shift(): Run | undefined;
  /** Removes and returns all. */
  drain(): readonly Run[];
}

/** An empty buffer. Calls `onStalled` each time the same run has been first for `maxWaitMs`. */
export function createPrefetchBuffer<Run>(
  clock: Clock,
  maxWaitMs: number,
  onStalled: () => void,
): PrefetchBuffer<Run> {
  let waiting: Run[] = [];
  let head = 0;
  let timer: Timer | undefined;
  const watch = () => {
    const first = waiting[head];
    if (first === undefined || timer !== undefined) return;
    timer = clock.setTimeout(() => {
      timer = undefined;
      if (waiting[head] === first) onStalled();
      watch();
    }, maxWaitMs);
  };
  return {
    get length() {
      return waiting.length - head;
    },
    push(run) {
      waiting.push(run);
      watch();
    },
    shift() {
      const run = waiting[head];
      if (run === undefined) return undefined;
      head++;
      // Only now and then, because removing the first element of an array moves all the others.
      if (head === waiting.length || head >= 1000) {
        waiting = waiting.slice(head);
        head = 0;
      }
      return run;
    },
    drain() {
      const all = waiting.slice(head);
      waiting = [];
      head = 0;
      return all;
    },
  };
}
