// Engine: what is past its time is pruned by itself: by whom, when, how much, and who is told where nobody can.
import type { PoolClient } from 'pg';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { startDaemon } from '../../../src/daemon/daemon.js';
import { pruneInTurn } from '../../../src/engine/retention/upkeep.js';
import { runTick } from '../../../src/engine/run-tick.js';
import { defineJob, type Tock } from '../../../src/index.js';
import type { Database } from '../../../src/store/connection/database.js';
import { withRetentionLock } from '../../../src/store/partitions/partitions.js';
import { claimUpkeep } from '../../../src/store/partitions/upkeep.js';
import { openDatabase } from '../../support/database.js';
import { engineOver } from '../../support/engine.js';
import { openForEach } from '../../support/open.js';
import { reuseTestTock } from '../../support/test-tock.js';
import { openVirtualProcess } from '../../support/virtual-process.js';

const noop = defineJob({ name: 'noop', run: () => null });
/** Another application in the same schema. */
const ARCHIVE = { service: 'archive', jobs: [defineJob({ name: 'filed', run: () => null })] };

const test = openForEach(
  () => reuseTestTock([noop], { retention: {} }),
  ({ setClock }) => setClock('2031-06-15T12:00:00Z'),
);
const virtual = openForEach(() => openVirtualProcess(test, '2031-06-15T12:00:00Z', [noop]));
const virtualDatabase = () => virtual.engine.database;
afterEach(() => vi.useRealTimers());

/** A run that ended so many days ago, in the partition that catches what has no other. */
const ended = async (days: number, status = 'succeeded') => {
  await test.sql(
    `insert into tock.job_runs_finished (job, status, finished_at) values ('old', $2, tock.now() - $1 * interval '1 day')`,
    [days, status],
  );
};
/** How many days ago the old runs ended, the oldest last. */
const left = async () =>
  (
    await test.sql<{ days: number }>(
      `select extract(day from tock.now() - finished_at)::int as days from tock.job_runs_finished where job = 'old' order by 1`,
    )
  ).map(({ days }) => days);
const tickWithWork = async (tock: Tock = test.tock) => {
  await test.tock.enqueue(noop);
  expect((await tock.tick()).executed.succeeded).toBe(1);
};
const aDayLater = () => test.advance('25h');
const turn = async () =>
  (await test.sql<{ at: Date }>(`select at from tock.upkeep where kind = 'retention'`))[0]?.at;
const whole = async () =>
  (
    await test.sql<{ ago: number }>(
      `select extract(epoch from tock.now() - at)::int / 3600 as ago from tock.upkeep where kind = 'pruned'`,
    )
  )[0]?.ago;

describe('a tick that has something to do', () => {
  it('prunes once a day, and not on the first', async () => {
    await test.sql('update tock.upkeep set at = tock.now()');
    await ended(89);
    await ended(200);
    await tickWithWork();
    expect(await left()).toEqual([89, 200]);
    await aDayLater();
    await tickWithWork();
    expect(await left()).toEqual([]);
    await ended(91);
    await test.advance('23h');
    await tickWithWork();
    expect(await left()).toEqual([91]);
    await test.advance('2h');
    await tickWithWork();
    expect(await left()).toEqual([]);
    expect(await whole()).toBe(0);
  });

  it('leaves it to others where it has one connection', async () => {
    await ended(91);
    await tickWithWork(test.another({ connections: 1 }));
    expect(await left()).toEqual([91]);
    await tickWithWork();
    expect(await left()).toEqual([]);
  });

  it('leaves it where the host’s clock and the database’s differ by a day', async () => {
    await ended(91);
    const now = Date.now();
    for (const off of [25, -25]) {
      vi.useFakeTimers({ toFake: ['Date'], now: now + off * 3_600_000 });
      await tickWithWork();
      expect(await left()).toEqual([91]);
    }
    vi.useRealTimers();
    await tickWithWork();
    expect(await left()).toEqual([]);
  });

  it('is one each day where one tick comes each day', { tags: 'check' }, async () => {
    for (let day = 0; day < 4; day++) {
      await ended(91);
      await tickWithWork();
      expect(await left()).toEqual([]);
      await test.advance('24h');
    }
  });

  it('leaves the turn to a daemon, which may copy, for an hour and a half', async () => {
    const asked = (mayCopy: boolean) =>
      claimUpkeep(virtualDatabase(), { prunes: true, mayCopy, hostMs: Date.now() });
    await test.sql(`update tock.upkeep set at = tock.now() - interval '89 minutes' where kind = 'retention'`);
    expect((await asked(false)).kept).toBeNull();
    expect((await asked(true)).kept).toEqual([]);
    expect((await asked(true)).kept).toBeNull();
    await test.advance('22h');
    await test.advance('91m');
    expect((await asked(false)).kept).toEqual([]);
  });
});

