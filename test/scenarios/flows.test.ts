// Flows: runs of which each begins when its parents have ended.
import { beforeEach, describe, expect, it } from 'vitest';
import { defineJob, type EndedRun, type JobContext, typeOnly } from '../../src/index.js';
import { openOnce } from '../support/open.js';
import { otherSessions } from '../support/runs.js';
import { openTestTock } from '../support/test-tock.js';

const broken = new Set<string>();
let ran: string[] = [];
let seen: Record<string, JobContext['parents']> = {};
const work = defineJob({
  name: 'work',
  payload: typeOnly<{ as: string }>(),
  retry: { maxAttempts: 1 },
  run(ctx, { as }) {
    ran.push(as);
    seen[as] = ctx.parents;
    if (broken.has(as)) throw new Error(`${as} is broken`);
    return { from: as };
  },
});
const test = openOnce(() => openTestTock([work]));
beforeEach(async () => {
  broken.clear();
  [ran, seen] = [[], {}];
  await test.sql('delete from tock.job_runs_live');
});
const { begin, blocked } = otherSessions(test);
const drain = async () => {
  while ((await test.tock.tick()).executed.claimed > 0);
};
const as = (name: string) => ({ job: work, payload: { as: name } });
const runOf = async (id: string) => await test.tock.runs.get(id);
const statusOf = async (id: string) => (await runOf(id))?.status;
const liveRuns = async () => (await test.sql<{ n: string }>('select count(*) as n from tock.job_runs'))[0]?.n;
const waitOf = async (id: string) => (await runOf(id))?.waits.at(-1);

/** Ends a run by another session, whose transaction stays open. */
const END = `with gone as (delete from tock.job_runs_live r where r.id = $1 returning r.*), ended as (
  insert into tock.job_runs_finished (id, job, payload, queue, trigger, status, output, finished_at, has_waiters)
  select id, job, payload, queue, trigger, 'succeeded', '{"from": "other"}', tock.now(), has_waiters from gone)
insert into tock.job_outbox (kind, run_ids) select 'end', array_agg(g.id) from gone g where g.has_waiters having count(*) > 0`;

