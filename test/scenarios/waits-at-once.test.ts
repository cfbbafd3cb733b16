// What ends a wait while it begins: an event that is committed late, a run that ends at that moment, two at once.
import { describe, expect, it } from 'vitest';
import { defineJob, typeOnly } from '../../src/index.js';
import { openOnce } from '../support/open.js';
import { otherSessions } from '../support/runs.js';
import { openTestTock } from '../support/test-tock.js';

const NOON = '2026-03-01T12:00:00Z';
/** Called by the handlers, after their wait is on record and before their attempt ends. */
let beforeEnd: () => Promise<unknown> = async () => undefined;
let seen: unknown[] = [];

const listener = defineJob({
  name: 'listener',
  payload: typeOnly<{ key: string }>(),
  async run(ctx, { key }) {
    try {
      const { payload } = await ctx.waitFor('news', { key });
      seen.push(payload);
      return payload;
    } finally {
      await beforeEnd();
    }
  },
});
const part = defineJob({ name: 'part', run: () => 'done' });
const broken = defineJob({
  name: 'broken',
  retry: { maxAttempts: 1 },
  run() {
    throw new Error('no');
  },
});
const joining = defineJob({
  name: 'joining',
  payload: typeOnly<{ ids: string[] }>(),
  async run(ctx, { ids }) {
    try {
      const ended = await ctx.waitForRuns(ids);
      seen.push(ended.map(({ status }) => status).join());
      return ended.map(({ status }) => status);
    } finally {
      await beforeEnd();
    }
  },
});

const test = openOnce(
  () => openTestTock([listener, part, broken, joining]),
  opened => opened.setClock(NOON),
);

const { begin, blocked } = otherSessions(test);

/** A run that waits, and nothing else that is due. */
async function waiting(job: string, payload: object): Promise<string> {
  [seen, beforeEnd] = [[], async () => undefined];
  const id = await test.tock.enqueue<string>(job, payload);
  await test.tock.tick();
  expect(await test.tock.runs.get(id)).toMatchObject({ status: 'queued', waits: [{ outcome: null }] });
  return id;
}
const statusOf = async (id: string) => (await test.tock.runs.get(id))?.status;

describe('an event', () => {
  it('that is committed after the wait began, and was emitted before, is found', async () => {
    [seen, beforeEnd] = [[], async () => undefined];
    const id = await test.tock.enqueue(listener, { key: 'late' });
    const client = await begin();
    await client.query(`select tock.emit('news', 'late', '1')`);
    await test.tock.tick();
    expect(await statusOf(id)).toBe('queued');
    await client.query('commit');
    await test.tock.tick();
    expect(await test.tock.runs.get(id)).toMatchObject({ status: 'succeeded', output: 1 });
  });

  it('that meets the wait before its attempt ends makes the run due at once', { tags: 'check' }, async () => {
    seen = [];
    let ticks = 0;
    const second = test.another();
    beforeEnd = async () => {
      if (ticks++ > 0) return;
      await second.emit('news', { key: 'early', payload: 2 });
      // It finds the wait, whose run is still running.
      await second.tick();
    };
    const id = await test.tock.enqueue(listener, { key: 'early' });
    await test.tock.tick();
    expect(await test.tock.runs.get(id)).toMatchObject({ status: 'succeeded', output: 2 });
    expect(seen).toEqual([2]);
  });

  it.each(['the end of the attempt', 'the event'])(
    'makes the run due where %s comes first to its lock',
    { tags: 'check' },
    async first => {
      seen = [];
      const second = test.another();
      const client = await begin();
      const ticks: Promise<unknown>[] = [];
      const emitAndTick = async () => {
        await second.emit('news', { key: first, payload: 3 });
        ticks.push(second.tick());
      };
      let calls = 0;
      beforeEnd = async () => {
        if (calls++ > 0) return;
        await client.query('select from tock.job_runs_live where id = $1 for update', [id]);
        if (first === 'the event') {
          await emitAndTick();
          await blocked(1);
        }
      };
      const id = await test.tock.enqueue(listener, { key: first });
      ticks.push(test.tock.tick());
      if (first !== 'the event') {
        await blocked(1);
        await emitAndTick();
      }
      await blocked(2);
      await client.query('commit');
      await Promise.all(ticks);
      await test.tock.tick();
      expect(await test.tock.runs.get(id)).toMatchObject({ status: 'succeeded', output: 3 });
      expect(seen).toEqual([3]);
    },
  );
});

