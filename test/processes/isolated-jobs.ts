// The jobs of isolate.test.ts: each in a process of its own, and most of them bad for it.
import { spawn } from 'node:child_process';
import { performance } from 'node:perf_hooks';
import * as z from 'zod';
import { Cancel, Dead, defineJob, type JobContext, RetryLater, Snooze } from '../../src/index.js';
import { until } from '../support/until.js';

interface Tables {
  children: { run_id: string; attempt: number; pid: number; reason: string | null };
  releases: { at: Date };
  notes: { text: string };
}

/** Makes the child known to the test. */
async function appear(ctx: JobContext): Promise<void> {
  await ctx.db
    .withTables<Tables>()
    .insertInto('children')
    .values({ run_id: ctx.runId, attempt: ctx.attempt, pid: process.pid })
    .execute();
}

const never = () => new Promise<never>(() => undefined);
function spin(): never {
  for (;;);
}

const tell = defineJob({
  name: 'tell',
  isolate: true,
  payload: z.object({ who: z.string(), note: z.string().default('none') }),
  run: (ctx, payload) => ({
    pid: process.pid,
    payload,
    attempt: ctx.attempt,
    maxAttempts: ctx.maxAttempts,
    fence: ctx.fence,
    trigger: ctx.trigger,
    key: ctx.idempotencyKey,
    scheduledFor: ctx.scheduledFor,
    argv: [...process.execArgv, ...process.argv],
    env: Object.values(process.env),
  }),
});

const oversees = defineJob({
  name: 'oversees',
  isolate: true,
  payload: z.object({ dead: z.string() }),
  async run(ctx, { dead }) {
    const [made] = await ctx.enqueueMany([{ job: 'tell', payload: { who: 'Ada' }, delay: '1h' }]);
    const { status } = await ctx.runs.cancel(made ?? '', { reason: 'not now' });
    await ctx.queues.pause('reports');
    const refused = await ctx
      .enqueueMany([{ job: 'no-such-job' }])
      .catch((error: { code: string }) => error.code);
    return {
      status,
      retried: (await ctx.runs.retry(dead)).status,
      late: await ctx.complete(dead, 1),
      refused,
    };
  },
});

const closes = defineJob({
  name: 'closes',
  isolate: true,
  payload: z.object({ who: z.string() }),
  fair: { key: '$.who' },
  run: async ctx => (await ctx.closeUntil('2199-01-01T00:00:00Z')).toISOString(),
});

const planned = defineJob({
  name: 'planned',
  isolate: true,
  schedule: {
    every: '1h',
    payload: ({ occurrenceCount }) => ({ count: occurrenceCount }),
  },
  run: (ctx, payload) => ({
    isDate: ctx.scheduledFor instanceof Date,
    scheduledFor: ctx.scheduledFor,
    spanMs: Number(ctx.dataInterval?.end) - Number(ctx.dataInterval?.start),
    payload,
  }),
});

const throwing = defineJob({
  name: 'throwing',
  isolate: true,
  payload: z.object({ what: z.string() }),
  retry: { maxAttempts: 3, backoff: (_attempt, error) => (error as { waitMs?: number }).waitMs ?? 1 },
  async run(ctx, { what }) {
    if (what === 'error')
      throw Object.assign(new RangeError('too far'), { code: 'E_FAR', waitMs: 7_200_000 });
    if (what === 'cause') {
      const cause = new AggregateError([new Error('first: postgres://ada:hunter2@db/x'), 'second'], 'all');
      throw new TypeError('no reply', { cause });
    }
    if (what === 'null') throw null;
    if (what === 'retry-later') throw new RetryLater('5h', 'come back at five');
    if (what === 'dead') throw new Dead('no use');
    if (what === 'cancel') throw new Cancel('not wanted');
    if (what === 'uncaught') {
      setTimeout(() => {
        throw new TypeError('from a timer');
      }, 1);
      await never();
    }
    if (what === 'unawaited') {
      void Promise.reject(new TypeError('from a promise'));
      await never();
    }
    ctx.log.warn({ event: 'unexpected', what });
    return await never();
  },
});

