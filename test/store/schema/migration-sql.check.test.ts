// Store: the migrations as SQL, applied by others than the migrator, give the same schema and the same rows.
import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdtemp, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import { afterEach, describe, expect, it } from 'vitest';
import type { Database } from '../../../src/store/connection/database.js';
import {
  readAppliedChecksums,
  describeSchema as readSchema,
} from '../../../src/store/schema/describe-schema.js';
import { lockMigrations, migrate, missingOf, readMigrations } from '../../../src/store/schema/migrate.js';
import { type MigrationSqlOptions, migrationSql } from '../../../src/store/schema/migration-sql.js';
import { openDatabase } from '../../support/database.js';
import { createTestDatabase, runAt, type TestDatabase } from '../../support/embedded-database.js';
import { describeSchema } from '../../support/schema-as-text.js';

const opened: { database: Database; test: TestDatabase }[] = [];
async function open(schema = 'tock'): Promise<{ database: Database; url: string }> {
  const test = await createTestDatabase();
  const database = openDatabase({ connectionString: test.url, schema });
  opened.push({ database, test });
  return { database, url: test.url };
}
afterEach(async () => {
  for (const { database, test } of opened.splice(0)) {
    await database.close();
    await test.drop();
  }
});

const ALL = await readMigrations();
const sqlFor = (schema: string, options: Partial<MigrationSqlOptions> = {}) =>
  migrationSql({ schema, migrations: ALL, applied: [], version: '1.2.3', hasTransaction: true, ...options });

const UP_TO_DATE = { applied: [], alreadyThere: ALL.length, madePartitions: 0, partitionsLeft: null };

/** Partitions with their bounds, and the rows that a migration writes, without times and OIDs. */
async function rowsOf(database: Database): Promise<unknown> {
  return await database.transaction(async session => {
    await session.run(`set local timezone = 'UTC'`);
    const ask = async (text: string) => await session.run(text);
    return {
      partitions: await ask(
        `select c.relname, pg_get_expr(c.relpartbound, c.oid) as bound from pg_class c
         where c.relnamespace = 'tock'::regnamespace and c.relispartition and c.relkind = 'r' order by 1`,
      ),
      migrations: await ask('select name, checksum from tock.migrations order by name'),
      identity: await ask(
        'select count(*)::int as count, bool_or(tock.is_copy()) as copy from tock.database_identity',
      ),
      audit: await ask('select action, targets, count, details from tock.audit order by id'),
      upkeep: await ask('select kind from tock.upkeep'),
    };
  });
}

describe('migrationSql', () => {
  it.each(['tock', 'jobs', 'order'])(
    'gives the schema %s that migrate makes, which then finds nothing to do',
    async schema => {
      const [made, applied] = [await open(schema), await open(schema)];
      await migrate(made.database);
      await made.database.run(
        `insert into tock.audit (via, action, targets, count) values ('cli', 'migrate', $1, $2)`,
        [ALL.map(({ name }) => name), ALL.length],
      );
      await runAt(applied.url, sqlFor(schema));
      expect(await describeSchema(applied.database)).toBe(await describeSchema(made.database));
      expect(await rowsOf(applied.database)).toEqual(await rowsOf(made.database));
      expect(await migrate(applied.database)).toEqual(UP_TO_DATE);
    },
  );

  it('is one transaction: a statement that fails leaves nothing', async () => {
    const { database, url } = await open();
    const broken = { name: '9999_broken.sql', text: 'select 1/0;', checksum: 'x' };
    await expect(runAt(url, sqlFor('tock', { migrations: [...ALL, broken] }))).rejects.toThrow(
      /division by zero/,
    );
    expect(await database.run(`select to_regnamespace('tock') is null as gone`)).toEqual([{ gone: true }]);
  });

  it('leaves begin and commit to others, if it is asked to', async () => {
    const { database, url } = await open();
    const text = sqlFor('tock', { hasTransaction: false });
    expect(text).not.toMatch(/^(begin isolation|commit;)/m);
    await runAt(url, 'begin', text, 'rollback');
    expect(await database.run(`select to_regnamespace('tock') is null as gone`)).toEqual([{ gone: true }]);
    await runAt(url, 'begin', text, 'commit');
    expect(await migrate(database)).toEqual(UP_TO_DATE);
  });

  it('refuses a schema that has it already', async () => {
    const { database, url } = await open('jobs');
    await migrate(database);
    await expect(runAt(url, sqlFor('jobs'))).rejects.toThrow(
      'the schema jobs has migrations of this SQL already; make this SQL again with: tock migrate --sql',
    );
  });

  it('adds a later migration, and refuses a schema that lacks the earlier ones', async () => {
    const later = { name: '0002_more-tock.sql', text: 'create table tock.more (id int);', checksum: 'abc' };
    const options = { migrations: [later], applied: ALL.map(({ name }) => name) };
    const [full, empty] = [await open('jobs'), await open('jobs')];
    await migrate(full.database);
    await runAt(full.url, sqlFor('jobs', options));
    expect(
      await full.database.run('select name, checksum from tock.migrations order by name desc limit 1'),
    ).toEqual([{ name: later.name, checksum: later.checksum }]);
    expect(await full.database.run(`select to_regclass('tock.more') is not null as made`)).toEqual([
      { made: true },
    ]);
    await expect(runAt(empty.url, sqlFor('jobs', options))).rejects.toThrow(
      'the schema jobs lacks migrations that this SQL builds on; make this SQL again with: tock migrate --sql',
    );
  });

  it('waits for a migration that is going on', async () => {
    const { database, url } = await open();
    await database.transaction(async session => {
      await lockMigrations(session, 'jobs');
      const impatient = sqlFor('jobs').replace(`lock_timeout = '10s'`, `lock_timeout = '50ms'`);
      await expect(runAt(url, impatient)).rejects.toThrow(/lock timeout/);
    });
  });

  it.skipIf(!existsSync('/usr/bin/psql'))('is read by psql as it is written', async () => {
    const { database, url } = await open('jobs');
    const file = path.join(await mkdtemp(path.join(tmpdir(), 'migration-sql-')), 'tock.sql');
    await writeFile(file, sqlFor('jobs'));
    const { stderr } = await promisify(execFile)('/usr/bin/psql', [
      '--no-psqlrc',
      '--set=ON_ERROR_STOP=1',
      `--file=${file}`,
      url,
    ]);
    expect(stderr).not.toMatch(/error|warning/i);
    expect(await migrate(database)).toEqual(UP_TO_DATE);
    const made = await open('jobs');
    await migrate(made.database);
    expect(await describeSchema(database)).toBe(await describeSchema(made.database));
  });
});

