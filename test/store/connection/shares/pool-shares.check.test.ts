// Store: the connection that is kept for Tock, and what is said of a pool that has none to give.
import pg from 'pg';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Database } from '../../../../src/store/connection/database.js';
import { openDatabase } from '../../../support/database.js';
import { createTestDatabase } from '../../../support/embedded-database.js';
import { openForEach } from '../../../support/open.js';
import { until } from '../../../support/until.js';

const test = openForEach(createTestDatabase);
let database: Database | undefined;
let pool: pg.Pool;
beforeEach(() => {
  pool = new pg.Pool({ connectionString: test.url, max: 3 });
  pool.on('error', () => undefined);
});
afterEach(async () => {
  await database?.close();
  if (!pool.ending) await pool.end();
});

/** Long enough to connect. */
const DEADLINE_MS = 6000;
const open = (options: Parameters<typeof openDatabase>[0]) => (database = openDatabase(options));
const pidOf = async (of: Database) =>
  (await of.run<{ pid: number }>('select pg_backend_pid() as pid'))[0]?.pid;
const terminate = async (pid: number | undefined) => {
  const client = new pg.Client({ connectionString: test.url });
  await client.connect();
  await client.query('select pg_terminate_backend($1)', [pid]);
  await client.end();
};

describe('the connection that is kept', () => {
  it('serves all statements while nobody else uses it, and goes back with the last worker', async () => {
    const db = open({ pool });
    const [end, endOther] = [db.shares.kept.keep(), db.shares.kept.keep()];
    const pid = await pidOf(db);
    expect([pool.totalCount, pool.idleCount]).toEqual([1, 0]);
    expect(await pidOf(db)).toBe(pid);
    await db.transaction(async session => {
      expect(await session.run('select pg_backend_pid() as pid')).toEqual([{ pid }]);
      // It is in use, and the pool has others.
      expect(await pidOf(db)).not.toBe(pid);
    });
    end();
    end();
    expect(db.shares.kept.isThere).toBe(true);
    endOther();
    expect(db.shares.kept.isThere).toBe(false);
    expect(pool.idleCount).toBe(pool.totalCount);
  });

  it('serves one statement after the other where the app holds all others', async () => {
    const db = open({ pool });
    const end = db.shares.kept.keep();
    const pid = await pidOf(db);
    const held = await Promise.all([pool.connect(), pool.connect()]);
    expect(await Promise.all([pidOf(db), pidOf(db), pidOf(db)])).toEqual([pid, pid, pid]);
    for (const client of held) client.release();
    end();
  });

  it('is replaced when it is lost, also while it is idle', async () => {
    const db = open({ pool });
    const end = db.shares.kept.keep();
    const lost = await pidOf(db);
    await terminate(lost);
    await until(async () => !db.shares.kept.isThere, 'the loss to be noticed');
    const next = await pidOf(db);
    expect(next).not.toBe(lost);
    expect(await pidOf(db)).toBe(next);
    await expect(db.run('select pg_terminate_backend(pg_backend_pid()), pg_sleep(60)')).rejects.toMatchObject(
      { code: '57P01' },
    );
    expect(await pidOf(db)).not.toBe(next);
    end();
    expect(pool.idleCount).toBe(pool.totalCount);
  });

  it('is given up when the server that takes writes is another one', async () => {
    const db = open({ pool });
    const end = db.shares.kept.keep();
    const pid = await pidOf(db);
    await db.transaction(async () => {
      db.shares.kept.renew();
      expect(db.shares.kept.isThere).toBe(true);
    });
    expect(db.shares.kept.isThere).toBe(false);
    await pidOf(db);
    db.shares.kept.renew();
    expect(db.shares.kept.isThere).toBe(false);
    expect(pid).toBeDefined();
    end();
  });

  it('is waited for by all who find the pool used up before there is one', async () => {
    const db = open({ pool, statementTimeoutMs: 60_000 });
    const held = await Promise.all([pool.connect(), pool.connect(), pool.connect()]);
    const end = db.shares.kept.keep();
    const pids = Promise.all([pidOf(db), pidOf(db), pidOf(db)]);
    await until(async () => pool.waitingCount > 0, 'one to wait for the pool');
    expect(pool.waitingCount).toBe(1);
    held[0]?.release();
    expect(new Set(await pids).size).toBe(1);
    held[1]?.release();
    held[2]?.release();
    end();
  });

  it('has no more listeners however often a Tock was opened over the pool', async () => {
    const counts: number[][] = [];
    for (let n = 0; n < 3; n++) {
      const each = openDatabase({ pool });
      const end = each.shares.kept.keep();
      await pidOf(each);
      end();
      await each.close();
      const client = await pool.connect();
      counts.push(['error', 'notice', 'end'].map(event => client.listenerCount(event)));
      client.release();
    }
    expect(pool.totalCount).toBe(1);
    expect(counts[2]).toEqual(counts[0]);
  });

  it('is none of a pool of one', async () => {
    const small = new pg.Pool({ connectionString: test.url, max: 1 });
    const db = open({ pool: small });
    const end = db.shares.kept.keep();
    await pidOf(db);
    expect([db.shares.kept.isThere, small.idleCount]).toEqual([false, 1]);
    end();
    await small.end();
  });
});

