// Chaos: the host's clock is an hour off, to either side. Debian's package faketime.
import { existsSync } from 'node:fs';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { bundleJobs, CLI, type Running, startProcess, TICK } from '../support/processes.js';
import { openTestTock, type TestTock, until } from '../support/test-tock.js';

const LIBRARY = ['x86_64', 'aarch64']
  .map(machine => `/usr/lib/${machine}-linux-gnu/faketime/libfaketime.so.1`)
  .find(file => existsSync(file));

let test: TestTock;
const running: Running[] = [];
beforeEach(async () => {
  test = await openTestTock();
});
afterEach(async () => {
  for (const each of running.splice(0)) each.child.kill('SIGKILL');
  await test.close();
});

/** Starts a process whose clock shows another time. Its timers, which count from the start of the machine, are right. */
const shifted = async (script: string, shift: string, args: string[] = []) => {
  const started = startProcess(
    script,
    {
      DATABASE_URL: test.url,
      TOCK_JOBS: await bundleJobs('test/chaos/clock-jobs.ts'),
      TOCK_LOG_LEVEL: 'silent',
      LD_PRELOAD: LIBRARY ?? '',
      FAKETIME: shift,
      FAKETIME_DONT_FAKE_MONOTONIC: '1',
    },
    args,
  );
  running.push(started);
  return started;
};

/** Every time that is stored in any table, and how far it is from the database's clock, in minutes. */
async function farTimes(): Promise<string[]> {
  const columns = await test.sql<{ place: string; name: string }>(`
    select c.table_name as place, c.column_name as name from information_schema.columns c
    join information_schema.tables t using (table_schema, table_name)
    where c.table_schema = 'tock' and c.data_type = 'timestamp with time zone' and t.table_type = 'BASE TABLE'
      and table_name not in ('test_clock', 'migrations')`);
  const times = columns.map(
    ({ place, name }) => `select '${place}.${name}' as place, "${name}" as at from tock."${place}"`,
  );
  times.push(
    `select 'errors.at', (e ->> 'at')::timestamptz from tock.job_runs, jsonb_array_elements(errors) e`,
    `select 'key ' || idempotency_key, substring(idempotency_key from 'cron:\\d+:(.*)')::timestamptz from tock.job_runs where idempotency_key like 'cron:%'`,
  );
  const rows = await test.sql<{ text: string }>(`
    select place || ' ' || round(extract(epoch from at - statement_timestamp()) / 60) || ' min' as text
    from (${times.join(' union all ')}) t
    where isfinite(at) and abs(extract(epoch from at - statement_timestamp())) > 600`);
  return rows.map(row => row.text);
}

describe.skipIf(LIBRARY === undefined)('13: the host’s clock is wrong (needs Debian’s faketime)', () => {
  it.each(['+1h', '-1h'])('a tick at %s of the time stores nothing that is shifted', async shift => {
    const first = await (await shifted(TICK, shift, ['--json'])).ended;
    expect(first).toMatchObject({ code: 0, stderr: '' });
    await test.sql(`update tock.job_definitions set cursor = tock.now() - interval '90 seconds',
      next_at = tock.now() - interval '60 seconds' where cron is not null`);
    await test.sql(`select tock.enqueue(job) from unnest(array['fails', 'tells', 'expired']) as job`);
    // One whose holder has vanished: it is taken back, with a backoff.
    await test.sql(`update tock.job_runs_live set status = 'running', attempts = 1, fence = 1,
      locked_by = gen_random_uuid(), locked_until = tock.now() - interval '1 second' where job = 'expired'`);
    const ended = await (await shifted(TICK, shift, ['--json'])).ended;
    expect(ended).toMatchObject({ code: 0, stderr: '' });
    const [told] = await test.sql<{ hours: number }>(`select round(extract(epoch from
      (output ->> 'hostTime')::timestamptz - statement_timestamp()) / 3600)::int as hours from tock.job_runs where job = 'tells'`);
    // The process did believe that it was another time.
    expect(told?.hours).toBe(shift === '+1h' ? 1 : -1);
    expect(await farTimes()).toEqual([]);
    const rows = await test.sql<{ job: string; status: string; wait: number }>(`
      select job, status, round(extract(epoch from run_at - coalesce(started_at, created_at)))::int as wait
      from tock.job_runs where job in ('fails', 'expired', 'later', 'minutely') and status <> 'skipped' order by job`);
    expect(rows).toMatchObject([
      { job: 'expired', status: 'failed' },
      { job: 'fails', status: 'failed', wait: 100 },
      { job: 'later', status: 'queued', wait: 300 },
      { job: 'minutely', status: 'succeeded' },
    ]);
  });

  it.each(['+1h', '-1h'])('a daemon at %s of the time runs what comes due, at its time', async shift => {
    const daemon = await shifted(CLI, shift, ['start', '--no-listen']);
    await until(
      async () =>
        (await test.sql(`select from tock.job_runs where job = 'secondly' and status = 'succeeded'`))
          .length >= 3,
      'three occurrences',
    );
    daemon.child.kill('SIGTERM');
    expect(await daemon.ended).toMatchObject({ code: 0 });
    expect(await farTimes()).toEqual([]);
    expect(await test.sql('select from tock.job_runs where started_at < run_at')).toEqual([]);
  });
});
