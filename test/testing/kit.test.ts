// The testing kit in short: a run, a clock that moves only when it is told to, and what comes due. The rest:
// test-tock.check.test.ts.
import { expect, inject, it } from 'vitest';
import { defineJob } from '../../src/index.js';
import { openTestTock } from '../../src/testing.js';
import { openOnce } from '../support/open.js';

const NOON = '2026-03-09T12:00:00Z';
const fragile = defineJob({
  name: 'fragile',
  retry: { maxAttempts: 3, base: '10s', jitter: 0 },
  run: ({ attempt }) => {
    if (attempt === 1) throw new TypeError('not yet');
    return attempt;
  },
});
const hourly = defineJob({
  name: 'hourly',
  schedule: { cron: '30 * * * *', timezone: 'UTC' },
  run: ctx => ctx.scheduledFor?.toISOString(),
});

const kit = openOnce(
  async () =>
    await openTestTock({ connectionString: inject('adminUrl'), jobs: [fragile, hourly], now: NOON }),
  ({ clock }) => clock.set(NOON),
);

it('executes one attempt, and the next one when its clock has come that far', async () => {
  const failed = await kit.runOnce(fragile);
  expect(failed).toMatchObject({ status: 'failed', runAt: new Date('2026-03-09T12:00:10Z') });
  await kit.clock.set('2026-03-09T12:00:09Z');
  expect(await kit.drain()).toEqual([]);
  await kit.clock.set(failed.runAt);
  expect(await kit.drain()).toMatchObject([{ id: failed.id, status: 'succeeded', output: 2 }]);
});

it('goes on to an instant, and executes what comes due until then', async () => {
  await kit.tock.register();
  expect((await kit.advanceTo('2026-03-09T14:00:00Z')).map(({ output }) => output)).toEqual([
    '2026-03-09T12:30:00.000Z',
    '2026-03-09T13:30:00.000Z',
  ]);
});
