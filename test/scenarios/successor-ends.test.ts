// Store: every way in which a run ends starts its successor, in the same transaction; and what goes on while the transaction
// of a caller or of an end is open.
import { describe, expect, it } from 'vitest';
import { defineJob } from '../../src/index.js';
import type { Outcome } from '../../src/model/run/decide.js';
import { claimFreeRuns } from '../../src/store/runs/claim/claim.js';
import { finalizeRuns } from '../../src/store/runs/finalize.js';
import { completeMany } from '../../src/store/runs/hand-off/answers.js';
import { renewLeases, writeProgress } from '../../src/store/runs/leases.js';
import { cancelRun } from '../../src/store/runs/operator-moves.js';
import { reapRuns } from '../../src/store/runs/reap/reap.js';
import { setRunAside } from '../../src/store/runs/set-aside.js';
import { storeTest } from '../support/open.js';
import { REAPING, whileHeld, whileWaitedFor } from '../support/runs.js';
import { reuseTestTock } from '../support/test-tock.js';

const WORKER = '00000000-0000-4000-8000-000000000001';
const LEASE_MS = 60_000;
const sync = defineJob({ name: 'sync', retry: { maxAttempts: 3 }, run: () => null });
const replace = { key: 'k', unique: 'live', replace: true } as const;

const { test, database } = storeTest('2026-03-01T12:00:00Z', () => reuseTestTock([sync]));

const outcome = (transition: Outcome['transition'], more: Partial<Outcome> = {}): Outcome => ({
  transition,
  output: null,
  error: null,
  delayMs: 600_000,
  skipReason: null,
  ...more,
});
const boom = { name: 'Error', message: 'boom', attempt: 1 } as unknown as NonNullable<Outcome['error']>;
const begin = async (maxAttempts = 3) => {
  const id = await test.tock.enqueue(sync, 'old', { ...replace, maxAttempts });
  await claimFreeRuns(database, { limit: 1, workerId: WORKER, leaseMs: LEASE_MS, queues: null });
  return id;
};
const left = async () => await test.tock.enqueue(sync, 'new', replace);
const finalize = async (id: string, ended: Outcome, session = database) =>
  await finalizeRuns(session, [{ id, fence: 1, outcome: ended }], WORKER);
const expire = async () =>
  await test.sql(`update tock.job_runs_live set locked_until = tock.now() - interval '1 second'`);
const reap = async (ids: readonly string[] = []) =>
  await reapRuns(database, { ...REAPING, ...(ids.length > 0 && { ids }) });
const statusOf = async (id: string) => (await test.tock.runs.get(id))?.status;
/** The successor is a run now, the only live one, and nothing is left behind. */
async function expectStarted(id: string): Promise<void> {
  expect(await test.sql('select id, status, live_key, payload from tock.job_runs_live')).toEqual([
    { id, status: 'queued', live_key: 'k', payload: 'new' },
  ]);
  expect(await test.sql('select from tock.job_successors')).toEqual([]);
}

type End = (id: string) => Promise<unknown>;
const ENDS: [string, string, End][] = [
  ['a success', 'succeeded', id => finalize(id, outcome('succeed'))],
  ['a success with an output', 'succeeded', id => finalize(id, outcome('succeed', { output: { a: 1 } }))],
  ['the last failure', 'dead', id => finalize(id, outcome('exhaust', { error: boom }))],
  ['a handler that cancels', 'cancelled', id => finalize(id, outcome('withdraw'))],
  ['a start that is too late', 'skipped', id => finalize(id, outcome('expire', { skipReason: 'deadline' }))],
  [
    'a failure with attempts left',
    'cancelled',
    async id => {
      await finalize(id, outcome('fail', { error: boom }));
      expect(await test.tock.runs.get(id)).toMatchObject({ errors: [{ message: 'boom', attempt: 1 }] });
    },
  ],
  ['a worker that gives it back', 'cancelled', id => finalize(id, outcome('release'))],
  [
    'a worker that defers it',
    'cancelled',
    id => finalize(id, outcome('defer', { deferral: { runAt: null, limits: [] } })),
  ],
  [
    'an end that passes its slots on',
    'succeeded',
    id =>
      finalizeRuns(database, [{ id, fence: 1, outcome: outcome('succeed') }], WORKER, {
        holdsSlot: () => true,
        limit: 1,
        leaseMs: LEASE_MS,
        queues: null,
      }),
  ],
  [
    'an operator’s cancel, when its handler has stopped',
    'cancelled',
    async id => {
      await cancelRun(database, id, 'enough');
      await finalize(id, outcome('fail', { error: boom }));
      expect(await test.tock.runs.get(id)).toMatchObject({ skipReason: 'enough' });
    },
  ],
  ['a lost lease', 'cancelled', async () => void (await expire(), await reap())],
  ['a lost lease that is looked for by id', 'cancelled', async id => void (await expire(), await reap([id]))],
  [
    'a lost lease at the last attempt',
    'dead',
    async () => {
      await test.sql('update tock.job_runs_live set max_attempts = 1');
      await expire();
      await reap();
    },
  ],
  [
    'a row that no statement can work with',
    'dead',
    id =>
      setRunAside(database, id, {
        reason: 'odd',
        isToBlame: true,
        holder: { workerId: WORKER, fence: 1 },
      }),
  ],
  [
    'an answer to a handoff',
    'succeeded',
    async id => {
      await finalize(id, outcome('handOff', { handOff: { leaseMs: 3_600_000, to: null } }));
      expect(await statusOf(id)).toBe('running');
      expect((await completeMany(database, [{ id, fence: 1, result: null }])).runs).toHaveLength(1);
    },
  ],
  [
    'tock.complete in SQL',
    'succeeded',
    async id => {
      await finalize(id, outcome('handOff', { handOff: { leaseMs: 3_600_000, to: null } }));
      await test.sql('select tock.complete($1, 1)', [id]);
      await test.sql(`update tock.job_successors set run_at = tock.now() + interval '1 hour'`);
      await test.tock.tick();
    },
  ],
  [
    'a handoff whose lease ends',
    'cancelled',
    async id => {
      await finalize(id, outcome('handOff', { handOff: { leaseMs: 3_600_000, to: null } }));
      await test.advance('2h');
      await reap();
    },
  ],
];

