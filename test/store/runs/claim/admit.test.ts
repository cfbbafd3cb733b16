// Store: runs that need a slot under a limit: which are admitted, which are blocked, and which are unblocked.
import pg from 'pg';
import { describe, expect, it } from 'vitest';
import type { Database } from '../../../../src/store/connection/database.js';
import { admitRuns } from '../../../../src/store/runs/claim/admit.js';
import { admitUnderOneKey } from '../../../../src/store/runs/claim/admit-one-key.js';
import { fixSlots, unblockRuns } from '../../../../src/store/runs/claim/unblock.js';
import { cancelRun } from '../../../../src/store/runs/operator-moves.js';
import { openDatabase } from '../../../support/database.js';
import { storeTest } from '../../../support/open.js';
import {
  addRuns,
  emptyTables,
  type RunRow,
  whileHeld,
  whileLocked,
  whileWaitedFor,
  withoutIndexes,
} from '../../../support/runs.js';

const NOW = '2026-03-02T12:00:00Z';
const AGO = (minutes: number) => new Date(Date.parse(NOW) - minutes * 60_000).toISOString();
const LOCK_OF_X = `select pg_advisory_xact_lock(hashtextextended('tock.slots:job:x', 0))`;
const WORKER = '00000000-0000-4000-8000-000000000001';

const { test, database } = storeTest(NOW);

const admitted = async (ids: readonly string[]) => {
  const answer = await admitRuns(database, ids, { workerId: WORKER, leaseMs: 60_000 });
  return answer.admitted.map(run => run.id);
};
const keyed = (limit: number, row: RunRow = {}): RunRow => ({
  slot_keys: ['job:x'],
  slot_limits: [limit],
  ...row,
});
/** A run of definition 7, which go one after another, of the minute so many minutes ago. */
const serial = (minutesAgo: number, row: RunRow = {}): RunRow => ({
  definition_id: 7,
  scheduled_for: AGO(minutesAgo),
  run_at: AGO(minutesAgo),
  slot_keys: ['definition:7'],
  slot_limits: [1],
  ...row,
});
const takeSlot = (key: string, slot: number, runId: string | number, fence = 1) =>
  test.sql('insert into tock.job_slots values ($1, $2, $3, $4)', [key, slot, runId, fence]);
const takenSlots = async () =>
  (
    await test.sql<{ slot: string }>(
      `select concurrency_key || ' ' || slot || ': ' || run_id || '/' || fence as slot from tock.job_slots order by 1`,
    )
  ).map(row => row.slot);
const runOf = async (id: string) =>
  (await test.sql('select * from tock.job_runs_live where id = $1', [id]))[0];
const blocked = async () =>
  Object.fromEntries(
    (
      await test.sql<{ id: string; blocked_on: string }>(
        'select id, blocked_on from tock.job_runs_live where blocked_on is not null order by id',
      )
    ).map(row => [row.id, row.blocked_on]),
  );

