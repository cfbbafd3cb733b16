// Claimed runs that wait for free capacity in this process, first in, first out.

export interface PrefetchBuffer<Run> {
  readonly length: number;
  push(run: Run): void;
  shift(): Run | undefined;
  /** Removes and returns all. */
  drain(): readonly Run[];
}

/** An empty buffer. Calls `onStalled` each time the same run has been first for `maxWaitMs`. */
export function createPrefetchBuffer<Run>(maxWaitMs: number, onStalled: () => void): PrefetchBuffer<Run> {
  let waiting: Run[] = [];
  let front = 0;
  let timer: NodeJS.Timeout | undefined;
  const watch = () => {
    const first = waiting[front];
    if (first === undefined || timer !== undefined) return;
    timer = setTimeout(() => {
      timer = undefined;
      if (waiting[front] === first) onStalled();
      watch();
    }, maxWaitMs);
  };
  return {
    get length() {
      return waiting.length - front;
    },
    push(run) {
      waiting.push(run);
      watch();
    },
    shift() {
      const run = waiting[front];
      if (run === undefined) return undefined;
      front++;
      // Only now and then, because removing an array's first element moves all the others.
      if (front === waiting.length || front >= 1000) {
        waiting = waiting.slice(front);
        front = 0;
      }
      return run;
    },
    drain() {
      const all = waiting.slice(front);
      waiting = [];
      front = 0;
      return all;
    },
  };
}
