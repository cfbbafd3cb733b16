// PostgreSQL servers that a test may kill: the embedded one, and Debian's PostgreSQL 15
// as a primary and its streaming standby.
// In: nothing. Out: URLs, and the means to stop, start and promote.
import { existsSync } from 'node:fs';
import { chmod, chown, mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { run, serverAccount } from '../../src/embedded/embedded-process.js';
import { startEmbeddedServer } from '../../src/embedded/embedded-server.js';
import { until } from '../support/until.js';
import { openDebianServer } from './debian-server.js';

// A server that is killed must have its commits in the log's file; the disk itself is not what is tested.
const SETTINGS = { fsync: 'off', full_page_writes: 'off', max_connections: '100' };

export type OwnServer = Awaited<ReturnType<typeof openOwnServer>>;

/** An embedded server of the test's own, in a folder of its own or in one that is given. */
export async function openOwnServer(settings: Readonly<Record<string, string>> = {}, within?: string) {
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
    /** What pg_ctl -m immediate does: no farewell, no checkpoint. Resolves when it is gone. */
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
    /** Starts it again, at the same port; it recovers from its log. */
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

export type SmallDisk = Awaited<ReturnType<typeof openSmallDisk>>;

/** Mounts a disk of its own, of so many MB, that a test may fill: a tmpfs, which belongs to the account that servers run as. Only root may. */
export async function openSmallDisk(megabytes: number) {
  const folder = await mkdtemp(path.join(tmpdir(), 'tock-disk-'));
  const mounted = await run('mount', ['-t', 'tmpfs', '-o', `size=${megabytes}m,mode=0711`, 'tmpfs', folder]);
  if (mounted.code !== 0) {
    await rm(folder, { recursive: true, force: true });
    throw new Error(`cannot mount a tmpfs: ${mounted.output.trim()}`);
  }
  const account = await serverAccount();
  if (account !== undefined) await chown(folder, account.uid, account.gid);
  const filler = path.join(folder, 'filler');
  return {
    folder,
    /** Takes all that is left of it. */
    async fill() {
      const { output } = await run('dd', ['if=/dev/zero', `of=${filler}`, 'bs=64k']);
      if (!output.includes('No space left on device')) throw new Error(`the disk is not full: ${output}`);
    },
    /** Gives it back. */
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

export type Replicated = Awaited<ReturnType<typeof openReplicated>>;

/** A primary and its streaming standby, of Debian's PostgreSQL 15. */
export async function openReplicated() {
  const server = await openDebianServer();
  const standby = await server.follow('copy');
  // From here on a commit is confirmed when the standby has carried it out.
  await server.stop();
  await server.start(server.data, ["synchronous_standby_names='*'", 'synchronous_commit=remote_apply']);
  const killPrimary = () => server.stop(server.data, 'immediate');
  return {
    primary: server.url('postgres'),
    standby: standby.url,
    /** Kills the primary without a farewell. What it confirmed is with the standby: the replication is synchronous. */
    killPrimary,
    /** Makes the standby the new primary. Until then it takes no writes. */
    promote: () => server.call('pg_ctl', '-D', standby.data, '-w', 'promote'),
    async remove() {
      await killPrimary().catch(() => undefined);
      await server.stop(standby.data, 'immediate').catch(() => undefined);
      await server.remove();
    },
  };
}
