// Answers: what the pages of a run, and `tock why`, say of one that has a fair key and does not start.
import { beforeEach, describe, expect, it } from 'vitest';
import { readRun } from '../../../src/answers/runs/read-run.js';
import { nextStep } from '../../../src/cli/views/run-text.js';
import { defineJob } from '../../../src/index.js';
import { readNow } from '../../../src/store/connection/clock.js';
import { admitRuns } from '../../../src/store/runs/claim/admit.js';
import { fairKeysFromOutbox } from '../../../src/store/runs/fair/arrive.js';
import { claimFair } from '../../../src/store/runs/fair/claim-fair.js';
import { storeTest } from '../../support/open.js';
import { openTestTock } from '../../support/test-tock.js';

const lease = { workerId: '00000000-0000-4000-8000-000000000009', leaseMs: 3_600_000 };
const run = () => undefined;
const send = defineJob({ name: 'send', queue: 'mail', run });
const serial = defineJob({ name: 'serial', queue: 'mail', concurrency: { limit: 1 }, run });
const daily = defineJob({
  name: 'daily',
  queue: 'mail',
  schedule: { cron: '1 9 * * *', payload: { tenant: 'b' } },
  run,
});
const { test, database } = storeTest('2026-03-02T09:00:00Z', () => openTestTock([send, serial, daily]));
beforeEach(() => test.sql(`insert into tock.fair_scopes (queue, path) values ('mail', '$.tenant')`));
const shown = async (id: string) => {
  const now = await readNow(database);
  const read = await readRun(database, id, { now: new Date(now), seesPayloads: true });
  if (read === null) throw new Error(`no run ${id}`);
  return { ...read.now, next: nextStep(read.run, now) };
};
const why = async () => (await test.tock.why('daily', '2026-03-02T09:01')).sentences.join('\n');

describe('of a run of a fair key is said', () => {
  it.each([
    ['its queue mail has been paused', 'its queue mail is paused', {}],
    [
      'its queue mail is outside its window 23:00-06:00',
      'its queue mail is outside its window',
      { window: '23:00-06:00' },
    ],
    ['its queue mail is full: 0 of 0 slots', 'its queue mail is full', { concurrency: 0 }],
  ])('that %s', async (sentence, reason, limits) => {
    await test.tock.queues.set('mail', limits);
    if (Object.keys(limits).length === 0) await test.tock.queues.pause('mail', { note: 'no paper' });
    const id = await test.tock.enqueue(send, { tenant: 'a' });
    await test.tock.tick();
    await test.advance('1m');
    await test.tock.tick();
    // As its first claim leaves it.
    await test.sql(`update tock.job_runs_live set blocked_on = slot_keys[1] where job = 'daily'`);
    expect((await shown(id)).sentence).toContain(sentence);
    expect(await why()).toContain(reason);
    expect(await why()).toContain('it waits for the turn of key b, which');
  });

  it('when it is due, before anything else', async () => {
    await test.tock.queues.set('mail', { concurrency: 0 });
    const id = await test.tock.enqueue(send, { tenant: 'a' }, { delay: '3h' });
    const { sentence, next } = await shown(id);
    expect([sentence, next]).toEqual(['Attempt 1 of 10 is due in 3h.', 'attempt 1 of 10 is due in 3h']);
  });

  it('that nobody executes anything', async () => {
    const id = await test.tock.enqueue(send, { tenant: 'a' });
    await test.advance('1h');
    expect(await shown(id)).toMatchObject({ tone: 'attention', waitsFor: 'a worker' });
  });

  it('that its key waits for the slot of its job, and no time', async () => {
    await test.tock.enqueue(serial, { tenant: 'busy' });
    await fairKeysFromOutbox(database, 20);
    const { needsAdmission } = await claimFair(database, { limit: 1, ...lease, queues: null });
    await admitRuns(database, needsAdmission, lease);
    // The first one waits for the slot itself.
    await test.tock.enqueue(serial, { tenant: 'first' });
    await test.tock.tick();
    const id = await test.tock.enqueue(serial, { tenant: 'a' });
    await test.tock.tick();
    expect((await shown(id)).sentence).toContain(
      'waits for the turn of key a, which waits for a slot of job serial; 1 of its runs waits',
    );
    expect((await test.tock.keys.get('a')).states).toMatchObject([{ waitsFor: 'job:serial', nextAt: null }]);
  });
});
