// Chaos: statistics that mislead the planner into taking more rows than LIMIT says.
//
// What goes wrong: a subquery with LIMIT and FOR UPDATE SKIP LOCKED, joined by a nested loop, is executed once for each
// row of the outer side; each execution skips what the one before has locked, and takes LIMIT more. A CTE is executed
// once. PostgreSQL does not inline a CTE that locks rows, not even under NOT MATERIALIZED (contain_dml in
// optimizer/plan/subselect.c), so that the word MATERIALIZED in the claim is for the reader; the CTE is what counts.
import { beforeEach, describe, expect, it } from 'vitest';
import { defineJob } from '../../src/index.js';
import type { Session } from '../../src/store/connection/database.js';
import { claimFreeRuns } from '../../src/store/runs/claim/claim.js';
import { reapRuns } from '../../src/store/runs/reap/reap.js';
import { openDatabase } from '../support/database.js';
import { openForEach } from '../support/open.js';
import { REAPING } from '../support/runs.js';
import { openTestTock } from '../support/test-tock.js';

const WORKER = '00000000-0000-4000-8000-000000000001';
const noop = defineJob({ name: 'noop', run: () => null });
const test = openForEach(() => openTestTock([noop]));
const database = openForEach(() => openDatabase({ connectionString: test.url }));
beforeEach(async () => {
  await test.sql('alter table tock.job_runs_live set (autovacuum_enabled = off)');
  await test.tock.enqueueMany(
    Array.from({ length: 400 }, (_, place) => ({ job: noop, priority: place % 3 })),
  );
  await test.sql('analyze tock.job_runs_live');
  // The planner believes that the table is all but empty: it takes the density from here.
  await test.sql(
    `update pg_class set reltuples = 1, relpages = 1000000 where oid = 'tock.job_runs_live'::regclass`,
  );
});

const PLANS = ['hashjoin', 'mergejoin', 'bitmapscan', 'indexscan', 'material', 'memoize'];
/** Runs the work under each plan that is left when some of the planner's means are taken away; rolls back. */
async function underEachPlan(work: (session: Session) => Promise<void>): Promise<void> {
  for (const off of [
    [],
    ['hashjoin', 'mergejoin'],
    ['hashjoin', 'mergejoin', 'material', 'memoize'],
    PLANS,
  ]) {
    await database
      .transaction(async session => {
        for (const name of off) await session.run(`set local enable_${name} = off`);
        await work(session);
        throw new Error('roll back');
      })
      .catch((error: Error) => {
        if (error.message !== 'roll back') throw error;
      });
  }
}
const running = async (session: Session) =>
  (
    await session.run<{ count: number }>(
      `select count(*)::int as count from tock.job_runs_live where status = 'running'`,
    )
  )[0]?.count;
const claimIn = async (session: Session) =>
  (await claimFreeRuns(session, { limit: 7, workerId: WORKER, leaseMs: 60_000, queues: null })).runs;
/** Finds the statement that a function of the store sends, and lets it be sent in another form. */
const rewritten = (session: Session, change: (text: string) => string): Session => ({
  run: (text, values) => session.run(change(text), values),
});

describe('11: the planner updates more rows than LIMIT', () => {
  it('a claim takes its limit and no more, whatever the plan', async () => {
    await underEachPlan(async session => {
      expect(await claimIn(session)).toHaveLength(7);
      expect(await running(session)).toBe(7);
    });
  });

  it('a reaper takes its limit and no more, whatever the plan', async () => {
    await test.sql(
      `update tock.job_runs_live set status = 'running', attempts = 1, locked_until = tock.now() - interval '1 second'`,
    );
    await underEachPlan(async session => {
      expect(await reapRuns(session, { ...REAPING, limit: 7 })).toMatchObject({
        failed: 7,
      });
    });
  });

  it('a claim with a subquery in the place of the CTE would: so this setting shows it', async () => {
    const naive = `
      update tock.job_runs_live r set status = 'running'
      from (select d.id from tock.job_runs_live d where d.status = 'queued' order by d.run_at limit 7 for update skip locked) due
      where r.id = due.id returning r.id`;
    const taken: number[] = [];
    await underEachPlan(async session => void taken.push((await session.run(naive)).length));
    expect(Math.max(...taken)).toBeGreaterThan(7);
  });

  it('NOT MATERIALIZED changes nothing: PostgreSQL keeps a CTE that locks rows', async () => {
    const inlined = (text: string) =>
      text.replace(/\b(found|due) as materialized/g, '$1 as not materialized');
    await underEachPlan(async session => {
      expect(await claimIn(rewritten(session, inlined))).toHaveLength(7);
    });
  });
});
