// How long the server takes for each page of the dashboard, over a full database.
// In: a server. Out: milliseconds of each page, p50 and p95.
import { createDashboard } from '../../dist/dashboard.js';
import { createTock } from '../../dist/index.js';
import { contestant } from '../contestants/index.mjs';
import { createDatabase } from '../lib/database.mjs';
import { figure, percentiles, rowOf } from '../lib/measure.mjs';

const DEFINITIONS = 1000;
/** Of every day, and of a bad one. */
const FEW = 2000;
const MANY = 200_000;
const JOBS = 200;
const QUEUES = 10;
const DAYS = 20;
const WARM_UPS = 3;

const DEFINE = `
insert into tock.job_definitions (name, job, origin, cron, timezone, cursor, next_at)
select 'definition-' || lpad(i::text, 4, '0'), 'job-' || i % ${JOBS}, 'runtime', case when i = 1 then '* * * * *' else '0 * * * *' end,
  'Europe/Berlin', now(), date_trunc('hour', now()) + interval '1 hour'
from generate_series(1, ${DEFINITIONS}) as i`;

/** So many deploys, one after another, each with four workers. */
const DEPLOYS = 60;
/** A code of a deploy, by its name in SQL: what the ids of its workers begin with. */
const codeOf = name => `overlay(left(encode(sha256(${name}::bytea), 'hex'), 12) placing '-' from 9 for 0)`;

const DEPLOY = `
insert into tock.deploys (name, code, first_seen_at, marked_at)
select name, ${codeOf('name')}, seen, marked from (
  select 'v' || n as name, now() - (${DEPLOYS} - n + 1) * interval '1 day' * (${DAYS}.0 / ${DEPLOYS}) as seen, null::timestamptz as marked
  from generate_series(1, ${DEPLOYS}) as n
  union all values ('canary', now() - interval '${DAYS} days', null), ('hotfix', now() - interval '${DAYS} days' * 0.3001, null),
    ('unused', null, now() - interval '5 days')
) as deploys`;

/**
 * Every definition an hourly history, the first one of each minute; the rest were enqueued. One in a hundred is dead,
 * with one of three errors; one in fifty was skipped. One in a thousand had failed in the deploy before, and has succeeded.
 * Deploys follow one another; `canary` has every 500,000th run, `hotfix` fifty at once. A tenth has tags: `mail`, one of a
 * thousand customers, and `campaign` where they are of a few hours, long ago.
 */
const FINISHED = `
insert into tock.job_runs (job, definition_id, queue, payload, status, attempts, fence, run_at, created_at, started_at, finished_at,
  scheduled_for, trigger, errors, skip_reason, locked_by, tags)
select 'job-' || n % ${JOBS}, definition, 'queue-' || n % ${QUEUES}, jsonb_build_object('tenant', n % 1000), status,
  case when status = 'dead' then 3 when status = 'skipped' then 0 when has_failed then 2 else 1 end, 1, at, at,
  case when status <> 'skipped' then at + interval '20 milliseconds' end, at + (20 + n % 400) * interval '1 millisecond',
  case when definition is not null then date_trunc('minute', at) end, case when definition is null then 'api' else 'cron' end,
  case when status = 'dead' or has_failed then jsonb_build_array(jsonb_build_object('at', at, 'attempt', case when has_failed then 1 else 3 end,
    'name', 'Error', 'deploy', case when has_failed then 'v' || greatest(nth - 1, 1) else deploy end,
    'message', (array['connect ECONNREFUSED 10.0.0.' || n % 250, 'SMTP 535 authentication failed', 'no such tenant ' || n])[1 + n % 3])) else '[]' end,
  case when status = 'skipped' then 'overlap' end,
  case when status <> 'skipped' then (code || '-4000-8000-00000000000' || n / 3 % 4)::uuid end,
  case when n % 10 = 1 then array['mail', 'customer-' || n / 10 % 1000] || case when n between $2::bigint * 0.4 and $2::bigint * 0.42 then array['campaign'] end end
from (
  select n, case when n % 20 = 0 then (n / 20) % (${DEFINITIONS} - 1) + 2
      when n % 20 = 1 and date_trunc('minute', at) <> date_trunc('minute', at + 20 * step) then 1 end as definition,
    case when n % 100 = 7 then 'dead' when n % 50 = 3 then 'skipped' else 'succeeded' end as status, n % 1000 = 13 as has_failed, at, nth,
    case when n % 500000 = 11 then 'canary' when n between $2::bigint * 0.7 and $2::bigint * 0.7 + 49 then 'hotfix' else 'v' || nth end as deploy
  from generate_series($1::bigint, $1::bigint + $3::bigint - 1) as n
    cross join (select interval '1 second' * (${DAYS} * 86400.0 / $2::bigint) as step) as spread
    cross join lateral (select $4::timestamptz - ($2::bigint - n) * step as at) as time
    cross join lateral (select 1 + (n - 1) * ${DEPLOYS} / $2::bigint as nth) as turn
) as past join tock.deploys v on v.name = past.deploy order by n`;