describe('admitRuns', () => {
  it('admits as many as there are slots, by priority, time and id, and blocks the rest', async () => {
    const ids = await addRuns(
      test,
      keyed(3, { run_at: AGO(1) }),
      keyed(3, { run_at: AGO(1) }),
      keyed(3, { run_at: AGO(2) }),
      keyed(3, { priority: -1 }),
      {},
    );
    expect(await admitted(ids.slice(0, 4))).toEqual(['4', '3', '1']);
    expect(await takenSlots()).toEqual(['job:x 1: 4/1', 'job:x 2: 3/1', 'job:x 3: 1/1']);
    expect(await blocked()).toEqual({ 2: 'job:x' });
    expect(await runOf('4')).toMatchObject({
      status: 'running',
      attempts: 1,
      fence: 1,
      locked_by: WORKER,
      locked_until: new Date('2026-03-02T12:01:00Z'),
      started_at: new Date(NOW),
    });
    expect(await runOf('5')).toMatchObject({ status: 'queued' });
  });

  it('leaves alone what can no longer be claimed', { tags: 'check' }, async () => {
    await test.tock.queues.pause('stopped');
    const ids = await addRuns(
      test,
      keyed(9, { run_at: '2026-03-02T12:00:00.001Z' }),
      keyed(9, { status: 'running', locked_by: WORKER, locked_until: NOW }),
      keyed(9, { blocked_on: 'job:y' }),
      keyed(9, { queue: 'stopped' }),
      keyed(9, { run_at: NOW, status: 'failed' }),
    );
    expect(await admitted(ids)).toEqual(['5']);
    expect(await blocked()).toEqual({ 3: 'job:y' });
    expect(await admitted(ids)).toEqual([]);
  });

  it('admits none of a queue outside of its hours, and never reads those of a queue without such runs', {
    tags: 'check',
  }, async () => {
    await test.tock.queues.set('open', { window: '11:00-13:00', timezone: 'UTC' });
    await test.tock.queues.set('closed', { window: '13:00-11:00', timezone: 'UTC' });
    await test.tock.queues.set('broken', { window: '11:00-13:00' });
    await test.sql(`update tock.job_queues set timezone = 'Nowhere/Never' where name = 'broken'`);
    const ids = await addRuns(
      test,
      ...['open', 'closed', 'default'].map((queue, n) => keyed(1, { queue, slot_keys: [`job:${n}`] })),
    );
    expect(await admitted(ids)).toEqual(['1', '3']);
    expect(await blocked()).toEqual({});
  });

  it('asks the database nothing where there is nothing to admit', async () => {
    const closed = openDatabase({ connectionString: test.url });
    await closed.close();
    const options = { workerId: WORKER, leaseMs: 60_000 };
    expect(await admitRuns(closed, [], options)).toEqual({
      admitted: [],
      unblocked: [],
      failure: null,
      waitsForTurn: false,
    });
    expect(await unblockRuns(closed, [])).toEqual([]);
  });

  it('skips what another session has locked', async () => {
    const ids = await addRuns(test, keyed(1), keyed(1));
    expect(await whileLocked(test, ['1'], () => admitted(ids))).toEqual(['2']);
  });

  it('waits for another admission under the same key, and sees the slots that it took', async () => {
    const [id = ''] = await addRuns(test, keyed(2));
    await takeSlot('job:x', 1, '98');
    const admission = whileWaitedFor(
      test,
      database.rewrite(LOCK_OF_X),
      () => admitted([id]),
      () => takeSlot('job:x', 2, '99'),
    );
    expect(await admission).toEqual([]);
    expect(await blocked()).toEqual({ 1: 'job:x' });
  });

  it('takes no lock of a key of one slot: a thousand keys would fill PostgreSQL’s table of locks', async () => {
    const keys = Array.from({ length: 20 }, (_, n) => `job:${n}`);
    const ids = await addRuns(test, ...keys.map(key => keyed(1, { slot_keys: [key] })));
    const locks = await database.transaction(async session => {
      const { admitted: runs } = await admitUnderOneKey(session, { ids, workerId: WORKER, leaseMs: 60_000 });
      expect(runs.map(run => run.id)).toEqual(ids);
      return await session.run(`select from pg_locks where locktype = 'advisory' and pid = pg_backend_pid()`);
    });
    expect(locks).toHaveLength(0);
    const [id = ''] = await addRuns(test, keyed(1));
    const lock = database.rewrite(LOCK_OF_X);
    expect(await whileHeld(test, lock, [], () => admitted([id]))).toEqual([id]);
  });

  it('gives no slot of a key of which any slot is taken, also above a lowered limit', async () => {
    await takeSlot('job:x', 3, '99');
    const [id = ''] = await addRuns(test, keyed(1));
    expect(await admitted([id])).toEqual([]);
    expect(await blocked()).toEqual({ 1: 'job:x' });
  });

  it('gives the slots that a lowered limit leaves, beside one above it', async () => {
    await takeSlot('job:x', 5, '99');
    const ids = await addRuns(test, keyed(2), keyed(2));
    expect(await admitted(ids)).toEqual(['1']);
    expect(await takenSlots()).toEqual(['job:x 1: 1/1', 'job:x 5: 99/1']);
    expect(await blocked()).toEqual({ 2: 'job:x' });
  });

  it('begins again where a slot that it saw free was taken without the key’s lock', async () => {
    const rows = [
      keyed(1, { slot_keys: ['job:a', 'job:x'], slot_limits: [1, 1] }),
      keyed(1, { slot_keys: ['job:b', 'job:c'], slot_limits: [1, 1] }),
    ];
    const ids = await addRuns(test, ...rows);
    const taken = `insert into tock.job_slots values ('job:x', 1, 99, 1)`;
    expect(await whileWaitedFor(test, taken, () => admitted(ids))).toEqual(['2']);
    expect(await takenSlots()).toEqual(['job:b 1: 2/1', 'job:c 1: 2/1', 'job:x 1: 99/1']);
    expect(await blocked()).toEqual({ 1: 'job:x' });
  });

  it('leaves the runs as they are where their slots are taken again and again', async () => {
    const ids = await addRuns(test, keyed(1, { slot_keys: ['job:a', 'job:x'], slot_limits: [1, 1] }));
    let tries = 0;
    const transaction: Database['transaction'] = async work => {
      tries++;
      await test.sql('delete from tock.job_slots');
      return await database.transaction(session => {
        const run: Database['run'] = async (text, values, ...rest) => {
          // Between the reading of slots and the admission.
          if (text.includes('with taken as (')) await takeSlot('job:x', 1, '99');
          return await session.run(text, values, ...rest);
        };
        return work({ ...session, run });
      });
    };
    const lease = { workerId: WORKER, leaseMs: 60_000 };
    const answer = await admitRuns({ ...database, transaction }, ids, lease);
    expect(answer).toEqual({ admitted: [], unblocked: [], failure: null, waitsForTurn: false });
    expect(tries).toBe(3);
    expect(await takenSlots()).toEqual(['job:x 1: 99/1']);
    expect(await blocked()).toEqual({});
  });

  it('names the lane of a run that was blocked while the slot became free', async () => {
    await takeSlot('job:x', 1, '99');
    const ids = await addRuns(test, keyed(1, { run_at: AGO(5) }));
    const run: Database['run'] = async (...query) => {
      const rows = await database.run(...query);
      await test.sql('delete from tock.job_slots');
      return rows as never;
    };
    const lease = { workerId: WORKER, leaseMs: 60_000 };
    const { admitted: none, unblocked } = await admitRuns({ ...database, run }, ids, lease);
    expect(none).toEqual([]);
    expect(unblocked).toMatchObject([{ queue: 'default', priority: 0 }]);
    expect(new Date(unblocked[0]?.at ?? '').toISOString()).toBe(AGO(5));
    expect(await blocked()).toEqual({});
  });

  it('admits no run where a slot was taken meanwhile without the key’s lock', async () => {
    const [id = ''] = await addRuns(test, keyed(1));
    const text = `insert into tock.job_slots values ('job:x', 1, 99, 1)`;
    expect(await whileWaitedFor(test, text, () => admitted([id]))).toEqual([]);
    expect(await runOf(id)).toMatchObject({ status: 'queued', fence: 0 });
    expect(await takenSlots()).toEqual(['job:x 1: 99/1']);
  });

  it('needs a slot under each of its keys; a full queue blocks no run', async () => {
    await test.tock.queues.set('narrow', { concurrency: 2 });
    await takeSlot('queue:narrow', 1, '98');
    const rows = [{ slot_keys: ['job:x', 'job:y'], slot_limits: [1, 5] }, {}, {}];
    const ids = await addRuns(test, ...rows.map(row => ({ ...row, queue: 'narrow' })));
    expect(await admitted(ids)).toEqual(['1']);
    expect(await takenSlots()).toEqual([
      'job:x 1: 1/1',
      'job:y 1: 1/1',
      'queue:narrow 1: 98/1',
      'queue:narrow 2: 1/1',
    ]);
    expect(await blocked()).toEqual({});
  });

  it('locks keys in one order, whatever order they are named in: no deadlock', {
    tags: 'check',
  }, async () => {
    const [first, second] = await database.run<{ key: string }>(
      `select k as key from unnest('{job:a,job:b}'::text[]) k order by hashtextextended('tock.slots:' || k, 0)`,
    );
    for (const slot_keys of [
      [first?.key, second?.key],
      [second?.key, first?.key],
    ]) {
      const [id = ''] = await addRuns(test, { slot_keys, slot_limits: [1, 1] });
      const lock = database.rewrite(
        `select pg_advisory_xact_lock(hashtextextended('tock.slots:${second?.key}', 0))`,
      );
      await whileWaitedFor(
        test,
        lock,
        () => admitted([id]),
        async () => {
          const held = await test.sql(`select from pg_locks where locktype = 'advisory' and granted
            and database = (select oid from pg_database where datname = current_database())`);
          // That of who makes it wait, and the one that comes first.
          expect(held).toHaveLength(2);
        },
      );
      await emptyTables(test);
    }
  });

  it('lets a run keep the slot of its last attempt, under its new fence', async () => {
    const [id = ''] = await addRuns(test, serial(5, { status: 'failed', attempts: 2, fence: 2 }));
    await takeSlot('definition:7', 1, id, 2);
    expect(await admitted([id])).toEqual([id]);
    expect(await takenSlots()).toEqual([`definition:7 1: ${id}/3`]);
  });

  it('starts no more of a queue than its rate, and saves up no more than one second’s worth', async () => {
    await test.tock.queues.set('paced', { rate: { count: 10, per: '1s' } });
    await test.tock.queues.set('slow', { rate: { count: 6, per: '1m' } });
    const nextOf = async (name: string) =>
      (
        await test.sql<{ at: Date }>('select rate_next_at as at from tock.job_queues where name = $1', [name])
      )[0]?.at;
    const paced = await addRuns(test, ...Array.from({ length: 30 }, () => ({ queue: 'paced' })));
    expect(await admitted(paced.slice(0, 4))).toHaveLength(4);
    expect(await nextOf('paced')).toEqual(new Date('2026-03-02T11:59:59.500Z'));
    expect(await admitted(paced)).toEqual(paced.slice(4, 10));
    expect(await nextOf('paced')).toEqual(new Date('2026-03-02T12:00:00.100Z'));
    await test.setClock('2026-03-02T12:00:00.099Z');
    expect(await admitted(paced)).toEqual([]);
    await test.setClock('2026-03-02T12:00:00.100Z');
    expect(await admitted(paced)).toEqual(paced.slice(10, 11));
    await test.setClock('2026-03-02T14:00:00Z');
    expect(await admitted(paced)).toEqual(paced.slice(11, 21));

    const slow = await addRuns(test, { queue: 'slow' }, { queue: 'slow' });
    expect(await admitted(slow)).toEqual(slow.slice(0, 1));
    expect(await nextOf('slow')).toEqual(new Date('2026-03-02T14:00:10Z'));
    expect(await nextOf('paced')).toEqual(new Date('2026-03-02T14:00:00.100Z'));
    expect(await blocked()).toEqual({});
  });

  it('does not move the rate of a queue of which it starts nothing', async () => {
    await test.tock.queues.set('paced', { rate: { count: 10, per: '1s' } });
    await test.tock.queues.set('other', { rate: { count: 10, per: '1s' } });
    await takeSlot('job:x', 1, '99');
    const [waits = '', id = '', other = ''] = await addRuns(
      test,
      keyed(1, { queue: 'paced' }),
      keyed(2, { queue: 'paced' }),
      { queue: 'other' },
    );
    expect(await admitted([waits])).toEqual([]);
    expect(await test.sql('select from tock.job_queues where rate_next_at is not null')).toEqual([]);
    const text = `insert into tock.job_slots values ('job:x', 2, 98, 1)`;
    const admission = whileWaitedFor(
      test,
      text,
      () => admitted([id]),
      async () => expect(await admitted([other])).toEqual([other]),
    );
    expect(await admission).toEqual([]);
  });

  it('starts none of a queue whose row another admission has locked', async () => {
    await test.tock.queues.set('paced', { rate: { count: 10, per: '1s' } });
    await test.tock.queues.set('other', { rate: { count: 10, per: '1s' } });
    const ids = await addRuns(test, { queue: 'paced' }, { queue: 'other' });
    const lock = `select from tock.job_queues where name = 'paced' for update`;
    expect(await whileHeld(test, lock, [], () => admitted(ids))).toEqual(['2']);
    expect(await admitted(ids)).toEqual(['1']);
  });
});

