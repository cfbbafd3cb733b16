// Several processes: `node dist/tick.js` as cron starts it, killed, terminated, eight at once, and with everything wrong.
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { createTestDatabase } from '../support/embedded-database.js';
import { killAfterEach, openForEach } from '../support/open.js';
import { bundleJobs, startProcess, TICK, writeJobs } from '../support/processes.js';
import { expireLeases } from '../support/runs.js';
import { openTestTock, until } from '../support/test-tock.js';

let fixture: string;
beforeAll(async () => {
  fixture = await bundleJobs('test/processes/fixture-jobs.ts');
});

const test = openForEach(openTestTock);
const running = killAfterEach();
beforeEach(async () => {
  await test.sql('create table public.executions (run_id bigint, attempt int, pid int)');
  await test.sql('create table public.releases (at timestamptz default now())');
});

const tick = (env: Record<string, string> = {}, args: string[] = []) => {
  const started = startProcess(TICK, { DATABASE_URL: test.url, TOCK_JOBS: fixture, ...env }, args);
  running.push(started);
  return started;
};
const executions = () =>
  test.sql<{ run_id: string; attempt: number; pid: number }>(
    'select * from public.executions order by run_id, attempt',
  );
const enqueue = async (job: string) =>
  (await test.sql<{ id: string }>('select tock.enqueue($1) as id', [job]))[0]?.id ?? '';

it('eight ticks at once over 1,000 due definitions give exactly 1,000 runs, each executed once, and share the work', async () => {
  const env = { FIXTURE_COUNT: '1000' };
  // Else the next minute may turn before the last of them has begun, and bring a second occurrence.
  await test.setClock('2026-03-08T12:00:30Z');
  expect((await tick(env).ended).code).toBe(0);
  await test.sql(
    `update tock.job_definitions set cursor = tock.now() - interval '90 seconds', next_at = tock.now() - interval '60 seconds' where cron is not null`,
  );
  // Eight processes at once may need longer than usual to connect.
  const patient = { ...env, DATABASE_URL: `${test.url}?connect_timeout=60` };
  const ended = await Promise.all(
    Array.from({ length: 8 }, () => tick(patient, ['--json', '--budget', '5m']).ended),
  );
  expect(ended.map(each => [each.code, each.stderr])).toEqual(Array.from({ length: 8 }, () => [0, '']));
  const rows = await executions();
  expect(rows).toHaveLength(1000);
  expect(new Set(rows.map(row => row.run_id)).size).toBe(1000);
  const summaries = ended.map(
    each => JSON.parse(each.stdout) as { executed: { succeeded: number }; materialized: { runs: number } },
  );
  expect(summaries.reduce((sum, each) => sum + each.materialized.runs, 0)).toBe(1000);
  expect(summaries.reduce((sum, each) => sum + each.executed.succeeded, 0)).toBe(1000);
  const [counted] =
    await test.sql(`select count(*)::int as runs, count(distinct definition_id)::int as definitions, sum(attempts)::int as attempts
      from tock.job_runs where status = 'succeeded'`);
  expect(counted).toEqual({ runs: 1000, definitions: 1000, attempts: 1000 });
});

describe('a tick that is killed with SIGKILL in the middle of a handler', () => {
  it('loses nothing: the run is attempted again after its lease', async () => {
    const id = await enqueue('hold');
    const first = tick();
    await until(async () => (await executions()).length === 1, 'the handler to begin');
    first.child.kill('SIGKILL');
    expect((await first.ended).signal).toBe('SIGKILL');
    expect(await test.tock.runs.get(id)).toMatchObject({ status: 'running', attempts: 1, fence: 1 });

    await expireLeases(test);
    expect((await tick().ended).stdout).toMatch(/1 reaped/);
    expect(await test.tock.runs.get(id)).toMatchObject({
      status: 'failed',
      errors: [{ code: 'TOCK_LEASE_LOST', message: expect.stringMatching(/pid \d+ stopped renewing/) }],
    });
    await test.sql(`update tock.job_runs_live set run_at = tock.now()`);
    await test.sql('insert into public.releases default values');
    expect((await tick().ended).stdout).toMatch(/1 succeeded/);
    expect(await test.tock.runs.get(id)).toMatchObject({
      status: 'succeeded',
      attempts: 2,
      fence: 2,
      output: { attempt: 2 },
    });
  });

  it('is counted: a handler that kills its process has its attempts and is dead', async () => {
    // Registers the job: from then on SQL knows how many attempts it has.
    await tick().ended;
    const id = await enqueue('suicide');
    for (let attempt = 1; attempt <= 2; attempt++) {
      expect((await tick().ended).signal).toBe('SIGKILL');
      expect(await test.tock.runs.get(id)).toMatchObject({ status: 'running', attempts: attempt });
      await expireLeases(test);
      expect((await tick().ended).stdout).toMatch(/1 reaped/);
      await test.sql(`update tock.job_runs_live set run_at = tock.now()`);
    }
    expect(await test.tock.runs.get(id)).toMatchObject({ status: 'dead', attempts: 2 });
  });
});

