// Room: tests of the dashboard. Schedules with a history, written as rows: an ordinary one, and one where all is wrong.
import { defineJob } from '../../src/index.js';
import type { TestTock } from '../support/test-tock.js';

/** The time in these scenes: three weeks after New York's clocks changed. */
export const SCENE_NOW = '2026-11-12T15:22:10Z';
const NAMES = ['backup', 'verify', 'report', 'invoice', 'clean-up', 'heartbeat', 'probe', 'sync', 'by-hand'];
export const SCENE_JOBS = NAMES.map(name => defineJob({ name, run: () => null }));

export const LONG_NAME = `${'tenant-with-a-very-long-name.'.repeat(6)}end`;

interface History {
  readonly from: string;
  readonly to: string;
  readonly step: string;
  /** SQL conditions over the number `n` of a run. */
  readonly dead?: string;
  readonly retried?: string;
  readonly seconds?: string;
}

/** Runs at regular times. */
async function addHistory(test: TestTock, name: string, history: History): Promise<void> {
  const { from, to, step, dead = 'false', retried = 'false', seconds = '40 + n % 20' } = history;
  // Days and months are those of the definition's clock.
  const isLocal = /day|month/.test(step);
  const times = isLocal
    ? `(select l at time zone d.timezone, n from generate_series($2::timestamptz at time zone d.timezone, $3::timestamptz at time zone d.timezone, $4::interval) with ordinality s(l, n))`
    : 'generate_series($2::timestamptz, $3::timestamptz, $4::interval) with ordinality';
  await test.sql(
    `insert into tock.job_runs_finished (definition_id, job, status, scheduled_for, run_at, started_at, finished_at, attempts, fence, trigger, idempotency_key)
     select d.id, d.job, case when ${dead} then 'dead' else 'succeeded' end, t, t, t + interval '1 s', t + interval '1 s' + (${seconds}) * interval '1 s',
       case when ${retried} then 3 else 1 end, 1, 'cron', 'cron:' || d.id || n
     from tock.job_definitions d, ${isLocal ? `lateral ${times}` : times} g(t, n) where d.name = $1`,
    [name, from, to, step],
  );
}

export async function sceneOrdinary(test: TestTock): Promise<void> {
  await test.setClock(SCENE_NOW);
  await test.sql(`
    insert into tock.job_definitions (name, job, cron, timezone, overlap, catchup, jitter_ms, cursor, next_at, created_at, queue, payload, origin) values
      ('nightly-backup', 'backup', '30 2,6,10,14,18,22 * * *', 'America/New_York', 'skip', 'latest', 0, '2026-11-12T15:00Z', '2026-11-12T15:30Z', '2026-09-01', 'slow', '{"keep": 14}', 'code'),
      ('weekly-report', 'report', '0 9 * * MON', 'Europe/Berlin', 'skip', 'latest', 0, '2026-11-09T08:00Z', '2026-11-16T08:00Z', '2025-09-01', 'default', '{}', 'code'),
      ('monthly-invoice', 'invoice', '0 6 1 * *', 'Europe/Berlin', 'buffer_all', 'all', 600000, '2026-11-01T05:00Z', '2026-12-01T05:00Z', '2025-12-20', 'billing', '{}', 'code'),
      ('clean-up', 'clean-up', '15 4 * * *', 'UTC', 'skip', 'latest', 0, '2026-11-12T04:15Z', '2026-11-13T04:15Z', '2026-11-05T12:00Z', 'default', '{}', 'runtime');
    insert into tock.job_definitions (name, job, every_ms, cursor, next_at, created_at, timezone) values
      ('heartbeat', 'heartbeat', 60000, '2026-11-12T15:22Z', '2026-11-12T15:23Z', '2026-09-01', 'America/New_York'),
      ('probe', 'probe', 10000, '2026-11-12T15:22:10Z', '2026-11-12T15:22:20Z', '2026-11-11T12:00Z', 'UTC'),
      ('sync-acme', 'sync', 900000, '2026-11-12T15:15Z', '2026-11-12T15:30Z', '2026-11-01', 'UTC');
    insert into tock.job_definitions (name, job, after, created_at, next_at) values
      ('verify-backup', 'verify', '{"definitions": ["nightly-backup"], "require": "all", "on": "success"}', '2026-09-01', null);
    insert into tock.job_definitions (name, job, next_at) values ('by-hand', 'by-hand', null);
    insert into tock.job_runs_finished (definition_id, job, status, scheduled_for, run_at, started_at, finished_at, attempts, fence, trigger, idempotency_key)
      select d.id, d.job, 'succeeded', t, t, t + interval '2 s', t + interval '2 s' + (240 + extract(epoch from t)::bigint / 1800 % 120) * interval '1 s',
        case when extract(epoch from t)::bigint / 1800 % 17 = 0 then 2 else 1 end, 1, 'cron', 'k'
      from tock.job_definitions d, (select (day + hour * interval '1 h' + interval '30 min') at time zone 'America/New_York' as t
        from generate_series('2026-10-20'::timestamp, '2026-11-12'::timestamp, '1 day') day, unnest(array[2, 6, 10, 14, 18, 22]) hour) times
      where d.name in ('nightly-backup', 'verify-backup') and t <= '2026-11-12T15:00Z';
    update tock.job_runs_finished set status = 'dead', attempts = 5 where scheduled_for = '2026-11-07T23:30Z' and job = 'backup';
    update tock.job_runs_finished set status = 'skipped', skip_reason = 'overlap', started_at = null, interval_start = scheduled_for
      where scheduled_for = '2026-11-05T19:30Z' and job = 'backup';
    delete from tock.job_runs_finished where scheduled_for in ('2026-11-10T03:30Z', '2026-11-10T07:30Z') and job = 'backup'`);
  await addHistory(test, 'weekly-report', {
    from: '2025-11-17T08:00Z',
    to: '2026-11-09T08:00Z',
    step: '7 days',
  });
  await addHistory(test, 'monthly-invoice', {
    from: '2026-01-01T05:00Z',
    to: '2026-11-01T05:00Z',
    step: '1 month',
  });
  await addHistory(test, 'clean-up', { from: '2026-11-06T04:15Z', to: '2026-11-12T04:15Z', step: '1 day' });
  await addHistory(test, 'heartbeat', {
    from: '2026-10-30T00:00Z',
    to: '2026-11-12T15:22Z',
    step: '1 min',
    dead: 'n % 977 = 5',
    retried: 'n % 311 = 3',
    seconds: '0.2 + n % 7 / 10.0',
  });
  await addHistory(test, 'probe', {
    from: '2026-11-11T12:00:10Z',
    to: '2026-11-12T15:22:10Z',
    step: '10 s',
    seconds: '0.4',
  });
  await addHistory(test, 'sync-acme', {
    from: '2026-11-02T00:00Z',
    to: '2026-11-12T15:00Z',
    step: '15 min',
    dead: 'n % 90 = 5',
    retried: 'n % 60 = 3',
    seconds: '10 + n * 7 % 30',
  });
  // The scheduler was down for a while, and one run is on its way.
  await test.sql(`
    delete from tock.job_runs_finished where job = 'heartbeat' and scheduled_for between '2026-11-09T03:10Z' and '2026-11-09T05:50Z';
    insert into tock.job_runs_finished (definition_id, job, status, scheduled_for, interval_start, run_at, finished_at, trigger, skip_reason, occurrence_count, idempotency_key)
      select id, job, 'skipped', '2026-11-09T05:50Z', '2026-11-09T03:10Z', tock.now(), '2026-11-09T05:51Z', 'cron', 'catchup', 161, 'k'
      from tock.job_definitions where name = 'heartbeat';
    insert into tock.job_runs_live (definition_id, job, status, scheduled_for, run_at, started_at, locked_until, locked_by, attempts, fence, trigger)
      select id, job, 'running', '2026-11-12T15:15Z', '2026-11-12T15:15Z', '2026-11-12T15:15:01Z', '2026-11-12T16:00Z', '00000000-0000-4000-8000-000000000001', 1, 1, 'cron'
      from tock.job_definitions where name = 'sync-acme';
    insert into tock.job_definitions (name, job, cron, timezone, next_at)
      select 'tenant-' || n, 'sync', (array['0 7 * * *', '0 * * * *', '*/15 8-18 * * 1-5', '30 2 * * *'])[1 + n % 4], 'Europe/Berlin', '2026-11-12T16:00Z' from generate_series(1, 60) n`);
}

