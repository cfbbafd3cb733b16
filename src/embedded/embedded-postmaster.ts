// Finds, starts and stops the server process of one cluster. Everything here requires the folder's lock.
import { spawn } from 'node:child_process';
import path from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { program } from './embedded-binaries.js';
import { checkIdentity } from './embedded-client.js';
import { failure, type Log, openLog, readPassword } from './embedded-cluster.js';
import { readOwned, removeAs, replaceFirstLine } from './embedded-files.js';
import { chooseSocketFolder } from './embedded-home.js';
import { freePort, isFree } from './embedded-port.js';
import type { Cluster } from './embedded-process.js';
import {
  type Account,
  endOrphans,
  errorCode,
  isPostmasterOf,
  processLife,
  spawnOptions,
} from './embedded-process.js';
import { findSocketFolder, fitsSocket, hasSockets, namedPort, socketFile } from './embedded-socket.js';

export interface Running {
  readonly pid: number;
  /** The port of 127.0.0.1 if it listens there, and always the one in the socket's name. */
  readonly port: number;
  readonly listens: boolean;
  /** Undefined on Windows. */
  readonly socketFolder: string | undefined;
}

interface PostmasterFile extends Running {
  readonly status: string;
}

const pollMs = 10;
// Recovery after a crash comes before the first connection.
const startTimeoutMs = 120_000;
// The socket exists before the server is ready.
const socketTimeoutMs = 5_000;
const fastStopTimeoutMs = 60_000;
const immediateStopTimeoutMs = 10_000;
// Time for the children of a killed server to notice and end.
const orphansTimeoutMs = 10_000;
const portAttempts = 10;

/** The server that already runs on this cluster, verified; waits for one that is starting. */
export async function findRunning(cluster: Cluster): Promise<Running | undefined> {
  const deadline = Date.now() + startTimeoutMs;
  let last: unknown;
  for (;;) {
    const found = await readPostmasterFile(cluster);
    if (found === undefined || !(await isPostmasterOf(found.pid, cluster.dataDirectory))) return undefined;
    if (found.status === 'ready') {
      if (!found.listens && found.socketFolder === undefined)
        throw new Error(
          `the server, process ${found.pid}, was started with a socket elsewhere: end that process`,
        );
      await readPassword(cluster);
      try {
        await checkIdentity(cluster, found);
        return found;
      } catch (error) {
        last = error;
        // Wrong passwords stay wrong; starting up, shutting down or too many clients (57P03, 53300 …) pass.
        if (errorCode(error)?.startsWith('28') === true) throw error;
        if (errorCode(error) === 'ENOENT' && Date.now() > deadline - startTimeoutMs + socketTimeoutMs)
          throw new Error(`the socket of the server, process ${found.pid}, is gone: end that process`, {
            cause: error,
          });
      }
    }
    if (Date.now() > deadline)
      throw new Error(`the server, process ${found.pid}, does not answer`, { cause: last });
    await delay(pollMs);
  }
}

async function readPostmasterFile(cluster: Cluster): Promise<PostmasterFile | undefined> {
  const text = (await readOwned(path.join(cluster.dataDirectory, 'postmaster.pid'))) ?? '';
  const [pid, , , port, sockets = '', address = '', , status = ''] = text.split('\n');
  if (pid === undefined || !/^\d+$/.test(pid)) return undefined;
  return {
    pid: Number(pid),
    port: Number(port),
    listens: address.trim() !== '',
    socketFolder: hasSockets ? await findSocketFolder(cluster, sockets.trim()) : undefined,
    status: status.trim(),
  };
}

/**
 * Starts the server as the leader of its own session, so that Ctrl-C in our terminal does not reach it.
 *
 * Its socket is in the data directory, or, if that is impossible, in a folder elsewhere. With `listens` it
 * also has a port of 127.0.0.1: the previous one, which other processes remember, or a free one; if another
 * program takes it meanwhile, another free one.
 * @throws TockError TOCK_EMBEDDED_SERVER_FAILED
 */
export async function launch(
  cluster: Cluster,
  native: string,
  settings: Readonly<Record<string, string>>,
  listens: boolean,
): Promise<Running> {
  const { account } = cluster;
  // Fails early, because without the password the server could not be queried.
  await readPassword(cluster);
  await disownStaleFile(path.join(cluster.dataDirectory, 'postmaster.pid'), account);
  const log = await openLog(cluster);
  const deadline = Date.now() + orphansTimeoutMs;
  const elsewhere = () => chooseSocketFolder(cluster.folder, account);
  let socketFolder = !hasSockets
    ? undefined
    : fitsSocket(cluster.dataDirectory)
      ? cluster.dataDirectory
      : await elsewhere();
  let port = listens ? await previousPort(cluster.dataDirectory) : namedPort;
  try {
    for (let attempt = 1; ; ) {
      if (listens && (port === undefined || !(await isFree(port)))) port = await freePort();
      const place: Place = { port: port ?? namedPort, listens, socketFolder };
      if (socketFolder !== undefined)
        await disownStaleFile(`${socketFile(socketFolder, place.port)}.lock`, account);
      const outcome = await launchAt(place, cluster, native, settings, log);
      if (typeof outcome !== 'string') return outcome;
      if (/shared memory block .*still in use/.test(outcome) && Date.now() < deadline) {
        await endOrphans(cluster.dataDirectory);
        await delay(10 * pollMs);
      } else if (
        /could not (?:bind|create)(?: any)? Unix/.test(outcome) &&
        socketFolder === cluster.dataDirectory
      ) {
        socketFolder = await elsewhere();
      } else if (/could not bind IPv|could not create any TCP/.test(outcome) && attempt < portAttempts) {
        attempt += 1;
        port = undefined;
      } else {
        throw failure(cluster, 'PostgreSQL could not start', outcome);
      }
    }
  } finally {
    await log.close();
  }
}

