// Engine: a server that does not take what a worker writes, for now. Nothing is lost by it, and no handler is called twice.
import pg from 'pg';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type AnyJob, defineJob, type JobContext, type TockOptions } from '../../src/index.js';
import { collectEvents, type EventLog } from '../chaos/collecting-logger.js';
import { openForEach } from '../support/open.js';
import { reuseTestTock, until } from '../support/test-tock.js';

interface Tables {
  'public.mails': { who: string };
}

const test = openForEach(reuseTestTock);
let holder: pg.Client;
let events: EventLog;
/** Which run was executed, in the order of the calls. */
let calls: string[];
beforeEach(async () => {
  holder = new pg.Client({ connectionString: test.url });
  holder.on('error', () => undefined);
  await holder.connect();
  events = collectEvents();
  calls = [];
});
afterEach(async () => {
  await holder.end();
});

const job = (name: string, run: (ctx: JobContext, payload: unknown) => unknown) =>
  defineJob({
    name,
    retry: { maxAttempts: 3, base: 0, jitter: 0 },
    run: (ctx, payload) => {
      calls.push(ctx.runId);
      return run(ctx, payload);
    },
  });
/** As a role whose statements wait 200 ms for a lock, or so long, and no longer. */
const impatient = (jobs: readonly AnyJob[], options: Partial<TockOptions> = {}, lockTimeoutMs = 200) => {
  const url = new URL(test.url);
  url.searchParams.set('options', `-c lock_timeout=${lockTimeoutMs}`);
  return test.another({ connectionString: url.href, jobs, logger: events.logger, ...options });
};
const lock = (table: string) => holder.query(`begin; lock table tock.${table} in access exclusive mode`);
const unlock = () => holder.query('rollback');
const waited = (event = 'finalize.waiting') =>
  until(async () => events.count(event) > 0, `${event} to be logged`);
/** A promise that is kept from outside. */
const gate = () => {
  let open = () => undefined as void;
  const opened = new Promise<void>(resolve => {
    open = resolve;
  });
  return { open, opened };
};
/** The server refuses what a condition names with an SQLSTATE, so often. Counted by a sequence, which no rollback sets back. */
const refuse = async (table: string, on: string, condition: string, state: string, times: number) => {
  await test.sql(`create sequence public.refusals`);
  await test.sql(`create function public.refuse() returns trigger language plpgsql as $$ begin
    if ${condition} and nextval('public.refusals') <= ${times} then
      raise exception 'not now' using errcode = '${state}';
    end if;
    return new;
  end $$`);
  await test.sql(
    `create trigger refuse before ${on} on tock.${table} for each row execute function public.refuse()`,
  );
};
const WAITING = `select from pg_stat_activity where datname = current_database() and application_name = 'tock' and wait_event_type = 'Lock'`;

