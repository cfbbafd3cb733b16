// Room: embedded. The server process of one cluster.
// In: a prepared cluster. Out: its pid and port, once it answers; or its end.
// All of this is to be called under the folder's lock.
import { spawn } from 'node:child_process';
import { chmod, chown, readFile, rename, rm, stat, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { program } from './embedded-binaries.js';
import { checkIdentity } from './embedded-client.js';
import { type Cluster, failure, openLog, readLogSince } from './embedded-cluster.js';
import { freePort, isFree } from './embedded-port.js';
import { endOrphans, errorCode, isPostmasterOf, processLife, spawnOptions } from './embedded-process.js';

/** A server that answered. */
export interface Running {
  readonly pid: number;
  readonly port: number;
}

interface PostmasterFile extends Running {
  readonly status: string;
}

const pollMs = 10;
// Recovery after a crash comes before the first connection.
const startTimeoutMs = 120_000;
const fastStopTimeoutMs = 60_000;
const immediateStopTimeoutMs = 10_000;
// For the children of a killed server to notice that, and go.
const orphansTimeoutMs = 10_000;
const portAttempts = 10;

/** The server that runs on this cluster already, after it answered as such; waits for one that is starting. */
export async function findRunning(cluster: Cluster): Promise<Running | undefined> {
  const deadline = Date.now() + startTimeoutMs;
  let last: unknown;
  for (;;) {
    const found = await readPostmasterFile(cluster.dataDirectory);
    if (found === undefined || !(await isPostmasterOf(found.pid, cluster.dataDirectory))) return undefined;
    if (found.status === 'ready') {
      try {
        await checkIdentity(cluster, found.port);
        return found;
      } catch (error) {
        last = error;
        // A wrong password stays wrong; starting up, shutting down or full (57P03, 53300 …) passes.
        if (errorCode(error)?.startsWith('28') === true) throw error;
      }
    }
    if (Date.now() > deadline)
      throw new Error(`the server, process ${found.pid}, does not answer`, { cause: last });
    await delay(pollMs);
  }
}

async function readPostmasterFile(dataDirectory: string): Promise<PostmasterFile | undefined> {
  const text = await readFile(path.join(dataDirectory, 'postmaster.pid'), 'utf8').catch(() => '');
  const [pid, , , port, , , , status] = text.split('\n');
  if (pid === undefined || !/^\d+$/.test(pid)) return undefined;
  return { pid: Number(pid), port: Number(port), status: status?.trim() ?? '' };
}

/**
 * Starts the server as the leader of its own session, so that Ctrl-C in our terminal does not reach it.
 *
 * The port is the one it had before, for the sake of processes that remember it, or a free one; when
 * somebody takes it in between, another.
 * @throws TockError TOCK_EMBEDDED_SERVER_FAILED
 */
export async function launch(
  cluster: Cluster,
  native: string,
  settings: Readonly<Record<string, string>>,
): Promise<Running> {
  await disownStaleFile(cluster.dataDirectory);
  const deadline = Date.now() + orphansTimeoutMs;
  let port = await previousPort(cluster.dataDirectory);
  for (let attempt = 1; ; ) {
    port = port !== undefined && (await isFree(port)) ? port : await freePort();
    const outcome = await launchOn(port, cluster, native, settings);
    if (typeof outcome !== 'string') return outcome;
    if (/shared memory block .*still in use/.test(outcome) && Date.now() < deadline) {
      await endOrphans(cluster.dataDirectory);
      await delay(10 * pollMs);
    } else if (/could not bind|could not create any TCP/.test(outcome) && attempt < portAttempts) {
      attempt += 1;
      port = undefined;
    } else {
      throw failure(cluster, 'PostgreSQL could not start', outcome);
    }
  }
}

/** Out: the running server, or, when it ended, what it wrote to its log. */
async function launchOn(
  port: number,
  cluster: Cluster,
  native: string,
  settings: Readonly<Record<string, string>>,
): Promise<Running | string> {
  const log = await openLog(cluster);
  let server: Spawned;
  try {
    server = spawnServer(
      cluster,
      program(native, 'postgres'),
      serverArguments(cluster, port, settings),
      log.fd,
    );
  } finally {
    await log.close();
  }
  const deadline = Date.now() + startTimeoutMs;
  for (;;) {
    const ended = server.ended();
    if (ended !== undefined) return `${await readLogSince(cluster, log.size)}${ended}`;
    const found = await readPostmasterFile(cluster.dataDirectory);
    // Only then is the port its own, and nobody else is sent the password.
    if (
      found !== undefined &&
      found.pid === server.pid &&
      found.status === 'ready' &&
      (await answers(cluster, port))
    ) {
      return { pid: found.pid, port };
    }
    if (Date.now() > deadline) {
      // It is left alone: it may be recovering, and the next start waits for it again.
      throw failure(cluster, 'PostgreSQL is still starting', await readLogSince(cluster, log.size));
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
  port: number,
  settings: Readonly<Record<string, string>>,
): string[] {
  // Ours come last and win. No Unix socket: its path has a length limit that a project's folder may exceed.
  const all = { ...settings, port: String(port), listen_addresses: '127.0.0.1', unix_socket_directories: '' };
  return [
    '-D',
    cluster.dataDirectory,
    ...Object.entries(all).flatMap(([name, value]) => ['-c', `${name}=${value}`]),
  ];
}

async function answers(cluster: Cluster, port: number): Promise<boolean> {
  return checkIdentity(cluster, port).then(
    () => true,
    () => false,
  );
}

/** Stops the server: fast shutdown (open transactions are rolled back), immediate if that takes a minute. */
export async function stopServer(cluster: Cluster): Promise<void> {
  const found = await readPostmasterFile(cluster.dataDirectory);
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
 * A killed server leaves its postmaster.pid behind. PostgreSQL removes that by itself, unless the pid belongs to
 * another living process of its user (or is a zombie's): then it refuses to start. So a pid that nobody can
 * have is put there. The rest of the file stays: by it PostgreSQL finds out whether orphaned children of the
 * killed server are still at work on the data.
 */
async function disownStaleFile(dataDirectory: string): Promise<void> {
  const file = path.join(dataDirectory, 'postmaster.pid');
  const text = await readFile(file, 'utf8').catch(() => undefined);
  if (text === undefined) return;
  if (text.trim() === '') return rm(file);
  const { uid, gid } = await stat(dataDirectory);
  const replacement = path.join(dataDirectory, 'postmaster.pid.stale');
  await writeFile(replacement, text.replace(/^.*/, '2147483647'));
  await chmod(replacement, 0o600);
  await chown(replacement, uid, gid);
  await rename(replacement, file);
}

async function previousPort(dataDirectory: string): Promise<number | undefined> {
  const options = await readFile(path.join(dataDirectory, 'postmaster.opts'), 'utf8').catch(() => '');
  const port = /"port=(\d+)"/.exec(options)?.[1];
  return port === undefined ? undefined : Number(port);
}
