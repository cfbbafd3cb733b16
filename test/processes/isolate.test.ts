// Isolated jobs: a handler in a process of its own cannot harm its worker, and never outlives its lease.
// Real processes: the children of this one, and of ticks (dist/).
import { existsSync, readFileSync } from 'node:fs';
import pg from 'pg';
import { afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { createTock, type Daemon, defineJob } from '../../src/index.js';
import { bundleJobs, type Running, startProcess, TICK, writeJobs } from '../support/processes.js';
import { openTestTock, type TestTock, until } from '../support/test-tock.js';
import { jobs } from './isolated-jobs.js';

let jobsModule: string;
beforeAll(async () => {
  jobsModule = await bundleJobs('test/processes/isolated-jobs.ts');
});

const lines: { level: string; fields: Record<string, unknown>; message: string | undefined }[] = [];
const loggerWith = (bindings: object) => {
  const at = (level: string) => (fields: object, message?: string) => {
    lines.push({ level, fields: { ...bindings, ...fields }, message });
  };
  return {
    debug: at('debug'),
    info: at('info'),
    warn: at('warn'),
    error: at('error'),
    child: (more: object) => loggerWith({ ...bindings, ...more }),
  };
};

let test: TestTock;
let daemon: Daemon | undefined;
const running: Running[] = [];
beforeEach(async () => {
  lines.length = 0;
  test = await openTestTock(jobs, {
    jobsModule,
    logger: loggerWith({}),
    lease: '3s',
    heartbeat: '100ms',
    grace: '500ms',
    drain: '0s',
  });
  await test.sql('create table public.children (run_id bigint, attempt int, pid int, reason text)');
  await test.sql('create table public.releases (at timestamptz default now())');
  await test.sql('create table public.notes (id bigserial, text text)');
});
afterEach(async () => {
  for (const each of running.splice(0)) {
    each.child.kill('SIGCONT');
    each.child.kill('SIGKILL');
  }
  await daemon?.stop();
  daemon = undefined;
  await test.close();
});

const start = async () => {
  daemon = await test.tock.start();
  return daemon;
};
const tick = (env: Record<string, string> = {}) => {
  const started = startProcess(TICK, {
    DATABASE_URL: test.url,
    TOCK_JOBS: jobsModule,
    TOCK_LEASE: '2s',
    TOCK_HEARTBEAT: '200ms',
    TOCK_GRACE: '500ms',
    ...env,
  });
  running.push(started);
  return started;
};
const ended = (id: string) =>
  until(async () => {
    const run = await test.tock.runs.get(id);
    return run?.finishedAt && run;
  }, `run ${id} to end`);
const attempted = (id: string) =>
  until(async () => {
    const run = await test.tock.runs.get(id);
    return run && run.errors.length > 0 && run;
  }, `an attempt of run ${id} to fail`);
const childOf = async (id: string, attempt = 1) =>
  await until(
    async () =>
      (
        await test.sql<{ pid: number }>(
          'select pid from public.children where run_id = $1 and attempt = $2',
          [id, attempt],
        )
      )[0]?.pid,
    `a child for run ${id}`,
  );
/** Ended, or a zombie that nobody has reaped yet. */
const isGone = (pid: number) => {
  if (!existsSync('/proc/self/stat')) {
    try {
      process.kill(pid, 0);
      return false;
    } catch {
      return true;
    }
  }
  try {
    return /\) [ZX]/.test(readFileSync(`/proc/${pid}/stat`, 'latin1'));
  } catch {
    return true;
  }
};
const gone = (pid: number) => until(async () => isGone(pid), `process ${pid} to be gone`);