describe('outcomes', () => {
  it.each(['job_runs_finished', 'job_runs_live'])(
    'outlast a lock on %s that is held for longer than lock_timeout: value, error and progress are kept',
    async table => {
      const ends = gate();
      const returns = job('returns', async (ctx, payload) => {
        await ends.opened;
        ctx.progress(0.5, 'half');
        return payload;
      });
      const fails = job('fails', async ctx => {
        await ends.opened;
        if (ctx.attempt === 1) throw new Error('as asked');
      });
      const tock = impatient([returns, fails]);
      const ids = await tock.enqueueMany([
        { job: returns, payload: { n: 1 } },
        { job: returns, payload: { n: 2 } },
        { job: fails },
      ]);
      // A tick would be over where a claim is refused, as one may be after a second.
      const daemon = await tock.start();
      await until(async () => calls.length === 3, 'all handlers to begin');
      await lock(table);
      ends.open();
      await waited();
      await unlock();
      await until(async () => daemon.outcomeCounts.succeeded === 3, 'all to be written');
      await daemon.stop();
      expect(daemon.outcomeCounts).toMatchObject({ succeeded: 3, failed: 1, lost: 0 });
      expect(calls.slice(0, 3)).toEqual(expect.arrayContaining(ids));
      expect(calls.slice(3)).toEqual([ids[2]]);
      for (const n of [1, 2]) {
        expect(await tock.runs.get(ids[n - 1] ?? '')).toMatchObject({
          status: 'succeeded',
          attempts: 1,
          output: { n },
          progress: { fraction: 0.5, stage: 'half' },
        });
      }
      const failed = await tock.runs.get(ids[2] ?? '');
      expect(failed?.errors.map(each => each.message)).toEqual(['as asked']);
      expect([events.count('finalize.refused'), events.count('finalize.resumed')]).toEqual([0, 1]);
    },
  );

  it('outlast a statement that was cancelled', async () => {
    const ends = gate();
    const returns = job('returns', () => ends.opened.then(() => 'kept'));
    const tock = test.another({ jobs: [returns], logger: events.logger });
    const id = await tock.enqueue(returns);
    const ticking = tock.tick();
    await until(async () => calls.length === 1, 'the handler to begin');
    await lock('job_runs_finished');
    ends.open();
    await until(async () => (await test.sql(WAITING)).length === 1, 'the outcome to wait');
    await test.sql(WAITING.replace('select', 'select pg_cancel_backend(pid)'));
    await waited();
    await unlock();
    await ticking;
    expect(await tock.runs.get(id)).toMatchObject({ status: 'succeeded', attempts: 1, output: 'kept' });
  });

  it('outlast a month without a partition', async () => {
    const detached = await test.sql<{ name: string }>(
      `select inhrelid::regclass::text as name from pg_inherits where inhparent = 'tock.job_runs_finished'::regclass`,
    );
    for (const { name } of detached)
      await test.sql(`alter table tock.job_runs_finished detach partition ${name}`);
    const returns = job('returns', () => 'kept');
    const tock = test.another({ jobs: [returns], logger: events.logger });
    const id = await tock.enqueue(returns);
    const ticking = tock.tick();
    await waited();
    await test.sql(
      'alter table tock.job_runs_finished attach partition tock.job_runs_finished_default default',
    );
    await ticking;
    expect(await tock.runs.get(id)).toMatchObject({ status: 'succeeded', attempts: 1, output: 'kept' });
  });

  it.each([
    ['200 ms', 40],
    ['none', 4],
  ] as const)(
    'of a batch are written all but the one whose row somebody holds; and so are those that come after (lock_timeout: %s)',
    async (timeout, count) => {
      const ends = gate();
      const returns = job('returns', () => ends.opened.then(() => 'kept'));
      const tock =
        timeout === 'none'
          ? test.another({ jobs: [returns], logger: events.logger, statementTimeout: '2s' })
          : impatient([returns]);
      const ids = await tock.enqueueMany(Array.from({ length: count }, () => ({ job: returns })));
      const daemon = await tock.start({ concurrency: 50 });
      await until(async () => calls.length === count, 'all handlers to begin');
      await holder.query('begin');
      await holder.query('select from tock.job_runs_live where id = $1 for update', [ids[2]]);
      ends.open();
      const left = async () =>
        (await test.sql<{ id: string }>('select id from tock.job_runs_live')).map(row => row.id);
      await until(async () => (await left()).length === 1, 'the others to be written');
      const later = await tock.enqueue(returns);
      await until(
        async () =>
          (await test.sql('select from tock.job_runs_finished where id = $1', [later])).length === 1,
        'one that came later to be written',
      );
      expect(await left()).toEqual([ids[2]]);
      await unlock();
      await until(async () => (await left()).length === 0, 'the last one to be written');
      await daemon.stop();
      expect(daemon.outcomeCounts).toMatchObject({ claimed: count + 1, succeeded: count + 1, lost: 0 });
      expect(calls).toHaveLength(count + 1);
    },
  );

  it('that PostgreSQL can never store cost nothing to the others, also of a batch that succeeds and fails', async () => {
    await test.sql(
      `alter table tock.job_runs_live add constraint no_such_error check (errors::text not like '%poison%') not valid`,
    );
    const ends = gate();
    const returns = job('returns', () => ends.opened.then(() => 'kept'));
    const throws = defineJob({
      name: 'throws',
      retry: { maxAttempts: 2, base: '1h', jitter: 0 },
      run: async (ctx, payload) => {
        calls.push(ctx.runId);
        await ends.opened;
        throw new Error((payload as { message: string }).message);
      },
    });
    const tock = test.another({ jobs: [returns, throws], logger: events.logger });
    const plain = Array.from({ length: 30 }, (_, n) => ({ job: throws, payload: { message: `no ${n}` } }));
    const ids = await tock.enqueueMany([
      ...plain,
      { job: throws, payload: { message: 'poison' } },
      { job: returns },
      { job: returns },
    ]);
    const ticking = tock.tick({ concurrency: 50 });
    await until(async () => calls.length === ids.length, 'all handlers to begin');
    ends.open();
    expect((await ticking).executed).toMatchObject({ succeeded: 2, failed: 31, lost: 0 });
    const errors = await test.sql<{ message: string; count: number }>(
      `select errors -> 0 ->> 'message' as message, count(*)::int as count from tock.job_runs_live group by 1`,
    );
    expect(errors).toHaveLength(31);
    expect(errors).toContainEqual({ message: 'the error could not be stored', count: 1 });
    expect([events.count('finalize.refused'), events.count('finalize.waiting')]).toEqual([1, 0]);
  });

  it('are given up when their lease is over, and the run is tried again', async () => {
    const ends = gate();
    const returns = job('returns', () => ends.opened.then(() => 'kept'));
    const tock = impatient([returns], { lease: '5s', heartbeat: '200ms' });
    const id = await tock.enqueue(returns);
    const daemon = await tock.start();
    await until(async () => calls.length === 1, 'the handler to begin');
    await lock('job_runs_live');
    ends.open();
    // Nobody gives the lock back, and the worker is rid of the run all the same.
    await until(async () => daemon.outcomeCounts.lost === 1, 'the outcome to be given up');
    expect([events.count('finalize.lost'), events.count('finalize.refused')]).toEqual([1, 0]);
    await unlock();
    await until(async () => daemon.outcomeCounts.succeeded === 1, 'the next attempt');
    await daemon.stop();
    const run = await tock.runs.get(id);
    expect(run).toMatchObject({ status: 'succeeded', attempts: 2, output: 'kept' });
    expect(run?.errors.map(each => each.code)).toEqual(['TOCK_LEASE_LOST']);
  });

  it('keep their lease while they wait, also those of an attempt that took longer than its timeout', async () => {
    const sleeps = defineJob({
      name: 'sleeps',
      timeout: '300ms',
      retry: { maxAttempts: 1 },
      run: async ctx => {
        await lock('job_runs_finished');
        await until(async () => ctx.signal.aborted, 'the timeout');
        throw ctx.signal.reason;
      },
    });
    // A lease whose outcome waits is renewed from its half on: that leaves three seconds for it.
    const tock = impatient([sleeps], { lease: '6s', heartbeat: '200ms' });
    const id = await tock.enqueue(sleeps);
    const ticking = tock.tick();
    await waited();
    const [before] = await test.sql<{ at: string }>(
      'select locked_until::text as at from tock.job_runs_live',
    );
    await until(
      async () => (await test.sql('select where tock.now() > $1::timestamptz', [before?.at])).length === 1,
      'a lease to go by',
    );
    await unlock();
    expect((await ticking).executed).toMatchObject({ dead: 1, lost: 0 });
    expect((await tock.runs.get(id))?.errors.map(each => each.code)).toEqual(['TOCK_TIMEOUT']);
  });

  it('that wait keep a worker from claiming more than it could hold', async () => {
    const ends = gate();
    const returns = job('returns', () => ends.opened.then(() => 'kept'));
    const tock = impatient([returns]);
    await tock.enqueueMany([{ job: returns }, { job: returns }]);
    const daemon = await tock.start({ concurrency: 2 });
    await until(async () => calls.length === 2, 'both handlers to begin');
    await lock('job_runs_finished');
    ends.open();
    await waited();
    await tock.enqueueMany(Array.from({ length: 20 }, () => ({ job: returns })));
    const tries = async () =>
      Number(
        (
          await test.sql<{ n: string }>(
            'select xact_rollback as n from pg_stat_database where datname = current_database()',
          )
        )[0]?.n,
      );
    const before = await tries();
    await until(async () => (await tries()) >= before + 2, 'some more tries');
    // One more than its capacity at most: it shows that nothing can be written still.
    expect(daemon.outcomeCounts.claimed).toBeLessThanOrEqual(3);
    await unlock();
    await until(async () => daemon.outcomeCounts.succeeded === 22, 'all to be written');
    await daemon.stop();
    expect(calls).toHaveLength(22);
  });
});

