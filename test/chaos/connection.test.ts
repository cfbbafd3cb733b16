// Chaos: connections that are ended, swallowed, or cut at the worst moment.
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type AnyJob, defineJob, type JobContext, type Tock } from '../../src/index.js';
import { killAfterEach, openForEach, stopAfterEach } from '../support/open.js';
import { startProcess, TICK, writeJobs } from '../support/processes.js';
import { openTestTock, until } from '../support/test-tock.js';
import { collectEvents, type EventLog } from './collecting-logger.js';
import { openProxy, type TcpProxy } from './tcp-proxy.js';

interface Tables {
  effects: { run_id: string };
}

const test = openForEach(openTestTock);
let proxy: TcpProxy;
let events: EventLog;
let tock: Tock;
const daemons = stopAfterEach();
const running = killAfterEach();
beforeEach(async () => {
  await test.sql('create table public.executions (run_id bigint, attempt int)');
  proxy = await openProxy(test.url);
  events = collectEvents();
});
afterEach(async () => {
  await proxy.close();
});

const FAST = { base: 0, jitter: 0 } as const;
const through = (jobs: readonly AnyJob[]) => {
  tock = test.another({
    connectionString: proxy.url,
    jobs,
    logger: events.logger,
    // Neither is to end because the machine stands still for a moment.
    lease: '30s',
    heartbeat: '500ms',
    statementTimeout: '4s',
  });
  return tock;
};
const start = async (listen: boolean) => {
  const daemon = await tock.start({ listen });
  daemons.push(daemon);
  return daemon;
};
const note = (ctx: JobContext) =>
  test.sql('insert into public.executions values ($1, $2)', [ctx.runId, ctx.attempt]);
const executions = async () =>
  (await test.sql<{ count: number }>('select count(*)::int as count from public.executions'))[0]?.count;
const statusOf = async (id: string) =>
  (await test.sql<{ status: string }>('select status from tock.job_runs where id = $1', [id]))[0]?.status;

// Ends every connection of Tock between two awaits: two of the handler's own transactions are open, and idle.
const SURVIVOR = `
export const jobs = [{ kind: 'tock.job', name: 'survivor', retry: { maxAttempts: 3, base: 0, jitter: 0 }, async run(ctx) {
  if (ctx.attempt > 1) return 'survived in ' + process.pid;
  await Promise.allSettled([1, 2].map(() => ctx.db.transaction().execute(async trx => {
    await trx.selectFrom('executions').selectAll().execute();
    await new Promise(resolve => setTimeout(resolve, 50));
    if (!globalThis.isDone) {
      globalThis.isDone = true;
      await ctx.db.selectFrom('pg_stat_activity')
        .select(eb => eb.fn('pg_terminate_backend', ['pid']).as('ended'))
        .where('application_name', '=', 'tock')
        .where('datname', '=', eb => eb.fn('current_database', []))
        .where('pid', '<>', eb => eb.fn('pg_backend_pid', []))
        .execute();
    }
    // Nobody awaits a query when the server's farewell arrives.
    await new Promise(resolve => setTimeout(resolve, 300));
  })));
  throw new Error('from the first attempt of ' + process.pid);
} }];`;

describe('2: a checked-out client emits error, and the process must not die of it', () => {
  it('a tick lives on when all its connections are ended between two awaits of a handler, and the idle ones too', async () => {
    const env = { DATABASE_URL: test.url, TOCK_JOBS: await writeJobs(SURVIVOR) };
    const [row] = await test.sql<{ id: string }>(`select tock.enqueue('survivor') as id`);
    const tick = startProcess(TICK, env);
    running.push(tick);
    const ended = await tick.ended;
    expect(ended).toMatchObject({ code: 0, signal: null });
    const run = await test.tock.runs.get(row?.id ?? '');
    expect(run).toMatchObject({
      status: 'succeeded',
      attempts: 2,
      output: `survived in ${tick.child.pid}`,
      errors: [{ message: `from the first attempt of ${tick.child.pid}` }],
    });
  });

  it('the process of an app lives on whose own pool Tock was given', async () => {
    const script = await writeJobs(`
      import pg from ${JSON.stringify(import.meta.resolve('pg'))};
      import { createTock } from ${JSON.stringify(new URL('../../dist/index.js', import.meta.url).href)};
      const pool = new pg.Pool({ connectionString: process.env.DATABASE_URL, application_name: 'tock' });
      pool.on('error', () => undefined);
      ${SURVIVOR.replace('export const jobs', 'const jobs')}
      const tock = createTock({ pool, jobs, logger: false });
      await tock.enqueue('survivor');
      const { executed } = await tock.tick();
      console.log(JSON.stringify(executed));
      await tock.close();
      await pool.end();`);
    const app = startProcess(script, { DATABASE_URL: test.url });
    running.push(app);
    const ended = await app.ended;
    expect(ended).toMatchObject({ code: 0, stderr: '' });
    expect(JSON.parse(ended.stdout)).toMatchObject({ failed: 1, succeeded: 1 });
  });
});

