// Engine: leases, the fence, and what becomes of runs whose worker is gone.
import { beforeEach, describe, expect, it } from 'vitest';
import { defineJob } from '../../src/index.js';
import { claimFreeRuns } from '../../src/store/runs/claim/claim.js';
import { finalizeRuns } from '../../src/store/runs/finalize.js';
import { renewLeases } from '../../src/store/runs/leases.js';
import { openDatabase } from '../support/database.js';
import { openForEach } from '../support/open.js';
import { reuseTestTock } from '../support/test-tock.js';

const FIRST = '00000000-0000-4000-8000-000000000001';
const SECOND = '00000000-0000-4000-8000-000000000002';
const LEASE_MS = 60_000;
const succeed = {
  transition: 'succeed',
  output: { by: 'test' },
  error: null,
  delayMs: 0,
  skipReason: null,
} as const;

const noop = defineJob({ name: 'noop', retry: { maxAttempts: 2 }, run: () => 'done' });
const test = openForEach(() => reuseTestTock([noop]));
const database = openForEach(() => openDatabase({ connectionString: test.url }));
beforeEach(async () => {
  await test.setClock('2026-03-01T12:00:00Z');
});

const claim = async (workerId: string, limit = 10) =>
  (await claimFreeRuns(database, { limit, workerId, leaseMs: LEASE_MS, queues: null })).runs;
/** Which of a batch it moved. */
const finalize = async (...args: Parameters<typeof finalizeRuns>) => {
  const { lost } = await finalizeRuns(...args);
  return new Set(args[1].map(each => each.id).filter(each => !lost.has(each)));
};

it('a holder whose lease has expired changes nothing once another has claimed the run, whatever it tries', async () => {
  const id = await test.tock.enqueue(noop);
  const [first] = await claim(FIRST);
  await test.advance('61s');
  expect((await test.tock.tick()).reaped).toEqual({ failed: 1, dead: 0, cancelled: 0 });
  await test.advance('1h');
  const [second] = await claim(SECOND);
  expect([first?.fence, second?.fence]).toEqual([1, 2]);

  const { lockedUntil } = (await test.tock.runs.get(id)) ?? {};
  await test.advance('1s');
  const held = { id, fence: 1 };
  expect(await renewLeases(database, [held], FIRST, LEASE_MS)).toEqual([]);
  expect(await renewLeases(database, [held], SECOND, LEASE_MS)).toEqual([]);
  expect(await renewLeases(database, [{ id, fence: 2 }], FIRST, LEASE_MS)).toEqual([]);
  expect(await test.tock.runs.get(id)).toMatchObject({ lockedUntil });
  expect(await finalize(database, [{ ...held, outcome: succeed }], FIRST)).toEqual(new Set());
  expect(
    await finalize(database, [{ ...held, outcome: { ...succeed, transition: 'release' } }], FIRST),
  ).toEqual(new Set());
  // Not even with the right fence under another's name, or the other way round.
  expect(await finalize(database, [{ id, fence: 2, outcome: succeed }], FIRST)).toEqual(new Set());
  expect(await finalize(database, [{ id, fence: 1, outcome: succeed }], SECOND)).toEqual(new Set());
  expect(await test.tock.runs.get(id)).toMatchObject({ status: 'running', lockedBy: SECOND });
  expect(await finalize(database, [{ id, fence: 2, outcome: succeed }], SECOND)).toEqual(new Set([id]));
  expect(await test.tock.runs.get(id)).toMatchObject({ status: 'succeeded', output: { by: 'test' } });
});

describe('a worker that is gone', () => {
  it('is seen to be silent before the leases of its runs have expired', async () => {
    await test.sql(
      `insert into tock.workers (id, kind, host, pid, capacity, heartbeat_ms) values ($1, 'daemon', 'gone', 1, 1, 15000)`,
      [FIRST],
    );
    await test.tock.enqueue(noop);
    await claim(FIRST);
    const seen = async () => {
      const { workers, runs } = await test.tock.status();
      return { silent: workers.map(each => each.silent), running: workers[0]?.running, stuck: runs.stuck };
    };
    await test.advance('37s');
    expect(await seen()).toEqual({ silent: [false], running: 1, stuck: 0 });
    await test.advance('1s');
    expect(await seen()).toEqual({ silent: [true], running: 1, stuck: 0 });
  });

  it('tells its heartbeat with its row', async () => {
    const tock = test.another({ heartbeat: '7s' });
    const daemon = await tock.start();
    expect(await test.sql('select heartbeat_ms from tock.workers')).toEqual([{ heartbeat_ms: 7000 }]);
    await daemon.stop();
  });
});

describe('a run that is given back', () => {
  const release = { ...succeed, transition: 'release', output: null } as const;

  it('has its attempt again, a hundred times; then each counts, lest it be claimed and given back for ever', {
    tags: 'check',
  }, async () => {
    const id = await test.tock.enqueue(noop);
    const giveBack = async () => {
      const [run] = await claim(FIRST);
      await finalize(database, [{ id, fence: run?.fence ?? 0, outcome: release }], FIRST);
      return (await test.tock.runs.get(id))?.attempts;
    };
    expect([await giveBack(), await giveBack()]).toEqual([0, 0]);
    expect(await test.sql('select releases, status from tock.job_runs')).toEqual([
      { releases: 2, status: 'queued' },
    ]);
    await test.sql('update tock.job_runs_live set releases = 99');
    expect([await giveBack(), await giveBack()]).toEqual([0, 1]);
    // The last attempt is left to it: there is nothing to be dead of yet.
    expect([await giveBack(), await giveBack()]).toEqual([1, 1]);
    await claim(FIRST);
    await test.advance('61s');
    expect((await test.tock.tick()).reaped).toEqual({ failed: 0, dead: 1, cancelled: 0 });
  });
});

it('claim works where the role would rather read repeatably', { tags: 'check' }, async () => {
  await test.sql(
    `do $$ begin execute format('alter database %I set default_transaction_isolation = ''repeatable read''', current_database()); end $$`,
  );
  const careful = [test.another(), test.another(), test.another(), test.another()];
  await test.tock.enqueueMany(Array.from({ length: 200 }, () => ({ job: noop })));
  const summaries = await Promise.all(careful.map(tock => tock.tick()));
  expect(summaries.reduce((sum, each) => sum + each.executed.succeeded, 0)).toBe(200);
});
