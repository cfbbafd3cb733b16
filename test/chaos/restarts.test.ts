// Chaos: the server goes down (pg_ctl -m immediate) in the middle of what has many steps. When it is back nothing half
// done is to be seen, and the same once more ends right.
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { createTock, defineJob, type Tock } from '../../src/index.js';
import { openOnce } from '../support/open.js';
import { CLI, startProcess } from '../support/processes.js';
import { sqlAt } from '../support/sql-at.js';
import { until } from '../support/test-tock.js';
import { openOwnServer } from './servers.js';

const MANY = 300;
const minutely = defineJob({ name: 'minutely', schedule: { cron: '* * * * *' }, run: () => 1 });
const many = Array.from({ length: MANY }, (_, index) =>
  defineJob({ name: `job-${index}`, schedule: { cron: '0 4 * * *' }, run: () => 1 }),
);

const server = openOnce(openOwnServer);
let url: string;
const opened: Tock[] = [];

let count = 0;
beforeEach(async () => {
  const place = new URL(server.url);
  await sqlAt(place.href, `create database restarts_${++count}`);
  place.pathname = `/restarts_${count}`;
  url = place.href;
});
afterEach(async () => {
  for (const tock of opened.splice(0)) await tock.close();
});

const open = (jobs: NonNullable<Parameters<typeof createTock>[0]>['jobs'] = []) => {
  const tock = createTock({ connectionString: url, jobs, logger: false });
  opened.push(tock);
  return tock;
};
const sql = <Row>(text: string) => sqlAt<Row>(url, text);
const one = async <Row = Record<string, unknown>>(text: string) => (await sql<Row>(text))[0];

/** From now on whoever inserts into a table stands still at its n-th row. */
async function standStillAtRow(table: string, row: number): Promise<void> {
  await sql('create sequence public.rows');
  await sql(`create function public.stand_still() returns trigger language plpgsql as $$ begin
    if nextval('public.rows') = ${row} then perform pg_sleep(600); end if; return new; end $$`);
  await sql(
    `create trigger stand_still before insert on ${table} for each row execute function public.stand_still()`,
  );
}
/** Whoever gives a command for the n-th time stands still before it. */
async function standStillAtCommand(tag: string, command: number, condition = 'true'): Promise<void> {
  await sql('create sequence public.rows');
  await sql(`create function public.stand_still_at() returns event_trigger language plpgsql as $$ begin
    if tg_tag = '${tag}' and ${condition} then
      if nextval('public.rows') = ${command} then perform pg_sleep(600); end if;
    end if; end $$`);
  await sql(
    'create event trigger stand_still_at on ddl_command_start execute function public.stand_still_at()',
  );
}
/** Kills the server while the work stands still, and starts it again. The work must fail. */
async function killIn(work: Promise<unknown>): Promise<unknown> {
  const failed = work.then(
    () => null,
    (error: unknown) => error,
  );
  const stands = async () =>
    (await sql(`select from pg_stat_activity where wait_event = 'PgSleep'`)).length > 0;
  await until(stands, 'the work to stand still');
  await server.kill();
  const error = await failed;
  await server.start();
  expect(error).not.toBeNull();
  // A sequence may have lost what was not yet written; each test goes on from here without the fault.
  await sql('drop function if exists public.stand_still() cascade');
  await sql('drop event trigger if exists stand_still_at');
  return error;
}

