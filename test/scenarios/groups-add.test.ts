// ctx.group.add: a member adds runs to its group while it is live.
import { beforeEach, describe, expect, it } from 'vitest';
import { defineJob, typeOnly } from '../../src/index.js';
import { openOnce } from '../support/open.js';
import { otherSessions } from '../support/runs.js';
import { openTestTock, until } from '../support/test-tock.js';

/** Called by the handler of a member. */
let inMember: () => Promise<unknown> = async () => undefined;
let joins = 0;
const part = defineJob({ name: 'part', payload: typeOnly<{ n: number }>(), run: (_ctx, { n }) => n });
const grows = defineJob({
  name: 'grows',
  payload: typeOnly<{ runs: { n: number; key?: string }[]; inStep?: boolean }>(),
  retry: { maxAttempts: 3, backoff: 'fixed', base: '1s', jitter: 0 },
  async run(ctx, { runs, inStep = false }) {
    const more = runs.map(({ n, key }) => ({ job: part, payload: { n }, ...(key ? { key } : {}) }));
    const add = async () => await ctx.group.add('more', more);
    const added = inStep ? await ctx.step('adds', async () => [...(await add())]) : await add();
    await inMember();
    return added.length;
  },
});
const total = defineJob({
  name: 'total',
  async run(ctx) {
    joins++;
    const all = [];
    for await (const { output } of ctx.group.results()) all.push(output);
    return all;
  },
});
const test = openOnce(() => openTestTock([part, grows, total]));
const { begin, blocked } = otherSessions(test);
beforeEach(async () => {
  inMember = async () => undefined;
  joins = 0;
  await test.setClock('2026-03-01T12:00:00Z');
});
const drain = async () => {
  while ((await test.tock.tick()).executed.claimed > 0);
};
const enqueue = async (runs: { n: number; key?: string }[], options = {}) =>
  await test.tock.enqueueGroup([{ job: grows, payload: { runs, ...options } }], {
    then: { job: total },
    on: 'completion',
  });
const errorOf = async (id = '') => (await test.tock.runs.get(id))?.errors.at(-1);

