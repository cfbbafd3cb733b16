// Several processes: a limit of 3 under one key, 2,000 runs, five workers that are killed again and again.
import { beforeAll, describe, expect, it } from 'vitest';
import { killAfterEach, openForEach } from '../support/open.js';
import { bundleJobs, CLI, startProcess } from '../support/processes.js';
import { openTestTock, until } from '../support/test-tock.js';

const RUNS = 2000;
const LIMIT = 3;
const WORKERS = 5;
const KILLS = 25;

let fixture: string;
beforeAll(async () => {
  fixture = await bundleJobs('test/processes/fixture-jobs.ts');
});

const test = openForEach(openTestTock);
const running = killAfterEach();

// Counts the unexpired leases under the key whenever one begins, in the transaction that begins it; and whoever
// begins one waits for the other, so that none is missed.
const WATCH = `
create table public.seen (leases int, at timestamptz default clock_timestamp());
create function public.watch() returns trigger language plpgsql as $$
declare leases int;
begin
  perform pg_advisory_xact_lock(42);
  select count(*) into leases from tock.job_runs_live
  where status = 'running' and locked_until > tock.now() and 'job:limited/tenant' = any(slot_keys);
  insert into public.seen (leases) values (leases);
  return null;
end $$;
create constraint trigger watch after update on tock.job_runs_live deferrable initially deferred
  for each row when (new.status = 'running' and old.status is distinct from 'running') execute function public.watch()`;

describe(`a limit of ${LIMIT} under a key, ${WORKERS} worker processes, ${RUNS} runs, ${KILLS} kills`, () => {
  it('is never exceeded, and all runs are finished', { timeout: 600_000 }, async () => {
    await test.sql(WATCH);
    await test.sql(
      `select tock.enqueue('limited', '{"tenant": "tenant"}', max_attempts => 50) from generate_series(1, ${RUNS})`,
    );
    const start = () => {
      const env = {
        DATABASE_URL: test.url,
        TOCK_JOBS: fixture,
        TOCK_LEASE: '1s',
        TOCK_HEARTBEAT: '200ms',
        TOCK_CONCURRENCY: '20',
        TOCK_LOG_LEVEL: 'silent',
      };
      const worker = startProcess(CLI, env, ['start']);
      running.push(worker);
      return worker;
    };
    const finished = async () =>
      (await test.sql<{ count: number }>(`select count(*)::int as count from tock.job_runs_finished`))[0]
        ?.count ?? 0;
    let workers = Array.from({ length: WORKERS }, start);
    for (let kill = 0; kill < KILLS; kill++) {
      // Each while it has work in hand.
      const before = await finished();
      await until(async () => (await finished()) >= Math.min(before + 20, RUNS), 'some more runs to end');
      const victim = workers[kill % WORKERS];
      victim?.child.kill('SIGKILL');
      workers = workers.map(each => (each === victim ? start() : each));
    }
    await until(async () => (await finished()) === RUNS, 'all runs to end', 300_000);
    const [seen] = await test.sql('select max(leases) as most, count(*)::int as leases from public.seen');
    expect(seen).toMatchObject({ most: LIMIT });
    const states = await test.sql(
      'select status, count(*)::int as count, count(distinct id)::int as runs from tock.job_runs group by status',
    );
    expect(states).toEqual([{ status: 'succeeded', count: RUNS, runs: RUNS }]);
    await until(
      async () => (await test.sql('select from tock.job_slots')).length === 0,
      'the places to be given back',
    );
  });
});