it('a worker that sleeps past its lease wakes up to a lost lease and writes nothing over the newer attempt', async () => {
  const id = await enqueue('hold');
  const env = { TOCK_LEASE: '1s', TOCK_HEARTBEAT: '200ms', TOCK_GRACE: '100ms' };
  const first = tick(env);
  await until(async () => (await executions()).length === 1, 'the handler to begin');
  first.child.kill('SIGSTOP');
  // More than once: a renewal that it had sent may come to the server after the lease was over.
  await until(async () => {
    await tick(env).ended;
    return (await test.tock.runs.get(id))?.status === 'failed';
  }, 'the lease to expire, and the run to be taken back');
  await test.sql(`update tock.job_runs_live set run_at = tock.now()`);
  // Only the first may lose its lease, however busy the machine is.
  const second = tick({ ...env, TOCK_LEASE: '60s' });
  await until(async () => (await executions()).length === 2, 'the second attempt to begin');
  first.child.kill('SIGCONT');
  const ended = await first.ended;
  expect(ended.stdout).toMatch(/1 lost/);
  expect(await test.tock.runs.get(id)).toMatchObject({ status: 'running', attempts: 2, fence: 2 });
  await test.sql('insert into public.releases default values');
  expect((await second.ended).stdout).toMatch(/1 succeeded/);
  expect(await test.tock.runs.get(id)).toMatchObject({ status: 'succeeded', output: { attempt: 2 } });
});

describe('SIGTERM', () => {
  it('stops claiming, lets the run end within the drain, and exits with 0', async () => {
    const id = await enqueue('hold');
    const started = tick({ TOCK_DRAIN: '30s' });
    await until(async () => (await executions()).length === 1, 'the handler to begin');
    started.child.kill('SIGTERM');
    await until(
      async () => (await test.sql('select 1 from tock.workers where draining')).length > 0,
      'the drain to begin',
    );
    const later = await enqueue('hold');
    await test.sql('insert into public.releases default values');
    expect(await started.ended).toMatchObject({ code: 0, signal: null });
    expect(await test.tock.runs.get(id)).toMatchObject({ status: 'succeeded' });
    expect(await test.tock.runs.get(later)).toMatchObject({ status: 'queued' });
  });

  it('releases what does not end in time, without counting it as a failure', async () => {
    const id = await enqueue('hold');
    const started = tick({ TOCK_DRAIN: '100ms', TOCK_GRACE: '2s' });
    await until(async () => (await executions()).length === 1, 'the handler to begin');
    started.child.kill('SIGTERM');
    expect(await started.ended).toMatchObject({ code: 0, stdout: expect.stringMatching(/1 released/) });
    expect(await test.tock.runs.get(id)).toMatchObject({
      status: 'queued',
      attempts: 0,
      releases: 1,
      errors: [],
      lockedBy: null,
    });
    expect(await test.sql('select * from tock.workers')).toEqual([]);
  });
});

it('budget ends claiming, not what runs', async () => {
  const id = await enqueue('hold');
  // Longer than a busy machine takes to come to the claim.
  const started = tick({}, ['--budget', '8s', '--concurrency', '1']);
  await until(async () => (await executions()).length === 1, 'the handler to begin');
  const later = await enqueue('hold');
  // The budget had begun before the handler did.
  await new Promise(resolve => setTimeout(resolve, 8000));
  await test.sql('insert into public.releases default values');
  expect((await started.ended).stdout).toMatch(/1 succeeded, stopped early/);
  expect(await test.tock.runs.get(id)).toMatchObject({ status: 'succeeded' });
  expect(await test.tock.runs.get(later)).toMatchObject({ status: 'queued' });
});

