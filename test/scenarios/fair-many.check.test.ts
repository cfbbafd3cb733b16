// A hundred thousand fair keys: what people and claims read stays small.
import { expect, it } from 'vitest';
import { defineJob } from '../../src/index.js';
import type { Database } from '../../src/store/connection/database.js';
import { readNextDue } from '../../src/store/reads/next-due.js';
import { readBlockingKeys, readQueueLoad } from '../../src/store/reads/queue-load.js';
import { claimFair } from '../../src/store/runs/fair/claim-fair.js';
import { listKeys, readKeys } from '../../src/store/runs/fair/key-settings.js';
import { openDatabase } from '../support/database.js';
import { openForEach } from '../support/open.js';
import { openTestTock } from '../support/test-tock.js';

const send = defineJob({ name: 'send', queue: 'mail', fair: { key: '$.tenant' }, run: () => null });
const test = openForEach(() => openTestTock([send]));

it('reads no more of them than it shows', async () => {
  await test.tock.register();
  await test.sql(`
    insert into tock.job_runs_live (job, queue, payload, slot_keys, slot_limits, blocked_on, status)
    select 'send', 'mail', jsonb_build_object('tenant', n), array['~mail/send/' || n], array[1], '~mail/send/' || n, 'queued'
    from generate_series(1, 100000) n`);
  await test.sql(`
    insert into tock.fair_keys (name, queue, job, key, closed_until, is_ready, ready_at)
    select '~mail/send/' || n, 'mail', 'send', n::text, c.until, c.until is null, c.until
    from generate_series(1, 100000) n cross join lateral (select case when n % 10 = 0 then tock.now() + interval '1 hour' end as until) c`);
  await test.sql('analyze');
  // What a session has read is counted once it says so; a parallel worker of it does when it likes.
  const url = new URL(test.url);
  url.searchParams.set('options', '-c max_parallel_workers_per_gather=0');
  const database = openDatabase({ connectionString: url.href, connections: 1 });
  const workerId = '00000000-0000-4000-8000-000000000009';
  const reads: Record<string, () => Promise<unknown>> = {
    load: () => readQueueLoad(database, { name: 'mail' }),
    blocking: () => readBlockingKeys(database),
    key: () => readKeys(database, ['17']),
    list: () => listKeys(database),
    poll: () => readNextDue(database, null, true),
    claim: () => claimFair(database, { limit: 10, workerId, leaseMs: 60_000, queues: null }),
  };
  const rows: Record<string, number> = {};
  for (const [name, read] of Object.entries(reads)) {
    await read();
    const before = await fetched(database);
    await read();
    rows[name] = (await fetched(database)) - before;
  }
  await database.close();
  // Counts of runs are bounded by ten thousand, lists by a thousand; a claim by what it takes.
  for (const [name, count] of Object.entries(rows)) expect([name, count < 40_000]).toEqual([name, true]);
  expect(rows['key']).toBeLessThan(100);
  expect(rows['claim']).toBeLessThan(2000);
  expect(rows['load']).toBeGreaterThan(1000);
});

/** Rows of live runs, keys and settings that all sessions have read so far. */
async function fetched(database: Database): Promise<number> {
  // The reads came over the one connection that this pool has opened.
  await database.run('select pg_stat_force_next_flush()');
  const [row] = await test.sql<{ count: number }>(
    `select sum(seq_tup_read + idx_tup_fetch)::float8 as count from pg_stat_user_tables where relname in ('job_runs_live', 'fair_keys', 'key_settings')`,
  );
  return row?.count ?? 0;
}
