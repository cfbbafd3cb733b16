// What a handler does with other runs and with queues: its context has the methods, so that no job needs a Tock.
import { describe, expect, it } from 'vitest';
import { defineJob, type HandOff, type JobContext } from '../../../src/index.js';
import { openForEach } from '../../support/open.js';
import { reuseTestTock, until } from '../../support/test-tock.js';

type Work = (ctx: JobContext) => Promise<unknown>;
let work: Work = () => Promise.resolve(null);
const oversees = defineJob({
  name: 'oversees',
  retry: { maxAttempts: 1 },
  run: async ctx => await work(ctx),
});
const other = defineJob({ name: 'other', run: (_ctx, payload) => ({ payload: payload as never }) });
const hands = defineJob({
  name: 'hands',
  run: (ctx): HandOff => ctx.handOff({ lease: '1d', to: 'finance' }),
});

const test = openForEach(() => reuseTestTock([oversees, other, hands], { operator: 'billing' }));

/** Executes the work within a handler; resolves to its run. */
async function within(todo: Work) {
  work = todo;
  const id = await test.tock.enqueue(oversees);
  // Alone: what it retries must not be claimed before it goes on.
  await test.tock.tick({ concurrency: 1 });
  return await test.tock.runs.get(id);
}

describe('the context of a handler', () => {
  it('enqueues many, all or none, in a transaction if it has one', async () => {
    const run = await within(async ({ enqueueMany }) => {
      const ids = await enqueueMany([
        { job: other, payload: 1 },
        { job: 'other', key: 'a' },
      ]);
      const [told] = await enqueueMany([{ job: other, key: 'a' }], { details: true });
      await expect(enqueueMany([{ job: other }, { job: 'no-such-job' }])).rejects.toMatchObject({
        code: 'TOCK_UNKNOWN_JOB',
      });
      // @ts-expect-error there is no such option
      await expect(enqueueMany([], { detials: true })).rejects.toMatchObject({ code: 'TOCK_BAD_OPTION' });
      return { same: told?.id === ids[1], isNew: told?.isNew };
    });
    expect(run).toMatchObject({ status: 'succeeded', output: { same: true, isNew: false } });
    expect(await test.tock.runs.list({ job: 'other' })).toHaveLength(2);
  });

  it('reads, cancels and retries runs, in the name of the app', { tags: 'check' }, async () => {
    const waits = await test.tock.enqueue(other, {}, { delay: '1h' });
    const run = await within(async ({ runs }) => {
      const found = await runs.list({ job: 'other' });
      const cancelled = await runs.cancel(waits, { reason: 'not now' });
      const { done } = await runs.retryMany({ job: 'other', status: 'cancelled' });
      const again = await runs.cancelMany({ job: 'other' }, { reason: 'nor later' });
      // @ts-expect-error there is no such option
      await expect(runs.list({ jbo: 'other' })).rejects.toMatchObject({ code: 'TOCK_BAD_OPTION' });
      return [
        found.map(({ id }) => id),
        cancelled.status,
        done,
        again.done,
        (await runs.get(waits))?.skipReason,
      ];
    });
    expect(run?.output).toEqual([[waits], 'cancelled', { queued: 1 }, { cancelled: 1 }, 'nor later']);
    expect(await test.tock.audit.list({ operator: 'billing' })).toMatchObject([
      { action: 'runs.cancel' },
      { action: 'runs.retry' },
      { action: 'runs.cancel' },
    ]);
  });

  it('completes, prolongs and fails runs that were handed off', { tags: 'check' }, async () => {
    const [paid, unpaid] = [await test.tock.enqueue(hands), await test.tock.enqueue(hands)];
    await test.tock.tick();
    const run = await within(async ({ complete, extend, fail }) => [
      await extend(paid, 1, '2d'),
      await complete(paid, 1, { cents: 12 }),
      await fail(unpaid, 1, 'the bank says no', { retry: false }),
      await complete(paid, 7),
    ]);
    expect(run?.output).toEqual([true, true, true, false]);
    await test.tock.tick();
    expect(await test.tock.runs.get(paid)).toMatchObject({ status: 'succeeded', output: { cents: 12 } });
    expect(await test.tock.runs.get(unpaid)).toMatchObject({ status: 'dead' });
  });

  it('limits, pauses and resumes queues', { tags: 'check' }, async () => {
    await within(async ({ queues }) => {
      await queues.set('mails', { concurrency: 3 });
      await queues.pause('mails', { note: 'the server is down' });
    });
    expect(await test.tock.queues.list()).toMatchObject([
      { name: 'mails', concurrency: 3, pauseReason: 'the server is down' },
    ]);
    await within(async ({ queues }) => await queues.resume('mails'));
    expect(await test.tock.queues.list()).toMatchObject([{ name: 'mails', pausedAt: null }]);
  });

  it('has all of it for as long as the handler executes, also while its Tock closes', {
    tags: 'check',
  }, async () => {
    const tock = test.another();
    let isHeld = false;
    let go: () => void = () => undefined;
    const held = new Promise<void>(resolve => (go = resolve));
    work = async ctx => {
      isHeld = true;
      await held;
      return (await ctx.runs.get(ctx.runId))?.status;
    };
    const id = await tock.enqueue(oversees);
    await tock.start();
    await until(() => Promise.resolve(isHeld), 'the handler to begin');
    const closed = tock.close();
    await expect(tock.runs.get(id)).rejects.toMatchObject({ code: 'TOCK_CLOSED' });
    go();
    await closed;
    expect(await test.tock.runs.get(id)).toMatchObject({ status: 'succeeded', output: 'running' });
  });

  it('acts for the app where its worker acts for an operator', async () => {
    work = async ctx => (await ctx.queues.pause('mails')).name;
    const id = await test.tock.enqueue(oversees);
    await test.tock.as({ name: 'ada', via: 'cli', role: 'operate', seesPayloads: false }).tick();
    expect(await test.tock.runs.get(id)).toMatchObject({ status: 'succeeded', output: 'mails' });
    expect(await test.tock.audit.list()).toMatchObject([
      { action: 'queues.pause', operator: 'billing', via: 'api' },
    ]);
  });
});
