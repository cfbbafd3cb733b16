// Fair keys: never more runs of a key at once than its limit, whoever claims them.
import { beforeEach, describe, expect, it } from 'vitest';
import { defineJob } from '../../src/index.js';
import { fixSlots } from '../../src/store/runs/claim/unblock.js';
import { fairKeysFromOutbox } from '../../src/store/runs/fair/arrive.js';
import { claimFair } from '../../src/store/runs/fair/claim-fair.js';
import { storeTest } from '../support/open.js';
import { openTestTock } from '../support/test-tock.js';

const running = new Map<string, number>();
const most = new Map<string, number>();
let ended = 0;
const tenantOf = (payload: unknown) => (payload as { tenant: string }).tenant;
const note = async (payload: unknown) => {
  const key = tenantOf(payload);
  const now = (running.get(key) ?? 0) + 1;
  running.set(key, now);
  most.set(key, Math.max(most.get(key) ?? 0, now));
  await new Promise(resolve => setImmediate(resolve));
  running.set(key, (running.get(key) ?? 1) - 1);
  ended += 1;
};
const send = defineJob({ name: 'send', queue: 'mail', run: (_ctx, payload) => note(payload) });
const serial = defineJob({
  name: 'serial',
  queue: 'mail',
  concurrency: { limit: 3 },
  run: (_ctx, payload) => note(payload),
});
const { test, database } = storeTest('2026-03-02T09:00:00Z', () => openTestTock([send, serial]));
beforeEach(() => {
  running.clear();
  most.clear();
  ended = 0;
});
const share = (limit: number) =>
  test.sql(`insert into tock.fair_scopes (queue, path, slot_limit) values ('mail', '$.tenant', ${limit})`);
const enqueue = (tenant: string, count: number, job: typeof send | typeof serial = send) =>
  test.tock.enqueueMany(Array.from({ length: count }, () => ({ job, payload: { tenant } })));
/** Three ticks at once, until nothing is left. A key that was full is looked at again in time. */
const drain = async (count: number) => {
  for (let round = 0; ended < count && round < 100; round++) {
    await Promise.all([1, 2, 3].map(() => test.tock.tick({ concurrency: 4 })));
    await test.advance('5s');
  }
  expect(ended).toBe(count);
  expect(await test.sql('select * from tock.job_slots')).toEqual([]);
};

describe('the limit of a fair key', () => {
  it('holds over three ticks at once', async () => {
    await share(2);
    await enqueue('a', 40);
    await enqueue('b', 10);
    await drain(50);
    expect(Object.fromEntries(most)).toEqual({ a: 2, b: 2 });
  });

  it('is that which was set for the key', { tags: 'check' }, async () => {
    await share(2);
    await test.sql(`insert into tock.key_settings (key, slot_limit) values ('a', 1)`);
    await enqueue('a', 10);
    await enqueue('b', 10);
    await drain(20);
    expect(Object.fromEntries(most)).toEqual({ a: 1, b: 2 });
  });

  it('holds beside the limits of the job and of the queue', { tags: 'check' }, async () => {
    await share(1);
    await test.sql(`insert into tock.job_queues (name, concurrency) values ('mail', 3)`);
    await enqueue('a', 10, serial);
    await enqueue('a', 10);
    await enqueue('b', 10, serial);
    await drain(30);
    expect(Object.fromEntries(most)).toEqual({ a: 1, b: 1 });
  });

  it('counts the runs of a worker that was killed until their leases end', { tags: 'check' }, async () => {
    await share(2);
    await enqueue('a', 6);
    const dead = '00000000-0000-4000-8000-000000000009';
    await fairKeysFromOutbox(database, 20);
    const claim = await claimFair(database, { limit: 10, workerId: dead, leaseMs: 60_000, queues: null });
    expect(claim.runs).toHaveLength(2);
    const again = await claimFair(database, { limit: 10, workerId: dead, leaseMs: 60_000, queues: null });
    expect(again.runs).toHaveLength(0);
    // Neither the slots that are held nor the runs that wait for their turn are touched.
    await fixSlots(database);
    expect(
      await test.sql(
        `select (select count(*) from tock.job_slots)::integer as held, count(blocked_on)::integer as waiting from tock.job_runs_live`,
      ),
    ).toEqual([{ held: 2, waiting: 4 }]);
    await test.tock.tick();
    expect(ended).toBe(0);
    await test.advance('61s');
    await drain(6);
    expect(most.get('a')).toBe(2);
  });
});
