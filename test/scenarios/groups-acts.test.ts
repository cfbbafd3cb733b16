// What an operator sees of a group, and does to all of it at once.
import { beforeEach, describe, expect, it } from 'vitest';
import { defineJob, typeOnly } from '../../src/index.js';
import { openOnce } from '../support/open.js';
import { otherSessions } from '../support/runs.js';
import { openTestTock } from '../support/test-tock.js';

const broken = new Set<number>();
let duringPart: () => Promise<unknown> = async () => undefined;
const part = defineJob({
  name: 'part',
  payload: typeOnly<{ n: number }>(),
  retry: { maxAttempts: 1 },
  async run(_ctx, { n }) {
    await duringPart();
    if (broken.has(n)) throw new TypeError(`part ${n} is broken`);
    return n;
  },
});
const total = defineJob({
  name: 'total',
  async run(ctx) {
    const all = [];
    for await (const { status } of ctx.group.results()) all.push(status);
    return all;
  },
});
const test = openOnce(() => openTestTock([part, total]));
const { begin, blocked } = otherSessions(test);
beforeEach(() => broken.clear());
const enqueue = async (count: number, options = {}) =>
  await test.tock.enqueueGroup(
    Array.from({ length: count }, (_, n) => ({ job: part, payload: { n }, ...options })),
    { then: { job: total } },
  );
const drain = async () => {
  while ((await test.tock.tick()).executed.claimed > 0);
};
const audits = async () =>
  await test.sql(`select action, targets, count, details from tock.audit order by id desc limit 2`);

