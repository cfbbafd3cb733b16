// Chaos: what an administrator does to the tables while runs come and go.
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { createTock, type Tock } from '../../src/index.js';
import { openClient } from '../support/embedded-database.js';
import { openForEach } from '../support/open.js';
import { sqlAt } from '../support/sql-at.js';
import { openTestTock, type TestTock, until } from '../support/test-tock.js';
import { hasDebianPostgres, openDebianServer } from './debian-server.js';
import { NONE, noop, startTraffic, type Traffic } from './traffic.js';

/** Each takes a lock on tables that every claim and every outcome needs. */
const MAINTENANCE = [
  'vacuum full tock.job_runs_live',
  'vacuum full tock.job_runs_finished',
  'vacuum (full, analyze) tock.job_keys',
  'cluster tock.job_runs_live using job_runs_live_pkey',
  'reindex table tock.job_runs_live',
  'reindex table tock.job_runs_finished',
  'reindex table concurrently tock.job_runs_live',
  'reindex table concurrently tock.job_runs_finished',
  'reindex schema tock',
  'create index concurrently on tock.job_runs_live (created_at)',
  'create index on tock.job_runs_finished (job, id)',
  'alter table tock.job_runs_live set (fillfactor = 60)',
  'alter table tock.job_runs add column note text',
  `alter table tock.job_runs add column place text not null default 'here'`,
  // Written anew, row by row.
  'alter table tock.job_runs add column drawn float not null default random()',
  'alter table tock.job_runs drop column note',
  'alter table tock.job_keys add column note text',
  // The claim returns it: what is prepared returns something else now.
  'alter table tock.job_runs alter column job type varchar(200)',
  'alter table tock.job_runs alter column job type text',
  'analyze tock.job_runs',
];

const fill = (sql: TestTock['sql']) =>
  sql(`with waiting as (
      insert into tock.job_runs_live (job, run_at) select 'later', tock.now() + interval '1 year' from generate_series(1, 20000)
    )
    insert into tock.job_runs_finished (job, status, finished_at) select 'old', 'succeeded', tock.now() from generate_series(1, 20000)`);

describe('maintenance beside live traffic', () => {
  const test = openForEach(() => openTestTock([noop]));
  let traffic: Traffic;
  beforeEach(async () => {
    await fill(test.sql);
    traffic = await startTraffic(test);
  });
  afterEach(async () => {
    await traffic.stop();
  });

  /**
   * Again, where PostgreSQL has ended it as the victim of a deadlock: so does an administrator. An `alter table`
   * locks the parent before its partitions. An insert into a partition has locked that, and asks for the parent
   * where its session must read the partition's bounds anew, as after each of these statements.
   */
  const administer = async (statement: string) => {
    for (;;) {
      try {
        return await test.sql(statement);
      } catch (error) {
        if ((error as { code?: string }).code !== '40P01') throw error;
      }
    }
  };

  it('loses and doubles nothing, and runs flow again after each', async () => {
    for (const statement of MAINTENANCE) {
      await administer(statement);
      await traffic.flows(statement);
    }
    expect(await traffic.stop()).toEqual(NONE);
    expect(await test.sql(`select from tock.job_runs where job in ('later', 'old')`)).toHaveLength(40_000);
    expect(await test.tock.migrate()).toMatchObject({ partitionsLeft: null });
    await expect(test.tock.prune()).resolves.toMatchObject({ left: [] });
  });
});

describe.skipIf(!hasDebianPostgres)('pg_dump beside live traffic (needs Debian’s PostgreSQL 15)', () => {
  const server = openForEach(openDebianServer);
  const opened: Tock[] = [];
  const open = (database = 'app', options = {}) => {
    const tock = createTock({
      connectionString: server.url(database),
      jobs: [noop],
      logger: false,
      ...options,
    });
    opened.push(tock);
    return tock;
  };
  const sql: TestTock['sql'] = (text, values) => sqlAt(server.url('app'), text, values);
  beforeEach(async () => {
    await server.call('createdb', 'app');
    await open().migrate();
    await fill(sql);
    await sql('create table public.last as select 1 as one');
  });
  afterEach(async () => {
    for (const tock of opened.splice(0)) await tock.close();
  });

  it('runs flow, what needs its locks is left to later, and no run is in the copy twice', async () => {
    const [latest] = await sql<{ name: string }>(
      'select name from tock.finished_partitions() order by low desc nulls last limit 1',
    );
    await sql(`drop table tock.${latest?.name}`);
    const traffic = await startTraffic({ another: options => open('app', options), sql });
    // It locks the tables one after another, and waits for the last.
    const holder = await openClient(server.url('app'));
    await holder.query('begin; lock table public.last');
    const file = `${server.folder}/app.dump`;
    const dumping = server.call('pg_dump', '-Fc', '-f', file, 'app');
    const waits = async () =>
      (await sql(`select from pg_locks where relation = 'public.last'::regclass and not granted`)).length > 0;
    await until(waits, 'pg_dump to have locked the rest');
    await traffic.flows('pg_dump has begun');
    expect(await open().prune()).toMatchObject({ left: ['coming partitions'], madePartitions: 0 });
    await holder.query('rollback');
    await holder.end();
    await dumping;
    await traffic.flows('pg_dump has ended');
    expect(await open().prune()).toMatchObject({ left: [], madePartitions: 1 });
    expect(await traffic.stop()).toEqual({ logged: [], astray: 0 });
    await server.call('createdb', 'copy');
    await server.call('pg_restore', '-d', 'copy', '--exit-on-error', file);
    const [copy] = await sqlAt<{ rows: number; ids: number; later: number }>(
      server.url('copy'),
      `select count(*)::int as rows, count(distinct id)::int as ids, count(*) filter (where job = 'later')::int as later from tock.job_runs`,
    );
    expect(copy?.rows).toBe(copy?.ids);
    expect(copy).toMatchObject({ later: 20_000 });
  });
});
