// The claim that continues in several plain queues takes what the general one takes, in the same order.
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Database, openDatabase } from '../../../../src/store/connection/database.js';
import {
  type ClaimOptions,
  type ClaimPosition,
  claimFreeRuns,
} from '../../../../src/store/runs/claim/claim.js';
import { addRuns, emptyTables } from '../../../support/runs.js';
import { openTestTock, type TestTock } from '../../../support/test-tock.js';

const NOW = Date.parse('2026-03-02T12:00:00Z');
const options: Omit<ClaimOptions, 'limit'> = {
  workerId: '00000000-0000-4000-8000-000000000001',
  leaseMs: 60_000,
  queues: null,
};

let test: TestTock;
let database: Database;
beforeAll(async () => {
  test = await openTestTock();
  database = openDatabase({ connectionString: test.url });
  await test.setClock(new Date(NOW).toISOString());
});
afterAll(async () => {
  await database.close();
  await test.close();
});

/** What a claim after these positions takes and says; undone. */
async function claimed(limit: number, positions: readonly ClaimPosition[]) {
  const claim = await claimFreeRuns(database, { ...options, limit }, positions);
  await test.sql(
    `update tock.job_runs_live set status = 'queued', attempts = 0, fence = 0, locked_by = null, locked_until = null,
       started_at = null where status = 'running'`,
  );
  return {
    runs: claim.runs.map(run => run.id),
    hasMore: claim.hasMore,
    positions: claim.positions
      .filter(({ at, hasMore }) => at !== null || hasMore)
      .map(({ queue, priority, at, id, hasMore }) => ({
        place: `${queue} ${priority}`,
        at: at === null ? null : Date.parse(at),
        id,
        hasMore,
      })),
  };
}

const queue = fc.constantFrom('a', 'b', 'c', 'd');
const priority = fc.integer({ min: 0, max: 2 });
const minutes = fc.integer({ min: -1, max: 6 });
const run = fc.record({ queue, priority, ago: minutes });
const after = fc.record({ queue, priority, ago: fc.option(minutes), id: fc.integer({ min: 1, max: 30 }) });

describe('a claim after positions in several queues', () => {
  it('takes, in the same order, what the general claim takes, and ends at the same positions', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(run, { maxLength: 40 }),
        fc.uniqueArray(after, {
          minLength: 2,
          maxLength: 8,
          selector: each => `${each.queue} ${each.priority}`,
        }),
        fc.integer({ min: 1, max: 25 }),
        async (runs, places, limit) => {
          await emptyTables(test);
          await addRuns(
            test,
            ...runs.map(each => ({
              queue: each.queue,
              priority: each.priority,
              run_at: new Date(NOW - each.ago * 60_000).toISOString(),
            })),
          );
          const positions = (needSlots: ClaimPosition['needSlots']) =>
            places.map(each => ({
              queue: each.queue,
              priority: each.priority,
              at: each.ago === null ? null : new Date(NOW - each.ago * 60_000).toISOString(),
              id: each.ago === null ? null : `${each.id}`,
              hasMore: true,
              isLimited: false,
              needSlots,
            }));
          expect(await claimed(limit, positions('none'))).toEqual(await claimed(limit, positions('some')));
        },
      ),
      { numRuns: 150 },
    );
  });

  it('leaves what needs a slot to a claim from the beginning', async () => {
    await emptyTables(test);
    const [plain] = await addRuns(
      test,
      { queue: 'a' },
      { queue: 'b', slot_keys: ['job:x'], slot_limits: [1] },
    );
    const at = (name: string): ClaimPosition => ({
      queue: name,
      priority: 0,
      at: null,
      id: null,
      hasMore: true,
      isLimited: false,
      needSlots: 'none',
    });
    const claim = await claimFreeRuns(database, { ...options, limit: 9 }, [at('a'), at('b')]);
    expect([claim.runs.map(each => each.id), claim.limited]).toEqual([[plain], []]);
  });
});
