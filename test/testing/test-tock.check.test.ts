// The testing kit: each of its promises to the author of a test.
import { afterEach, describe, expect, inject, it } from 'vitest';
import { z } from 'zod';
import { Dead, defineJob, RetryLater } from '../../src/index.js';
import { installClock } from '../../src/testing/test-clock.js';
import { openTestTock, type TestTock, type TestTockOptions } from '../../src/testing.js';
import { openDatabase } from '../support/database.js';
import { createTestDatabase } from '../support/embedded-database.js';

const NOON = '2026-03-09T12:00:00Z';
const at = (time: string) => new Date(`2026-03-09T${time}Z`);

let kit: TestTock | undefined;
afterEach(async () => {
  await kit?.close();
  kit = undefined;
});
const open = async (options: TestTockOptions = {}): Promise<TestTock> => {
  kit = await openTestTock({ connectionString: inject('adminUrl'), now: NOON, ...options });
  return kit;
};

const echo = defineJob({
  name: 'echo',
  payload: z.object({ word: z.string() }),
  run: (ctx, { word }) => {
    ctx.log.info({ event: 'echo.said', word }, 'said it');
    return { word, attempt: ctx.attempt };
  },
});
const fragile = defineJob({
  name: 'fragile',
  retry: { maxAttempts: 3, base: '10s', jitter: 0 },
  run: ctx => {
    if (ctx.attempt < 3) throw new TypeError(`attempt ${ctx.attempt}`);
    return 'held';
  },
});
const hourly = defineJob({
  name: 'hourly',
  schedule: { cron: '30 * * * *', timezone: 'UTC' },
  run: ctx => ctx.scheduledFor?.toISOString(),
});

describe('runOnce', () => {
  it('executes one attempt and returns the run', async () => {
    const { runOnce, logs } = await open({ jobs: [echo] });
    const run = await runOnce(echo, { word: 'tock' }, { key: 'once', priority: 7 });
    expect(run).toMatchObject({
      status: 'succeeded',
      output: { word: 'tock', attempt: 1 },
      idempotencyKey: 'once',
      priority: 7,
      finishedAt: new Date(NOON),
    });
    expect(logs.filter(line => line.event === 'echo.said')).toEqual([
      {
        level: 'info',
        event: 'echo.said',
        fields: { run_id: run.id, job: 'echo', attempt: 1, event: 'echo.said', word: 'tock' },
        message: 'said it',
      },
    ]);
    expect(await runOnce(echo, { word: 'again' }, { key: 'once' })).toEqual(run);
  });

  it('returns a failed run, a dead one, and one that waits', async () => {
    const moody = defineJob({
      name: 'moody',
      payload: z.enum(['fail', 'die', 'wait']),
      retry: { base: '10s', jitter: 0 },
      run: (_ctx, how) => {
        if (how === 'die') throw new Dead('no more');
        throw how === 'wait' ? new RetryLater('1h') : new TypeError('broken');
      },
    });
    const { runOnce } = await open({ jobs: [moody] });
    const failed = await runOnce(moody, 'fail');
    expect(failed).toMatchObject({ status: 'failed', runAt: at('12:00:10') });
    expect(failed.errors).toMatchObject([{ attempt: 1, name: 'TypeError', message: 'broken' }]);
    expect(await runOnce(moody, 'die')).toMatchObject({ status: 'dead', errors: [{ message: 'no more' }] });
    expect(await runOnce(moody, 'wait')).toMatchObject({ status: 'failed', runAt: at('13:00:00') });
  });

  it('keeps changes, and posts none to a webhook', async () => {
    const webhook = { url: 'https://app.example.com/hooks', secret: { env: 'HOOK_SECRET' } };
    const told = defineJob({ name: 'told', changes: { webhook }, run: () => 'done' });
    await using kit = await openTestTock({ jobs: [told] });
    await kit.tock.enqueue('told');
    expect((await kit.drain()).map(({ job }) => job)).toEqual(['told']);
    const change = (await kit.tock.changes.subscribe({ from: 'oldest' }).next()).value;
    expect(change).toMatchObject({ job: 'told', status: 'succeeded' });
    expect(await kit.sql('select from tock.change_webhooks')).toEqual([]);
  });

  it('executes an isolated handler in the process of the test', async () => {
    const apart = defineJob({ name: 'apart', isolate: true, run: () => process.pid });
    const { runOnce } = await open({ jobs: [apart] });
    expect(await runOnce(apart)).toMatchObject({ status: 'succeeded', output: process.pid });
  });

  it('executes no other run, and says why when it cannot execute this one', async () => {
    const { runOnce, tock } = await open({ jobs: [echo] });
    const other = await tock.enqueue(echo, { word: 'other' });
    await runOnce(echo, { word: 'this' });
    expect(await tock.runs.get(other)).toMatchObject({ status: 'queued' });
    await expect(runOnce(echo, { word: 'later' }, { delay: '5m' })).rejects.toMatchObject({
      code: 'TOCK_BAD_STATE',
      message: expect.stringContaining('due 2026-03-09T12:05:00.000Z'),
    });
    await expect(runOnce('echo', { word: 1 })).rejects.toMatchObject({ code: 'TOCK_BAD_PAYLOAD' });
    await expect(runOnce('eco')).rejects.toMatchObject({ code: 'TOCK_UNKNOWN_JOB' });
  });

  it('changes the context of its run, in every attempt, and of no other', async () => {
    const who = defineJob({
      name: 'who',
      retry: { base: '1s', jitter: 0 },
      run: ctx => {
        if (ctx.attempt === 1) throw new Error('once more');
        return [ctx.definition, ctx.idempotencyKey, ctx.runId];
      },
    });
    const { runOnce, drain, clock, changeContext } = await open({ jobs: [who] });
    changeContext(who, () => ({ definition: 'job', idempotencyKey: 'job' }));
    const { id } = await runOnce(who, undefined, {
      context: ctx => ({ idempotencyKey: `${ctx.idempotencyKey} and run` }),
    });
    const other = await runOnce(who);
    await clock.advance('1s');
    const outputs = (await drain()).map(run => run.output);
    expect(outputs).toEqual([
      ['job', 'job and run', id],
      ['job', 'job', other.id],
    ]);
    changeContext(who, null);
    await runOnce(who);
    await clock.advance('1s');
    expect((await drain())[0]?.output).toMatchObject([null, null, expect.anything()]);
  });
});