describe('a flow', () => {
  it('runs each after its parents, with their outputs', async () => {
    const flow = await test.tock.enqueueFlow({
      fetch: as('fetch'),
      left: { ...as('left'), after: ['fetch'] },
      right: { ...as('right'), after: ['fetch'] },
      report: { ...as('report'), after: ['left', 'right'] },
    });
    expect(await runOf(flow.report)).toMatchObject({
      status: 'queued',
      waits: [
        { kind: 'group', outcome: null, runs: { count: 2, left: 2, failed: 0, names: ['left', 'right'] } },
      ],
    });
    await drain();
    expect(ran.filter(name => name !== 'left' && name !== 'right')).toEqual(['fetch', 'report']);
    expect(ran).toHaveLength(4);
    expect(seen).toMatchObject({
      fetch: {},
      left: { fetch: { id: flow.fetch, status: 'succeeded', output: { from: 'fetch' }, error: null } },
      report: { left: { output: { from: 'left' } }, right: { output: { from: 'right' } } },
    });
    expect(await statusOf(flow.report)).toBe('succeeded');
  });

  it('is empty, or one run', async () => {
    expect(await test.tock.enqueueFlow({})).toEqual({});
    const { one } = await test.tock.enqueueFlow({ one: as('one') });
    await drain();
    expect(await statusOf(one)).toBe('succeeded');
    expect(seen).toEqual({ one: {} });
  });

  it.each([
    ['the first', 0],
    ['the second', 1],
  ])(
    'runs what follows once where two last parents end at once, and %s commits last',
    { tags: 'check' },
    async (_, last) => {
      const flow = await test.tock.enqueueFlow({
        a: as('a'),
        b: as('b'),
        both: { ...as('both'), after: ['a', 'b'] },
      });
      const sessions = [await begin(), await begin()] as const;
      await sessions[0].query(END, [flow.a]);
      await sessions[1].query(END, [flow.b]);
      await sessions[1 - last]?.query('commit');
      await drain();
      expect(await statusOf(flow.both)).toBe('queued');
      await sessions[last]?.query('commit');
      await drain();
      expect(ran).toEqual(['both']);
      expect(seen['both']).toMatchObject({ a: { output: { from: 'other' } }, b: { status: 'succeeded' } });
    },
  );

  it('is followed up by the next reaping where the process died after a parent had ended', async () => {
    const flow = await test.tock.enqueueFlow({ a: as('a'), b: { ...as('b'), after: ['a'] } });
    const client = await begin();
    await client.query(END, [flow.a]);
    await client.query('commit');
    expect(await waitOf(flow.b)).toMatchObject({ outcome: null });
    await drain();
    expect(ran).toEqual(['b']);
  });

  it('is part of the transaction of its caller', async () => {
    const client = await begin();
    const runs = { a: as('a'), b: { ...as('b'), after: ['a'] } } as const;
    const flow = await test.tock.enqueueFlow(runs, { client });
    await client.query('rollback');
    await drain();
    expect(ran).toEqual([]);
    expect(await runOf(flow.b)).toBeNull();
    await client.query('begin');
    await test.tock.enqueueFlow(runs, { client });
    await drain();
    expect(ran).toEqual([]);
    await client.query('commit');
    await drain();
    expect(ran).toEqual(['a', 'b']);
  });

  it('keeps the outputs of parents that were pruned before their child began', async () => {
    const flow = await test.tock.enqueueFlow({
      a: as('a'),
      b: as('b'),
      both: { ...as('both'), after: ['a', 'b'] },
    });
    const client = await begin();
    await client.query(END, [flow.a]);
    await client.query('commit');
    // Follows up, and executes nothing.
    await test.tock.tick({ queues: ['none'] });
    await test.sql('delete from tock.job_runs_finished where id = $1', [flow.a]);
    await drain();
    expect(seen['both']).toMatchObject({ a: { output: { from: 'other' } }, b: { output: { from: 'b' } } });
  });

  it('gives a retried run its parents again', { tags: 'check' }, async () => {
    broken.add('b');
    const flow = await test.tock.enqueueFlow({ a: as('a'), b: { ...as('b'), after: ['a'] } });
    await drain();
    expect(await statusOf(flow.b)).toBe('dead');
    [ran, seen] = [[], {}];
    broken.clear();
    await test.tock.runs.retry(flow.b);
    await drain();
    expect(ran).toEqual(['b']);
    expect(seen['b']).toMatchObject({ a: { output: { from: 'a' } } });
  });

  it('is enqueued by a role that has no right on any table, as groups are', async () => {
    const role = `flows_${process.pid}_${Date.now()}`;
    await test.sql(`create role ${role} login password 'secret'`);
    try {
      await test.sql(`grant usage on schema tock to ${role}`);
      await test.sql(
        `grant execute on function tock.enqueue_one, tock.enqueue_many, tock.enqueue_live, tock.join_runs to ${role}`,
      );
      const url = new URL(test.url);
      [url.username, url.password] = [role, 'secret'];
      const app = test.another({ connectionString: url.href });
      const old = await test.tock.enqueue(work, { as: 'old' });
      await app.enqueueFlow({ a: as('a'), b: { ...as('b'), after: ['a', old] } });
      await app.enqueueGroup([as('member')], { then: as('join') });
      await app.close();
      await drain();
      expect(ran.toSorted()).toEqual(['a', 'b', 'join', 'member', 'old']);
    } finally {
      await test.sql(`drop owned by ${role}`);
      await test.sql(`drop role ${role}`);
    }
  });

  it('runs under keys, which are used once', async () => {
    const flow = {
      a: { ...as('a'), key: 'flow:a' },
      b: { ...as('b'), after: ['a'], key: 'flow:b' },
    } as const;
    await test.tock.enqueueFlow(flow);
    await drain();
    const before = await liveRuns();
    await expect(test.tock.enqueueFlow({ ...flow, a: as('a') })).rejects.toMatchObject({
      code: 'TOCK_BAD_KEY',
      message: expect.stringContaining('"flow:b"') as string,
    });
    expect(await liveRuns()).toBe(before);
  });
});

