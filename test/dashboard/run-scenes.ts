// Room: tests of the dashboard. Histories of runs as rows: an ordinary day, and one on which everything fails.
import { defineJob } from '../../src/index.js';
import { addRuns } from '../support/runs.js';
import type { TestTock } from '../support/test-tock.js';

export const RUNS_NOW = '2026-11-22T09:13:24Z';
export const RUN_JOBS = [
  'mail',
  'rebuild-search',
  'send-invoice-reminders',
  'sync-tenant',
  'export-ledger',
].map(name => defineJob({ name, run: () => undefined }));

const WORKER = '00000000-0000-4000-8000-000000000001';
/** Seconds from now. */
const at = (seconds: number) => new Date(Date.parse(RUNS_NOW) + seconds * 1000).toISOString();

const error = (
  attempt: number,
  [due, began, ended]: readonly [number, number, number],
  more: object = {},
) => ({
  at: at(ended),
  attempt,
  name: 'Error',
  code: null,
  message: 'SMTP 535 authentication failed',
  stack:
    'Error: SMTP 535 authentication failed\n    at send (/srv/app/jobs/mail.js:41:11)\n    at async run (/srv/app/jobs/mail.js:12:3)',
  dueAt: at(due),
  startedAt: at(began),
  worker: 'web-1 pid 4711',
  ...more,
});

/** Ids of the runs that a page is looked at for. */
export const RUNS = {
  lost: '2001',
  dead: '2002',
  waited: '2003',
  running: '2004',
  blocked: '2005',
  retrying: '2006',
  long: '2008',
  stopped: '2009',
};

