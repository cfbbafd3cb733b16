// Review: fair keys whose runs wait for a slot of their job, beside runs that are due and free.
import { beforeEach, describe, expect, it } from 'vitest';
import { defineJob } from '../../src/index.js';
import { admitRuns } from '../../src/store/runs/claim/admit.js';
import { fairKeysFromOutbox } from '../../src/store/runs/fair/arrive.js';
import { claimFair } from '../../src/store/runs/fair/claim-fair.js';
import { storeTest } from '../support/open.js';
import { openTestTock } from '../support/test-tock.js';

const workerId = '00000000-0000-4000-8000-000000000009';
const started: string[] = [];
const run = (_ctx: unknown, payload: unknown) => {
  started.push((payload as { tenant?: string }).tenant ?? 'none');
};
const send = defineJob({ name: 'send', queue: 'mail', run });
const serial = defineJob({ name: 'serial', queue: 'mail', concurrency: { limit: 1 }, run });
const triple = defineJob({ name: 'triple', queue: 'mail', concurrency: { limit: 3 }, run });
const { test, database } = storeTest('2026-03-02T09:00:00Z', () => openTestTock([send, serial, triple]));
beforeEach(async () => {
  await test.sql(`insert into tock.fair_scopes (queue, path) values ('mail', '$.tenant')`);
  started.length = 0;
});
const number = (n: number) => `t${String(n).padStart(3, '0')}`;
/** Another host executes a run of the job for an hour. */
const hold = async (job: typeof send) => {
  await test.tock.enqueue(job, { tenant: 'busy' });
  await fairKeysFromOutbox(database, 20);
  const { needsAdmission } = await claimFair(database, { limit: 1, workerId, leaseMs: 3_600_000, queues: null });
  const { admitted } = await admitRuns(database, needsAdmission, { workerId, leaseMs: 3_600_000 });
  expect(admitted).toHaveLength(1);
};

describe('a run that is due and free starts', () => {
  it('beside keys whose runs wait for the slot of their job', async () => {
    await hold(serial);
    await test.tock.enqueueMany(
      Array.from({ length: 30 }, (_, n) => ({ job: serial, payload: { tenant: number(n) } })),
    );
    await test.tock.enqueue(send, { tenant: 'z' });
    await test.tock.tick({ concurrency: 4 });
    expect(started).toEqual(['z']);
  });

  it('beside many such keys, within five seconds of ticks each second', async () => {
    await hold(serial);
    await test.tock.enqueueMany(
      Array.from({ length: 100 }, (_, n) => ({ job: serial, payload: { tenant: number(n) } })),
    );
    await test.tock.enqueue(send, { tenant: 'z' });
    let seconds = 0;
    for (; started.length === 0 && seconds < 300; seconds++) {
      await test.tock.tick({ concurrency: 4 });
      await test.advance('1s');
    }
    expect(seconds).toBeLessThanOrEqual(6);
  });

  it('behind runs of its own key that wait for the slot of their job', async () => {
    await hold(serial);
    await test.tock.enqueueMany(Array.from({ length: 30 }, () => ({ job: serial, payload: { tenant: 'a' } })));
    await test.tock.enqueue(send, { tenant: 'a' });
    for (let second = 0; second < 10; second++) {
      await test.tock.tick({ concurrency: 4 });
      await test.advance('1s');
    }
    expect(started).toEqual(['a']);
  });

  it('although a run without a key that had waited for the slot executes for long', async () => {
    // Three runs without a tenant hold the slots; a fourth waits for one, gets it, and executes for an hour.
    const ids: string[] = [];
    for (let n = 0; n < 4; n++) ids.push(String(await test.tock.enqueue(triple, {})));
    const first = await admitRuns(database, ids, { workerId, leaseMs: 60_000 });
    expect(first.admitted).toHaveLength(3);
    // The three end: another host is gone, and its leases are over. Here simply: they are cancelled.
    await test.sql(`delete from tock.job_slots`);
    await test.sql(`delete from tock.job_runs_live where status = 'running'`);
    const { unblockRuns } = await import('../../src/store/runs/claim/unblock.js');
    await unblockRuns(database, ['job:triple']);
    const last = await admitRuns(database, [ids[3] ?? ''], { workerId, leaseMs: 3_600_000 });
    expect(last.admitted).toHaveLength(1);
    // One of three slots is held. Runs of tenants are due and free.
    await test.tock.enqueue(triple, { tenant: 'a' });
    for (let second = 0; second < 60; second++) {
      await test.tock.tick({ concurrency: 4 });
      await test.advance('10s');
    }
    expect(started).toEqual(['a']);
  });
});
