// Store: the statement that takes back runs whose lease has expired.
import { describe, expect, it } from 'vitest';
import { type Database, type Session } from '../../../../src/store/connection/database.js';
import { QUEUE_LANES } from '../../../../src/store/runs/claim/queue-lanes.js';
import {
  beginReaping,
  NONE_REAPED,
  reapRuns,
  type StoredBackoff,
} from '../../../../src/store/runs/reap/reap.js';
import { NEEDS_REAPING } from '../../../../src/store/runs/reap/reapable.js';
import { storeTest } from '../../../support/open.js';
import { addRuns, REAPING, type RunRow, whileLocked, withoutIndexes } from '../../../support/runs.js';

const NOW = '2026-03-02T12:00:00Z';
const AGO = (minutes: number) => new Date(Date.parse(NOW) - minutes * 60_000).toISOString();
const IN = (ms: number) => new Date(Date.parse(NOW) + ms);
const WORKER = '00000000-0000-4000-8000-000000000001';

const { test, database } = storeTest(NOW);

const OPTIONS = { ...REAPING, backoffMs: 10_000, maxBackoffMs: 600_000 };
/** What it finds, and what it takes back unless another session does so. */
const reap = (limit = 100, policies: readonly StoredBackoff[] = [], session = database) =>
  session.transaction(async trx => {
    const found = await beginReaping(trx);
    const batch = found.isMine ? await reapRuns(trx, { ...OPTIONS, limit, policies }) : NONE_REAPED;
    return { ...found, ...batch };
  });
/** A run whose lease expired a moment ago, in its first attempt of three. */
const expired = (row: RunRow = {}): RunRow => ({
  status: 'running',
  run_at: AGO(5),
  attempts: 1,
  max_attempts: 3,
  fence: 1,
  locked_by: WORKER,
  locked_until: '2026-03-02T11:59:59.999Z',
  ...row,
});
const rowOf = async (id: string) => (await test.sql('select * from tock.job_runs where id = $1', [id]))[0];
const statuses = async () =>
  (await test.sql<{ status: string }>('select status from tock.job_runs order by id')).map(row => row.status);
const isRemaining = async () =>
  (await database.run<{ is: boolean }>(`with ${QUEUE_LANES} select ${NEEDS_REAPING} as is`))[0]?.is;