export async function sceneOrdinaryRuns(test: TestTock): Promise<void> {
  await test.setClock(RUNS_NOW);
  await test.sql(
    `insert into tock.workers (id, kind, host, pid, capacity) values ('${WORKER}', 'daemon', 'web-2', 811, 10)`,
  );
  await test.sql(
    `insert into tock.job_definitions (id, name, job, cron, timezone) overriding system value
     values (7, 'invoices-de', 'send-invoice-reminders', '0 8 * * 1-5', 'Europe/Berlin')`,
  );
  await test.sql(
    `insert into tock.job_runs_finished (id, job, status, skip_reason, attempts, created_at, run_at, started_at, finished_at, payload)
     select 1000 + n, (array['mail', 'sync-tenant', 'export-ledger'])[1 + n % 3], s.status, s.reason, (s.status <> 'skipped')::int,
       t.at, t.at, case when s.status <> 'skipped' then t.at + interval '1 s' end, t.at + n % 7 * interval '2300 ms', jsonb_build_object('tenant', n)
     from generate_series(1, 120) n, lateral (select tock.now() - (7000 - n * 50) * interval '1 s' as at) t,
       lateral (select case when n % 17 = 3 then 'cancelled' when n % 11 = 5 then 'skipped' else 'succeeded' end as status,
         case when n % 17 = 3 then 'wrong month' when n % 11 = 5 then 'overlap' end as reason) s`,
  );
  const invoices = { job: 'send-invoice-reminders', definition_id: 7, trigger: 'cron' };
  await addRuns(
    test,
    {
      ...invoices,
      id: 2000,
      scheduled_for: at(-91_800),
      status: 'succeeded',
      attempts: 1,
      created_at: at(-91_800),
      run_at: at(-91_800),
      started_at: at(-91_799),
      finished_at: at(-91_790),
    },
    {
      ...invoices,
      id: RUNS.lost,
      scheduled_for: at(-5400),
      interval_start: at(-91_800),
      status: 'succeeded',
      attempts: 3,
      max_attempts: 5,
      fence: 3,
      created_at: at(-5401),
      run_at: at(-5250),
      started_at: at(-5248),
      finished_at: at(-5236),
      locked_by: WORKER,
      idempotency_key: 'invoice_reminders:2026-11-22',
      payload: '{"month": "2026-11", "customer": {"id": 12345678901234567890, "name": "Ännchen & Söhne"}}',
      output: '{"sent": 214, "skipped": 3}',
      errors: JSON.stringify([
        error(1, [-5400, -5399, -5391]),
        error(2, [-5381, -5372, -5310], {
          name: 'LeaseExpired',
          code: 'TOCK_LEASE_LOST',
          message:
            'the worker web-3 pid 90 stopped renewing its lease: it was killed, lost the database, or its event loop was blocked',
          stack: null,
          worker: 'web-3 pid 90',
        }),
      ]),
    },
    {
      ...invoices,
      id: RUNS.dead,
      scheduled_for: at(-9000),
      status: 'dead',
      attempts: 4,
      max_attempts: 4,
      fence: 4,
      created_at: at(-9000),
      run_at: at(-400),
      started_at: at(-398),
      finished_at: at(-397.2),
      payload: '{"month": "2026-11"}',
      errors: JSON.stringify([
        error(1, [-9000, -8999.6, -8998.5]),
        error(2, [-8969, -8968, -8960]),
        error(3, [-6109, -6108.1, -6100]),
        error(4, [-400, -398, -397.2], {
          cause: {
            name: 'AggregateError',
            code: 'E_ALL',
            message: 'all hosts refused',
            stack: null,
            errors: [
              {
                name: 'Error',
                code: 'ECONNREFUSED',
                message: 'connect ECONNREFUSED 10.0.0.1:25',
                stack: null,
              },
            ],
          },
        }),
      ]),
    },
    {
      id: RUNS.waited,
      job: 'export-ledger',
      status: 'succeeded',
      attempts: 1,
      created_at: at(-43_000),
      run_at: at(-3000),
      started_at: at(-2999.7),
      finished_at: at(-2998.1),
    },
    {
      id: RUNS.running,
      job: 'rebuild-search',
      status: 'running',
      attempts: 1,
      max_attempts: 3,
      fence: 1,
      created_at: at(-253),
      run_at: at(-253),
      started_at: at(-252),
      locked_until: at(40),
      locked_by: WORKER,
      progress: '{"fraction": 0.62, "stage": "stage 3 of 4: products", "events": 31}',
      slot_keys: ['job:rebuild-search'],
      slot_limits: [1],
    },
    {
      id: RUNS.blocked,
      job: 'rebuild-search',
      created_at: at(-100),
      run_at: at(-100),
      slot_keys: ['job:rebuild-search'],
      slot_limits: [1],
      blocked_on: 'job:rebuild-search',
    },
    {
      id: RUNS.retrying,
      job: 'mail',
      status: 'failed',
      attempts: 2,
      fence: 2,
      created_at: at(-600),
      run_at: at(600),
      started_at: at(-300),
      errors: JSON.stringify([
        error(1, [-600, -599, -590]),
        error(2, [-301, -300, -292], { code: 'ETIMEDOUT', message: 'connect ETIMEDOUT 10.0.0.7:587' }),
      ]),
    },
    {
      id: RUNS.long,
      job: 'sync-tenant',
      status: 'dead',
      attempts: 60,
      max_attempts: 60,
      fence: 60,
      created_at: at(-80_000),
      run_at: at(-5502),
      started_at: at(-5500),
      finished_at: at(-5491),
      errors: JSON.stringify(
        Array.from({ length: 50 }, (_, n) =>
          error(n + 11, [-79_002 + n * 1500, -79_000 + n * 1500, -78_991 + n * 1500], {
            message: `tenant ${n} not found`,
          }),
        ),
      ),
    },
    {
      id: RUNS.stopped,
      job: 'mail',
      status: 'cancelled',
      attempts: 1,
      fence: 1,
      created_at: at(-900),
      run_at: at(-900),
      started_at: at(-899),
      finished_at: at(-850),
      cancel_requested_at: at(-853),
      skip_reason: 'wrong month',
    },
  );
  await test.sql(`insert into tock.job_slots values ('job:rebuild-search', 1, ${RUNS.running}, 1)`);
  await test.sql(
    `insert into tock.job_effects (key, run_id, result, created_at) values
      ('step:${RUNS.lost}:collect', ${RUNS.lost}, '{"invoices": 217}', '${at(-5396)}'),
      ('step:${RUNS.lost}:send part 1', ${RUNS.lost}, '{"sent": 100}', '${at(-5246)}'),
      ('once:receipt-77', ${RUNS.lost}, null, '${at(-5240)}'),
      ('step:${RUNS.running}:customers', ${RUNS.running}, '{"rows": 21000}', '${at(-180)}')`,
  );
  await test.sql(`select setval('tock.job_runs_id_seq', 100000)`);
}

/** 11,000 dead runs of three errors within three hours, beside what is ordinary. */
export async function sceneDisasterOfRuns(test: TestTock): Promise<void> {
  await sceneOrdinaryRuns(test);
  await test.sql(
    `insert into tock.job_runs_finished (id, job, status, finished_at, created_at, run_at, started_at, attempts, max_attempts, errors)
     select 200000 + n, (array['mail', 'sync-tenant', 'export-ledger'])[1 + n % 3], 'dead', t.at, t.at - interval '9 s', t.at - interval '9 s', t.at - interval '3 s', 3, 3,
       jsonb_build_array(jsonb_build_object('at', to_char(t.at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"'), 'attempt', 3, 'name', 'Error',
         'code', (array[null, '23505', 'ETIMEDOUT'])[1 + n % 3],
         'message', (array['SMTP 535 authentication failed for user ' || n, 'duplicate key value violates unique constraint "x' || n || '"',
           'connect ETIMEDOUT 10.0.' || n % 255 || '.7:587 after ' || n || 'ms'])[1 + n % 3], 'stack', repeat('    at frame (file.js:1:1)' || chr(10), 20)))
     from generate_series(1, 11000) n, lateral (select tock.now() - n * n / 12000.0 * interval '1 s' as at) t`,
  );
}
