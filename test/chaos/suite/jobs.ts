// The job module of the reliability suite. Bundled by esbuild, and named in TOCK_JOBS.
// What a handler does depends on its run and attempt alone. Some take longer than others, so that a worker that is
// killed or frozen holds runs. None looks at its signal: what such a handler does after its lease is what is tested.
import {
  type AnyJob,
  type BatchRun,
  Dead,
  defineJob,
  type JobContext,
  typeOnly,
} from '../../../src/index.js';
import { lot } from '../lot.js';
import { effectOnce, sharedJobs } from '../shared-jobs.js';
import { HANDOFF_LEASE_MS, type JobName, KEY_LIMIT, RETRY } from './load.js';

interface Tables {
  transaction_effects: { run_id: string };
  step_values: { run_id: string; value: number };
  packed_effects: { run_id: string; fence: number; size: number };
  wait_notes: { run_id: string; wait: string; saw: string };
}

/** How often an attempt fails within its effect. */
const FAILING = 0.1;

const pause = (ctx: JobContext) =>
  new Promise(resolve =>
    setTimeout(resolve, lot(ctx, 1) < 0.08 ? 800 + lot(ctx, 2) * 2000 : lot(ctx, 2) * 80),
  );

async function work(ctx: JobContext, failing = 0.1): Promise<void> {
  await pause(ctx);
  if (lot(ctx, 3) < failing) throw new Error(`attempt ${ctx.attempt} fails by lot`);
}

/** A run of a batch, as the other handlers are given theirs. */
type One = Pick<BatchRun, 'id' | 'attempt' | 'fence'>;
const lotOf = ({ id, attempt }: One, salt: number) => lot({ runId: id, attempt }, salt);
/** As a batch takes as long as its slowest run. */
const pauseAll = (runs: readonly One[]) =>
  new Promise(resolve =>
    setTimeout(resolve, Math.max(...runs.map(each => (lotOf(each, 1) < 0.08 ? 1500 : 50)))),
  );

/** What the fate of a packed run says: that it is its own. */
const failureOf = ({ id, attempt, fence }: One) =>
  new Error(`run ${id} under ${fence}: attempt ${attempt} fails by lot`);
const isPackedToFail = (run: One) => lotOf(run, 3) < 0.25;

/** Not once only: each attempt that comes to it writes its row, and which fence it had. */
async function pack({ db }: Pick<JobContext, 'db'>, runs: readonly One[]): Promise<void> {
  const rows = runs.map(({ id, fence }) => ({ run_id: id, fence, size: runs.length }));
  await db.withTables<Tables>().insertInto('packed_effects').values(rows).execute();
}

/** As older code has it: without `batch`. */
export const packedBefore: AnyJob = defineJob({
  name: 'packed',
  retry: RETRY,
  async run(ctx) {
    const run = { id: ctx.runId, attempt: ctx.attempt, fence: ctx.fence };
    await pauseAll([run]);
    await pack(ctx, [run]);
    if (isPackedToFail(run)) throw failureOf(run);
    return { run: run.id, fence: run.fence };
  },
});

const all: Readonly<Record<JobName, AnyJob>> = {
  plain: defineJob({ name: 'plain', retry: RETRY, run: ctx => work(ctx, 0) }),
  slow: defineJob({
    name: 'slow',
    retry: RETRY,
    run: ctx => new Promise(resolve => setTimeout(resolve, 1500 + lot(ctx, 7) * 2000)),
  }),
  failing: defineJob({ name: 'failing', retry: RETRY, run: ctx => work(ctx, 0.4) }),
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
  // The effects and the success of all of its runs but those that fail by lot are one transaction.
  batched: defineJob({
    name: 'batched',
    retry: RETRY,
    batch: { size: 8, within: '300ms' },
    async run(ctx, runs) {
      const failing = new Set(runs.filter(run => lotOf(run, 3) < 0.15));
      for (const run of failing) runs.fail(run, failureOf(run));
      const rows = runs.filter(run => !failing.has(run)).map(({ id }) => ({ run_id: id }));
      if (rows.length === 0) return;
      await ctx.transaction(async trx => {
        await trx.withTables<Tables>().insertInto('transaction_effects').values(rows).execute();
        await pauseAll(runs);
        if (runs.some(run => lotOf(run, 5) < 0.03)) throw new Error('within the transaction');
      });
    },
  }),
  packed: defineJob({
    name: 'packed',
    retry: RETRY,
    payload: typeOnly<{ key: string }>(),
    batch: { size: 6, within: '400ms', key: ({ key }) => (key === 'a' ? 'a' : 'others') },
    async run(ctx, runs) {
      await pauseAll(runs);
      await pack(ctx, runs);
      for (const run of runs) {
        if (isPackedToFail(run)) runs.fail(run, failureOf(run));
        else runs.succeed(run, { run: run.id, fence: run.fence });
      }
      // What was said of each counts all the same.
      if (runs.some(run => lotOf(run, 5) < 0.05)) throw new Error('after all was said');
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
  isolated: defineJob({
    name: 'isolated',
    retry: RETRY,
    isolate: true,
    async run(ctx) {
      await effectOnce(ctx, FAILING);
      await work(ctx);
    },
  }),
  ...sharedJobs({ retry: RETRY, pause, work, failing: FAILING, handOffLease: HANDOFF_LEASE_MS }),
  // Its group waits for its children too.
  adds: defineJob({
    name: 'adds',
    retry: RETRY,
    async run(ctx) {
      await work(ctx);
      await ctx.group.add(
        'others',
        ['one', 'two'].map(name => ({ job: 'kid', payload: { parent: ctx.runId, name } })),
      );
      await work(ctx);
    },
  }),
  // By its attempt: it may do better when it is retried.
  mortal: defineJob({
    name: 'mortal',
    retry: RETRY,
    async run(ctx) {
      await work(ctx);
      if (lot(ctx, 21) < 0.3) throw new Dead('by lot');
    },
  }),
  heir: defineJob({
    name: 'heir',
    retry: RETRY,
    async run(ctx) {
      // By name, and a run that was there is named by its id: an object has such keys first.
      const saw = Object.values(ctx.parents)
        .map(({ status }) => status)
        .toSorted()
        .join();
      await ctx.db
        .withTables<Tables>()
        .insertInto('wait_notes')
        .values({ run_id: ctx.runId, wait: 'parents', saw })
        .execute();
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
