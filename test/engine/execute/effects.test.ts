// Engine: effects that happen once, and transactions that commit with the run's success.
import { describe, expect, it } from 'vitest';
import type { Engine } from '../../../src/engine/engine.js';
import { activeRun } from '../../../src/engine/execute/active-run.js';
import { createEffects } from '../../../src/engine/execute/effects.js';
import { systemClock } from '../../../src/environment/system-clock.js';
import { type AnyJob, defineJob, type JobContext } from '../../../src/index.js';
import { silentLogger } from '../../../src/model/logger.js';
import type { Database } from '../../../src/store/connection/database.js';
import type { ClaimedRun } from '../../../src/store/runs/claim/claimed-run.js';
import { openDatabase } from '../../support/database.js';
import { gate } from '../../support/gate.js';
import { openForEach } from '../../support/open.js';
import { addRuns, WAITING_FOR_A_LOCK } from '../../support/runs.js';
import { reuseTestTock, until } from '../../support/test-tock.js';

interface Tables {
  mails: { who: string };
}
type Transaction = Parameters<Parameters<JobContext['once']>[1]>[0];

const test = openForEach(reuseTestTock, ({ sql }) => sql('create table public.mails (who text)'));

const job = (run: (ctx: JobContext) => unknown) =>
  defineJob({ name: 'acts', retry: { maxAttempts: 3, base: 0, jitter: 0 }, run: ctx => run(ctx) });
const mails = async () =>
  (await test.sql<{ who: string }>('select who from public.mails order by who')).map(row => row.who);
const runOf = async (acting: AnyJob) => {
  const tock = test.another({ jobs: [acting] });
  const id = await tock.enqueue(acting);
  const summary = await tock.tick();
  return { id, tock, summary, run: await tock.runs.get(id) };
};

it('the ledger takes no key of once for a step, nor the other way round, whatever they are called', async () => {
  const said: unknown[] = [];
  const acting = job(async ctx => {
    const { runId } = ctx;
    for (const name of ['a', `${runId}:a`, `step:${runId}:a`, `once:step:${runId}:a`, 'once:a', ':a']) {
      said.push([
        name,
        await ctx.step(name, () => `step ${name}`),
        await ctx.once(name, () => `once ${name}`),
      ]);
    }
  });
  const { run, tock } = await runOf(acting);
  expect(run).toMatchObject({ status: 'succeeded' });
  expect(said).toHaveLength(6);
  for (const [name, step, once] of said as [string, string, string][])
    expect([step, once]).toEqual([`step ${name}`, `once ${name}`]);
  // Another run whose steps have the first one's id in their names.
  await tock.enqueue(acting);
  await tock.tick();
  expect(await test.sql('select from tock.job_effects where key like $1', ['step:%'])).toHaveLength(12);
});

describe('ctx.once', () => {
  it('does the work once over attempts and runs, and gives the kept result back', {
    tags: 'check',
  }, async () => {
    let calls = 0;
    const results: unknown[] = [];
    const acting = job(async ctx => {
      results.push(
        await ctx.once('mail:7', async trx => {
          calls++;
          await trx.withTables<Tables>().insertInto('mails').values({ who: 'seven' }).execute();
          return { sent: calls };
        }),
      );
      if (ctx.attempt < 3) throw new Error('after the mail');
    });
    const { tock } = await runOf(acting);
    await tock.enqueue(acting);
    await tock.tick();
    expect(calls).toBe(1);
    expect(results.length).toBeGreaterThanOrEqual(4);
    expect(new Set(results.map(each => JSON.stringify(each)))).toEqual(new Set(['{"sent":1}']));
    expect(await mails()).toEqual(['seven']);
  });

  it('leaves neither the row nor the work when the work throws', { tags: 'check' }, async () => {
    const acting = job(ctx =>
      ctx.once('mail:8', async trx => {
        await trx
          .withTables<Tables>()
          .insertInto('mails')
          .values({ who: `attempt ${ctx.attempt}` })
          .execute();
        if (ctx.attempt < 3) throw new Error('refused');
      }),
    );
    expect((await runOf(acting)).run).toMatchObject({ status: 'succeeded', attempts: 3 });
    expect(await mails()).toEqual(['attempt 3']);
  });

  it('lets one of two runs at the same moment do it, and the other wait for the result', {
    tags: 'check',
  }, async () => {
    let calls = 0;
    const acting = job(ctx =>
      ctx.once('shared', async () => {
        calls++;
        await until(
          async () => (await test.sql(WAITING_FOR_A_LOCK)).length === 2,
          'the two others to wait for it',
        );
        return calls;
      }),
    );
    const tock = test.another({ jobs: [acting] });
    const ids = await tock.enqueueMany([{ job: acting }, { job: acting }, { job: acting }]);
    await tock.tick();
    expect(calls).toBe(1);
    for (const id of ids) expect(await tock.runs.get(id)).toMatchObject({ status: 'succeeded', output: 1 });
  });
});