it('a run of two keys that was unblocked for one of them and finds the other taken leaves the slot of the one to the next that waits for it', async () => {
  const both = { slot_keys: ['job:x', 'isolated'], slot_limits: [1, 1], unblocked_on: 'job:x' };
  const [id = ''] = await addRuns(
    test,
    keyed(1, { ...both, run_at: AGO(2) }),
    keyed(1, { blocked_on: 'job:x' }),
    keyed(1, { blocked_on: 'job:x' }),
  );
  await takeSlot('isolated', 1, '99');
  expect(await admitted([id])).toEqual([]);
  expect(await blocked()).toEqual({ 1: 'isolated', 3: 'job:x' });
});

describe('runs of a definition that go one after another', () => {
  it('wait for an earlier one that is due', async () => {
    const ids = await addRuns(test, serial(1), serial(2, { run_at: NOW }));
    expect(await admitted(ids.slice(0, 1))).toEqual([]);
    // The slot is free, and it is not unblocked: no claim is to look at it until the earlier one has ended.
    expect(await blocked()).toEqual({ 1: 'definition:7' });
    expect(await admitted(ids)).toEqual(['2']);
    await test.sql('delete from tock.job_runs_live where id = 2');
    await test.sql('delete from tock.job_slots');
    await unblockRuns(database, ['definition:7']);
    expect(await blocked()).toEqual({});
  });

  it('wait for an earlier one that waits for another slot, and are not claimed in vain meanwhile', async () => {
    const both = { slot_keys: ['definition:7', 'job:x'], slot_limits: [1, 1] };
    const [later = '', earlier = ''] = await addRuns(test, serial(1, both), serial(2, both));
    await takeSlot('job:x', 1, '99');
    expect(await admitted([earlier])).toEqual([]);
    expect(await admitted([later])).toEqual([]);
    await unblockRuns(database, ['definition:7', 'job:x']);
    expect(await blocked()).toEqual({ [earlier]: 'job:x', [later]: 'definition:7' });
    // It is withdrawn before it has begun: nothing stands before the later one any more.
    const { freed } = await cancelRun(database, earlier, null);
    expect(freed).toEqual(['definition:7', 'job:x']);
    await unblockRuns(database, freed ?? []);
    expect(await blocked()).toEqual({});
  });

  it.each<[string, RunRow]>([
    ['of another definition', { definition_id: 8, slot_keys: ['definition:8'] }],
    ['whose next attempt is not due', { status: 'failed', run_at: '2026-03-02T12:00:01Z' }],
    ['that may run beside others', { slot_keys: null, slot_limits: null }],
    ['that runs', { status: 'running', locked_by: WORKER, locked_until: NOW }],
    ['of the same time', { scheduled_for: AGO(1) }],
  ])('do not wait for one %s', { tags: 'check' }, async (_what, row) => {
    const [, id = ''] = await addRuns(test, serial(2, row), serial(1));
    expect(await admitted([id])).toEqual([id]);
  });

  it('do not wait where they need no turn, or have no definition', async () => {
    const rows = [
      serial(2),
      serial(1, { slot_keys: ['job:x'] }),
      serial(1, { definition_id: null, slot_keys: ['job:y'] }),
    ];
    const [, ...ids] = await addRuns(test, ...rows);
    expect(await admitted(ids)).toEqual(ids);
  });
});

