// Review: what happens between a claim that names a run and its admission; keys that cannot be named.
import { beforeEach, describe, expect, it } from 'vitest';
import { defineJob } from '../../src/index.js';
import { admitRuns } from '../../src/store/runs/claim/admit.js';
import { claimFreeRuns } from '../../src/store/runs/claim/claim.js';
import { fairKeysFromOutbox } from '../../src/store/runs/fair/arrive.js';
import { claimFair } from '../../src/store/runs/fair/claim-fair.js';
import { storeTest } from '../support/open.js';
import { openTestTock } from '../support/test-tock.js';

const workerId = '00000000-0000-4000-8000-000000000009';
const lease = { workerId, leaseMs: 60_000 };
const run = () => undefined;
const limited = defineJob({ name: 'limited', concurrency: { limit: 1 }, run });
const send = defineJob({ name: 'send', queue: 'mail', run });
const { test, database } = storeTest('2026-03-02T09:00:00Z', () => openTestTock([limited, send]));
beforeEach(() => test.sql(`insert into tock.fair_scopes (queue, path, slot_limit) values ('mail', '$.tenant', 1)`));

describe('once a freeze is committed, nothing starts', () => {
  it('that needs a slot, and was named by a claim before', async () => {
    await test.tock.enqueue(limited, {});
    const { needsAdmission } = await claimFreeRuns(database, { ...lease, limit: 10, queues: null });
    expect(needsAdmission).toHaveLength(1);
    await test.tock.freeze({ until: '20m', note: 'maintenance' });
    expect((await admitRuns(database, needsAdmission, lease)).admitted).toEqual([]);
  });

  it('that needs several, and was named by a claim before', async () => {
    await test.tock.queues.set('mail', { concurrency: 5 });
    await test.tock.enqueue(send, { tenant: 'a' });
    await fairKeysFromOutbox(database, 20);
    const { needsAdmission } = await claimFair(database, { ...lease, limit: 10, queues: null });
    expect(needsAdmission).toHaveLength(1);
    await test.tock.freeze({ until: '20m', note: 'maintenance' });
    expect((await admitRuns(database, needsAdmission, lease)).admitted).toEqual([]);
  });
});

describe('a key that a payload has', () => {
  it('can be set, whatever its characters', async () => {
    const key = '💶'.repeat(200);
    await test.tock.enqueue(send, { tenant: key });
    await fairKeysFromOutbox(database, 20);
    expect(await test.sql('select key from tock.fair_keys')).toEqual([{ key }]);
    await expect(test.tock.keys.get(key)).resolves.toMatchObject({ key });
  });
});