describe('the longest time', () => {
  it('keeps what any process has kept within a week', { tags: 'check' }, async () => {
    const filed = { ...ARCHIVE, connections: 1, retention: { keep: { default: '90d', dead: '800d' } } };
    await test.another(filed).tick();
    await ended(91);
    await ended(500, 'dead');
    for (let day = 0; day < 8; day++) {
      await tickWithWork(test.another({ retention: { keep: '30d' } }));
      expect(await left()).toEqual([500 + day]);
      await aDayLater();
    }
    await tickWithWork(test.another({ retention: { keep: '30d' } }));
    expect(await left()).toEqual([]);
  });

  it('is that of all processes of one host and folder, and of those that were stopped', {
    tags: 'check',
  }, async () => {
    await ended(500);
    await test.another({ connections: 1, retention: { keep: '700d' } }).tick();
    const one = { ...ARCHIVE, connections: 1, retention: { keep: '800d' } };
    const daemon = await test.another(one).start({ listen: false });
    await daemon.stop();
    await tickWithWork(test.another({ retention: { keep: '30d' } }));
    expect(await left()).toEqual([500]);
    await ended(750);
    expect(await test.another({ retention: { keep: '30d' } }).prune()).toMatchObject({ deletedRuns: 0 });
  });

  it('keeps after an outage of a month what was kept before it', { tags: 'check' }, async () => {
    await test.another({ ...ARCHIVE, retention: { keep: '800d' } }).tick();
    await tickWithWork();
    await ended(470);
    await test.advance('30d');
    await tickWithWork();
    expect(await left()).toEqual([500]);
  });

  it('prunes nothing by itself where a process says false', async () => {
    await ended(91);
    const before = await turn();
    await tickWithWork(test.another({ retention: false }));
    await tickWithWork();
    expect(await left()).toEqual([91]);
    expect(await turn()).toEqual(before);
    expect(await test.tock.prune()).toMatchObject({ deletedRuns: 1 });
  });

  it('is the default by hand, with one’s own; what is named goes first', async () => {
    const long = test.another({ retention: { keep: '800d' } });
    await ended(500);
    expect(await long.prune()).toMatchObject({ deletedRuns: 0 });
    await long.tick();
    expect(await test.tock.prune()).toMatchObject({ deletedRuns: 0 });
    expect(await test.tock.prune({ keep: '400d' })).toMatchObject({ deletedRuns: 1 });
  });
});

describe('a turn', () => {
  it('that does not get through comes again in an hour, to anybody', async () => {
    await ended(91);
    const engine = engineOver(virtualDatabase(), [noop]);
    await pruneInTurn(engine, [], { signal: AbortSignal.abort(), mayCopy: false });
    expect(await left()).toEqual([91]);
    await test.advance('149m');
    await tickWithWork();
    expect(await left()).toEqual([91]);
    await test.advance('2m');
    await tickWithWork();
    expect(await left()).toEqual([]);
  });

  it('that fails before it could prune does so, too', async () => {
    await ended(91);
    let isArmed = false;
    const database = {
      ...virtualDatabase(),
      async run<Row>(...statement: Parameters<Database['run']>) {
        if (isArmed && /skip locked/.test(statement[0])) throw new Error('no claim today');
        isArmed ||= /kind = 'retention'/.test(statement[0]);
        return await virtualDatabase().run<Row>(...statement);
      },
    };
    await test.tock.enqueue(noop);
    await expect(runTick(engineOver(database, [noop]), { budgetMs: 5000 })).rejects.toThrow(/no claim/);
    await test.advance('151m');
    await test.tock.tick();
    expect(await left()).toEqual([]);
  });

  it('is over for a day where somebody prunes by hand', { tags: 'check' }, async () => {
    await test.tock.prune();
    await ended(91);
    await test.advance('23h');
    await tickWithWork();
    expect(await left()).toEqual([91]);
    await test.advance('1h');
    await tickWithWork();
    expect(await left()).toEqual([]);
  });

  it('needs no connection that the pool cannot give: the kept one stays free', {
    tags: 'check',
  }, async () => {
    const database = openDatabase({ connectionString: test.url, connections: 3 });
    const { pool } = database;
    const taken: PoolClient[] = [];
    try {
      database.shares.kept.keep();
      await database.run('select 1');
      const answer = await withRetentionLock(database, async () => {
        while (pool.totalCount - pool.idleCount < 3) taken.push(await pool.connect());
        return await database.run<{ two: number }>('select 2 as two');
      });
      expect(answer).toEqual([{ two: 2 }]);
    } finally {
      for (const client of taken) client.release();
      await database.close();
    }
  });
});

