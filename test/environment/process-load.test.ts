// What a worker reports of its process.
import { expect, it } from 'vitest';
import { startLoadMeter } from '../../src/environment/process-load.js';
import { until } from '../support/until.js';

const SPIN_MS = 300;

/** Holds up the event loop. */
function spin(): void {
  const end = performance.now() + SPIN_MS;
  while (performance.now() < end);
}

it('a meter reports for how long the event loop was held up since the last reading, and the core in use', {
  tags: 'check',
}, async () => {
  const meter = startLoadMeter();
  let turns = 0;
  // Samples are taken between them: the first begins what the second is compared with.
  await until(async () => {
    spin();
    return ++turns > 3;
  }, 'samples of the event loop');
  const { cpu, memoryBytes, loopDelayMs } = meter.read();
  meter.stop();
  expect(loopDelayMs).toBeGreaterThan(SPIN_MS / 2);
  expect(cpu).toBeGreaterThan(0);
  expect(memoryBytes).toBeGreaterThan(10_000_000);
});
