// A claim that continues starts where the claims of all workers have come to.
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { type Database, openDatabase, type Session } from '../../../../src/store/connection/database.js';
import { type ClaimPosition, claimFreeRuns } from '../../../../src/store/runs/claim/claim.js';
import { addRuns, emptyTables } from '../../../support/runs.js';
import { openTestTock, type TestTock, until } from '../../../support/test-tock.js';

const NOW = Date.parse('2026-03-02T12:00:00Z');
const START: ClaimPosition = {
  queue: 'default',
  priority: 0,
  at: null,
  id: null,
  hasMore: true,
  isLimited: false,
  needSlots: 'none',
};

let test: TestTock;
let database: Database;
beforeAll(async () => {
  test = await openTestTock();
  database = openDatabase({ connectionString: test.url });
  await test.setClock(new Date(NOW).toISOString());
});
beforeEach(async () => {
  await emptyTables(test);
  for (const name of ['at', 'id', 'check']) await test.sql(`select setval('tock.claim_front_${name}', 0)`);
});
afterAll(async () => {
  await database.close();
  await test.close();
});

/** Runs that were due one after another, in the order of their ids. */
const addDue = async (count: number, more: { queue?: string; priority?: number } = {}) =>
  await addRuns(
    test,
    ...Array.from({ length: count }, (_, n) => ({
      run_at: new Date(NOW - 60_000 + n).toISOString(),
      ...more,
    })),
  );
const claim = async (
  limit: number,
  position: Partial<ClaimPosition> = {},
  fromFront = true,
  { session = database, frontWaitMs = 0 }: { session?: Session; frontWaitMs?: number } = {},
) => {
  const workerId = '00000000-0000-4000-8000-000000000001';
  const wanted = { workerId, leaseMs: 60_000, queues: null, limit, fromFront, frontWaitMs };
  const { runs, positions, hasMore } = await claimFreeRuns(session, wanted, [{ ...START, ...position }]);
  return { ids: runs.map(run => Number(run.id)), end: positions[0], hasMore };
};
/** As a worker that stops gives a run back. */
const giveBack = async (id: string) =>
  await test.sql(
    `update tock.job_runs_live set status = 'queued', locked_by = null, locked_until = null where id = $1`,
    [id],
  );
const front = async () =>
  (
    await test.sql<{ at: string; id: string }>(
      `select timestamptz 'epoch' + t.last_value * interval '1 microsecond' as at, i.last_value::text as id
     from tock.claim_front_at t, tock.claim_front_id i`,
    )
  )[0];