it('ctx.step keeps a result across the attempts of its run, and not for another run', {
  tags: 'check',
}, async () => {
  let calls = 0;
  const acting = job(async ctx => {
    const step = await ctx.step('fetch', () => ({ call: ++calls }));
    if (ctx.attempt < 3) throw new Error('later');
    return step;
  });
  expect((await runOf(acting)).run).toMatchObject({ status: 'succeeded', output: { call: 1 } });
  expect((await runOf(acting)).run).toMatchObject({ output: { call: 2 } });
});

/**
 * What an effect may not return, since it would be something else for those who get it later; and the
 * message.
 */
const CHANGING: readonly (readonly [() => unknown, string])[] = [
  [() => ({ users: new Map([[1, 'ann']]) }), 'result.users is a Map'],
  [() => new Date(0), 'result is a Date'],
  [() => new URL('https://example.com'), 'result is a URL'],
  [() => 'x'.repeat(2 ** 21), 'the result has 2097154 bytes, over the limit of 1048576'],
  [() => 'a\0b', 'result holds a NUL character'],
];
/** And what it may. */
const LASTING: readonly (() => unknown)[] = [
  () => undefined,
  () => null,
  () => 'é "quoted" \\',
  () => 2 ** 60,
  () => ({ zebra: 1, a: [{ y: null, x: 0.1 }], left: undefined }),
];

describe.each(['step', 'once'] as const)('the result of ctx.%s', effect => {
  const perform = (ctx: JobContext, key: string, what: () => unknown): Promise<unknown> =>
    effect === 'step'
      ? ctx.step(key, what as () => string)
      : ctx.once(key, async trx => {
          await trx.withTables<Tables>().insertInto('mails').values({ who: key }).execute();
          return what() as string;
        });

  it('is refused at the first attempt, and not kept, where it would be something else later', {
    tags: 'check',
  }, async () => {
    const given: unknown[] = [];
    const acting = defineJob({
      name: 'acts',
      retry: { maxAttempts: 1 },
      run: async (ctx, payload) => {
        const [what = () => null] = CHANGING[payload as number] ?? [];
        given.push(await perform(ctx, 'fetch', what));
      },
    });
    const tock = test.another({ jobs: [acting] });
    const ids = await tock.enqueueMany(CHANGING.map((_, payload) => ({ job: acting, payload })));
    expect((await tock.tick()).executed).toMatchObject({ dead: CHANGING.length });
    for (const [place, [, message]] of CHANGING.entries()) {
      const run = await tock.runs.get(ids[place] ?? '');
      expect(run?.errors).toMatchObject([{ code: 'TOCK_BAD_RESULT' }]);
      expect(run?.errors[0]?.message).toContain(`the result of ${effect} "fetch" cannot be kept: ${message}`);
    }
    expect(given).toEqual([]);
    expect([await test.sql('select * from tock.job_effects'), await mails()]).toEqual([[], []]);
  });

  it('is the same for the first and for all later attempts', { tags: 'check' }, async () => {
    const results = LASTING.map((): unknown[] => []);
    const acting = job(async ctx => {
      for (const [place, what] of LASTING.entries())
        results[place]?.push(await perform(ctx, `no ${place}`, what));
      if (ctx.attempt < 3) throw new Error('later');
    });
    expect((await runOf(acting)).run).toMatchObject({ status: 'succeeded', attempts: 3 });
    for (const [place, what] of LASTING.entries()) {
      expect(results[place]).toEqual([what(), what(), what()]);
      // Also in the order of the keys.
      const texts = results[place]?.map(each => (each === undefined ? 'undefined' : JSON.stringify(each)));
      expect(new Set(texts).size).toBe(1);
    }
  });
});