/** A dead run that nobody executes where it is retried, and one that is due later. */
async function deadAndQueued(): Promise<[string, string]> {
  await test.tock.queues.resume('shut').catch(() => undefined);
  const [bad, later] = await test.tock.enqueueMany([
    { job: broken, queue: 'shut' },
    { job: part, delay: '1d' },
  ]);
  await test.tock.tick();
  await test.tock.queues.pause('shut');
  return [bad, later];
}

describe('the end of a run', () => {
  it('is seen where the last two end at once, in transactions that do not see each other', {
    tags: 'check',
  }, async () => {
    const ids = await test.tock.enqueueMany([
      { job: part, delay: '1h' },
      { job: part, delay: '1h' },
    ]);
    const id = await waiting('joining', { ids });
    // One end is not committed yet while the outbox of the other is emptied, and the other way round.
    const client = await begin();
    await client.query(
      `with gone as (delete from tock.job_runs_live where id = $1 returning *), noted as (
         insert into tock.job_outbox (kind, run_ids) select 'end', array[id] from gone)
       insert into tock.job_runs_finished (id, job, status, finished_at) select id, job, 'cancelled', tock.now() from gone`,
      [ids[0]],
    );
    await test.tock.runs.cancel(ids[1] ?? '');
    await test.tock.tick();
    expect(await statusOf(id)).toBe('queued');
    await client.query('commit');
    await test.tock.tick();
    expect(await test.tock.runs.get(id)).toMatchObject({
      status: 'succeeded',
      output: ['cancelled', 'cancelled'],
    });
    expect(seen).toEqual(['cancelled,cancelled']);
  });

  it('is seen where the run has ended between the beginning of the wait and the end of the attempt', {
    tags: 'check',
  }, async () => {
    seen = [];
    const second = test.another();
    const [child] = await test.tock.enqueueMany([{ job: part, delay: '1h' }]);
    let calls = 0;
    beforeEnd = async () => {
      if (calls++ > 0) return;
      await second.runs.cancel(child ?? '');
      await second.tick();
    };
    const id = await test.tock.enqueue(joining, { ids: [child ?? ''] });
    await test.tock.tick();
    expect(await test.tock.runs.get(id)).toMatchObject({ status: 'succeeded', output: ['cancelled'] });
  });

  it('counts where the run was retried while others are still to end: its new end', {
    tags: 'check',
  }, async () => {
    const [bad, later] = await test.tock.enqueueMany([{ job: broken }, { job: part, delay: '1d' }]);
    const id = await waiting('joining', { ids: [bad, later] });
    expect(await statusOf(bad ?? '')).toBe('dead');
    await test.tock.tick();
    expect(await test.sql('select status from tock.job_awaited_runs where run_id = $1', [bad])).toEqual([
      { status: 'dead' },
    ]);
    await test.tock.runs.retry(bad ?? '');
    expect(await test.sql('select status from tock.job_awaited_runs where run_id = $1', [bad])).toEqual([
      { status: null },
    ]);
    await test.tock.runs.cancel(bad ?? '');
    await test.tock.runs.cancel(later ?? '');
    await test.tock.tick();
    expect(await test.tock.runs.get(id)).toMatchObject({ output: ['cancelled', 'cancelled'] });
  });

  it('is waited for where the run is retried while the end of the last of the others ends the wait', {
    tags: 'check',
  }, async () => {
    const [bad, later] = await deadAndQueued();
    const id = await waiting('joining', { ids: [bad, later] });
    const client = await begin();
    await client.query('select from tock.job_runs_live where id = $1 for update', [id]);
    const cancelled = test.another().runs.cancel(later);
    await blocked(1);
    await test.tock.runs.retry(bad);
    await client.query('commit');
    await cancelled;
    await test.tock.tick();
    await test.tock.runs.cancel(bad);
    await test.tock.tick();
    // Whether the wait was over before the retry or is not: each run has its outcome.
    expect((await test.tock.runs.get(id))?.output).toHaveLength(2);
  });

  it('stays on record where the run is retried while the wait ends', { tags: 'check' }, async () => {
    const [bad, later] = await deadAndQueued();
    const id = await waiting('joining', { ids: [bad, later] });
    const client = await begin();
    await client.query('select from tock.job_runs_finished where id = $1 for update', [bad]);
    const retried = test.another().runs.retry(bad);
    await blocked(1);
    await test.tock.runs.cancel(later);
    await test.tock.tick();
    expect(await test.tock.runs.get(id)).toMatchObject({ output: ['dead', 'cancelled'] });
    await client.query('commit');
    await retried;
    expect(await test.sql('select status from tock.job_awaited_runs where run_id = $1', [bad])).toEqual([
      { status: 'dead' },
    ]);
    await test.tock.runs.cancel(bad);
  });

  it('is seen where the run was retried while the wait for it began', { tags: 'check' }, async () => {
    const [bad, later] = await deadAndQueued();
    seen = [];
    const client = await begin();
    // The wait is not on record while it waits to mark this one.
    await client.query('select from tock.job_runs_live where id = $1 for update', [later]);
    const id = await test.tock.enqueue(joining, { ids: [bad, later] });
    const ticked = test.tock.tick();
    await blocked(1);
    await test.another().runs.retry(bad);
    await client.query('commit');
    await ticked;
    await test.tock.runs.cancel(later);
    await test.tock.runs.cancel(bad);
    await test.tock.tick();
    expect((await test.tock.runs.get(id))?.status).toBe('succeeded');
  });

  it('is seen of a successor that became a run while the wait for it began', { tags: 'check' }, async () => {
    const first = await test.tock.enqueue(part, {}, { key: 'next', unique: 'live', delay: '1d' });
    const [{ id: next } = { id: '' }] = await test.sql<{ id: string }>(
      `insert into tock.job_successors (live_key, run_id, job, run_at, queue, priority, max_attempts, trigger)
       select live_key, nextval('tock.job_runs_id_seq'), job, run_at, queue, priority, max_attempts, trigger
       from tock.job_runs_live where id = $1 returning run_id::text as id`,
      [first],
    );
    const other = await test.tock.enqueue(part, {}, { delay: '1d' });
    const client = await begin();
    await client.query('select from tock.job_runs_live where id = $1 for update', [other]);
    const id = await test.tock.enqueue(joining, { ids: [next, other] });
    const ticked = test.tock.tick();
    await blocked(1);
    await test.another().runs.cancel(first);
    await client.query('commit');
    await ticked;
    await test.tock.runs.cancel(other);
    await test.tock.runs.cancel(next);
    await test.tock.tick();
    expect((await test.tock.runs.get(id))?.status).toBe('succeeded');
  });

  it('is seen of a run that follows another under its key, and of one that retention has removed', {
    tags: 'check',
  }, async () => {
    const one = await test.tock.enqueue(part, {}, { key: 'k', unique: 'live', delay: '1d' });
    const id = await waiting('joining', { ids: [one] });
    await test.sql('delete from tock.job_runs_live where id = $1', [one]);
    await test.sql(`insert into tock.job_outbox (kind, run_ids) values ('end', array[$1::bigint])`, [one]);
    await test.tock.tick();
    expect(await test.tock.runs.get(id)).toMatchObject({ output: ['pruned'] });
  });
});