const ending = defineJob({
  name: 'ending',
  isolate: { memoryMb: 64 },
  payload: z.object({ how: z.string() }),
  retry: { maxAttempts: 1 },
  async run(ctx, { how }) {
    await appear(ctx);
    if (how === 'exit 0') process.exit(0);
    if (how === 'exit 3') process.exit(3);
    if (how === 'SIGKILL') process.kill(process.pid, 'SIGKILL');
    if (how === 'SIGSEGV') process.kill(process.pid, 'SIGSEGV');
    if (how === 'out of memory') {
      const held: unknown[] = [];
      for (;;) held.push(Array.from({ length: 100_000 }, (_, index) => ({ index })));
    }
    if (how === 'transaction, then silence') {
      // The next word of the child would be that it has committed.
      process.send = () => process.kill(process.pid, 'SIGKILL');
      await ctx.transaction(async () => ({ committed: true }));
    }
    if (how === 'transaction, then exit') {
      await ctx.transaction(async () => ({ committed: true }));
      process.exit(7);
    }
    return await never();
  },
});

/** Computes without a pause: for ever, or for `ms`. */
const compute = defineJob({
  name: 'compute',
  isolate: true,
  payload: z.object({ ms: z.number().optional() }),
  async run(ctx, { ms }) {
    await appear(ctx);
    ctx.log.info({ event: 'computing', error: new Error('only told') }, 'begins');
    ctx.progress(0.25, 'computing');
    if (ms === undefined) spin();
    const end = performance.now() + ms;
    while (performance.now() < end);
    return 'computed';
  },
});

const computeWithTimeout = defineJob({
  name: 'compute-with-timeout',
  isolate: true,
  // Longer than a busy machine takes to start the child.
  timeout: '15s',
  retry: { maxAttempts: 1 },
  async run(ctx) {
    await appear(ctx);
    spin();
  },
});

/** Frozen: neither the handler nor its process's own watch can end it. */
const frozen = defineJob({
  name: 'frozen',
  isolate: true,
  timeout: '15s',
  retry: { maxAttempts: 1 },
  async run(ctx) {
    await appear(ctx);
    process.kill(process.pid, 'SIGSTOP');
    await never();
  },
});

/** Waits until its signal aborts, and tells why. `stubborn`: and then goes on. */
const wait = defineJob({
  name: 'wait',
  isolate: true,
  payload: z.object({ stubborn: z.boolean().default(false), withChild: z.boolean().default(false) }),
  async run(ctx, { stubborn, withChild }) {
    if (withChild) await startHelper(ctx);
    await appear(ctx);
    await new Promise(resolve => {
      ctx.signal.addEventListener('abort', resolve, { once: true });
    });
    const { code, name } = ctx.signal.reason as { code?: string; name: string };
    await ctx.db
      .withTables<Tables>()
      .updateTable('children')
      .set({ reason: code ?? name })
      .where('pid', '=', process.pid)
      .execute();
    if (stubborn) await never();
    throw ctx.signal.reason;
  },
});

/** Waits for a row in `releases`. */
const hold = defineJob({
  name: 'hold',
  isolate: true,
  async run(ctx) {
    await appear(ctx);
    const released = () => ctx.db.withTables<Tables>().selectFrom('releases').selectAll().execute();
    await until(async () => (await released()).length > 0, 'a release');
    return { pid: process.pid };
  },
});