describe('3: a network that swallows what is sent', () => {
  const quick = defineJob({ name: 'quick', run: note });

  it.each([false, true])(
    'the daemon works again after it has healed, over connections that work (LISTEN: %s)',
    async listen => {
      through([quick]);
      const daemon = await start(listen);
      await test.another({ jobs: [quick] }).enqueue(quick);
      await until(async () => daemon.outcomeCounts.succeeded === 1, 'the first run');
      proxy.swallow();
      const ids = await test.another({ jobs: [quick] }).enqueueMany([{ job: quick }, { job: quick }]);
      await until(async () => events.count('database.away') === 1, 'the daemon to notice');
      proxy.heal();
      for (const id of ids)
        await until(async () => (await statusOf(id)) === 'succeeded', `run ${id} to succeed`);
      await until(async () => events.count('database.back') === 1, 'the daemon to say so');
      expect(await executions()).toBe(3);
      expect(events.count('database.away')).toBe(1);
    },
  );

  it('a handler learns that its lease is lost, also while a heartbeat hangs', async () => {
    let reason: unknown;
    let hasBegun = false;
    const waits = defineJob({
      name: 'waits',
      retry: { maxAttempts: 1 },
      run: ctx =>
        new Promise((_resolve, reject) => {
          hasBegun = true;
          ctx.signal.addEventListener('abort', () => {
            reason = ctx.signal.reason;
            reject(reason);
          });
        }),
    });
    // A statement may take far longer than the lease: what counts is our own clock.
    tock = test.another({
      connectionString: proxy.url,
      jobs: [waits],
      logger: events.logger,
      lease: '1s',
      heartbeat: '200ms',
      statementTimeout: '5m',
    });
    await tock.enqueue(waits);
    const ticking = tock.tick();
    // Not when the database says that it is running: the claim's answer may be on its way, and be swallowed.
    await until(async () => hasBegun, 'the run to begin');
    proxy.swallow();
    await until(async () => reason !== undefined, 'the handler to be told');
    expect(reason).toMatchObject({ code: 'TOCK_LEASE_LOST' });
    proxy.heal();
    proxy.leadTo(test.url);
    // The tick ends, however it ends: nothing hangs.
    await ticking.catch(() => undefined);
    expect(events.count('run.lost')).toBe(1);
  });

  it('a transaction of the engine that hangs is given up, and its connection does not go back to the pool', async () => {
    const minutely = defineJob({ name: 'minutely', schedule: { cron: '* * * * *' }, run: note });
    through([minutely]);
    await tock.tick();
    await test.sql(
      `update tock.job_definitions set cursor = tock.now() - interval '90 seconds', next_at = tock.now() - interval '60 seconds'`,
    );
    // In the middle of the transaction that materializes: its connection is checked out, a statement under way.
    proxy.swallowAt('order by next_at, id');
    await expect(tock.tick()).rejects.toMatchObject({ code: 'TOCK_DATABASE_UNREACHABLE' });
    proxy.heal();
    // As many statements at once as the pool has connections: none may get the dead one.
    const calls = await Promise.allSettled(Array.from({ length: 10 }, () => tock.status()));
    expect(calls.map(each => each.status)).toEqual(Array.from({ length: 10 }, () => 'fulfilled'));
    expect((await tock.tick()).executed).toMatchObject({ succeeded: 1 });
    expect(await executions()).toBe(1);
  });
});