describe('a run that waits', () => {
  it('waits on after an operator has cancelled and retried it', { tags: 'check' }, async () => {
    const id = await waiting('listener', { key: 'again' });
    await test.tock.runs.cancel(id);
    await test.tock.emit('news', { key: 'other' });
    await test.tock.tick();
    await test.tock.runs.retry(id);
    await test.tock.tick();
    expect(await test.tock.runs.get(id)).toMatchObject({ status: 'queued', waits: [{ outcome: null }] });
    await test.tock.emit('news', { key: 'again', payload: 4 });
    await test.tock.tick();
    expect(await test.tock.runs.get(id)).toMatchObject({ status: 'succeeded', output: 4 });
  });

  it('gets an event that came while it was cancelled, once it is retried', async () => {
    const id = await waiting('listener', { key: 'meanwhile' });
    await test.tock.runs.cancel(id);
    await test.tock.emit('news', { key: 'meanwhile', payload: 5 });
    await test.tock.tick();
    await test.tock.runs.retry(id);
    await test.tock.tick();
    expect(await test.tock.runs.get(id)).toMatchObject({ status: 'succeeded', output: 5 });
  });

  it('is not hastened by an event where its attempt has failed', async () => {
    const id = await waiting('listener', { key: 'failed' });
    await test.sql(
      `update tock.job_runs_live set status = 'failed', run_at = tock.now() + interval '1 hour' where id = $1`,
      [id],
    );
    await test.tock.emit('news', { key: 'failed' });
    await test.tock.tick();
    expect(await statusOf(id)).toBe('failed');
    await test.tock.runs.cancel(id);
  });
});