describe('a drain', () => {
  it('writes the outcomes when the server takes them again', async () => {
    const ends = gate();
    const returns = job('returns', () => ends.opened.then(() => 'kept'));
    const tock = impatient([returns]);
    const id = await tock.enqueue(returns);
    const daemon = await tock.start();
    await until(async () => calls.length === 1, 'the handler to begin');
    await lock('job_runs_finished');
    ends.open();
    await waited();
    const stopping = daemon.stop();
    await unlock();
    await stopping;
    expect(daemon.outcomeCounts).toMatchObject({ succeeded: 1, lost: 0 });
    expect(await test.tock.runs.get(id)).toMatchObject({ status: 'succeeded', attempts: 1 });
  });

  it('ends after one more lease where the server renews leases, and takes no outcomes', async () => {
    const ends = gate();
    const returns = job('returns', () => ends.opened.then(() => 'kept'));
    const tock = impatient([returns], { lease: '3s', heartbeat: '200ms', grace: '100ms', drain: 0 });
    await tock.enqueue(returns);
    const daemon = await tock.start();
    await until(async () => calls.length === 1, 'the handler to begin');
    await lock('job_runs_finished');
    ends.open();
    await waited();
    await daemon.stop();
    expect(daemon.outcomeCounts).toMatchObject({ succeeded: 0, lost: 1 });
    await unlock();
  });
});

