// Review: keys in tock.enqueue_group.
import { expect, it } from 'vitest';
import { defineJob } from '../../src/index.js';
import { openForEach } from '../support/open.js';
import { otherSessions } from '../support/runs.js';
import { openTestTock } from '../support/test-tock.js';

const part = defineJob({ name: 'part', run: () => 1 });
const total = defineJob({
  name: 'total',
  async run(ctx) {
    const all = [];
    for await (const { id } of ctx.group.results()) all.push(id);
    return all;
  },
});
const test = openForEach(() => openTestTock([part, total]));
const { begin, open, blocked } = otherSessions(test);
const drain = async () => {
  for (let n = 0; n < 6; n++) {
    await test.tock.tick();
    await test.advance('1m');
  }
};
const group = async (runs: object[], key: string | null) =>
  (
    await test.sql<{ id: string }>(
      `select tock.enqueue_group($1, 'total', idempotency_key => $2)::text as id`,
      [JSON.stringify(runs), key],
    )
  )[0]?.id ?? '';

it('a member with the key of its group refuses it, as in code', async () => {
  await test.setClock('2026-03-01T12:00:00Z');
  await expect(
    test.tock.enqueueGroup([{ job: part, key: 'a' }], { then: { job: total }, key: 'a' }),
  ).rejects.toMatchObject({ code: 'TOCK_BAD_KEY' });
  const id = await group([{ job: 'part' }, { job: 'part', key: 'album:7' }], 'album:7').catch(() => 'refused');
  if (id !== 'refused') {
    await drain();
    expect(await test.tock.runs.get(id)).toMatchObject({ status: 'succeeded' });
  }
  expect(id).toBe('refused');
});

it('two members with one key refuse it, as in code', async () => {
  await test.setClock('2026-03-01T12:00:00Z');
  await expect(
    test.tock.enqueueGroup([{ job: part, key: 'a' }, { job: part, key: 'a' }], { then: { job: total } }),
  ).rejects.toMatchObject({ code: 'TOCK_BAD_KEY' });
  const id = await group([{ job: 'part', key: 'k' }, { job: 'part', key: 'k' }], null).catch(() => 'refused');
  if (id !== 'refused') {
    await drain();
  }
  expect(id).toBe('refused');
});

it('a key that another caller has used meanwhile refuses it', async () => {
  await test.setClock('2026-03-01T12:00:00Z');
  // Somebody else is about to use the key of the group, and rolls back.
  const first = await begin(`select tock.enqueue('part', idempotency_key => 'group')`);
  const second = await open();
  const grouping = second
    .query(`select tock.enqueue_group('[{"job": "part", "key": "member"}]', 'total', idempotency_key => 'group')::text as id`)
    .then(({ rows }) => rows[0].id as string, () => 'refused');
  await blocked(1);
  const used = await test.tock.enqueue(part, {}, { key: 'member' });
  await test.tock.tick();
  expect(await test.tock.runs.get(used)).toMatchObject({ status: 'succeeded' });
  await first.query('rollback');
  const id = await grouping;
  if (id !== 'refused') {
    await drain();
    expect(await test.tock.runs.get(id)).toMatchObject({ status: 'succeeded' });
  }
  expect(id).toBe('refused');
});

it('a key that a run has, which is no group, refuses a group in place of enqueueing nothing', async () => {
  await test.setClock('2026-03-01T12:00:00Z');
  await test.tock.enqueue(part, {}, { key: 'album:7' });
  await expect(
    test.tock.enqueueGroup([{ job: part }], { then: { job: total }, key: 'album:7' }),
  ).rejects.toMatchObject({ code: 'TOCK_BAD_KEY' });
});
