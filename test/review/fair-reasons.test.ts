// Review: what `tock show` says of a run of a fair key that does not start.
import { beforeEach, describe, expect, it } from 'vitest';
import { readRun } from '../../src/answers/runs/read-run.js';
import { defineJob } from '../../src/index.js';
import { readNow } from '../../src/store/connection/clock.js';
import { admitRuns } from '../../src/store/runs/claim/admit.js';
import { fairKeysFromOutbox } from '../../src/store/runs/fair/arrive.js';
import { claimFair } from '../../src/store/runs/fair/claim-fair.js';
import { storeTest } from '../support/open.js';
import { openTestTock } from '../support/test-tock.js';

const workerId = '00000000-0000-4000-8000-000000000009';
const run = () => undefined;
const send = defineJob({ name: 'send', queue: 'mail', run });
const serial = defineJob({ name: 'serial', queue: 'mail', concurrency: { limit: 1 }, run });
const { test, database } = storeTest('2026-03-02T09:00:00Z', () => openTestTock([send, serial]));
beforeEach(() => test.sql(`insert into tock.fair_scopes (queue, path) values ('mail', '$.tenant')`));
const said = async (id: unknown) => {
  const now = new Date(await readNow(database));
  return (await readRun(database, String(id), { now, seesPayloads: true }))?.now;
};

describe('of a run of a fair key, `tock show` says', () => {
  it('that its queue is paused', async () => {
    const id = await test.tock.enqueue(send, { tenant: 'a' });
    await test.tock.queues.pause('mail', { note: 'the provider is down' });
    await test.tock.tick();
    expect((await said(id))?.sentence).toContain('its queue mail has been paused');
  });

  it('that its queue is outside of its hours', async () => {
    await test.tock.queues.set('mail', { window: '23:00-06:00' });
    const id = await test.tock.enqueue(send, { tenant: 'a' });
    await test.tock.tick();
    expect((await said(id))?.sentence).toContain('window 23:00-06:00');
  });

  it('that its queue is full', async () => {
    await test.tock.queues.set('mail', { concurrency: 0 });
    const id = await test.tock.enqueue(send, { tenant: 'a' });
    await test.tock.tick();
    expect((await said(id))?.sentence).toContain('its queue mail is full');
  });

  it('that it is not due yet', async () => {
    const id = await test.tock.enqueue(send, { tenant: 'a' }, { delay: '3h' });
    expect((await said(id))?.sentence).toContain('is due in 3h');
  });

  it('that nobody executes anything', async () => {
    const id = await test.tock.enqueue(send, { tenant: 'a' });
    await test.advance('1h');
    const now = await said(id);
    expect(now).toMatchObject({ tone: 'attention' });
  });

  it('that its key waits for the slot of its job', async () => {
    await test.tock.enqueue(serial, { tenant: 'busy' });
    await fairKeysFromOutbox(database, 20);
    const { needsAdmission } = await claimFair(database, { limit: 1, workerId, leaseMs: 3_600_000, queues: null });
    await admitRuns(database, needsAdmission, { workerId, leaseMs: 3_600_000 });
    await test.tock.enqueue(serial, { tenant: 'next' });
    await test.tock.tick();
    const id = await test.tock.enqueue(serial, { tenant: 'a' });
    await test.tock.tick();
    expect((await said(id))?.sentence).toContain('job serial');
  });
});
