// Review: runs that lose their turn or their limit because of what a deploy changes.
import { beforeEach, describe, expect, it } from 'vitest';
import { defineJob, typeOnly } from '../../src/index.js';
import { admitRuns } from '../../src/store/runs/claim/admit.js';
import { fairKeysFromOutbox } from '../../src/store/runs/fair/arrive.js';
import { claimFair } from '../../src/store/runs/fair/claim-fair.js';
import { storeTest } from '../support/open.js';
import { openTestTock } from '../support/test-tock.js';

const workerId = '00000000-0000-4000-8000-000000000009';
const lease = { workerId, leaseMs: 3_600_000 };
const payload = typeOnly<{ tenant: string }>();
const started: string[] = [];
const run = (_ctx: unknown, { tenant }: { tenant: string }) => void started.push(tenant);
const old = defineJob({ name: 'send', queue: 'mail', payload, concurrency: { limit: 1 }, run });
const noLimit = defineJob({ name: 'send', queue: 'mail', payload, run });
const other = defineJob({ name: 'other', run: () => undefined });
const { test, database } = storeTest('2026-03-02T09:00:00Z', () => openTestTock([old, other]));
beforeEach(async () => {
  await test.sql('delete from tock.registrations');
  await test.sql(`insert into tock.fair_scopes (queue, path) values ('mail', '$.tenant')`);
  await test.tock.register();
  started.length = 0;
});

describe('a deploy that ends the limit of a job', () => {
  it('lets runs start that were enqueued before', async () => {
    await test.tock.enqueue(old, { tenant: 'busy' });
    await fairKeysFromOutbox(database, 20);
    const { needsAdmission } = await claimFair(database, { ...lease, limit: 1, queues: null });
    expect((await admitRuns(database, needsAdmission, lease)).admitted).toHaveLength(1);
    await test.tock.enqueue(old, { tenant: 'a' });
    const newer = test.another({ jobs: [noLimit, other] });
    await newer.register();
    for (let minute = 0; minute < 5; minute++) {
      await newer.tick();
      await test.advance('1m');
    }
    expect(started).toEqual(['a']);
    await newer.close();
  });
});