type Place = Pick<Running, 'port' | 'listens' | 'socketFolder'>;

/** Resolves to the running server, or to its log if it ended. */
async function launchAt(
  place: Place,
  cluster: Cluster,
  native: string,
  settings: Readonly<Record<string, string>>,
  log: Log,
): Promise<Running | string> {
  const before = (await log.readNew()).length;
  const server = spawnServer(
    cluster,
    program(native, 'postgres'),
    serverArguments(cluster, place, settings),
    log.fd,
  );
  const printed = async (): Promise<string> => (await log.readNew()).slice(before);
  const deadline = Date.now() + startTimeoutMs;
  for (;;) {
    const ended = server.ended();
    if (ended !== undefined) return `${await printed()}${ended}`;
    const found = await readPostmasterFile(cluster);
    // Only now do socket and port belong to this server, so no other program gets the password.
    if (found?.pid === server.pid && found?.status === 'ready') {
      const running = { pid: found.pid, ...place };
      if (await answers(cluster, running)) return running;
    }
    if (Date.now() > deadline) {
      // Left running: it may be recovering, and the next start waits for it again.
      throw failure(cluster, 'PostgreSQL is still starting', await printed());
    }
    await delay(pollMs);
  }
}

interface Spawned {
  readonly pid: number | undefined;
  /** How it ended; undefined while it runs. */
  ended(): string | undefined;
}

function spawnServer(cluster: Cluster, command: string, args: string[], logFd: number): Spawned {
  const child = spawn(command, args, {
    ...spawnOptions(cluster.account),
    detached: true,
    stdio: ['ignore', logFd, logFd],
    windowsHide: true,
  });
  let ended: string | undefined;
  child.once('error', error => {
    ended = error.message;
  });
  child.once('exit', (code, signal) => {
    ended = `postgres ended with ${signal ?? `code ${code}`}`;
  });
  child.unref();
  return { pid: child.pid, ended: () => ended };
}

function serverArguments(
  cluster: Cluster,
  { port, listens, socketFolder }: Place,
  settings: Readonly<Record<string, string>>,
): string[] {
  // Tock's settings come last and take precedence.
  const all = {
    ...settings,
    port: String(port),
    listen_addresses: listens ? '127.0.0.1' : '',
    unix_socket_directories: socketFolder ?? '',
    unix_socket_permissions: '0700',
  };
  return [
    '-D',
    cluster.dataDirectory,
    ...Object.entries(all).flatMap(([name, value]) => ['-c', `${name}=${value}`]),
  ];
}

async function answers(cluster: Cluster, running: Running): Promise<boolean> {
  return checkIdentity(cluster, running).then(
    () => true,
    () => false,
  );
}

/** Stops the server: fast shutdown (open transactions are rolled back), immediate after a minute. */
export async function stopServer(cluster: Cluster): Promise<void> {
  const found = await readPostmasterFile(cluster);
  if (found === undefined || !(await isPostmasterOf(found.pid, cluster.dataDirectory))) return;
  const life = await processLife(found.pid);
  if (life === undefined) return;
  if (await endedAfter('SIGINT', found.pid, life, fastStopTimeoutMs)) return;
  if (await endedAfter('SIGQUIT', found.pid, life, immediateStopTimeoutMs)) return;
  throw new Error(`the server, process ${found.pid}, does not stop`);
}

async function endedAfter(
  signal: NodeJS.Signals,
  pid: number,
  life: string,
  timeoutMs: number,
): Promise<boolean> {
  try {
    process.kill(pid, signal);
  } catch (error) {
    if (errorCode(error) === 'ESRCH') return true;
    throw error;
  }
  const deadline = Date.now() + timeoutMs;
  while (Date.now() < deadline) {
    if ((await processLife(pid)) !== life) return true;
    await delay(pollMs);
  }
  return false;
}

/**
 * A killed server leaves its postmaster.pid and its socket's lock file behind. PostgreSQL removes them,
 * unless the pid now belongs to another living process of its user (or a zombie): then it refuses to start.
 * So an impossible pid is written there. The rest stays, because PostgreSQL uses it to find orphaned
 * children. A file that PostgreSQL did not write is removed.
 */
async function disownStaleFile(file: string, account: Account | undefined): Promise<void> {
  if ((await readOwned(file))?.trim() && (await replaceFirstLine(file, '2147483647'))) return;
  await removeAs(account, file);
}

async function previousPort(dataDirectory: string): Promise<number | undefined> {
  const options = (await readOwned(path.join(dataDirectory, 'postmaster.opts'))) ?? '';
  const port = /"port=(\d+)"/.exec(options)?.[1];
  return port === undefined || options.includes('"listen_addresses="') ? undefined : Number(port);
}
