// Room: test support. A database of its own for each test file.
// In: `adminUrl` from global-setup.ts. Out: the URL of an empty database, and the way to drop it.
import { randomBytes } from 'node:crypto';
import { Client } from 'pg';
import { inject } from 'vitest';

/** An empty database that belongs to one test file. */
export interface TestDatabase {
  readonly url: string;
  /** Drops the database, also while connections to it are open. */
  drop(): Promise<void>;
}

/** Creates an empty UTF-8 database with a unique name on the test run's server. */
export async function createTestDatabase(): Promise<TestDatabase> {
  const adminUrl = inject('adminUrl');
  const name = `tock_test_${process.pid}_${randomBytes(6).toString('hex')}`;
  await asAdmin(adminUrl, `create database ${name} template template0 encoding 'UTF8'`);
  const url = new URL(adminUrl);
  url.pathname = `/${name}`;
  return {
    url: url.href,
    drop: () => asAdmin(adminUrl, `drop database if exists ${name} with (force)`),
  };
}

async function asAdmin(adminUrl: string, sql: string): Promise<void> {
  const client = new Client({ connectionString: adminUrl });
  await client.connect();
  try {
    await client.query(sql);
  } finally {
    await client.end();
  }
}
