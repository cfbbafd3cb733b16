// The job module of the reliability suite. Bundled by esbuild, and named in TOCK_JOBS.
// What a handler does depends on its run and attempt alone. Some take longer than others, so that a worker that is
// killed or frozen holds runs. None looks at its signal: what such a handler does after its lease is what is tested.
import { type AnyJob, defineJob, type HandOff, type JobContext } from '../../../src/index.js';
import { lot } from '../lot.js';
import { HANDOFF_LEASE_MS, type JobName, KEY_LIMIT, RETRY } from './load.js';

interface Tables {
  once_effects: { key: string };
  transaction_effects: { run_id: string };
  step_values: { run_id: string; value: number };
  messages: { run_id: string; fence: number; attempt: number };
}

const pause = (ctx: JobContext) =>
  new Promise(resolve =>
    setTimeout(resolve, lot(ctx, 1) < 0.08 ? 800 + lot(ctx, 2) * 2000 : lot(ctx, 2) * 80),
  );

async function work(ctx: JobContext, failing = 0.1): Promise<void> {
  await pause(ctx);
  if (lot(ctx, 3) < failing) throw new Error(`attempt ${ctx.attempt} fails by lot`);
}

/** Over a second connection, which a small pool refuses. */
async function lookBeside(ctx: JobContext): Promise<void> {
  const look = ctx.db.withTables<Tables>().selectFrom('once_effects').select('key').limit(1).execute();
  await look.catch((error: { code?: unknown }) => {
    if (error.code !== 'TOCK_NESTED_CONNECTION') throw error;
  });
}

/** One row under a key, ever; before it, within it and after it the attempt may fail. */
async function effectOnce(ctx: JobContext): Promise<void> {
  const key = `effect:${ctx.runId}`;
  await ctx.once(key, async trx => {
    await trx.withTables<Tables>().insertInto('once_effects').values({ key }).execute();
    await lookBeside(ctx);
    if (lot(ctx, 4) < 0.1) throw new Error('within the work');
    return ctx.attempt;
  });
}

const all: Readonly<Record<JobName, AnyJob>> = {
  plain: defineJob({ name: 'plain', retry: RETRY, run: ctx => work(ctx, 0) }),
  slow: defineJob({
    name: 'slow',
    retry: RETRY,
    run: ctx => new Promise(resolve => setTimeout(resolve, 1500 + lot(ctx, 7) * 2000)),
  }),
  failing: defineJob({ name: 'failing', retry: RETRY, run: ctx => work(ctx, 0.4) }),
  once: defineJob({
    name: 'once',
    retry: RETRY,
    async run(ctx) {
      await work(ctx);
      await effectOnce(ctx);
      await work(ctx);
    },
  }),
  step: defineJob({
    name: 'step',
    retry: RETRY,
    async run(ctx) {
      await pause(ctx);
      const value = await ctx.step('number', () => ctx.attempt * 1000 + Math.floor(Math.random() * 1000));
      // What this attempt was given: all attempts must be given the same.
      await ctx.db
        .withTables<Tables>()
        .insertInto('step_values')
        .values({ run_id: ctx.runId, value })
        .execute();
      await work(ctx, 0.3);
      return value;
    },
  }),
  transaction: defineJob({
    name: 'transaction',
    retry: RETRY,
    async run(ctx) {
      await pause(ctx);
      return await ctx.transaction(async trx => {
        await trx
          .withTables<Tables>()
          .insertInto('transaction_effects')
          .values({ run_id: ctx.runId })
          .execute();
        if (lot(ctx, 5) < 0.2) throw new Error('within the transaction');
        if (lot(ctx, 6) < 0.3) await pause(ctx);
        return ctx.attempt;
      });
    },
  }),
  limited: defineJob({
    name: 'limited',
    retry: RETRY,
    concurrency: { limit: KEY_LIMIT, key: (payload: { key: string }) => payload.key },
    run: ctx => work(ctx),
  }),
  // It fails often: then its slot is freed, and not passed on by the next claim.
  shared: defineJob({
    name: 'shared',
    retry: RETRY,
    concurrency: { limit: 1, key: (payload: { key: string }) => payload.key },
    async run(ctx) {
      await new Promise(resolve => setTimeout(resolve, lot(ctx, 2) * 300));
      if (lot(ctx, 3) < 0.5) throw new Error(`attempt ${ctx.attempt} fails by lot`);
    },
  }),
  narrow: defineJob({ name: 'narrow', retry: RETRY, queue: 'narrow', run: ctx => work(ctx) }),
  // The message may be answered before the run is handed off, or though it never is.
  handed: defineJob({
    name: 'handed',
    retry: RETRY,
    async run(ctx): Promise<HandOff> {
      const { runId, fence, attempt } = ctx;
      await ctx.db
        .withTables<Tables>()
        .insertInto('messages')
        .values({ run_id: runId, fence, attempt })
        .execute();
      await work(ctx);
      return ctx.handOff({ lease: HANDOFF_LEASE_MS });
    },
  }),
  isolated: defineJob({
    name: 'isolated',
    retry: RETRY,
    isolate: true,
    async run(ctx) {
      await effectOnce(ctx);
      await work(ctx);
    },
  }),
  doomed: defineJob({
    name: 'doomed',
    retry: { ...RETRY, maxAttempts: 2 },
    onDead: 'mourner',
    async run(ctx) {
      await work(ctx, 1);
    },
  }),
  mourner: defineJob({ name: 'mourner', retry: RETRY, run: ctx => work(ctx) }),
  secondly: defineJob({
    name: 'secondly',
    schedule: { every: '1s', catchup: 'all', overlap: 'allow_all' },
    retry: RETRY,
    run: ctx => work(ctx),
  }),
  fourths: defineJob({
    name: 'fourths',
    schedule: { every: '4s', catchup: 'all', overlap: 'allow_all' },
    retry: RETRY,
    run: ctx => work(ctx, 0.3),
  }),
  // One after another, though those that it follows end in any order.
  follower: defineJob({
    name: 'follower',
    schedule: { after: 'fourths' },
    retry: RETRY,
    run: ctx => work(ctx, 0.3),
  }),
  seconds: defineJob({
    name: 'seconds',
    schedule: { cron: '* * * * * *', catchup: 'all', overlap: 'allow_all' },
    retry: RETRY,
    run: ctx => work(ctx, 0),
  }),
  thirds: defineJob({
    name: 'thirds',
    schedule: { cron: '*/3 * * * * *', catchup: 'latest' },
    retry: RETRY,
    run: ctx => work(ctx),
  }),
};

export const jobs: AnyJob[] = Object.values(all);