describe('an isolated handler', () => {
  it('gets its payload and context in another process, and its result becomes the output', async () => {
    await start();
    const id = await test.tock.enqueue('tell', { who: 'Ada' }, { key: 'tell:1' });
    const { status, output } = await ended(id);
    expect(status).toBe('succeeded');
    expect(output).toMatchObject({
      payload: { who: 'Ada', note: 'none' },
      attempt: 1,
      maxAttempts: 10,
      fence: 1,
      trigger: 'api',
      key: 'tell:1',
      scheduledFor: null,
    });
    const { pid, argv, env } = output as { pid: number; argv: string[]; env: string[] };
    expect(pid).not.toBe(process.pid);
    await gone(pid);
    // What others on the host can list holds neither the payload nor the way into the database.
    expect([...argv, ...env].filter(text => /Ada|postgres(?:ql)?:\/\//.test(text))).toEqual([]);
  });

  it('gets the occurrence of a scheduled run, and the payload that code computes for it', async () => {
    await test.tock.register();
    await test.sql(
      `update tock.job_definitions set cursor = tock.now() - interval '2 hours', next_at = tock.now() - interval '1 hour' where name = 'planned'`,
    );
    await start();
    const run = await until(
      async () => (await test.tock.runs.list({ job: 'planned', status: 'succeeded' }))[0],
      'the planned run',
    );
    expect(run.output).toMatchObject({ isDate: true, payload: { count: expect.any(Number) } });
    const { scheduledFor, spanMs } = run.output as { scheduledFor: string; spanMs: number };
    expect(scheduledFor).toBe(run.scheduledFor?.toISOString());
    expect(spanMs % 3_600_000).toBe(0);
  });

  it('leaves nothing behind: its process ends when it has returned', async () => {
    await start();
    const id = await test.tock.enqueue('leaves-much');
    expect(await ended(id)).toMatchObject({ status: 'succeeded', output: 'done' });
    expect(isGone(await childOf(id))).toBe(true);
    await gone(await childOf(id, 0));
  });

  it('forwards its log lines and its progress, also when it never yields again', async () => {
    await start();
    const id = await test.tock.enqueue('compute', {});
    const run = await until(async () => {
      const found = await test.tock.runs.get(id);
      return found?.progress && found;
    }, 'progress');
    expect(run.progress).toMatchObject({ fraction: 0.25, stage: 'computing' });
    expect(lines.find(each => each.fields['event'] === 'computing')).toMatchObject({
      level: 'info',
      message: 'begins',
      fields: { run_id: id, job: 'compute', attempt: 1, error: { type: 'Error', message: 'only told' } },
    });
    await test.tock.runs.cancel(id);
    expect(await ended(id)).toMatchObject({ status: 'cancelled' });
    await gone(await childOf(id));
  });
});

describe('what an isolated handler throws', () => {
  const threw = async (what: string) => {
    await start();
    return await attempted(await test.tock.enqueue('throwing', { what }));
  };
  const waitMs = (run: { runAt: Date; errors: readonly unknown[] }) =>
    run.runAt.getTime() - new Date((run.errors[0] as { at: string }).at).getTime();

  it('keeps name, code, message, stack, and what a backoff function looks at', async () => {
    const run = await threw('error');
    expect(run).toMatchObject({
      status: 'failed',
      errors: [
        {
          attempt: 1,
          name: 'RangeError',
          code: 'E_FAR',
          message: 'too far',
          stack: expect.stringContaining('jobs.mjs'),
        },
      ],
    });
    expect(Math.round(waitMs(run) / 1000)).toBe(7200);
  });

  it('steers by RetryLater', async () => {
    const run = await threw('retry-later');
    expect(run).toMatchObject({
      status: 'failed',
      errors: [{ name: 'RetryLater', message: 'come back at five' }],
    });
    expect(Math.round(waitMs(run) / 1000)).toBe(18_000);
  });

  it.each([
    ['dead', 'dead', { name: 'Dead', message: 'no use' }],
    ['cancel', 'cancelled', { name: 'Cancel', message: 'not wanted' }],
  ])('steers by %s', async (what, status, error) => {
    expect(await threw(what)).toMatchObject({ status, attempts: 1, errors: [error] });
  });

  it.each([
    ['null', { name: 'thrown null', message: 'null' }],
    ['uncaught', { name: 'TypeError', message: 'from a timer' }],
    ['unawaited', { name: 'TypeError', message: 'from a promise' }],
  ])('fails the attempt: %s', async (what, error) => {
    const run = await threw(what);
    expect(run.errors[0]).toMatchObject(error);
  });

  it('fails the attempt when the payload does not fit', async () => {
    const id = await test.tock.enqueue('tell', { who: 'x' });
    await test.sql(`update tock.job_runs_live set payload = '{"who": 7}'`);
    await start();
    expect((await attempted(id)).errors[0]).toMatchObject({ code: 'TOCK_BAD_PAYLOAD' });
  });
});

describe('a job module that the child cannot use', () => {
  const alone = defineJob({ name: 'alone', isolate: true, run: () => null });
  it.each([
    ['lacks the job, as after a deploy', () => jobsModule, 'TOCK_UNKNOWN_JOB', /no job "alone"/],
    [
      'does not load',
      () => writeJobs('throw new Error("no such thing");'),
      'TOCK_JOBS_NOT_FOUND',
      /cannot be loaded: no such thing/,
    ],
    ['ends the process', () => writeJobs('process.exit(5);'), 'TOCK_CHILD_EXITED', /exit code 5/],
  ])('fails the attempt, no more: it %s', async (_name, module, code, message) => {
    const tock = test.another({ jobs: [alone], jobsModule: await module() });
    const id = await tock.enqueue('alone', {}, { maxAttempts: 1 });
    expect((await tock.tick()).executed).toMatchObject({ claimed: 1, dead: 1 });
    expect((await tock.runs.get(id))?.errors).toMatchObject([
      { code, message: expect.stringMatching(message) },
    ]);
  });
});

describe('a process that ends before its handler', () => {
  it.each([
    ['exit 0', /exit code 0 before the handler returned/],
    ['exit 3', /exit code 3 before the handler returned/],
    ['SIGKILL', /killed by SIGKILL/],
    ['SIGSEGV', /ended by SIGSEGV, a crash/],
    ['out of memory', /ran out of memory \(the heap reached 64 MB\)/],
  ])('is an attempt that failed: %s', async (how, message) => {
    const id = await test.tock.enqueue('ending', { how });
    const other = await test.tock.enqueue('plain');
    const worker = tick();
    const { code, stdout } = await worker.ended;
    expect(code).toBe(0);
    expect(stdout).toMatch(/1 succeeded, 1 dead/);
    expect(await test.tock.runs.get(id)).toMatchObject({
      status: 'dead',
      attempts: 1,
      errors: [{ name: 'TockError', code: 'TOCK_CHILD_EXITED', message: expect.stringMatching(message) }],
    });
    expect(await test.tock.runs.get(other)).toMatchObject({
      status: 'succeeded',
      output: worker.child.pid,
    });
    expect(isGone(await childOf(id))).toBe(true);
  });

  it.each(['transaction, then exit', 'transaction, then silence'])(
    'has succeeded if its own transaction had committed that: %s',
    async how => {
      const { tally } = await start();
      const id = await test.tock.enqueue('ending', { how });
      expect(await ended(id)).toMatchObject({ status: 'succeeded', output: { committed: true }, errors: [] });
      await until(async () => tally.succeeded === 1, 'the tally');
      expect(tally).toMatchObject({ claimed: 1, succeeded: 1, lost: 0, dead: 0 });
    },
  );
});

describe('while (true) {}', () => {
  it('is killed after timeout and grace, and other runs go on meanwhile', async () => {
    await start();
    const id = await test.tock.enqueue('compute-with-timeout');
    const child = await childOf(id);
    const others = await test.tock.enqueueMany(Array.from({ length: 20 }, () => ({ job: 'plain' })));
    for (const each of others) expect(await ended(each)).toMatchObject({ output: process.pid });
    expect(isGone(child)).toBe(false);
    expect(await ended(id)).toMatchObject({
      status: 'dead',
      errors: [{ name: 'TockError', code: 'TOCK_TIMEOUT', message: expect.stringMatching(/1500ms/) }],
    });
    await gone(child);
  });

  it('is killed also where its process is frozen and cannot end itself', async () => {
    await start();
    const id = await test.tock.enqueue('frozen');
    const child = await childOf(id);
    expect(await ended(id)).toMatchObject({ status: 'dead', errors: [{ code: 'TOCK_TIMEOUT' }] });
    await gone(child);
  });

  it('keeps its lease while it computes, however long', async () => {
    await test.tock.close();
    const short = test.another({ lease: '1s', heartbeat: '100ms' });
    daemon = await short.start();
    const id = await short.enqueue('compute', { ms: 2500 });
    await childOf(id);
    const claimed = await short.runs.get(id);
    const host = test.another({ jobs: [], lease: '1s', heartbeat: '100ms' });
    const renewals = new Set<string>();
    const run = await until(async () => {
      expect((await host.tick({ budget: '0s' })).reaped).toMatchObject({ failed: 0, dead: 0 });
      const [held] = await test.sql<{ until: string }>(
        'select locked_until::text as until from tock.job_runs_live where id = $1',
        [id],
      );
      if (held) renewals.add(held.until);
      const found = await short.runs.get(id);
      return found?.finishedAt && found;
    }, 'the run to end');
    expect(run).toMatchObject({ status: 'succeeded', attempts: 1, output: 'computed', errors: [] });
    expect(renewals.size).toBeGreaterThan(3);
    // By the database's time it took more than two leases.
    expect(
      run.finishedAt && claimed?.startedAt && Number(run.finishedAt) - Number(claimed.startedAt),
    ).toBeGreaterThan(2000);
  });
});

describe('effects of an isolated handler', () => {
  it('step, once and transaction are kept under the worker’s fence', async () => {
    const { tally } = await start();
    const id = await test.tock.enqueue('effects');
    expect(await ended(id)).toMatchObject({
      status: 'succeeded',
      attempts: 2,
      output: { step: { by: 1 }, once: 1, other: expect.any(String), isCounted: true },
    });
    expect((await test.sql('select text from public.notes order by id')).map(row => row['text'])).toEqual([
      'step',
      'once',
      'transaction',
    ]);
    const run = await test.tock.runs.get(id);
    expect(await ended((run?.output as { other: string } | undefined)?.other ?? '')).toMatchObject({
      status: 'succeeded',
      job: 'plain',
    });
    await until(async () => tally.succeeded === 2, 'the tally');
    expect(tally).toMatchObject({ claimed: 3, failed: 1, succeeded: 2, lost: 0 });
  });

  it('are refused once the lease is lost', async () => {
    const { tally } = await start();
    const id = await test.tock.enqueue('late');
    await childOf(id);
    await test.sql('update tock.job_runs_live set fence = fence + 1 where id = $1', [id]);
    await until(async () => tally.lost === 1, 'the loss');
    expect(await test.sql('select text from public.notes')).toEqual([{ text: 'refused TOCK_LEASE_LOST' }]);
    expect(await test.tock.runs.get(id)).toMatchObject({ status: 'running', fence: 2, errors: [] });
    await gone(await childOf(id));
  });
});

describe('an abort', () => {
  it.each([
    ['is heard by the handler', false],
    ['is enforced where the handler does not heed it', true],
  ])('on a cancel by another host %s', async (_name, stubborn) => {
    await start();
    const id = await test.tock.enqueue('wait', { stubborn });
    const child = await childOf(id);
    await test.another({ jobs: [] }).runs.cancel(id);
    expect(await ended(id)).toMatchObject({ status: 'cancelled', attempts: 1 });
    await gone(child);
    expect(await test.sql('select reason from public.children')).toEqual([{ reason: 'Cancel' }]);
  });

  it('on a lost lease kills a handler that computes', async () => {
    const { tally } = await start();
    const id = await test.tock.enqueue('compute', {});
    const child = await childOf(id);
    await test.sql('update tock.job_runs_live set fence = fence + 1 where id = $1', [id]);
    await until(async () => tally.lost === 1, 'the loss');
    await gone(child);
    expect(await test.tock.runs.get(id)).toMatchObject({ status: 'running', fence: 2, errors: [] });
  });

  it.each([
    ['wait', {}, 'TOCK_DRAINING'],
    ['wait', { stubborn: true }, 'TOCK_DRAINING'],
    ['compute', {}, null],
  ])('on a drain releases the run: %s %j', async (job, payload, reason) => {
    const id = await test.tock.enqueue(job, payload);
    const worker = tick({ TOCK_DRAIN: '100ms' });
    const child = await childOf(id);
    worker.child.kill('SIGTERM');
    expect(await worker.ended).toMatchObject({ code: 0, stdout: expect.stringMatching(/1 released/) });
    expect(isGone(child)).toBe(true);
    expect(await test.tock.runs.get(id)).toMatchObject({
      status: 'queued',
      attempts: 0,
      releases: 1,
      errors: [],
    });
    expect(await test.sql('select reason from public.children')).toEqual([{ reason }]);
  });

  it('does not come from a signal to all processes, as supervisors send it: the drain decides', async () => {
    const id = await test.tock.enqueue('hold');
    const worker = tick({ TOCK_DRAIN: '30s' });
    const child = await childOf(id);
    process.kill(child, 'SIGTERM');
    process.kill(child, 'SIGINT');
    worker.child.kill('SIGTERM');
    await until(
      async () => (await test.sql('select 1 from tock.workers where draining')).length > 0,
      'the drain to begin',
    );
    await test.sql('insert into public.releases default values');
    expect(await worker.ended).toMatchObject({ code: 0, stdout: expect.stringMatching(/1 succeeded/) });
    expect(await test.tock.runs.get(id)).toMatchObject({ status: 'succeeded', output: { pid: child } });
  });
});

describe('a worker that is killed', () => {
  it.each([
    ['compute', {}],
    ['wait', { withChild: true }],
  ])('takes its children with it, and theirs: %s', async (job, payload) => {
    const id = await test.tock.enqueue(job, payload);
    const worker = tick();
    const child = await childOf(id);
    const helper = job === 'wait' ? await childOf(id, 0) : null;
    worker.child.kill('SIGKILL');
    await worker.ended;
    await gone(child);
    if (helper !== null) await gone(helper);
    const run = await until(async () => {
      await test.another({ jobs: [] }).tick({ budget: '0s' });
      const found = await test.tock.runs.get(id);
      return found?.status === 'failed' && found;
    }, 'the run to be reaped');
    expect(run.errors).toMatchObject([{ code: 'TOCK_LEASE_LOST' }]);
  });

  it('and one that is frozen: its children end with the lease', async () => {
    const id = await test.tock.enqueue('compute', {});
    const worker = tick();
    const child = await childOf(id);
    worker.child.kill('SIGSTOP');
    await gone(child);
    worker.child.kill('SIGCONT');
    await worker.ended;
    expect((await test.tock.runs.get(id))?.errors).toMatchObject([
      { code: 'TOCK_CHILD_EXITED', message: expect.stringMatching(/when its lease was over.*frozen/) },
    ]);
  });
});

describe('createTock with isolated jobs', () => {
  const isolated = defineJob({ name: 'alone', isolate: true, run: () => null });
  const connectionString = 'postgres://nobody@127.0.0.1:1/none';
  const make = (options: object) => () =>
    createTock({ connectionString, jobs: [isolated], logger: false, ...options });

  it('refuses to guess where the handlers are', () => {
    expect(make({})).toThrow(expect.objectContaining({ code: 'TOCK_BAD_OPTION' }));
    expect(make({})).toThrow(/job alone has isolate.*pass jobsModule to createTock/);
    expect(make({ jobsModule: '/nowhere/jobs.js' })).toThrow(/"\/nowhere\/jobs\.js", which is not there/);
    expect(make({ jobs: [] })).not.toThrow();
  });

  it('takes a path, a URL, and the text of a URL', () => {
    for (const each of [jobsModule, new URL(`file://${jobsModule}`), `file://${jobsModule}`])
      expect(make({ jobsModule: each })).not.toThrow();
  });

  it('refuses a pool whose password is a function, unless it is told a connection string as well', async () => {
    const pool = new pg.Pool({ host: '127.0.0.1', password: () => 'secret' });
    const options = { jobsModule, pool };
    expect(make({ ...options, connectionString: undefined })).toThrow(/pass connectionString beside pool/);
    expect(make(options)).not.toThrow();
    await pool.end();
  });

  it('hands on how the pool of an app connects', async () => {
    const { hostname, port, username, password, pathname } = new URL(test.url);
    const pool = new pg.Pool({
      host: hostname,
      port: Number(port),
      user: decodeURIComponent(username),
      password: decodeURIComponent(password),
      database: pathname.slice(1),
    });
    const tock = createTock({ pool, jobs, jobsModule, logger: false, grace: '100ms' });
    const id = await tock.enqueue('leaves-much');
    expect(await tock.runs.wait(id)).toMatchObject({ status: 'succeeded' });
    await childOf(id);
    await tock.close();
    await pool.end();
  });
});