describe('a heartbeat', () => {
  it('that the server refuses is repeated, and no lease is lost by it', async () => {
    await refuse(
      'job_runs_live',
      'update',
      `old.status = 'running' and new.locked_until > old.locked_until`,
      '57014',
      3,
    );
    const ends = gate();
    const waits = job('waits', async ctx => {
      await ends.opened;
      return ctx.signal.aborted;
    });
    // The third of three beats would come when the lease is over.
    const tock = test.another({ jobs: [waits], logger: events.logger, lease: '6s', heartbeat: '2800ms' });
    const id = await tock.enqueue(waits);
    const ticking = tock.tick();
    await until(async () => calls.length === 1, 'the handler to begin');
    const [first] = await test.sql<{ at: string }>('select locked_until::text as at from tock.job_runs_live');
    await until(
      async () =>
        events.count('run.lease_lost') > 0 ||
        (await test.sql('select from tock.job_runs_live where locked_until > $1::timestamptz', [first?.at]))
          .length === 1,
      'the lease to be renewed',
    );
    ends.open();
    expect((await ticking).executed).toMatchObject({ succeeded: 1, lost: 0 });
    expect(await tock.runs.get(id)).toMatchObject({ attempts: 1, output: false });
    expect(events.count('heartbeat.failed')).toBe(1);
  });

  it.each(['200ms', 'none'])(
    'passes over a row that somebody holds: all but that one keep their leases (lock_timeout: %s)',
    async timeout => {
      const ends = gate();
      const waits = job('waits', async ctx => {
        await ends.opened;
        return ctx.signal.aborted;
      });
      const options = { lease: '5s', heartbeat: '200ms', statementTimeout: '30s' } as const;
      const tock =
        timeout === 'none'
          ? test.another({ jobs: [waits], logger: events.logger, ...options })
          : impatient([waits], options);
      const ids = await tock.enqueueMany([{ job: waits }, { job: waits }, { job: waits }]);
      const ticking = tock.tick();
      await until(async () => calls.length === 3, 'the handlers to begin');
      await holder.query('begin');
      await holder.query('select from tock.job_runs_live where id = $1 for update', [ids[1]]);
      await until(async () => events.count('run.lease_lost') > 0, 'the lease of that one to be over');
      ends.open();
      await until(
        async () => (await test.sql('select from tock.job_runs_finished')).length === 2,
        'the others to be written',
      );
      await unlock();
      const { executed } = await ticking;
      expect(executed.lost).toBe(1);
      for (const id of [ids[0], ids[2]])
        expect(await tock.runs.get(id ?? '')).toMatchObject({ attempts: 1, output: false });
      expect(events.count('run.lease_lost')).toBe(1);
    },
  );

  it('renews the leases of a worker that cannot show itself', async () => {
    const ends = gate();
    const waits = job('waits', async ctx => {
      await ends.opened;
      return ctx.signal.aborted;
    });
    const tock = test.another({ jobs: [waits], logger: events.logger, lease: '3s', heartbeat: '200ms' });
    const id = await tock.enqueue(waits);
    const ticking = tock.tick();
    await until(async () => calls.length === 1, 'the handler to begin');
    await lock('workers');
    const [first] = await test.sql<{ at: string }>('select locked_until::text as at from tock.job_runs_live');
    await until(
      async () =>
        (await test.sql(`select where tock.now() > $1::timestamptz + interval '3 seconds'`, [first?.at]))
          .length === 1,
      'two leases to go by',
    );
    ends.open();
    await until(
      async () => (await test.sql('select from tock.job_runs_finished where id = $1', [id])).length === 1,
      'the outcome',
    );
    await unlock();
    expect((await ticking).executed).toMatchObject({ succeeded: 1, lost: 0 });
    expect(await tock.runs.get(id)).toMatchObject({ attempts: 1, output: false });
  });
});