describe('a parent that does not succeed', () => {
  const policies = async () =>
    await test.tock.enqueueFlow({
      bad: as('bad'),
      good: as('good'),
      waits: { ...as('waits'), after: ['good', 'bad'] },
      runs: { ...as('runs'), after: ['good', 'bad'], ifParentFails: 'run' },
      gone: { ...as('gone'), after: ['good', 'bad'], ifParentFails: 'cancel' },
      goneToo: { ...as('goneToo'), after: ['gone'], ifParentFails: 'cancel' },
      last: { ...as('last'), after: ['goneToo'], ifParentFails: 'run' },
    });

  it('lets its child wait, run, or be cancelled, which goes on from there', async () => {
    broken.add('bad');
    const flow = await policies();
    await drain();
    expect(ran.toSorted()).toEqual(['bad', 'good', 'last', 'runs']);
    expect(await waitOf(flow.waits)).toMatchObject({
      outcome: null,
      runs: { left: 0, failed: 1, next: [flow.bad], names: ['bad'] },
    });
    expect(seen['runs']?.['bad']).toMatchObject({ status: 'dead', output: null, error: 'bad is broken' });
    expect(await runOf(flow.gone)).toMatchObject({
      status: 'cancelled',
      attempts: 0,
      skipReason: `parent bad (run ${flow.bad}) is dead`,
    });
    expect(await runOf(flow.goneToo)).toMatchObject({
      status: 'cancelled',
      skipReason: `parent gone (run ${flow.gone}) was cancelled`,
    });
    expect(seen['last']).toMatchObject({
      goneToo: { status: 'cancelled', error: `parent gone (run ${flow.gone}) was cancelled` },
    });
  });

  it('is retried: then what waits for it goes on, and what was cancelled does so once it is retried', {
    tags: 'check',
  }, async () => {
    broken.add('bad');
    const flow = await policies();
    await drain();
    // Its parent is dead still.
    await test.tock.runs.retry(flow.gone);
    await drain();
    expect(await statusOf(flow.gone)).toBe('cancelled');
    broken.clear();
    ran = [];
    await test.tock.runs.retry(flow.bad);
    await test.tock.runs.retry(flow.gone);
    await test.tock.runs.retry(flow.goneToo);
    await drain();
    expect(ran.toSorted()).toEqual(['bad', 'gone', 'goneToo', 'waits']);
    expect(seen['waits']).toMatchObject({ bad: { status: 'succeeded', output: { from: 'bad' } } });
  });

  it('does not hold a child that is continued', { tags: 'check' }, async () => {
    broken.add('bad');
    const flow = await policies();
    await drain();
    expect(await test.tock.continueGroup(flow.waits)).toBe(true);
    await drain();
    expect(await statusOf(flow.waits)).toBe('succeeded');
    expect(seen['waits']).toMatchObject({ good: { status: 'succeeded' }, bad: { status: 'dead' } });
  });

  it('does not cancel a child that was continued before', async () => {
    const flow = await test.tock.enqueueFlow({
      a: { ...as('a'), delay: '1d' },
      b: as('b'),
      child: { ...as('child'), after: ['a', 'b'], ifParentFails: 'cancel' },
    });
    expect(await test.tock.continueGroup(flow.child)).toBe(true);
    await test.tock.runs.cancel(flow.a);
    expect(await statusOf(flow.child)).toBe('queued');
    await drain();
    expect(ran).toEqual(['b', 'child']);
  });

  it('may have been cancelled by hand, and cancels its child before the others have ended', async () => {
    const flow = await test.tock.enqueueFlow({
      a: { ...as('a'), delay: '1d' },
      b: { ...as('b'), delay: '1d' },
      child: { ...as('child'), after: ['a', 'b'], ifParentFails: 'cancel' },
    });
    await test.tock.runs.cancel(flow.b, { reason: 'not wanted' });
    expect(await runOf(flow.child)).toMatchObject({
      status: 'cancelled',
      skipReason: `parent b (run ${flow.b}) was cancelled`,
    });
    expect(await statusOf(flow.a)).toBe('queued');
  });

  it('cancels a long chain to its end', { tags: 'check' }, async () => {
    broken.add('0');
    const chain = Object.fromEntries(
      Array.from({ length: 40 }, (_, n) => [
        `n${n}`,
        n === 0 ? as('0') : { ...as(String(n)), after: [`n${n - 1}`], ifParentFails: 'cancel' as const },
      ]),
    );
    const flow = await test.tock.enqueueFlow(chain);
    await drain();
    expect(ran).toEqual(['0']);
    expect(await statusOf(flow['n39'] ?? '')).toBe('cancelled');
  });
});

