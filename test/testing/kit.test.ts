// The testing kit in short: a run, a clock that moves only when it is told to, and what comes due. The rest:
// test-tock.check.test.ts.
import { expect, inject, it } from 'vitest';
import { defineJob } from '../../src/index.js';
import { openTestTock } from '../../src/testing.js';
import { openForEach } from '../support/open.js';

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

const kit = openForEach(
  async () =>
    await openTestTock({ connectionString: inject('adminUrl'), jobs: [fragile, hourly], now: NOON }),
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

it('refuses a job and a definition that are not there, with what was meant', async () => {
  expect(() => kit.failOnce('fragle')).toThrow('there is no job "fragle"; did you mean fragile?');
  expect(() => kit.changeContext('horly', null)).toThrow('there is no job "horly"; did you mean hourly?');
  await expect(kit.untilNext('horly')).rejects.toThrow(
    'there is no definition "horly"; did you mean hourly?',
  );
});

it('sets the clock at will before the jobs are registered, and then only forward', async () => {
  await kit.clock.set('2026-03-09T11:00:00Z');
  await kit.drain();
  await expect(kit.clock.set('2026-03-09T10:59:59Z')).rejects.toMatchObject({
    code: 'TOCK_BAD_TIME',
    message: expect.stringMatching(
      /^the clock is at 2026-03-09T11:00:00\.000Z, and the schedules have begun: /,
    ) as string,
  });
  await kit.clock.set('2026-03-09T11:00:00Z');
  await kit.clock.run();
  await kit.clock.set(new Date(Date.now() - 1000));
  await expect(kit.clock.set(NOON)).rejects.toThrow('the schedules have begun');
});