describe('many runs that need one slot', () => {
  const MANY = 600;
  /** One after another, each of the keys in turn. */
  const addMany = async (keys: readonly string[], limit: number) =>
    await addRuns(
      test,
      ...Array.from({ length: MANY }, (_, n) => ({
        slot_keys: [`job:${keys[n % keys.length]}`],
        slot_limits: [limit],
        run_at: new Date(Date.parse(AGO(5)) + n).toISOString(),
      })),
    );
  const KEYS = Array.from({ length: 50 }, (_, n) => `k${n}`);

  it('are admitted by one statement, and start in their order', { tags: 'check' }, async () => {
    const ids = await addMany(KEYS, MANY);
    let sent = 0;
    const run: Database['run'] = (...query) => {
      sent++;
      return database.run(...query);
    };
    const lease = { workerId: WORKER, leaseMs: 60_000 };
    const answer = await admitRuns({ ...database, run }, ids.toReversed(), lease);
    expect(answer.admitted.map(run => run.id)).toEqual(ids);
    expect(answer.admitted[0]?.slot_keys).toEqual(['job:k0']);
    expect(sent).toBe(1);
    expect(await test.sql('select count(*)::int as taken from tock.job_slots')).toEqual([{ taken: MANY }]);
  });

  it('keep to the limit of each key', { tags: 'check' }, async () => {
    const ids = await addMany(KEYS, 3);
    const first = await admitted(ids);
    expect(first).toEqual(ids.slice(0, 150));
    expect(Object.keys(await blocked())).toHaveLength(MANY - 150);
  });
});

