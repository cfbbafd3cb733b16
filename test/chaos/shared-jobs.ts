// Jobs of the stories and of the reliability suite. Those that wait write what they saw when they came past a wait.
// In: how they fail and retry. Out: jobs; what they wait for comes by chance (waits.ts), or from their children.
// What a handler does depends on its run and attempt alone.
import {
  type AnyJob,
  Dead,
  defineJob,
  type HandOff,
  type JobContext,
  Snooze,
  typeOnly,
} from '../../src/index.js';
import { lot } from './lot.js';
import { newsKey } from './waits.js';

interface Tables {
  once_effects: { key: string };
  transaction_effects: { run_id: string };
  messages: { run_id: string; fence: number; attempt: number };
  wait_notes: { run_id: string; wait: string; saw: string };
}

/** By its name: how kids fail is the caller's. */
const KID: string = 'kid';

/** Not in the ledger: each attempt that comes past the wait says so, and what it saw. */
async function past(ctx: JobContext, wait: string, saw: string): Promise<void> {
  await ctx.db
    .withTables<Tables>()
    .insertInto('wait_notes')
    .values({ run_id: ctx.runId, wait, saw })
    .execute();
}

/** Done once, however often the handler is called from its top. */
async function before(ctx: JobContext): Promise<void> {
  const key = `before:${ctx.runId}`;
  await ctx.once(key, async trx => {
    await trx.withTables<Tables>().insertInto('once_effects').values({ key }).execute();
  });
}

/** Waits for the event. @param timeout Default: none */
export async function hear(ctx: JobContext, key: string, timeout?: string): Promise<void> {
  const heard = await (timeout === undefined
    ? ctx.waitFor('news', { key })
    : ctx.waitFor('news', { key, timeout }));
  await past(ctx, 'event', heard.timedOut ? 'timeout' : heard.id);
}

/** Makes the children. */
export async function beget(ctx: JobContext): Promise<string[]> {
  const ids: string[] = [];
  for (const name of ['one', 'two', 'three'])
    ids.push(await ctx.child(name, KID, { parent: ctx.runId, name }));
  return ids;
}

/** Waits for the ends of the children. */
export async function join(ctx: JobContext, ids: readonly string[]): Promise<void> {
  const ended = await ctx.waitForRuns(ids);
  await past(ctx, 'runs', ended.map(({ status }) => status).join());
}

/** Over a second connection, which a small pool refuses. */
async function lookBeside(ctx: JobContext): Promise<void> {
  const look = ctx.db.withTables<Tables>().selectFrom('once_effects').select('key').limit(1).execute();
  await look.catch((error: { code?: unknown }) => {
    if (error.code !== 'TOCK_NESTED_CONNECTION') throw error;
  });
}

/** One row under a key, ever; within it and after it the attempt may fail. @param failing how often within it */
export async function effectOnce(ctx: JobContext, failing: number): Promise<void> {
  const key = `effect:${ctx.runId}`;
  await ctx.once(key, async trx => {
    await trx.withTables<Tables>().insertInto('once_effects').values({ key }).execute();
    await lookBeside(ctx);
    if (lot(ctx, 4) < failing) throw new Error('within the work');
    return ctx.attempt;
  });
}

interface Ways {
  readonly retry: { readonly maxAttempts: number; readonly backoff: 'fixed'; readonly base: string };
  readonly pause: (ctx: JobContext) => Promise<unknown>;
  /** What handlers do before and after what they are for; it may fail. */
  readonly work: (ctx: JobContext) => Promise<void>;
  /** How often an attempt fails within its effect. */
  readonly failing: number;
  readonly handOffLease: number;
}

type Name =
  | 'once'
  | 'transaction'
  | 'fair'
  | 'handed'
  | 'suicide'
  | 'sleeps'
  | 'hears'
  | 'parent'
  | 'kid'
  | 'joins';

export function sharedJobs(ways: Ways): Record<Name, AnyJob> {
  const { retry, pause, work, failing, handOffLease } = ways;
  return {
    once: defineJob({
      name: 'once',
      retry,
      async run(ctx) {
        await pause(ctx);
        await effectOnce(ctx, failing);
        await work(ctx);
      },
    }),
    // Its effect and its success are one transaction.
    transaction: defineJob({
      name: 'transaction',
      retry,
      async run(ctx) {
        await pause(ctx);
        return await ctx.transaction(async trx => {
          await trx
            .withTables<Tables>()
            .insertInto('transaction_effects')
            .values({ run_id: ctx.runId })
            .execute();
          if (lot(ctx, 5) < failing * 2) throw new Error('within the transaction');
          if (lot(ctx, 6) < 0.3) await pause(ctx);
          return ctx.attempt;
        });
      },
    }),
    // Shares the workers by its keys, each of which has a limit and a rate, and sometimes says: not so often.
    fair: defineJob({
      name: 'fair',
      retry,
      payload: typeOnly<{ key: string }>(),
      fair: { key: '$.key', limit: 1 },
      rate: { limit: 2, per: '1s', burst: 2 },
      async run(ctx) {
        await pause(ctx);
        if (lot(ctx, 6) < 0.15) await ctx.closeUntil('2s');
        await work(ctx);
      },
    }),
    // Its message may be answered before the run is handed off, or though it never is.
    handed: defineJob({
      name: 'handed',
      retry,
      async run(ctx): Promise<HandOff> {
        const { runId, fence, attempt } = ctx;
        await ctx.db
          .withTables<Tables>()
          .insertInto('messages')
          .values({ run_id: runId, fence, attempt })
          .execute();
        await work(ctx);
        return ctx.handOff({ lease: handOffLease });
      },
    }),
    // Kills its own process.
    suicide: defineJob({
      name: 'suicide',
      retry: { ...retry, maxAttempts: 2 },
      run: () => {
        process.kill(process.pid, 'SIGKILL');
        return new Promise(() => undefined);
      },
    }),
    sleeps: defineJob({
      name: 'sleeps',
      retry,
      async run(ctx) {
        await before(ctx);
        await ctx.sleep('nap', '3s');
        await past(ctx, 'sleep', 'time');
        if (ctx.snoozes < 2) throw new Snooze('1s');
        await work(ctx);
      },
    }),
    hears: defineJob({
      name: 'hears',
      retry,
      async run(ctx) {
        await before(ctx);
        await work(ctx);
        await hear(ctx, newsKey(Number(ctx.runId)), Number(ctx.runId) % 2 === 0 ? '8s' : undefined);
        await work(ctx);
      },
    }),
    parent: defineJob({
      name: 'parent',
      retry,
      async run(ctx) {
        await before(ctx);
        const ids = await beget(ctx);
        await join(ctx, ids);
        await work(ctx);
      },
    }),
    joins: defineJob({
      name: 'joins',
      retry,
      async run(ctx) {
        await before(ctx);
        const statuses: string[] = [];
        for await (const { status } of ctx.group.results()) statuses.push(status ?? 'nothing');
        await past(ctx, 'group', statuses.join());
        await work(ctx);
      },
    }),
    kid: defineJob({
      name: KID,
      payload: typeOnly<{ parent: string; name: string }>(),
      retry,
      async run(ctx) {
        await work(ctx);
        // By its attempt: it may do better when it is retried.
        if (lot(ctx, 21) < 0.3) throw new Dead('by lot');
      },
    }),
  };
}