describe('an error, in one line', () => {
  const wrong = (change: (url: URL) => void) => {
    const url = new URL(test.url);
    change(url);
    return url.href;
  };

  it.each([
    [
      'a wrong password',
      () => ({
        DATABASE_URL: wrong(url => {
          url.password = 'hunter2';
        }),
      }),
      3,
      /password authentication failed.*check the user and password/,
    ],
    [
      'a stopped server',
      () => ({
        DATABASE_URL: wrong(url => {
          url.port = '1';
        }),
      }),
      3,
      /cannot reach the database.*check that the server runs/,
    ],
    [
      'a database that is not there',
      () => ({
        DATABASE_URL: wrong(url => {
          url.pathname = '/nowhere';
        }),
      }),
      3,
      /"nowhere" does not exist.*createdb/,
    ],
    [
      'a host that is not there',
      () => ({ DATABASE_URL: 'postgres://u:p@host.invalid/x' }),
      3,
      /host\.invalid.*check the host name/,
    ],
    ['no URL at all', () => ({ DATABASE_URL: 'nonsense' }), 2, /the database URL cannot be read/],
    ['an unmigrated schema', () => ({ TOCK_SCHEMA: 'elsewhere' }), 1, /schema elsewhere.*run: tock migrate/],
    [
      'an impossible schema',
      () => ({ TOCK_SCHEMA: 'a"; drop schema public;--' }),
      2,
      /cannot be Tock's schema/,
    ],
    [
      'a lease under two heartbeats',
      () => ({ TOCK_LEASE: '5s', TOCK_HEARTBEAT: '4s' }),
      2,
      /under two heartbeats/,
    ],
    [
      'no job module',
      () => ({ TOCK_JOBS: '/nowhere/jobs.js' }),
      2,
      /no job module at \/nowhere\/jobs\.js.*npm run build/,
    ],
  ])('%s', async (_name, env, code, line) => {
    const ended = await tick(env()).ended;
    expect(ended).toMatchObject({ code, stdout: '' });
    expect(ended.stderr).toMatch(line);
    expect(ended.stderr.trim().split('\n')).toHaveLength(1);
    expect(ended.stderr).not.toContain('hunter2');
  });

  it.each([
    ['an unknown flag', ['--bugdet', '5s'], /Unknown option '--bugdet'/],
    ['a budget that is none', ['--budget', 'soon'], /budget "soon" is not a duration/],
    ['a concurrency that is none', ['--concurrency', '0'], /concurrency 0 is not a whole number/],
  ])('%s', async (_name, args, line) => {
    const ended = await tick({}, args).ended;
    expect(ended).toMatchObject({ code: 2, stdout: '' });
    expect(ended.stderr).toMatch(line);
  });

  it.each([
    [
      'two jobs of one name',
      `const job = { kind: 'tock.job', name: 'twin', file: '/jobs/a.js', run() {} }; export const jobs = [job, { ...job, file: '/jobs/b.js' }];`,
      /twin.*\/jobs\/a\.js.*\/jobs\/b\.js/,
    ],
    ['a module without jobs', `export const work = [];`, /exports no array named jobs/],
    ['a module that does not load', `throw new Error('no such thing');`, /cannot be loaded: no such thing/],
  ])('%s', async (_name, text, line) => {
    const ended = await tick({ TOCK_JOBS: await writeJobs(text) }).ended;
    expect(ended).toMatchObject({ code: 2, stdout: '' });
    expect(ended.stderr).toMatch(line);
  });

  it('an empty jobs folder is no error, and is said', async () => {
    const ended = await tick({ TOCK_JOBS: await writeJobs('export const jobs = [];') }).ended;
    expect(ended).toMatchObject({ code: 0, stderr: '' });
    expect(ended.stdout).toMatch(/tick: no jobs are defined/);
  });
});

describe('--migrate', () => {
  let fresh: Awaited<ReturnType<typeof createTestDatabase>>;
  afterAll(() => fresh.drop());
  it('makes the schema, in a database that has nothing', async () => {
    fresh = await createTestDatabase();
    expect(await tick({ DATABASE_URL: fresh.url }).ended).toMatchObject({ code: 1 });
    expect(await tick({ DATABASE_URL: fresh.url }, ['--migrate']).ended).toMatchObject({
      code: 0,
      stdout: expect.stringMatching(/3 registered/),
    });
  });
});
