// Chaos: pgbouncer in transaction mode, Debian's 1.18. Each statement may go to another session: nothing that lives in
// a session may matter.
import { type ChildProcess, spawn } from 'node:child_process';
import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import pg from 'pg';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { serverAccount } from '../../src/embedded/embedded-process.js';
import { tickHandler } from '../../src/http.js';
import { type AnyJob, type CheckCode, type Daemon, defineJob, type TockOptions } from '../../src/index.js';
import { freePort } from '../support/free-port.js';
import { isListening } from '../support/killable-process.js';
import { lacks } from '../support/needs.js';
import { killAfterEach, openForEach } from '../support/open.js';
import { bundleJobs, startProcess, TICK } from '../support/processes.js';
import { openTestTock, until } from '../support/test-tock.js';

interface Tables {
  effects: { name: string };
}

const PGBOUNCER = '/usr/sbin/pgbouncer';
/** Fewer sessions than a process has clients. */
const SESSIONS = 3;

const test = openForEach(openTestTock);
let bouncer: ChildProcess;
let folder: string;
let url: string;
const running = killAfterEach();
const daemons: Daemon[] = [];

beforeEach(async () => {
  const target = new URL(test.url);
  const port = await freePort();
  folder = await mkdtemp(path.join(tmpdir(), 'tock-pgbouncer-'));
  await chmod(folder, 0o755);
  const file = path.join(folder, 'pgbouncer.ini');
  const database = target.pathname.slice(1);
  await writeFile(
    file,
    `[databases]
${database} = host=127.0.0.1 port=${target.port} user=${target.username} password=${decodeURIComponent(target.password)}
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = ${port}
unix_socket_dir =
auth_type = any
pool_mode = transaction
default_pool_size = ${SESSIONS}
max_client_conn = 200
server_reset_query_always = 0
`,
    { mode: 0o644 },
  );
  // It refuses to run as root.
  const account = await serverAccount();
  bouncer = spawn(PGBOUNCER, ['-q', file], {
    stdio: 'ignore',
    ...(account ? { uid: account.uid, gid: account.gid } : {}),
  });
  await until(() => isListening(port), 'pgbouncer to listen');
  url = `postgres://anybody@127.0.0.1:${port}/${database}`;
});
afterEach(async () => {
  await Promise.all(daemons.splice(0).map(each => each.stop()));
  bouncer.kill('SIGKILL');
  await rm(folder, { recursive: true });
});

const behind = (jobs: readonly AnyJob[], options: Partial<TockOptions> = {}) =>
  test.another({ connectionString: url, jobs, ...options });
