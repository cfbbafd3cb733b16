// Chaos: processes that are killed, told to end, or mistaken for another; and history that is thrown away.
// Also covered: 1 (a frozen worker) and 6 (a handler that kills its process) in test/processes/tick.check.test.ts.
import pg from 'pg';
import { beforeEach, describe, expect, it } from 'vitest';
import { defineJob } from '../../src/index.js';
import { killAfterEach, openForEach } from '../support/open.js';
import { bundleJobs, startProcess, TICK } from '../support/processes.js';
import { openTestTock, until } from '../support/test-tock.js';
import { collectEvents } from './collecting-logger.js';
import { openProxy } from './tcp-proxy.js';

const test = openForEach(openTestTock);
const running = killAfterEach();
beforeEach(async () => {
  await test.sql('create table public.executions (run_id bigint, attempt int, pid int)');
  await test.sql('create table public.releases (at timestamptz default now())');
});
const tick = async (env: Record<string, string> = {}) => {
  const jobs = await bundleJobs('test/processes/fixture-jobs.ts');
  const started = startProcess(TICK, { DATABASE_URL: test.url, TOCK_JOBS: jobs, ...env });
  running.push(started);
  return started;
};
const count = async (query: string, values: unknown[] = []) => (await test.sql(query, values)).length;

describe('8: retention deletes the run, and its occurrence must not come again', () => {
  it('retention 0 and two ticks give nothing, also with a cursor that was set back', async () => {
    const minutely = defineJob({ name: 'minutely', schedule: { cron: '* * * * *' }, run: ctx => ctx.runId });
    const prune = defineJob({
      name: 'prune',
      run: async ctx => void (await ctx.scheduler.prune({ keep: 0 })),
    });
    const tocks = [1, 2].map(() => test.another({ jobs: [minutely, prune] }));
    const ticks = () => Promise.all(tocks.map(tock => tock.tick()));
    await test.setClock('2026-03-01T12:00:30Z');
    await ticks();
    await test.advance('1m');
    const executed = (await ticks()).reduce((sum, each) => sum + each.executed.succeeded, 0);
    expect(executed).toBe(1);
    await test.advance('1s');
    await tocks[0]?.enqueue(prune);
    await ticks();
    expect(await count(`select from tock.job_runs where job = 'minutely'`)).toBe(0);
    const nothing = async () => {
      const made = (await ticks()).map(each => each.materialized.runs + each.executed.claimed);
      expect(made).toEqual([0, 0]);
      expect(await count(`select from tock.job_runs where job = 'minutely'`)).toBe(0);
    };
    await nothing();
    await test.sql(
      `update tock.job_definitions set cursor = cursor - interval '1 minute', next_at = '-infinity' where name = 'minutely'`,
    );
    await nothing();
  });
});

describe('17: the identity of a worker is used again', () => {
  it('a worker of the same host and pid as a lost one is another: neither touches the other’s run', async () => {
    const events = collectEvents();
    const proxy = await openProxy(test.url);
    const seen: number[] = [];
    let release = () => undefined as void;
    const held = new Promise<void>(resolve => {
      release = resolve;
    });
    const slow = defineJob({
      name: 'slow',
      retry: { base: 0, jitter: 0 },
      async run(ctx) {
        seen.push(ctx.attempt);
        await held;
        return ctx.attempt;
      },
    });
    // Two Tocks of one process have the host and the pid in common.
    const options = {
      jobs: [slow],
      lease: '1s',
      heartbeat: '200ms',
      grace: '20s',
      retry: { base: 0 },
    } as const;
    const cutOff = test.another({
      ...options,
      connectionString: proxy.url,
      logger: events.logger,
      statementTimeout: '1s',
    });
    // Its lease is not to end, on a busy machine either.
    const healthy = test.another({ ...options, lease: '1m' });
    const id = await cutOff.enqueue(slow);
    // It may give up on its pool at any time.
    const first = cutOff.tick().catch(() => null);
    await until(async () => seen.length === 1, 'the first attempt');
    proxy.swallow();
    await until(async () => events.count('run.lease_lost') === 1, 'the lease to be lost');
    await until(
      async () => (await count(`select from tock.job_runs_live where locked_until < tock.now()`)) > 0,
      'the lease to expire',
    );
    const second = healthy.tick();
    await until(async () => seen.length === 2, 'the second attempt');
    const workers = await test.sql<{ host: string; pid: number }>('select host, pid from tock.workers');
    expect(workers).toHaveLength(2);
    expect(workers[0]).toEqual(workers[1]);
    proxy.heal();
    release();
    expect((await second).executed).toMatchObject({ succeeded: 1 });
    // If it has not given up, it has lost the run.
    const ended = await first;
    expect(ended?.executed.succeeded ?? 0).toBe(0);
    expect(await test.tock.runs.get(id)).toMatchObject({
      status: 'succeeded',
      attempts: 2,
      fence: 2,
      output: 2,
    });
    await proxy.close();
  });
});