describe('drain', () => {
  it('executes what is due with all that follows, and returns what ended in it alone', async () => {
    const first = defineJob({
      name: 'first',
      schedule: { cron: '0 12 * * *', timezone: 'UTC' },
      run: ctx => ctx.enqueue<string>('echo', { word: 'followed' }),
    });
    const after = defineJob({ name: 'after', schedule: { after: ['first'] }, run: () => 'chained' });
    const { drain, runOnce, clock, tock } = await open({ jobs: [first, after, echo], now: at('11:59:00') });
    expect(await drain()).toEqual([]);
    await runOnce(echo, { word: 'before' });
    await tock.enqueue(echo, { word: 'later' }, { delay: '1d' });
    await clock.set(NOON);
    const ended = await drain();
    expect(ended.map(run => run.job).sort()).toEqual(['after', 'echo', 'first']);
    expect(ended.every(run => run.status === 'succeeded')).toBe(true);
    expect(await drain()).toEqual([]);
  });

  it('returns a run anew that ends again after an operator’s retry', async () => {
    const { drain, failOnce, runOnce, tock } = await open({ jobs: [echo] });
    failOnce(echo, new Dead('not today'));
    const { id, status } = await runOnce(echo, { word: 'x' });
    expect(status).toBe('dead');
    await tock.runs.retry(id);
    expect(await drain()).toMatchObject([{ id, status: 'succeeded' }]);
  });

  it('executes a flow, and a run with parents that the test gives it', async () => {
    const report = defineJob({ name: 'report', run: ctx => ctx.parents['said']?.output });
    const { drain, runOnce, tock } = await open({ jobs: [echo, report] });
    const flow = await tock.enqueueFlow({
      said: { job: echo, payload: { word: 'x' } },
      next: { job: report, after: ['said'] },
    });
    const output = { word: 'x', attempt: 1 };
    expect(await drain()).toMatchObject([{ id: flow.said }, { id: flow.next, output }]);
    const said = { id: '1', status: 'succeeded' as const, output: 'given', error: null };
    expect(await runOnce(report, {}, { context: () => ({ parents: { said } }) })).toMatchObject({
      output: 'given',
    });
  });

  it('ends a loop with an error that names the job', async () => {
    const loop = defineJob({ name: 'loop', run: ctx => ctx.enqueue<string>('loop') });
    const { drain, tock } = await open({ jobs: [loop, echo] });
    await tock.enqueue(echo, { word: 'innocent' });
    await tock.enqueue(loop);
    await expect(drain({ limit: 20 })).rejects.toMatchObject({
      code: 'TOCK_BAD_STATE',
      message: expect.stringMatching(/executed 200\d attempts, \d+ of them of job loop/),
    });
  });
});

