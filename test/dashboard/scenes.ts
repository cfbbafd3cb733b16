// Room: tests of the dashboard. A database as an operator meets it: unused, new, on an ordinary day, and in a disaster.
// In: a Tock with the jobs of this file, on the database's own clock. Out: rows around now.
import { defineJob } from '../../src/index.js';
import type { TestTock } from '../support/test-tock.js';

const run = () => null;

export const SCENE_JOBS = [
  defineJob({ name: 'close-the-day', schedule: { cron: '30 9 * * *', timezone: 'Asia/Kolkata' }, run }),
  defineJob({
    name: 'send-invoice-reminders',
    schedule: { cron: '0 8 * * mon-fri', timezone: 'Europe/Berlin' },
    run,
  }),
  defineJob({ name: 'hourly-rollup', schedule: { cron: '0 * * * *' }, run }),
  defineJob({
    name: 'export-ledger',
    schedule: { after: 'hourly-rollup' },
    run,
  }),
  defineJob({ name: 'rotate-keys', schedule: { every: '20m' }, run }),
  defineJob({ name: 'nightly-backup', schedule: { cron: '30 2 * * *', timezone: 'America/New_York' }, run }),
  defineJob({ name: 'prune-history', schedule: { cron: '30 3 * * *' }, run }),
  defineJob({ name: 'rebuild-search', run }),
  defineJob({ name: 'weekly-run-report', schedule: { cron: '0 7 * * mon' }, run }),
  defineJob({ name: 'sync-tenant', run }),
] as const;

const WORKERS = [
  ['web-1', 10],
  ['web-2', 20],
  ['web-3', 20],
] as const;

/** Jobs are registered, and nothing has run. */
export async function sceneNew(test: TestTock): Promise<void> {
  await test.tock.register();
}

/** Three workers, a steady load over the last day, a few retries, and one schedule that is paused. */
export async function sceneOrdinary(test: TestTock): Promise<void> {
  await sceneNew(test);
  // The scene was always so: nothing of it is counted yet.
  await test.sql(
    `update tock.figures_progress set (final_until, counted_until, hours_until) = (select at, at, at from date_bin('1 hour', now() - interval '2 days', 'epoch') at)`,
  );
  await test.sql(
    `insert into tock.ticks (host, folder, kind, first_at, at, tick_count, version, node, zone_data, clock_ms)
     select 'web-' || g, '/srv/app', 'tick', now() - interval '9 days', now() - interval '12 seconds', 12960, '0.1.0', '24.0.0', '2025c', 3 from generate_series(1, 3) g`,
  );
  const workers = await addWorkers(test, '3 seconds');
  for (let tenant = 1; tenant <= 40; tenant++) {
    await test.tock.schedules.upsert({
      name: `sync-tenant:${tenant}`,
      job: 'sync-tenant',
      every: '15m',
      jitter: '5m',
    });
  }
  // Those made before a quarter of an hour began and those made after it are due together all the same.
  await test.sql(
    `update tock.job_definitions set next_at = (select max(next_at) from tock.job_definitions where name like 'sync-tenant:%')
     where name like 'sync-tenant:%'`,
  );
  await test.tock.schedules.pause('prune-history', { note: 'until the audit is over' });
  await addEnded(test, 'succeeded', 2400, '70 minutes', 'sync-tenant');
  await addEnded(test, 'succeeded', 900, '23 hours', 'hourly-rollup');
  await addEnded(test, 'skipped', 18, '55 minutes', 'rotate-keys');
  await addEnded(test, 'cancelled', 2, '40 minutes', 'rebuild-search');
  await test.sql(
    `insert into tock.job_runs (job, run_at, priority) select 'sync-tenant', now() - g * interval '30 milliseconds', 0 from generate_series(1, 124) g`,
  );
  await test.sql(
    `insert into tock.job_runs (job, status, attempts, run_at) select 'deliver-webhook', 'failed', 2, now() + g * interval '40 seconds' from generate_series(1, 5) g`,
  );
  const progress: readonly (readonly [string, string, number, number | null, string | null])[] = [
    ['rebuild-search', workers[1] ?? '', 252, 0.62, 'stage 3 of 4: products'],
    ['weekly-run-report', workers[0] ?? '', 31, 0.88, 'rendering'],
    ['sync-tenant', workers[2] ?? '', 3, 0.15, 'tenant acme'],
    ['sync-tenant', workers[2] ?? '', 1, null, null],
  ];
  for (const [job, worker, seconds, fraction, stage] of progress) {
    await test.sql(
      `insert into tock.job_runs (job, status, attempts, fence, locked_by, locked_until, run_at, started_at, progress)
       values ($1, 'running', 1, 1, $2, now() + interval '55 seconds', now() - $3 * interval '1 second', now() - $3 * interval '1 second', $4)`,
      [job, worker, seconds, fraction === null ? null : JSON.stringify({ fraction, stage, events: 7 })],
    );
  }
}

