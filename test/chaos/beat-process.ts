// A process of its own with nothing but a beat, twice a second at most and each second at least. Bundled by esbuild.
import { startBeat } from '../../src/daemon/beat.js';
import { systemClock } from '../../src/environment/system-clock.js';
import { silentLogger } from '../../src/model/logger.js';

startBeat(
  () => process.stdout.write(`${Date.now()}\n`),
  { clock: systemClock, logger: silentLogger },
  {
    expression: '* * * * * *',
    maxPauseMs: 1000,
  },
);
