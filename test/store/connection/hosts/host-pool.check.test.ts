// Store: a pool over several hosts takes the one that is what the URL wants, and says of each other why it did not.
import { afterEach, describe, expect, it } from 'vitest';
import type { Database } from '../../../../src/store/connection/database.js';
import { explainDatabaseError, isConnectionFailure } from '../../../../src/store/connection/errors.js';
import { openProxy, type TcpProxy } from '../../../chaos/tcp-proxy.js';
import { openDatabase } from '../../../support/database.js';
import { createTestDatabase } from '../../../support/embedded-database.js';
import { openForEach } from '../../../support/open.js';
import { openRecorder } from '../../../support/recorded-connection.js';

const test = openForEach(createTestDatabase);
const proxies: TcpProxy[] = [];
const databases: Database[] = [];
afterEach(async () => {
  for (const each of databases.splice(0)) await each.close();
  for (const each of proxies.splice(0)) await each.close();
});

/** Nobody listens there. */
const refusing = '127.0.0.1:1';
const hostOf = (url: string) => new URL(url).host;
/** The URL of the test's database with other hosts. */
const at = (hosts: readonly string[], parameters = '') => {
  const { host } = new URL(test.url);
  return `${test.url.replace(`@${host}/`, `@${hosts.join(',')}/`)}${parameters}`;
};
const open = (url: string, connections = 4) => {
  const database = openDatabase({ connectionString: url, connections, statementTimeoutMs: 20_000 });
  databases.push(database);
  return database;
};
const openHost = async () => {
  const proxy = await openProxy(test.url);
  proxies.push(proxy);
  return proxy;
};
const readOnly = async (isOn: boolean) => {
  const database = openDatabase({ connectionString: test.url, connections: 1 });
  const name = new URL(test.url).pathname.slice(1);
  // Also where new sessions are read-only by now.
  await database.run('set default_transaction_read_only = off');
  await database.run(`alter database "${name}" set default_transaction_read_only = ${isOn ? 'on' : 'off'}`);
  await database.close();
};

describe('a pool over several hosts', () => {
  it('goes on to the next where one refuses, and begins there the next time', async () => {
    const proxy = await openHost();
    const database = open(at([refusing, hostOf(proxy.url)]));
    expect(database.host()).toBeNull();
    expect(await database.run('select 1 as one')).toEqual([{ one: 1 }]);
    expect(database.host()).toBe(hostOf(proxy.url));
    await Promise.all([1, 2, 3].map(() => database.run('select pg_sleep(0.05)')));
    expect(proxy.opened()).toBe(database.pool.totalCount);
  });

  it('takes no host that is read-only, names each and why, and takes it when it accepts writes', async () => {
    const proxy = await openHost();
    const database = open(at([refusing, hostOf(proxy.url)]));
    await readOnly(true);
    const failure = await database.run('select 1').catch((error: unknown) => error);
    expect(isConnectionFailure(failure)).toBe(true);
    expect(explainDatabaseError(failure, 'tock')).toMatchObject({
      code: 'TOCK_DATABASE_UNREACHABLE',
      message: `no host of the database URL takes writes: ${refusing} refused the connection, ${hostOf(proxy.url)} is read-only; check that the servers run and that the URL names all of them`,
    });
    expect(database.pool.totalCount).toBe(0);
    const reader = open(at([refusing, hostOf(proxy.url)], '?target_session_attrs=read-only'));
    expect(await reader.run('select 1 as one')).toEqual([{ one: 1 }]);
    await readOnly(false);
    expect(await database.run('select 1 as one')).toEqual([{ one: 1 }]);
  });

  it('says what a host has answered, without the password', async () => {
    const proxy = await openHost();
    const { username, password } = new URL(test.url);
    const url = at([hostOf(proxy.url), '127.0.0.1:1']).replace(
      `${username}:${password}@`,
      'nobody_known:geheim@',
    );
    const failure = await open(url)
      .run('select 1')
      .catch((error: Error) => error);
    expect((failure as Error).message).toMatch(/nobody_known.*127\.0\.0\.1:1 refused the connection/);
    expect((failure as Error).message).not.toContain('geheim');
  });

  it('does not wait long for a host that accepts the connection and says nothing', async () => {
    const [frozen, proxy] = [await openHost(), await openHost()];
    frozen.swallow();
    const database = open(at([hostOf(frozen.url), hostOf(proxy.url)], '?connect_timeout=10'));
    expect(await database.run('select 1 as one')).toEqual([{ one: 1 }]);
    expect(database.host()).toBe(hostOf(proxy.url));
  });

  it('asks once for each connection; a plain URL asks nothing', async () => {
    const question = (text: string) => text.includes('pg_is_in_recovery');
    for (const [parameters, asked] of [
      ['', 0],
      ['?connect_timeout=60', 0],
      ['?target_session_attrs=any', 0],
      ['?target_session_attrs=read-write', 1],
    ] as const) {
      const recorder = await openRecorder(test.url);
      const database = open(`${recorder.url}${parameters}`, 1);
      for (let count = 0; count < 3; count++) await database.run('select 1');
      expect([parameters, recorder.connections(), recorder.statements().filter(question).length]).toEqual([
        parameters,
        1,
        asked,
      ]);
      await recorder.close();
    }
  });

  it('gives a caller that waits for a connection one of a host that fits', async () => {
    const proxy = await openHost();
    const database = open(at([refusing, hostOf(proxy.url)]), 2);
    const rows = await Promise.all(
      Array.from({ length: 12 }, () => database.run<{ one: number }>('select 1 as one, pg_sleep(0.01)')),
    );
    expect(rows.map(([row]) => row?.one)).toEqual(Array.from({ length: 12 }, () => 1));
  });

  it('takes a callback, as a pool of pg does', async () => {
    const proxy = await openHost();
    const database = open(at([refusing, hostOf(proxy.url)]));
    expect((await database.pool.query('select 1 as one')).rows).toEqual([{ one: 1 }]);
    const nowhere = open(at(['127.0.0.1:1', '127.0.0.1:2']));
    await expect(nowhere.pool.query('select 1')).rejects.toThrow(/127\.0\.0\.1:1 refused .* 127\.0\.0\.1:2/);
  });
});
