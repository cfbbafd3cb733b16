// Chaos: the doctor on a server with a streaming standby, Debian's PostgreSQL 15.
import { spawnSync } from 'node:child_process';
import { describe, expect, it } from 'vitest';
import { createTock } from '../../src/index.js';
import { sqlAt } from '../support/sql-at.js';
import { until } from '../support/until.js';
import { DEBIAN_BIN, hasDebianPostgres, openDebianServer } from './debian-server.js';

const WAITING = `select from pg_stat_activity where wait_event = 'SyncRep'`;

describe.skipIf(!hasDebianPostgres)('a server with a standby (needs Debian’s PostgreSQL 15)', () => {
  it('is told that commits do not wait for it, until they do', async () => {
    const server = await openDebianServer();
    const url = server.url('postgres');
    const tock = createTock({ connectionString: url, logger: false });
    const find = async () => (await tock.doctor()).checks.find(({ code }) => code === 'replication');
    try {
      await tock.migrate();
      expect(await find()).toMatchObject({ level: 'ok', text: 'no standby is connected' });
      const standby = await server.follow('copy');
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
      await server.stop(standby.data, 'immediate');
      const commit = sqlAt(url, 'create table public.waits ()').then(() => 'done');
      await until(
        async () =>
          (await tock.doctor().catch(() => null)) !== null && (await sqlAt(url, WAITING)).length > 0,
        'the commit to wait',
      );
      // Whatever the doctor reads does not wait for a standby.
      expect(await find()).toMatchObject({
        level: 'failing',
        text: expect.stringMatching(/^no standby is connected, but/),
      });
      // So that the connection can be closed.
      await sqlAt(url, WAITING.replace('select', 'select pg_cancel_backend(pid)'));
      await commit.catch(() => undefined);
    } finally {
      await server.stop(`${server.folder}/copy`, 'immediate').catch(() => undefined);
      await tock.close();
      await server.remove();
    }
  });
});