describe('a parent that was there before', () => {
  const after = async (id: string, ifParentFails: 'wait' | 'cancel' | 'run' = 'wait') =>
    (await test.tock.enqueueFlow({ child: { ...as('child'), after: [id], ifParentFails } })).child;

  it('has ended, well or not', { tags: 'check' }, async () => {
    broken.add('bad');
    const [good, bad] = [
      await test.tock.enqueue(work, { as: 'good' }),
      await test.tock.enqueue(work, { as: 'bad' }),
    ];
    await drain();
    const child = await after(good);
    const stuck = await after(bad);
    const cancelled = await after(bad, 'cancel');
    await drain();
    expect(seen['child']).toMatchObject({
      [good]: { id: good, status: 'succeeded', output: { from: 'good' } },
    });
    expect(await statusOf(child)).toBe('succeeded');
    expect(await waitOf(stuck)).toMatchObject({ runs: { left: 0, failed: 1 } });
    expect(await runOf(cancelled)).toMatchObject({
      status: 'cancelled',
      skipReason: `parent (run ${bad}) is dead`,
    });
  });

  it('is still to run', async () => {
    const parent = await test.tock.enqueue(work, { as: 'parent' });
    const child = await after(parent);
    await drain();
    expect(ran).toEqual(['parent', 'child']);
    expect(await statusOf(child)).toBe('succeeded');
  });

  it('is not locked by the transaction of the caller, and may end before it commits', async () => {
    const parent = await test.tock.enqueue(work, { as: 'parent' });
    const client = await begin();
    const { child } = await test.tock.enqueueFlow({ child: { ...as('child'), after: [parent] } }, { client });
    await drain();
    expect(ran).toEqual(['parent']);
    await client.query('commit');
    await drain();
    expect(ran).toEqual(['parent', 'child']);
    expect(await statusOf(child)).toBe('succeeded');
  });

  it.each(['its end', 'the wait'])(
    'ends while the wait for it begins, and %s commits first',
    { tags: 'check' },
    async first => {
      const parent = await test.tock.enqueue(work, { as: 'parent' });
      const child = await after(parent);
      const client = await begin();
      if (first === 'its end') {
        await client.query(END, [parent]);
        const ticking = test.tock.tick();
        await blocked(1);
        await client.query('commit');
        await ticking;
      } else {
        await test.tock.tick({ queues: ['none'] });
        await client.query(END, [parent]);
        await client.query('commit');
      }
      await drain();
      expect(ran).toEqual(['child']);
      expect(await statusOf(child)).toBe('succeeded');
    },
  );

  it('is not there', async () => {
    const before = await liveRuns();
    await expect(
      test.tock.enqueueFlow({ a: as('a'), child: { ...as('child'), after: ['a', '987654321'] } }),
    ).rejects.toMatchObject({
      code: 'TOCK_NOT_FOUND',
      message: expect.stringContaining('987654321') as string,
    });
    const client = await begin();
    await client.query('create temporary table kept (id integer)');
    await expect(
      test.tock.enqueueFlow({ child: { ...as('child'), after: ['987654321'] } }, { client }),
    ).rejects.toMatchObject({ code: 'TOCK_NOT_FOUND' });
    // The caller's transaction goes on.
    await client.query('insert into kept values (1)');
    await client.query('commit');
    expect(await liveRuns()).toBe(before);
  });
});

