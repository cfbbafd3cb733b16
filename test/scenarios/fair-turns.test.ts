// Fair keys: nobody saves up turns, nobody loses them, whatever else holds runs back.
import { beforeEach, expect, it } from 'vitest';
import { defineJob } from '../../src/index.js';
import { admitRuns } from '../../src/store/runs/claim/admit.js';
import { fairKeysFromOutbox } from '../../src/store/runs/fair/arrive.js';
import { claimFair } from '../../src/store/runs/fair/claim-fair.js';
import { storeTest } from '../support/open.js';
import { openTestTock } from '../support/test-tock.js';

const workerId = '00000000-0000-4000-8000-000000000009';
const started: string[] = [];
const run = (_ctx: unknown, payload: unknown) => {
  started.push((payload as { tenant: string }).tenant);
};
const send = defineJob({ name: 'send', queue: 'mail', run });
const serial = defineJob({ name: 'serial', queue: 'mail', concurrency: { limit: 1 }, run });
const report = defineJob({ name: 'report', queue: 'reports', run });
const { test, database } = storeTest('2026-03-02T09:00:00Z', () => openTestTock([send, serial, report]));
beforeEach(async () => {
  await test.sql(`insert into tock.fair_scopes (queue, path) values ('mail', '$.tenant')`);
  started.length = 0;
});
const enqueue = (tenant: string, count: number, job: typeof send | typeof serial = send) =>
  test.tock.enqueueMany(Array.from({ length: count }, () => ({ job, payload: { tenant } })));
const drain = async (concurrency = 4) => {
  for (let round = 0; round < 100; round++) {
    const { executed } = await test.tock.tick({ concurrency });
    if (executed.claimed === 0) break;
    await test.advance('1s');
  }
};

it('a key that ran while it was alone does not wait until one that has come meanwhile has had as much', async () => {
  await enqueue('a', 100);
  await test.tock.enqueue(send, { tenant: 'a' }, { delay: '1h' });
  await drain(1);
  await enqueue('b', 100);
  await test.tock.tick({ concurrency: 1, queues: ['none'] });
  await test.advance('1h');
  const tenants: string[] = [];
  for (let claim = 0; claim < 5; claim++) {
    const { runs } = await claimFair(database, { limit: 1, workerId, leaseMs: 60_000, queues: null });
    tenants.push(...runs.map(run => (run.payload as { tenant: string }).tenant));
  }
  expect(tenants).toContain('a');
});

/** The jobs and tenants of runs, claimed one by one. */
const claimEach = async (count: number) => {
  const claimed: { job: string; tenant: string }[] = [];
  await fairKeysFromOutbox(database, 2000);
  for (let n = 0; n < count; n++) {
    const { runs } = await claimFair(database, { limit: 1, workerId, leaseMs: 60_000, queues: null });
    claimed.push(...runs.map(({ job, payload }) => ({ job, ...(payload as { tenant: string }) })));
  }
  return claimed;
};

it('a queue whose keys have run for long goes on beside the backlog of one that is new', async () => {
  await test.sql(`insert into tock.fair_scopes (queue, path) values ('reports', '$.tenant')`);
  await enqueue('a', 1);
  await claimEach(1);
  await test.sql('update tock.fair_keys set tag = 1000');
  await test.tock.enqueueMany(Array.from({ length: 60 }, () => ({ job: report, payload: { tenant: 'x' } })));
  await enqueue('a', 2);
  const jobs = (await claimEach(40)).map(({ job }) => job);
  expect(jobs.filter(job => job === 'send')).toHaveLength(2);
});

it('a weight that is set back holds from the next claim on', async () => {
  await test.tock.keys.set('a', { weight: 0.001 });
  await enqueue('a', 20);
  await enqueue('b', 20);
  await claimEach(4);
  await test.tock.keys.set('a', { weight: 1 });
  const claimed = await claimEach(10);
  expect(claimed.filter(({ tenant }) => tenant === 'a').length).toBeGreaterThanOrEqual(4);
});

it('a key without a free slot does not stand before others', { tags: 'check' }, async () => {
  await test.sql('update tock.fair_scopes set slot_limit = 1');
  await enqueue('a', 1);
  const claim = async () => {
    await fairKeysFromOutbox(database, 20);
    return (await claimFair(database, { limit: 1, workerId, leaseMs: 60_000, queues: null })).runs.length;
  };
  expect(await claim()).toBe(1);
  await enqueue('b', 3);
  await enqueue('a', 3);
  await test.sql(`update tock.fair_keys set tag = 0 where key = 'a'`);
  await test.sql(`update tock.fair_keys set tag = 5 where key = 'b'`);
  expect((await claim()) + (await claim())).toBe(1);
});

it('the rate of a key counts runs when they start, not when they begin to wait for another slot', {
  tags: 'check',
}, async () => {
  await test.sql(`update tock.fair_scopes set rate_count = 5, rate_period_ms = 1000, rate_burst = 2`);
  await test.sql(`insert into tock.job_slots values ('job:serial', 1, 0, 0)`);
  await enqueue('a', 30, serial);
  const claim = async () => {
    const wanted = { limit: 10, workerId, leaseMs: 60_000, queues: null };
    await fairKeysFromOutbox(database, 20);
    const { needsAdmission } = await claimFair(database, wanted);
    const waiting = await test.sql<{ id: string }>(
      'select id::text from tock.job_runs_live where blocked_on is null and slot_keys is not null order by 1',
    );
    const all = [...new Set([...needsAdmission, ...waiting.map(({ id }) => id)])];
    return (await admitRuns(database, all, { workerId, leaseMs: 60_000 })).admitted.length;
  };
  for (let second = 0; second < 5; second++) {
    expect(await claim()).toBe(0);
    await test.advance('1s');
  }
  // None waits for its turn, so that the key was forgotten. The other limit is gone; the rate is not.
  await test.sql('delete from tock.fair_keys');
  await test.sql(`delete from tock.job_slots`);
  await test.sql(`update tock.job_runs_live set slot_limits = array[1, 100]`);
  await test.sql(
    `update tock.job_runs_live set blocked_on = null, unblocked_on = blocked_on where blocked_on = 'job:serial'`,
  );
  expect([await claim(), await claim(), await claim()]).toEqual([2, 0, 0]);
  await test.advance('1s');
  expect((await claim()) + (await claim()) + (await claim())).toBe(2);
});

it.each([
  ['limit of a job', '', 100, 10, serial],
  ['limit of their queue', `(name, concurrency) values ('mail', 2)`, 100, 10, send],
  ['rate of their queue', `(name, rate_count, rate_period_ms) values ('mail', 2, 1000)`, 30, 5, send],
])(
  'keys of runs that need another slot take turns under the %s',
  { tags: 'check' },
  async (_, queue, many, few, job) => {
    if (queue !== '') await test.sql(`insert into tock.job_queues ${queue}`);
    await enqueue('a', many, job);
    await enqueue('b', few, job);
    await drain();
    expect(started).toHaveLength(many + few);
    expect(started.lastIndexOf('b')).toBeLessThan(4 * few);
  },
);