export async function sceneMessy(test: TestTock): Promise<void> {
  await test.setClock(SCENE_NOW);
  await test.sql(
    `insert into tock.job_definitions (name, job, cron, timezone, dst, cursor, next_at, created_at, broken_at, broken_reason, paused_at, pause_reason, origin, active_window) values
      ($1, 'sync', '*/30 1-3 * * *', 'Australia/Lord_Howe', 'literal', '2026-11-11T00:00Z', '2026-11-11T14:00Z', '2026-09-01', null, null, null, null, 'runtime', '23:00-06:00'),
      ('broken', 'gone-job', 'not a cron <b>x</b>', 'Mars/Phobos', 'once', '2026-11-11T00:00Z', '2026-11-11T14:00Z', '2026-09-01', '2026-11-11T00:00Z', 'cron "not a cron" has 3 fields; write five: minute hour day-of-month month weekday', null, null, 'code', null),
      ('paused', 'sync', '0 */2 * * *', 'America/New_York', 'once', '2026-11-10T00:00Z', '2026-11-11T14:00Z', '2026-11-03', null, null, '2026-11-11T00:00Z', $2, 'code', null),
      ('late', 'sync', '0 * * * *', 'UTC', 'once', '2026-11-12T10:00Z', '2026-11-12T11:00Z', '2026-11-03', null, null, null, null, 'code', null),
      ('lost', 'sync', '*/5 9-17 * * 1-5', 'Asia/Kathmandu', 'once', '2026-11-12T15:00Z', '2026-11-13T03:15Z', '2026-11-03', null, null, null, null, 'code', null)`,
    [LONG_NAME, 'the customer moves to another data centre; ask Mia before it is resumed '.repeat(4)],
  );
  await addHistory(test, 'late', {
    from: '2026-11-03T00:00Z',
    to: '2026-11-12T10:00Z',
    step: '1 h',
    dead: 'n % 5 = 2',
    retried: 'n % 4 = 1',
    seconds: 'exp(n * 7 % 8)',
  });
  await addHistory(test, 'paused', {
    from: '2026-11-03T01:00Z',
    to: '2026-11-10T01:00Z',
    step: '2 h',
    dead: 'n > 80',
  });
  await test.sql(`
    update tock.job_runs_finished r set status = 'cancelled' from tock.job_definitions d
      where d.id = r.definition_id and d.name = 'late' and extract(hour from scheduled_for) = 7;
    delete from tock.job_runs_finished r using tock.job_definitions d
      where d.id = r.definition_id and d.name = 'late' and extract(hour from scheduled_for) in (4, 5) and extract(day from scheduled_for)::int % 2 = 0`);
}