describe('what is no flow', () => {
  it.each<[string, object, string]>([
    [
      'a circle',
      { a: { ...as('a'), after: ['c'] }, b: { ...as('b'), after: ['a'] }, c: { ...as('c'), after: ['b'] } },
      'in a circle: "a" after "c" after "b" after "a"',
    ],
    ['a run after itself', { a: { ...as('a'), after: ['a'] } }, 'run "a" of the flow comes after itself'],
    [
      'an unknown name',
      { parse: as('a'), b: { ...as('b'), after: ['prase'] } },
      'comes after "prase", which is no run of the flow, and no id of a run; did you mean parse?',
    ],
    ['a parent twice', { a: as('a'), b: { ...as('b'), after: ['a', 'a'] } }, 'comes after "a" twice'],
    ['a name that looks like an id', { 12: as('a') }, '"12" cannot be the name'],
    ['a bad name', { 'a b': as('a') }, '"a b" cannot be the name of a run of a flow'],
    [
      'a policy that does not exist',
      { a: { ...as('a'), ifParentFails: 'never' } },
      'ifParentFails "never" is none of wait, cancel, run',
    ],
    ['after that is no array', { a: as('a'), b: { ...as('b'), after: 'a' } }, 'after "a" is no array'],
    [
      'a time beside parents',
      { a: as('a'), b: { ...as('b'), after: ['a'], delay: '1h' } },
      'has parents and a time',
    ],
    ['a key that is free again', { a: { ...as('a'), key: 'k', unique: 'live' } }, 'has the option unique'],
    ['no run', { a: null }, 'run "a" of the flow is null'],
    ['an option that does not exist', { a: { ...as('a'), afer: ['b'] } }, 'has no option "afer"'],
    ['an array', [as('a')], 'it takes an object of runs by their names'],
  ])('%s is refused, and nothing is enqueued', async (_, flow, message) => {
    const before = await liveRuns();
    await expect(test.tock.enqueueFlow(flow as never)).rejects.toThrow(message);
    expect(await liveRuns()).toBe(before);
  });

  it('too many runs', async () => {
    const flow = Object.fromEntries(Array.from({ length: 10_001 }, (_, n) => [`n${n}`, as('x')]));
    await expect(test.tock.enqueueFlow(flow)).rejects.toThrow('10001 runs are more than the 10000');
  });
});

it('ctx.parents refuses outputs that are too large to read at once, which its handler can read in pages', {
  tags: 'check',
}, async () => {
  const text = 'x'.repeat(1024 * 1024 - 2);
  const names = Array.from({ length: 9 }, (_, n) => `n${n}`);
  let caught: unknown;
  let count = 0;
  const large = defineJob({ name: 'large', run: () => text });
  const reads = defineJob({
    name: 'reads',
    async run(ctx) {
      try {
        void (ctx.parents['n0'] as EndedRun).output;
      } catch (error) {
        caught = error;
      }
      for await (const { output } of ctx.group.results()) count += (output as string).length;
      return ctx.parents['n3']?.status;
    },
  });
  const tock = test.another({ jobs: [large, reads] });
  const { last } = await tock.enqueueFlow({
    ...Object.fromEntries(names.map(name => [name, { job: large }])),
    last: { job: reads, after: names },
  } as { last: { job: typeof reads } });
  while ((await tock.tick()).executed.claimed > 0);
  expect((await tock.runs.get(last))?.output).toBe('succeeded');
  expect(caught).toMatchObject({ code: 'TOCK_BAD_STATE' });
  expect(count).toBe(9 * text.length);
});
