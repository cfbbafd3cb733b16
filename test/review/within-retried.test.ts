// Review: a scheduled run that waits for its data interval, cancelled before all of it is there, and retried.
import { expect, it } from 'vitest';
import { defineJob } from '../../src/index.js';
import { openForEach } from '../support/open.js';
import { reuseTestTock } from '../support/test-tock.js';

const test = openForEach(reuseTestTock);
const hourly = defineJob({
  name: 'hourly',
  schedule: { cron: '0 * * * *', catchup: 'all', overlap: 'allow_all' },
  run: () => 1,
});
const daily = defineJob({
  name: 'daily',
  schedule: { cron: '0 0 * * *', after: { all: 'hourly', within: 'dataInterval' } },
  async run(ctx) {
    let count = 0;
    for await (const { status } of ctx.group.results()) if (status === 'succeeded') count++;
    return count;
  },
});

it('waits on once it is retried', async () => {
  await test.setClock('2026-05-01T22:30:00Z');
  const tock = test.another({ jobs: [hourly, daily] });
  await tock.tick();
  await test.setClock('2026-05-02T20:30:00Z');
  await tock.tick();
  // An operator pauses the source: the daily run lacks its last hours.
  await tock.schedules.pause('hourly');
  await test.setClock('2026-05-03T00:00:10Z');
  await tock.tick();
  const run = (await tock.runs.list({ definition: 'daily' })).find(each => each.status === 'queued');
  expect(run).toBeDefined();
  expect(run).toMatchObject({ status: 'queued' });
  await tock.runs.cancel(run?.id ?? '');
  await tock.runs.retry(run?.id ?? '');
  await tock.tick();
  expect(await tock.runs.get(run?.id ?? '')).toMatchObject({ status: 'queued', attempts: 0 });
});