describe('a flood under one key', () => {
  it('begins with the first that was blocked: before it lie thousands that have ended, maybe', async () => {
    await takeSlot('job:x', 1, '99');
    const [, ...later] = await addRuns(
      test,
      keyed(1, { run_at: AGO(9) }),
      keyed(1, { run_at: AGO(3) }),
      keyed(1, { run_at: AGO(2) }),
      keyed(1, { run_at: AGO(1) }),
    );
    expect(await admitted(later.slice(0, 2))).toEqual([]);
    expect(Object.keys(await blocked())).toEqual(later);
  });

  it('is blocked as a whole once two of it found no slot', async () => {
    await takeSlot('job:x', 1, '99');
    const ids = await addRuns(
      test,
      keyed(1),
      keyed(1),
      keyed(1, { status: 'failed' }),
      keyed(1, { queue: 'other' }),
      keyed(1, { priority: 1 }),
      keyed(1, { run_at: '2026-03-02T12:00:01Z' }),
      keyed(1, { status: 'running', locked_by: WORKER, locked_until: NOW }),
      { slot_keys: ['job:y'], slot_limits: [1] },
      {},
    );
    expect(await admitted(ids.slice(0, 1))).toEqual([]);
    expect(await blocked()).toEqual({ 1: 'job:x' });
    await test.sql('update tock.job_runs_live set blocked_on = null');
    await addRuns(
      test,
      keyed(1, { slot_keys: ['job:x', 'job:z'], slot_limits: [1, 1], blocked_on: 'job:z' }),
    );
    expect(await admitted(ids.slice(0, 2))).toEqual([]);
    expect(await blocked()).toEqual({ 1: 'job:x', 2: 'job:x', 3: 'job:x', 10: 'job:z' });
  });

  it('is blocked a thousand at a time, the longest due first', async () => {
    await takeSlot('job:x', 1, '9999');
    await test.sql(
      `insert into tock.job_runs_live (job, payload, status, slot_keys, slot_limits, run_at)
      select 'noop', '{}', 'queued', '{job:x}', '{1}', $1::timestamptz - n * interval '1 second' from generate_series(1, 1004) n`,
      [NOW],
    );
    await admitted(['1003', '1004']);
    expect(Object.keys(await blocked())).toHaveLength(1002);
    expect(Object.keys(await blocked()).slice(0, 2)).toEqual(['3', '4']);
  });

  it('skips what another session has locked', async () => {
    await takeSlot('job:x', 1, '99');
    const ids = await addRuns(test, keyed(1), keyed(1), keyed(1), keyed(1));
    await whileLocked(test, ['3'], () => admitted(ids.slice(0, 2)));
    expect(Object.keys(await blocked())).toEqual(['1', '2', '4']);
  });
});

