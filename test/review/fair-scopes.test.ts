// Review: two queues, or two jobs, each with fair keys of its own.
import { beforeEach, describe, expect, it } from 'vitest';
import { defineJob } from '../../src/index.js';
import { fairKeysFromOutbox } from '../../src/store/runs/fair/arrive.js';
import { claimFair } from '../../src/store/runs/fair/claim-fair.js';
import { storeTest } from '../support/open.js';
import { openTestTock } from '../support/test-tock.js';

const workerId = '00000000-0000-4000-8000-000000000009';
const started: string[] = [];
const run = (_ctx: unknown, payload: unknown) => void started.push((payload as { tenant: string }).tenant);
const mail = defineJob({ name: 'mail', queue: 'mail', run });
const report = defineJob({ name: 'report', queue: 'reports', run });
const { test, database } = storeTest('2026-03-02T09:00:00Z', () => openTestTock([mail, report]));
beforeEach(async () => {
  await test.sql(`insert into tock.fair_scopes (queue, path) values ('mail', '$.tenant'), ('reports', '$.tenant')`);
  started.length = 0;
});
/** A handler has ended: there is room for one run. */
const claimOne = async () => {
  const { runs } = await claimFair(database, { limit: 1, workerId, leaseMs: 60_000, queues: null });
  return runs.map(each => each.job);
};

describe('a queue whose keys have run for long', () => {
  it('goes on starting runs beside the backlog of a queue that is new', async () => {
    await test.tock.enqueueMany(Array.from({ length: 200 }, () => ({ job: mail, payload: { tenant: 'a' } })));
    await test.tock.tick({ concurrency: 10 });
    expect(started).toHaveLength(200);
    await test.tock.enqueueMany(Array.from({ length: 500 }, () => ({ job: report, payload: { tenant: 'x' } })));
    await test.tock.enqueueMany(Array.from({ length: 5 }, () => ({ job: mail, payload: { tenant: 'a' } })));
    await fairKeysFromOutbox(database, 20);
    const jobs: string[] = [];
    for (let n = 0; n < 40; n++) jobs.push(...(await claimOne()));
    expect(jobs.filter(job => job === 'mail')).toHaveLength(5);
  });
});

describe('a weight that is set back', () => {
  it('holds from the next claim on', async () => {
    await test.tock.keys.set('a', { weight: 0.001 });
    await test.tock.enqueueMany(
      Array.from({ length: 400 }, (_, n) => ({ job: mail, payload: { tenant: n % 2 === 0 ? 'a' : 'b' } })),
    );
    await fairKeysFromOutbox(database, 20);
    const claim = async () => {
      const { runs } = await claimFair(database, { limit: 1, workerId, leaseMs: 60_000, queues: null });
      return runs.map(each => (each.payload as { tenant: string }).tenant);
    };
    for (let n = 0; n < 4; n++) await claim();
    await test.tock.keys.set('a', { weight: 1 });
    const tenants: string[] = [];
    for (let n = 0; n < 40; n++) tenants.push(...(await claim()));
    expect(tenants.filter(tenant => tenant === 'a').length).toBeGreaterThanOrEqual(18);
  });
});
