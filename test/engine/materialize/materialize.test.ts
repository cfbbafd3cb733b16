// Engine: definitions become runs, each occurrence once, whatever the clock and the ticks do.
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { materialize } from '../../../src/engine/materialize/materialize.js';
import type { Worker } from '../../../src/engine/worker/worker-interface.js';
import { defineJob, type JobSchedule, type Json } from '../../../src/index.js';
import type { Database } from '../../../src/store/connection/database.js';
import { openDatabase } from '../../support/database.js';
import { engineOver } from '../../support/engine.js';
import { collectLines } from '../../support/lines.js';
import { openForEach } from '../../support/open.js';
import { whileHeld } from '../../support/runs.js';
import { reuseTestTock, until } from '../../support/test-tock.js';

const scheduled = (name: string, schedule: JobSchedule) =>
  defineJob({
    name,
    schedule,
    run: ctx => ({ scheduledFor: ctx.scheduledFor, interval: ctx.dataInterval, count: ctx.occurrenceCount }),
  });
const test = openForEach(reuseTestTock, ({ setClock }) => setClock('2026-03-01T12:00:30Z'));

const rows = () =>
  test.sql<{
    name: string;
    status: string;
    scheduled_for: Date;
    occurrence_count: number;
    skip_reason: string | null;
    run_at: Date;
  }>(
    `select d.name, r.status, r.scheduled_for, r.occurrence_count, r.skip_reason, r.run_at
     from tock.job_runs r join tock.job_definitions d on d.id = r.definition_id order by r.scheduled_for, d.name`,
  );

/** How many rows of a table each transaction has written. */
const batchesOf = async (table: string, where: string) =>
  (
    await test.sql<{ count: number }>(
      `select count(*)::integer as count from tock.${table} where ${where} group by xmin::text order by count`,
    )
  ).map(row => row.count);

it('an occurrence gives one run when it is due, with its nominal time and data interval', async () => {
  const tock = test.another({ jobs: [scheduled('minutely', { cron: '* * * * *' })] });
  expect((await tock.tick()).materialized).toMatchObject({ runs: 0 });
  await test.setClock('2026-03-01T12:01:00Z');
  expect(await tock.tick()).toMatchObject({ materialized: { runs: 1 }, executed: { succeeded: 1 } });
  expect((await tock.tick()).materialized).toMatchObject({ definitions: 0, runs: 0 });
  const [run] = await tock.runs.list();
  expect(run).toMatchObject({
    trigger: 'cron',
    scheduledFor: new Date('2026-03-01T12:01:00Z'),
    output: {
      scheduledFor: '2026-03-01T12:01:00.000Z',
      interval: { start: '2026-03-01T12:00:00.000Z', end: '2026-03-01T12:01:00.000Z' },
      count: 1,
    },
  });
  const [definition] = await tock.schedules.list();
  expect(run?.idempotencyKey).toBe(`cron:${definition?.id}:2026-03-01T12:01:00Z`);
  expect(definition).toMatchObject({
    cursor: new Date('2026-03-01T12:01:00Z'),
    nextAt: new Date('2026-03-01T12:02:00Z'),
  });
});

it('after three days off all catches up more than one plan holds also under overlap skip; what comes due afterwards overlaps', async () => {
  const tock = test.another({
    jobs: [scheduled('minutely', { cron: '* * * * *', catchup: 'all', overlap: 'skip' })],
  });
  await tock.tick();
  await tock.queues.pause('default');
  await test.advance('20h');
  expect((await tock.tick()).materialized).toMatchObject({ runs: 1200, skips: 0 });
  await test.advance('1m');
  expect((await tock.tick()).materialized).toMatchObject({ runs: 0, skips: 1 });
  expect((await rows()).at(-1)).toMatchObject({ skip_reason: 'overlap' });
});