describe.each(ENDS)('%s', (_, status, end) => {
  it(`leaves the run ${status}, and starts its successor`, async () => {
    const id = await begin();
    const successor = await left();
    await end(id);
    const ended = await test.tock.runs.get(id);
    expect(ended?.status).toBe(status);
    if (ended?.skipReason?.startsWith('replaced') === true)
      expect(ended.skipReason).toBe(`replaced by run ${successor}`);
    await expectStarted(successor);
  });
});

it('a row that somebody deletes starts the successor, as any end does', async () => {
  const id = await begin();
  const successor = await left();
  await test.sql('delete from tock.job_runs where id = $1', [id]);
  expect(await test.sql('select from tock.job_runs where id = $1', [id])).toEqual([]);
  await expectStarted(successor);
});

describe('a caller whose transaction is open', () => {
  const LEAVE = `select * from tock.enqueue('sync', '"new"', 'k', unique_live => true, replace => true)`;
  const successorId = async () =>
    (await test.sql<{ id: string }>('select id from tock.job_runs_live'))[0]?.id ?? '';

  it.each([
    ['a success', 'succeeded', outcome('succeed')],
    ['a failure', 'cancelled', outcome('fail', { error: boom })],
    ['a release', 'cancelled', outcome('release')],
  ])('is waited for by %s, which then finds the successor', { tags: 'check' }, async (_, status, ended) => {
    const id = await begin();
    await whileWaitedFor(test, LEAVE, () => finalize(id, ended));
    expect(await statusOf(id)).toBe(status);
    await expectStarted(await successorId());
  });

  it('does not keep the run’s worker from renewing its lease and from reporting progress', async () => {
    const id = await begin();
    const held = { id, fence: 1 };
    await test.advance('30s');
    await whileHeld(test, LEAVE, [], async () => {
      expect(await renewLeases(database, [held], WORKER, LEASE_MS)).toMatchObject([{ id, is_renewed: true }]);
      await writeProgress(database, [{ ...held, progress: { fraction: 0.5 } }], WORKER);
    });
    expect(await test.tock.runs.get(id)).toMatchObject({
      lockedUntil: new Date('2026-03-01T12:01:30Z'),
      progress: { fraction: 0.5 },
    });
  });

  it('does not hold up a handler’s transaction that holds the run, nor wait for it', async () => {
    const id = await begin();
    await whileHeld(test, 'select from tock.job_runs_live where id = $1 for key share', [id], async () => {
      expect(await left()).not.toBe(id);
    });
  });
});

describe('an end whose transaction is open', () => {
  it.each([
    ['a success, as in ctx.transaction', 'succeeded'],
    ['a failure', 'failed'],
  ])('is waited for: after %s the call makes a run of its own', async (_, status) => {
    const id = await begin();
    const end =
      status === 'failed'
        ? `update tock.job_runs_live set status = 'failed', locked_by = null where id = (select r.id from tock.job_runs_live r for update)`
        : `with gone as (delete from tock.job_runs_live returning *) insert into tock.job_runs_finished (id, job, status, finished_at) select id, job, 'succeeded', tock.now() from gone`;
    const successor = await whileWaitedFor(test, end, left);
    expect(await statusOf(id)).toBe(status === 'failed' ? 'cancelled' : status);
    await expectStarted(successor);
  });

  it('is waited for by several callers, of whom the last to commit counts', async () => {
    await begin();
    const fail = `update tock.job_runs_live set status = 'failed', locked_by = null where id = (select r.id from tock.job_runs_live r for update)`;
    const ids = await whileWaitedFor(test, fail, () => Promise.all(Array.from({ length: 8 }, left)));
    expect(new Set(ids).size).toBe(1);
    await expectStarted(ids[0] ?? '');
  });
});

it('a cancel of a successor that becomes a run meanwhile cancels that run', async () => {
  await begin();
  const id = await left();
  const end = 'delete from tock.job_runs_live';
  await whileWaitedFor(test, end, () => test.tock.runs.cancel(id));
  expect(await statusOf(id)).toBe('cancelled');
  expect(await test.sql('select from tock.job_runs_live')).toEqual([]);
});

it('what is not used costs nothing: the end of a run without a live key calls nothing', async () => {
  const plain = await test.tock.enqueue(sync, 'old');
  const keyed = await test.tock.enqueue(sync, 'old', { key: 'k', unique: 'live' });
  const plan = async (id: string) =>
    JSON.stringify(
      await test.sql(`explain (analyze, costs off) delete from tock.job_runs_live where id = ${id}`),
    );
  expect(await plan(plain)).not.toContain('start_successor');
  expect(await plan(keyed)).toContain('start_successor');
});
