// PostgreSQL servers that a test may kill: the embedded one, and Debian's PostgreSQL 15
// as a primary and its streaming standby.
// In: nothing. Out: URLs, and the means to stop, start and promote.
import { existsSync } from 'node:fs';
import { chmod, chown, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { type Account, run, serverAccount } from '../../src/embedded/embedded-process.js';
import { startEmbeddedServer } from '../../src/embedded/embedded-server.js';
import { freePort } from '../support/free-port.js';
import { lacks } from '../support/needs.js';
import { until } from '../support/until.js';

export const DEBIAN_BIN = '/usr/lib/postgresql/15/bin';
export const hasDebianPostgres = !lacks('postgresql-15');

// A server that is killed must have its commits in the log's file; the disk itself is not what is tested.
const SETTINGS = { fsync: 'off', full_page_writes: 'off', max_connections: '100' };

export interface OwnServer {
  readonly url: string;
  /** What pg_ctl -m immediate does: no farewell, no checkpoint. Resolves when it is gone. */
  kill(): Promise<void>;
  /** Starts it again, at the same port; it recovers from its log. */
  start(): Promise<void>;
  remove(): Promise<void>;
}

/** An embedded server of the test's own, in a folder of its own or in one that is given. */
export async function openOwnServer(
  settings: Readonly<Record<string, string>> = {},
  within?: string,
): Promise<OwnServer> {
  const folder = within ?? (await mkdtemp(path.join(tmpdir(), 'tock-server-')));
  await chmod(folder, 0o711);
  const begin = () =>
    startEmbeddedServer({
      folder: path.join(folder, '.tock'),
      settings: { ...SETTINGS, ...settings },
      listens: true,
    });
  let server = await begin();
  const { connectionString: url } = server;
  return {
    url,
    async kill() {
      const file = path.join(server.dataDirectory, 'postmaster.pid');
      // Without that file it is gone already.
      const pid = Number((await readFile(file, 'utf8').catch(() => '')).split('\n')[0]);
      if (pid > 0) {
        process.kill(pid, 'SIGQUIT');
        await until(async () => !existsSync(`/proc/${pid}`) || !isAlive(pid), 'the server to be gone');
      }
      await server.stop();
    },
    async start() {
      server = await begin();
      if (server.connectionString !== url) throw new Error('the server has come back under another URL');
    },
    async remove() {
      await server.stop();
      if (within === undefined) await rm(folder, { recursive: true, force: true });
    },
  };
}

/** A disk of its own that a test may fill: a tmpfs. */
export interface SmallDisk {
  readonly folder: string;
  /** Takes all that is left of it. */
  fill(): Promise<void>;
  /** Gives it back. */
  free(): Promise<void>;
  remove(): Promise<void>;
}

/** Mounts a disk of so many MB, which belongs to the account that servers run as. Only root may. */
export async function openSmallDisk(megabytes: number): Promise<SmallDisk> {
  const folder = await mkdtemp(path.join(tmpdir(), 'tock-disk-'));
  const mounted = await run('mount', ['-t', 'tmpfs', '-o', `size=${megabytes}m,mode=0711`, 'tmpfs', folder]);
  if (mounted.code !== 0) {
    await rm(folder, { recursive: true, force: true });
    throw new Error(`cannot mount a tmpfs: ${mounted.output.trim()}`);
  }
  await giveTo(folder, await serverAccount());
  const filler = path.join(folder, 'filler');
  return {
    folder,
    async fill() {
      const { output } = await run('dd', ['if=/dev/zero', `of=${filler}`, 'bs=64k']);
      if (!output.includes('No space left on device')) throw new Error(`the disk is not full: ${output}`);
    },
    free: () => rm(filler, { force: true }),
    async remove() {
      await run('umount', ['-l', folder]);
      await rm(folder, { recursive: true, force: true });
    },
  };
}

/** Why no disk can be mounted here; null where it can. */
export async function whyNoSmallDisk(): Promise<string | null> {
  try {
    await (await openSmallDisk(1)).remove();
    return null;
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}

export interface Replicated {
  readonly primary: string;
  readonly standby: string;
  /** Kills the primary without a farewell. What it confirmed is with the standby: the replication is synchronous. */
  killPrimary(): Promise<void>;
  /** Makes the standby the new primary. Until then it takes no writes. */
  promote(): Promise<void>;
  remove(): Promise<void>;
}

/** A primary and its streaming standby, of Debian's PostgreSQL 15. */
export async function openReplicated(): Promise<Replicated> {
  const account = await serverAccount();
  const folder = await mkdtemp(path.join(tmpdir(), 'tock-replicated-'));
  await chmod(folder, 0o711);
  await giveTo(folder, account);
  const [main, copy] = [path.join(folder, 'main'), path.join(folder, 'copy')];
  const ports = [await freePort(), await freePort()] as const;
  const password = path.join(folder, 'password');
  await writeFile(password, 'secret', { mode: 0o644 });
  const call = async (name: string, args: readonly string[]) => {
    const { code, output } = await run(path.join(DEBIAN_BIN, name), args, account);
    if (code !== 0) throw new Error(`${name} failed: ${output}`);
  };
  const settings = (port: number, more: readonly string[]) =>
    [`port=${port}`, 'listen_addresses=127.0.0.1', "unix_socket_directories=''", 'fsync=off', ...more]
      .map(each => `-c ${each}`)
      .join(' ');
  const start = (data: string, options: string) =>
    call('pg_ctl', [
      '-D',
      data,
      '-w',
      '-l',
      path.join(folder, `${path.basename(data)}.log`),
      '-o',
      options,
      'start',
    ]);
  const urlOf = (port: number) => `postgres://postgres:secret@127.0.0.1:${port}/postgres`;

  await call('initdb', [
    '-D',
    main,
    '-U',
    'postgres',
    '-A',
    'scram-sha-256',
    `--pwfile=${password}`,
    '-E',
    'UTF8',
    '--locale=C.UTF-8',
    '--no-sync',
  ]);
  await start(main, settings(ports[0], []));
  await mkdir(copy, { mode: 0o700 });
  await giveTo(copy, account);
  await call('pg_basebackup', [
    '-d',
    urlOf(ports[0]),
    '-D',
    copy,
    '-R',
    '-X',
    'stream',
    '-c',
    'fast',
    '--no-sync',
  ]);
  await start(copy, settings(ports[1], []));
  // From here on a commit is confirmed when the standby has carried it out.
  await call('pg_ctl', ['-D', main, '-w', '-m', 'fast', 'stop']);
  await start(main, settings(ports[0], ["synchronous_standby_names='*'", 'synchronous_commit=remote_apply']));

  return {
    primary: urlOf(ports[0]),
    standby: urlOf(ports[1]),
    killPrimary: () => call('pg_ctl', ['-D', main, '-w', '-m', 'immediate', 'stop']),
    promote: () => call('pg_ctl', ['-D', copy, '-w', 'promote']),
    async remove() {
      await call('pg_ctl', ['-D', main, '-w', '-m', 'immediate', 'stop']).catch(() => undefined);
      await call('pg_ctl', ['-D', copy, '-w', '-m', 'immediate', 'stop']).catch(() => undefined);
      await rm(folder, { recursive: true, force: true });
    },
  };
}

async function giveTo(folder: string, account: Account | undefined): Promise<void> {
  if (account !== undefined) await chown(folder, account.uid, account.gid);
}