describe('policies', () => {
  it('remaining counts no occurrence twice, though the cursor is set back', { tags: 'check' }, async () => {
    const tock = test.another({
      jobs: [scheduled('some', { cron: '* * * * *', catchup: 'all', remaining: 5 })],
    });
    await tock.tick();
    await test.setClock('2026-03-01T12:02:00Z');
    expect((await tock.tick()).materialized.runs).toBe(2);
    await test.sql(
      `update tock.job_definitions set cursor = '2026-03-01T12:00:30Z', next_at = '2026-03-01T12:01:00Z'`,
    );
    await test.setClock('2026-03-01T12:03:00Z');
    expect((await tock.tick()).materialized.runs).toBe(1);
    expect(await tock.schedules.list()).toMatchObject([
      { remaining: 2, nextAt: new Date('2026-03-01T12:04:00Z') },
    ]);
  });

  it('a payload function gets the occurrence; one that throws fails the run and not the tick', {
    tags: 'check',
  }, async () => {
    const good = defineJob({
      name: 'computed',
      payload: z.object({ from: z.string() }),
      schedule: {
        cron: '* * * * *',
        payload: ({ dataInterval }) => ({ from: dataInterval.start.toISOString() }),
      },
      run: (_ctx, payload) => payload,
    });
    const bad = defineJob({
      name: 'throwing',
      schedule: {
        cron: '* * * * *',
        payload: () => {
          throw new Error('no payload today');
        },
      },
      run: () => 'never',
    });
    const deep = defineJob({
      name: 'deep',
      schedule: {
        cron: '* * * * *',
        payload: () => JSON.parse('['.repeat(5000) + ']'.repeat(5000)) as Json,
      },
      run: () => 'never',
    });
    const tock = test.another({ jobs: [good, bad, deep] });
    await tock.tick();
    await test.setClock('2026-03-01T12:01:00Z');
    expect((await tock.tick()).executed).toMatchObject({ succeeded: 1, failed: 2 });
    expect(await tock.runs.list({ job: 'computed' })).toMatchObject([
      { payload: { from: '2026-03-01T12:00:00.000Z' }, output: { from: '2026-03-01T12:00:00.000Z' } },
    ]);
    expect(await tock.runs.list({ job: 'throwing' })).toMatchObject([
      { errors: [{ message: 'no payload today' }] },
    ]);
    expect(await tock.runs.list({ job: 'deep' })).toMatchObject([
      { payload: null, errors: [{ code: 'TOCK_BAD_PAYLOAD' }] },
    ]);
  });
});