describe('unblockRuns', () => {
  const waits = (row: RunRow = {}) => keyed(3, { blocked_on: 'job:x', ...row });
  /** Where runs were unblocked, and when the first of them was due. */
  const unblock = async (...keys: string[]) =>
    (await unblockRuns(database, keys)).map(({ queue, priority, at }) => [
      queue,
      priority,
      new Date(at).toISOString(),
    ]);

  it('unblocks as many as there are free slots, by priority, time and id', async () => {
    await addRuns(
      test,
      waits({ run_at: AGO(1) }),
      waits({ run_at: AGO(1) }),
      waits({ run_at: AGO(2) }),
      waits({ priority: 1, run_at: AGO(9) }),
      waits({ blocked_on: 'job:y', slot_keys: ['job:y'], slot_limits: [9], priority: -5 }),
    );
    await takeSlot('job:x', 3, '99');
    await takeSlot('job:y', 1, '98');
    expect(await unblock('job:x')).toEqual([['default', 0, AGO(2)]]);
    expect(Object.keys(await blocked())).toEqual(['2', '4', '5']);
    expect(await unblock('job:z')).toEqual([]);
    expect(await unblock()).toEqual([]);
    await test.sql('delete from tock.job_slots');
    // Two stand for the three slots already.
    expect(await unblock('job:x', 'job:y')).toEqual([
      ['default', -5, expect.any(String)],
      ['default', 0, AGO(1)],
    ]);
    expect(await blocked()).toEqual({ 4: 'job:x' });
  });

  it('unblocks as many in each queue: those of one may not be able to start', async () => {
    const row = { slot_limits: [1] };
    await addRuns(
      test,
      waits({ ...row, queue: 'night', run_at: AGO(3) }),
      waits({ ...row, queue: 'night', run_at: AGO(2) }),
      waits({ ...row, queue: 'day', run_at: AGO(1) }),
      waits({ ...row, queue: 'day', run_at: NOW }),
      waits({ ...row, queue: 'noon', priority: 9 }),
    );
    const expected = { 2: 'job:x', 4: 'job:x' };
    await withoutIndexes(test, session => unblockRuns(session, ['job:x']));
    expect(await blocked()).toEqual(expected);
    // Those that are unblocked stand for their queues, however often it looks.
    expect(await unblock('job:x')).toEqual([]);
    expect(await blocked()).toEqual(expected);
  });

  it.each<[string, RunRow]>([
    ['holds the slot of another key', { slot_keys: ['job:y'] }],
    ['is in another queue', { queue: 'other' }],
    ['was unblocked under another key', { unblocked_on: 'job:y' }],
    ['waits for its next attempt', { status: 'failed', run_at: '2026-03-02T12:00:01Z' }],
    ['runs', { status: 'running', locked_by: WORKER, locked_until: NOW }],
    ['is blocked again', { blocked_on: 'job:y' }],
    ['comes after it', { priority: 1 }],
  ])('unblocks a run though one that was unblocked %s', { tags: 'check' }, async (_what, row) => {
    const [, id = ''] = await addRuns(
      test,
      keyed(1, { unblocked_on: 'job:x', run_at: AGO(9), ...row }),
      waits({ slot_limits: [1] }),
    );
    await unblock('job:x');
    expect(await blocked()).not.toHaveProperty(id);
  });

  it('lets a run stand for its queue only where all know its job', async () => {
    const row = { slot_keys: ['isolated'], slot_limits: [1] };
    const [, id = ''] = await addRuns(
      test,
      keyed(1, { ...row, unblocked_on: 'isolated', run_at: AGO(9), job: 'unknown' }),
      waits({ ...row, blocked_on: 'isolated' }),
    );
    await unblock('isolated');
    expect(await blocked()).not.toHaveProperty(id);
  });

  it('unblocks runs of a definition in each queue, if it is their turn', async () => {
    const row = { blocked_on: 'definition:7' };
    await addRuns(
      test,
      serial(5, { ...row, queue: 'night' }),
      serial(5, { ...row, queue: 'day' }),
      serial(4, { ...row, queue: 'noon' }),
    );
    await unblock('definition:7');
    expect(await blocked()).toEqual({ 3: 'definition:7' });
  });

  it('takes the limit of this key, among several, from the first run that waits', async () => {
    const row = { slot_keys: ['job:a', 'job:x'], slot_limits: [1, 1] };
    await addRuns(test, waits(row), waits({ ...row, slot_limits: [1, 2], priority: -1 }), waits(row));
    await withoutIndexes(test, session => unblockRuns(session, ['job:x']));
    expect(Object.keys(await blocked())).toHaveLength(1);
  });

  it('needs no index for its order', async () => {
    await addRuns(
      test,
      waits({ run_at: AGO(1) }),
      waits({ run_at: AGO(3) }),
      waits({ run_at: AGO(2) }),
      waits({ run_at: AGO(9) }),
    );
    await withoutIndexes(test, session => unblockRuns(session, ['job:x']));
    expect(Object.keys(await blocked())).toEqual(['1']);
  });

  it('unblocks none where more slots are held than the limit now allows', async () => {
    await addRuns(test, waits());
    for (const slot of [1, 2, 3, 4]) await takeSlot('job:x', slot, `9${slot}`);
    expect(await unblock('job:x')).toEqual([]);
    expect(await blocked()).toEqual({ 1: 'job:x' });
  });

  it('unblocks runs of a definition by their occurrence, whatever their priority', async () => {
    const row = { blocked_on: 'definition:7' };
    await addRuns(
      test,
      serial(1, { ...row, priority: -9 }),
      serial(5, { ...row, run_at: NOW }),
      serial(5, row),
    );
    await unblock('definition:7');
    expect(Object.keys(await blocked())).toEqual(['1', '3']);
  });

  it.each([
    ['job:x', waits()],
    ['definition:7', serial(1, { blocked_on: 'definition:7' })],
  ])('passes over what another has locked, under %s', async (key, row) => {
    await addRuns(test, row, row);
    await whileLocked(test, ['1'], () => unblock(key));
    expect(Object.keys(await blocked())).toEqual(['1']);
  });

  it('notifies listeners if it unblocked any run', async () => {
    const listener = new pg.Client({ connectionString: test.url });
    await listener.connect();
    const heard: unknown[] = [];
    listener.on('notification', notification => heard.push(notification.payload));
    await listener.query('listen tock');
    await addRuns(test, waits());
    await unblockRuns(database, ['job:y']);
    await unblockRuns(database, ['job:x']);
    await unblockRuns(database, ['job:x']);
    await listener.query('select 1');
    expect(heard).toEqual(['queued']);
    await listener.end();
  });
});

