// Subscriptions of one process: how often they ask, and what they do while the database does not answer.
import { beforeEach, describe, expect, it } from 'vitest';
import type { Engine } from '../../../../src/engine/engine.js';
import { createChangeFeed, pauseAfter } from '../../../../src/engine/operate/changes/change-feed.js';
import { subscribe } from '../../../../src/engine/operate/changes/subscribe.js';
import { createRunEnds, type RunEnds } from '../../../../src/engine/operate/run-ends.js';
import type { Database } from '../../../../src/store/connection/database.js';
import { openDatabase } from '../../../support/database.js';
import { engineOver } from '../../../support/engine.js';
import { openForEach } from '../../../support/open.js';
import { reuseTestTock, until } from '../../../support/test-tock.js';

const NEVER_MS = 600_000;
/** As behind a pooler: nobody is notified. */
const DEAF: RunEnds = { join: () => () => undefined, requireOpen: () => undefined, close: () => undefined };

const test = openForEach(() => reuseTestTock());
const database = openForEach(() => openDatabase({ connectionString: test.url }));
let asked: string[];
let fail: (text: string) => void;
let engine: Engine;
beforeEach(() => {
  asked = [];
  fail = () => undefined;
  const watched: Database = {
    ...database,
    pool: database.pool,
    shares: database.shares,
    schema: 'tock',
    run: async (text, ...rest) => {
      asked.push(text);
      fail(text);
      return await database.run(text, ...rest);
    },
  };
  engine = engineOver(watched);
});
const numbered = () => asked.filter(text => text.includes('number_changes')).length;
const write = async (count = 1) =>
  await test.sql(
    `insert into tock.job_changes (kind, run_id, job, status, attempts, generation)
      select 'ended', n, 'told', 'succeeded', 1, 1 from generate_series(1, $1::integer) n`,
    [count],
  );

describe('subscriptions', () => {
  it('share one poll, and are woken by one notification', async () => {
    const ends = createRunEnds(engine);
    const feed = createChangeFeed(engine, ends, NEVER_MS);
    const all = Array.from({ length: 30 }, () => subscribe(engine, feed, { from: 'oldest' }));
    const reading = all.map(each => each.next());
    const isListening = async () =>
      (
        await test.sql(
          `select from pg_stat_activity where datname = current_database() and query = 'listen "tock"'`,
        )
      ).length > 0;
    await until(async () => all.every(each => each.cursor !== null) && (await isListening()), 'all to wait');
    await write();
    const read = await Promise.all(reading);
    expect(new Set(read.map(({ value }) => value?.cursor)).size).toBe(1);
    expect(numbered()).toBeLessThan(10);
    await Promise.all(all.map(each => each.return()));
    ends.close();
  });

  it('poll where nobody notifies them', async () => {
    const feed = createChangeFeed(engine, DEAF, 1);
    const one = subscribe(engine, feed);
    const next = one.next();
    await until(async () => one.cursor !== null, 'it to begin');
    await write();
    expect((await next).value?.kind).toBe('ended');
    await one.return();
  });

  it('read a page when the one before is used up, and hold no more', async () => {
    await write(1201);
    const feed = createChangeFeed(engine, DEAF, 1);
    const one = subscribe(engine, feed, { from: 'oldest' });
    const pages = () => asked.filter(text => text.includes('job_definitions d on')).length;
    await feed.number();
    const read: [number, number][] = [];
    for (let taken = 1; taken <= 1201; taken++) {
      await one.next();
      if ([1, 500, 501, 1201].includes(taken)) read.push([taken, pages()]);
    }
    expect(read).toEqual([
      [1, 1],
      [500, 1],
      [501, 2],
      [1201, 3],
    ]);
    await one.return();
  });

  it('go on where they were once the database is there again, also from the beginning', {
    tags: 'check',
  }, async () => {
    let failures = 2;
    fail = () => {
      if (failures-- > 0) throw Object.assign(new Error('connect ECONNREFUSED'), { code: 'ECONNREFUSED' });
    };
    const feed = createChangeFeed(engine, createRunEnds(engine), 1);
    const one = subscribe(engine, feed, { from: 'oldest' });
    await write(2);
    expect((await one.next()).value?.runId).toBe('1');
    failures = 1;
    expect((await one.next()).value?.runId).toBe('2');
    const next = one.next();
    failures = 1;
    await write();
    expect((await next).value?.cursor).toMatch(/-3$/);
    await one.return();
  });

  it('end at once while the database does not answer', async () => {
    const feed = createChangeFeed(engine, DEAF, NEVER_MS);
    const ending = new AbortController();
    fail = () => {
      ending.abort();
      throw Object.assign(new Error('connect ECONNREFUSED'), { code: 'ECONNREFUSED' });
    };
    const one = subscribe(engine, feed, { signal: ending.signal });
    expect(await one.next()).toEqual({ done: true, value: undefined });
    await expect(one.begin()).rejects.toMatchObject({ code: 'TOCK_BAD_STATE' });
  });

  it('throw what is no passing failure, once', async () => {
    const feed = createChangeFeed(engine, DEAF, 1);
    fail = () => {
      throw Object.assign(new Error('permission denied'), { code: '42501' });
    };
    const one = subscribe(engine, feed);
    await expect(one.next()).rejects.toThrow('permission denied');
    expect(await one.next()).toEqual({ done: true, value: undefined });
  });

  it('give what others have numbered, where they may not number', async () => {
    const feed = createChangeFeed(engine, DEAF, 1);
    const one = subscribe(engine, feed, { from: 'oldest' });
    fail = text => {
      if (text.includes('number_changes')) throw Object.assign(new Error('no'), { code: '42501' });
    };
    await write();
    const next = one.next();
    await until(async () => one.cursor !== null, 'it to begin');
    await test.sql('select tock.number_changes()');
    expect((await next).value?.runId).toBe('1');
    await one.return();
  });
});

it('pauseAfter grows to half a minute', () => {
  expect([1, 2, 3, 9, 10, 1000].map(pauseAfter)).toEqual([100, 200, 400, 25_600, 30_000, 30_000]);
});