describe('a reaping', () => {
  it('takes back all but the run of which PostgreSQL can never store what becomes of it', async () => {
    const returns = job('returns', () => 'done');
    const tock = test.another({ jobs: [returns], logger: events.logger });
    await tock.register();
    await test.sql(`insert into tock.job_runs_live (job, payload, status, attempts, max_attempts, locked_until)
      select 'returns', jsonb_build_object('n', n), 'running', 1, 1 + n % 2, tock.now() - interval '1 minute'
      from generate_series(1, 30) n`);
    await test.sql(
      `alter table tock.job_runs_finished add constraint no_such_run check (payload ->> 'n' <> '14') not valid`,
    );
    const { reaped, executed } = await tock.tick();
    expect([reaped, executed.succeeded]).toEqual([{ failed: 15, dead: 14, cancelled: 0 }, 15]);
    expect(await test.sql(`select payload from tock.job_runs_live where status = 'running'`)).toEqual([
      { payload: { n: 14 } },
    ]);
    expect(events.count('run.refused')).toBe(1);
  });
});

describe('a claim that the server refuses', () => {
  it('does not interrupt what the tick executes', async () => {
    const executes = job('executes', async ctx => {
      await lock('job_queues');
      await until(async () => (await test.sql(WAITING)).length > 0, 'the next claim to wait');
      await until(async () => (await test.sql(WAITING)).length === 0, 'it to be refused');
      // Whoever wants to interrupt has the time to.
      for (let count = 0; count < 10; count++) await test.sql('select');
      return ctx.signal.aborted;
    });
    // Long enough to be seen to wait.
    const tock = impatient([executes], { drain: 0 }, 3000);
    const id = await tock.enqueue(executes);
    await expect(tock.tick()).rejects.toMatchObject({ code: '55P03' });
    await unlock();
    expect(await tock.runs.get(id)).toMatchObject({ status: 'succeeded', attempts: 1, output: false });
  });

  it('leaves none behind that it has leased already', async () => {
    const limited = defineJob({
      name: 'limited',
      concurrency: { limit: 1 },
      run: ctx => {
        calls.push(ctx.runId);
      },
    });
    const tock = test.another({ jobs: [limited] });
    const ids = await tock.enqueueMany([{ job: limited }, { job: limited }, { job: limited }]);
    // What is put aside after the admission has been committed.
    await refuse(
      'job_runs_live',
      'update',
      `current_query() like '%limit 1000 for update skip locked%'`,
      '53100',
      1,
    );
    await test.sql(`insert into tock.job_runs_live (job, slot_keys, slot_limits)
      select 'limited', slot_keys, slot_limits from tock.job_runs_live, generate_series(1, 20) limit 20`);
    await expect(tock.tick()).rejects.toMatchObject({ code: '53100' });
    // The first may have passed its slot on to the second.
    expect(calls[0]).toBe(ids[0]);
    expect(await test.sql(`select id from tock.job_runs_live where status = 'running'`)).toEqual([]);
    expect(await tock.runs.get(ids[0] ?? '')).toMatchObject({ status: 'succeeded', attempts: 1 });
    const left = 23 - calls.length;
    expect((await tock.tick()).executed.succeeded).toBe(left);
  });
});