describe('a materialization', () => {
  it('goes on until nothing is due, and adds up what it did', { tags: 'check' }, async () => {
    const tock = test.another({ jobs: [defineJob({ name: 'worker', run: () => null })] });
    await test.sql(`insert into tock.job_definitions (name, job, origin, cron, catchup, cursor)
      select 'by-hand-' || n, 'worker', 'runtime', '* * * * *', case when n % 2 = 0 then 'latest' else 'none' end,
        tock.now() - interval '10 minutes' from generate_series(1, 1002) n`);
    expect((await tock.tick()).materialized).toEqual({
      definitions: 1002,
      runs: 1002,
      skips: 1002,
      broken: [],
    });
    expect(await batchesOf('job_definitions', `name like 'by-hand-%'`)).toEqual([2, 1000]);
    expect((await tock.tick()).materialized).toEqual({ definitions: 0, runs: 0, skips: 0, broken: [] });
  });

  it('leaves the rest to the next batch once one has five thousand runs, and counts each definition once', {
    tags: 'check',
  }, async () => {
    const tock = test.another({ jobs: [defineJob({ name: 'worker', run: () => null })] });
    await tock.queues.pause('default');
    await test.sql(`insert into tock.job_definitions (name, job, origin, cron, catchup, cursor)
      select 'by-hand-' || n, 'worker', 'runtime', '* * * * *', 'all', tock.now() - interval '1000 minutes'
        from generate_series(1, 6) n`);
    expect((await tock.tick()).materialized).toEqual({ definitions: 6, runs: 6000, skips: 0, broken: [] });
    expect(await batchesOf('job_runs_live', 'true')).toEqual([1000, 5000]);
  });

  it('fails when one of two batches does, and makes up for it later', { tags: 'check' }, async () => {
    const tock = test.another({ jobs: [defineJob({ name: 'worker', run: () => null })] });
    await test.sql(`insert into tock.job_definitions (name, job, origin, cron, cursor)
      select 'by-hand-' || n, 'worker', 'runtime', '* * * * *', tock.now() - interval '1 minute' from generate_series(1, 1002) n`);
    await test.sql(`create function public.refuse() returns trigger language plpgsql as
        $$ begin raise exception 'refused' using errcode = 'lock_not_available'; end $$;
      create trigger refuse before update on tock.job_definitions for each row
        when (old.name = 'by-hand-1002') execute function public.refuse()`);
    await expect(tock.tick()).rejects.toThrow('refused');
    await test.sql('drop trigger refuse on tock.job_definitions');
    expect((await tock.tick()).materialized).toEqual({ definitions: 2, runs: 2, skips: 0, broken: [] });
  });

  it('makes the runs and skips of others, and what follows, where a definition is broken', {
    tags: 'check',
  }, async () => {
    const jobs = [
      scheduled('broken', { cron: '* * * * *' }),
      scheduled('parent', { cron: '* * * * *', catchup: 'latest' }),
      defineJob({ name: 'follower', schedule: { after: 'parent' }, run: () => null }),
    ];
    const tock = test.another({ jobs });
    await tock.tick();
    await tock.queues.pause('default');
    await test.sql(`create function public.refuse() returns trigger language plpgsql as
        $$ begin raise exception 'refused' using errcode = 'data_exception'; end $$;
      create trigger refuse before insert on tock.job_runs_live for each row
        when (new.job = 'broken') execute function public.refuse()`);
    await test.setClock('2026-03-01T12:10:00Z');
    expect((await tock.tick()).materialized).toEqual({
      definitions: 2,
      runs: 1,
      skips: 1,
      broken: ['broken'],
    });
    expect(await test.sql('select kind from tock.job_outbox')).toEqual([]);
  });

  it('passes over a definition that another tick has locked', { tags: 'check' }, async () => {
    const jobs = [scheduled('free', { cron: '* * * * *' }), scheduled('locked', { cron: '* * * * *' })];
    const tock = test.another({ jobs, statementTimeout: '8s' });
    await tock.tick();
    await test.setClock('2026-03-01T12:01:00Z');
    const lock = `select from tock.job_definitions where name = 'locked' for update`;
    const { materialized } = await whileHeld(test, lock, [], () => tock.tick());
    expect(materialized).toMatchObject({ definitions: 1, runs: 1 });
    expect((await tock.tick()).materialized).toMatchObject({ definitions: 1, runs: 1 });
  });

  it('makes nothing of a definition without a schedule, and of one that is over', async () => {
    const tock = test.another({ jobs: [defineJob({ name: 'worker', run: () => null })] });
    await test.sql(`insert into tock.job_definitions (name, job, origin, at, cursor) values
      ('manual', 'worker', 'runtime', null, tock.now()),
      ('once', 'worker', 'runtime', to_char((tock.now() - interval '1 second') at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"'), tock.now() - interval '1 minute')`);
    expect((await tock.tick()).materialized).toEqual({ definitions: 2, runs: 1, skips: 0, broken: [] });
    expect(
      await test.sql(
        'select name, next_at, broken_at from tock.job_definitions where origin = $$runtime$$ order by name',
      ),
    ).toEqual([
      { name: 'manual', next_at: null, broken_at: null },
      { name: 'once', next_at: null, broken_at: null },
    ]);
  });

  it.each(['paused_at', 'broken_at', 'vanished_at'])(
    'leaves alone a definition with %s',
    { tags: 'check' },
    async column => {
      const tock = test.another({ jobs: [defineJob({ name: 'worker', run: () => null })] });
      await test.sql(`insert into tock.job_definitions (name, job, origin, cron, cursor, ${column}) values
      ('left-alone', 'worker', 'runtime', '* * * * *', tock.now() - interval '1 hour', tock.now())`);
      expect((await tock.tick()).materialized).toMatchObject({ definitions: 0, runs: 0 });
    },
  );
});

