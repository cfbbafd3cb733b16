// The doctor's readings: what it cannot read is unknown, old snapshots and dead rows, and that it changes nothing.
import { spawnSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import pg from 'pg';
import { describe, expect, it } from 'vitest';
import { type CheckCode, type DoctorReport, defineJob } from '../../../src/index.js';
import { openForEach } from '../../support/open.js';
import { openTestTock, until } from '../../support/test-tock.js';

const plain = defineJob({ name: 'plain', run: () => null });

const test = openForEach(
  () => openTestTock([plain]),
  ({ tock }) => tock.tick(),
);

const find = (report: DoctorReport, code: CheckCode) => report.checks.find(check => check.code === code);

/** Runs the statements of a command for psql; by psql itself where it is installed. */
async function follow(command: string | null | undefined): Promise<void> {
  const { status, stderr, error } = spawnSync('sh', ['-c', command ?? 'false'], {
    env: { PATH: process.env['PATH'], DATABASE_URL: test.url, OWNER_DATABASE_URL: test.url },
    encoding: 'utf8',
  });
  if (error === undefined && status === 0) return;
  if (!/not found/.test(stderr)) throw new Error(`${command ?? ''}: ${stderr}`);
  for (const [, statement = ''] of (command ?? '').matchAll(/-c "((?:[^"\\]|\\.)*)"/g))
    await test.sql(statement.replaceAll(/\\(.)/g, '$1'));
}

