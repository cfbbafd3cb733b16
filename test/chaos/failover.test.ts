// Chaos: the server is killed, restarted, replaced by its standby, or gone for minutes.
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { createTock } from '../../src/index.js';
import { clockStatements } from '../support/clock.js';
import { killAfterEach, openForEach } from '../support/open.js';
import { bundleJobs, CLI, type Running, startProcess, TICK } from '../support/processes.js';
import { proveAll } from '../support/prove-all.js';
import { sqlAt } from '../support/sql-at.js';
import { until } from '../support/test-tock.js';
import { hasDebianPostgres } from './debian-server.js';
import { expectEachSecond, said } from './gated-jobs.js';
import { openOwnServer, openReplicated, type Replicated } from './servers.js';
import { openProxy, type TcpProxy } from './tcp-proxy.js';

const running = killAfterEach();
const migrated = async (url: string) => {
  const tock = createTock({ connectionString: url, logger: false });
  await tock.migrate();
  await tock.close();
};
const environment = async (url: string) => ({
  DATABASE_URL: url,
  TOCK_JOBS: await bundleJobs('test/chaos/failover-jobs.ts'),
  TOCK_LEASE: '3s',
  TOCK_HEARTBEAT: '500ms',
  TOCK_LOG_LEVEL: 'info',
});
const startDaemon = async (url: string) => {
  const daemon = startProcess(CLI, await environment(url), ['start']);
  running.push(daemon);
  await until(async () => daemon.output().includes('Ctrl-C lets running jobs finish'), 'the daemon to run');
  return daemon;
};
const succeeded = async (url: string, job: string) =>
  Number(
    (
      await sqlAt<{ count: string }>(
        url,
        `select count(*) from tock.job_runs where job = '${job}' and status = 'succeeded'`,
      )
    )[0]?.count,
  );
/** Every second of the schedule has one run, and every run one success. */
const expectUnbroken = async (url: string) => {
  await until(
    async () => (await sqlAt(url, `select from tock.job_runs_live where run_at <= tock.now()`)).length === 0,
    'all that is due to have run',
  );
  await expectEachSecond(text => sqlAt(url, text), `status not in ('queued', 'running')`);
};

describe('16: the server is killed and restarted under a daemon', () => {
  const server = openForEach(openOwnServer);
  beforeEach(async () => {
    await migrated(server.url);
  });

  it('the daemon says so once, comes back, and every second has had its run', async () => {
    const daemon = await startDaemon(server.url);
    await until(async () => (await succeeded(server.url, 'secondly')) >= 2, 'the first runs');
    for (let round = 1; round <= 2; round++) {
      await server.kill();
      await until(async () => said(daemon, 'database.away') === round, 'the daemon to notice');
      await server.start();
      await until(async () => said(daemon, 'database.back') === round, 'the daemon to be back');
      const before = await succeeded(server.url, 'secondly');
      await until(async () => (await succeeded(server.url, 'secondly')) >= before + 2, 'two more runs');
    }
    expect([said(daemon, 'database.away'), said(daemon, 'database.back')]).toEqual([2, 2]);
    daemon.child.kill('SIGTERM');
    expect(await daemon.ended).toMatchObject({ code: 0 });
    await expectUnbroken(server.url);
  });

  it('15: after minutes without a server every minute has its run, and none has two', async () => {
    // It stands still, so that no minute turns between ticks that are at work at the same time.
    for (const statement of clockStatements('tock')) await sqlAt(server.url, statement);
    await sqlAt(server.url, `update tock.test_clock set at = date_trunc('minute', now()) + interval '30 s'`);
    const env = await environment(server.url);
    const tick = () => {
      const started = startProcess(TICK, env, ['--json']);
      running.push(started);
      return started.ended;
    };
    expect((await tick()).code).toBe(0);
    await sqlAt(server.url, `update tock.job_definitions set paused_at = tock.now() where name = 'secondly'`);
    await server.kill();
    // Cron goes on all the while; each tick says what is wrong, and ends.
    const without = await Promise.all([tick(), tick()]);
    expect(without.map(each => [each.code, each.stdout])).toEqual([
      [3, ''],
      [3, ''],
    ]);
    await server.start();
    await sqlAt(server.url, `update tock.test_clock set at = at + interval '7 minutes'`);
    const after = await Promise.all([tick(), tick(), tick()]);
    expect(after.map(each => each.code)).toEqual([0, 0, 0]);
    const [row] = await sqlAt(
      server.url,
      `select count(*)::int as runs, count(distinct scheduled_for)::int as different,
        extract(epoch from max(scheduled_for) - min(scheduled_for))::int / 60 as span from tock.job_runs
        where job = 'minutely' and status = 'succeeded'`,
    );
    expect(row).toEqual({ runs: 7, different: 7, span: 6 });
    const [latest] = await sqlAt(
      server.url,
      `select count(*)::int as runs, sum(occurrence_count)::int as stands_for from tock.job_runs where job = 'latest' and status = 'succeeded'`,
    );
    expect(latest).toEqual({ runs: 1, stands_for: 7 });
    const tock = createTock({ connectionString: server.url, logger: false });
    const found = await proveAll(tock);
    await tock.close();
    expect(found).toEqual([]);
  });
});

const HINT = `select from tock.reap_turn`;