describe('reapRuns', () => {
  it('takes back expired leases, wherever they are, and nothing else', async () => {
    await addRuns(
      test,
      expired({ queue: 'z', priority: 3 }),
      expired({ queue: 'a' }),
      expired({ queue: 'a', priority: -1 }),
      expired({ locked_until: null }),
      expired({ locked_until: NOW }),
      expired({ status: 'queued' }),
      expired({ status: 'failed' }),
    );
    expect(await isRemaining()).toBe(true);
    expect(await reap()).toMatchObject({
      failed: 4,
      dead: 0,
      cancelled: 0,
      dead_ids: [],
      freed: null,
      outboxWritten: false,
    });
    expect(await statuses()).toEqual(['failed', 'failed', 'failed', 'failed', 'running', 'queued', 'failed']);
    expect(await isRemaining()).toBe(false);
    expect(await reap()).toMatchObject({
      failed: 0,
      dead: 0,
      cancelled: 0,
      hasLimits: false,
      hasOutbox: false,
    });
  });

  it('keeps when a run was first started', async () => {
    await addRuns(test, expired({ started_at: AGO(5) }), expired({ started_at: AGO(5), began_at: AGO(9) }));
    await reap();
    expect([await rowOf('1'), await rowOf('2')]).toMatchObject([
      { began_at: new Date(AGO(5)) },
      { began_at: new Date(AGO(9)) },
    ]);
  });

  it.each([
    ['with', (work: (session: Database) => ReturnType<typeof reap>) => work(database)],
    ['without', (work: (session: Database) => ReturnType<typeof reap>) => withoutIndexes(test, work)],
  ])(
    'takes as many as it is asked for, of each queue and priority those first that were due first, %s indexes',
    { tags: 'check' },
    async (_what, run) => {
      const rows = [1, 3, 2].map(minutes => expired({ run_at: AGO(minutes) }));
      await addRuns(
        test,
        ...rows,
        ...rows.map(row => ({ ...row, priority: 1 })),
        ...rows.map(row => ({ ...row, queue: 'z' })),
      );
      const failed = async () =>
        (await test.sql<{ id: string }>(`select id from tock.job_runs where status = 'failed' order by id`))
          .map(row => row.id)
          .join();
      expect(await run(session => reap(2, [], session))).toMatchObject({ failed: 2 });
      expect(await failed()).toBe('2,3');
      expect(await run(session => reap(2, [], session))).toMatchObject({ failed: 2 });
      expect(await failed()).toBe('1,2,3,5');
      expect(await run(session => reap(4, [], session))).toMatchObject({ failed: 4 });
      expect(await run(session => reap(4, [], session))).toMatchObject({ failed: 1 });
    },
  );

  it('locks no more than it takes', async () => {
    await addRuns(test, expired(), expired(), expired());
    await database.transaction(async session => {
      expect(await reapRuns(session, { ...OPTIONS, limit: 1 })).toMatchObject({ failed: 1 });
      const free = await test.sql('select id from tock.job_runs_live for update skip locked');
      expect(free).toHaveLength(2);
    });
  });

  it('leaves reaping, and what is there besides, to the session that does it', async () => {
    await test.sql(`insert into tock.job_slots values ('job:x', 1, 99, 1)`);
    await test.sql(`insert into tock.job_outbox (kind, run_id) values ('dead', 99)`);
    await addRuns(test, { blocked_on: 'code:noop' });
    const looks = { hasLimits: true, hasOutbox: true, waitsForCode: true };
    await database.transaction(async session => {
      expect(await beginReaping(session)).toMatchObject({ isMine: true, ...looks });
      const other = { isMine: false, hasLimits: false, hasOutbox: false, hasDecided: false };
      expect(await reap()).toMatchObject({ ...other, waitsForCode: true });
    });
    expect(await reap()).toMatchObject({ isMine: true, ...looks });
  });

  it('has its session ended by the server if it is frozen, so that others may reap', async () => {
    const timeout = async (session: Session) =>
      (
        await session.run<{ is: string }>(
          `select current_setting('idle_in_transaction_session_timeout') as is`,
        )
      )[0]?.is;
    await database.transaction(async session => {
      const before = await timeout(session);
      await beginReaping(session);
      expect([before, await timeout(session)]).toEqual(['0', '10s']);
    });
  });

  it('takes of those that it is given only what has expired', async () => {
    const ids = await addRuns(
      test,
      expired(),
      expired({ locked_until: NOW }),
      expired({ status: 'queued' }),
      expired({ blocked_on: 'job:x' }),
      expired(),
    );
    const given = { ...OPTIONS, ids: ids.slice(0, 4) };
    expect(await database.transaction(trx => reapRuns(trx, given))).toMatchObject({ failed: 1, dead: 0 });
    expect(await statuses()).toEqual(['failed', 'running', 'queued', 'running', 'running']);
  });

  it('skips what another session has locked', async () => {
    await addRuns(test, expired(), expired());
    expect(await whileLocked(test, ['1'], () => reap())).toMatchObject({ failed: 1 });
    expect(await statuses()).toEqual(['running', 'failed']);
  });

  it('lets a run wait for its next attempt, without a holder, and says which worker stopped renewing its lease', async () => {
    await test.sql(
      `insert into tock.workers (id, kind, host, pid, capacity) values ($1, 'tick', 'db-7', 42, 1)`,
      [WORKER],
    );
    const other = '00000000-0000-4000-8000-000000000002';
    const ids = await addRuns(test, expired(), expired({ locked_by: other }), expired({ locked_by: null }));
    await reap();
    expect(await rowOf('1')).toMatchObject({
      status: 'failed',
      attempts: 1,
      fence: 1,
      locked_by: null,
      locked_until: null,
      run_at: IN(10_000),
      errors: [
        {
          at: '2026-03-02T12:00:00.000Z',
          attempt: 1,
          name: 'LeaseExpired',
          code: 'TOCK_LEASE_LOST',
          stack: null,
        },
      ],
    });
    const messages = ids.map(
      async id => ((await rowOf(id))?.['errors'] as { message: string }[] | undefined)?.[0]?.message,
    );
    expect(
      (await Promise.all(messages)).map(text => /^the worker (.*) stopped renewing/.exec(text ?? '')?.[1]),
    ).toEqual(['db-7 pid 42', other, '?']);
    const workers = ids.map(
      async id => ((await rowOf(id))?.['errors'] as { worker?: string }[] | undefined)?.[0]?.worker,
    );
    expect(await Promise.all(workers)).toEqual(['db-7 pid 42', undefined, undefined]);
  });

  it.each<[string, StoredBackoff | null, readonly number[]]>([
    ['by the default, which doubles up to a cap', null, [10, 20, 40, 600]],
    ['always the same', { job: 'noop', backoff: 'fixed', base: 7000, max: 90_000 }, [7, 7, 7, 7]],
    [
      'one base more each time, up to its own cap',
      { job: 'noop', backoff: 'linear', base: 7000, max: 90_000 },
      [7, 14, 21, 90],
    ],
    [
      'doubling up to its own cap',
      { job: 'noop', backoff: 'exponential', base: 7000, max: 90_000 },
      [7, 14, 28, 90],
    ],
  ])('waits %s', { tags: 'check' }, async (_what, policy, seconds) => {
    const others: StoredBackoff = { job: 'other', backoff: 'fixed', base: 1, max: 1 };
    const ids = await addRuns(
      test,
      ...[1, 2, 3, 2000].map(attempts => expired({ attempts, max_attempts: 9999 })),
    );
    const [other = ''] = await addRuns(test, expired({ job: 'other' }));
    await reap(100, policy ? [others, policy] : [others]);
    expect((await rowOf(other))?.['run_at']).toEqual(IN(1));
    const runAt = ids.map(async id => (await rowOf(id))?.['run_at']);
    expect(await Promise.all(runAt)).toEqual(seconds.map(each => IN(each * 1000)));
  });

  it('makes a run dead after its last attempt, or past it, as it was', async () => {
    const errors = '[{"attempt":1}]';
    const [id = ''] = await addRuns(
      test,
      expired({ attempts: 3, errors, queue: 'mail', payload: '{"a":1}', idempotency_key: 'k' }),
    );
    const before = await rowOf(id);
    const ids = await addRuns(test, expired({ attempts: 4 }), expired({ attempts: 2 }));
    expect(await reap()).toMatchObject({ failed: 1, dead: 2 });
    expect(await rowOf(id)).toEqual({
      ...before,
      status: 'dead',
      locked_until: null,
      finished_at: new Date(NOW),
      errors: [{ attempt: 1 }, expect.objectContaining({ attempt: 3, code: 'TOCK_LEASE_LOST' })],
    });
    expect(await statuses()).toEqual(['dead', 'dead', 'failed']);
    await addRuns(test, expired({ attempts: 3 }));
    expect((await reap()).dead_ids).toEqual([String(Number(ids.at(-1)) + 1)]);
  });

  it('makes a run of tock exec dead, whatever attempts are left: no worker could execute its command', async () => {
    const [id = ''] = await addRuns(test, expired({ trigger: 'exec' }));
    expect(await reap()).toMatchObject({ failed: 0, dead: 1 });
    expect(await rowOf(id)).toMatchObject({ status: 'dead', attempts: 1, max_attempts: 3 });
  });

  it('cancels a run that an operator asked to cancel, whatever attempts are left', async () => {
    const row = { cancel_requested_at: NOW, skip_reason: 'not needed' };
    await addRuns(test, expired(row), expired({ ...row, attempts: 3 }), expired());
    expect(await reap()).toMatchObject({ failed: 1, dead: 0, cancelled: 2, dead_ids: [] });
    expect(await statuses()).toEqual(['cancelled', 'cancelled', 'failed']);
    expect(await rowOf('1')).toMatchObject({
      skip_reason: 'not needed',
      errors: [],
      finished_at: new Date(NOW),
    });
  });

  it('frees slots: that of a definition’s turn only when the run ends', async () => {
    await addRuns(test, expired(), expired({ attempts: 3 }), expired({ cancel_requested_at: NOW }));
    for (const id of [1, 2, 3, 99])
      await test.sql(
        `insert into tock.job_slots values ('job:' || $1::text, 1, $1::bigint, 1), ('definition:' || $1::text, 1, $1::bigint, 1)`,
        [id],
      );
    await test.sql(`insert into tock.job_slots values ('job:1', 2, 2, 1)`);
    expect((await reap()).freed?.toSorted()).toEqual([
      'definition:2',
      'definition:3',
      'job:1',
      'job:2',
      'job:3',
    ]);
    expect(await test.sql('select concurrency_key as key from tock.job_slots order by 1')).toEqual([
      { key: 'definition:1' },
      { key: 'definition:99' },
      { key: 'job:99' },
    ]);
  });

  it('writes to the outbox what follows from runs that it ends', async () => {
    await test.sql(`insert into tock.job_definitions (name, job, has_followers, on_dead) values
      ('leads', 'leads', true, null), ('noop', 'noop', false, 'alarm')`);
    const planned = { definition_id: 1, scheduled_for: NOW, job: 'leads' };
    await addRuns(
      test,
      expired(planned),
      expired({ ...planned, attempts: 3 }),
      expired({ ...planned, cancel_requested_at: NOW }),
      expired({ attempts: 3 }),
      expired({ cancel_requested_at: NOW }),
    );
    expect(await reap()).toMatchObject({ outboxWritten: true, hasOutbox: false });
    expect(await test.sql(`select kind || ' ' || run_id as note from tock.job_outbox order by 1`)).toEqual([
      { note: 'chain 2' },
      { note: 'chain 3' },
      { note: 'dead 4' },
    ]);
    expect(await isRemaining()).toBe(true);
    expect(await reap()).toMatchObject({ outboxWritten: false, hasOutbox: true });
  });

  it.each<[string, string]>([
    ['a place is taken', `insert into tock.job_slots values ('job:x', 1, 99, 1)`],
    [
      'a run waits for one',
      `insert into tock.job_runs_live (job, payload, status, blocked_on)
        values ('noop', '{}', 'queued', 'job:x'), ('noop', '{}', 'queued', 'job:y')`,
    ],
  ])('says that there are limits to look after where %s', { tags: 'check' }, async (_what, text) => {
    expect([await isRemaining(), (await reap()).hasLimits]).toEqual([false, false]);
    await test.sql(text);
    expect([await isRemaining(), (await reap()).hasLimits]).toEqual([true, true]);
  });
});