describe('the work of a handler is done once', () => {
  it('where the server refuses to keep the result of a step at first', async () => {
    await refuse('job_effects', 'insert', 'true', '53100', 3);
    const steps = job('steps', ctx => ctx.step('fetch', () => ({ calls: calls.length })));
    const tock = test.another({ jobs: [steps] });
    const id = await tock.enqueue(steps);
    expect((await tock.tick()).executed).toMatchObject({ succeeded: 1, failed: 0 });
    expect(await tock.runs.get(id)).toMatchObject({ attempts: 1, output: { calls: 1 } });
  });

  it('where it refuses the end of ctx.once at first', async () => {
    await refuse('job_effects', 'update', 'true', '55P03', 3);
    await test.sql('create table public.mails (who text)');
    const once = job('once', ctx =>
      ctx.once('mail', async trx => {
        await trx.withTables<Tables>().insertInto('public.mails').values({ who: 'all' }).execute();
        return 'sent';
      }),
    );
    const tock = test.another({ jobs: [once] });
    const id = await tock.enqueue(once);
    expect((await tock.tick()).executed).toMatchObject({ succeeded: 1, failed: 0 });
    expect(await tock.runs.get(id)).toMatchObject({ attempts: 1, output: 'sent' });
    expect(await test.sql('select * from public.mails')).toEqual([{ who: 'all' }]);
    expect(await test.sql(`select result from tock.job_effects`)).toEqual([{ result: 'sent' }]);
  });

  it('where ctx.once waits for its turn for longer than lock_timeout', async () => {
    const turns = gate();
    const once = job('once', async ctx =>
      ctx.once('turn', async () => {
        await turns.opened;
        return ctx.runId;
      }),
    );
    const tock = impatient([once]);
    const ids = await tock.enqueueMany([{ job: once }, { job: once }]);
    const ticking = tock.tick();
    await until(async () => (await test.sql(WAITING)).length === 1, 'one to wait for the other');
    await until(async () => (await test.sql(WAITING)).length === 0, 'it to be refused');
    turns.open();
    expect((await ticking).executed).toMatchObject({ succeeded: 2, failed: 0 });
    const outputs = await Promise.all(ids.map(async id => (await tock.runs.get(id))?.output));
    expect(new Set(outputs).size).toBe(1);
    expect(calls).toHaveLength(2);
  });

  it.each(['53100', '57014'])(
    'where it refuses the success in ctx.transaction at first, with %s',
    async state => {
      await refuse('job_runs_finished', 'insert', 'true', state, 3);
      await test.sql('create table public.mails (who text)');
      const both = job('both', ctx =>
        ctx.transaction(async trx => {
          await trx.withTables<Tables>().insertInto('public.mails').values({ who: 'all' }).execute();
          return 'sent';
        }),
      );
      const tock = test.another({ jobs: [both] });
      const id = await tock.enqueue(both);
      expect((await tock.tick()).executed).toMatchObject({ succeeded: 1, failed: 0 });
      expect(await tock.runs.get(id)).toMatchObject({ attempts: 1, output: 'sent' });
      expect(await test.sql('select * from public.mails')).toEqual([{ who: 'all' }]);
    },
  );

  it('where PostgreSQL can never store what ctx.transaction returned: it is left out', async () => {
    await test.sql(
      `alter table tock.job_runs_finished add constraint no_such_output check (output is null or not output ? 'map') not valid`,
    );
    await test.sql('create table public.mails (who text)');
    const both = job('both', ctx =>
      ctx.transaction(async trx => {
        await trx.withTables<Tables>().insertInto('public.mails').values({ who: 'all' }).execute();
        return { map: 1 };
      }),
    );
    const tock = test.another({ jobs: [both], logger: events.logger });
    const id = await tock.enqueue(both);
    expect((await tock.tick()).executed).toMatchObject({ succeeded: 1, failed: 0 });
    expect(await tock.runs.get(id)).toMatchObject({ status: 'succeeded', attempts: 1, output: null });
    expect(await test.sql('select * from public.mails')).toEqual([{ who: 'all' }]);
    expect(events.count('finalize.refused')).toBe(1);
  });
});