describe('the clock', () => {
  it('stands where it was set, moves on, and runs again', async () => {
    const { clock, sql } = await open();
    expect(await clock.now()).toEqual(new Date(NOON));
    await clock.advance('90s');
    expect(await clock.now()).toEqual(at('12:01:30'));
    await clock.set(at('23:00:00'));
    expect(await sql('select tock.now() as now')).toEqual([{ now: at('23:00:00') }]);
    await clock.run();
    const [real] = await sql<{ same: boolean }>('select tock.now() = statement_timestamp() as same');
    expect(real?.same).toBe(true);
    await expect(clock.set('2026-03-09 12:00')).rejects.toThrow('has no offset');
  });

  it('is left alone in a database that the kit has not made', async () => {
    const theirs = await createTestDatabase();
    const database = openDatabase({ connectionString: theirs.url });
    try {
      await database.run('create schema tock');
      await expect(installClock(database)).rejects.toMatchObject({ code: 'TOCK_BAD_STATE' });
      expect(await database.run(`select to_regclass('tock.test_clock') as clock`)).toEqual([{ clock: null }]);
    } finally {
      await database.close();
      await theirs.drop();
    }
  });
});

describe('untilNext', () => {
  it('goes from occurrence to occurrence', async () => {
    const { untilNext, clock } = await open({ jobs: [hourly] });
    expect((await untilNext(hourly)).map(run => run.output)).toEqual(['2026-03-09T12:30:00.000Z']);
    expect((await untilNext('hourly')).map(run => run.output)).toEqual(['2026-03-09T13:30:00.000Z']);
    expect(await clock.now()).toEqual(at('13:30:00'));
  });

  it('goes on to where jitter puts the run', async () => {
    const spread = defineJob({
      name: 'spread',
      schedule: { cron: '30 * * * *', timezone: 'UTC', jitter: '20m' },
      run: () => 'ran',
    });
    const { untilNext } = await open({ jobs: [spread] });
    const [run] = await untilNext(spread);
    expect(run).toMatchObject({ output: 'ran', scheduledFor: at('12:30:00') });
    expect(run?.runAt.getTime()).toBeGreaterThan(at('12:30:00').getTime());
  });

  it('says why there is none', async () => {
    const { untilNext, tock } = await open({ jobs: [hourly, echo] });
    await expect(untilNext('daily')).rejects.toMatchObject({ code: 'TOCK_NOT_FOUND' });
    await untilNext(hourly);
    await tock.schedules.pause('hourly');
    await expect(untilNext(hourly)).rejects.toThrow('it is paused');
  });
});

it('advanceTo stops at each occurrence and each retry on the way', async () => {
  const { advanceTo, runOnce, clock } = await open({ jobs: [hourly, fragile] });
  await advanceTo(NOON);
  const { id } = await runOnce(fragile);
  const ended = await advanceTo(at('14:00:00'));
  expect(ended.map(run => [run.id === id ? 'fragile' : run.output, run.finishedAt])).toEqual([
    ['fragile', at('12:00:30')],
    ['2026-03-09T12:30:00.000Z', at('12:30:00')],
    ['2026-03-09T13:30:00.000Z', at('13:30:00')],
  ]);
  expect(await clock.now()).toEqual(at('14:00:00'));
  await expect(advanceTo(NOON)).rejects.toMatchObject({ code: 'TOCK_BAD_TIME' });
  await expect(advanceTo('2026-03-10T12:00:00Z', { limit: 3 })).rejects.toThrow('over 3 moments');
});

describe('what goes wrong', () => {
  it('fails the next attempt of a job, and that one alone', async () => {
    const { failOnce, runOnce, drain, clock } = await open({ jobs: [echo] });
    failOnce('echo', new RangeError('no disk'));
    const failed = await runOnce(echo, { word: 'x' });
    expect(failed).toMatchObject({ status: 'failed', errors: [{ name: 'RangeError', message: 'no disk' }] });
    await clock.advance('1m');
    expect(await drain()).toMatchObject([{ id: failed.id, output: { word: 'x', attempt: 2 } }]);
  });

  it('takes the lease away: nothing of the attempt is kept, and the run is tried again', async () => {
    const slow = defineJob({
      name: 'slow',
      retry: { base: '10s', jitter: 0 },
      run: async ctx => {
        if (ctx.attempt === 1) await kit?.loseLease();
        return ctx.attempt;
      },
    });
    const { runOnce, loseLease, advanceTo, logs } = await open({ jobs: [slow] });
    await expect(loseLease()).rejects.toMatchObject({ code: 'TOCK_NOT_FOUND' });
    const first = await runOnce(slow);
    expect(first).toMatchObject({ status: 'failed', output: null });
    expect(logs.map(line => line.event)).toContain('run.lost');
    expect(await advanceTo(at('12:01:00'))).toMatchObject([
      { id: first.id, output: 2, fence: expect.any(Number) },
    ]);
  });
});