describe.skipIf(!hasDebianPostgres)(
  '16: the primary dies, its standby is promoted (needs Debian’s PostgreSQL 15)',
  () => {
    let servers: Replicated;
    let proxy: TcpProxy;
    beforeEach(async () => {
      servers = await openReplicated();
      await migrated(servers.primary);
      proxy = await openProxy(servers.primary);
    });
    afterEach(async () => {
      await proxy.close();
      await servers.remove();
    });

    it('the daemon meets a read-only server, waits, says so once, and loses and doubles nothing', async () => {
      const daemon = await startDaemon(proxy.url);
      await until(async () => (await succeeded(servers.primary, 'secondly')) >= 2, 'the first runs');
      const confirmed = await sqlAt<{ id: string }>(
        servers.primary,
        `select tock.enqueue('confirmed') as id from generate_series(1, 50)`,
      );
      await servers.killPrimary();
      proxy.leadTo(servers.standby);
      const opened = proxy.opened();
      await until(async () => said(daemon, 'database.away') === 1, 'the daemon to notice');
      await until(async () => proxy.opened() > opened, 'the daemon to meet the standby');
      expect(await sqlAt(servers.standby, 'select pg_is_in_recovery() as is_standby')).toEqual([
        { is_standby: true },
      ]);
      await servers.promote();
      // Regression: they were unlogged, and could not be read there.
      expect(await sqlAt(servers.standby, HINT)).toHaveLength(1);
      await until(async () => said(daemon, 'database.back') === 1, 'the daemon to be back');
      await until(
        async () => (await succeeded(servers.standby, 'confirmed')) === confirmed.length,
        'all that was confirmed to run',
      );
      const before = await succeeded(servers.standby, 'secondly');
      await until(async () => (await succeeded(servers.standby, 'secondly')) >= before + 2, 'two more runs');
      expect([said(daemon, 'database.away'), said(daemon, 'database.back')]).toEqual([1, 1]);
      daemon.child.kill('SIGTERM');
      expect(await daemon.ended).toMatchObject({ code: 0 });
      await expectUnbroken(servers.standby);
      expect(await sqlAt(servers.standby, `select from tock.job_runs where status = 'dead'`)).toEqual([]);
    });
  },
);

describe.skipIf(!hasDebianPostgres)(
  '16: DATABASE_URL names the primary and its standby (needs Debian’s PostgreSQL 15)',
  () => {
    let servers: Replicated;
    let url: string;
    beforeEach(async () => {
      servers = await openReplicated();
      await migrated(servers.primary);
      const [primary, standby] = [new URL(servers.primary), new URL(servers.standby)];
      // The standby first, so that it is asked, and left.
      url = servers.primary.replace(`@${primary.host}/`, `@${standby.host},${primary.host}/`);
    });
    afterEach(() => servers.remove());
    const hostOf = (one: string) => new URL(one).host;
    const expectToGoOn = async (daemon: Running) => {
      const before = await succeeded(servers.standby, 'secondly');
      await until(async () => (await succeeded(servers.standby, 'secondly')) >= before + 2, 'two more runs');
      daemon.child.kill('SIGTERM');
      expect(await daemon.ended).toMatchObject({ code: 0 });
      await expectUnbroken(servers.standby);
    };

    it('the daemon finds the new primary by itself, and says so once', async () => {
      const daemon = await startDaemon(url);
      await until(async () => (await succeeded(servers.primary, 'secondly')) >= 2, 'the first runs');
      const confirmed = await sqlAt(
        servers.primary,
        `select tock.enqueue('confirmed') from generate_series(1, 50)`,
      );
      await servers.killPrimary();
      await until(async () => said(daemon, 'database.away') === 1, 'the daemon to notice');
      const refused = await startProcess(TICK, await environment(url)).ended;
      expect([refused.code, refused.stdout]).toEqual([3, '']);
      expect(refused.stderr).toBe(
        `tick: no host of the database URL takes writes: ${hostOf(servers.standby)} is a standby, ${hostOf(servers.primary)} refused the connection; check that the servers run and that the URL names all of them\n`,
      );
      await servers.promote();
      await until(async () => said(daemon, 'database.back') === 1, 'the daemon to be back');
      expect(daemon.output()).toContain(`the database is back, at ${hostOf(servers.standby)}`);
      expect((await startProcess(TICK, await environment(url)).ended).code).toBe(0);
      await until(
        async () => (await succeeded(servers.standby, 'confirmed')) === confirmed.length,
        'all that was confirmed to run',
      );
      expect([said(daemon, 'database.away'), said(daemon, 'database.back')]).toEqual([1, 1]);
      await expectToGoOn(daemon);
    });

    it('a former primary that lives on as read-only does not keep the daemon', async () => {
      const daemon = await startDaemon(url);
      await until(async () => (await succeeded(servers.primary, 'secondly')) >= 2, 'the first runs');
      await sqlAt(servers.primary, 'alter system set default_transaction_read_only = on');
      await sqlAt(servers.primary, 'select pg_reload_conf()');
      await until(async () => said(daemon, 'database.away') === 1, 'the daemon to notice');
      await servers.promote();
      await until(async () => said(daemon, 'database.back') === 1, 'the daemon to be back');
      const listening = `select from pg_stat_activity where query = 'listen "tock"'`;
      await until(async () => (await sqlAt(servers.standby, listening)).length === 1, 'it to listen there');
      await until(
        async () => (await sqlAt(servers.primary, listening)).length === 0,
        'and not any more here',
      );
      expect([said(daemon, 'database.away'), said(daemon, 'database.back')]).toEqual([1, 1]);
      await expectToGoOn(daemon);
    });
  },
);
