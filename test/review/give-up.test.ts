// Review: giveUpAfter counts from the first start, and not while everything is frozen.
import { expect, it } from 'vitest';
import { defineJob, Snooze, typeOnly } from '../../src/index.js';
import { openForEach } from '../support/open.js';
import { openTestTock } from '../support/test-tock.js';

let calls = 0;
const export_ = defineJob({
  name: 'export',
  payload: typeOnly<{ fails: boolean }>(),
  retry: { maxAttempts: 5, backoff: 'fixed', base: '3h', jitter: 0 },
  run(_ctx, { fails }) {
    if (calls++ === 0 && fails) throw new Error('the network');
    throw new Snooze('30m', { giveUpAfter: '2h' });
  },
});
const test = openForEach(() => openTestTock([export_]));

it('counts from the first start, also where the first attempt failed', async () => {
  await test.setClock('2026-03-01T12:00:00Z');
  calls = 0;
  const id = await test.tock.enqueue(export_, { fails: true });
  await test.tock.tick();
  expect(await test.tock.runs.get(id)).toMatchObject({ status: 'failed' });
  await test.advance('3h');
  await test.tock.tick();
  expect(calls).toBe(2);
  // The first start was three hours ago.
  expect(await test.tock.runs.get(id)).toMatchObject({ status: 'dead' });
});

it('does not count frozen time', async () => {
  await test.setClock('2026-03-01T12:00:00Z');
  calls = 0;
  const id = await test.tock.enqueue(export_, { fails: false });
  await test.tock.tick();
  await test.tock.freeze({ until: new Date('2026-03-01T20:00:00Z'), note: 'maintenance' } as never);
  await test.setClock('2026-03-01T18:00:00Z');
  await test.tock.thaw();
  await test.tock.tick();
  expect(calls).toBe(2);
  expect(await test.tock.runs.get(id)).toMatchObject({ status: 'queued' });
});