describe('readAppliedChecksums', () => {
  it('is empty for a schema that is not there, or is empty', async () => {
    const { database, url } = await open('jobs');
    expect(await readAppliedChecksums(database)).toEqual(new Map());
    await runAt(url, 'create schema jobs');
    expect(await readAppliedChecksums(database)).toEqual(new Map());
    expect(missingOf(ALL, await readAppliedChecksums(database))).toEqual(ALL);
  });

  it('has what is applied', async () => {
    const { database } = await open('jobs');
    await migrate(database);
    const applied = await readAppliedChecksums(database);
    expect([...applied]).toEqual(ALL.map(({ name, checksum }) => [name, checksum]));
    expect(missingOf(ALL, applied)).toEqual([]);
  });
});

describe('describeSchema', () => {
  it('sums up partitions in a line each, and lists them', async () => {
    const { database } = await open('jobs');
    await migrate(database);
    await database.run(
      `insert into tock.job_runs (job, status, finished_at)
       select 'a', 'succeeded', tock.now() from generate_series(1, 300) union all select 'a', 'dead', '1999-01-01'`,
    );
    await database.run('analyze tock.job_runs');
    const { tables, partitions, migrations, owner, bytes, schema } = await readSchema(database);
    expect(schema).toBe('jobs');
    expect(owner).not.toBe('');
    const finished = tables.find(({ table }) => table === 'job_runs_finished');
    expect(finished).toMatchObject({ rows: 301, partitions: 5 });
    expect(tables.find(({ table }) => table === 'job_logs')).toMatchObject({ partitions: 1 });
    expect(tables.find(({ table }) => table === 'job_runs_live')).toMatchObject({ partitions: null });
    expect(tables.map(({ table }) => table)).not.toContain('job_runs');
    const parts = partitions.filter(({ table }) => table === 'job_runs_finished');
    expect(parts.map(each => each.rows).sort((a, b) => b - a)).toEqual([300, 1, 0, 0, 0]);
    expect(parts.find(({ bound }) => bound === 'DEFAULT')).toMatchObject({ rows: 1 });
    const sum = tables.reduce((total, each) => total + each.bytes + each.indexBytes, 0);
    expect(sum).toBe(bytes);
    expect(migrations).toEqual(
      ALL.map(({ name }) => ({ name, state: 'applied', appliedAt: expect.any(Date) })),
    );
  });

  it('names what is missing, changed or newer', async () => {
    const { database } = await open();
    await migrate(database);
    await database.run(`update tock.migrations set checksum = 'other'`);
    await database.run(`insert into tock.migrations (name, checksum) values ('0999_later.sql', 'x')`);
    const states = async () =>
      (await readSchema(database)).migrations.map(({ name, state }) => [name, state]);
    expect(await states()).toEqual([
      ...ALL.map(({ name }) => [name, 'changed']),
      ['0999_later.sql', 'newer'],
    ]);
    await database.run('delete from tock.migrations');
    expect(await states()).toEqual(ALL.map(({ name }) => [name, 'missing']));
  });
});
