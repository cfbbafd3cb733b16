// The PostgreSQL server that Tock runs itself when DATABASE_URL is not set. One server per folder, shared by
// all processes; embedded-lock.ts coordinates its start and stop.
import { mkdir, realpath, rename, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { TockError } from '../model/errors.js';
import { completeBinaries, copyBinaries, findBinaries } from './embedded-binaries.js';
import { connectionString, ensureDatabase, psqlCommand } from './embedded-client.js';
import { prepareCluster } from './embedded-cluster.js';
import { removeTree, setModeAndOwner } from './embedded-files.js';
import { canUsePrograms, chooseHome, ensureProgramsCopy, removeElsewhere } from './embedded-home.js';
import {
  countUsers,
  newToken,
  registerUser,
  removeLeftovers,
  unregisterUser,
  withLock,
} from './embedded-lock.js';
import { findRunning, launch, type Running, stopServer } from './embedded-postmaster.js';
import type { Cluster } from './embedded-process.js';
import { errorCode, ignoring, ownerAccount, serverAccount } from './embedded-process.js';
import { keepRunning, type ReportServer } from './embedded-revival.js';
import { hasSockets } from './embedded-socket.js';

export interface EmbeddedServer {
  /** A superuser's URL with its password, of the server's socket, or of 127.0.0.1. */
  readonly connectionString: string;
  /** Connects psql to the database, without the password. */
  readonly psqlCommand: string;
  readonly dataDirectory: string;
  /** False if the server was already running. */
  readonly startedHere: boolean;
  /** Restarts the server whenever it has died, until `stop()`. */
  keepRunning(report: ReportServer): void;
  /**
   * Ends this process's use. The last user stops the server (fast shutdown): each use is a file under
   * `.tock/users/` named by pid and start time, and those of dead processes do not count. A process that dies
   * without `stop()` leaves the server running; the next start joins it. Further calls do nothing.
   */
  stop(): Promise<void>;
}

export interface EmbeddedServerOptions {
  /** The folder for data, log and bookkeeping: a project's `.tock`. Created when missing. */
  readonly folder: string;
  /** PostgreSQL settings, such as `fsync: 'off'`; ignored if this call joins a running server. */
  readonly settings?: Readonly<Record<string, string>>;
  /** The database to connect to, created when missing. Default `tock`. */
  readonly database?: string;
  /**
   * Whether it also listens on 127.0.0.1, and the URL names that port: for tests, and for programs that
   * cannot use sockets. If the server dies, another program may take the port and ask for the password.
   * Default false; on Windows true.
   */
  readonly listens?: boolean;
  /** Called with a line about each step that takes long. */
  readonly log?: (line: string) => void;
  /** @internal The programs to use (a folder with bin/, lib/, share/) instead of the package's. */
  readonly binaries?: string;
}

/**
 * Starts the PostgreSQL server whose data live under `folder`, or joins the one that runs there.
 *
 * It is reached by a Unix socket in its data directory, which only its user (and root) may enter, with a
 * generated password; on Windows at a port of 127.0.0.1. It leads its own session, so Ctrl-C does not reach
 * it, and it outlives this process unless `stop()` is called.
 *
 * As root it runs as the data's owner: for new data the user `postgres`, otherwise `nobody`. If that user
 * cannot reach the folder or the programs, the data or a copy of the programs are in /var/tmp, and a note in
 * the folder says where. (If the folder is deleted, the next start renames that data once to `data.old`.)
 * @throws TockError TOCK_NO_EMBEDDED_SERVER when the package is not installed, TOCK_FOLDER_NOT_WRITABLE,
 * TOCK_EMBEDDED_SERVER_FAILED when the server cannot be started.
 */
export async function startEmbeddedServer(options: EmbeddedServerOptions): Promise<EmbeddedServer> {
  try {
    const folder = await prepareFolder(options.folder);
    return await withLock(folder, () => startOrJoin(folder, options));
  } catch (error) {
    throw asTockError(error, options.folder);
  }
}

interface Opened {
  readonly cluster: Cluster;
  readonly running: Running;
  readonly startedHere: boolean;
}

async function startOrJoin(folder: string, options: EmbeddedServerOptions): Promise<EmbeddedServer> {
  const database = options.database ?? 'tock';
  const use = await registerUser(folder);
  let served: Cluster | undefined;
  try {
    const { cluster, running, startedHere } = await findOrStart(folder, options);
    served = cluster;
    await ensureDatabase(cluster, running, database);
    const place = placeFor(options, running);
    const url = await connectionString(cluster, place, database);
    const reviver = keepRunning(running.pid, () =>
      withLock(folder, async () => {
        const { running: revived } = await findOrStart(folder, options);
        if ((await connectionString(cluster, placeFor(options, revived), database)) === url)
          return revived.pid;
        throw new Error('it runs on another port, because its own was taken: restart this process');
      }),
    );
    let stopped: Promise<void> | undefined;
    return {
      connectionString: url,
      psqlCommand: psqlCommand(cluster, place, database),
      dataDirectory: cluster.dataDirectory,
      startedHere,
      keepRunning: report => reviver.begin(report),
      stop: () => (stopped ??= reviver.end().then(() => stop(cluster, use))),
    };
  } catch (error) {
    await stopIfLast(served, use);
    throw error;
  }
}

/** The socket, unless the caller wants a port and there is one. */
function placeFor(
  { listens }: EmbeddedServerOptions,
  running: Running,
): Pick<Running, 'port' | 'socketFolder'> {
  return listens === true && running.listens ? { ...running, socketFolder: undefined } : running;
}

async function findOrStart(folder: string, options: EmbeddedServerOptions): Promise<Opened> {
  const cluster = await locateCluster(folder);
  const joined = await findRunning(cluster);
  const running = joined ?? (await startServer(cluster, options));
  return { cluster, running, startedHere: joined === undefined };
}

async function stop(cluster: Cluster, use: string): Promise<void> {
  try {
    await withLock(cluster.folder, () => stopIfLast(cluster, use));
  } catch (error) {
    throw asTockError(error, cluster.folder);
  }
}

async function stopIfLast(cluster: Cluster | undefined, use: string): Promise<void> {
  if ((await unregisterUser(use)) === 0 && cluster !== undefined) await stopServer(cluster);
}

/**
 * Stops the server of `folder` and removes the folder with all data, unless a living process uses it. For
 * throwaway servers, as in tests. Returns whether it is gone. A caller that waits for the folder's lock
 * meanwhile gets an error with the cause ENOENT, and may try again.
 */
export async function removeEmbeddedServer(folder: string): Promise<boolean> {
  try {
    const place = await realpath(folder);
    const ended = `${place}.ended-${await newToken()}`;
    const isUnused = await withLock(place, async () => {
      if ((await countUsers(place)) > 0) return false;
      await stopServer(await locateCluster(place));
      await removeElsewhere(place);
      // Renamed first, so that no process finds a partial folder.
      await rename(place, ended);
      return true;
    });
    if (isUnused) await removeTree(ended);
    return isUnused;
  } catch (error) {
    if (errorCode(error) === 'ENOENT') return true;
    throw asTockError(error, folder);
  }
}

async function prepareFolder(name: string): Promise<string> {
  const created = await mkdir(name, { recursive: true });
  if (created !== undefined) {
    // Regardless of the umask, the server's user must be able to enter.
    if (process.getuid?.() === 0) await setModeAndOwner(name, 0o711);
    await ignoring(['EEXIST'], writeFile(path.join(name, '.gitignore'), '*\n', { flag: 'wx' }));
  }
  return realpath(name);
}

async function locateCluster(folder: string): Promise<Cluster> {
  const newOwner = await serverAccount();
  const { home, abandoned } = await chooseHome(folder, newOwner);
  const dataDirectory = path.join(home, 'data');
  const account = newOwner === undefined ? undefined : await ownerAccount(dataDirectory, newOwner);
  const cluster = { folder, home, dataDirectory, logFile: path.join(folder, 'postgres.log'), account };
  if (abandoned) {
    await stopServer(cluster);
    await removeTree(`${dataDirectory}.old`);
    await rename(dataDirectory, `${dataDirectory}.old`);
    return { ...cluster, account: newOwner };
  }
  return cluster;
}

async function startServer(cluster: Cluster, options: EmbeddedServerOptions): Promise<Running> {
  if (cluster.home !== cluster.folder) await removeLeftovers(cluster.home);
  const native = await usableBinaries(cluster, options);
  options.log?.(`starting PostgreSQL in ${cluster.dataDirectory}`);
  await prepareCluster(cluster, native);
  const running = await launch(
    cluster,
    native,
    options.settings ?? {},
    options.listens === true || !hasSockets,
  );
  options.log?.('PostgreSQL is ready');
  return running;
}

async function usableBinaries(cluster: Cluster, options: EmbeddedServerOptions): Promise<string> {
  const native = options.binaries ?? (await findBinaries(path.dirname(cluster.folder)));
  if ((await completeBinaries(native)) && (await canUsePrograms(native, cluster.account))) return native;
  const copies = await ensureProgramsCopy(cluster.folder);
  options.log?.(`copying PostgreSQL's programs to ${copies}`);
  await removeLeftovers(copies);
  return copyBinaries(native, copies);
}

function asTockError(error: unknown, folder: string): TockError {
  if (error instanceof TockError) return error;
  const reason = error instanceof Error ? error.message : String(error);
  // Only errors of the file system have a path.
  if (['EACCES', 'EPERM', 'EROFS'].includes(errorCode(error) ?? '') && 'path' in (error as Error)) {
    return new TockError(
      'TOCK_FOLDER_NOT_WRITABLE',
      `The embedded PostgreSQL server has its files in ${folder}, where this user may not write: ${reason}. ` +
        'Let this user write there, name another folder in TOCK_DATA, or set DATABASE_URL to the URL of a PostgreSQL server.',
      { cause: error },
    );
  }
  const remedy = /ENOSPC|EDQUOT/.test(reason)
    ? 'Free some disk space.'
    : 'Fix that, or set DATABASE_URL to the URL of another PostgreSQL server.';
  return new TockError(
    'TOCK_EMBEDDED_SERVER_FAILED',
    `The embedded PostgreSQL server in ${folder} could not be started or stopped: ${reason}. ${remedy}`,
    { cause: error },
  );
}