const grows = defineJob({
  name: 'grows',
  isolate: true,
  retry: { maxAttempts: 2, base: '1s', jitter: 0 },
  async run(ctx) {
    const added = await ctx.group.add('more', [{ job: plain }, { job: plain }]);
    if (ctx.attempt === 1) throw new Error('once more');
    return added;
  },
});
const effects = defineJob({
  name: 'effects',
  isolate: true,
  retry: { maxAttempts: 3, backoff: () => 1, base: 1, jitter: 0 },
  async run(ctx) {
    const note = (text: string) => ctx.db.withTables<Tables>().insertInto('notes').values({ text }).execute();
    const step = await ctx.step('first', async () => {
      await note('step');
      return { by: ctx.attempt };
    });
    const once = await ctx.once('effects:once', async trx => {
      await trx.withTables<Tables>().insertInto('notes').values({ text: 'once' }).execute();
      return ctx.attempt;
    });
    if (ctx.attempt === 1) throw new Error('again');
    const other = await ctx.enqueue<string>('plain', {});
    const { definitions } = await ctx.scheduler.status();
    return await ctx.transaction(async trx => {
      await trx.withTables<Tables>().insertInto('notes').values({ text: 'transaction' }).execute();
      return { step, once, other, isCounted: definitions.scheduled > 0 };
    });
  },
});

/** Its lease is taken away while it works; then it would write. */
const late = defineJob({
  name: 'late',
  isolate: true,
  async run(ctx) {
    await appear(ctx);
    await new Promise(resolve => {
      ctx.signal.addEventListener('abort', resolve, { once: true });
    });
    try {
      await ctx.once('late:once', async trx => {
        await trx.withTables<Tables>().insertInto('notes').values({ text: 'late' }).execute();
      });
    } catch (error) {
      await ctx.db
        .withTables<Tables>()
        .insertInto('notes')
        .values({ text: `refused ${(error as { code?: string }).code}` })
        .execute();
    }
  },
});

/** Starts a process of its own and makes it known, as attempt 0. */
async function startHelper(ctx: JobContext): Promise<void> {
  const { pid = 0 } = spawn('sleep', ['1000'], { stdio: 'ignore' });
  await ctx.db
    .withTables<Tables>()
    .insertInto('children')
    .values({ run_id: ctx.runId, attempt: 0, pid })
    .execute();
}

/** Leaves a timer behind that would keep its process alive, and a process. */
const leavesMuch = defineJob({
  name: 'leaves-much',
  isolate: true,
  async run(ctx) {
    await startHelper(ctx);
    await appear(ctx);
    setInterval(() => undefined, 1000);
    return 'done';
  },
});

/** Hands its run off, or forgets to return what it got. */
const handsOff = defineJob({
  name: 'hands-off',
  isolate: true,
  retry: { maxAttempts: 1 },
  payload: z.object({ forgets: z.boolean().default(false) }),
  async run(ctx, { forgets }) {
    await appear(ctx);
    const handOff = ctx.handOff({ lease: '1h', to: 'another process' });
    return forgets ? 'nothing' : handOff;
  },
});

const follows = defineJob({
  name: 'follows',
  isolate: true,
  run: ctx => ctx.parents['told']?.status ?? null,
});

const waits = defineJob({
  name: 'waits',
  isolate: true,
  retry: { maxAttempts: 1 },
  payload: z.object({ catches: z.boolean().default(false), forgets: z.boolean().default(false) }),
  async run(ctx, { catches, forgets }) {
    if (forgets) return void ctx.sleep('a', '1h');
    const rows = await ctx.cursor('rows', 0);
    if (ctx.snoozes === 0) {
      await rows.advance(5);
      throw new Snooze('1s', { reason: 'not yet', giveUpAfter: '1h' });
    }
    await ctx.sleep('a', '1s').catch((error: unknown) => {
      if (!catches) throw error;
    });
    const child = await ctx.child<typeof plain>('child', 'plain');
    const [ended] = await ctx.waitForRuns([child]);
    const paid = await ctx.waitFor<number>('paid', { key: ctx.runId, timeout: '1h' });
    return {
      rows: rows.value,
      snoozes: ctx.snoozes,
      attempt: ctx.attempt,
      child: ended.status,
      paid: paid.timedOut ? null : paid.payload,
    };
  },
});

/** In the worker's own process. */
const plain = defineJob({ name: 'plain', run: () => process.pid });

export const jobs = [
  oversees,
  closes,
  tell,
  planned,
  throwing,
  ending,
  compute,
  computeWithTimeout,
  frozen,
  wait,
  hold,
  effects,
  grows,
  late,
  leavesMuch,
  handsOff,
  waits,
  follows,
  plain,
];