describe('the place', () => {
  const databases = async (): Promise<string[]> => {
    const admin = openDatabase({ connectionString: inject('adminUrl'), connections: 1 });
    const rows = await admin.run<{ name: string }>('select datname as name from pg_database');
    await admin.close();
    return rows.map(row => row.name);
  };
  const nameIn = (url: string) => new URL(url).pathname.slice(1);

  it('is a database of its own, dropped at the end of `await using`', async () => {
    const names: string[] = [];
    {
      await using one = await openTestTock({ connectionString: inject('adminUrl'), jobs: [echo] });
      await using other = await openTestTock({ connectionString: inject('adminUrl'), jobs: [echo] });
      await one.runOnce(echo, { word: 'mine' });
      expect(await other.tock.runs.list()).toEqual([]);
      names.push(nameIn(one.connectionString), nameIn(other.connectionString));
      expect(await databases()).toEqual(expect.arrayContaining(names));
    }
    expect((await databases()).filter(name => names.includes(name))).toEqual([]);
  });

  it('is a schema of its own where the role may create no database', async () => {
    const theirs = await createTestDatabase();
    const admin = openDatabase({ connectionString: theirs.url, connections: 1 });
    const role = `tock_test_role_${process.pid}`;
    await admin.run(`create role ${role} login password 'secret'`);
    await admin.run(
      `do $$ begin execute format('grant create on database %I to ${role}', current_database()); end $$`,
    );
    const url = new URL(theirs.url);
    url.username = role;
    url.password = 'secret';
    try {
      const { schema, untilNext, close } = await open({ connectionString: url.href, jobs: [hourly] });
      expect(schema).toMatch(/^tock_test_/);
      expect(await untilNext(hourly)).toMatchObject([{ status: 'succeeded', finishedAt: at('12:30:00') }]);
      await close();
      expect(await admin.run('select to_regnamespace($1) as schema', [schema])).toEqual([{ schema: null }]);
    } finally {
      await admin.run(`drop owned by ${role}`);
      await admin.run(`drop role ${role}`);
      await admin.close();
      await theirs.drop();
    }
  });

  it('is shared with another Tock, on the same clock', async () => {
    const { another, tock, clock } = await open({ jobs: [echo], schema: 'elsewhere' });
    const host = another({ lease: '5m' });
    const id = await tock.enqueue(echo, { word: 'x' }, { delay: '1h' });
    expect((await host.tick()).executed.claimed).toBe(0);
    await clock.advance('1h');
    await host.tick();
    expect(await tock.runs.get(id)).toMatchObject({ status: 'succeeded' });
  });

  it('refuses a connection string that is none, without repeating it', async () => {
    await expect(openTestTock({ connectionString: 'user:secret@nowhere' })).rejects.toMatchObject({
      code: 'TOCK_BAD_OPTION',
      message: expect.not.stringContaining('secret'),
    });
  });

  it('names the setting of the server for tests that cannot be used, never DATABASE_URL', async () => {
    const before = process.env['TOCK_TEST_DATABASE_URL'];
    const messageFor = async (url: string, connectionString?: string) => {
      process.env['TOCK_TEST_DATABASE_URL'] = url;
      const opening = openTestTock(connectionString === undefined ? {} : { connectionString });
      const error = (await opening.catch((thrown: unknown) => thrown)) as Error;
      return error.message;
    };
    try {
      const nowhere = 'postgres://ada:secret@127.0.0.1:1/app';
      const refused = await messageFor(nowhere);
      expect(refused).toMatch(
        /^cannot reach the database: .*check that the server runs and that TOCK_TEST_DATABASE_URL names/,
      );
      expect(await messageFor('mysql://root@127.0.0.1/app')).toMatch(
        /^TOCK_TEST_DATABASE_URL is no URL of a PostgreSQL/,
      );
      const given = await messageFor('postgres://127.0.0.1:1/other', nowhere);
      expect(given).toContain('that connectionString names its host');
      for (const message of [refused, given]) expect(message).not.toMatch(/(?<!TEST_)DATABASE_URL|secret/);
    } finally {
      if (before === undefined) delete process.env['TOCK_TEST_DATABASE_URL'];
      else process.env['TOCK_TEST_DATABASE_URL'] = before;
    }
  });
});
