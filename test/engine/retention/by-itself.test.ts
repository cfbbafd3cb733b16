// Engine: what is past its time is pruned by itself: by whom, when, how much, and who is told where nobody can.
import { afterEach, describe, expect, it, vi } from 'vitest';
import { startDaemon } from '../../../src/daemon/daemon.js';
import { pruneInTurn } from '../../../src/engine/retention/upkeep.js';
import { defineJob, type Tock } from '../../../src/index.js';
import { openDatabase } from '../../support/database.js';
import { engineOver } from '../../support/engine.js';
import { openForEach } from '../../support/open.js';
import { reuseTestTock } from '../../support/test-tock.js';
import { openVirtualProcess } from '../../support/virtual-process.js';

const noop = defineJob({ name: 'noop', run: () => null });
/** Another application in the same schema. */
const ARCHIVE = { service: 'archive', jobs: [defineJob({ name: 'filed', run: () => null })] };

const test = openForEach(
  () => reuseTestTock([noop]),
  ({ setClock }) => setClock('2031-06-15T12:00:00Z'),
);
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

  it('keeps what any live worker keeps, and prunes when that has been gone for a day', async () => {
    await ended(91);
    await ended(500);
    await test.another({ ...ARCHIVE, retention: { keep: { default: '90d', dead: '800d' } } }).tick();
    await ended(500, 'dead');
    await tickWithWork(test.another({ retention: { keep: '30d' } }));
    expect(await left()).toEqual([500]);
    await aDayLater();
    await tickWithWork(test.another({ retention: { keep: '600d' } }));
    expect(await left()).toEqual([501]);
    await aDayLater();
    await tickWithWork(test.another({ retention: { keep: '30d' } }));
    expect(await left()).toEqual([]);
  });

  it('prunes nothing while a live worker says false, nor by itself what it says so of', async () => {
    await ended(91);
    const before = await turn();
    await tickWithWork(test.another({ retention: false }));
    expect(await left()).toEqual([91]);
    await test.another({ ...ARCHIVE, retention: false }).tick();
    await tickWithWork();
    expect(await left()).toEqual([91]);
    expect(await turn()).toEqual(before);
    expect(await test.tock.prune()).toMatchObject({ deletedRuns: 1 });
  });

  it('of a stopped daemon, what it has kept holds no more', async () => {
    await ended(91);
    const daemon = await test
      .another({ ...ARCHIVE, connections: 1, retention: { keep: '800d' } })
      .start({ listen: false });
    await daemon.stop();
    await tickWithWork();
    expect(await left()).toEqual([]);
  });
});

describe('a turn', () => {
  it('that does not get through comes again in an hour, to anybody', async () => {
    await ended(91);
    const database = openDatabase({ connectionString: test.url });
    try {
      const engine = engineOver(database, [noop]);
      await pruneInTurn(engine, [], { signal: AbortSignal.abort(), mayCopy: false });
    } finally {
      await database.close();
    }
    expect(await left()).toEqual([91]);
    await test.advance('59m');
    await tickWithWork();
    expect(await left()).toEqual([91]);
    await test.advance('2m');
    await tickWithWork();
    expect(await left()).toEqual([]);
  });

  it('is over for a day where somebody prunes by hand, who keeps what live workers keep', async () => {
    await test.another({ ...ARCHIVE, retention: { keep: { default: '90d', dead: '800d' } } }).tick();
    await ended(500, 'dead');
    await ended(500);
    expect(await test.tock.prune()).toMatchObject({ deletedRuns: 1 });
    expect(await left()).toEqual([500]);
    await ended(91);
    await tickWithWork();
    expect(await left()).toEqual([91, 500]);
    expect(await test.tock.prune({ keep: '400d' })).toMatchObject({ deletedRuns: 1 });
    expect(await left()).toEqual([91]);
  });
});

describe('a daemon', () => {
  const virtual = openForEach(() => openVirtualProcess(test, '2031-06-15T12:00:00Z', [noop]));

  it('rests nineteen times as long as each batch takes, and runs go on', async () => {
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
});

describe('the doctor', () => {
  const retention = async () => (await test.tock.doctor()).checks.find(({ code }) => code === 'keys');

  it('prints the owner’s line after two days in which nobody pruned, though somebody ticked', async () => {
    await tickWithWork();
    await test.advance('49h');
    expect(await retention()).toMatchObject({ level: 'ok' });
    await tickWithWork(test.another({ connections: 1 }));
    expect(await retention()).toMatchObject({
      level: 'warning',
      text: expect.stringContaining('nothing has pruned for 2d 1h'),
      remedy: expect.stringMatching(/30 3 \* \* \* cd \S+ && DATABASE_URL=\S+ npx tock prune$/),
      command: 'tock prune',
    });
    await test.tock.prune();
    expect(await retention()).toMatchObject({ level: 'ok' });
  });
});

describe('the option', () => {
  it('is checked when it is given', () => {
    const wrong: readonly [unknown, string][] = [
      ['90d', 'write { keep:'],
      [null, 'write { keep:'],
      [true, 'write { keep:'],
      [{ kept: '90d' }, 'kept'],
      [{ keep: { failed: '7d' } }, 'failed'],
      [{ keep: 'long' }, 'long'],
      [{ keep: '30d', keepKeys: '29d' }, 'raise keepKeys'],
      [{ partition: 'year' }, 'year'],
    ];
    for (const [retention, words] of wrong)
      expect(() => test.another({ retention: retention as never }), words).toThrow(words);
  });
});