describe('examine', () => {
  it('finds nothing wrong with a scheduler that works, in a fixed order', async () => {
    const { at, level, checks } = await test.tock.doctor();
    expect(checks.filter(check => check.level !== 'ok')).toEqual([]);
    expect(level).toBe('ok');
    expect(at).toBeInstanceOf(Date);
    expect(checks.map(({ code }) => code)).toEqual([
      'database',
      'last-tick',
      'freeze',
      'schema',
      'versions',
      'rights',
      'settings',
      'clock',
      'pooler',
      'listen',
      'partitions',
      'autovacuum',
      'indexes',
      'snapshots',
      'dead-rows',
      'jobs',
      'broken',
      'paused',
      'waits',
      'runs',
      'leases',
      'keys',
      'queues',
      'replication',
      'zones',
    ]);
    expect(find({ at, level, checks }, 'listen')?.text).toMatch(/^one was sent and heard within /);
  });

  it('says that row level security hides rows from a role, and switches it off', {
    tags: 'check',
  }, async () => {
    const role = `tock_rls_${randomBytes(6).toString('hex')}`;
    const url = new URL(test.url);
    [url.username, url.password] = [role, 'secret'];
    await test.sql(`create role ${role} login password 'secret'`);
    const asRole = test.another({ connectionString: url.href });
    try {
      for (const grant of [
        'usage on schema tock',
        'all on all tables in schema tock',
        'all on all sequences in schema tock',
        'execute on all functions in schema tock',
      ])
        await test.sql(`grant ${grant} to ${role}`);
      await test.sql(`do $$ declare t regclass; begin
        for t in select oid from pg_class where relnamespace = 'tock'::regnamespace and relkind in ('r', 'p') loop
          execute format('alter table %s enable row level security', t);
        end loop; end $$`);
      await expect(asRole.requireMigrated()).rejects.toMatchObject({
        code: 'TOCK_FORBIDDEN',
        message: expect.stringContaining('row level security hides the rows of schema tock'),
      });
      const found = find(await asRole.doctor(), 'schema');
      expect(found).toMatchObject({ level: 'failing' });
      expect(found?.text).toMatch(/^row level security hides the rows of \d+ tables from this role/);
      // The owner sees all.
      expect(find(await test.tock.doctor(), 'schema')).toMatchObject({ level: 'ok' });
      await follow(found?.command);
      expect(find(await asRole.doctor(), 'schema')).toMatchObject({ level: 'ok' });
      await asRole.requireMigrated();
    } finally {
      await asRole.close();
      await test.sql(`drop owned by ${role}; drop role ${role}`);
    }
  });

  it('says which rows of the upkeep are absent, and inserts them', async () => {
    await test.sql("delete from tock.upkeep where kind in ('partitions', 'pruned')");
    const found = find(await test.tock.doctor(), 'schema');
    expect(found).toMatchObject({ level: 'failing' });
    expect(found?.text).toMatch(/^the table upkeep lacks its rows partitions, pruned: no process makes/);
    await follow(found?.command);
    expect(find(await test.tock.doctor(), 'schema')).toMatchObject({ level: 'ok' });
  });

  it('gives a role without any right the grants that it needs to tick', async () => {
    const role = `tock_none_${randomBytes(6).toString('hex')}`;
    const url = new URL(test.url);
    [url.username, url.password] = [role, 'secret'];
    await test.sql(`create role ${role} login password 'secret'`);
    const asRole = test.another({ connectionString: url.href });
    try {
      await expect(asRole.tick()).rejects.toMatchObject({
        code: '42501',
        remedy: expect.stringContaining('tock doctor names what this one lacks'),
      });
      const report = await asRole.doctor();
      expect(find(report, 'schema')).toMatchObject({ level: 'failing' });
      const rights = find(report, 'rights');
      expect(rights?.text).toMatch(/^the role tock_none_\w+ cannot tick, for want of usage on the schema, /);
      await follow(rights?.command);
      await asRole.tick();
      const after = await asRole.doctor();
      expect([find(after, 'schema')?.level, find(after, 'rights')?.level]).toEqual(['ok', 'ok']);
    } finally {
      await asRole.close();
      await test.sql(`drop owned by ${role}; drop role ${role}`);
    }
  });

  it.each([
    ['array_nulls', 'off', 'failing'],
    ['standard_conforming_strings', 'off', 'failing'],
    ['extra_float_digits', '-3', 'failing'],
    ['default_transaction_read_only', 'on', 'failing'],
    ['session_replication_role', 'replica', 'failing'],
    ['statement_timeout', '4s', 'warning'],
    ['transaction_timeout', '4s', 'warning'],
  ])('names a setting that is in the way: %s = %s', { tags: 'check' }, async (name, value, level) => {
    const url = new URL(test.url);
    url.searchParams.set('options', `-c ${name}=${value}`);
    const under = test.another({ connectionString: url.href });
    const found = find(await under.doctor(), 'settings');
    await under.close();
    expect(found).toMatchObject({ level, text: expect.stringContaining(`${name} is ${value}: `) as string });
    expect(found?.command).toMatch(new RegExp(`alter role .+ set ${name} = `));
  });

  it.each([
    ['extra_float_digits', '-2'],
    ['statement_timeout', '5s'],
    ['transaction_timeout', '5s'],
    ['datestyle', 'German'],
  ])('leaves a setting alone that is not: %s = %s', { tags: 'check' }, async (name, value) => {
    const url = new URL(test.url);
    url.searchParams.set('options', `-c ${name}=${value}`);
    const under = test.another({ connectionString: url.href });
    const found = find(await under.doctor(), 'settings');
    await under.close();
    expect(found).toMatchObject({ level: 'ok', command: null });
  });

  it('says that the schema was renamed, and what it was called', { tags: 'check' }, async () => {
    await test.sql('alter schema tock rename to moved');
    const moved = test.another({ schema: 'moved' });
    const found = find(await moved.doctor(), 'schema');
    await moved.close();
    await test.sql('alter schema moved rename to tock');
    expect(found).toMatchObject({
      level: 'failing',
      text: 'it was renamed: its functions name the schema tock',
    });
  });

  it('names the session that holds an old snapshot, and how to end it', { tags: 'check' }, async () => {
    const holder = new pg.Client({ connectionString: test.url });
    holder.on('error', () => undefined);
    await holder.connect();
    await holder.query('begin isolation level repeatable read');
    await holder.query('select count(*) from tock.job_runs');
    const limits = { oldestSnapshotMs: 0 };
    const found = find(await test.tock.doctor({ limits }), 'snapshots');
    expect(found).toMatchObject({ level: 'warning' });
    expect(found?.command).toMatch(/^psql "\$DATABASE_URL" -c "select pg_terminate_backend\(\d+\)"$/);
    await follow(found?.command);
    await until(
      async () => find(await test.tock.doctor({ limits }), 'snapshots')?.level === 'ok',
      'it to end',
    );
  });

  it('names the table that awaits vacuum', { tags: 'check' }, async () => {
    await test.sql(`insert into tock.job_runs_live (job, status, run_at)
      select 'plain', 'queued', tock.now() + interval '1 day' from generate_series(1, 500)`);
    await test.sql('delete from tock.job_runs_live');
    const limits = { deadRows: 400 };
    const look = async () => {
      await test.sql('select pg_stat_force_next_flush()');
      return find(await test.tock.doctor({ limits }), 'dead-rows');
    };
    await until(async () => (await look())?.level === 'warning', 'the statistics to arrive');
    const command = (await look())?.command;
    expect(command).toBe('psql "$DATABASE_URL" -c "vacuum tock.job_runs_live"');
    await follow(command);
    await until(async () => (await look())?.level === 'ok', 'the statistics to arrive');
  });

  it('says what it could not read, and reads the rest', { tags: 'check' }, async () => {
    const role = `reader_${process.pid}_${Date.now()}`;
    await test.sql(`create role ${role} login password 'secret'`);
    try {
      for (const grant of ['usage on schema tock', 'select on all tables in schema tock'])
        await test.sql(`grant ${grant} to ${role}`);
      await test.sql(`revoke select on tock.job_keys from ${role}`);
      const url = new URL(test.url);
      [url.username, url.password] = [role, 'secret'];
      const reader = test.another({ connectionString: url.href });
      const report = await reader.doctor();
      expect(find(report, 'keys')).toMatchObject({
        level: 'unknown',
        text: 'could not be checked: permission denied for table job_keys',
      });
      expect(find(report, 'rights')).toMatchObject({ level: 'failing' });
      expect(find(report, 'last-tick')).toMatchObject({ level: 'ok' });
      await reader.close();
    } finally {
      await test.sql(`drop owned by ${role}`);
      await test.sql(`drop role ${role}`);
    }
  });

  it('cannot tell without jobs which definitions have none', { tags: 'check' }, async () => {
    const without = test.another({ jobs: [] });
    expect(find(await without.doctor(), 'jobs')).toMatchObject({ level: 'unknown' });
  });

  it('changes nothing', { tags: 'check' }, async () => {
    const tables = await test.sql<{ name: string }>(
      `select c.relname as name from pg_class c where c.relnamespace = 'tock'::regnamespace and c.relkind in ('r', 'p')`,
    );
    // Which rows there are, and which transaction wrote each.
    const written = async () =>
      await test.sql(
        tables
          .map(({ name }) => `select '${name}', count(*), sum(xmin::text::bigint) from tock.${name}`)
          .join(' union all '),
      );
    const before = await written();
    await test.tock.doctor();
    expect(await written()).toEqual(before);
  });

  it('refuses options that do not exist', async () => {
    await expect(test.tock.doctor({ limit: {} } as never)).rejects.toMatchObject({ code: 'TOCK_BAD_OPTION' });
    await expect(test.tock.doctor({ limits: { oldWait: 1 } as never })).rejects.toMatchObject({
      code: 'TOCK_BAD_OPTION',
    });
    await expect(test.tock.health({ silent: 1 } as never)).rejects.toMatchObject({ code: 'TOCK_BAD_OPTION' });
  });
});
