// Engine: calls of a context that a handler has not awaited. An error that nobody catches fails the whole file.
import { describe, expect, it } from 'vitest';
import { type Engine, readSettings } from '../../../src/engine/engine.js';
import { abort } from '../../../src/engine/execute/abort.js';
import { type ActiveRun, activeRun } from '../../../src/engine/execute/active-run.js';
import { drainReason, executeRun } from '../../../src/engine/execute/execute.js';
import { type AnyJob, type BatchContext, defineJob, type JobContext } from '../../../src/index.js';
import { createRegistry } from '../../../src/model/job/registry.js';
import { silentLogger } from '../../../src/model/logger.js';
import type { Ending } from '../../../src/model/run/decide.js';
import type { ClaimedRun } from '../../../src/store/runs/claim/claimed-run.js';
import { openForEach } from '../../support/open.js';
import { reuseTestTock } from '../../support/test-tock.js';
import { createVirtualClock, turns } from '../../support/virtual-clock.js';

const test = openForEach(() => reuseTestTock());
const other = defineJob({ name: 'other', run: () => null });
const acts = (run: (ctx: JobContext) => unknown) =>
  defineJob({ name: 'acts', retry: { maxAttempts: 1 }, run: ctx => run(ctx) }) as AnyJob;
const runOf = async (job: AnyJob) => {
  const tock = test.another({ jobs: [job, other] });
  const { runs } = await tock.enqueueGroup([{ job }], { then: { job: other } });
  const { executed } = await tock.tick();
  return { executed, tock, run: await tock.runs.get(runs[0] ?? '') };
};
const notAwaited = (call: string) => ({
  status: 'dead',
  errors: [{ code: 'TOCK_NOT_AWAITED', message: expect.stringContaining(`without awaiting ${call}: `) }],
});

/** Each call, and what a message calls it. */
const CALLS: Record<string, (ctx: JobContext) => Promise<unknown>> = {
  'ctx.step "mail"': ctx => ctx.step('mail', () => 1),
  'ctx.once "mail"': ctx => ctx.once('mail', () => 1),
  'ctx.cursor "rows"': ctx => ctx.cursor('rows', 0),
  'ctx.sleep "a day"': ctx => ctx.sleep('a day', '1d'),
  'ctx.waitFor "paid"': ctx => ctx.waitFor('paid'),
  'ctx.waitForRuns': ctx => ctx.waitForRuns(['404']),
  'ctx.closeUntil "1h"': ctx => ctx.closeUntil('1h', { queue: true }),
  'ctx.enqueue "other"': ctx => ctx.enqueue(other),
  'ctx.enqueueMany': ctx => ctx.enqueueMany([{ job: other }]),
  'ctx.child "part"': ctx => ctx.child('part', other),
  'ctx.group.add "more"': ctx => ctx.group.add('more', [{ job: other }]),
  'ctx.emit "paid"': ctx => ctx.emit('paid'),
  'ctx.complete "404"': ctx => ctx.complete('404', 1),
  'ctx.runs.retry "404"': ctx => ctx.runs.retry('404'),
  'ctx.queues.pause "mail"': ctx => ctx.queues.pause('mail'),
  'ctx.scheduler.status': ctx => ctx.scheduler.status(),
};

