// A strict order: under each key, a run starts once the run before it has ended, over all its attempts.
import pg from 'pg';
import { beforeEach, describe, expect, it } from 'vitest';
import { readRun } from '../../src/answers/runs/read-run.js';
import { defineJob, RetryLater, Snooze, typeOnly } from '../../src/index.js';
import { readNow } from '../../src/store/connection/clock.js';
import { fairKeysFromOutbox } from '../../src/store/runs/fair/arrive.js';
import { claimFair } from '../../src/store/runs/fair/claim-fair.js';
import { databaseOf } from '../../src/tock/database-of.js';
import { storeTest } from '../support/open.js';
import { openTestTock, until } from '../support/test-tock.js';

const started: string[] = [];
let failing = new Set<string>();
const apply = defineJob({
  name: 'apply',
  payload: typeOnly<{ account: string; n: number }>(),
  retry: { maxAttempts: 3, backoff: 'fixed', base: '10m', jitter: 0 },
  concurrency: { limit: 1, key: ({ account }) => account, order: 'strict' },
  async run(ctx, { account, n }) {
    const name = `${account}${n}`;
    started.push(name);
    if (name === 'w1') await ctx.sleep('nap', '1h');
    if (name === 's1' && ctx.snoozes === 0) throw new Snooze('10m');
    if (name === 'l1' && ctx.attempt === 1) throw new RetryLater('20m');
    if (name === 'c1' && ctx.snoozes === 0) {
      await ctx.closeUntil('30m');
      throw new Snooze('10m');
    }
    if (failing.has(name)) throw new Error('not today');
  },
});
const all = defineJob({
  name: 'all',
  payload: typeOnly<{ account: string; n: number }>(),
  concurrency: { limit: 1, order: 'strict' },
  run(_ctx, { account, n }) {
    started.push(`${account}${n}`);
  },
});
const { test, database } = storeTest('2026-03-02T09:00:00Z', () => openTestTock([apply, all]));
beforeEach(async () => {
  await test.sql('delete from tock.registrations');
  // The first tick registers the keys.
  await test.tock.tick();
  started.length = 0;
  failing = new Set();
});
const enqueue = async (...names: string[]) => {
  const ids: string[] = [];
  for (const name of names) {
    ids.push(String(await test.tock.enqueue(apply, { account: name.slice(0, 1), n: Number(name.slice(1)) })));
  }
  return ids;
};
const first = { account: 'o', n: 1 };
const live = { key: 'k', unique: 'live' } as const;
const drain = async () => {
  while ((await test.tock.tick({ concurrency: 4 })).executed.claimed > 0);
};