const start = async (jobs: readonly AnyJob[], listen: boolean, options: Partial<TockOptions> = {}) => {
  const tock = behind(jobs, options);
  daemons.push(await tock.start({ listen }));
  return tock;
};
describe.skipIf(lacks('pgbouncer'))(
  '20: behind pgbouncer in transaction mode (needs Debian’s pgbouncer)',
  () => {
    it('migrates; four ticks at once over 300 due definitions run each once', async () => {
      const fresh = behind([], { schema: 'behind' });
      expect((await fresh.migrate()).applied).not.toEqual([]);
      await test.sql('create table public.executions (run_id bigint, attempt int, pid int)');
      await test.sql('create table public.releases (at timestamptz default now())');
      const env = {
        DATABASE_URL: url,
        TOCK_JOBS: await bundleJobs('test/processes/fixture-jobs.ts'),
        FIXTURE_COUNT: '300',
      };
      const tick = () => {
        const started = startProcess(TICK, env, ['--json']);
        running.push(started);
        return started.ended;
      };
      // It stands still, so that no minute turns between two ticks.
      await test.setClock('2026-03-01T12:00:30Z');
      expect(await tick()).toMatchObject({ code: 0, stderr: '' });
      await test.advance('1m');
      const ended = await Promise.all([tick(), tick(), tick(), tick()]);
      expect(ended.map(each => [each.code, each.stderr])).toEqual(Array.from({ length: 4 }, () => [0, '']));
      const [row] = await test.sql(
        `select count(*)::int as runs, count(distinct run_id)::int as different from public.executions`,
      );
      expect(row).toEqual({ runs: 300, different: 300 });
    });

    it('ticks by HTTP, six at once with a connection each, execute each run once', async () => {
      const seen: string[] = [];
      const quick = defineJob({ name: 'quick', run: ctx => void seen.push(ctx.runId) });
      const secret = 'correct-horse-battery-staple';
      const headers = { authorization: `Bearer ${secret}` };
      await behind([quick]).enqueueMany(Array.from({ length: 120 }, () => ({ job: quick })));
      const answers = await Promise.all(
        Array.from({ length: 6 }, () =>
          tickHandler(behind([quick], { connections: 1 }), { secret })(
            new Request('https://app.test/', { headers }),
          ),
        ),
      );
      expect(answers.map(({ status }) => status)).toEqual([200, 200, 200, 200, 200, 200]);
      expect(seen).toHaveLength(120);
      expect(new Set(seen).size).toBe(120);
    });

    it.each([false, true])('a daemon executes what is enqueued (LISTEN: %s)', async listen => {
      const quick = defineJob({ name: 'quick', run: () => 'done' });
      const tock = await start([quick], listen);
      const ids = await tock.enqueueMany(Array.from({ length: 60 }, () => ({ job: quick })));
      for (const id of ids)
        await until(async () => (await test.tock.runs.get(id))?.status === 'succeeded', `run ${id}`);
      // One that comes while it sleeps: found by polling, whatever becomes of the notification.
      const [row] = await test.sql<{ id: string }>(`select tock.enqueue('quick') as id`);
      await until(
        async () => (await test.tock.runs.get(row?.id ?? ''))?.status === 'succeeded',
        'the late one',
      );
      // Counted once the worker has heard that it is written, which others may see before.
      await until(async () => daemons[0]?.outcomeCounts.succeeded === 61, 'the counts');
      expect(daemons[0]?.outcomeCounts).toMatchObject({ succeeded: 61, failed: 0, lost: 0 });
    });

    it('the doctor recognizes it, and that a daemon listens in vain', async () => {
      const quick = defineJob({ name: 'quick', run: () => 'done' });
      const find = async (code: CheckCode) =>
        (await behind([quick]).doctor()).checks.find(check => check.code === code);
      expect((await test.tock.doctor()).checks.find(({ code }) => code === 'pooler')?.text).toMatch(/^none/);
      expect(await find('pooler')).toMatchObject({
        level: 'ok',
        text: 'one is in between, in transaction mode: Tock works through it, without LISTEN',
      });
      expect(await find('listen')).toMatchObject({ level: 'ok' });
      await start([quick], true);
      await until(
        async () => (await test.sql('select from tock.sleepers')).length > 0,
        'the daemon to sleep',
      );
      expect(await find('listen')).toMatchObject({
        level: 'warning',
        text: expect.stringMatching(
          /because the pooler is in transaction mode, but a daemon listens/,
        ) as string,
        command: 'tock start --no-listen',
      });
      await Promise.all(daemons.splice(0).map(each => each.stop()));
      await start([quick], false);
      expect(await find('listen')).toMatchObject({ level: 'ok' });
    });

    it('ctx.once, ctx.step and ctx.transaction do their work once', async () => {
      await test.sql('create table public.effects (name text)');
      const acts = defineJob({
        name: 'acts',
        retry: { maxAttempts: 3, base: 0, jitter: 0 },
        async run(ctx) {
          await ctx.once('shared', trx =>
            trx
              .withTables<Tables>()
              .insertInto('effects')
              .values({ name: 'once' })
              .execute()
              .then(() => 1),
          );
          await ctx.step('step', () => ctx.attempt);
          if (ctx.attempt === 1) throw new Error('again');
          await ctx.transaction(trx =>
            trx
              .withTables<Tables>()
              .insertInto('effects')
              .values({ name: 'transaction' })
              .execute()
              .then(() => ctx.attempt),
          );
        },
      });
      const tock = behind([acts]);
      await tock.enqueueMany(Array.from({ length: 20 }, () => ({ job: acts })));
      expect((await tock.tick()).executed).toMatchObject({ failed: 20, succeeded: 20 });
      const rows = await test.sql(
        `select name, count(*)::int as count from public.effects group by name order by name`,
      );
      expect(rows).toEqual([
        { name: 'once', count: 1 },
        { name: 'transaction', count: 20 },
      ]);
    });

    it('a cancel reaches the handler by the next poll', async () => {
      const waits = defineJob({
        name: 'waits',
        run: ctx =>
          new Promise((_resolve, reject) =>
            ctx.signal.addEventListener('abort', () => reject(ctx.signal.reason)),
          ),
      });
      const tock = await start([waits], false, { lease: '20m', heartbeat: '10m', drain: '0s' });
      const id = await tock.enqueue(waits);
      await until(async () => (await tock.runs.get(id))?.status === 'running', 'the run to begin');
      await tock.runs.cancel(id, { reason: 'enough' });
      await until(async () => (await tock.runs.get(id))?.finishedAt, 'the run to end');
      expect(await tock.runs.get(id)).toMatchObject({ status: 'cancelled', skipReason: 'enough' });
    });

    it('SKIP LOCKED holds where the role would rather read repeatably', async () => {
      await test.sql(
        `do $$ begin execute format('alter database %I set default_transaction_isolation = ''repeatable read''', current_database()); end $$`,
      );
      const quick = defineJob({ name: 'quick', run: () => 'done' });
      const tocks = [1, 2, 3].map(() => behind([quick]));
      await test.tock.migrate();
      await test.sql(`select tock.enqueue('quick') from generate_series(1, 150)`);
      const summaries = await Promise.all(tocks.map(tock => tock.tick()));
      expect(summaries.reduce((sum, each) => sum + each.executed.succeeded, 0)).toBe(150);
    });

    it('a statement that waits for a lock is given up, and its session is free again', async () => {
      const quick = defineJob({ name: 'quick', schedule: { cron: '* * * * *' }, run: () => 'done' });
      // Long enough for what waits for no lock, on a busy machine too.
      const tock = behind([quick], { statementTimeout: '3s' });
      await tock.register();
      const holder = new pg.Client({ connectionString: test.url });
      holder.on('error', () => undefined);
      await holder.connect();
      await holder.query('begin; lock table tock.job_runs_live in access exclusive mode');
      const failed = await Promise.allSettled([tock.tick(), tock.tick(), tock.tick(), tock.tick()]);
      expect(new Set(failed.map(each => each.status))).toEqual(new Set(['rejected']));
      const waiting = `select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`;
      await until(async () => (await test.sql(waiting)).length === 0, 'the sessions to be free');
      await holder.query('rollback');
      await holder.end();
      await tock.enqueue(quick);
      expect((await tock.tick()).executed.succeeded).toBeGreaterThanOrEqual(1);
    });
  },
);
