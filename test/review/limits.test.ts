// Review: limits of jobs and queues that change while runs are at work.
import { beforeEach, describe, expect, it } from 'vitest';
import { defineJob } from '../../src/index.js';
import { admitRuns } from '../../src/store/runs/claim/admit.js';
import { storeTest } from '../support/open.js';
import { openTestTock } from '../support/test-tock.js';

const workerId = '00000000-0000-4000-8000-000000000009';
const started: number[] = [];
const run = (_ctx: unknown, payload: unknown) => void started.push((payload as { n: number }).n);
const wide = defineJob({ name: 'send', concurrency: { limit: 5 }, run });
const narrow = defineJob({ name: 'send', concurrency: { limit: 2 }, run });
const { test, database } = storeTest('2026-03-02T09:00:00Z', () => openTestTock([wide]));
beforeEach(async () => {
  await test.sql('delete from tock.registrations');
  await test.tock.register();
  started.length = 0;
});

describe('a limit that a deploy has lowered from 5 to 2', () => {
  it('lets a second run start beside the one that has the fifth slot', async () => {
    const ids: string[] = [];
    for (let n = 0; n < 5; n++) ids.push(String(await test.tock.enqueue(wide, { n })));
    const { admitted } = await admitRuns(database, ids, { workerId, leaseMs: 3_600_000 });
    expect(admitted).toHaveLength(5);
    // Four of them have ended.
    const [fifth] = await test.sql<{ run_id: string }>(
      'select run_id::text from tock.job_slots where slot = 5',
    );
    await test.sql('delete from tock.job_runs_live where id <> $1', [fifth?.run_id]);
    await test.sql('delete from tock.job_slots where slot < 5');
    const newer = test.another({ jobs: [narrow] });
    await newer.register();
    await newer.enqueue(narrow, { n: 6 });
    for (let minute = 0; minute < 10; minute++) {
      await newer.tick();
      await test.advance('1m');
    }
    expect(started).toEqual([6]);
    await newer.close();
  });

  it('holds for runs that were enqueued before and are claimed from then on', async () => {
    for (let n = 0; n < 10; n++) await test.tock.enqueue(wide, { n });
    let [running, most] = [0, 0];
    const counting = defineJob({
      name: 'send',
      concurrency: { limit: 2 },
      async run() {
        most = Math.max(most, ++running);
        await new Promise(resolve => setTimeout(resolve, 50));
        running--;
      },
    });
    const newer = test.another({ jobs: [counting] });
    await newer.register();
    await newer.tick({ concurrency: 10 });
    expect(most).toBe(2);
    await newer.close();
  });
});

describe('a limit that a deploy has raised from 2 to 5', () => {
  it('holds for runs that were enqueued before and are claimed from then on', async () => {
    for (let n = 0; n < 10; n++) await test.tock.enqueue(wide, { n });
    await test.sql('update tock.job_runs_live set slot_limits = array[2]');
    let [running, most] = [0, 0];
    const counting = defineJob({
      name: 'send',
      concurrency: { limit: 5 },
      async run() {
        most = Math.max(most, ++running);
        await new Promise(resolve => setTimeout(resolve, 50));
        running--;
      },
    });
    const newer = test.another({ jobs: [counting] });
    await newer.register();
    await newer.tick({ concurrency: 10 });
    expect(most).toBe(5);
    await newer.close();
  });
});
