// Store: which runs are named for an admission, where each of them needs a slot.
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { type Database, openDatabase } from '../../../../src/store/connection/database.js';
import { type ClaimPosition, claimFreeRuns } from '../../../../src/store/runs/claim/claim.js';
import { nameLimitedRuns } from '../../../../src/store/runs/claim/name-limited.js';
import { addRuns, emptyTables, type RunRow, whileLocked } from '../../../support/runs.js';
import { openTestTock, type TestTock } from '../../../support/test-tock.js';

const NOW = '2026-03-02T12:00:00Z';
const AGO = (minutes: number) => new Date(Date.parse(NOW) - minutes * 60_000).toISOString();
const options = { workerId: '00000000-0000-4000-8000-000000000001', leaseMs: 60_000, queues: null };
const START: ClaimPosition = {
  queue: 'default',
  priority: 0,
  at: null,
  id: null,
  hasMore: true,
  isLimited: false,
  needSlots: 'all',
};
const keyed = (row: RunRow = {}): RunRow => ({ slot_keys: ['job:x'], slot_limits: [1], ...row });

let test: TestTock;
let database: Database;
beforeAll(async () => {
  test = await openTestTock();
  database = openDatabase({ connectionString: test.url, statementTimeoutMs: 8000 });
});
beforeEach(async () => {
  await emptyTables(test);
  await test.setClock(NOW);
});
afterAll(async () => {
  await database.close();
  await test.close();
});

const statusOf = async (id: string) =>
  (await test.sql('select status, fence, locked_by from tock.job_runs_live where id = $1', [id]))[0];

describe('nameLimitedRuns', () => {
  it('names what is due, by time and id, as many as it is asked for; and goes on after them', async () => {
    await addRuns(
      test,
      keyed({ run_at: AGO(1) }),
      keyed({ run_at: AGO(3), status: 'failed' }),
      keyed({ run_at: AGO(1) }),
      keyed({ run_at: '2026-03-02T12:00:00.001Z' }),
      keyed({ run_at: AGO(9), blocked_on: 'job:x' }),
      keyed({ run_at: AGO(9), queue: 'other' }),
      keyed({ run_at: AGO(9), priority: 1 }),
      keyed({ run_at: AGO(9), status: 'running', locked_by: options.workerId, locked_until: AGO(5) }),
    );
    const first = await nameLimitedRuns(database, 2, START);
    expect(first).toMatchObject({ runs: [], limited: ['2', '1'], hasMore: true, walkMs: null });
    expect(first?.positions).toMatchObject([{ queue: 'default', id: '1', hasMore: true, needSlots: 'all' }]);
    expect(new Date(first?.positions[0]?.at ?? '').toISOString()).toBe(AGO(1));
    const second = await nameLimitedRuns(database, 2, first?.positions[0] ?? START);
    expect(second).toMatchObject({ limited: ['3'], hasMore: false });
    const none = await nameLimitedRuns(database, 2, second?.positions[0] ?? START);
    expect(none).toEqual({ runs: [], limited: [], positions: [], hasMore: false, walkMs: null });
  });

  it('locks nothing and waits for no lock', async () => {
    const [id = ''] = await addRuns(test, keyed());
    expect((await whileLocked(test, [id], () => nameLimitedRuns(database, 9, START)))?.limited).toEqual([id]);
    expect(await statusOf(id)).toEqual({ status: 'queued', fence: 0, locked_by: null });
    const locks = await database.transaction(async session => {
      await nameLimitedRuns(session, 9, START);
      return await session.run(`select from pg_locks where pid = pg_backend_pid() and mode <> 'AccessShareLock'
        and relation = 'tock.job_runs_live'::regclass`);
    });
    expect(locks).toHaveLength(0);
  });

  it('names none where one of them needs no slot: a claim takes that', async () => {
    const [limited = '', free = ''] = await addRuns(test, keyed({ run_at: AGO(2) }), { run_at: AGO(1) });
    expect(await nameLimitedRuns(database, 9, START)).toBeNull();
    const claim = await claimFreeRuns(database, { ...options, limit: 9 }, [START]);
    expect([claim.runs.map(run => run.id), claim.limited]).toEqual([[free], [limited]]);
    expect(claim.positions).toMatchObject([{ needSlots: 'some' }]);
  });

  it('is how a claim goes on after one that saw only runs that need a slot', async () => {
    const ids = await addRuns(test, keyed(), keyed(), keyed());
    const first = await claimFreeRuns(database, { ...options, limit: 2 });
    expect([first.limited, first.positions[0]?.needSlots]).toEqual([ids.slice(0, 2), 'all']);
    // A claim would pass over what is locked.
    const next = await whileLocked(test, ids.slice(2), () =>
      claimFreeRuns(database, { ...options, limit: 2 }, first.positions),
    );
    expect([next.limited, next.hasMore]).toEqual([ids.slice(2), false]);
  });
});