const later = defineJob({ name: 'later', run: () => null });

// Regression: only the first of a loop was done, and the others got its result, or in parallel did their work for nothing.
describe('a name that is used twice in one attempt', () => {
  const uses: Record<string, (ctx: JobContext, name: string) => Promise<unknown>> = {
    step: (ctx, name) => ctx.step(name, () => void sent.push(name)),
    child: (ctx, name) => ctx.child(name, later),
    'group.add': (ctx, name) => ctx.group.add(name, [{ job: later }]),
  };
  let sent: string[] = [];

  it.each(Object.keys(uses))(
    'is refused by ctx.%s, in a loop and in parallel, with a way out',
    async method => {
      const use = uses[method] ?? (() => Promise.resolve());
      const codes: unknown[] = [];
      sent = [];
      const acting = job(async ctx => {
        const ended = await Promise.allSettled([use(ctx, 'a'), use(ctx, 'a')]);
        const inLoop = await use(ctx, 'a').catch((error: unknown) => error);
        for (const error of [
          ...ended.flatMap(each => (each.status === 'rejected' ? [each.reason] : [])),
          inLoop,
        ])
          codes.push(error);
        // Another name is free, and so is that of each method: they are apart.
        await use(ctx, 'b');
        await ctx.step('c', () => null);
        if (ctx.attempt < 2) throw new Error('later');
        return ended.map(({ status }) => status);
      });
      const tock = test.another({ jobs: [acting, later] });
      const { runs } = await tock.enqueueGroup([{ job: acting }], { then: { job: later } });
      await tock.tick();
      expect(await tock.runs.get(runs[0] ?? '')).toMatchObject({
        status: 'succeeded',
        output: ['fulfilled', 'rejected'],
      });
      expect(codes).toHaveLength(4);
      for (const error of codes)
        expect(error).toMatchObject({
          code: 'TOCK_BAD_STATE',
          message: expect.stringMatching(
            `^ctx.${method} "a" is called twice .* give each call its own name, such as`,
          ),
        });
      if (method === 'step') expect(sent).toEqual(['a', 'b']);
    },
  );

  it('may be used again after an error', async () => {
    let calls = 0;
    const acting = job(async ctx => {
      const fetch = () => {
        if (++calls === 1) throw new Error('busy');
        return calls;
      };
      const first = await ctx.step('fetch', fetch).catch(() => null);
      return [first, await ctx.step('fetch', fetch)];
    });
    expect((await runOf(acting)).run).toMatchObject({ status: 'succeeded', attempts: 1, output: [null, 2] });
  });
});

describe.each(['once', 'transaction'] as const)('ctx.%s', effect => {
  it('fails when the work swallowed an SQL error, since its transaction is void', async () => {
    await test.sql('alter table public.mails add unique (who)');
    await test.sql(`insert into public.mails values ('taken')`);
    const work = async (trx: Transaction) => {
      await trx
        .withTables<Tables>()
        .insertInto('mails')
        .values({ who: 'taken' })
        .execute()
        .catch(() => undefined);
      return 'all is well';
    };
    const acting = job(ctx => (effect === 'once' ? ctx.once('mail:9', work) : ctx.transaction(work)));
    expect((await runOf(acting)).run).toMatchObject({ status: 'dead', output: null });
    expect([await mails(), await test.sql('select * from tock.job_effects')]).toEqual([['taken'], []]);
  });
});

