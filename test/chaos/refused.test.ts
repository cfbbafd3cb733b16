// Chaos: a server whose connections others have taken, all of them (53300).
import pg from 'pg';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { createTock } from '../../src/index.js';
import { killAfterEach, openForEach } from '../support/open.js';
import { CLI, type Running, TICK } from '../support/processes.js';
import { until } from '../support/test-tock.js';
import { expectEachSecond, expectGatedOnce, openGatedJobs, said, startGated } from './gated-jobs.js';
import { openOwnServer } from './servers.js';

const RUNS = 20;
const MOST_CONNECTIONS = 12;
const REFUSED = 1000;

const jobs = openForEach(openGatedJobs);
const server = openForEach(() =>
  openOwnServer({
    max_connections: String(MOST_CONNECTIONS),
    superuser_reserved_connections: '0',
    reserved_connections: '0',
    max_wal_senders: '0',
  }),
);
/** Connected all the time. */
let client: pg.Client;
const others: pg.Client[] = [];
const running = killAfterEach();
beforeEach(async () => {
  client = await connect();
});
afterEach(async () => {
  await Promise.all([client, ...others.splice(0)].map(each => each.end().catch(() => undefined)));
});

const connect = async (): Promise<pg.Client> => {
  const fresh = new pg.Client({ connectionString: server.url, application_name: 'other' });
  fresh.on('error', () => undefined);
  await fresh.connect();
  return fresh;
};
/** Whether it was refused for want of a connection. */
const isRefused = async (): Promise<boolean> => {
  try {
    others.push(await connect());
    return false;
  } catch (error) {
    if ((error as { code?: string }).code === '53300') return true;
    throw error;
  }
};
const sql = async <Row = Record<string, unknown>>(text: string) => (await client.query(text)).rows as Row[];
const begin = (script: string, args: readonly string[] = []) => {
  const started = startGated(jobs, { DATABASE_URL: server.url, TOCK_LOG_LEVEL: 'info' }, script, args);
  running.push(started);
  return started;
};
/** While its connections are taken it may get one once more, and so say that the database is back, and away again. */
const isAway = (daemon: Running) => said(daemon, 'database.away') > said(daemon, 'database.back');

/** Ends Tock's connections, and takes their places before it can. */
const takeAll = async () => {
  const isFull = async () => {
    while (!(await isRefused()));
    const ours = `from pg_stat_activity where application_name = 'tock'`;
    const ended = await sql(`select pg_terminate_backend(pid) ${ours}`);
    return ended.length === 0;
  };
  await until(isFull, 'all connections to be taken by others');
};

describe('24: others have taken all connections', () => {
  it('and 1,000 more are refused: ticks say so in one line, a daemon goes on, and its outcomes are written after', async () => {
    const tock = createTock({ connectionString: server.url, logger: false, connections: 2 });
    await tock.migrate();
    await tock.close();
    await sql(`select tock.enqueue('gated') from generate_series(1, ${RUNS})`);
    const daemon = begin(CLI, ['start']);
    await until(async () => (await jobs.calls()).length === RUNS, 'all handlers to begin');

    await takeAll();
    await jobs.open();
    await until(async () => said(daemon, 'finalize.waiting') > 0, 'outcomes to be refused');
    await until(async () => isAway(daemon), 'the daemon to notice');
    const timesAway = said(daemon, 'database.away');
    for (let count = 0; count < REFUSED; count += 20) {
      const refused = await Promise.all(Array.from({ length: 20 }, isRefused));
      expect(refused).not.toContain(false);
    }
    for (const [script, args, name] of [
      [TICK, [], 'tick'],
      [TICK, [], 'tick'],
      [CLI, ['start'], 'tock start'],
    ] as const) {
      const { code, stdout, stderr } = await begin(script, args).ended;
      const lines = stderr.trimEnd().split('\n');
      const logged = lines.slice(0, -1).map(line => (JSON.parse(line) as { event: string }).event);
      // A daemon's log begins with what it is going to use.
      expect([code, stdout, logged]).toEqual([3, '', script === CLI ? ['database.used', 'jobs.loaded'] : []]);
      expect(lines.at(-1)).toMatch(
        new RegExp(`^${name}: cannot reach the database: .*raise max_connections, or put pgbouncer in front`),
      );
    }
    expect(daemon.child.exitCode).toBeNull();

    await Promise.all(others.splice(0).map(each => each.end()));
    await expectGatedOnce(jobs, sql, RUNS);
    await until(async () => !isAway(daemon), 'the daemon to be back');
    expect(await begin(TICK).ended).toMatchObject({ code: 0, stderr: '' });
    expect([said(daemon, 'database.away'), said(daemon, 'finalize.refused')]).toEqual([timesAway, 0]);
    daemon.child.kill('SIGTERM');
    expect(await daemon.ended).toMatchObject({ code: 0 });
    await expectEachSecond(sql);
  });
});