describe('4: COMMIT is sent and its reply is lost', () => {
  it.each([
    ['reads the state back', null],
    // The first question about it is lost as well; the second is answered.
    ['asks again where the first answer is lost as well', `errors -> -1 ->> 'code'`],
  ])('ctx.transaction %s: committed once, not run again', async (_what, question) => {
    let lost: Promise<void> | undefined;
    const both = defineJob({
      name: 'both',
      retry: { maxAttempts: 3, ...FAST },
      run: ctx =>
        ctx.transaction(async trx => {
          await note(ctx);
          await trx.withTables<Tables>().insertInto('effects').values({ run_id: ctx.runId }).execute();
          lost ??= proxy.loseReplyTo('commit\0').then(async () => {
            if (question !== null) await proxy.loseReplyTo(question);
          });
          return { done: ctx.attempt };
        }),
    });
    await test.sql('create table public.effects (run_id bigint)');
    through([both]);
    const id = await tock.enqueue(both);
    const summary = await tock.tick();
    await lost;
    expect(summary.executed).toMatchObject({ succeeded: 1, failed: 0, lost: 0 });
    expect(await test.tock.runs.get(id)).toMatchObject({
      status: 'succeeded',
      attempts: 1,
      output: { done: 1 },
      errors: [],
    });
    expect([await executions(), (await test.sql('select from public.effects')).length]).toEqual([1, 1]);
  });

  it('ctx.step finds what it has kept: the work is done once, in one attempt', async () => {
    let calls = 0;
    let lost: Promise<void> | undefined;
    const steps = defineJob({
      name: 'steps',
      retry: { maxAttempts: 3, ...FAST },
      run: ctx =>
        ctx.step('fetch', () => {
          lost ??= proxy.loseReplyTo('(key, run_id, result)');
          return ++calls;
        }),
    });
    through([steps]);
    const id = await tock.enqueue(steps);
    const summary = await tock.tick();
    await lost;
    expect(summary.executed).toMatchObject({ succeeded: 1, failed: 0, lost: 0 });
    expect(await test.tock.runs.get(id)).toMatchObject({ status: 'succeeded', attempts: 1, output: 1 });
    expect(calls).toBe(1);
  });

  it('ctx.once fails the attempt and finds its work done in the next: the work is done once', async () => {
    let calls = 0;
    let lost: Promise<void> | undefined;
    const once = defineJob({
      name: 'once',
      retry: { maxAttempts: 3, ...FAST },
      run: ctx =>
        ctx.once('effect', () => {
          lost ??= proxy.loseReplyTo('commit\0');
          return ++calls;
        }),
    });
    through([once]);
    const id = await tock.enqueue(once);
    const summary = await tock.tick();
    await lost;
    expect(summary.executed).toMatchObject({ failed: 1, succeeded: 1 });
    expect(await test.tock.runs.get(id)).toMatchObject({ status: 'succeeded', attempts: 2, output: 1 });
    expect(calls).toBe(1);
  });

  it.each(['succeeds', 'succeeds with an output', 'fails'] as const)(
    'a batch of outcomes is found by reading it back: nothing is run again (each run %s)',
    async how => {
      const job = defineJob({
        name: 'job',
        retry: { maxAttempts: 2, base: '1h', jitter: 0 },
        async run(ctx) {
          await note(ctx);
          if (how === 'fails') throw new Error('as asked');
          return how === 'succeeds' ? undefined : { done: true };
        },
      });
      through([job]);
      await tock.register();
      const ids = await tock.enqueueMany(Array.from({ length: 5 }, () => ({ job })));
      const statement = {
        succeeds: `'succeeded'\n  from gone`,
        'succeeds with an output': 'o(id, status, output',
        fails: 'o(id, error, delay_ms, is_suspect)',
      };
      const lost = proxy.loseReplyTo(statement[how]);
      const summary = await tock.tick();
      await lost;
      expect(summary.executed).toMatchObject({ [how === 'fails' ? 'failed' : 'succeeded']: 5, lost: 0 });
      expect(await executions()).toBe(5);
      for (const id of ids) {
        const run = await test.tock.runs.get(id);
        expect(run).toMatchObject({
          status: how === 'fails' ? 'failed' : 'succeeded',
          attempts: 1,
          fence: 1,
        });
        expect(run?.errors.map(each => each.message)).toEqual(how === 'fails' ? ['as asked'] : []);
      }
    },
  );
});