describe('a strict order', () => {
  it('is that in which runs were enqueued, under each key', async () => {
    const ticks = [1, 2, 3].map(() => test.another());
    await enqueue('a1', 'b1', 'a2', 'a3', 'b2', 'a4', 'b3');
    for (let round = 0; round < 8; round++) {
      await Promise.all(ticks.map(tock => tock.tick({ concurrency: 4 })));
      await test.advance('5s');
    }
    expect(started.filter(name => name.startsWith('a'))).toEqual(['a1', 'a2', 'a3', 'a4']);
    expect(started.filter(name => name.startsWith('b'))).toEqual(['b1', 'b2', 'b3']);
    for (const tock of ticks) await tock.close();
  });

  it('is held up by a run that failed, until it has succeeded; other keys go on', {
    tags: 'check',
  }, async () => {
    failing.add('a1');
    const [first] = await enqueue('a1', 'a2', 'b1', 'a3');
    await drain();
    expect(started).toEqual(['a1', 'b1']);
    // It does not matter how often the others are looked at meanwhile.
    await test.advance('5m');
    await drain();
    expect(started).toEqual(['a1', 'b1']);
    failing.clear();
    await test.advance('5m');
    await drain();
    expect(started).toEqual(['a1', 'b1', 'a1', 'a2', 'a3']);
    expect((await test.tock.runs.get(first ?? ''))?.status).toBe('succeeded');
    expect(await test.sql('select * from tock.job_slots')).toEqual([]);
  });

  it('goes on once the run that holds it up is dead', { tags: 'check' }, async () => {
    failing.add('a1');
    await enqueue('a1', 'a2');
    for (let attempt = 1; attempt <= 3; attempt++) {
      await drain();
      await test.advance('10m');
    }
    expect(started).toEqual(['a1', 'a1', 'a1', 'a2']);
  });

  it('goes on once the run that holds it up is cancelled', { tags: 'check' }, async () => {
    failing.add('a1');
    const [first] = await enqueue('a1', 'a2');
    await drain();
    await test.tock.runs.cancel(first ?? '');
    await drain();
    expect(started).toEqual(['a1', 'a2']);
    expect(await test.sql('select * from tock.job_slots')).toEqual([]);
  });

  it('goes on in daemons that sleep once another process has cancelled the run that holds it up', {
    tags: 'check',
  }, async () => {
    failing.add('a1');
    const [first] = await enqueue('a1', 'a2');
    await drain();
    const listener = new pg.Client({ connectionString: test.url });
    const payloads: (string | undefined)[] = [];
    listener.on('notification', ({ payload }) => payloads.push(payload));
    try {
      await listener.connect();
      await listener.query('listen tock');
      await test.another().runs.cancel(first ?? '');
      await test.sql("select pg_notify('tock', 'end')");
      await until(() => Promise.resolve(payloads.includes('end')), 'the last notification');
    } finally {
      await listener.end();
    }
    expect(payloads).toContain('fair');
  });

  it.each([
    ['sleeps', 'w', '1h', 2],
    ['is snoozed', 's', '10m', 2],
    ['is to be tried later', 'l', '20m', 2],
    ['closes its key', 'c', '30m', 2],
  ])('is held up by a run that %s', { tags: 'check' }, async (_what, account, pause, starts) => {
    await enqueue(`${account}1`, `${account}2`);
    await drain();
    expect(started).toEqual([`${account}1`]);
    await test.advance(pause);
    await drain();
    await test.advance('1m');
    await drain();
    expect(started).toEqual([...Array<string>(starts).fill(`${account}1`), `${account}2`]);
    expect(await test.sql('select * from tock.job_slots')).toEqual([]);
  });

  it('is held up by the run of a worker that was killed', { tags: 'check' }, async () => {
    await enqueue('a1', 'a2');
    await fairKeysFromOutbox(database, 20);
    const dead = '00000000-0000-4000-8000-000000000009';
    const claim = await claimFair(database, { limit: 10, workerId: dead, leaseMs: 60_000, queues: null });
    expect(claim.runs).toHaveLength(1);
    await drain();
    expect(started).toEqual([]);
    await test.advance('61s');
    await drain();
    await test.advance('10m');
    await drain();
    expect(started).toEqual(['a1', 'a2']);
  });

  it('is that of all runs of a job without a key, whoever enqueues them', { tags: 'check' }, async () => {
    await test.sql(
      `select tock.enqueue('all', '{"account": "x", "n": 1}'), tock.enqueue('all', '{"account": "y", "n": 2}')`,
    );
    await test.tock.enqueue(all, { account: 'x', n: 3 });
    await drain();
    await test.advance('5s');
    await drain();
    expect(started).toEqual(['x1', 'y2', 'x3']);
  });

  it('goes on once the run that holds it up is replaced under its live key, by one of another key', async () => {
    await test.tock.enqueue(apply, { account: 's', n: 1 }, live);
    await drain();
    await enqueue('s2');
    await test.tock.enqueue(apply, { account: 'b', n: 9 }, { ...live, replace: true });
    expect(await test.sql('select * from tock.job_slots')).toEqual([]);
    await drain();
    expect(started.toSorted()).toEqual(['b9', 's1', 's2']);
  });

  it('goes on with the next reaping once the run that holds it up was deleted by hand', async () => {
    await enqueue('s1', 's2');
    await drain();
    await test.sql(`delete from tock.job_runs_live where payload ->> 'n' = '1'`);
    await drain();
    expect(started).toEqual(['s1', 's2']);
  });

  it.each<[string, () => Promise<unknown>]>([
    ['under a live key', () => test.tock.enqueue(apply, first, live)],
    ['under a live key among others', () => test.tock.enqueueMany([{ job: apply, payload: first, ...live }])],
    [
      'by SQL under a live key',
      () => test.sql(`select tock.enqueue('apply', '{"account": "o", "n": 1}', 'k', unique_live => true)`),
    ],
    [
      'in place of one that had not begun',
      async () => {
        await test.tock.enqueue(apply, { account: 'b', n: 9 }, live);
        await test.tock.enqueue(apply, first, { ...live, replace: true });
      },
    ],
    [
      'in place of one that waited for its next attempt',
      async () => {
        await test.tock.enqueue(apply, { account: 's', n: 1 }, live);
        await drain();
        await test.tock.enqueue(apply, first, { ...live, replace: true });
        started.length = 0;
      },
    ],
    [
      'as an occurrence',
      async () => {
        await test.tock.schedules.upsert({ name: 'hourly', job: apply, cron: '0 * * * *', payload: first });
        await test.setClock('2026-03-02T10:00:00Z');
        // Nothing claims it yet.
        await test.tock.tick({ queues: ['none'] });
      },
    ],
    [
      'by a retry',
      async () => {
        const id = await test.tock.enqueue(apply, first, { delay: '1d' });
        await test.tock.runs.cancel(id);
        await test.tock.runs.retry(id);
      },
    ],
  ])('is that of enqueueing, also where the first run was made %s', async (_, make) => {
    await make();
    await enqueue('o2');
    await drain();
    expect(started).toEqual(['o1', 'o2']);
  });

  it('stays while the queue has no room', { tags: 'check' }, async () => {
    await test.tock.queues.set('default', { concurrency: 1 });
    await test.sql(
      `insert into tock.job_slots (concurrency_key, slot, run_id, fence) values ('queue:default', 1, 999, 1)`,
    );
    await enqueue('a1', 'a2', 'a3');
    // Unblocked, and not admitted: as if the queue had become full in between.
    await test.sql(
      `update tock.job_runs_live set blocked_on = null, unblocked_on = blocked_on where payload ->> 'n' = '1'`,
    );
    await test.sql(`delete from tock.job_slots`);
    await test.sql(`update tock.job_runs_live set priority = -1 where payload ->> 'n' = '3'`);
    await drain();
    await test.advance('5s');
    await drain();
    await test.advance('5s');
    await drain();
    expect(started).toEqual(['a1', 'a3', 'a2']);
  });

  it('has one run at once, whatever is set for the key', { tags: 'check' }, async () => {
    await test.tock.keys.set('a', { limit: 5 });
    failing.add('a1');
    await enqueue('a1', 'a2', 'a3');
    await drain();
    expect(started).toEqual(['a1']);
  });

  it('says what holds it up', { tags: 'check' }, async () => {
    failing.add('a1');
    const [first = '', second = ''] = await enqueue('a1', 'a2');
    await drain();
    const [state] = (await test.tock.keys.get('a')).states;
    expect(state).toMatchObject({ job: 'apply', waiting: 1, limit: 1, heldBy: first });
    const database = await databaseOf(test.tock);
    const now = new Date(await readNow(database));
    const read = await readRun(database, second, { now, seesPayloads: true });
    expect(read?.now.sentence).toContain(`run ${first} comes first (tock show ${first})`);
  });
});

describe('defineJob refuses', () => {
  const run = () => null;
  it.each([
    [
      { limit: 2, order: 'strict' as const },
      "concurrency.limit is 2: with order 'strict' runs start one after another, so it is 1",
    ],
    [{ limit: 1, order: 'loose' as 'strict' }, 'concurrency.order "loose" is not \'strict\''],
    [{ limit: 1, key: '$.account' }, 'concurrency.key "$.account" is not a function of the payload'],
  ])('%j', { tags: 'check' }, (concurrency, message) => {
    expect(() => defineJob({ name: 'x', concurrency, run })).toThrow(message);
  });
});
