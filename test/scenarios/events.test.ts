// Handlers that wait for events and for other runs (ctx.waitFor, ctx.child, ctx.waitForRuns).
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { defineJob, typeOnly } from '../../src/index.js';
import { openOnce } from '../support/open.js';
import { openTestTock } from '../support/test-tock.js';

const NOON = '2026-03-01T12:00:00Z';
const at = (day: string) => new Date(`2026-03-${day}T12:00:00Z`);
let calls = 0;
let duringPart: () => Promise<unknown> = async () => undefined;

const payment = defineJob({
  name: 'payment',
  payload: z.object({ order: z.string(), since: z.string().optional() }),
  retry: { maxAttempts: 1 },
  async run(ctx, { order, since }) {
    calls++;
    const paid = await ctx.waitFor<{ amount: number }>('paid', {
      key: order,
      timeout: '14d',
      ...(since === undefined ? {} : { since: new Date(since) }),
    });
    return paid.timedOut ? 'never paid' : { amount: paid.payload.amount, at: paid.emittedAt.toISOString() };
  },
});
const forever = defineJob({
  name: 'forever',
  payload: typeOnly<{ key?: string }>(),
  async run(ctx, { key }) {
    const { payload } = await ctx.waitFor('go', key === undefined ? {} : { key });
    return payload;
  },
});
const keyed = defineJob({
  name: 'keyed',
  retry: { maxAttempts: 1 },
  async run(ctx) {
    const payloads = [];
    for (const key of ['', ' ', 'k', 'k '])
      payloads.push((await ctx.waitFor('came', key === '' ? {} : { key })).payload);
    return payloads;
  },
});
const part = defineJob({
  name: 'part',
  payload: z.object({ n: z.number(), fails: z.boolean().optional() }),
  retry: { maxAttempts: 1 },
  async run(_ctx, { n, fails }) {
    await duringPart();
    if (fails) throw new Error(`part ${n} is broken`);
    return n * n;
  },
});
const whole = defineJob({
  name: 'whole',
  payload: z.object({ parts: z.array(z.object({ n: z.number(), fails: z.boolean().optional() })) }),
  async run(ctx, { parts }) {
    const ids = [];
    for (const each of parts) ids.push(await ctx.child(`part ${each.n}`, part, each));
    const ended = await ctx.waitForRuns(ids);
    return ended.map(({ status, output, error }) => ({ status, output, error }));
  },
});
const waiter = defineJob({
  name: 'waiter',
  payload: typeOnly<{ ids?: string[]; itself?: true }>(),
  retry: { maxAttempts: 1 },
  async run(ctx, { ids = [], itself }) {
    const ended = await ctx.waitForRuns(itself ? [ctx.runId] : ids);
    return ended.map(({ status }) => status);
  },
});

const test = openOnce(
  () => openTestTock([payment, forever, keyed, part, whole, waiter]),
  opened => opened.setClock(NOON),
);

describe('ctx.waitFor', () => {
  it('ends the handler, and goes on with the event', async () => {
    const id = await test.tock.enqueue(payment, { order: 'a-1' });
    expect((await test.tock.tick()).executed).toMatchObject({ claimed: 1, waiting: 1 });
    expect(await test.tock.runs.get(id)).toMatchObject({
      status: 'queued',
      attempts: 0,
      runAt: at('15'),
      waits: [{ kind: 'event', name: 'paid', key: 'a-1', until: at('15'), outcome: null }],
    });
    await test.tock.emit('paid', { key: 'a-2', payload: { amount: 1 } });
    expect((await test.tock.tick()).executed).toMatchObject({ claimed: 0 });
    await test.advance('1d');
    await test.tock.emit('paid', { key: 'a-1', payload: { amount: 5 } });
    await test.tock.emit('paid', { key: 'a-1', payload: { amount: 6 } });
    await test.tock.tick();
    expect(await test.tock.runs.get(id)).toMatchObject({
      status: 'succeeded',
      output: { amount: 5, at: at('02').toISOString() },
      waits: [{ outcome: 'event', endedAt: at('02') }],
    });
    await test.setClock(NOON);
  });

  it('gets an event that came before it, and none from before its run, unless it asks for that', {
    tags: 'check',
  }, async () => {
    await test.tock.emit('paid', { key: 'b', payload: { amount: 1 } });
    await test.advance('1h');
    const id = await test.tock.enqueue(payment, { order: 'b' });
    const since = await test.tock.enqueue(payment, { order: 'b', since: NOON });
    await test.advance('1h');
    await test.tock.emit('paid', { key: 'b', payload: { amount: 2 } });
    calls = 0;
    await test.tock.tick();
    expect(await test.tock.runs.get(id)).toMatchObject({ status: 'succeeded', output: { amount: 2 } });
    expect(await test.tock.runs.get(since)).toMatchObject({ status: 'succeeded', output: { amount: 1 } });
    expect(calls).toBe(2);
    await test.setClock(NOON);
  });

  it('takes each key as it is, with its blanks', async () => {
    const id = await test.tock.enqueue(keyed);
    for (const [payload, key] of ['', ' ', 'k', 'k '].entries())
      await test.tock.emit('came', { key, payload });
    await test.tock.tick();
    expect(await test.tock.runs.get(id)).toMatchObject({ status: 'succeeded', output: [0, 1, 2, 3] });
  });

  it('times out', async () => {
    const id = await test.tock.enqueue(payment, { order: 'c' });
    await test.tock.tick();
    await test.setClock('2026-03-15T12:00:00Z');
    await test.tock.tick();
    expect(await test.tock.runs.get(id)).toMatchObject({
      status: 'succeeded',
      output: 'never paid',
      waits: [{ outcome: 'timeout' }],
    });
    await test.setClock(NOON);
  });

  it('waits for ever without a timeout, and many get one event', { tags: 'check' }, async () => {
    const ids = await test.tock.enqueueMany(
      Array.from({ length: 20 }, () => ({ job: forever, payload: {} })),
    );
    await test.tock.tick();
    const run = await test.tock.runs.get(ids[0] ?? '');
    expect(run).toMatchObject({ status: 'queued', waits: [{ name: 'go', key: '', until: null }] });
    await test.tock.emit('go', { payload: 'now' });
    // As many at once: of those that wait in the worker for long, some may be given back and claimed again.
    expect((await test.tock.tick({ concurrency: 20 })).executed).toMatchObject({
      claimed: 20,
      succeeded: 20,
    });
    expect(await test.tock.runs.get(ids[19] ?? '')).toMatchObject({ output: 'now' });
  });

  it('is told by SQL, in the transaction of its caller', { tags: 'check' }, async () => {
    const id = await test.tock.enqueue(forever, { key: 'sql' });
    await test.tock.tick();
    await test
      .sql(`do $$ begin perform tock.emit('go', 'sql', '1'); raise exception 'no'; end $$`)
      .catch(() => undefined);
    expect((await test.tock.tick()).executed).toMatchObject({ claimed: 0 });
    await test.sql(`select tock.emit('go', key => 'sql', payload => '{"by":"sql"}')`);
    await test.tock.tick();
    expect(await test.tock.runs.get(id)).toMatchObject({ status: 'succeeded', output: { by: 'sql' } });
  });
});