it('a broken definition is marked with its reason, and logged with it; the others run', async () => {
  const { logger, lines } = collectLines();
  const tock = test.another({
    jobs: [scheduled('fine', { cron: '* * * * *' }), scheduled('spoiled', { cron: '* * * * *' })],
    logger,
  });
  await tock.tick();
  await test.sql(`update tock.job_definitions set cron = '61 25 * * *' where name = 'spoiled'`);
  await test.setClock('2026-03-01T12:01:00Z');
  expect(await tock.tick()).toMatchObject({
    materialized: { runs: 1, broken: ['spoiled'] },
    executed: { succeeded: 1 },
  });
  const [definition] = await tock.schedules.list({ name: 'spoiled' });
  const reason = definition?.brokenReason;
  expect(reason).toMatch(/^(?!\w*Error).*minute/);
  expect((await tock.tick()).materialized.broken).toEqual([]);
  expect(lines.filter(line => line['event'] === 'definition.broken')).toEqual([
    {
      event: 'definition.broken',
      definition: 'spoiled',
      reason,
      message: `definition spoiled is broken and left out: ${reason}`,
    },
  ]);
});

it('a definition written by hand is taken up by the next tick, from its creation on', async () => {
  const tock = test.another({ jobs: [defineJob({ name: 'worker', run: (_ctx, payload) => payload })] });
  await tock.tick();
  await test.sql(
    `insert into tock.job_definitions (name, job, origin, cron, payload) values ('by-hand', 'worker', 'runtime', '* * * * *', '{"tenant": 7}')`,
  );
  await tock.tick();
  await test.setClock('2026-03-01T12:01:00Z');
  expect((await tock.tick()).executed.succeeded).toBe(1);
  expect(await tock.runs.list()).toMatchObject([
    { definition: 'by-hand', job: 'worker', output: { tenant: 7 } },
  ]);
});

it.each([
  ['buffer_all', 998, 2],
  ['buffer_all', 999, 1],
  ['buffer_all', 1001, 0],
  ['buffer_one', 0, 2],
  ['buffer_one', 1, 1],
  ['buffer_one', 3, 0],
  ['skip', 1, 0],
  ['allow_all', 3, 3],
])(
  'live runs %s beside %d of them: %d of three occurrences give a run',
  { tags: 'check' },
  async (overlap, live, runs) => {
    await test.sql(
      `insert into tock.job_definitions (id, name, job, origin, cron, overlap, catchup, cursor, next_at) overriding system value
       values (7, 'd', 'd', 'runtime', '* * * * *', $1, 'all', tock.now(), tock.now())`,
      [overlap],
    );
    await test.sql(
      `insert into tock.job_runs_live (job, definition_id) select 'd', 7 from generate_series(1, $1)`,
      [live],
    );
    await test.setClock('2026-03-01T12:03:00Z');
    const { materialized } = await test.another({ jobs: [] }).tick();
    expect(materialized).toMatchObject({ runs, skips: runs === 3 ? 0 : 1 });
  },
);

