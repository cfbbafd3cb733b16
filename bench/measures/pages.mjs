// How long the server takes for each page of the dashboard, over a full database.
// In: a server. Out: milliseconds of each page, p50 and p95.
import { createDashboard } from '../../dist/dashboard.js';
import { createTock } from '../../dist/index.js';
import { contestant } from '../contestants/index.mjs';
import { createDatabase } from '../lib/database.mjs';
import { figure, percentiles, rowOf } from '../lib/measure.mjs';

const DEFINITIONS = 1000;
const WAITING = 200_000;
const JOBS = 200;
const QUEUES = 10;
const DAYS = 20;
const WARM_UPS = 3;

const DEFINE = `
insert into tock.job_definitions (name, job, origin, cron, timezone, cursor, next_at)
select 'definition-' || lpad(i::text, 4, '0'), 'job-' || i % ${JOBS}, 'runtime', case when i = 1 then '* * * * *' else '0 * * * *' end,
  'Europe/Berlin', now(), date_trunc('hour', now()) + interval '1 hour'
from generate_series(1, ${DEFINITIONS}) as i`;

/**
 * Every definition an hourly history, the first one of each minute; the rest were enqueued. One in a hundred is dead,
 * with one of three errors; one in fifty was skipped.
 */
const FINISHED = `
insert into tock.job_runs (job, definition_id, queue, payload, status, attempts, fence, run_at, created_at, started_at, finished_at,
  scheduled_for, trigger, errors, skip_reason)
select 'job-' || n % ${JOBS}, definition, 'queue-' || n % ${QUEUES}, jsonb_build_object('tenant', n % 1000), status,
  case status when 'dead' then 3 when 'skipped' then 0 else 1 end, 1, at, at,
  case when status <> 'skipped' then at + interval '20 milliseconds' end, at + (20 + n % 400) * interval '1 millisecond',
  case when definition is not null then date_trunc('minute', at) end, case when definition is null then 'api' else 'cron' end,
  case when status = 'dead' then jsonb_build_array(jsonb_build_object('at', at, 'attempt', 3, 'name', 'Error',
    'message', (array['connect ECONNREFUSED 10.0.0.' || n % 250, 'SMTP 535 authentication failed', 'no such tenant ' || n])[1 + n % 3])) else '[]' end,
  case when status = 'skipped' then 'overlap' end
from (
  select n, case when n % 20 = 0 then (n / 20) % (${DEFINITIONS} - 1) + 2
      when n % 20 = 1 and date_trunc('minute', at) <> date_trunc('minute', at + 20 * step) then 1 end as definition,
    case when n % 100 = 7 then 'dead' when n % 50 = 3 then 'skipped' else 'succeeded' end as status, at
  from generate_series($1::bigint, $1::bigint + $3::bigint - 1) as n
    cross join (select interval '1 second' * (${DAYS} * 86400.0 / $2::bigint) as step) as spread
    cross join lateral (select now() - n * step as at) as time
) as past`;

const LIVE = `
insert into tock.job_runs_live (job, payload, status, queue, run_at)
select 'job-' || i % ${JOBS}, jsonb_build_object('n', i), 'queued', 'queue-' || i % ${QUEUES}, now() - i * interval '1 millisecond'
from generate_series(1, ${WAITING}) as i`;

/** A page whose readers share what is read for it is measured for one who shares with nobody. */
const ALONE = true;

const PAGES = [
  ['Now', '/', ALONE],
  ['Now, of several readers', '/'],
  ['Schedules', '/schedules'],
  ['Schedules, by a part of the name', '/schedules?name=0999'],
  ['Schedule, each minute', '/schedules/definition-0001'],
  ['Schedule, each hour', '/schedules/definition-0500'],
  ['Runs', '/runs'],
  ['Runs, dead', '/runs?status=dead'],
  ['Runs, of a job', '/runs?job=job-7'],
  ['Runs, of a misspelt job', '/runs?job=jbo-7'],
  ['Runs, of a rare job, of all time', '/runs?job=rare&from=all'],
  ['Run', '/runs/1000'],
  ['Errors, 24 hours', '/errors'],
  ['Errors, 7 days', '/errors?span=7d'],
  ['Queues', '/queues'],
  ['Queue', '/queues/queue-1'],
  ['Workers', '/workers'],
  ['Load', '/load'],
  ['Audit', '/audit'],
  ['Doctor', '/doctor', ALONE],
  ['Metrics', '/metrics', ALONE],
];

