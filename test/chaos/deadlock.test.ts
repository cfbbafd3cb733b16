// Chaos: two batches over the same runs, each in the order that its plan finds them in. By the index that is the order
// of the ids; by the heap it is the order in which they were written, here the reverse.
import { beforeEach, describe, expect, it } from 'vitest';
import { defineJob } from '../../src/index.js';
import { renewLeases } from '../../src/store/runs/leases.js';
import { openDatabase } from '../support/database.js';
import { openForEach } from '../support/open.js';
import { openTestTock } from '../support/test-tock.js';

const WORKER = '00000000-0000-4000-8000-000000000001';
const COUNT = 400;
const test = openForEach(() => openTestTock([defineJob({ name: 'noop', run: () => null })]));
const database = openForEach(() => openDatabase({ connectionString: test.url }));
beforeEach(async () => {
  await test.sql('alter table tock.job_runs_live set (autovacuum_enabled = off)');
  await test.sql(
    `insert into tock.job_runs_live (id, job, status, attempts, fence, locked_by, locked_until)
     select n, 'noop', 'running', 1, 1, $1, tock.now() + interval '1 hour' from generate_series($2::int, 1, -1) n`,
    [WORKER, COUNT],
  );
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