describe('workers', () => {
  const worker = (index: number) => `00000000-0000-4000-8000-${String(index).padStart(12, '0')}`;
  const seen = (index: number, ago: string) =>
    test.sql(
      `insert into tock.workers (id, kind, host, pid, capacity, seen_at) values ($1, 'daemon', 'h', 1, 1, tock.now() - $2::interval)`,
      [worker(index), ago],
    );
  const left = async () =>
    (await test.sql<{ id: string }>('select id from tock.workers order by id')).map(row =>
      Number(row.id.slice(-12)),
    );

  it('are removed when they were not seen for more than ten minutes and hold nothing', async () => {
    await seen(1, '10 minutes');
    await seen(2, '10 minutes 1 millisecond');
    for (const index of [3, 4, 5, 6, 7]) await seen(index, '11 minutes');
    const holds = (index: number, row: RunRow = {}) =>
      expired({ locked_by: worker(index), locked_until: IN(1000), ...row });
    await addRuns(
      test,
      holds(3, { queue: 'z', priority: 9 }),
      holds(4, { queue: 'a', status: 'failed' }),
      holds(5, { queue: 'a', priority: 1 }),
    );
    expect(await isRemaining()).toBe(true);
    await reap();
    expect(await left()).toEqual([1, 3, 5]);
    expect(await isRemaining()).toBe(false);
  });

  it('are removed ten at a time', async () => {
    for (let index = 1; index <= 12; index++) await seen(index, `${10 + index} minutes`);
    await reap();
    expect(await left()).toHaveLength(2);
    await reap();
    expect(await left()).toEqual([]);
  });

  // Regression: the ten longest silent were looked at, and for as long as they held leases no other was removed.
  it('are removed in the end, however many that hold something were silent for longer', async () => {
    for (let index = 1; index <= 15; index++) await seen(index, `${60 - index} minutes`);
    const held = Array.from({ length: 14 }, (_, n) => ({
      locked_by: worker(n + 1),
      locked_until: '2027-01-01',
    }));
    await addRuns(test, ...held.map(row => expired(row)));
    for (let minute = 0; minute < 30; minute++) {
      await reap();
      await test.advance('1m');
    }
    expect(await left()).not.toContain(15);
    expect(await left()).toHaveLength(14);
  });
});