/** Somebody has paused all schedules together, and two queues, in which runs wait. */
export async function scenePaused(test: TestTock): Promise<void> {
  await sceneOrdinary(test);
  await test.tock.schedules.pauseMany({}, { note: 'the warehouse is being moved' });
  await test.tock.queues.pause('default', { note: 'the warehouse is being moved' });
  await test.tock.queues.pause('mail', { note: 'the provider is down' });
  await test.sql(
    `insert into tock.job_runs (job, queue, run_at) select 'send-invoice-reminders', 'mail', now() - interval '47 minutes' + g * interval '1 second' from generate_series(1, 240) g`,
  );
}

/** Nothing ticks, workers are silent, runs are dead, and the backlog is longer than anybody counts. */
export async function sceneDisaster(test: TestTock): Promise<void> {
  await sceneOrdinary(test);
  await test.sql(`update tock.ticks set at = now() - interval '11 minutes'`);
  await test.sql(`update tock.workers set seen_at = now() - interval '11 minutes'`);
  await test.sql(
    `update tock.job_runs_live set locked_until = now() - interval '10 minutes' where status = 'running'`,
  );
  await test.sql(
    `update tock.job_definitions set next_at = now() - interval '42 minutes' where name in ('rotate-keys', 'hourly-rollup')`,
  );
  await test.sql(
    `update tock.job_definitions set broken_at = now() - interval '2 hours', broken_reason = 'the zone Europe/Kyiv is not known to this version of Node; update Node on all hosts' where name = 'nightly-backup'`,
  );
  await addEnded(test, 'dead', 260, '35 minutes', 'send-invoice-reminders');
  await addEnded(test, 'dead', 3, '9 minutes', 'close-the-day');
  await test.tock.queues.pause('mail', { note: 'the provider is down' });
  await test.sql(
    `insert into tock.job_runs (job, queue, run_at) select 'send-invoice-reminders', 'mail', now() - interval '47 minutes' + g * interval '1 millisecond' from generate_series(1, 12000) g`,
  );
}

async function addWorkers(test: TestTock, seen: string): Promise<string[]> {
  const ids: string[] = [];
  for (const [index, [host, capacity]] of WORKERS.entries()) {
    const [row] = await test.sql<{ id: string }>(
      `insert into tock.workers (id, kind, host, pid, capacity, seen_at, started_at, heartbeat_ms)
       values (gen_random_uuid(), 'daemon', $1, $2, $3, now() - $4::interval, now() - interval '3 days', 15000) returning id`,
      [host, 4100 + index, capacity, seen],
    );
    ids.push(row?.id ?? '');
  }
  return ids;
}

/** Runs of a job that ended within `span`, more of them in waves, as traffic is. */
async function addEnded(
  test: TestTock,
  status: string,
  count: number,
  span: string,
  job: string,
): Promise<void> {
  await test.sql(
    `insert into tock.job_runs (job, definition_id, status, attempts, fence, run_at, created_at, started_at, finished_at, errors, skip_reason)
     select $1::text, (select id from tock.job_definitions where name = $1), $2::text, 1, 1, e.at, e.at, e.at, e.at + interval '1.8 seconds',
       case when $2 = 'dead' then jsonb_build_array(jsonb_build_object('at', e.at, 'attempt', 1, 'name', 'SmtpError', 'code', 'EAUTH',
         'message', '535 authentication failed', 'stack', null)) else '[]' end,
       case when $2 = 'skipped' then 'overlap' end
     from generate_series(1, $3) g cross join lateral (
       select now() - interval '3 seconds' - $4::interval * ((g + 0.06 * $3 * sin(g * 12.0 / $3)) / ($3 * 1.1)) as at) e`,
    [job, status, count, span],
  );
}
