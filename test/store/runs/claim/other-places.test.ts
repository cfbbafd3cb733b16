// Store: what claims that continue from positions do not see.
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { type Database, openDatabase } from '../../../../src/store/connection/database.js';
import type { ClaimPosition } from '../../../../src/store/runs/claim/claim.js';
import { readOtherPlaces } from '../../../../src/store/runs/claim/other-places.js';
import { addRuns, emptyTables } from '../../../support/runs.js';
import { openTestTock, type TestTock } from '../../../support/test-tock.js';

let test: TestTock;
let database: Database;
beforeAll(async () => {
  test = await openTestTock();
  database = openDatabase({ connectionString: test.url });
});
beforeEach(async () => await emptyTables(test));
afterAll(async () => {
  await database.close();
  await test.close();
});

const at = (queue: string, priority: number): ClaimPosition => ({
  queue,
  priority,
  at: '2026-03-02T12:00:00Z',
  id: '7',
  hasMore: true,
  isLimited: false,
  needSlots: 'none',
});
const places = async (positions: ClaimPosition[], queues: readonly string[] | null = null) => {
  const found = await readOtherPlaces(database, positions, queues);
  return found.places.map(place => `${place.queue} ${place.priority}`).sort();
};
const add = async (...names: readonly (readonly [queue: string, priority: number])[]) =>
  await addRuns(test, ...names.map(([queue, priority]) => ({ queue, priority })));

describe('other places', () => {
  it('are found before, between and after the positions, up to their priority', async () => {
    await add(['a', 0], ['b', -1], ['b', 0], ['b', 1], ['c', 0], ['z', -9], ['z', 0]);
    expect(await places([at('b', 0)])).toEqual(['a 0', 'b -1', 'c 0', 'z -9', 'z 0']);
    expect(await places([at('b', -1), at('z', -9)])).toEqual([]);
    expect(await places([at('z', 0), at('b', -1)])).toEqual(['a 0', 'b 0', 'c 0', 'z -9']);
    expect(await places([at('a', 1)])).toEqual(['a 0', 'b -1', 'b 0', 'b 1', 'c 0', 'z -9', 'z 0']);
  });

  it('have runs that can be claimed now', async () => {
    await addRuns(
      test,
      { queue: 'future', run_at: '2999-01-01T00:00:00Z' },
      { queue: 'blocked', slot_keys: ['job:x'], slot_limits: [1], blocked_on: 'job:x' },
      { queue: 'running', status: 'running', fence: 1, locked_by: '00000000-0000-4000-8000-000000000001' },
      { queue: 'due' },
    );
    expect(await places([at('default', 0)])).toEqual(['due 0']);
  });

  it('are of the queues that the worker serves, and open', async () => {
    await add(['a', 0], ['b', 0], ['paused', 0]);
    await test.sql(`insert into tock.job_queues (name, paused_at) values ('paused', now())`);
    expect(await places([at('default', 0)])).toEqual(['a 0', 'b 0']);
    expect(await places([at('default', 0)], ['b', 'paused'])).toEqual(['b 0']);
  });

  it('make the worker claim from the beginning where a queue has a limit or has closed', async () => {
    const mustRestart = async () => (await readOtherPlaces(database, [at('default', 0)], null)).mustRestart;
    await add(['narrow', 0]);
    expect(await mustRestart()).toBe(false);
    await test.sql(`insert into tock.job_queues (name, concurrency) values ('narrow', 1)`);
    expect(await mustRestart()).toBe(true);
    expect(await places([at('default', 0)])).toEqual([]);
    await test.sql(`delete from tock.job_runs_live`);
    expect(await mustRestart()).toBe(false);
    await test.sql(`insert into tock.job_queues (name, paused_at) values ('default', now())`);
    expect(await mustRestart()).toBe(true);
    await test.sql(
      `update tock.job_queues set paused_at = null, rate_count = 1, rate_period_ms = 1000 where name = 'default'`,
    );
    expect(await mustRestart()).toBe(true);
    await test.sql(
      `update tock.job_queues set rate_count = null, rate_period_ms = null where name = 'default'`,
    );
    expect(await mustRestart()).toBe(false);
  });
});
