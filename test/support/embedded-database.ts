// Room: test support. A database of its own for each test file or test.
// In: `adminUrl` and `templates` from global-setup.ts. Out: the URL of a database, and the way to drop it.
import { randomBytes } from 'node:crypto';
import { Client } from 'pg';
import { inject } from 'vitest';

/** A database that belongs to one test. */
export interface TestDatabase {
  readonly url: string;
  /** Drops the database, also while connections to it are open. */
  drop(): Promise<void>;
}

/** What a new database holds: nothing, the migrated schema `tock`, or that with a clock that a test can set. */
export type TestContent = 'nothing' | 'schema' | 'schema with clock';

/** Creates a UTF-8 database with a unique name on the test run's server. A copy of a template takes a third of migrating. */
export async function createTestDatabase(content: TestContent = 'nothing'): Promise<TestDatabase> {
  const adminUrl = inject('adminUrl');
  const name = `tock_test_${process.pid}_${randomBytes(6).toString('hex')}`;
  const template = content === 'nothing' ? 'template0' : inject('templates')[content];
  await runAt(
    adminUrl,
    `create database ${name} template ${template} encoding 'UTF8' ${inject('copyStrategy')}`,
  );
  const url = new URL(adminUrl);
  url.pathname = `/${name}`;
  // Else it would be taken for a copy that must not tick.
  if (content !== 'nothing')
    await runAt(url.href, 'insert into tock.database_identity select true, * from tock.this_database()');
  return {
    url: url.href,
    drop: async () => {
      await runAt(adminUrl, `drop database if exists ${name} with (force)`);
    },
  };
}

/** Runs statements on a connection of their own; returns the rows of the last. */
export async function runAt(
  url: string,
  ...statements: readonly string[]
): Promise<readonly Readonly<Record<string, unknown>>[]> {
  const client = new Client({ connectionString: url });
  await client.connect();
  try {
    let rows: Record<string, unknown>[] = [];
    for (const statement of statements) ({ rows } = await client.query<Record<string, unknown>>(statement));
    return rows;
  } finally {
    await client.end();
  }
}
