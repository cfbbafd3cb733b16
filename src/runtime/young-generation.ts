// Limits the memory of Tock's own processes: the size of V8's young generation.
import { PerformanceObserver } from 'node:perf_hooks';
import v8 from 'node:v8';

/** Both halves together. */
const MAX_BYTES = 16 * 2 ** 20;

/**
 * Stops the growth of the young generation at 16 MiB, which a busy worker reaches within a second. Node would
 * let it grow to 32 MiB (Node 20) or 128 MiB (24), nearly half of a worker's memory. V8 reads a size only at
 * its start, but the growth factor each time. Does nothing if a size is set (`--max-semi-space-size`, or by
 * NODE_OPTIONS).
 */
export function boundYoungGeneration(): void {
  const given = [...process.execArgv, process.env['NODE_OPTIONS'] ?? ''].join(' ');
  if (/semi[-_]space/.test(given)) return;
  const observer = new PerformanceObserver(() => {
    const young = v8.getHeapSpaceStatistics().find(space => space.space_name === 'new_space');
    if (young === undefined || young.space_size < MAX_BYTES) return;
    v8.setFlagsFromString('--semi-space-growth-factor=1');
    observer.disconnect();
  });
  observer.observe({ entryTypes: ['gc'] });
}