describe('ctx.transaction', () => {
  it('commits the work together with the success', { tags: 'check' }, async () => {
    const acting = job(ctx =>
      ctx.transaction(async trx => {
        await trx.withTables<Tables>().insertInto('mails').values({ who: 'both' }).execute();
        return { rows: 1 };
      }),
    );
    const { run, summary } = await runOf(acting);
    expect(run).toMatchObject({ status: 'succeeded', output: { rows: 1 } });
    expect(summary.executed.succeeded).toBe(1);
    expect(await mails()).toEqual(['both']);
  });

  it('fails with the error of a server that refuses to end the run, and commits nothing of that attempt', {
    tags: 'check',
  }, async () => {
    await test.sql(`
      create sequence public.refusals;
      create function public.refuse_once() returns trigger language plpgsql as $$ begin
        if nextval('public.refusals') = 1 then raise exception 'refused once'; end if;
        return old;
      end $$;
      create trigger refuse_once before delete on tock.job_runs_live for each row execute function public.refuse_once()`);
    const acting = job(ctx =>
      ctx.transaction(async trx => {
        await trx.withTables<Tables>().insertInto('mails').values({ who: 'again' }).execute();
      }),
    );
    const { run } = await runOf(acting);
    expect(run).toMatchObject({
      status: 'succeeded',
      attempts: 2,
      output: null,
      errors: [{ message: 'refused once' }],
    });
    expect(await mails()).toEqual(['again']);
  });

  it('stays succeeded when the handler throws after it', { tags: 'check' }, async () => {
    const acting = job(async ctx => {
      await ctx.transaction(trx =>
        trx
          .withTables<Tables>()
          .insertInto('mails')
          .values({ who: 'done' })
          .execute()
          .then(() => 'done'),
      );
      throw new Error('too late to matter');
    });
    expect((await runOf(acting)).run).toMatchObject({ status: 'succeeded', output: 'done', attempts: 1 });
  });

  it('survives the loss of its connection: the attempt fails, the work is rolled back', {
    tags: 'check',
  }, async () => {
    const acting = job(ctx =>
      ctx.transaction(async trx => {
        await trx
          .withTables<Tables>()
          .insertInto('mails')
          .values({ who: `attempt ${ctx.attempt}` })
          .execute();
        if (ctx.attempt === 1)
          await test.sql(
            `select pg_terminate_backend(pid) from pg_stat_activity where state = 'idle in transaction' and datname = current_database()`,
          );
      }),
    );
    expect((await runOf(acting)).run).toMatchObject({ status: 'succeeded', attempts: 2 });
    expect(await mails()).toEqual(['attempt 2']);
  });
});

it('a transaction whose commit was lost on the way says that its outcome is not known where that cannot be read either', async () => {
  const workerId = '00000000-0000-4000-8000-000000000001';
  const [id = ''] = await addRuns(test, { status: 'running', attempts: 1, fence: 1, locked_by: workerId });
  const database = openDatabase({ connectionString: test.url });
  const lost = Object.assign(new Error('read ECONNRESET'), { code: 'ECONNRESET' });
  const cutOff: Database = {
    ...database,
    handlers: {
      ...database.handlers,
      async transaction(work) {
        await database.handlers.transaction(work);
        throw lost;
      },
    },
    run: () => Promise.reject(Object.assign(new Error('permission denied'), { code: '42501' })),
  };
  const engine = { clock: systemClock, database: cutOff, logger: silentLogger } as unknown as Engine;
  const active = activeRun({ id, fence: 1, job: 'acts' } as ClaimedRun, systemClock.now());
  const { transaction } = createEffects(engine, active, workerId);
  await expect(transaction(() => 'done')).rejects.toMatchObject({
    code: 'TOCK_OUTCOME_UNKNOWN',
    cause: lost,
  });
  expect(active.isCommitted).toBe(false);
  await database.close();
});