const LIVE = `
insert into tock.job_runs_live (job, payload, status, queue, run_at)
select 'job-' || i % ${JOBS}, jsonb_build_object('n', i), 'queued', 'queue-' || i % ${QUEUES}, now() - i * interval '1 millisecond'
from generate_series($1::integer + 1, $2::integer) as i`;

const KEYS = 100_000;

/** All that waits is in one queue now, and of many customers, with two runs each. */
const SHARE = [
  `delete from tock.job_runs_live where job like 'job-%'`,
  `insert into tock.fair_scopes (queue, job, path) values ('shared', '', '$.customer')`,
  `insert into tock.fair_keys (name, queue, job, key) select '~shared//c' || i, 'shared', '', 'c' || i from generate_series(1, ${KEYS}) as i`,
  `insert into tock.job_runs_live (job, payload, status, queue, run_at, slot_keys, slot_limits, blocked_on)
   select 'job-' || i % ${JOBS}, jsonb_build_object('customer', 'c' || i % ${KEYS} + 1), 'queued', 'shared', now() - i * interval '1 millisecond',
     array['~shared//c' || i % ${KEYS} + 1], '{2147483647}', '~shared//c' || i % ${KEYS} + 1
   from generate_series(1, ${MANY}) as i`,
  'vacuum analyze tock.job_runs_live, tock.fair_keys, tock.fair_scopes',
];

const SHARED_PAGES = [
  ['Now', '/', true],
  ['Queues', '/queues'],
  ['Queue', '/queues/shared'],
  ['Queue, one key', '/queues/shared?key=c777'],
  ['Doctor', '/doctor', true],
].map(([label, ...rest]) => [`${label}, ${KEYS / 1000}k fair keys`, ...rest]);

const MEMBERS = 10_000;

const ENQUEUE_GROUP = `
select tock.enqueue_group((select jsonb_agg(jsonb_build_object('job', 'member-' || n % 3)) from generate_series(1, ${MEMBERS}) as n), 'join')::text as id`;

/** Four in five members have ended, in their order but for the last; one in a hundred of them is dead, here and there. */
const END_MEMBERS = `
with gone as (
  delete from tock.job_runs_live r where r.id = any(array(select a.run_id from tock.job_awaited_runs a
    where a.position <= ${MEMBERS * 0.8} - a.position % 7 * 20)) returning *
), ended as (
  insert into tock.job_runs_finished (id, job, queue, payload, status, attempts, fence, run_at, created_at, started_at, finished_at, trigger, errors)
  select id, job, queue, payload, case when id % 101 = 0 then 'dead' else 'succeeded' end, 1, 1, run_at, created_at, tock.now(),
    tock.now() + id % 4000 * interval '1 millisecond', trigger, case when id % 101 = 0 then jsonb_build_array(jsonb_build_object(
      'at', tock.now(), 'attempt', 1, 'name', 'Error', 'message', 'no such image ' || id)) else '[]' end
  from gone returning id, status
)
update tock.job_awaited_runs a set status = e.status from ended e where a.run_id = e.id`;

