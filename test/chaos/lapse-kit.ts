// A history whose partitions have run out, and runs that end all the while.
// In: nothing. Out: a Tock whose default partition has caught months of runs, and how it stands there.
import { openTestTock } from '../support/test-tock.js';
import { noop, startTraffic, type Traffic } from './traffic.js';

/** The clock stands: so the tests do the same on each day of a month. */
export const NOW = '2031-06-15T12:00:00Z';
export async function openLapseKit() {
  const test = await openTestTock([noop]);
  await test.setClock(NOW);
  // Nobody else makes partitions.
  await test.sql('update tock.upkeep set at = tock.now()');
  const flowing: Traffic[] = [];
  return {
    ...test,
    /** Drops all partitions but the default one, which catches so many runs that ended in the last 80 days. */
    async lapse(count: number) {
      await test.sql(`do $$ declare child text; begin
        for child in select name from tock.finished_partitions() where low is not null loop
          execute format('drop table tock.%I', child);
        end loop; end $$`);
      await test.sql(
        `insert into tock.job_runs_finished (job, status, attempts, started_at, finished_at, payload)
         select 'old', case when i % 50 = 0 then 'dead' else 'succeeded' end, 1, at, at, '{"a": 1}'
         from generate_series(1, $1::int) i, lateral (select tock.now() - interval '80 days' * (1 - i / $1::float8) as at) a`,
        [count],
      );
    },
    /** Runs that ended at an instant, in the default partition. */
    async caught(at: string, count: number) {
      await test.sql(
        `insert into tock.job_runs_finished_default (job, status, attempts, finished_at)
         select 'old', 'succeeded', 1, $1::timestamptz from generate_series(1, $2::int)`,
        [at, count],
      );
    },
    /** Whether the check on the default partition is valid, where there is one. */
    bounds: async () =>
      (
        await test.sql<{ valid: boolean }>(
          `select convalidated as valid from pg_constraint where conname = 'job_runs_finished_default_bounds'`,
        )
      ).map(row => row.valid),
    /** Runs that end at about 60 a second, until it is stopped; what its workers warn of. */
    async traffic() {
      const one = await startTraffic(test);
      flowing.push(one);
      return one;
    },
    /** The partitions: names without what they have in common, and how many runs each holds. */
    async held(): Promise<Record<string, number>> {
      const rows = await test.sql<{ name: string; count: number }>(
        `select p.name, (select count(*) from tock.job_runs_finished r where r.tableoid = p.oid)::int as count
         from tock.finished_partitions() p`,
      );
      return Object.fromEntries(
        rows.map(({ name, count }) => [name.replace('job_runs_finished_', ''), count]),
      );
    },
    async close() {
      await Promise.all(flowing.map(each => each.stop()));
      await test.close();
    },
  };
}
