// The beat: it goes on, and what node-cron has to say goes to our logger. Leaps of the clock:
// test/chaos/clock.test.ts.
// In the check: it beats by the real clock.
import { afterEach, expect, it } from 'vitest';
import { type Beat, startBeat } from '../../src/daemon/beat.js';
import { systemClock } from '../../src/environment/system-clock.js';
import type { Logger } from '../../src/model/logger.js';
import { until } from '../support/test-tock.js';

const lines: { fields: object; message: string | undefined }[] = [];
const note = (fields: object, message?: string) => void lines.push({ fields, message });
const logger: Logger = { debug: note, info: note, warn: note, error: note, child: () => logger };

let beat: Beat;
afterEach(() => beat.stop());

it('startBeat beats no later than after its longest pause, and goes on after a beat that failed', async () => {
  lines.length = 0;
  let count = 0;
  // In years: only the longest pause makes it beat.
  beat = startBeat(
    () => {
      count++;
      throw new Error(`beat ${count}`);
    },
    { clock: systemClock, logger },
    { expression: '0 4 29 2 *', maxPauseMs: 20 },
  );
  await until(() => Promise.resolve(count >= 3 && lines.length >= 3), 'three beats');
  expect(lines.slice(0, 3)).toEqual(
    [1, 2, 3].map(n => ({ fields: { event: 'beat.error' }, message: `beat ${n}` })),
  );
});