describe('18: heartbeats stop before the runs do at shutdown', () => {
  it('SIGTERM during a run of more than two leases: it beats until the last outcome is written', async () => {
    const [row] = await test.sql<{ id: string }>(`select tock.enqueue('hold') as id`);
    const id = row?.id ?? '';
    // Of several heartbeats, so that it does not end while the machine stands still for a moment.
    const started = await tick({ TOCK_LEASE: '4s', TOCK_HEARTBEAT: '500ms', TOCK_DRAIN: '2m' });
    await until(async () => (await count('select from public.executions')) > 0, 'the handler to begin');
    started.child.kill('SIGTERM');
    await until(
      async () => (await count('select from tock.workers where draining')) > 0,
      'the drain to begin',
    );
    const other = test.another();
    await until(async () => {
      expect((await other.tick()).reaped).toEqual({ failed: 0, dead: 0, cancelled: 0 });
      const passed = `select from tock.job_runs where id = $1 and tock.now() > started_at + interval '10 s'`;
      return (await count(passed, [id])) > 0;
    }, 'two and a half leases to pass');
    await test.sql('insert into public.releases default values');
    expect(await started.ended).toMatchObject({ code: 0, stdout: expect.stringMatching(/1 succeeded/) });
    expect(await test.tock.runs.get(id)).toMatchObject({
      status: 'succeeded',
      attempts: 1,
      fence: 1,
      errors: [],
    });
  });
});

describe('22: recovery that itself must be recovered', () => {
  it('kill -9 of a tick in the middle of its reaping: the next tick takes back the rest, each run once', async () => {
    await test.sql(`select tock.enqueue('hold') from generate_series(1, 1300)`);
    await test.sql(`update tock.job_runs_live set status = 'running', attempts = 1, fence = 1,
      locked_by = gen_random_uuid(), locked_until = tock.now() - interval '1 second'`);
    // The second of three batches stands still at one of its runs.
    await test.sql(`create function public.stand_still() returns trigger language plpgsql as $$ begin
      if new.status = 'failed' and new.id = (select min(id) + 700 from tock.job_runs_live) then perform pg_advisory_xact_lock(22); end if;
      return new; end $$`);
    await test.sql(
      `create trigger stand_still before update on tock.job_runs_live for each row execute function public.stand_still()`,
    );
    const client = new pg.Client({ connectionString: test.url });
    await client.connect();
    await client.query('select pg_advisory_lock(22)');
    const first = await tick();
    await until(
      async () => (await count(`select from pg_locks where locktype = 'advisory' and not granted`)) > 0,
      'the tick to stand still',
    );
    first.child.kill('SIGKILL');
    await first.ended;
    expect(await count(`select from tock.job_runs_live where status = 'failed'`)).toBe(500);
    await client.end();
    await until(
      async () =>
        (await count(
          `select from pg_stat_activity where query like '%expired as materialized%' and state = 'active' and pid <> pg_backend_pid()`,
        )) === 0,
      'its backend to end',
    );
    await (await tick()).ended;
    const [row] = await test.sql(`select count(*)::int as runs, min(attempts) as least, max(attempts) as most,
      sum(jsonb_array_length(errors))::int as errors from tock.job_runs_live where status = 'failed' and run_at > created_at`);
    expect(row).toEqual({ runs: 1300, least: 1, most: 1, errors: 1300 });
  });
});
