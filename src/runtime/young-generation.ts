// Room: runtime. Bounds the memory of a process that is ours: how far its young generation may grow.
// In: this process. Out: nothing; from a size on, V8 lets it grow no further.
import { PerformanceObserver } from 'node:perf_hooks';
import v8 from 'node:v8';

/** Both halves together. */
const MOST_BYTES = 16 * 2 ** 20;

/**
 * Stops the growth of the young generation at 16 MiB, which a busy worker reaches within a second. Node lets it grow to
 * 32 MiB (20) or 128 MiB (24), however little lives: that was nearly half of a worker's memory.
 * V8 takes the size itself at its start only, but asks for the factor of growth each time. Whoever gives a size
 * (`--max-semi-space-size`, by NODE_OPTIONS too) is left alone. For processes of our own: a library does not change V8.
 */
export function boundYoungGeneration(): void {
  const given = [...process.execArgv, process.env['NODE_OPTIONS'] ?? ''].join(' ');
  if (/semi[-_]space/.test(given)) return;
  const observer = new PerformanceObserver(() => {
    const young = v8.getHeapSpaceStatistics().find(space => space.space_name === 'new_space');
    if (young === undefined || young.space_size < MOST_BYTES) return;
    v8.setFlagsFromString('--semi-space-growth-factor=1');
    observer.disconnect();
  });
  observer.observe({ entryTypes: ['gc'] });
}
