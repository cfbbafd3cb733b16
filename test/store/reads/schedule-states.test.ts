// Store: what the metrics say of schedules.
import { expect, it } from 'vitest';
import { defineJob } from '../../../src/index.js';
import { readScheduleStates } from '../../../src/store/reads/metrics/metrics.js';
import { storeTest } from '../../support/open.js';
import { reuseTestTock } from '../../support/test-tock.js';

const job = defineJob({ name: 'noop', run: () => null });
const { test, database } = storeTest('2026-03-02T17:30:00Z', () => reuseTestTock([job]));

it('a schedule whose window puts its occurrences off is expected when the window opens, not each evening', async () => {
  for (const outsideWindow of ['defer', 'skip'] as const)
    await test.tock.schedules.upsert({
      name: outsideWindow,
      job: 'noop',
      cron: '0 * * * *',
      window: '08:00-17:45',
      outsideWindow,
      overlap: 'allow_all',
    });
  await test.setClock('2026-03-02T20:00:30Z');
  await test.tock.tick();
  const states = await readScheduleStates(database, 100);
  const expected = states.map(({ schedule, expectedBy }) => [
    schedule,
    new Date((expectedBy ?? Number.NaN) * 1000).toISOString(),
  ]);
  expect(expected).toEqual([
    ['defer', '2026-03-03T08:00:00.000Z'],
    ['skip', '2026-03-03T08:00:00.000Z'],
  ]);
});