describe('many definitions at once', () => {
  // A tick ends the step after half a second, which is over where another session holds a batch up.
  const database = openForEach(() => openDatabase({ connectionString: test.url }));
  const define = async (count: number) => {
    await test.sql(
      `insert into tock.job_definitions (name, job, origin, cron, cursor, next_at)
       select 'each-' || n, 'each', 'runtime', '1 12 * * *', tock.now(), tock.now() from generate_series(1, $1::int) n`,
      [count],
    );
    await test.setClock('2026-03-01T12:01:00Z');
  };
  const made = async () =>
    (await test.sql<{ count: number }>('select count(*)::int from tock.job_runs_live'))[0]?.count;
  /** While another session has inserted the occurrence of this definition, for which its batch waits. */
  const whileTaken = async (name: string, work: () => Promise<void>) => {
    const [{ id } = { id: '' }] = await test.sql<{ id: string }>(
      'select id from tock.job_definitions where name = $1',
      [name],
    );
    await whileHeld(
      test,
      `insert into tock.job_occurrences (definition_id, scheduled_for, run_id) values ($1, '2026-03-01T12:01:00Z', 0)`,
      [id],
      work,
    );
  };

  it('go on while a batch waits: two are under way, each definition in one of them', {
    tags: 'check',
  }, async () => {
    await define(3000);
    let ticking: Promise<unknown> | undefined;
    // The second batch waits; the third does not.
    await whileTaken('each-1400', async () => {
      ticking = materialize(engineOver(database));
      await until(async () => (await made()) === 2000, 'the first and the third batch');
    });
    expect(await ticking).toMatchObject({ definitions: 3000, runs: 3000, skips: 0 });
    expect(
      await test.sql('select count(distinct definition_id)::int, count(*)::int as all from tock.job_runs'),
    ).toEqual([{ count: 3000, all: 3000 }]);
  });

  it('are one batch, and one that finds nothing; of late runs among them workers hear, of others not', async () => {
    let transactions = 0;
    const expected: unknown[] = [];
    const transaction: Database['transaction'] = work => {
      transactions++;
      return database.transaction(work);
    };
    const worker = { expect: (what: unknown) => expected.push(what) } as unknown as Worker;
    const engine = engineOver({ ...database, transaction }, [], { workers: new Set([worker]) });
    await define(2);
    expect(await materialize(engine)).toMatchObject({ definitions: 2, runs: 2 });
    expect([transactions, expected]).toEqual([2, []]);
    await test.sql('delete from tock.job_runs_live');
    await test.sql(`update tock.job_definitions set cron = '2 12 * * *', next_at = '2026-03-01T12:02:00Z'`);
    await test.sql(`insert into tock.job_definitions (name, job, origin, at, cursor, next_at)
      values ('late', 'each', 'runtime', '2026-03-01T12:01:30Z', tock.now(), '2026-03-01T12:01:30Z')`);
    await test.setClock('2026-03-01T12:02:00Z');
    expect(await materialize(engine)).toMatchObject({ definitions: 3, runs: 3 });
    expect(expected).toEqual(['below']);
  });

  it('note intervals only of those that wait for others', async () => {
    await test.sql(`alter table tock.job_outbox add constraint none check (kind <> 'interval')`);
    await define(2);
    expect(await materialize(engineOver(database))).toMatchObject({ runs: 2, broken: [] });
    await test.sql('alter table tock.job_outbox drop constraint none');
  });

  it('make the fair keys of their runs ready, also beside one that is skipped', async () => {
    await define(2);
    await test.sql(`insert into tock.fair_scopes (queue, path) values ('mail', '$.tenant')`);
    await test.sql(`insert into tock.job_runs_live (job, definition_id, status)
      select job, id, 'queued' from tock.job_definitions where name = 'each-1'`);
    await test.sql(
      `update tock.job_definitions set queue = 'mail', payload = '{"tenant": "a"}' where name = 'each-2'`,
    );
    expect(await materialize(engineOver(database))).toMatchObject({ runs: 1, skips: 1 });
    expect(await test.sql('select key, is_ready from tock.fair_keys')).toEqual([
      { key: 'a', is_ready: true },
    ]);
  });

  it('are walked over once more for those that another session had locked', { tags: 'check' }, async () => {
    await define(3000);
    let ticking: Promise<unknown> | undefined;
    // Released when batches have gone on after it, and one is still under way.
    await whileTaken('each-2900', async () => {
      const isLocked = `select from tock.job_definitions where name = 'each-3' for update`;
      await whileHeld(test, isLocked, [], async () => {
        ticking = materialize(engineOver(database));
        await until(async () => (await made()) === 2000, 'two batches');
      });
    });
    expect(await ticking).toMatchObject({ definitions: 3000, runs: 3000 });
  });
});