describe.each([
  ['another has claimed the run anew', 'fence = fence + 1'],
  ['another holds it', 'locked_by = gen_random_uuid()'],
  ['it waits for its next attempt', `status = 'failed', run_at = run_at + interval '1 hour'`],
])('once the lease is lost since %s', (_what, change) => {
  const lose = (ctx: JobContext) =>
    test.sql(`update tock.job_runs_live set ${change} where id = $1`, [ctx.runId]);
  const caught = async (effect: (ctx: JobContext) => Promise<unknown>) => {
    const thrown: unknown[] = [];
    const acting = job(ctx => effect(ctx).catch((error: unknown) => thrown.push(error)));
    const { run, summary } = await runOf(acting);
    expect(run?.status).not.toBe('succeeded');
    expect(summary.executed).toMatchObject({ lost: 1, succeeded: 0 });
    expect([await mails(), await test.sql('select * from tock.job_effects')]).toEqual([[], []]);
    return thrown;
  };
  const write = async (trx: Transaction, ctx: JobContext) => {
    await trx.withTables<Tables>().insertInto('mails').values({ who: 'nobody' }).execute();
    await lose(ctx);
  };
  const LOST = [expect.objectContaining({ code: 'TOCK_LEASE_LOST' })];

  it('a step keeps nothing', { tags: 'check' }, async () => {
    expect(
      await caught(ctx =>
        ctx.step('charge', async () => {
          await lose(ctx);
          return 'charged';
        }),
      ),
    ).toEqual(LOST);
  });

  it('once commits nothing', { tags: 'check' }, async () => {
    expect(await caught(ctx => ctx.once(`mail:${ctx.runId}`, trx => write(trx, ctx)))).toEqual(LOST);
  });

  it('a transaction commits nothing', { tags: 'check' }, async () => {
    expect(await caught(ctx => ctx.transaction(trx => write(trx, ctx)))).toEqual(LOST);
  });
});

describe('the key of an effect', () => {
  it.each([['a'], ['k'.repeat(900)], [`${'ä'.repeat(449)}ab`]])('may be %s', { tags: 'check' }, async key => {
    const acting = job(ctx => ctx.once(key, () => 'done'));
    expect((await runOf(acting)).run).toMatchObject({ status: 'succeeded', output: 'done' });
  });

  it.each([
    ['empty', ''],
    ['longer than 900 bytes', `${'ä'.repeat(450)}a`],
    ['with NUL', 'a\u0000b'],
    ['a number', 7],
  ])('is refused where it is %s', { tags: 'check' }, async (_what, key) => {
    let calls = 0;
    const acting = job(async ctx => {
      await ctx.once(key as string, () => calls++).catch(() => undefined);
      await ctx.step(key as string, () => calls++);
    });
    expect((await runOf(acting)).run).toMatchObject({
      status: 'dead',
      errors: [{ code: 'TOCK_BAD_KEY' }, {}, {}],
    });
    expect(calls).toBe(0);
  });
});

it('ctx.progress is shown while the run is running, and is kept with it', { tags: 'check' }, async () => {
  const { opened: held, open: release } = gate();
  const acting = job(async ctx => {
    ctx.progress(0.25, 'reading');
    await held;
    ctx.progress(7, 'done');
  });
  const tock = test.another({ jobs: [acting] });
  const id = await tock.enqueue(acting);
  const ticking = tock.tick();
  await until(async () => (await tock.runs.get(id))?.progress?.fraction === 0.25, 'progress');
  release();
  await ticking;
  expect(await tock.runs.get(id)).toMatchObject({
    status: 'succeeded',
    progress: { fraction: 1, stage: 'done', events: 2 },
  });
});