it('a daemon rests nineteen times as long as each batch takes, and runs go on', {
  tags: 'check',
}, async () => {
  await test.sql(
    `insert into tock.job_keys (idempotency_key, run_id, created_at)
       select 'key-' || i, -i, '2029-01-01' from generate_series(1, 12000) i`,
  );
  const daemon = await startDaemon(virtual.engine, { listen: false }, undefined, {
    expression: '0 0 29 2 *',
  });
  virtual.roundTripMs = 10;
  await virtual.clock.advance(30_000);
  virtual.roundTripMs = 0;
  const stopped = daemon.stop();
  await virtual.clock.advance(60_000);
  await stopped;
  expect(await test.sql('select from tock.job_keys')).toEqual([]);
  const batches = virtual.sent.filter(({ text }) => /delete from "tock"."job_keys"/.test(text));
  const gaps = batches.slice(1).map(({ at }, index) => at - (batches[index]?.at ?? 0));
  expect(batches.length).toBeGreaterThan(2);
  expect(Math.min(...gaps)).toBeGreaterThanOrEqual(200);
});

describe('the doctor', () => {
  const retention = async () => (await test.tock.doctor()).checks.find(({ code }) => code === 'keys');

  it('prints the owner’s line after two days in which nobody pruned, though somebody ticked', {
    tags: 'check',
  }, async () => {
    await tickWithWork();
    await test.tock.prune();
    await ended(-30);
    expect(await retention()).toMatchObject({ level: 'ok' });
    await test.advance('49h');
    expect(await retention()).toMatchObject({ level: 'ok' });
    await tickWithWork(test.another({ connections: 1 }));
    expect(await retention()).toMatchObject({ level: 'ok' });
    await test.advance('3h');
    expect(await retention()).toMatchObject({
      level: 'warning',
      text: 'nothing has pruned for 2d 4h: no process that ticks has the owner’s rights and two connections',
      remedy: expect.stringMatching(/30 3 \* \* \* cd \S+ && DATABASE_URL=\S+ npx tock prune$/),
      command: 'tock prune',
    });
    await test.sql(`update tock.upkeep set at = tock.now() + interval '1 hour' where kind = 'retention'`);
    expect(await retention()).toMatchObject({
      text: expect.stringContaining('not all that is old') as string,
    });
    await test.tock.prune();
    expect(await retention()).toMatchObject({ level: 'ok' });
  });
});

it('the option is checked when it is given', { tags: 'check' }, () => {
  const wrong: readonly [unknown, string][] = [
    ['90d', 'write { keep:'],
    [null, 'write { keep:'],
    [true, 'write { keep:'],
    [{ kept: '90d' }, 'kept'],
    [{ keep: { failed: '7d' } }, 'failed'],
    [{ keep: 'long' }, 'long'],
    [{ keep: '30d', keepKeys: '29d' }, 'raise keepKeys'],
    [{ partition: 'year' }, 'year'],
    [{ keep: 30 }, `write a text: '30d'`],
    [{ keep: { dead: 400 } }, `write a text: '400d'`],
  ];
  for (const [retention, words] of wrong)
    expect(() => test.another({ retention: retention as never }), words).toThrow(words);
});
