// Chaos: the host's clock is an hour off, to either side. Debian's package faketime.
import { mkdtemp, rename, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import type { DoctorReport } from '../../src/index.js';
import { lacks } from '../support/needs.js';
import { killAfterEach, openForEach } from '../support/open.js';
import { bundleJobs, CLI, startProcess, TICK } from '../support/processes.js';
import { openTestTock, until } from '../support/test-tock.js';
import { FAKETIME } from './fast-clock.js';

const test = openForEach(openTestTock);
const running = killAfterEach();

/** Starts a process whose clock shows another time. Its timers, which count from the start of the machine, are right. */
const shifted = async (script: string, shift: string, args: string[] = []) =>
  await underClock(script, { FAKETIME: shift }, args);

const underClock = async (script: string, clock: Record<string, string>, args: string[] = []) => {
  const started = startProcess(
    script,
    {
      DATABASE_URL: test.url,
      TOCK_JOBS: await bundleJobs('test/chaos/clock-jobs.ts'),
      TOCK_LOG_LEVEL: 'silent',
      LD_PRELOAD: FAKETIME ?? '',
      FAKETIME_DONT_FAKE_MONOTONIC: '1',
      ...clock,
    },
    args,
  );
  running.push(started);
  return started;
};

/** A clock that can be set while a process runs; `set` takes seconds from the right time. */
const openLeapingClock = async (seconds: number) => {
  const file = path.join(await mkdtemp(path.join(tmpdir(), 'tock-clock-')), 'time');
  // Renamed into its place: whoever reads it meanwhile would find it empty.
  const set = async (shift: number) => {
    await writeFile(`${file}.new`, `${shift < 0 ? '' : '+'}${shift}`);
    await rename(`${file}.new`, file);
  };
  await set(seconds);
  return { set, env: { FAKETIME_TIMESTAMP_FILE: file, FAKETIME_NO_CACHE: '1' } };
};

/** Every time that is stored in any table, and how far it is from the database's clock, in minutes. */
async function farTimes(): Promise<string[]> {
  const columns = await test.sql<{ place: string; name: string }>(`
    select c.table_name as place, c.column_name as name from information_schema.columns c
    join information_schema.tables t using (table_schema, table_name)
    where c.table_schema = 'tock' and c.data_type = 'timestamp with time zone' and t.table_type = 'BASE TABLE'
      and table_name not in ('test_clock', 'migrations', 'upkeep') and column_name <> 'hours_until'`);
  const times = columns.map(
    ({ place, name }) => `select '${place}.${name}' as place, "${name}" as at from tock."${place}"`,
  );
  times.push(
    // A whole hour: the one that is under way, or the one before it where a new one has just begun.
    `select 'figures_progress.hours_until', case when hours_until between now() - interval '70 minutes' and now() then now() else hours_until end from tock.figures_progress`,
    // The turn of retention comes again after 22 hours.
    `select 'upkeep.' || kind, case when at - now() between interval '21:55' and interval '22:05' then now() else at end from tock.upkeep`,
    `select 'errors.at', (e ->> 'at')::timestamptz from tock.job_runs, jsonb_array_elements(errors) e`,
    `select 'key ' || idempotency_key, substring(idempotency_key from 'cron:\\d+:(.*)')::timestamptz from tock.job_runs where idempotency_key like 'cron:%'`,
  );
  const rows = await test.sql<{ text: string }>(`
    select place || ' ' || round(extract(epoch from at - statement_timestamp()) / 60) || ' min' as text
    from (${times.join(' union all ')}) t
    where isfinite(at) and abs(extract(epoch from at - statement_timestamp())) > 600`);
  return rows.map(row => row.text);
}

describe.skipIf(lacks('faketime'))('13: the host’s clock is wrong (needs Debian’s faketime)', () => {
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
      select job, status, round(extract(epoch from run_at - coalesce((errors -> -1 ->> 'at')::timestamptz, created_at)), -1)::int as wait
      from tock.job_runs where job in ('fails', 'expired', 'later', 'minutely') and status <> 'skipped' order by job`);
    expect(rows).toMatchObject([
      { job: 'expired', status: 'failed' },
      { job: 'fails', status: 'failed', wait: 100 },
      { job: 'later', status: 'queued', wait: 300 },
      { job: 'minutely', status: 'succeeded' },
    ]);
  });

  it.each([
    ['+1h', 'ahead'],
    ['-1h', 'behind'],
  ])(
    'the doctor on a host at %s of the time says so, and other hosts see it on record',
    async (shift, side) => {
      const examine = async (clock: string) => {
        const { stdout } = await (await shifted(CLI, clock, ['doctor', '--json'])).ended;
        const { checks } = JSON.parse(stdout) as DoctorReport;
        return checks.find(({ code }) => code === 'clock');
      };
      expect(await (await shifted(TICK, '+0s')).ended).toMatchObject({ code: 0 });
      const found = await examine(shift);
      expect(found).toMatchObject({ level: 'warning', command: 'timedatectl set-ntp true' });
      expect(found?.text).toMatch(new RegExp(`'s is (1h|59m \\d+s|1h \\d+s) ${side}`));
      // What that command does.
      expect(await examine('+0s')).toMatchObject({ level: 'ok' });
      // Another host's tick with a wrong clock.
      expect(await (await shifted(TICK, shift)).ended).toMatchObject({ code: 0 });
      await test.sql(
        `update tock.ticks set host = 'web-2', clock_ms = ${side === 'ahead' ? '' : '-'}3600000`,
      );
      expect((await examine('+0s'))?.text).toContain(`web-2's is 1h ${side}`);
    },
  );

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

  it('the beat goes on when the clock leaps, and nothing is printed', async () => {
    const clock = await openLeapingClock(0);
    const beat = await underClock(await bundleJobs('test/chaos/beat-process.ts'), clock.env);
    const beats = () => beat.output().split('\n').filter(Boolean).map(Number);
    for (const hours of [0, -1, 1, 24 * 365 * 20]) {
      await clock.set(hours * 3600);
      const shown = () =>
        beats().filter(at => Math.abs(at - Date.now() - hours * 3_600_000) < 30 * 60_000).length;
      await until(() => Promise.resolve(shown() >= 3), `three beats at ${hours} hours`);
    }
    beat.child.kill('SIGKILL');
    expect((await beat.ended).stderr).toBe('');
  });

  it.each([-1, 1])(
    'a daemon whose clock is set by %i hours keeps its definitions in force, and prints nothing',
    async hours => {
      // Some seconds before the turn of a minute, that the test need not wait for long.
      const untilTurn = 60 - (Math.floor(Date.now() / 1000) % 60);
      const clock = await openLeapingClock(untilTurn - 8);
      const daemon = await underClock(CLI, clock.env, ['start', '--no-listen']);
      const seen = async () =>
        (await test.sql(`select from tock.registrations where seen_at > tock.now() - interval '4 minutes'`))
          .length > 0;
      // Its first look is over: from here on it registers with the beat alone.
      const isUp = async () =>
        (await test.sql(`select from tock.job_runs where status = 'succeeded'`)).length > 0;
      await until(isUp, 'the daemon to work');
      await clock.set(untilTurn - 8 + hours * 3600);
      await test.sql(`update tock.registrations set seen_at = tock.now() - interval '5 minutes'`);
      await test.sql(`update tock.ticks set at = tock.now() - interval '5 minutes'`);
      await until(seen, 'a beat');
      const noted = async () =>
        (
          await test.sql(
            `select from tock.ticks where kind = 'daemon' and at > tock.now() - interval '4 minutes'`,
          )
        ).length > 0;
      await until(noted, 'the beat to be on record');
      daemon.child.kill('SIGTERM');
      expect(await daemon.ended).toMatchObject({ code: 0, stderr: '' });
    },
  );
});
