// Engine: one run's life, from the queue to its end, with every move and its fence.
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { Cancel, Dead, defineJob, RetryLater } from '../../src/index.js';
import { openOnce } from '../support/open.js';
import { openTestTock } from '../support/test-tock.js';

const seen: { runId: string; attempt: number; fence: number }[] = [];
const fails = defineJob({
  name: 'fails-twice',
  payload: z.object({ times: z.number().default(2) }),
  retry: { maxAttempts: 4, backoff: 'exponential', base: '10s', jitter: 0 },
  run(ctx, { times }) {
    seen.push({ runId: ctx.runId, attempt: ctx.attempt, fence: ctx.fence });
    if (ctx.attempt <= times) throw new Error(`attempt ${ctx.attempt} failed`);
    return { attempt: ctx.attempt };
  },
});
const echo = defineJob({
  name: 'echo',
  run: (ctx, payload) => ({ payload, key: ctx.idempotencyKey, trigger: ctx.trigger }),
});
const steers = defineJob({
  name: 'steers',
  payload: z.object({ how: z.enum(['later', 'cancel', 'dead']) }),
  retry: { maxAttempts: 2, base: '10s', jitter: 0 },
  run(_ctx, { how }) {
    if (how === 'later') throw new RetryLater('3m', 'the other side is closed');
    if (how === 'cancel') throw new Cancel('nobody needs it');
    throw new Dead('there is no such account');
  },
});
const test = openOnce(
  () => openTestTock([fails, echo, steers]),
  ({ setClock }) => setClock('2026-03-01T12:00:00Z'),
);

const place = async (id: string) =>
  (
    await test.sql<{ place: string }>(
      `select (select relname from pg_class where oid = r.tableoid) as place from tock.job_runs r where id = $1`,
      [id],
    )
  )[0]?.place;

describe('a run', () => {
  it('is executed once, keeps its output, and moves to the month in which it ended', async () => {
    const id = await test.tock.enqueue(echo, { a: 1 }, { key: 'echo:1' });
    const summary = await test.tock.tick();
    expect(summary.executed).toMatchObject({ claimed: 1, succeeded: 1 });
    expect(await test.tock.runs.get(id)).toMatchObject({
      status: 'succeeded',
      attempts: 1,
      fence: 1,
      output: { payload: { a: 1 }, key: 'echo:1', trigger: 'api' },
      finishedAt: new Date('2026-03-01T12:00:00Z'),
      errors: [],
    });
    expect(await place(id)).toMatch(/^job_runs_finished_/);
  });

  it('fails twice with growing waits, keeps an error per attempt, and then succeeds', async () => {
    const id = await test.tock.enqueue(fails, {});
    await test.tock.tick();
    expect(await test.tock.runs.get(id)).toMatchObject({
      status: 'failed',
      attempts: 1,
      runAt: new Date('2026-03-01T12:00:10Z'),
      lockedBy: null,
    });
    await test.advance('9s');
    expect((await test.tock.tick()).executed.claimed).toBe(0);
    await test.advance('1s');
    await test.tock.tick();
    expect(await test.tock.runs.get(id)).toMatchObject({
      status: 'failed',
      attempts: 2,
      runAt: new Date('2026-03-01T12:00:30Z'),
    });
    await test.advance('20s');
    await test.tock.tick();
    const run = await test.tock.runs.get(id);
    expect(run).toMatchObject({ status: 'succeeded', attempts: 3, output: { attempt: 3 } });
    expect(run?.errors).toMatchObject([
      { attempt: 1, name: 'Error', message: 'attempt 1 failed', at: '2026-03-01T12:00:00.000Z' },
      { attempt: 2, name: 'Error', message: 'attempt 2 failed', at: '2026-03-01T12:00:10.000Z' },
    ]);
    expect(seen.filter(each => each.runId === id).map(each => each.fence)).toEqual([1, 2, 3]);
  });

  it('heeds RetryLater, Cancel and Dead', async () => {
    const [later, cancel, dead] = await test.tock.enqueueMany(
      (['later', 'cancel', 'dead'] as const).map(how => ({ job: steers, payload: { how } })),
    );
    const { at } = await test.tock.status();
    await test.tock.tick();
    expect(await test.tock.runs.get(later ?? '')).toMatchObject({
      status: 'failed',
      runAt: new Date(at.getTime() + 180_000),
      errors: [{ message: 'the other side is closed' }],
    });
    expect(await test.tock.runs.get(cancel ?? '')).toMatchObject({
      status: 'cancelled',
      errors: [{ message: 'nobody needs it' }],
    });
    expect(await test.tock.runs.get(dead ?? '')).toMatchObject({
      status: 'dead',
      attempts: 1,
      errors: [{ name: 'Dead', message: 'there is no such account' }],
    });
  });

  it('fails with a clear error when its payload does not fit the schema, before the handler', async () => {
    const [row] = await test.sql<{ id: string }>(`select tock.enqueue('steers', '{"how":"sideways"}') as id`);
    await test.tock.tick();
    const run = await test.tock.runs.get(row?.id ?? '');
    expect(run).toMatchObject({
      status: 'failed',
      errors: [{ code: 'TOCK_BAD_PAYLOAD', message: expect.stringContaining('how') }],
    });
  });
});

it('cancel ends a queued run at once and leaves nothing to execute', async () => {
  const id = await test.tock.enqueue(echo, {}, { delay: '1h' });
  expect(await test.tock.runs.cancel(id, { reason: 'a mistake' })).toMatchObject({
    status: 'cancelled',
    skipReason: 'a mistake',
    attempts: 0,
  });
  await expect(test.tock.runs.cancel(id)).rejects.toMatchObject({ code: 'TOCK_BAD_STATE' });
  await expect(test.tock.runs.cancel('999999')).rejects.toMatchObject({ code: 'TOCK_NOT_FOUND' });
  expect(await test.tock.runs.retry(id)).toMatchObject({ status: 'queued', generation: 2 });
  await test.tock.tick();
});
