// Room: test support. One PostgreSQL server for a whole run of the tests.
// In: TOCK_TEST_DATABASE_URL (a superuser's URL of a server that runs already), or nothing.
// Out: `adminUrl` for every test file (`inject('adminUrl')`), and a teardown that leaves nothing behind.
import { chmod, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import type { TestProject } from 'vitest/node';
import { startEmbeddedServer } from '../../src/embedded/embedded-server.js';
import { migrationsFolder } from '../../src/environment/paths.js';
import { openDatabase } from '../../src/store/connection/database.js';
import { migrate } from '../../src/store/schema/migrate.js';
import { clockStatements } from './clock.js';
import { runAt } from './embedded-database.js';

declare module 'vitest' {
  export interface ProvidedContext {
    /** A superuser's URL of the server on which each test file makes its own database. */
    adminUrl: string;
    /** Databases to be copied: the migrated schema, and that with a clock that a test can set. */
    templates: { readonly schema: string; readonly 'schema with clock': string };
  }
}

// Durability is of no use to data that are thrown away; without it the suite is several times as fast.
const throwawaySettings = {
  fsync: 'off',
  synchronous_commit: 'off',
  full_page_writes: 'off',
  max_connections: '300',
};

export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const existing = process.env['TOCK_TEST_DATABASE_URL'];
  if (existing !== undefined && existing !== '') {
    project.provide('adminUrl', existing);
    return await provideTemplates(project, existing);
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
  project.provide('adminUrl', server.connectionString);
  await provideTemplates(project, server.connectionString);
  return async () => {
    await server.stop();
    await rm(folder, { recursive: true, force: true });
  };
}

/** Makes the templates; returns what drops them. */
async function provideTemplates(project: TestProject, adminUrl: string): Promise<() => Promise<void>> {
  const schema = `tock_template_${process.pid}`;
  const withClock = `${schema}_clock`;
  const url = new URL(adminUrl);
  url.pathname = `/${schema}`;
  await runAt(adminUrl, `create database ${schema} template template0 encoding 'UTF8'`);
  const database = openDatabase({ connectionString: url.href });
  await migrate(database, migrationsFolder());
  await database.run('delete from tock.database_identity');
  await database.close();
  await runAt(adminUrl, `create database ${withClock} template ${schema}`);
  url.pathname = `/${withClock}`;
  await runAt(url.href, ...clockStatements('tock'));
  project.provide('templates', { schema, 'schema with clock': withClock });
  return () => runAt(adminUrl, `drop database if exists ${withClock}`, `drop database if exists ${schema}`);
}
