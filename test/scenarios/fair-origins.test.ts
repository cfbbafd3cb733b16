// A run has its fair key, whoever makes it, and waits under it from the start.
import { beforeEach, describe, expect, it } from 'vitest';
import { defineJob, typeOnly } from '../../src/index.js';
import { storeTest } from '../support/open.js';
import { openTestTock } from '../support/test-tock.js';

const started: unknown[] = [];
const send = defineJob({
  name: 'send',
  queue: 'mail',
  payload: typeOnly<{ tenant: string }>(),
  fair: { key: ({ tenant }) => tenant, limit: 2 },
  run: (_ctx, { tenant }) => void started.push(tenant),
});
const ordered = defineJob({
  name: 'ordered',
  schedule: { cron: '0 * * * *' },
  concurrency: { limit: 1, order: 'strict' },
  run: (_ctx, payload) => void started.push(payload),
});
const dies = defineJob({
  name: 'dies',
  queue: 'mail',
  retry: { maxAttempts: 1 },
  onDead: ordered,
  run() {
    throw new Error('no');
  },
});
const listens = defineJob({
  name: 'listens',
  payload: typeOnly<{ tenant: string }>(),
  fair: { key: ({ tenant }) => tenant },
  run: async ctx => (await ctx.waitFor('paid')).payload,
});
const { test } = storeTest('2026-03-02T09:00:00Z', () => openTestTock([send, ordered, dies, listens]));
beforeEach(async () => {
  await test.sql('delete from tock.registrations');
  await test.tock.register();
  started.length = 0;
});
const slots = (job: string) =>
  test.sql(
    `select distinct slot_keys, slot_limits, blocked_on as key from tock.job_runs_live where job = '${job}'`,
  );
const ofA = { slot_keys: ['~mail/send/a'], slot_limits: [1], key: '~mail/send/a' };
const strict = { slot_keys: ['~!default/ordered/all'], slot_limits: [1], key: '~!default/ordered/all' };
/** None of its ticks executes what it makes. */
const tick = () => test.tock.tick({ queues: ['none'] });

describe('a backfill', () => {
  it('makes runs with the fair keys of their payloads', async () => {
    await test.tock.schedules.upsert({
      name: 'daily',
      job: send,
      cron: '0 8 * * *',
      payload: { tenant: 'a' },
    });
    await test.tock.schedules.backfill('daily', { from: '2026-02-25T00:00:00Z', to: '2026-03-01T00:00:00Z' });
    expect(await slots('send')).toEqual([ofA]);
    await test.tock.tick();
    expect(started).toEqual(['a', 'a', 'a', 'a']);
  });

  it('makes runs of a strict order, which have no payload', async () => {
    await test.tock.schedules.backfill('ordered', {
      from: '2026-03-02T00:00:00Z',
      to: '2026-03-02T03:00:00Z',
    });
    expect(await slots('ordered')).toEqual([strict]);
  });
});

describe('tock.enqueue in SQL', () => {
  it.each(['unique_live => true', 'unique_live => true, replace => true', "debounce => '1 minute'"])(
    'gives a run its fair key with %s, and its successor too',
    { tags: 'check' },
    async how => {
      const call = `tock.enqueue('send', '{"tenant": "a"}', 'k', ${how})`;
      await test.sql(`select ${call}`);
      expect(await slots('send')).toEqual([ofA]);
      await test.sql(`update tock.job_runs_live set status = 'running', attempts = 1, fence = 1,
        locked_by = '00000000-0000-4000-8000-000000000009', locked_until = tock.now(), started_at = tock.now()`);
      await test.sql(`select ${call}`);
      const successors = await test.sql(
        'select distinct slot_keys, slot_limits, slot_keys[1] as key from tock.job_successors',
      );
      expect(successors).toEqual(how === 'unique_live => true' ? [] : [ofA]);
    },
  );

  it('takes a null payload for an empty one', async () => {
    await test.sql(`select tock.enqueue('ordered', null), tock.enqueue('send', null)`);
    expect(await slots('ordered')).toEqual([strict]);
    expect(await slots('send')).toEqual([{ slot_keys: null, slot_limits: null, key: null }]);
  });
});

it('an occurrence, a retry and what onDead enqueues wait under their fair keys', async () => {
  await test.setClock('2026-03-02T10:00:00Z');
  await tick();
  expect(await slots('ordered')).toEqual([strict]);
  const [occurrence] = await test.tock.runs.list({ job: 'ordered' });
  await test.tock.runs.cancel(occurrence?.id ?? '');
  expect(await slots('ordered')).toEqual([]);
  await test.tock.runs.retry(occurrence?.id ?? '');
  expect(await slots('ordered')).toEqual([strict]);
  await test.tock.runs.cancel(occurrence?.id ?? '');
  await test.tock.enqueue(dies);
  await test.tock.tick({ queues: ['mail'] });
  expect(await slots('ordered')).toEqual([strict]);
});

describe('what waits for others goes on under its fair key', () => {
  const job = { job: send, payload: { tenant: 'a' } };

  it('as the join of a group', async () => {
    await test.tock.enqueueGroup([{ job: ordered }], { then: job });
    await test.tock.tick();
    expect(started).toEqual([{}, 'a']);
  });

  it('as a run of a flow', async () => {
    await test.tock.enqueueFlow({ first: { job: ordered }, second: { ...job, after: ['first'] } });
    await test.tock.tick();
    expect(started).toEqual([{}, 'a']);
  });

  it('after its payload, and so its key, was edited', async () => {
    const id = await test.tock.enqueue(listens, { tenant: 'a' });
    await test.tock.tick();
    await test.tock.runs.edit(id, { payload: { tenant: 'b' } });
    await test.tock.tick();
    expect(await test.tock.runs.get(id)).toMatchObject({ status: 'queued', waits: [{ outcome: null }] });
    await test.tock.emit('paid', { payload: 1 });
    await test.tock.tick();
    expect(await test.tock.runs.get(id)).toMatchObject({ status: 'succeeded', output: 1 });
  });
});