describe('the server goes down in the middle of', () => {
  it('migrate: there is no schema, and then the whole', async () => {
    await standStillAtCommand('CREATE TABLE', 8);
    await killIn(open().migrate());
    expect(await one(`select to_regnamespace('tock') as schema`)).toEqual({ schema: null });
    expect(await open().migrate()).toMatchObject({
      alreadyThere: 0,
      madePartitions: 4,
      partitionsLeft: null,
    });
    await open([minutely]).tick();
  });

  it('migrate, making partitions: the schema is there, and the partitions then', async () => {
    await standStillAtCommand('CREATE TABLE', 2, `to_regclass('tock.upkeep') is not null`);
    await killIn(open().migrate());
    expect(await one('select count(*)::int as count from tock.migrations')).toEqual({ count: 1 });
    expect(await one(`select count(*)::int as count from tock.finished_partitions()`)).toEqual({ count: 1 });
    expect(await open().migrate()).toMatchObject({ applied: [], madePartitions: 4 });
  });

  it('register: all definitions or none', async () => {
    await open().migrate();
    await standStillAtRow('tock.job_definitions', 150);
    await killIn(open(many).register());
    expect(await one('select count(*)::int as count from tock.job_definitions')).toEqual({ count: 0 });
    expect(await one('select count(*)::int as count from tock.registrations')).toEqual({ count: 0 });
    expect((await open(many).register()).added).toHaveLength(MANY);
    expect(await open(many).register()).toMatchObject({ status: 'unchanged' });
    expect(
      await one('select count(*)::int as count from tock.job_definitions where next_at is not null'),
    ).toEqual({
      count: MANY,
    });
  });

  it('backfill: batches are whole, and no occurrence has two runs', async () => {
    const tock = open([minutely]);
    await tock.migrate();
    await tock.register();
    const window = { from: '2026-01-01T00:00:00Z', to: '2026-01-02T18:00:00Z' };
    await standStillAtRow('tock.job_runs_live', 1700);
    await killIn(tock.schedules.backfill('minutely', window));
    const made = `select count(*)::int as runs, count(distinct scheduled_for)::int as occurrences,
      (select count(*)::int from tock.job_occurrences) as keys from tock.job_runs where trigger = 'backfill'`;
    expect(await one(made)).toEqual({ runs: 1000, occurrences: 1000, keys: 1000 });
    expect(await tock.schedules.backfill('minutely', window)).toEqual({
      occurrences: 2520,
      existing: 1000,
      made: 1520,
    });
    expect(await one(made)).toEqual({ runs: 2520, occurrences: 2520, keys: 2520 });
  });

  it('retry by filter: each run is dead or queued, and none is retried twice', async () => {
    await open().migrate();
    await sql(`insert into tock.job_runs_finished (job, status, attempts, finished_at)
      select 'minutely', 'dead', 1, tock.now() from generate_series(1, ${MANY})`);
    await standStillAtRow('tock.job_runs_live', 300);
    const args = ['retry', '--status', 'dead', '--job', 'minutely', '--yes'];
    const retry = () => startProcess(CLI, { DATABASE_URL: url }, args).ended;
    const ended = retry();
    await killIn(
      ended.then(({ code }) => (code === 0 ? null : Promise.reject(new Error(`ended with ${code}`)))),
    );
    expect((await ended).code).toBe(3);
    const states = `select count(*)::int as runs, count(distinct id)::int as ids, count(*) filter (where status = 'queued')::int as queued,
      count(*) filter (where (status, generation) in (('queued', 2), ('dead', 1)))::int as sound from tock.job_runs`;
    const between = await one(states);
    // A batch of 200 is one transaction: the first is committed, and nothing of the second is.
    expect(between).toMatchObject({ runs: MANY, ids: MANY, sound: MANY, queued: 200 });
    expect((await retry()).code).toBe(0);
    expect(await one(states)).toEqual({ runs: MANY, ids: MANY, queued: MANY, sound: MANY });
  });

  // In the order in which they come: the copy is made, put in place, and what it replaces is dropped.
  it.each([
    ['making what stays', `insert`, 0],
    ['putting it in place', 'ALTER TABLE', 1],
    ['dropping', 'DROP TABLE', 2],
  ])('prune, %s: what stays is there once, all the while', async (_what, point, step) => {
    const tock = open();
    await tock.migrate();
    await sql(`select tock.make_partition('2026-01-01', 'month')`);
    await sql(`insert into tock.job_runs_finished (job, status, finished_at)
      select 'a', case when i % 10 = 0 then 'dead' else 'succeeded' end, '2026-01-10' from generate_series(1, 1000) i`);
    const keep = { default: '7d', dead: '9000d' } as const;
    const seen = `select count(*) filter (where status = 'dead')::int as dead, count(distinct id) filter (where status = 'dead')::int as ids,
      count(*) filter (where status = 'succeeded')::int as succeeded from tock.job_runs`;
    if (step === 0) {
      await sql('create sequence public.rows');
      await sql(
        `create function public.stand_still() returns trigger language plpgsql as $$ begin perform pg_sleep(600); return new; end $$`,
      );
      await sql(`create function public.stand_still_at() returns event_trigger language plpgsql as $$ declare child regclass; begin
        for child in select objid from pg_event_trigger_ddl_commands() where object_identity ~ 'job_runs_kept_[0-9a-f]+$' and command_tag = 'CREATE TABLE' loop
          execute format('create trigger stand_still before insert on %s for each row execute function public.stand_still()', child);
        end loop; end $$`);
      await sql(
        'create event trigger stand_still_at on ddl_command_end execute function public.stand_still_at()',
      );
    } else {
      await standStillAtCommand(
        point,
        1,
        `exists (select from pg_class where relname ~ '^job_runs_${step === 1 ? 'kept_[0-9a-f]+' : 'detached_'}')`,
      );
    }
    await killIn(tock.prune({ keep }));
    expect(await one(seen)).toEqual({ dead: 100, ids: 100, succeeded: step === 2 ? 0 : 900 });
    const result = await tock.prune({ keep });
    expect(result).toMatchObject({ droppedPartitions: ['job_runs_finished_2026_01'], left: [] });
    expect(await one(seen)).toEqual({ dead: 100, ids: 100, succeeded: 0 });
    expect(
      await sql(
        `select relname from pg_class where relname ~ '^job_runs_(kept|detached)_' and relkind = 'r'`,
      ),
    ).toEqual([]);
  });
});
