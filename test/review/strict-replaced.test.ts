// Review: runs of a strict order, of which some have live keys.
import { beforeEach, expect, it } from 'vitest';
import { defineJob, Snooze, typeOnly } from '../../src/index.js';
import { openForEach } from '../support/open.js';
import { openTestTock } from '../support/test-tock.js';

const seen: number[] = [];
const sync = defineJob({
  name: 'sync',
  payload: typeOnly<{ account: string; n: number; waits?: boolean }>(),
  concurrency: { limit: 1, key: ({ account }) => account, order: 'strict' },
  run(_ctx, { n, waits = false }) {
    seen.push(n);
    if (waits) throw new Snooze('1h');
  },
});
const test = openForEach(() => openTestTock([sync]));
const live = { key: 'a', unique: 'live' } as const;
beforeEach(async () => {
  seen.length = 0;
  await test.setClock('2026-03-01T12:00:00Z');
  await test.tock.tick();
});
const drain = async () => {
  for (let n = 0; n < 5; n++) {
    await test.tock.tick();
    await test.advance('1m');
  }
};

it('what replaces a run that waits goes before what was enqueued after it', async () => {
  await test.tock.enqueue(sync, { account: 'a', n: 1, waits: true }, live);
  await test.tock.tick();
  await test.tock.enqueue(sync, { account: 'a', n: 2 }, { ...live, replace: true });
  await test.tock.enqueue(sync, { account: 'a', n: 3 });
  await drain();
  expect(seen).toEqual([1, 2, 3]);
});

it('a run with a live key goes before what was enqueued after it', async () => {
  await test.tock.enqueue(sync, { account: 'a', n: 1 }, live);
  await test.tock.enqueue(sync, { account: 'a', n: 2 });
  await drain();
  expect(seen).toEqual([1, 2]);
});

it('a run with a live key goes after what was enqueued before it', async () => {
  await test.tock.enqueue(sync, { account: 'a', n: 1 });
  await test.tock.enqueue(sync, { account: 'a', n: 2 }, live);
  await drain();
  expect(seen).toEqual([1, 2]);
});

it('the slot of a run that waits is free when it is replaced', async () => {
  const id = await test.tock.enqueue(sync, { account: 'a', n: 1, waits: true }, live);
  await test.tock.tick();
  await test.tock.enqueue(sync, { account: 'a', n: 2 }, { ...live, replace: true });
  expect(await test.tock.runs.get(id)).toMatchObject({ status: 'cancelled' });
  expect(await test.sql('select run_id from tock.job_slots')).toEqual([]);
});