// Regression: the run succeeded, and the error of what it had left behind ended the process and blamed another run.
describe('a call of ctx that is not awaited', () => {
  it.each(Object.keys(CALLS))('fails the attempt once it has ended: %s', async name => {
    let isDone = false;
    const { run } = await runOf(
      acts(ctx => {
        const call = CALLS[name]?.(ctx);
        void call?.finally(() => (isDone = true)).catch(() => undefined);
      }),
    );
    expect(run).toMatchObject(notAwaited(name));
    expect(isDone).toBe(true);
  });

  it('fails it too where the call has failed before the handler returned, and says how', async () => {
    const { run } = await runOf(
      acts(async ctx => {
        void ctx.enqueue<string>('no-such-job');
        await ctx.step('later', () => 1);
      }),
    );
    expect(run).toMatchObject(notAwaited('ctx.enqueue "no-such-job"'));
    expect(run?.errors[0]?.cause).toMatchObject({ code: 'TOCK_UNKNOWN_JOB' });
  });

  it('is named with the number of the others, and is known of a cursor and a derived context too', async () => {
    const { run } = await runOf(
      acts(async ctx => {
        const cursor = await ctx.cursor('rows', 0);
        const { step } = Object.create(ctx, {}) as JobContext;
        void cursor.advance(Number.NaN);
        void step('a', () => 1);
        void step('b', () => 1);
      }),
    );
    expect(run).toMatchObject(notAwaited('cursor.advance and 2 more'));
  });

  it('leaves the success that ctx.transaction has committed', async () => {
    const { run } = await runOf(acts(ctx => void ctx.transaction(() => 'both')));
    expect(run).toMatchObject({ status: 'succeeded', output: 'both' });
  });

  it('does not change how an attempt ends that threw', async () => {
    const { run } = await runOf(
      acts(ctx => {
        void ctx.enqueue<string>('no-such-job');
        throw new Error('its own');
      }),
    );
    expect(run).toMatchObject({ status: 'dead', errors: [{ message: 'its own' }] });
  });

  it('fails all runs of a batch of which nothing else was said', async () => {
    const batch = defineJob({
      name: 'batch',
      retry: { maxAttempts: 1 },
      batch: { size: 2, within: '1m' },
      run: (ctx: BatchContext) => void ctx.enqueue(other),
    }) as AnyJob;
    const tock = test.another({ jobs: [batch, other] });
    const ids = await tock.enqueueMany([{ job: batch }, { job: batch }]);
    await tock.tick();
    for (const id of ids) expect(await tock.runs.get(id)).toMatchObject(notAwaited('ctx.enqueue "other"'));
  });
});

it('calls that are awaited later, together, by then or in a catch are no fault', async () => {
  const { run } = await runOf(
    acts(async ctx => {
      const early = ctx.enqueue<string>('no-such-job');
      const [a, b] = await Promise.all([ctx.step('a', () => 1), ctx.step('b', () => 2)]);
      const c = await ctx.step('c', () => 3).then(value => value + 1);
      const settled = await Promise.allSettled([ctx.runs.retry('404')]);
      const code = await early.catch((error: unknown) => (error as { code: string }).code);
      return [a, b, c, settled[0].status, code, await ctx.step('d', () => 4).finally(() => undefined)];
    }),
  );
  expect(run).toMatchObject({ status: 'succeeded', output: [1, 2, 4, 'rejected', 'TOCK_UNKNOWN_JOB', 4] });
});

describe('a call that does not end', () => {
  const clock = createVirtualClock();
  const attempt = (): { active: ActiveRun; endings: (Ending | null)[] } => {
    const engine = {
      clock,
      registry: createRegistry([acts(ctx => void ctx.emit('paid'))]),
      settings: readSettings({ grace: '10s' }),
      logger: silentLogger,
      isolation: null,
      hooks: {},
      forHandlers: () => ({ emit: () => new Promise(() => undefined) }),
    } as unknown as Engine;
    const run = { id: '1', job: 'acts', payload: {}, scheduled_for: null, slot_keys: null, window: null };
    const active = activeRun(run as unknown as ClaimedRun, clock.now());
    const endings: (Ending | null)[] = [];
    executeRun(engine, active, 'worker', ending => endings.push(ending));
    return { active, endings };
  };
  const NOT_AWAITED = { kind: 'threw', error: { code: 'TOCK_NOT_AWAITED' } };

  it('is awaited for the grace', async () => {
    const { endings } = attempt();
    await clock.advance(9999);
    expect(endings).toEqual([]);
    await clock.advance(1);
    expect(endings).toMatchObject([NOT_AWAITED]);
  });

  it('does not change how an attempt ends that is drained, cancelled or lost meanwhile', async () => {
    const [drained, cancelled, lost] = [attempt(), attempt(), attempt()];
    await turns();
    abort(drained.active.interrupt, drainReason());
    cancelled.active.cancelRequested = true;
    lost.active.isLost = true;
    await clock.advance(10_000);
    expect([drained.endings, cancelled.endings, lost.endings]).toEqual([
      [{ kind: 'drained' }],
      [{ kind: 'cancelled' }],
      [null],
    ]);
    expect(clock.waiting()).toBe(0);
  });
});