describe('fixSlots', () => {
  it('frees slots whose run is not running; that of a definition is kept while its run is live', async () => {
    const running = { status: 'running', locked_by: WORKER, locked_until: NOW };
    const ids = await addRuns(
      test,
      keyed(5, running),
      keyed(5),
      serial(1, { status: 'failed' }),
      serial(1, running),
    );
    for (const [index, id] of ids.entries()) {
      await takeSlot(`job:${index}`, 1, id);
      await takeSlot(`definition:${index}`, 1, id);
    }
    await takeSlot('job:gone', 1, '99');
    await takeSlot('definition:gone', 1, '99');
    await fixSlots(database);
    expect(await takenSlots()).toEqual([
      'definition:0 1: 1/1',
      'definition:1 1: 2/1',
      'definition:2 1: 3/1',
      'definition:3 1: 4/1',
      'job:0 1: 1/1',
      'job:3 1: 4/1',
    ]);
  });

  it('unblocks under every key that has a free slot', async () => {
    const rows = ['job:c', 'job:a', 'job:b', 'job:a'].map(key => ({
      slot_keys: [key],
      slot_limits: [key === 'job:a' ? 2 : 1],
      blocked_on: key,
    }));
    const [, , , , running = ''] = await addRuns(
      test,
      ...rows,
      keyed(1, { status: 'running', locked_by: WORKER, locked_until: NOW }),
    );
    await takeSlot('job:a', 1, running);
    await withoutIndexes(test, each => fixSlots(each));
    expect(await blocked()).toEqual({ 4: 'job:a' });
  });

  it('looks at every key once, however many runs wait under one', { tags: 'check' }, async () => {
    await test.sql(`insert into tock.job_runs_live (job, payload, status, slot_keys, slot_limits, blocked_on)
      select 'noop', '{}', 'queued', array['job:a'], '{1}', 'job:a' from generate_series(1, 10000) n`);
    await addRuns(test, { slot_keys: ['job:b'], slot_limits: [1], blocked_on: 'job:b' });
    await fixSlots(database);
    expect(Object.keys(await blocked())).toHaveLength(9999);
    expect(Object.values(await blocked())).not.toContain('job:b');
  });

  it('looks at all keys, so many at once', { tags: 'check' }, async () => {
    const rows = ['job:a', 'job:b', 'job:c', 'job:d', 'job:e'].map(key => ({
      slot_keys: [key],
      slot_limits: [1],
      blocked_on: key,
    }));
    for (const keysAtOnce of [2, 5, 6]) {
      await addRuns(test, ...rows);
      expect(await fixSlots(database, { keysAtOnce })).toHaveLength(Math.ceil(5 / keysAtOnce));
      expect(await blocked()).toEqual({});
      await emptyTables(test);
    }
  });
});
