// Review: the join of a group, and a run of a flow, whose job has a fair key.
import { expect, it } from 'vitest';
import { defineJob, typeOnly } from '../../src/index.js';
import { openForEach } from '../support/open.js';
import { openTestTock } from '../support/test-tock.js';

const part = defineJob({ name: 'part', run: () => 1 });
const total = defineJob({
  name: 'total',
  payload: typeOnly<{ tenant: string }>(),
  fair: { key: '$.tenant' },
  run: () => 'joined',
});
const listens = defineJob({
  name: 'listens',
  payload: typeOnly<{ tenant: string }>(),
  fair: { key: '$.tenant' },
  run: async ctx => (await ctx.waitFor('paid')).payload,
});
const test = openForEach(() => openTestTock([part, total, listens]));
const drain = async () => {
  for (let n = 0; n < 6; n++) {
    await test.tock.tick();
    await test.advance('1m');
  }
};

it('a join with a fair key runs once its members have ended', async () => {
  await test.setClock('2026-03-01T12:00:00Z');
  await test.tock.tick();
  const group = await test.tock.enqueueGroup([{ job: part }], {
    then: { job: total, payload: { tenant: 'a' } },
  });
  await drain();
  expect(await test.tock.runs.get(group.runs[0] ?? '')).toMatchObject({ status: 'succeeded' });
  expect(await test.tock.runs.get(group.id)).toMatchObject({ waits: [{ outcome: 'ended' }] });
  expect(await test.tock.runs.get(group.id)).toMatchObject({ status: 'succeeded' });
});

it('a child in a flow with a fair key runs once its parent has ended', async () => {
  await test.setClock('2026-03-01T12:00:00Z');
  await test.tock.tick();
  const ids = await test.tock.enqueueFlow({
    first: { job: part },
    second: { job: total, payload: { tenant: 'a' }, after: ['first'] },
  });
  await drain();
  expect(await test.tock.runs.get(ids['second'] ?? '')).toMatchObject({ status: 'succeeded' });
});

it('a run that waits for an event goes on after its payload was edited', async () => {
  await test.setClock('2026-03-01T12:00:00Z');
  await test.tock.tick();
  const id = await test.tock.enqueue(listens, { tenant: 'a' });
  await drain();
  expect(await test.tock.runs.get(id)).toMatchObject({ status: 'queued', waits: [{ outcome: null }] });
  await test.tock.runs.edit(id, { payload: { tenant: 'b' } });
  await drain();
  await test.tock.emit('paid', { payload: 1 });
  await drain();
  expect(await test.tock.runs.get(id)).toMatchObject({ waits: [{ outcome: 'event' }] });
  expect(await test.tock.runs.get(id)).toMatchObject({ status: 'succeeded', output: 1 });
});
