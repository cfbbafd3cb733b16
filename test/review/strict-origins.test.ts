// Review: a strict order is that of enqueueing, however runs are enqueued.
import { beforeEach, describe, expect, it } from 'vitest';
import { defineJob, typeOnly } from '../../src/index.js';
import { storeTest } from '../support/open.js';
import { openTestTock } from '../support/test-tock.js';

const started: number[] = [];
const apply = defineJob({
  name: 'apply',
  payload: typeOnly<{ account: string; n: number }>(),
  concurrency: { limit: 1, key: ({ account }) => account, order: 'strict' },
  run: (_ctx, { n }) => void started.push(n),
});
const hourly = defineJob({
  name: 'hourly',
  schedule: { cron: '0 * * * *' },
  payload: typeOnly<{ n?: number }>(),
  concurrency: { limit: 1, order: 'strict' },
  run: (_ctx, { n = 0 }) => void started.push(n),
});
const { test } = storeTest('2026-03-02T09:00:00Z', () => openTestTock([apply, hourly]));
beforeEach(async () => {
  await test.sql('delete from tock.registrations');
  await test.tock.register();
  started.length = 0;
});
const drain = async () => {
  for (let second = 0; second < 10; second++) {
    await test.tock.tick({ concurrency: 4 });
    await test.advance('1s');
  }
};

describe('a strict order', () => {
  it('is that of enqueueing, also where a run has a live key', async () => {
    await test.tock.enqueue(apply, { account: 'a', n: 1 }, { key: 'x', unique: 'live' });
    await test.advance('1s');
    await test.tock.enqueue(apply, { account: 'a', n: 2 });
    await drain();
    expect(started).toEqual([1, 2]);
  });

  it('is that of enqueueing, also where SQL enqueues a run with a live key', async () => {
    await test.sql(`select tock.enqueue('apply', '{"account": "a", "n": 1}', 'x', unique_live => true)`);
    await test.advance('1s');
    await test.tock.enqueue(apply, { account: 'a', n: 2 });
    await drain();
    expect(started).toEqual([1, 2]);
  });

  it('is kept between an occurrence and what is enqueued after it', async () => {
    await test.setClock('2026-03-02T10:00:00Z');
    // The occurrence is a run, and nothing claims it yet.
    await test.tock.tick({ queues: ['none'] });
    await test.advance('1s');
    await test.tock.enqueue(hourly, { n: 2 });
    await drain();
    expect(started).toEqual([0, 2]);
  });

  it('is that of enqueueing, also where the clock was set back by two seconds in between', async () => {
    await test.setClock('2026-03-02T09:00:10Z');
    await test.tock.enqueue(apply, { account: 'a', n: 1 });
    await test.setClock('2026-03-02T09:00:08Z');
    await test.tock.enqueue(apply, { account: 'a', n: 2 });
    await test.setClock('2026-03-02T09:01:00Z');
    await drain();
    expect(started).toEqual([1, 2]);
  });

  it('is kept where the first was claimed by older code, which does not have the job', async () => {
    const older = test.another({ jobs: [hourly] });
    await test.tock.enqueue(apply, { account: 'a', n: 1 });
    await older.tick();
    await test.tock.enqueue(apply, { account: 'a', n: 2 });
    await drain();
    expect(started).toEqual([1, 2]);
    await older.close();
  });
});
