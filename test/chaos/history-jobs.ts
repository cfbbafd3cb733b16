// The job module of the experiments with a history. Bundled by esbuild, and named in TOCK_JOBS.
// What a handler does depends on its run and attempt alone, so that a seed tells the whole story.
import { type AnyJob, defineJob, type HandOff, type JobContext } from '../../src/index.js';
import { lot } from './lot.js';

interface Tables {
  once_effects: { key: string };
  transaction_effects: { run_id: string };
  messages: { run_id: string; fence: number };
  begun: { fence: number };
  let_go: { until: number };
}

const pause = (ctx: JobContext) =>
  new Promise(resolve => setTimeout(resolve, lot(ctx, 1) < 0.1 ? 1500 : lot(ctx, 2) * 60));

async function mayFail(ctx: JobContext): Promise<void> {
  await pause(ctx);
  if (lot(ctx, 3) < 0.25) throw new Error(`attempt ${ctx.attempt} fails by lot`);
}

const retry = { maxAttempts: 5, backoff: 'fixed', base: '500ms', jitter: 0.2 } as const;

const minutely = defineJob({
  name: 'minutely',
  schedule: { cron: '* * * * *', catchup: 'all', overlap: 'allow_all' },
  retry,
  run: mayFail,
});
const latest = defineJob({
  name: 'latest',
  schedule: { cron: '*/2 * * * *', catchup: 'latest' },
  retry,
  run: mayFail,
});
const sevenths = defineJob({
  name: 'sevenths',
  schedule: { every: '7s', catchup: 'all', overlap: 'allow_all' },
  retry,
  run: mayFail,
});
/** One effect, through the ledger; before and after it the attempt may fail. */
const once = defineJob({
  name: 'once',
  retry,
  async run(ctx) {
    await pause(ctx);
    await ctx.once(`effect:${ctx.runId}`, async trx => {
      await trx
        .withTables<Tables>()
        .insertInto('once_effects')
        .values({ key: `effect:${ctx.runId}` })
        .execute();
      if (lot(ctx, 4) < 0.3) throw new Error('within the work');
    });
    await mayFail(ctx);
  },
});
/** Its effect and its success are one transaction. */
const transaction = defineJob({
  name: 'transaction',
  retry,
  async run(ctx) {
    await pause(ctx);
    return ctx.transaction(async trx => {
      await trx
        .withTables<Tables>()
        .insertInto('transaction_effects')
        .values({ run_id: ctx.runId })
        .execute();
      if (lot(ctx, 5) < 0.3) throw new Error('within the transaction');
      await pause(ctx);
      return ctx.attempt;
    });
  },
});
/** Kills its own process. */
const suicide = defineJob({
  name: 'suicide',
  retry: { ...retry, maxAttempts: 2 },
  run: () => {
    process.kill(process.pid, 'SIGKILL');
    return new Promise(() => undefined);
  },
});

/** Takes longer than a lease. */
const slow = defineJob({
  name: 'slow',
  retry,
  run: ctx =>
    new Promise((resolve, reject) => {
      setTimeout(resolve, 3000);
      ctx.signal.addEventListener('abort', () => reject(ctx.signal.reason));
    }),
});

/** Sends a message to another system, and is handed off to it; in between the attempt may fail. */
const handed = defineJob({
  name: 'handed',
  retry,
  async run(ctx): Promise<HandOff> {
    await ctx.db
      .withTables<Tables>()
      .insertInto('messages')
      .values({ run_id: ctx.runId, fence: ctx.fence })
      .execute();
    await mayFail(ctx);
    return ctx.handOff({ lease: '20s' });
  },
});
/** Waits until a story lets attempts of its fence go, and is handed off then, whatever its signal says. */
const handedLate = defineJob({
  name: 'handed-late',
  retry,
  async run(ctx): Promise<HandOff> {
    await ctx.db.withTables<Tables>().insertInto('begun').values({ fence: ctx.fence }).execute();
    const mayGo = () =>
      ctx.db
        .withTables<Tables>()
        .selectFrom('let_go')
        .select('until')
        .where('until', '>=', ctx.fence)
        .executeTakeFirst();
    while (!(await mayGo())) await new Promise(resolve => setTimeout(resolve, 50));
    return ctx.handOff({ lease: '20s' });
  },
});

export const jobs: AnyJob[] = [
  minutely,
  latest,
  sevenths,
  once,
  transaction,
  suicide,
  slow,
  handed,
  handedLate,
];
