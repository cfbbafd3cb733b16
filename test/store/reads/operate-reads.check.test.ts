// The reads of the pages Queues, Workers and Audit look at few rows, however many there are.
// In the check: it depends on the planner and its statistics.
import { beforeAll, describe, expect, it } from 'vitest';
import type { Session } from '../../../src/store/connection/database.js';
import { listAudit } from '../../../src/store/reads/audit.js';
import { readBlockingKeys, readQueueLoad } from '../../../src/store/reads/queue-load.js';
import { readOrphans, readWorkerLoad } from '../../../src/store/reads/worker-load.js';
import { openOnce } from '../../support/open.js';
import { openTestTock } from '../../support/test-tock.js';
import { type ExecutedNode, nodesOf, rowsRead } from '../plans.js';

const WORKER = '11111111-1111-4111-8111-111111111111';

const test = openOnce(openTestTock);
beforeAll(async () => {
  await test.sql(`
    insert into tock.job_runs_live (job, queue, run_at) select 'a', 'long', tock.now() - interval '1 h' from generate_series(1, 40000);
    insert into tock.job_runs_live (job, queue, run_at) select 'a', 'later', tock.now() + interval '1 h' from generate_series(1, 40000);
    insert into tock.job_runs_live (job, queue, run_at, slot_keys, slot_limits, blocked_on)
      select 'a', 'long', tock.now() - interval '2 h', array['job:a/' || i % 3], array[1], 'job:a/' || i % 3 from generate_series(1, 30000) i;
    insert into tock.job_runs_live (job, queue, status, run_at, started_at, locked_by, locked_until)
      select 'a', 'long', 'running', tock.now() - interval '3 h', tock.now(), '${WORKER}', tock.now() + interval '1 minute' from generate_series(1, 20);
    insert into tock.workers (id, kind, host, pid, capacity) values ('${WORKER}', 'daemon', 'web-1', 1, 20);
    insert into tock.audit (operator, via, action, targets, count, created_at)
      select case when i % 1000 = 0 then 'rare' else 'often' end, 'api', case when i % 999 = 0 then 'prune' else 'enqueue' end, array[i::text], 1,
        tock.now() - (60000 - i) * interval '1 minute' from generate_series(1, 60000) i;
    analyze tock.job_runs_live; analyze tock.audit`);
});

/** Rows that a read looks at in a table, kept or not. */
async function looksAt(table: string, read: (session: Session) => Promise<unknown>): Promise<number> {
  let nodes: ExecutedNode[] = [];
  const session: Session = {
    async run<Row>(text: string, values: readonly unknown[] = []) {
      nodes = nodesOf(await test.sql(`explain (analyze, format json, timing off) ${text}`, [...values]));
      return [] as Row[];
    },
  };
  await read(session);
  if (nodes.length === 0) throw new Error('nothing was read');
  return rowsRead(nodes, name => name === table);
}

describe('the read of', () => {
  it('queues looks at some thousand runs of each, of a hundred thousand', async () => {
    const rows = await looksAt('job_runs_live', session => readQueueLoad(session, {}));
    expect(rows).toBeGreaterThan(5000);
    expect(rows).toBeLessThan(20_000);
  });

  it('who blocks whom looks at some hundred runs of each key', async () => {
    const rows = await looksAt('job_runs_live', session => readBlockingKeys(session));
    expect(rows).toBeGreaterThan(3 * 500);
    expect(rows).toBeLessThan(5000);
  });

  it.each([
    ['workers', readWorkerLoad],
    ['orphans', readOrphans],
  ])('%s looks at some thousand runs of each queue and priority', async (_what, read) => {
    const rows = await looksAt('job_runs_live', read);
    expect(rows).toBeGreaterThan(20);
    expect(rows).toBeLessThan(25_000);
  });

  it.each([
    ['the latest', {}],
    ['a page far back', { before: '100' }],
    ['somebody who seldom acts', { operator: 'rare' }],
    ['a rare action', { action: 'prune' }],
    ['one run', { target: '777' }],
    ['a run that is not there', { target: 'nobody' }],
    ['the last hour', { since: new Date(Date.now() - 3_600_000), operator: 'rare' }],
  ])('the audit looks at few rows for %s', async (_what, filter) => {
    expect(await looksAt('audit', session => listAudit(session, filter))).toBeLessThan(300);
  });
});

it('what is read is capped and says so; what is exact stays exact', { tags: 'check' }, async () => {
  const pool = {
    run: <Row>(text: string, values: readonly unknown[] = []) => test.sql<Row>(text, [...values]),
  };
  const queues = await readQueueLoad(pool, {});
  expect(queues).toMatchObject([
    { name: 'later', waiting: 0, running: 0, later: 5000, isCapped: true, oldestAt: null },
    { name: 'long', running: 20, blocked: 5001, isCapped: true },
  ]);
  const keys = await readBlockingKeys(pool);
  expect(keys).toMatchObject(
    ['job:a/0', 'job:a/1', 'job:a/2'].map(key => ({
      key,
      limit: 1,
      held: 0,
      waiting: 500,
      isCapped: true,
      first: { job: 'a', queue: 'long' },
    })),
  );
  expect(await readBlockingKeys(pool, { queue: 'later' })).toEqual([]);
  const [worker] = await readWorkerLoad(pool);
  expect(worker).toMatchObject({ host: 'web-1', running: 20 });
  expect(worker?.runs).toHaveLength(6);
  expect(await readOrphans(pool)).toEqual({ count: 0, until: null });
  expect(await readQueueLoad(pool, { name: 'nobody' })).toEqual([]);
  expect((await readQueueLoad(pool, { after: 'later', limit: 1 })).map(({ name }) => name)).toEqual(['long']);
});