describe('ctx.waitForRuns', () => {
  it('gets what became of each child, and makes each once', async () => {
    const parts = [{ n: 2 }, { n: 3, fails: true }, { n: 4 }];
    const id = await test.tock.enqueue(whole, { parts });
    await test.tock.tick();
    const run = await test.tock.runs.get(id);
    expect(run).toMatchObject({
      status: 'succeeded',
      output: [
        { status: 'succeeded', output: 4, error: null },
        { status: 'dead', output: null, error: 'part 3 is broken' },
        { status: 'succeeded', output: 16, error: null },
      ],
    });
    expect(await test.tock.runs.list({ job: 'part' })).toHaveLength(3);
  });

  it('says at once what has ended before', async () => {
    const [a, b] = await test.tock.enqueueMany([
      { job: part, payload: { n: 1 } },
      { job: part, payload: { n: 2 } },
    ]);
    await test.tock.tick();
    const id = await test.tock.enqueue(waiter, { ids: [a, b] });
    expect((await test.tock.tick()).executed).toMatchObject({ claimed: 1, waiting: 0, succeeded: 1 });
    expect(await test.tock.runs.get(id)).toMatchObject({ output: ['succeeded', 'succeeded'] });
  });

  it('sees runs that are cancelled', async () => {
    const later = await test.tock.enqueue(part, { n: 1 }, { delay: '1d' });
    const id = await test.tock.enqueue(waiter, { ids: [later] });
    await test.tock.tick();
    expect(await test.tock.runs.get(id)).toMatchObject({
      status: 'queued',
      waits: [{ kind: 'runs', name: later, runs: { count: 1, left: 1, next: [later] } }],
    });
    await test.tock.runs.cancel(later);
    await test.tock.tick();
    expect(await test.tock.runs.get(id)).toMatchObject({ status: 'succeeded', output: ['cancelled'] });
  });

  it('sees a successor that is cancelled before it is a run', async () => {
    const live = { key: 'k', unique: 'live', replace: true } as const;
    let id = '';
    duringPart = async () => {
      duringPart = async () => undefined;
      const successor = await test.tock.enqueue(part, { n: 2 }, live);
      id = await test.tock.enqueue(waiter, { ids: [successor] });
      const other = test.another();
      await other.tick();
      expect(await other.runs.get(id)).toMatchObject({ status: 'queued', waits: [{ outcome: null }] });
      expect(await other.runs.cancel(successor)).toMatchObject({ id: successor, status: 'cancelled' });
    };
    await test.tock.enqueue(part, { n: 1 }, live);
    // It has no room for the one that waits, until this one has ended.
    await test.tock.tick({ concurrency: 1 });
    expect(await test.tock.runs.get(id)).toMatchObject({ status: 'succeeded', output: ['cancelled'] });
  });

  it.each([
    [{ ids: ['99999999'] }, 'TOCK_NOT_FOUND'],
    [{ ids: ['x'] }, 'TOCK_BAD_OPTION'],
    // Under such a name it would not know itself.
    [{ ids: ['01'] }, 'TOCK_BAD_OPTION'],
    [{ itself: true as const }, 'TOCK_BAD_STATE'],
  ])('is refused what it cannot wait for (%j)', { tags: 'check' }, async (payload, code) => {
    const id = await test.tock.enqueue(waiter, payload);
    await test.tock.tick();
    expect(await test.tock.runs.get(id)).toMatchObject({ status: 'dead', errors: [{ code }] });
  });
});
