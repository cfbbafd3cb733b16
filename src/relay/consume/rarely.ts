// Log lines that could come a thousand times a second: one in ten seconds, with how many it stands for.
import { performance } from 'node:perf_hooks';

const EVERY_MS = 10_000;

/** `write` gets the number of calls since its last one, this call included. */
export function rarely<Input>(write: (input: Input, count: number) => void): (input: Input) => void {
  let writtenAt = Number.NEGATIVE_INFINITY;
  let count = 0;
  return input => {
    count++;
    if (performance.now() - writtenAt < EVERY_MS) return;
    writtenAt = performance.now();
    write(input, count);
    count = 0;
  };
}
