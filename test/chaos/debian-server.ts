// One server of Debian's PostgreSQL 15, with the programs that come with it.
// In: settings. Out: its URL; psql, pg_dump and the like as its own account; stop, start, a standby or another cluster beside it.
import { chmod, chown, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { run, serverAccount } from '../../src/embedded/embedded-process.js';
import { freePort } from '../support/free-port.js';
import { lacks } from '../support/needs.js';

export const DEBIAN_BIN = '/usr/lib/postgresql/15/bin';
export const hasDebianPostgres = !lacks('postgresql-15');

export type DebianServer = Awaited<ReturnType<typeof openDebianServer>>;

/** Starts a server that forgets its data when the machine does. */
export async function openDebianServer(settings: readonly string[] = []) {
  const account = await serverAccount();
  const folder = await mkdtemp(path.join(tmpdir(), 'tock-debian-'));
  const give = async (file: string) => {
    if (account !== undefined) await chown(file, account.uid, account.gid);
  };
  await give(folder);
  await chmod(folder, 0o755);
  const port = await freePort();
  const password = path.join(folder, 'password');
  await writeFile(password, 'secret');
  await give(password);
  const data = path.join(folder, 'main');
  /** Runs one of the server's programs in the server's folder, which connects to it unless told otherwise; fails when it fails. */
  const call = async (program: string, ...args: readonly string[]) => {
    const home = `export PGHOST='${folder}' PGPORT=${port} PGUSER=postgres`;
    const command = ['-c', `cd '${folder}' && ${home} && exec "$@"`, 'sh', path.join(DEBIAN_BIN, program)];
    const { code, output } = await run('/bin/sh', [...command, ...args], account);
    if (code !== 0) throw new Error(`${program} failed: ${output}`);
    return output;
  };
  const start = async (from = data, more: readonly string[] = []) => {
    const own = [`port=${port}`, 'listen_addresses=127.0.0.1', `unix_socket_directories='${folder}'`];
    const options = [...own, 'fsync=off', ...settings, ...more].map(each => `-c ${each}`).join(' ');
    await call('pg_ctl', '-D', from, '-w', '-l', `${from}.log`, '-o', options, 'start');
  };
  /** `immediate`: without a farewell, and without a checkpoint. */
  const stop = async (from = data, how: 'fast' | 'immediate' = 'fast') => {
    await call('pg_ctl', '-D', from, '-w', '-m', how, 'stop');
  };
  const url = (database: string, at = port) => `postgres://postgres:secret@127.0.0.1:${at}/${database}`;
  /** Makes another, empty cluster; it is not started. */
  const newCluster = async (name: string) => {
    const where = path.join(folder, name);
    await mkdir(where, { mode: 0o700 });
    await give(where);
    const how = [
      ...'-U postgres -A scram-sha-256 -E UTF8 --locale=C.UTF-8'.split(' '),
      `--pwfile=${password}`,
    ];
    await call('initdb', '-D', where, ...how, '--no-sync');
    // The server's own programs connect over its socket, in a folder of the test's own.
    await writeFile(
      path.join(where, 'pg_hba.conf'),
      'local all all trust\nhost all,replication all 127.0.0.1/32 scram-sha-256\n',
    );
    await give(path.join(where, 'pg_hba.conf'));
    return where;
  };
  /** Makes a standby that streams from it, and starts it. */
  const follow = async (name: string) => {
    const copy = path.join(folder, name);
    const how = ['-d', url('postgres'), '-D', copy, '-R', '-X', 'stream', '-c', 'fast', '--no-sync'];
    await call('pg_basebackup', ...how);
    const at = await freePort();
    await start(copy, [`port=${at}`]);
    return { url: url('postgres', at), data: copy };
  };
  await newCluster('main');
  await start();
  return {
    /** URL of a database on it. */
    url: (database: string) => url(database),
    folder,
    data,
    call,
    start,
    stop,
    follow,
    newCluster,
    async remove() {
      await stop().catch(() => undefined);
      await rm(folder, { recursive: true, force: true });
    },
  };
}
