// Jobs that wait, of the histories and of the reliability suite. Each writes what it saw when it came past a wait.
// In: how they fail and retry. Out: jobs; what they wait for comes by chance (waits.ts), or from their children.
import { type AnyJob, Dead, defineJob, type JobContext, Snooze, typeOnly } from '../../src/index.js';
import { lot } from './lot.js';
import { newsKey } from './waits.js';

interface Tables {
  once_effects: { key: string };
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

/** @param work what handlers do before and after their waits; it may fail */
export function waitJobs(
  retry: { readonly maxAttempts: number; readonly backoff: 'fixed'; readonly base: string },
  work: (ctx: JobContext) => Promise<void>,
): Record<'sleeps' | 'hears' | 'parent' | 'kid' | 'joins', AnyJob> {
  return {
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
