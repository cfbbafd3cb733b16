// Fair keys whose runs cannot start now, or are locked: what is due and free starts beside them.
import { beforeEach, describe, expect, it } from 'vitest';
import { defineJob } from '../../src/index.js';
import { admitRuns } from '../../src/store/runs/claim/admit.js';
import { unblockRuns } from '../../src/store/runs/claim/unblock.js';
import { fairKeysFromOutbox } from '../../src/store/runs/fair/arrive.js';
import { claimFair } from '../../src/store/runs/fair/claim-fair.js';
import { storeTest } from '../support/open.js';
import { whileLocked } from '../support/runs.js';
import { openTestTock } from '../support/test-tock.js';

const lease = { workerId: '00000000-0000-4000-8000-000000000009', leaseMs: 3_600_000 };
const started: string[] = [];
const run = (_ctx: unknown, payload: unknown) => {
  started.push((payload as { tenant: string }).tenant);
};
const send = defineJob({ name: 'send', queue: 'mail', run });
const serial = defineJob({ name: 'serial', queue: 'mail', concurrency: { limit: 1 }, run });
const { test, database } = storeTest('2026-03-02T09:00:00Z', () => openTestTock([send, serial]));
beforeEach(async () => {
  await test.sql(`insert into tock.fair_scopes (queue, path) values ('mail', '$.tenant')`);
  started.length = 0;
});
const enqueue = async (tenants: readonly string[], job: 'send' | 'serial' = 'send') => {
  await test.tock.enqueueMany(tenants.map(tenant => ({ job, payload: { tenant } })));
  await fairKeysFromOutbox(database, 2000);
};
const numbered = (count: number) => Array.from({ length: count }, (_, n) => `t${String(n).padStart(3, '0')}`);
const claim = async (limit: number) => {
  const { runs, needsAdmission } = await claimFair(database, { limit, ...lease, queues: null });
  const { admitted } = await admitRuns(database, needsAdmission, lease);
  return [...runs, ...admitted].map(each => (each.payload as { tenant: string }).tenant);
};

describe('a run that is due and free starts', () => {
  beforeEach(async () => {
    // Another host executes a run of the job for an hour.
    await enqueue(['busy'], 'serial');
    await claim(1);
  });

  it('beside keys whose runs wait for the slot of their job', async () => {
    await enqueue(numbered(30), 'serial');
    await enqueue(['z']);
    await test.tock.tick({ concurrency: 4 });
    expect(started).toEqual(['z']);
  });

  it('behind runs of its own key that wait for it', async () => {
    await enqueue(Array(30).fill('a'), 'serial');
    await enqueue(['a']);
    await test.tock.tick({ concurrency: 4 });
    expect(started).toEqual(['a']);
  });

  it('beside a thousand such keys, within a few claims', { tags: 'check' }, async () => {
    await enqueue(numbered(1000), 'serial');
    await enqueue(['z']);
    const got: string[] = [];
    for (let n = 0; n < 20; n++) got.push(...(await claim(1)));
    expect(got).toEqual(['z']);
  });

  it('once the slot is free, whatever became of a run without a key that had waited for it', async () => {
    const without = String(await test.tock.enqueue(serial, {}));
    await admitRuns(database, [without], lease);
    await test.sql(`delete from tock.job_slots; delete from tock.job_runs_live where status = 'running'`);
    await unblockRuns(database, ['job:serial']);
    expect((await admitRuns(database, [without], lease)).admitted).toHaveLength(1);
    // Its next attempt is tomorrow.
    await test.sql(`delete from tock.job_slots;
      update tock.job_runs_live set status = 'failed', locked_by = null, locked_until = null, started_at = null, run_at = tock.now() + interval '1 day'`);
    await enqueue(['a'], 'serial');
    expect(await claim(1)).toEqual(['a']);
  });
});

describe('a run that another transaction has locked keeps waiting', () => {
  it('neither another key, nor another run of its own', async () => {
    await enqueue(['a', 'a', 'b']);
    const [first] = await test.sql<{ id: string }>('select min(id)::text as id from tock.job_runs_live');
    await whileLocked(test, [first?.id ?? ''], async () => {
      const got: string[] = [];
      for (let n = 0; n < 5; n++) got.push(...(await claim(1)));
      expect(got).toEqual(['a', 'b']);
    });
  });

  it('no other key, where it is the only one of its key', async () => {
    await enqueue(['a', 'b']);
    const [first] = await test.sql<{ id: string }>('select min(id)::text as id from tock.job_runs_live');
    await whileLocked(test, [first?.id ?? ''], async () => expect(await claim(1)).toEqual(['b']));
    await test.advance('1s');
    expect(await claim(1)).toEqual(['a']);
  });
});

it('a run that had its turn and was set to a later time keeps no place in a queue with a limit', async () => {
  await test.tock.queues.set('mail', { concurrency: 1 });
  await enqueue(['a', 'b']);
  // Its worker is killed before it is admitted.
  await claimFair(database, { limit: 1, ...lease, queues: null });
  await test.sql(
    `update tock.job_runs_live set run_at = tock.now() + interval '1 hour' where blocked_on is null`,
  );
  expect(await claim(1)).toEqual(['b']);
});