describe('a group', () => {
  it('is seen by its join or a member: states, what it waits for, the slowest, the errors', async () => {
    broken.add(1).add(3);
    const { id, runs } = await enqueue(5);
    expect(await test.tock.group(id)).toMatchObject({
      id,
      job: 'total',
      key: null,
      status: 'queued',
      on: 'success',
      endedAt: null,
      count: 5,
      states: { queued: 5, running: 0, succeeded: 0, dead: 0, pruned: 0 },
      waitsFor: runs.map(run => ({ id: run, status: 'queued' })),
      slowest: [],
      errors: [],
    });
    await drain();
    const group = await test.tock.group(runs[2] ?? '');
    expect(group).toMatchObject({
      id,
      states: { queued: 0, succeeded: 3, dead: 2 },
      waitsFor: [
        { id: runs[1], status: 'dead' },
        { id: runs[3], status: 'dead' },
      ],
      errors: [{ job: 'part', error: { name: 'TypeError', message: 'part <n> is broken' }, count: 2 }],
    });
    expect(group?.slowest.map(({ id: member }) => member).sort()).toEqual([...runs].sort());
    expect(await test.tock.group('999999')).toBeNull();
    expect(await test.tock.group(await test.tock.enqueue(part, { n: 0 }))).toBeNull();
    expect((await test.tock.runs.list({ group: id, status: 'dead' })).map(run => run.id).sort()).toEqual([
      runs[1],
      runs[3],
    ]);
    await expect(test.tock.runs.list({ group: 'x' })).rejects.toMatchObject({ code: 'TOCK_BAD_OPTION' });
  });

  it('has its dead members retried as one act', { tags: 'check' }, async () => {
    broken.add(1).add(3);
    const { id, runs } = await enqueue(5);
    await drain();
    broken.clear();
    expect(await test.tock.retryGroup(runs[0] ?? '')).toEqual({ done: 2, asked: 0, failed: [] });
    expect((await audits())[0]).toMatchObject({
      action: 'groups.retry',
      targets: [id],
      count: 1,
      details: { runs: 2 },
    });
    await drain();
    expect(await test.tock.runs.get(id)).toMatchObject({
      status: 'succeeded',
      output: Array(5).fill('succeeded'),
    });
    expect(await test.tock.retryGroup(id)).toEqual({ done: 0, asked: 0, failed: [] });
    expect((await audits())[0]).toMatchObject({ details: { runs: 2 } });
    expect(await test.tock.group(id)).toMatchObject({
      status: 'succeeded',
      waitsFor: [],
      endedAt: expect.any(Date),
    });
  });

  it('is cancelled with a member that is a successor still', async () => {
    const live = { key: 'k', unique: 'live', replace: true } as const;
    let id = '';
    duringPart = async () => {
      duringPart = async () => undefined;
      ({ id } = await enqueue(1, live));
      expect(await test.tock.cancelGroup(id)).toMatchObject({ done: 2 });
    };
    await test.tock.enqueue(part, { n: 7 }, live);
    await drain();
    expect(await test.tock.group(id)).toMatchObject({ status: 'cancelled', states: { cancelled: 1 } });
  });

  it('is cancelled as one act, and its join with it', { tags: 'check' }, async () => {
    const { id, runs } = await enqueue(1200, { delay: '1d' });
    expect(await test.tock.cancelGroup(runs[7] ?? '', { reason: 'wrong month' })).toEqual({
      done: 1201,
      asked: 0,
      failed: [],
    });
    expect((await audits()).slice(0, 1)).toMatchObject([
      { action: 'groups.cancel', targets: [id], count: 1, details: { runs: 1201, reason: 'wrong month' } },
    ]);
    await drain();
    expect(await test.tock.runs.get(id)).toMatchObject({ status: 'cancelled', skipReason: 'wrong month' });
    expect(await test.tock.group(id)).toMatchObject({ status: 'cancelled', states: { cancelled: 1200 } });
    expect(await test.tock.cancelGroup(id)).toEqual({ done: 0, asked: 0, failed: [] });
    await expect(test.tock.cancelGroup('999999')).rejects.toMatchObject({ code: 'TOCK_NOT_FOUND' });
    const alone = await test.tock.enqueue(part, { n: 1 });
    await expect(test.tock.retryGroup(alone)).rejects.toMatchObject({ code: 'TOCK_NOT_FOUND' });
  });

  /** 1: a group of which one member is a group of the parts 5 and 6. */
  const enqueueNested = async (options = {}) => {
    const inner = [5, 6].map(n => ({ job: part, payload: { n }, ...options }));
    const group = { runs: [{ runs: inner, then: { job: total } }], then: { job: total } };
    return await test.tock.enqueueGroup([{ job: part, payload: { n: 1 }, ...options }, group], {
      then: { job: total },
    });
  };

  it('has the dead members of the groups in it retried', async () => {
    broken.add(1).add(6);
    const { id } = await enqueueNested();
    await drain();
    broken.clear();
    expect(await test.tock.retryGroup(id)).toEqual({ done: 2, asked: 0, failed: [] });
    await drain();
    expect(await test.tock.runs.get(id)).toMatchObject({ status: 'succeeded' });
  });

  it('is cancelled with the groups in it, and with what their members add meanwhile', async () => {
    const { id, runs } = await enqueueNested({ delay: '1d' });
    const innermost = `${Number(runs[1]) + 1}`;
    // As ctx.group.add does it.
    const adding = await begin(`select from tock.job_runs_live where id = ${innermost} for key share`);
    const { rows } = await adding.query(`
      with made as (
        insert into tock.job_runs_live (job, status, run_at, payload, has_waiters)
        values ('part', 'queued', tock.now() + interval '1 day', '{"n": 7}', true) returning id
      ), wait as (
        select id from tock.job_waits where run_id = ${innermost} for no key update
      )
      insert into tock.job_awaited_runs (wait_id, position, run_id) select wait.id, 3, made.id from made, wait
      returning run_id::text as id`);
    const cancelling = test.tock.cancelGroup(id);
    await blocked(1);
    await adding.query('commit');
    expect(await cancelling).toEqual({ done: 7, asked: 0, failed: [] });
    expect(await test.tock.runs.get(rows[0].id)).toMatchObject({ status: 'cancelled' });
  });

  it('shows the present state of a member that was retried after the join ran', async () => {
    broken.add(1);
    const runs = [0, 1].map(n => ({ job: part, payload: { n } }));
    const { id } = await test.tock.enqueueGroup(runs, { then: { job: total }, on: 'completion' });
    await drain();
    expect(await test.tock.group(id)).toMatchObject({ states: { dead: 1, succeeded: 1 } });
    broken.clear();
    await test.tock.retryGroup(id);
    expect(await test.tock.group(id)).toMatchObject({ states: { dead: 0, queued: 1, succeeded: 1 } });
    await drain();
    expect(await test.tock.group(id)).toMatchObject({ states: { dead: 0, succeeded: 2 }, errors: [] });
    // What the join was given stays.
    expect(await test.tock.runs.get(id)).toMatchObject({
      output: ['succeeded', 'dead'],
      waits: [{ runs: { failed: 1 } }],
    });
  });
});
