// Review: what a claim of fair keys passes over, and what it does not reach.
import pg from 'pg';
import { beforeEach, describe, expect, it } from 'vitest';
import { defineJob } from '../../src/index.js';
import { admitRuns } from '../../src/store/runs/claim/admit.js';
import { fairKeysFromOutbox } from '../../src/store/runs/fair/arrive.js';
import { claimFair } from '../../src/store/runs/fair/claim-fair.js';
import { storeTest } from '../support/open.js';
import { whileLocked } from '../support/runs.js';
import { openTestTock } from '../support/test-tock.js';

const workerId = '00000000-0000-4000-8000-000000000009';
const started: string[] = [];
let failing = false;
const run = (_ctx: unknown, payload: unknown) => {
  started.push((payload as { tenant?: string }).tenant ?? 'none');
  if (failing) throw new Error('not today');
};
const send = defineJob({ name: 'send', queue: 'mail', run });
const serial = defineJob({ name: 'serial', queue: 'mail', concurrency: { limit: 1 }, run });
const apply = defineJob({
  name: 'apply',
  retry: { maxAttempts: 5, backoff: 'fixed', base: '1h', jitter: 0 },
  concurrency: { limit: 1, key: (p: { tenant: string }) => p.tenant, order: 'strict' },
  run,
});
const { test, database } = storeTest('2026-03-02T09:00:00Z', () => openTestTock([send, serial, apply]));
beforeEach(async () => {
  await test.sql('delete from tock.registrations');
  await test.tock.register();
  await test.sql(`insert into tock.fair_scopes (queue, path) values ('mail', '$.tenant')`);
  started.length = 0;
  failing = false;
});
const number = (n: number) => `t${String(n).padStart(3, '0')}`;
const claim = async (limit: number) => {
  const { runs } = await claimFair(database, { limit, workerId, leaseMs: 60_000, queues: null });
  return runs.map(each => (each.payload as { tenant: string }).tenant);
};

describe('a tick starts all that is due and free', () => {
  it('in many keys of one run each, also while one other key waits for the slot of its job', async () => {
    await test.tock.enqueueMany([0, 1].map(() => ({ job: serial, payload: { tenant: 'busy' } })));
    await fairKeysFromOutbox(database, 20);
    for (let n = 0; n < 2; n++) {
      const { needsAdmission } = await claimFair(database, { limit: 1, workerId, leaseMs: 3_600_000, queues: null });
      await admitRuns(database, needsAdmission, { workerId, leaseMs: 3_600_000 });
    }
    // One runs elsewhere for an hour, and one waits for its slot; a third waits for its turn.
    await test.tock.enqueue(serial, { tenant: 'held' });
    await test.tock.tick({ concurrency: 4 });
    await test.advance('1s');
    await test.tock.enqueueMany(
      Array.from({ length: 60 }, (_, n) => ({ job: send, payload: { tenant: number(n) } })),
    );
    await test.tock.tick({ concurrency: 4 });
    expect(started).toHaveLength(60);
  });
});

describe('a run that a transaction has locked', () => {
  it('keeps no other key waiting: it is being replaced under its live key', async () => {
    const live = { key: 'x', unique: 'live', replace: true } as const;
    const id = String(await test.tock.enqueue(send, { tenant: 'a' }, live));
    // Its turn has not come.
    await admitRuns(database, [id], { workerId, leaseMs: 60_000 });
    await test.tock.enqueue(send, { tenant: 'b' });
    await fairKeysFromOutbox(database, 20);
    const client = new pg.Client({ connectionString: test.url });
    await client.connect();
    try {
      await client.query('begin');
      await test.tock.enqueue(send, { tenant: 'a' }, { ...live, client });
      const got: string[] = [];
      for (let n = 0; n < 10; n++) got.push(...(await claim(1)));
      expect(got).toEqual(['b']);
    } finally {
      await client.end();
    }
  });

  it('keeps no other run of its key waiting', async () => {
    await test.tock.enqueueMany([0, 1, 2].map(() => ({ job: send, payload: { tenant: 'a' } })));
    await fairKeysFromOutbox(database, 20);
    const [locked] = await test.sql<{ id: string }>(`select min(id)::text as id from tock.job_runs_live`);
    await whileLocked(test, [locked?.id ?? ''], async () => {
      const got: string[] = [];
      for (let n = 0; n < 10; n++) got.push(...(await claim(1)));
      expect(got).toEqual(['a', 'a']);
    });
  });
});

describe('a strict order goes on', () => {
  it('once the failed run that holds it up was replaced under its live key', async () => {
    failing = true;
    await test.tock.enqueue(apply, { tenant: 'a' }, { key: 'x', unique: 'live' });
    await test.tock.tick();
    expect(started).toEqual(['a']);
    failing = false;
    await test.tock.enqueue(apply, { tenant: 'a' });
    await test.tock.tick();
    await test.tock.enqueue(apply, { tenant: 'b' }, { key: 'x', unique: 'live', replace: true });
    for (let second = 0; second < 6; second++) {
      await test.tock.tick();
      await test.advance('1s');
    }
    expect(started.toSorted()).toEqual(['a', 'a', 'b']);
  });
});

describe('a queue with a limit', () => {
  it('starts what is due while a run that had its turn waits for a later time', async () => {
    await test.tock.queues.set('mail', { concurrency: 1 });
    await test.tock.enqueue(send, { tenant: 'a' });
    await test.tock.enqueue(send, { tenant: 'b' });
    await fairKeysFromOutbox(database, 20);
    // It has its turn, and its worker is killed before it is admitted.
    await claimFair(database, { limit: 1, workerId, leaseMs: 60_000, queues: null });
    await test.tock.freeze({ until: '20m', note: 'maintenance' });
    await test.advance('1m');
    await test.tock.thaw({ ramp: '1h' });
    const times = await test.sql<{ tenant: string; run_at: Date }>(
      `select payload ->> 'tenant' as tenant, run_at from tock.job_runs_live order by run_at`,
    );
    for (let minute = 0; minute < 62; minute++) {
      await test.tock.tick();
      await test.advance('1m');
    }
    expect(started).toEqual(times.map(each => each.tenant));
  });
});