/** A page whose readers share what is read for it is measured for one who shares with nobody. */
const ALONE = true;

const ago = days => new Date(Date.now() - days * 86_400_000).toISOString();

/** Deploys and tags: frequent ones of today, frequent ones of long ago, rare ones, and some that there are not. */
const PAGES = [
  ['Now', '/', ALONE],
  ['Now, of several readers', '/'],
  ['Schedules', '/schedules'],
  ['Schedules, by a part of the name', '/schedules?name=0999'],
  ['Schedule, each minute', '/schedules/definition-0001'],
  ['Schedule, each hour', '/schedules/definition-0500'],
  ['Job', '/jobs/job-7'],
  ['Job, rare', '/jobs/rare'],
  ['Runs', '/runs'],
  ['Runs, dead', '/runs?status=dead'],
  ['Runs, of a job', '/runs?job=job-7'],
  ['Runs, of a misspelt job', '/runs?job=jbo-7'],
  ['Runs, of a rare job, of all time', '/runs?job=rare&from=all'],
  ['Runs, with a frequent tag', '/runs?tag=mail'],
  ['Runs, with a frequent tag, of all time', '/runs?tag=mail&from=all'],
  ['Runs, with the tag of a customer, of all time', '/runs?tag=customer-7&from=all'],
  ['Runs, with a frequent tag of long ago', '/runs?tag=campaign&from=all'],
  ['Runs, with a rare tag, of all time', '/runs?tag=legal-hold&from=all'],
  ['Runs, with a misspelt tag, of all time', '/runs?tag=legal-hodl&from=all'],
  ['Runs, with a tag, of a job', '/runs?tag=mail&job=job-11&from=all'],
  ['Runs, of the last deploy', '/runs?deploy=v60'],
  ['Runs, of the last deploy, dead', '/runs?deploy=v60&status=dead,failed'],
  ['Runs, of a deploy 13 days ago', `/runs?deploy=v20&from=${ago(14)}`],
  ['Runs, of a deploy 13 days ago, dead', '/runs?deploy=v20&status=dead,failed'],
  ['Runs, of a deploy with 50 runs', `/runs?deploy=hotfix&from=${ago(20)}`],
  ['Runs, of a deploy with a run a day', `/runs?deploy=canary&from=${ago(20)}`],
  ['Runs, of a deploy that was marked only', `/runs?deploy=unused&from=${ago(20)}`],
  ['Runs, of a misspelt deploy', `/runs?deploy=v600&from=${ago(20)}`],
  ['Run', '/runs/1000'],
  ['Errors, 24 hours', '/errors'],
  ['Errors, 7 days', '/errors?span=7d'],
  ['Deploys', '/deploys'],
  ['Alerts', '/alerts'],
  ['Queues', '/queues'],
  ['Queue', '/queues/queue-1'],
  ['Workers', '/workers'],
  ['Load', '/load'],
  ['Audit', '/audit'],
  ['Doctor', '/doctor', ALONE],
  ['Metrics', '/metrics', ALONE],
];

/**
 * Three months of alerts: 20,000 flips, each delivered to two channels; three of them are down.
 */
const ALERTS = [
  `insert into tock.alert_states (rule, subject, status, since, last_at, detail)
   select 'dead', 'definition-' || lpad(i::text, 4, '0'), case when i < 4 then 'down' else 'up' end, now() - i * interval '7 minutes', now(), 'run 7 ended dead'
   from generate_series(1, 500) as i`,
  `insert into tock.alert_flips (rule, condition, subject, kind, at, since, detail, run_id)
   select 'dead', 'dead', 'definition-' || lpad((i % 500 + 1)::text, 4, '0'), case when i % 2 = 0 then 'up' else 'down' end,
     now() - (20000 - i) * interval '6 minutes', now() - (20001 - i) * interval '6 minutes', 'run 7 ended dead', 10000 + i
   from generate_series(1, 20000) as i`,
  `insert into tock.alert_deliveries (flip_id, channel, run_id, delivered_at, answer)
   select f.id, c.name, 100000 + f.id, f.at, 'answered 200: ok' from tock.alert_flips f cross join (values ('chat'), ('pager')) as c(name)`,
];

