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
