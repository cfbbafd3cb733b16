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

/** What a copy of a template needs before it ticks: else it would be taken for a copy that must not. */
export const ADOPT = 'select tock.note_identity()';

/** Creates a UTF-8 database with a unique name on the test run's server. A copy of a template takes a third of migrating. */
export async function createTestDatabase(content: TestContent = 'nothing'): Promise<TestDatabase> {
  const database = await copyTemplate(content);
  if (content !== 'nothing') await runAt(database.url, ADOPT);
  return database;
}

/** The same, but it is left to the caller to run `ADOPT` first, on a connection that it needs anyway. */
export async function copyTemplate(content: TestContent): Promise<TestDatabase> {
  const name = `${inject('templates').schema.replace('template', 'test')}_${randomBytes(6).toString('hex')}`;
  const template = content === 'nothing' ? 'template0' : inject('templates')[content];
  await runAsAdmin(`create database ${name} template ${template} encoding 'UTF8' ${inject('copyStrategy')}`);
  const url = new URL(inject('adminUrl'));
  url.pathname = `/${name}`;
  return {
    url: url.href,
    drop: async () => {
      await runAsAdmin(awaitSessions(name));
      await runAsAdmin(`drop database if exists ${name} with (force)`);
    },
  };
}

/**
 * Waits half a second for closed connections to end: one that is terminated while it closes is an error that nobody handles.
 * @param kept processes of connections that stay
 */
export function awaitSessions(database: string, kept: readonly number[] = []): string {
  return `do $$ begin
    for tried in 1..50 loop
      exit when not exists (select from pg_stat_activity
        where datname = '${database}' and backend_type = 'client backend' and pid <> pg_backend_pid()
          and pid <> all('{${kept.join()}}'::integer[]));
      perform pg_sleep(0.01), pg_stat_clear_snapshot();
    end loop;
  end $$`;
}

let admin: Promise<Client> | null = null;

/** On one connection for all tests of this process, which ends with it. */
async function runAsAdmin(statement: string): Promise<void> {
  admin ??= connectAdmin();
  await (await admin).query(statement);
}

async function connectAdmin(): Promise<Client> {
  const client = new Client({ connectionString: inject('adminUrl') });
  client.on('error', () => {
    admin = null;
  });
  await client.connect();
  (client as Client & { unref(): void }).unref();
  return client;
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

/** Opens a connection of its own. */
export async function openClient(url: string): Promise<Client> {
  const client = new Client({ connectionString: url });
  await client.connect();
  return client;
}
