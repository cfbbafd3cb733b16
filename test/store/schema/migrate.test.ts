// Store: migrations, the schema they make, and what they refuse.
import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import type { Database } from '../../../src/store/connection/database.js';
import { inSchema } from '../../../src/store/connection/schema-name.js';
import { migrate, requireMigrated } from '../../../src/store/schema/migrate.js';
import { MIGRATION_TEXTS } from '../../../src/store/schema/migration-texts.js';
import { openDatabase } from '../../support/database.js';
import { createTestDatabase, type TestDatabase } from '../../support/embedded-database.js';
import { describeSchema } from '../../support/schema-as-text.js';

const opened: { database: Database; test: TestDatabase }[] = [];
async function open(schema = 'tock'): Promise<Database> {
  const test = await createTestDatabase();
  const database = openDatabase({ connectionString: test.url, schema });
  opened.push({ database, test });
  return database;
}
afterEach(async () => {
  for (const { database, test } of opened.splice(0)) {
    await database.close();
    await test.drop();
  }
});

describe('migrate', () => {
  it('makes the same schema under another name, with nothing left that names the default', async () => {
    const [usual, database] = [await open(), await open('order')];
    for (const each of [usual, database]) await migrate(each);
    expect(await describeSchema(database)).toBe(await describeSchema(usual));
    const rows = await database.run<{ source: string }>(
      `select prosrc as source from pg_proc where pronamespace = 'order'::regnamespace`,
    );
    expect(rows.length).toBeGreaterThan(1);
    for (const { source } of rows) expect(source).not.toMatch(/\btock\b\./);
  });

  it('applies nothing the second time', { tags: 'check' }, async () => {
    const database = await open();
    const first = await migrate(database);
    expect(first.applied.length).toBeGreaterThan(0);
    expect(await migrate(database)).toEqual({
      applied: [],
      alreadyThere: first.applied.length,
      madePartitions: 0,
      partitionsLeft: null,
    });
  });

  it('applies each file once when five hosts migrate at once', { tags: 'check' }, async () => {
    const test = await createTestDatabase();
    const databases = Array.from({ length: 5 }, () => openDatabase({ connectionString: test.url }));
    const results = await Promise.all(databases.map(database => migrate(database)));
    expect(results.filter(result => result.applied.length > 0)).toHaveLength(1);
    for (const database of databases) opened.push({ database, test });
  });

  it('refuses a file that was changed after it had been applied', { tags: 'check' }, async () => {
    const database = await open();
    await migrate(database);
    const changed = MIGRATION_TEXTS.map(({ name, text }) => ({ name, text: `${text}\n-- changed` }));
    await expect(migrate(database, undefined, changed)).rejects.toMatchObject({
      code: 'TOCK_MIGRATION_CHANGED',
    });
  });

  it('leaves nothing behind when a file fails', { tags: 'check' }, async () => {
    const database = await open();
    const broken = { name: '9999_broken.sql', text: 'create table tock.half (id int);\nselect 1/0;' };
    await expect(migrate(database, undefined, [...MIGRATION_TEXTS, broken])).rejects.toThrow(
      /division by zero/,
    );
    const [row] = await database.run<{ there: boolean }>(
      `select to_regnamespace('tock') is not null as there`,
    );
    expect(row).toEqual({ there: false });
  });

  it('makes the schema in a database whose encoding lacks most letters', { tags: 'check' }, async () => {
    const admin = await open();
    const url = new URL(opened.at(-1)?.test.url ?? '');
    url.pathname = `${url.pathname}_latin1`;
    const name = url.pathname.slice(1);
    await admin.run(`create database ${name} template template0 encoding 'LATIN1' locale 'C'`);
    const database = openDatabase({ connectionString: url.href });
    try {
      expect((await migrate(database)).applied).toEqual(MIGRATION_TEXTS.map(each => each.name));
    } finally {
      await database.close();
      await admin.run(`drop database ${name} with (force)`);
    }
  });

  it('makes partitions for this month and the three after it, each with the rows of its month', {
    tags: 'check',
  }, async () => {
    const database = await open();
    const { madePartitions } = await migrate(database);
    expect(madePartitions).toBe(4);
    await database.run(
      `insert into tock.job_runs (job, status, finished_at) values ('a', 'succeeded', tock.now()), ('a', 'succeeded', '1999-01-01')`,
    );
    const rows = await database.run<{ place: string }>(
      `select (select relname from pg_class where oid = tock.job_runs.tableoid) as place from tock.job_runs order by finished_at`,
    );
    expect(rows[0]?.place).toBe('job_runs_finished_default');
    expect(rows[1]?.place).toMatch(/^job_runs_finished_\d{4}_\d{2}$/);
  });

  it('moves what the default partition caught into the month that is made for it', {
    tags: 'check',
  }, async () => {
    const database = await open();
    await migrate(database);
    await database.run(
      `insert into tock.job_runs (job, status, finished_at) values ('late', 'succeeded', tock.now() + interval '5 months')`,
    );
    await database.run(`select tock.create_partitions(6)`);
    const [row] = await database.run<{ place: string }>(
      `select (select relname from pg_class where oid = tock.job_runs.tableoid) as place from tock.job_runs`,
    );
    expect(row?.place).toMatch(/^job_runs_finished_\d{4}_\d{2}$/);
  });
});

describe('the migrations of this version', () => {
  it('are the files of the folder migrations, in order', () => {
    const folder = path.resolve('migrations');
    const files = readdirSync(folder).sort();
    expect(files.length).toBeGreaterThan(0);
    const texts = files.map(name => ({ name, text: readFileSync(path.join(folder, name), 'utf8') }));
    expect(MIGRATION_TEXTS).toEqual(texts);
  });

  it('are ASCII, which every encoding of a database has', () => {
    for (const { name, text } of MIGRATION_TEXTS)
      expect([name, text.match(/\P{ASCII}.*/gu)]).toEqual([name, null]);
  });
});

describe('requireMigrated', () => {
  it('refuses an empty database and takes a migrated one', { tags: 'check' }, async () => {
    const database = await open();
    await expect(requireMigrated(database)).rejects.toMatchObject({ code: '42P01' });
    await migrate(database);
    await expect(requireMigrated(database)).resolves.toBeUndefined();
  });

  it('names what is missing', { tags: 'check' }, async () => {
    const database = await open();
    await migrate(database);
    await database.run('delete from tock.migrations');
    await expect(requireMigrated(database)).rejects.toMatchObject({
      code: 'TOCK_NOT_MIGRATED',
      message: expect.stringContaining('0001_the_ledger.sql'),
    });
  });
});

it('inSchema rewrites qualifiers and literals of their own, and no other word', () => {
  expect(
    inSchema(
      `select tock.now(), 'tock.x'::regclass, pg_notify('tock', 'x') from tock.a where b = 'tick tock'`,
      'mine',
    ),
  ).toBe(
    `select "mine".now(), '"mine".x'::regclass, pg_notify('mine', 'x') from "mine".a where b = 'tick tock'`,
  );
});
