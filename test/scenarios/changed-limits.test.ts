// A job's limit that a deploy changes: it holds for what waits, whatever it was when that was enqueued.
import { beforeEach, describe, expect, it } from 'vitest';
import { defineJob, typeOnly } from '../../src/index.js';
import { admitRuns } from '../../src/store/runs/claim/admit.js';
import { fixSlots } from '../../src/store/runs/claim/unblock.js';
import { fairKeysFromOutbox } from '../../src/store/runs/fair/arrive.js';
import { claimFair } from '../../src/store/runs/fair/claim-fair.js';
import { storeTest } from '../support/open.js';
import { openTestTock } from '../support/test-tock.js';

const lease = { workerId: '00000000-0000-4000-8000-000000000009', leaseMs: 3_600_000 };
const started: number[] = [];
const payload = typeOnly<{ n: number }>();
const sending = (limit: number | null, isByTenant = false) =>
  defineJob({
    name: 'send',
    payload,
    ...(limit !== null && { concurrency: { limit, ...(isByTenant && { key: () => 'a' }) } }),
    run: (_ctx, { n }) => void started.push(n),
  });
const { test, database } = storeTest('2026-03-02T09:00:00Z', () => openTestTock([]));
beforeEach(() => {
  started.length = 0;
});
/** Registers the job with this limit, and enqueues runs. */
const deploy = async (job: ReturnType<typeof sending>, count = 0) => {
  await test.sql('delete from tock.registrations');
  const tock = test.another({ jobs: [job] });
  await tock.register();
  const ids = await tock.enqueueMany(Array.from({ length: count }, (_, n) => ({ job, payload: { n } })));
  return { tock, ids: ids.map(String), close: () => tock.close() };
};
const admit = async (ids: readonly string[]) => (await admitRuns(database, ids, lease)).admitted.length;

describe.each([
  ['lowered', 5, 2, 2],
  ['raised', 2, 5, 5],
  ['ended', 2, null, 10],
])('a limit that a deploy has %s', (_, before, after, most) => {
  it.each([false, true])('holds for runs that were enqueued before; of each tenant: %j', async isByTenant => {
    const old = await deploy(sending(before, isByTenant), 10);
    const newer = await deploy(sending(after, isByTenant));
    expect(await admit(old.ids)).toBe(most);
    await Promise.all([old.close(), newer.close()]);
  });

  it('holds for runs that wait for a slot', async () => {
    const old = await deploy(sending(before), 10);
    expect(await admit(old.ids)).toBe(before);
    const newer = await deploy(sending(after));
    // One goes on: that which has the last slot.
    await test.sql('delete from tock.job_slots where slot < $1', [before]);
    await fixSlots(database);
    expect(await admit(old.ids)).toBe(Math.min(most - 1, 10 - before));
    await Promise.all([old.close(), newer.close()]);
  });
});

it('a limit that a deploy has ended lets runs of fair keys start, too', async () => {
  await test.sql(`insert into tock.fair_scopes (queue, path) values ('default', '$.n')`);
  const old = await deploy(sending(1), 2);
  await fairKeysFromOutbox(database, 20);
  const { needsAdmission } = await claimFair(database, { ...lease, limit: 1, queues: null });
  expect(await admit(needsAdmission)).toBe(1);
  const newer = await deploy(sending(null));
  await newer.tock.tick();
  expect(started).toEqual([1]);
  await Promise.all([old.close(), newer.close()]);
});