export const pages = {
  name: 'pages',
  title: 'Pages of the dashboard over a full database: milliseconds at the server',
  unit: 'ms, p95',
  better: 'lower',
  hasChart: false,
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
    try {
      await fillHistory(database, finished, say);
      await countHistory(tock, database.sql);
      const join = await addGroup(database.sql);
      const pages = [...PAGES, [`Run, the join of ${figure(MEMBERS)}`, `/runs/${join}`]];
      const measure = async (of, named = '') =>
        await measurePages(
          of.map(([label, ...rest]) => [`${label}${named}`, ...rest]),
          { open, rounds, say },
        );
      const rows = await measure(pages);
      await database.sql.rows(LIVE, [FEW, MANY]);
      await database.sql.rows('vacuum analyze tock.job_runs_live');
      rows.push(...(await measure(pages, `; ${figure(MANY)} waiting`)));
      for (const each of SHARE) await database.sql.rows(each);
      rows.push(...(await measure(SHARED_PAGES)));
      return {
        rows,
        digits: 1,
        notes: [
          `${figure(finished)} finished runs of ${DAYS} days, ${figure(DEFINITIONS)} definitions, ${figure(FEW)} waiting runs unless it says more; ${rounds} requests each, after ${WARM_UPS}`,
        ],
      };
    } finally {
      await tock.close();
      await database.drop();
    }
  },
};

/** A group that is amid its work. Resolves to the id of its join. */
export async function addGroup(sql) {
  const { id } = await sql.one(ENQUEUE_GROUP);
  await sql.rows(END_MEMBERS);
  await sql.rows('vacuum analyze tock.job_awaited_runs');
  return id;
}

/** @param open a dashboard of its own */
async function measurePages(pages, { open, rounds, say }) {
  const dashboard = open();
  try {
    const rows = [];
    for (const [place, page] of pages.entries()) {
      const row = await measurePage(page, { dashboard, open, rounds });
      rows.push(row);
      say.progress(place + 1, pages.length, `${page[0]}: ${figure(row.median, 1)} ms`);
    }
    return rows;
  } finally {
    await dashboard.close();
  }
}

async function measurePage([label, path, isAlone = false], { dashboard, open, rounds }) {
  const latencies = [];
  for (let round = -WARM_UPS; round < rounds; round++) {
    const used = isAlone ? open() : dashboard;
    // What is opened with the first request is no part of a page.
    if (isAlone) await msOf(used, '/audit');
    const ms = await msOf(used, path);
    if (isAlone) await used.close();
    if (round >= 0) latencies.push(ms);
  }
  const { p50, value: _, ...rest } = percentiles(latencies);
  const p95 = latencies.toSorted((a, b) => a - b)[Math.floor(latencies.length * 0.95)];
  return {
    ...rowOf({ label, own: true }, [{ value: p95, p50, ...rest }]),
    digits: 1,
    extra: { p50: figure(p50, 1) },
  };
}

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
  await sql.rows(DEPLOY);
  const { now } = await sql.one('select now()');
  for (let from = 1; from <= finished; from += STEP)
    await sql.rows(FINISHED, [from, finished, Math.min(STEP, finished - from + 1), now]);
  await sql.rows(
    `insert into tock.job_runs (job, status, attempts, fence, run_at, started_at, finished_at, tags)
     select 'rare', 'succeeded', 1, 1, at, at, at, '{legal-hold}' from generate_series(now() - interval '${DAYS} days', now(), interval '5 days') at`,
  );
  await sql.rows(LIVE, [0, FEW]);
  for (const each of ALERTS) await sql.rows(each);
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
