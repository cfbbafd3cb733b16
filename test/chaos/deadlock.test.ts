// Chaos: two batches over the same runs, each in the order that its plan finds them in. By the index that is the order
// of the ids; by the heap it is the order in which they were written, here the reverse.
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { defineJob } from '../../src/index.js';
import { openDatabase } from '../../src/store/connection/database.js';
import { renewLeases } from '../../src/store/runs/leases.js';
import { openTestTock, type TestTock } from '../support/test-tock.js';

const WORKER = '00000000-0000-4000-8000-000000000001';
const COUNT = 400;
let test: TestTock;
let database: ReturnType<typeof openDatabase>;
beforeEach(async () => {
  test = await openTestTock([defineJob({ name: 'noop', run: () => null })]);
  database = openDatabase({ connectionString: test.url });
  await test.sql('alter table tock.job_runs_live set (autovacuum_enabled = off)');
  await test.sql(
    `insert into tock.job_runs_live (id, job, status, attempts, fence, locked_by, locked_until)
     select n, 'noop', 'running', 1, 1, $1, tock.now() + interval '1 hour' from generate_series($2::int, 1, -1) n`,
    [WORKER, COUNT],
  );
});
afterEach(async () => {
  await database.close();
  await test.close();
});

describe('10: unordered batch updates deadlock', () => {
  it('two plans that find the runs in opposite orders do not: what is locked is sorted first', async () => {
    const held = Array.from({ length: COUNT }, (_, index) => ({ id: String(index + 1), fence: 1 }));
    const renew = (off: readonly string[]) =>
      database.transaction(
        async session => {
          for (const name of off) await session.run(`set local enable_${name} = off`);
          return (await renewLeases(session, held, WORKER, 60_000)).length;
        },
        // Without the retries that would hide a deadlock.
        { retries: 0 },
      );
    for (let round = 0; round < 25; round++) {
      const renewed = await Promise.all([
        renew(['seqscan', 'bitmapscan']),
        renew(['indexscan', 'indexonlyscan', 'bitmapscan']),
        renew(['seqscan', 'bitmapscan']),
        renew(['indexscan', 'indexonlyscan', 'bitmapscan']),
      ]);
      expect(renewed).toEqual([COUNT, COUNT, COUNT, COUNT]);
    }
  });
});
