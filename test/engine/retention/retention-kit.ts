// Test support: a Tock whose clock stands in 2031, with the partitions that a test asks for and no others.

import type { AnyJob } from '../../../src/index.js';
import { openTestTock, type TestTock, until } from '../../support/test-tock.js';

export interface RetentionKit extends TestTock {
  /** Sets the clock, and makes the partition of that day's month, or of that day. */
  readonly make: (day: string, unit?: 'month' | 'day') => Promise<void>;
  /** Runs that ended at an instant, one per state named; their ids. */
  readonly ended: (at: string, ...statuses: string[]) => Promise<string[]>;
  /** Names of the partitions, without what they have in common. */
  readonly partitions: () => Promise<string[]>;
  /** Tables of retention that are no partitions. */
  readonly leftovers: () => Promise<string[]>;
  /** How often each of these runs is to be seen. */
  readonly seen: (ids: readonly string[]) => Promise<number[]>;
  /** Holds a lock on a table until it is let go. */
  readonly hold: (table: string, mode?: string) => Promise<() => Promise<void>>;
}

export const KEEP = { succeeded: '7d', skipped: '30d', cancelled: '90d', dead: '400d' } as const;

export async function openRetentionKit(jobs: readonly AnyJob[] = []): Promise<RetentionKit> {
  const test = await openTestTock(jobs);
  const pg = await import('pg');
  const holders: (() => Promise<void>)[] = [];
  await test.sql(`do $$ declare child text; begin
    for child in select name from tock.finished_partitions() where low is not null loop
      execute format('drop table tock.%I', child);
    end loop;
  end $$`);
  const names = (rows: { name: string }[]) => rows.map(row => row.name.replace('job_runs_finished_', ''));
  return {
    ...test,
    async make(day, unit = 'month') {
      await test.setClock(`${day}T12:00:00Z`);
      await test.sql('select tock.create_partitions(0, $1)', [unit]);
    },
    async ended(at, ...statuses) {
      const rows = await test.sql<{ id: string }>(
        `insert into tock.job_runs (job, status, finished_at, payload, output)
         select 'a', status, $1::timestamptz, '{}', to_jsonb(repeat('x', 100)) from unnest($2::text[]) status returning id`,
        [at, statuses],
      );
      return rows.map(row => row.id);
    },
    partitions: async () => names(await test.sql('select name from tock.finished_partitions()')),
    leftovers: async () =>
      names(
        await test.sql(
          `select relname as name from pg_class where relkind = 'r' and relname ~ '^job_runs_(kept|detached)_' and not relispartition order by 1`,
        ),
      ),
    seen: async ids =>
      (
        await test.sql<{ count: number }>(
          `select (select count(*) from tock.job_runs r where r.id = i.id)::int as count from unnest($1::bigint[]) i(id)`,
          [ids],
        )
      ).map(row => row.count),
    async hold(table, mode = 'access share') {
      const client = new pg.default.Client({ connectionString: test.url });
      await client.connect();
      await client.query(`begin; lock table only tock.${table} in ${mode} mode`);
      let isHeld = true;
      const release = async () => {
        if (isHeld) await client.end();
        isHeld = false;
      };
      holders.push(release);
      return release;
    },
    async close() {
      await Promise.all(holders.map(release => release()));
      await test.close();
    },
  };
}

export { until };