describe('claims from the front', () => {
  it('start where another worker’s claim ended, and move on', async () => {
    const ids = await addDue(7);
    expect((await claim(2)).ids).toEqual([1, 2]);
    await giveBack('1');
    expect((await claim(2)).ids).toEqual([3, 4]);
    expect((await claim(2, { at: new Date(NOW - 60_000).toISOString(), id: '1' })).ids).toEqual([5, 6]);
    expect(await front()).toEqual({ at: new Date(NOW - 60_000 + 5), id: '6' });
    expect(await claim(2, {}, false)).toMatchObject({ ids: [1, 7], hasMore: true });
    expect(ids).toHaveLength(7);
  });

  it('start at their own position where that is further on', async () => {
    await addDue(6);
    expect((await claim(1)).ids).toEqual([1]);
    expect((await claim(1, { at: new Date(NOW - 60_000 + 3).toISOString(), id: '4' })).ids).toEqual([5]);
    expect((await claim(2)).ids).toEqual([6]);
  });

  it('leave the front where it is when they find nothing', async () => {
    await addDue(1);
    await claim(1);
    const before = await front();
    expect(await claim(1)).toEqual({ ids: [], end: undefined, hasMore: false });
    expect(await front()).toEqual(before);
  });

  it('go by the id among runs that are due at the same microsecond', async () => {
    const run_at = '2026-03-02T11:00:00.123457Z';
    await addRuns(test, { run_at }, { run_at }, { run_at });
    expect((await claim(1)).ids).toEqual([1]);
    await giveBack('1');
    expect((await claim(1)).ids).toEqual([2]);
    expect((await claim(2)).ids).toEqual([3]);
  });

  it.each([
    ['queue', { queue: 'other' }],
    ['priority', { priority: 1 }],
  ])('use no front of another %s', async (_what, place) => {
    await addDue(2);
    await addDue(2, place);
    expect((await claim(2)).ids).toEqual([1, 2]);
    expect((await claim(1, place)).ids).toEqual([3]);
    await giveBack('1');
    expect((await claim(1)).ids).toEqual([1]);
  });

  it.each(['at', 'id', 'check'])('use no front whose %s belongs to another one', async name => {
    await addDue(3);
    await claim(2);
    await giveBack('1');
    await test.sql(`select setval('tock.claim_front_${name}', last_value + 1) from tock.claim_front_${name}`);
    expect((await claim(1)).ids).toEqual([1]);
  });

  it('note no front at times that floating point could not hold exactly', async () => {
    await addRuns(test, { run_at: '0001-01-01T00:00:00.000001Z' }, { run_at: '1999-12-31T23:59:59.999999Z' });
    expect((await claim(1)).ids).toEqual([1]);
    await giveBack('1');
    expect((await claim(2)).ids).toEqual([1, 2]);
  });
});

describe('claims that wait for the front', () => {
  const waiting = async () =>
    (
      await test.sql(
        `select from pg_stat_activity where datname = current_database() and wait_event = 'advisory'`,
      )
    ).length > 0;
  /** Claims the first two runs and goes on to hold the front, as a worker that does not read its answer. */
  const whileHeld = async <T>(work: (release: () => void) => Promise<T>): Promise<T> => {
    let release: () => void = () => undefined;
    const released = new Promise<void>(resolve => (release = resolve));
    let isHeld = false;
    const holder = database.transaction(async session => {
      await claim(2, {}, true, { session, frontWaitMs: 10_000 });
      isHeld = true;
      await released;
    });
    await until(() => Promise.resolve(isHeld), 'the front to be held');
    try {
      return await work(release);
    } finally {
      release();
      await holder;
    }
  };

  it('begin behind the one that held it', async () => {
    await addDue(6);
    const ids = await whileHeld(async release => {
      const second = claim(2, {}, true, { frontWaitMs: 10_000 });
      await until(waiting, 'the second claim to wait');
      expect((await claim(2)).ids).toEqual([3, 4]);
      // One that had read the front before it waited would find this one.
      await giveBack('3');
      release();
      return (await second).ids;
    });
    expect(ids).toEqual([5, 6]);
  });

  it('fail once that has taken too long, and the session has its own bound again', async () => {
    await addDue(4);
    await whileHeld(async () => {
      await expect(claim(2, {}, true, { frontWaitMs: 50 })).rejects.toMatchObject({ code: '55P03' });
    });
    expect((await claim(2, {}, true, { frontWaitMs: 50 })).ids).toEqual([3, 4]);
    const bounds = await Promise.all(
      [1, 2, 3].map(() => database.run<{ lock_timeout: string }>('show lock_timeout', [])),
    );
    expect(new Set(bounds.map(([row]) => row?.lock_timeout))).toEqual(new Set(['0']));
  });

  it('do not wait where they are not to, nor for another queue or priority', async () => {
    await addDue(4);
    await addDue(1, { queue: 'other' });
    await addDue(1, { priority: 1 });
    await whileHeld(async () => {
      expect((await claim(1)).ids).toEqual([3]);
      for (const place of [{ queue: 'other' }, { priority: 1 }])
        expect((await claim(1, place, true, { frontWaitMs: 50 })).ids).toHaveLength(1);
    });
  });
});
