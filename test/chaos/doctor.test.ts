// Chaos: the doctor on a server with a streaming standby, Debian's PostgreSQL 15.
import { spawnSync } from 'node:child_process';
import { appendFile } from 'node:fs/promises';
import path from 'node:path';
import pg from 'pg';
import { describe, expect, it } from 'vitest';
import { createTock } from '../../src/index.js';
import { freePort } from '../support/free-port.js';
import { until } from '../support/until.js';
import { openDebianServer } from './debian-server.js';
import { DEBIAN_BIN, hasDebianPostgres } from './servers.js';

describe.skipIf(!hasDebianPostgres)('a server with a standby (needs Debian’s PostgreSQL 15)', () => {
  it('is told that commits do not wait for it, until they do', async () => {
    const server = await openDebianServer(['wal_level=replica', 'max_wal_senders=5']);
    const url = server.url('postgres');
    const tock = createTock({ connectionString: url, logger: false });
    const watcher = new pg.Pool({ connectionString: url, max: 1 });
    watcher.on('error', () => undefined);
    const copy = path.join(server.folder, 'copy');
    const find = async () => (await tock.doctor()).checks.find(({ code }) => code === 'replication');
    try {
      await tock.migrate();
      expect(await find()).toMatchObject({ level: 'ok', text: 'no standby is connected' });
      const hba = path.join(server.data, 'pg_hba.conf');
      await appendFile(hba, 'host replication all 127.0.0.1/32 scram-sha-256\n');
      await server.call('pg_ctl', '-D', server.data, 'reload');
      await server.call(
        'pg_basebackup',
        '-d',
        url,
        '-D',
        copy,
        '-R',
        '-X',
        'stream',
        '-c',
        'fast',
        '--no-sync',
      );
      const options = `-c port=${await freePort()} -c unix_socket_directories=${server.folder} -c fsync=off`;
      await server.call('pg_ctl', '-D', copy, '-w', '-l', `${copy}.log`, '-o', options, 'start');
      await until(async () => (await find())?.level === 'warning', 'the standby to follow');
      const found = await find();
      expect(found?.text).toMatch(/^1 standby follows \(walreceiver\), but no commit waits for it/);
      const followed = spawnSync('sh', ['-c', found?.command ?? 'false'], {
        env: { PATH: `${DEBIAN_BIN}:${process.env['PATH'] ?? ''}`, DATABASE_URL: url },
        encoding: 'utf8',
      });
      expect(followed).toMatchObject({ status: 0 });
      await until(async () => (await find())?.level === 'ok', 'the server to read its settings');
      expect((await find())?.text).toMatch(
        /^1 standby follows \(walreceiver\), and commits wait .* now those of walreceiver/,
      );
      // They do: with the standby gone, a commit does not end.
      await server.call('pg_ctl', '-D', copy, '-w', '-m', 'immediate', 'stop');
      const commit = watcher.query('create table public.waits ()').then(() => 'done');
      await until(
        async () => (await tock.doctor().catch(() => null)) !== null && (await waiting(url)) > 0,
        'the commit to wait',
      );
      // Whatever the doctor reads does not wait for a standby.
      expect(await find()).toMatchObject({
        level: 'failing',
        text: expect.stringMatching(/^no standby is connected, but/),
      });
      await watcherFreed(url);
      await commit.catch(() => undefined);
    } finally {
      await server.call('pg_ctl', '-D', copy, '-w', '-m', 'immediate', 'stop').catch(() => undefined);
      await tock.close();
      await watcher.end();
      await server.remove();
    }
  });
});

async function waiting(url: string): Promise<number> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  const { rows } = await client.query(`select from pg_stat_activity where wait_event = 'SyncRep'`);
  await client.end();
  return rows.length;
}

/** Ends the commit that waits for the standby, so that the connection can be closed. */
async function watcherFreed(url: string): Promise<void> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  await client.query(`select pg_cancel_backend(pid) from pg_stat_activity where wait_event = 'SyncRep'`);
  await client.end();
}
