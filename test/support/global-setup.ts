// Room: test support. One PostgreSQL server for a whole run of the tests.
// In: TOCK_TEST_DATABASE_URL (a superuser's URL of a server that runs already), or nothing.
// Out: `adminUrl` for every test file (`inject('adminUrl')`), and a teardown that leaves nothing behind.
import { chmod, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import type { TestProject } from 'vitest/node';
import { startEmbeddedServer } from '../../src/embedded/embedded-server.js';

declare module 'vitest' {
  export interface ProvidedContext {
    /** A superuser's URL of the server on which each test file makes its own database. */
    adminUrl: string;
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
    return async () => {};
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
  return async () => {
    await server.stop();
    await rm(folder, { recursive: true, force: true });
  };
}
