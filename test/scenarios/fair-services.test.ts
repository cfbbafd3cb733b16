// Fair keys in the default queue of another service: its workers claim them.
import { expect, it } from 'vitest';
import { defineJob, typeOnly } from '../../src/index.js';
import { storeTest } from '../support/open.js';
import { openTestTock } from '../support/test-tock.js';

const started: string[] = [];
const payload = typeOnly<{ tenant: string }>();
const run = (_ctx: unknown, { tenant }: { tenant: string }) => void started.push(tenant);
const plain = defineJob({ name: 'plain', payload, run });
const fair = defineJob({ name: 'fair', payload, fair: { key: '$.tenant' }, run });
const own = defineJob({ name: 'own', run: () => undefined });
const { test } = storeTest('2026-03-02T09:00:00Z', () => openTestTock([own], { service: 'billing' }));

it.each([
  ['a plain job', 'plain'],
  ['a job with a fair key', 'fair'],
])('a worker leaves the runs of %s in another service’s default queue to its workers', async (_, job) => {
  const shop = test.another({ service: 'shop', jobs: [plain, fair] });
  await shop.register();
  await test.tock.register();
  // A daemon of the shop lives, and is busy.
  await test.sql(`insert into tock.workers (id, kind, host, pid, capacity, service)
    values ('00000000-0000-4000-8000-000000000009', 'daemon', 'elsewhere', 1, 10, 'shop')`);
  await shop.enqueue(job as 'plain', { tenant: 'a' });
  await test.tock.tick();
  expect(await test.sql('select queue, fence from tock.job_runs_live')).toEqual([
    { queue: 'default:shop', fence: 0 },
  ]);
  await shop.close();
});
