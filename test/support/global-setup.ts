// Room: test support. One PostgreSQL server for a whole run of the tests.
// In: TOCK_TEST_DATABASE_URL (a superuser's URL of a server that runs already), or nothing.
// Out: `adminUrl` for every test file (`inject('adminUrl')`), and a teardown that leaves nothing behind.
import { chmod, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import type { ProvidedContext } from 'vitest';
import type { TestProject } from 'vitest/node';
import { startEmbeddedServer } from '../../src/embedded/embedded-server.js';
import { migrate } from '../../src/store/schema/migrate.js';
import { clockStatements } from './clock.js';
import { openDatabase } from './database.js';
import { runAt } from './embedded-database.js';

declare module 'vitest' {
  export interface ProvidedContext {
    /** A superuser's URL of the server on which each test file makes its own database. */
    adminUrl: string;
    /** Databases to be copied: the migrated schema, and that with a clock that a test can set. */
    templates: { readonly schema: string; readonly 'schema with clock': string };
    /** How a template is copied: the end of `create database`. */
    copyStrategy: string;
  }
}

// Durability is of no use to data that are thrown away; without it the suite is several times as fast.
const throwawaySettings = {
  fsync: 'off',
  synchronous_commit: 'off',
  full_page_writes: 'off',
  // It would look into hundreds of databases that are gone in a minute.
  autovacuum_naptime: '1h',
  max_connections: '300',
  file_copy_method: 'clone',
};

/** What the projects of one run share: vitest calls this file once for each of them. */
interface Shared {
  readonly server: Promise<Server>;
  users: number;
}

interface Server {
  readonly adminUrl: string;
  readonly templates: ProvidedContext['templates'];
  readonly copyStrategy: string;
  readonly stop: () => Promise<void>;
}

const SHARED = Symbol.for('tock.test.server');

export default async function setup(project: Pick<TestProject, 'provide'>): Promise<() => Promise<void>> {
  const holder = globalThis as { [SHARED]?: Shared };
  const shared = (holder[SHARED] ??= { server: startServer(), users: 0 });
  shared.users++;
  const { adminUrl, templates, copyStrategy, stop } = await shared.server;
  project.provide('adminUrl', adminUrl);
  project.provide('templates', templates);
  project.provide('copyStrategy', copyStrategy);
  return async () => {
    if (--shared.users > 0) return;
    delete holder[SHARED];
    await stop();
  };
}

async function startServer(): Promise<Server> {
  const existing = process.env['TOCK_TEST_DATABASE_URL'];
  if (existing !== undefined && existing !== '') {
    const { names, drop } = await makeTemplates(existing);
    return {
      adminUrl: existing,
      templates: names,
      copyStrategy: await copyStrategyOf(existing),
      stop: drop,
    };
  }
  const folder = await mkdtemp(path.join(tmpdir(), 'tock-test-'));
  // As root the server runs as another user, who must be able to walk through.
  await chmod(folder, 0o711);
  const server = await startEmbeddedServer({
    folder: path.join(folder, '.tock'),
    settings: throwawaySettings,
    database: 'postgres',
    // Tests put proxies and poolers in front of it.
    listens: true,
  });
  await quickenPassword(server.connectionString);
  const { names } = await makeTemplates(server.connectionString);
  return {
    adminUrl: server.connectionString,
    templates: names,
    copyStrategy: await copyStrategyOf(server.connectionString),
    stop: async () => {
      await server.stop();
      await rm(folder, { recursive: true, force: true });
    },
  };
}

/** Hashes the password once and not 4,096 times, which each connection would pay for. */
async function quickenPassword(adminUrl: string): Promise<void> {
  const { username, password } = new URL(adminUrl);
  await runAt(adminUrl, 'set scram_iterations = 1', `alter role "${username}" password '${password}'`);
}

/** Copying files is twice as fast as logging their pages where the data are in memory, and half as fast on a disk. */
async function copyStrategyOf(adminUrl: string): Promise<string> {
  const [row] = await runAt(adminUrl, 'show data_directory');
  return String(row?.['data_directory']).startsWith('/dev/shm/') ? 'strategy file_copy' : '';
}

/** Makes the templates; returns what drops them. */
async function makeTemplates(adminUrl: string) {
  const schema = `tock_template_${process.pid}`;
  const withClock = `${schema}_clock`;
  const url = new URL(adminUrl);
  url.pathname = `/${schema}`;
  await runAt(adminUrl, `create database ${schema} template template0 encoding 'UTF8'`);
  const database = openDatabase({ connectionString: url.href });
  await migrate(database);
  await database.run('delete from tock.database_identity');
  await database.close();
  await runAt(adminUrl, `create database ${withClock} template ${schema}`);
  url.pathname = `/${withClock}`;
  await runAt(url.href, ...clockStatements('tock'));
  return {
    names: { schema, 'schema with clock': withClock },
    drop: async () => {
      // With the databases that were kept for further tests (test-tock.ts).
      const kept = schema.replace('template', 'test');
      const rows = await runAt(adminUrl, `select datname from pg_database where datname ~ '^${kept}_'`);
      const names = [...rows.map(row => String(row['datname'])), withClock, schema];
      await runAt(adminUrl, ...names.map(name => `drop database if exists ${name} with (force)`));
    },
  };
}