export const pages = {
  name: 'pages',
  title: 'Pages of the dashboard over a full database: milliseconds at the server',
  unit: 'ms, p95',
  better: 'lower',
  defaults: { rounds: 40, runs: 1_000_000 },
  async run({ url: server, rounds, runs: asked, say, full }) {
    const finished = full ? 10_000_000 : asked;
    const database = await createDatabase(server);
    const tock = createTock({ connectionString: database.url, jobs: [], logger: false });
    const open = () =>
      createDashboard({
        tock,
        authorize: () => ({ user: 'bench', role: 'admin', seesPayloads: true }),
      });
    const dashboard = open();
    try {
      await fillHistory(database, finished, say);
      await countHistory(tock, database.sql);
      const rows = [];
      for (const [place, [label, path, isAlone = false]] of PAGES.entries()) {
        const latencies = [];
        for (let round = -WARM_UPS; round < rounds; round++) {
          const asked = isAlone ? open() : dashboard;
          // What is opened with the first request is no part of a page.
          if (isAlone) await msOf(asked, '/audit');
          const ms = await msOf(asked, path);
          if (isAlone) await asked.close();
          if (round >= 0) latencies.push(ms);
        }
        const { p50, value: _, ...rest } = percentiles(latencies);
        const p95 = latencies.toSorted((a, b) => a - b)[Math.floor(latencies.length * 0.95)];
        rows.push({
          ...rowOf({ label, own: true }, [{ value: p95, p50, ...rest }]),
          digits: 1,
          extra: { p50: figure(p50, 1) },
        });
        say.progress(place + 1, PAGES.length, `${label}: ${figure(p95, 1)} ms`);
      }
      return {
        rows,
        digits: 1,
        notes: [
          `${figure(finished)} finished runs of ${DAYS} days, ${figure(DEFINITIONS)} definitions, ${figure(WAITING)} waiting runs; ${rounds} requests each, after ${WARM_UPS}`,
        ],
      };
    } finally {
      await dashboard.close();
      await tock.close();
      await database.drop();
    }
  },
};

async function msOf(dashboard, path) {
  const began = performance.now();
  const answer = await dashboard.fetch(new Request(`http://localhost${path}`));
  const text = await answer.text();
  const ms = performance.now() - began;
  if (answer.status !== 200) throw new Error(`${path}: status ${answer.status}\n${text.slice(0, 500)}`);
  return ms;
}

const STEP = 500_000;

/** A database as it is after three weeks. */
export async function fillHistory({ url, sql }, finished, say) {
  await (await contestant('tock')).install(url);
  const { months } = await sql.one(
    `select array_agg(distinct to_char(day, 'YYYY-MM-01')) as months from generate_series(now() - interval '${DAYS} days', now(), '1 day') as day`,
  );
  const { current } = await sql.one(`select to_char(now(), 'YYYY-MM-01') as current`);
  for (const month of months)
    if (month !== current) await sql.rows(`select tock.make_partition($1::timestamp, 'month')`, [month]);
  await sql.rows(DEFINE);
  for (let from = 1; from <= finished; from += STEP)
    await sql.rows(FINISHED, [from, finished, Math.min(STEP, finished - from + 1)]);
  await sql.rows(
    `insert into tock.job_runs (job, status, attempts, fence, run_at, started_at, finished_at)
     select 'rare', 'succeeded', 1, 1, at, at, at from generate_series(now() - interval '${DAYS} days', now(), interval '5 days') at`,
  );
  await sql.rows(LIVE);
  await sql.rows('vacuum analyze');
  say.line(`  filled: ${figure(finished)} finished runs`);
}

/** Counts what ended in the last two days, as ticks do it minute by minute: no page shows more than a day of it. */
export async function countHistory(tock, sql) {
  await sql.rows('update tock.job_definitions set next_at = null');
  for (const queue of Array.from({ length: QUEUES }, (_, n) => `queue-${n}`)) await tock.queues.pause(queue);
  await sql.rows(
    `update tock.figures_progress set (final_until, counted_until, hours_until) =
      (select at, at, at from date_bin('1 hour', now() - interval '2 days', 'epoch') as at)`,
  );
  // Minutes first, then hours.
  const progress = async () =>
    (await sql.one(`select concat(final_until, hours_until) as text from tock.figures_progress`)).text;
  for (let before = await progress(); ; ) {
    await tock.tick({ budget: '1s' });
    const after = await progress();
    if (after === before) return;
    before = after;
  }
}
