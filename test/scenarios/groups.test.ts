// Groups: runs, and one that is executed when they have ended.
import { beforeEach, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { defineJob, type Json, type NestedGroup } from '../../src/index.js';
import { openOnce } from '../support/open.js';
import { openTestTock } from '../support/test-tock.js';

const broken = new Set<number>();
let joins = 0;
const part = defineJob({
  name: 'part',
  payload: z.object({ n: z.number() }),
  retry: { maxAttempts: 1 },
  run(_ctx, { n }) {
    if (broken.has(n)) throw new Error(`part ${n} is broken`);
    return n;
  },
});
const total = defineJob({
  name: 'total',
  async run(ctx) {
    joins++;
    let sum = 0;
    const failed: string[] = [];
    for await (const { status, output, error } of ctx.group.results()) {
      if (status === 'succeeded') sum += output as number;
      else failed.push(`${status}: ${error}`);
    }
    return { sum, failed };
  },
});
const results = defineJob({
  name: 'results',
  async run(ctx) {
    const all: Json[] = [];
    for await (const { status, output } of ctx.group.results())
      all.push(status === 'succeeded' ? (output as Json) : status);
    return all;
  },
});
const test = openOnce(() => openTestTock([part, total, results]));
beforeEach(() => {
  broken.clear();
  joins = 0;
});
const members = (count: number) => Array.from({ length: count }, (_, n) => ({ job: part, payload: { n } }));
const drain = async () => {
  while ((await test.tock.tick()).executed.claimed > 0);
};

describe('a group', () => {
  it('runs its join once, after its last member', async () => {
    const group = await test.tock.enqueueGroup(members(500), { then: { job: total } });
    expect(await test.tock.runs.get(group.id)).toMatchObject({
      status: 'queued',
      waits: [{ kind: 'group', outcome: null, runs: { count: 500, left: 500, failed: 0 } }],
    });
    await drain();
    expect(await test.tock.runs.get(group.id)).toMatchObject({
      status: 'succeeded',
      output: { sum: 124_750, failed: [] },
      waits: [{ outcome: 'ended' }],
    });
    expect(joins).toBe(1);
  });

  it('waits for what did not succeed, until that is retried', { tags: 'check' }, async () => {
    broken.add(2);
    const group = await test.tock.enqueueGroup(members(3), { then: { job: total } });
    await drain();
    const waiting = await test.tock.runs.get(group.id);
    expect(waiting).toMatchObject({
      status: 'queued',
      waits: [{ runs: { left: 0, failed: 1, next: [group.runs[2]] } }],
    });
    broken.clear();
    await test.tock.runs.retry(group.runs[2] ?? '');
    await drain();
    expect(await test.tock.runs.get(group.id)).toMatchObject({ status: 'succeeded', output: { sum: 3 } });
    expect(joins).toBe(1);
  });

  it('is continued by an operator, or joins on completion, whatever became of its members', {
    tags: 'check',
  }, async () => {
    broken.add(1);
    const stuck = await test.tock.enqueueGroup(members(3), { then: { job: total } });
    const lenient = await test.tock.enqueueGroup(members(3), { then: { job: total }, on: 'completion' });
    const early = await test.tock.enqueueGroup(members(3), { then: { job: total } });
    expect(await test.tock.continueGroup(early.id)).toBe(true);
    await drain();
    const output = { sum: 2, failed: ['dead: part 1 is broken'] };
    expect(await test.tock.runs.get(lenient.id)).toMatchObject({ status: 'succeeded', output });
    expect(await test.tock.runs.get(early.id)).toMatchObject({ status: 'succeeded', output });
    expect((await test.tock.runs.get(stuck.id))?.status).toBe('queued');
    expect(await test.tock.continueGroup(stuck.id)).toBe(true);
    expect(await test.tock.continueGroup(stuck.id)).toBe(false);
    await drain();
    expect(await test.tock.runs.get(stuck.id)).toMatchObject({ status: 'succeeded', output });
  });

  it('has what became of a member also where its end was not followed up before it was continued', {
    tags: 'check',
  }, async () => {
    broken.add(1);
    const late = { job: part, payload: { n: 0 }, delay: '1d' };
    const group = await test.tock.enqueueGroup([...members(2), late], { then: { job: total } });
    await drain();
    await test.tock.runs.cancel(group.runs[2] ?? '');
    await test.sql('delete from tock.job_outbox');
    expect(await test.tock.continueGroup(group.id)).toBe(true);
    await drain();
    expect(await test.tock.runs.get(group.id)).toMatchObject({
      output: { sum: 0, failed: ['dead: part 1 is broken', 'cancelled: null'] },
    });
  });

  it('joins at once where it is empty, and is made once under its key', { tags: 'check' }, async () => {
    const empty = await test.tock.enqueueGroup([], { then: { job: total }, key: 'g' });
    await drain();
    expect(await test.tock.runs.get(empty.id)).toMatchObject({ status: 'succeeded', output: { sum: 0 } });
    expect(await test.tock.enqueueGroup(members(2), { then: { job: total }, key: 'g' })).toEqual({
      id: empty.id,
      runs: [],
      isNew: false,
    });
  });

  it('has groups as members, whose joins are the members', { tags: 'check' }, async () => {
    const inner = { runs: members(3), then: { job: total } };
    const group = await test.tock.enqueueGroup(
      [
        { job: part, payload: { n: 7 } },
        inner,
        { runs: [inner, { runs: [], then: { job: total } }], then: { job: results } },
      ],
      { then: { job: results } },
    );
    expect(group.runs).toHaveLength(3);
    await drain();
    const all = { sum: 3, failed: [] };
    expect(await test.tock.runs.get(group.id)).toMatchObject({
      status: 'succeeded',
      output: [7, all, [all, { sum: 0, failed: [] }]],
    });
    expect(joins).toBe(3);
  });

  it('waits for a group in it of which a member has failed, or goes on with what became of that', {
    tags: 'check',
  }, async () => {
    broken.add(1);
    const inner = { runs: members(2), then: { job: total } };
    const outer = await test.tock.enqueueGroup([{ ...inner, on: 'completion' }, inner], {
      then: { job: results },
      on: 'completion',
    });
    await drain();
    expect(await test.tock.runs.get(outer.id)).toMatchObject({
      status: 'queued',
      waits: [{ runs: { left: 1, failed: 0, next: [outer.runs[1]] } }],
    });
    await test.tock.runs.cancel(outer.runs[1] ?? '');
    await drain();
    expect(await test.tock.runs.get(outer.id)).toMatchObject({
      status: 'succeeded',
      output: [{ sum: 0, failed: ['dead: part 1 is broken'] }, 'cancelled'],
    });
  });

  it('refuses groups in it that are none, or too deep', { tags: 'check' }, async () => {
    const before = await test.tock.runs.list({ limit: 1 });
    const refused = async (member: unknown, message: string) => {
      await expect(
        test.tock.enqueueGroup([member as { job: typeof part; payload: { n: number } }], {
          then: { job: total },
        }),
      ).rejects.toThrow(message);
    };
    await refused({ runs: [] }, 'has no join');
    await refused({ runs: [], then: { job: total }, key: 'k' }, 'has no option "key"');
    await refused({ runs: 3, then: { job: total } }, 'runs of a group is 3');
    await refused({ runs: [], then: { job: total }, on: 'never' }, 'on "never"');
    const nest = (depth: number): NestedGroup => ({
      runs: depth === 1 ? [] : [nest(depth - 1)],
      then: { job: total },
    });
    await refused(nest(32), 'nested deeper than 32 levels');
    expect(await test.tock.runs.list({ limit: 1 })).toEqual(before);
    await test.tock.enqueueGroup([nest(31)], { then: { job: total } });
    await drain();
    expect(joins).toBe(32);
  });

  it('has groups as members in SQL', { tags: 'check' }, async () => {
    const text = `[{"job": "part", "payload": {"n": 7}}, {"runs": [{"job": "part", "payload": {"n": 1}}], "then": {"job": "total"}, "on": "completion"}]`;
    const [row] = await test.sql<{ id: string }>(
      `select tock.enqueue_group('${text}', 'results')::text as id`,
    );
    await drain();
    expect(await test.tock.runs.get(row?.id ?? '')).toMatchObject({ output: [7, { sum: 1 }] });
    const nested = (depth: number): string =>
      `[${depth === 1 ? '' : `{"runs": ${nested(depth - 1)}, "then": {"job": "total"}}`}]`;
    await expect(test.sql(`select tock.enqueue_group('${nested(33)}', 'total')`)).rejects.toThrow(
      'nested deeper than 32 levels',
    );
    await expect(test.sql(`select tock.enqueue_group('[{"runs": []}]', 'total')`)).rejects.toThrow(
      'has runs, then and on',
    );
  });

  it('is all or nothing', async () => {
    await test.tock.enqueue(part, { n: 1 }, { key: 'used' });
    await drain();
    const before = await test.tock.runs.list({ limit: 1 });
    await expect(
      test.tock.enqueueGroup([...members(2), { job: part, payload: { n: 1 }, key: 'used' }], {
        then: { job: total },
      }),
    ).rejects.toMatchObject({ code: 'TOCK_BAD_KEY' });
    await expect(
      test.tock.enqueueGroup(members(1), { then: { job: total }, on: 'never' as 'success' }),
    ).rejects.toMatchObject({ code: 'TOCK_BAD_OPTION' });
    expect(await test.tock.runs.list({ limit: 1 })).toEqual(before);
  });

  it('is enqueued by SQL', async () => {
    const [row] = await test.sql<{ id: string }>(
      `select tock.enqueue_group('[{"job":"part","payload":{"n":4}},{"job":"part","payload":{"n":6}}]', 'total', on_end => 'completion', idempotency_key => 's')::text as id`,
    );
    await drain();
    expect(await test.tock.runs.get(row?.id ?? '')).toMatchObject({ output: { sum: 10 } });
    expect(
      await test.sql(`select tock.enqueue_group('[]', 'total', idempotency_key => 's')::text as id`),
    ).toEqual([row]);
  });

  it('waits on where its join was cancelled and retried, also where all have ended meanwhile', {
    tags: 'check',
  }, async () => {
    const group = await test.tock.enqueueGroup(members(2), { then: { job: total } });
    await test.tock.runs.cancel(group.id);
    await test.tock.runs.retry(group.id);
    expect((await test.tock.runs.get(group.id))?.runAt.getUTCFullYear()).toBe(9999);
    await test.tock.runs.cancel(group.id);
    await drain();
    expect(joins).toBe(0);
    await test.tock.runs.retry(group.id);
    await drain();
    expect(await test.tock.runs.get(group.id)).toMatchObject({ status: 'succeeded', output: { sum: 1 } });
  });

  it('has no results for a run that is no join', async () => {
    const id = await test.tock.enqueue(total);
    await test.tock.tick();
    expect(await test.tock.runs.get(id)).toMatchObject({
      status: 'failed',
      errors: [{ code: 'TOCK_BAD_STATE' }],
    });
  });
});