describe('a pool that has no connection to give', () => {
  const REMEDY = /the pool has 3: 3 otherwise in use\. Raise max of the pool, or connections/;

  it.each([
    ['of the app, which would wait for ever', () => ({ pool })],
    ['of Tock', () => ({ connectionString: test.url, connections: 3 })],
  ])('%s: says what holds them, and how to get more', async (_whose, reach) => {
    const db = open({ ...reach(), statementTimeoutMs: DEADLINE_MS });
    const held = await Promise.all([db.connect(), db.connect(), db.connect()]);
    const asked = [
      db.run('select 1'),
      db.transaction(session => session.run('select 1')),
      db.connect(),
      db.handlers.transaction(() => Promise.resolve()),
    ];
    const refused = asked.map(each =>
      expect(each).rejects.toMatchObject({
        code: 'TOCK_NO_CONNECTION',
        message: expect.stringMatching(REMEDY),
      }),
    );
    await Promise.all(refused);
    for (const client of held) client.release();
    // What came too late for a caller went back.
    await until(async () => db.pool.idleCount === 3 && db.pool.waitingCount === 0, 'all to be free');
    expect(db.shares.turns.held).toBe(0);
  });

  it('names handlers, and what is kept', async () => {
    const db = open({ pool, statementTimeoutMs: DEADLINE_MS });
    const end = db.shares.kept.keep();
    await pidOf(db);
    const client = await db.connect();
    const failed = db.handlers.transaction(() => db.connect());
    await expect(failed).rejects.toMatchObject({
      message: expect.stringContaining(
        '1 kept for Tock, 1 held by handlers (ctx.db, ctx.once, ctx.transaction), 1 otherwise in use',
      ),
    });
    client.release();
    end();
  });

  it('that is ended while a second connection is made: the kept one serves', async () => {
    const db = open({ pool });
    const end = db.shares.kept.keep();
    const pid = await pidOf(db);
    const [next, ending] = await db.transaction(async () => {
      const next = pidOf(db);
      // At once: soon it is made.
      while (pool.totalCount < 2) await new Promise(setImmediate);
      const ending = pool.end();
      // As for another connection that the pool closes now.
      pool.emit('remove', new pg.Client());
      return [next, ending].map(each => ({ each }));
    });
    expect(await next?.each).toBe(pid);
    end();
    await ending?.each;
  });

  it('since it is ended: says so at once, also to those who wait', async () => {
    const db = open({ pool });
    const held = await Promise.all([pool.connect(), pool.connect(), pool.connect()]);
    const refused = db.run('select 1').catch((error: unknown) => error);
    await until(async () => pool.waitingCount === 1, 'the statement to wait');
    const ending = pool.end();
    held[0]?.release();
    expect(await refused).toMatchObject({ code: 'TOCK_POOL_ENDED' });
    await expect(db.run('select 1')).rejects.toMatchObject({ code: 'TOCK_POOL_ENDED' });
    await expect(db.handlers.transaction(() => Promise.resolve())).rejects.toMatchObject({
      code: 'TOCK_POOL_ENDED',
    });
    held[1]?.release();
    held[2]?.release();
    await ending;
  });
});

it.each([
  [1, 0],
  [2, 0],
  [3, 0],
  [4, 1],
  [5, 2],
  [10, 7],
])('whether a daemon can listen a pool of %i has a connection for %i of them', async (max, daemons) => {
  const sized = new pg.Pool({ connectionString: test.url, max });
  const { shares } = open({ pool: sized });
  let count = 0;
  for (; shares.mayListen; count++) shares.listen();
  expect(count).toBe(daemons);
  await sized.end();
});
