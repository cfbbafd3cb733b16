// Isolated jobs: what a handler in a process of its own is given, what it may throw, and what it writes.
import pg from 'pg';
import { describe, expect, it } from 'vitest';
import { createTock, defineJob } from '../../src/index.js';
import { writeJobs } from '../support/processes.js';
import { until } from '../support/test-tock.js';
import {
  attempted,
  childOf,
  ended,
  gone,
  isGone,
  jobsModule,
  lines,
  start,
  test,
} from './isolate-harness.js';
import { jobs } from './isolated-jobs.js';

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

  it('closes its key', async () => {
    await start();
    await test.tock.register();
    const run = await ended(await test.tock.enqueue('closes', { who: 'Ada' }));
    expect(run.output).toBe('2199-01-01T00:00:00.000Z');
    expect(await test.tock.keys.list()).toMatchObject([
      { key: 'Ada', states: [{ job: 'closes', closedUntil: new Date('2199-01-01T00:00:00Z') }] },
    ]);
  });

  it('does with other runs and queues what its Tock can, under the name of the app', async () => {
    const acting = test.another({ jobs, jobsModule, operator: 'billing' });
    const dead = await acting.enqueue('tell', { who: 'Ada' }, { delay: '1h' });
    await acting.runs.cancel(dead);
    await start(acting);
    const run = await ended(await test.tock.enqueue('oversees', { dead }));
    expect(run.output).toEqual({
      status: 'cancelled',
      retried: 'queued',
      late: false,
      refused: 'TOCK_UNKNOWN_JOB',
    });
    expect(await test.tock.audit.list()).toMatchObject([
      { action: 'runs.retry', operator: 'billing' },
      { action: 'queues.pause', operator: 'billing' },
      { action: 'runs.cancel', operator: 'billing' },
      { action: 'runs.cancel', operator: 'billing' },
    ]);
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

  it('hands its run off: its process ends, and the run goes on', async () => {
    await start();
    const id = await test.tock.enqueue('hands-off', {});
    const run = await until(async () => {
      const found = await test.tock.runs.get(id);
      return found?.handOff && found;
    }, 'the handoff');
    expect(run).toMatchObject({ status: 'running', handOff: { fence: 1, to: 'another process' } });
    await gone(await childOf(id));
    expect(await test.tock.complete(id, 1, { by: 'another' })).toBe(true);
    expect(await ended(id)).toMatchObject({ status: 'succeeded', output: { by: 'another' } });
    const forgetful = await test.tock.enqueue('hands-off', { forgets: true });
    expect((await ended(forgetful)).errors[0]).toMatchObject({
      code: 'TOCK_BAD_RESULT',
      message: expect.stringMatching(/called ctx\.handOff and returned something else/),
    });
  });

  it('has what became of its parents', async () => {
    await start();
    const flow = await test.tock.enqueueFlow({
      told: { job: 'tell', payload: { who: 'Ada' } },
      next: { job: 'follows', after: ['told'] },
    });
    expect(await ended(flow.next)).toMatchObject({ status: 'succeeded', output: 'succeeded' });
  });

  it('waits by Snooze, for a time, runs and an event, and keeps its cursor', async () => {
    await start();
    const id = await test.tock.enqueue('waits', {});
    await until(
      async () => (await test.tock.runs.get(id))?.waits.some(({ kind }) => kind === 'event'),
      'it to wait for an event',
    );
    await test.tock.emit('paid', { key: id, payload: 7 });
    const run = await ended(id);
    expect(run).toMatchObject({
      status: 'succeeded',
      output: { rows: 5, snoozes: 1, attempt: 1, child: 'succeeded', paid: 7 },
      waits: [
        { kind: 'snooze', reason: 'not yet' },
        { kind: 'sleep', name: 'a', outcome: 'time' },
        { kind: 'runs', outcome: 'ended' },
        { kind: 'event', name: 'paid', outcome: 'event' },
      ],
    });
    expect(await ended(await test.tock.enqueue('waits', { catches: true }))).toMatchObject({
      status: 'dead',
      errors: [{ code: 'TOCK_WAIT_CAUGHT' }],
    });
    expect(await ended(await test.tock.enqueue('waits', { forgets: true }))).toMatchObject({
      status: 'dead',
      errors: [{ code: 'TOCK_NOT_AWAITED', message: expect.stringContaining('ctx.sleep "a"') }],
    });
  });

  it('forwards its log lines and its progress, also when it never yields again', async () => {
    await start();
    const id = await test.tock.enqueue('compute', {});
    const run = await until(async () => {
      const found = await test.tock.runs.get(id);
      return found?.progress && found;
    }, 'progress');
    expect(run.progress).toMatchObject({ fraction: 0.25, stage: 'computing', events: 1 });
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

  it('keeps its causes, and the members of an AggregateError, without secrets', async () => {
    const { errors } = await threw('cause');
    expect(errors).toMatchObject([
      {
        name: 'TypeError',
        message: 'no reply',
        cause: {
          name: 'AggregateError',
          message: 'all',
          stack: expect.stringContaining('jobs.mjs'),
          errors: [
            { name: 'Error', message: 'first: postgres://ada:***@db/x' },
            { name: 'thrown string', message: 'second', stack: null },
          ],
        },
      },
    ]);
    expect(JSON.stringify(errors)).not.toContain('hunter2');
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

describe('effects of an isolated handler', () => {
  it('step, once and transaction are kept under the worker’s fence', async () => {
    const { outcomeCounts } = await start();
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
    await until(async () => outcomeCounts.succeeded === 2, 'the counts');
    expect(outcomeCounts).toMatchObject({ claimed: 3, failed: 1, succeeded: 2, lost: 0 });
  });

  it('adds to its group once', async () => {
    await start();
    const group = await test.tock.enqueueGroup([{ job: 'grows' }], { then: { job: 'plain' } });
    expect((await ended(group.runs[0] ?? ''))?.output).toHaveLength(2);
    expect(await ended(group.id)).toMatchObject({
      status: 'succeeded',
      waits: [{ runs: { count: 3, left: 0 } }],
    });
  });

  it('are refused once the lease is lost', async () => {
    // Long enough for the child to write down how it was refused.
    const { outcomeCounts } = await start(test.another({ grace: '10s' }));
    const id = await test.tock.enqueue('late');
    await childOf(id);
    await test.sql('update tock.job_runs_live set fence = fence + 1 where id = $1', [id]);
    await until(async () => outcomeCounts.lost === 1, 'the loss');
    expect(await test.sql('select text from public.notes')).toEqual([{ text: 'refused TOCK_LEASE_LOST' }]);
    expect(await test.tock.runs.get(id)).toMatchObject({ status: 'running', fence: 2, errors: [] });
    await gone(await childOf(id));
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
    expect(make({ jobsModule: '/nowhere/jobs.js' })).toThrow(/"\/nowhere\/jobs\.js", which does not exist/);
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
    // `end` does not wait until its connections are closed, and the database is dropped under them.
    pool.on('error', () => undefined);
    const tock = createTock({ pool, jobs, jobsModule, logger: false, grace: '100ms' });
    const id = await tock.enqueue('leaves-much');
    expect(await tock.runs.wait(id, { execute: true })).toMatchObject({ status: 'succeeded' });
    await childOf(id);
    await tock.close();
    await pool.end();
  });
});