describe('ctx.group.add', () => {
  it('adds runs for which the join waits too', async () => {
    const group = await enqueue([{ n: 7 }, { n: 8 }]);
    await drain();
    expect(await test.tock.runs.get(group.id)).toMatchObject({
      status: 'succeeded',
      output: [2, 7, 8],
      waits: [{ runs: { count: 3, left: 0 } }],
    });
    expect(joins).toBe(1);
  });

  it('adds none a second time: a later attempt gets the same ids', { tags: 'check' }, async () => {
    let calls = 0;
    inMember = async () => {
      if (calls++ === 0) throw new Error('once more');
    };
    const group = await enqueue([{ n: 7 }]);
    await drain();
    await test.advance('1m');
    await drain();
    expect((await test.tock.runs.get(group.id))?.output).toEqual([1, 7]);
    expect(calls).toBe(2);
  });

  it('is seen by the end of the last other member, which comes before it is committed', {
    tags: 'check',
  }, async () => {
    const group = await test.tock.enqueueGroup([{ job: part, payload: { n: 1 }, delay: '1d' }], {
      then: { job: total },
      on: 'completion',
    });
    // As ctx.group.add does it.
    const adding = await begin();
    const { rows } = await adding.query('select id from tock.job_waits where run_id = $1 for no key update', [
      group.id,
    ]);
    const made = await adding.query(
      `insert into tock.job_runs_live (job, status, run_at, payload, has_waiters) values ('part', 'queued', tock.now() + interval '1 day', '{"n": 7}', true) returning id`,
    );
    await adding.query('insert into tock.job_awaited_runs (wait_id, position, run_id) values ($1, 2, $2)', [
      rows[0].id,
      made.rows[0].id,
    ]);
    const cancelling = test.tock.runs.cancel(group.runs[0] ?? '');
    await until(
      async () => (await test.tock.runs.get(group.runs[0] ?? ''))?.status === 'cancelled',
      'the end',
    );
    await adding.query('commit');
    await cancelling;
    await drain();
    expect(joins).toBe(0);
    await test.tock.runs.cancel(made.rows[0].id);
    await drain();
    expect(joins).toBe(1);
  });

  it('adds all or none: a key that was used refuses them', async () => {
    await test.tock.enqueue(part, { n: 1 }, { key: 'used' });
    const group = await enqueue([{ n: 7 }, { n: 8, key: 'used' }]);
    await test.tock.tick();
    expect(await errorOf(group.runs[0])).toMatchObject({ code: 'TOCK_BAD_KEY' });
    expect((await test.tock.runs.get(group.id))?.waits).toMatchObject([{ runs: { count: 1 } }]);
  });

  it('marks a run also whose key is unique among live runs', { tags: 'check' }, async () => {
    const live = defineJob({
      name: 'grows',
      run: async ctx =>
        (await ctx.group.add('more', [{ job: part, payload: { n: 5 }, key: 'k', unique: 'live' }])).length,
    });
    const other = await openTestTock([part, live, total]);
    try {
      const group = await other.tock.enqueueGroup([{ job: live }], { then: { job: total } });
      while ((await other.tock.tick()).executed.claimed > 0);
      expect((await other.tock.runs.get(group.id))?.output).toEqual([1, 5]);
    } finally {
      await other.close();
    }
  });

  it('is refused in a run of no group, inside a step, for too many, and once the join waits no longer', {
    tags: 'check',
  }, async () => {
    const alone = await test.tock.enqueue(grows, { runs: [{ n: 1 }] });
    const inStep = await enqueue([{ n: 1 }], { inStep: true });
    const many = await enqueue(Array.from({ length: 10_001 }, (_, n) => ({ n })));
    await test.tock.tick();
    expect(await errorOf(alone)).toMatchObject({
      code: 'TOCK_BAD_STATE',
      message: `ctx.group.add: run ${alone} is not a member of a group`,
    });
    expect(await errorOf(inStep.runs[0])).toMatchObject({ code: 'TOCK_BAD_STATE' });
    expect(await errorOf(many.runs[0])).toMatchObject({ code: 'TOCK_BAD_OPTION' });

    let isDead = true;
    inMember = async () => {
      if (isDead) throw new Error('no');
    };
    const over = await enqueue([]);
    for (let attempt = 0; attempt < 3; attempt++) {
      await drain();
      await test.advance('1m');
    }
    expect(await test.tock.runs.get(over.id)).toMatchObject({ status: 'succeeded' });
    isDead = false;
    await test.sql('delete from tock.job_effects');
    await test.tock.runs.retry(over.runs[0] ?? '');
    await drain();
    expect(await errorOf(over.runs[0])).toMatchObject({
      code: 'TOCK_BAD_STATE',
      message: `ctx.group.add: the join of the group, run ${over.id}, waits no longer`,
    });
  });

  it('is refused where the join is cancelled meanwhile, and adds nothing', async () => {
    const group = await enqueue([{ n: 7 }]);
    const cancelling = await begin(`delete from tock.job_runs_live where id = ${group.id}`);
    const ticking = test.tock.tick();
    await blocked(1);
    await cancelling.query('commit');
    await ticking;
    expect(await errorOf(group.runs[0])).toMatchObject({
      code: 'TOCK_BAD_STATE',
      message: `ctx.group.add: the join of the group, run ${group.id}, waits no longer`,
    });
    expect(await test.tock.group(group.id)).toBeNull();
    expect(await test.sql(`select from tock.job_runs_live where job = 'part'`)).toEqual([]);
  });

  it('is about the group of a run that has children in a flow, and of no flow', async () => {
    const group = await enqueue([{ n: 7 }]);
    await test.tock.enqueueFlow({ later: { job: total, after: [group.runs[0] ?? ''] } });
    const flow = await test.tock.enqueueFlow({
      first: { job: grows, payload: { runs: [{ n: 1 }] } },
      next: { job: total, after: ['first'], ifParentFails: 'cancel' },
    });
    await drain();
    expect(await test.tock.runs.get(group.id)).toMatchObject({ output: [1, 7] });
    expect(await errorOf(flow.first)).toMatchObject({ code: 'TOCK_BAD_STATE' });
    expect((await test.tock.runs.get(flow.next))?.waits).toMatchObject([{ runs: { count: 1 } }]);
  });
});
