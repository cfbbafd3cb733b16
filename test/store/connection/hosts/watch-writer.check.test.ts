// Store: when the server that takes writes is another one, no connection that was opened before is used again.
import pg from 'pg';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type Listener, startListener } from '../../../../src/engine/claim/listen.js';
import type { Engine } from '../../../../src/engine/engine.js';
import { systemClock } from '../../../../src/environment/system-clock.js';
import { silentLogger } from '../../../../src/model/logger.js';
import type { Database } from '../../../../src/store/connection/database.js';
import { openProxy, type TcpProxy } from '../../../chaos/tcp-proxy.js';
import { openDatabase } from '../../../support/database.js';
import { createTestDatabase } from '../../../support/embedded-database.js';
import { openForEach } from '../../../support/open.js';
import { until } from '../../../support/until.js';

const test = openForEach(createTestDatabase);
let database: Database;
let lost: number;
const ends: (() => unknown)[] = [];
const watch = (opened: Database) => {
  database = opened;
  lost = 0;
  database.onWriterLost(() => lost++);
  ends.push(() => opened.close());
};
afterEach(async () => {
  for (const end of ends.splice(0).toReversed()) await end();
});

const PID = 'select pg_backend_pid() as pid, pg_sleep(0.05)';
const pids = async (count: number) =>
  (await Promise.all(Array.from({ length: count }, () => database.run<{ pid: number }>(PID)))).map(
    ([row]) => row?.pid ?? 0,
  );
const fails = async (state: string) => {
  await expect(
    database.run(`do $$ begin raise exception 'as asked' using errcode = '${state}'; end $$`),
  ).rejects.toMatchObject({ code: state });
};
/** Whether none of the connections is used again. */
const areGone = async (before: readonly number[]) => {
  const after = await pids(before.length);
  return after.every(pid => !before.includes(pid));
};

describe('after a statement has failed', () => {
  it.each([
    ['25006', 'because the server is read-only'],
    ['57P01', 'because the server shuts down'],
    ['57P02', 'because the server has crashed'],
    ['57P03', 'because the server starts'],
    ['08006', 'because the connection broke'],
  ])('with %s, %s, no open connection is used again', async state => {
    watch(openDatabase({ connectionString: test.url, connections: 4 }));
    const before = await pids(4);
    await fails(state);
    expect(lost).toBe(1);
    expect(await areGone(before)).toBe(true);
    expect(lost).toBe(1);
  });

  it.each(['22012', '40001', '55P03', '53300'])('with %s they are', async state => {
    watch(openDatabase({ connectionString: test.url, connections: 4 }));
    const before = await pids(4);
    await fails(state).catch(() => undefined);
    expect(await areGone(before)).toBe(false);
    expect(lost).toBe(0);
  });

  it('those of a transaction are not given back either, and a pool of an app’s own is served the same', async () => {
    const pool = new pg.Pool({ connectionString: test.url, max: 3 });
    pool.on('error', () => undefined);
    const early = await pool.connect();
    const [{ pid }] = (await early.query('select pg_backend_pid() as pid')).rows as [{ pid: number }];
    ends.push(() => pool.end());
    watch(openDatabase({ pool }));
    await pids(2);
    const used = [pid];
    await database.transaction(async session => {
      const [inside] = await session.run<{ pid: number }>('select pg_backend_pid() as pid');
      await fails('25006');
      expect(await session.run('select 1 as one')).toEqual([{ one: 1 }]);
      await until(async () => pool.idleCount === 0, 'the idle ones to be closed');
      used.push(inside?.pid ?? 0);
    });
    early.release();
    const after = await pids(3);
    expect(used.filter(each => after.includes(each))).toEqual([]);
    expect(lost).toBe(1);
  });

  it('one late failure of an older connection changes nothing more', async () => {
    watch(openDatabase({ connectionString: test.url, connections: 4 }));
    const late = await database.pool.connect();
    await fails('25006');
    const [after] = await pids(1);
    late.release(Object.assign(new Error('late'), { code: '57P01' }));
    expect(lost).toBe(1);
    expect(await pids(1)).toEqual([after]);
  });

  it('LISTEN goes on over another connection, and what is sent is heard', async () => {
    watch(openDatabase({ connectionString: test.url, connections: 4 }));
    const heard: string[] = [];
    const listener: Listener = startListener(
      { clock: systemClock, database, logger: silentLogger } as Engine,
      notification =>
        heard.push(
          notification.kind === 'queued' ? (notification.lane?.queue ?? 'anywhere') : notification.kind,
        ),
    );
    ends.push(() => listener.stop());
    const listening = async () => {
      const rows = await database.run<{ pid: number }>(
        `select pid from pg_stat_activity where datname = current_database() and query ~ '^listen'`,
      );
      return rows.map(({ pid }) => pid);
    };
    await until(async () => heard.length === 1, 'the first connection');
    const before = await listening();
    await fails('25006');
    await until(async () => heard.length === 2, 'another one');
    await until(async () => (await listening()).length === 1, 'the first to be closed');
    expect(await listening()).not.toEqual(before);
    await database.run(`select pg_notify('tock', 'queued:0:mail')`);
    await until(async () => heard.includes('mail'), 'the notification');
    expect(heard).toEqual(['anywhere', 'anywhere', 'mail']);
  });
});

describe('when another host takes writes', () => {
  let proxies: TcpProxy[];
  beforeEach(async () => {
    proxies = [await openProxy(test.url), await openProxy(test.url)];
    ends.push(() => Promise.all(proxies.map(each => each.close())));
    const hosts = proxies.map(({ url }) => new URL(url).host).join(',');
    const url = test.url.replace(`@${new URL(test.url).host}/`, `@${hosts}/`);
    watch(
      openDatabase({
        connectionString: `${url}?connect_timeout=5`,
        connections: 4,
        statementTimeoutMs: 60_000,
      }),
    );
  });
  const hostAt = (index: number) => new URL(proxies[index]?.url ?? '').host;

  it('the new one is found when the connections to the former are cut', async () => {
    const before = await pids(3);
    expect(database.host()).toBe(hostAt(0));
    await proxies[0]?.close();
    await until(async () => lost > 0, 'the loss to be seen');
    expect(await areGone(before)).toBe(true);
    expect(database.host()).toBe(hostAt(1));
  });

  it('a statement that a frozen host does not answer is given up, long before its deadline', async () => {
    await pids(3);
    proxies[0]?.swallow();
    await expect(database.run('select 1')).rejects.toThrow(/connection terminated/i);
    expect(lost).toBe(1);
    expect(await database.run('select 1 as one')).toEqual([{ one: 1 }]);
    expect(database.host()).toBe(hostAt(1));
    expect(proxies[1]?.opened()).toBe(2);
  });
});
