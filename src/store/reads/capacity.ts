// What there is of a database, and how much of it is used: for `tock capacity`.
import type { CapacityFacts } from '../../model/capacity/capacity.js';
import type { Session } from '../connection/database.js';
import { statement } from '../connection/statement.js';
import { instant } from '../connection/values/readable-instant.js';

/** Days that are looked at for growth: eight weeks. */
const MAX_DAYS = 56;

const sizeOf = (...tables: readonly string[]) =>
  `(select coalesce(sum(pg_total_relation_size(t.relid)), 0)::float8 from (
    ${tables.map(table => `select relid from pg_partition_tree('tock.${table}')`).join(' union all ')}) t)`;

// Sessions are counted from pg_stat_database, which shows those of all roles to each.
const READ_FACTS = statement<object, Omit<CapacityFacts, 'probeMs'>>(
  'read-capacity',
  `
with span as (
  select date_bin('1 day', p.hours_until, 'epoch') as until,
    greatest(date_bin('1 day', p.hours_until, 'epoch') - interval '${MAX_DAYS} days',
      (select date_bin('1 day', min(m.applied_at), 'epoch') + interval '1 day' from tock.migrations m)) as begin
  from tock.figures_progress p
), hours as materialized (
  select f.at, sum(f.run_count)::float8 as runs, sum(f.duration_us)::float8 / 1000 as busy_ms
  from tock.figures_by_hour f, span s where f.at >= least(s.begin, tock.now() - interval '24 hours') group by f.at
), minutes as materialized (
  select f.at, sum(f.run_count)::float8 as runs, sum(f.duration_us)::float8 / 1000 as busy_ms
  from tock.figures_by_minute f where f.at >= tock.now() - interval '24 hours' group by f.at
), busiest as (
  select coalesce(max(h.runs), 0) as runs, coalesce(max(h.busy_ms), 0) as busy_ms from (
    select sum(m.runs) as runs, sum(m.busy_ms) as busy_ms from minutes m group by date_bin('1 hour', m.at, 'epoch')) h
)
select ${instant('tock.now()')} as at,
  array(select coalesce(sum(h.runs), 0) from span s
    cross join generate_series(s.begin, s.until - interval '1 day', interval '24 hours') d(at)
    left join hours h on h.at >= d.at and h.at < d.at + interval '24 hours'
    group by d.at order by d.at)::float8[] as days,
  (select coalesce(sum(m.runs), 0) from minutes m) as "lastDayRuns",
  (select coalesce(max(m.runs), 0) from minutes m) as "peakMinuteRuns",
  busiest.runs as "peakHourRuns", busiest.busy_ms as "peakHourBusyMs",
  (select coalesce(sum(t.run_count), 0)::float8 from tock.figures_total t) as "totalRuns",
  (select coalesce(sum(case when c.reltuples < 0 then coalesce(s.n_live_tup, 0) else c.reltuples end), 0)::float8
    from pg_partition_tree('tock.job_runs_finished') t join pg_class c on c.oid = t.relid
    left join pg_stat_all_tables s on s.relid = t.relid where t.isleaf) as "keptRuns",
  jsonb_build_object('live', ${sizeOf('job_runs_live')}, 'finished', ${sizeOf('job_runs_finished')},
    'keys', ${sizeOf('job_keys', 'job_occurrences', 'job_exceptions', 'job_effects', 'job_waits', 'job_awaited_runs', 'job_events')}, 'logs', ${sizeOf('job_logs')},
    'database', pg_database_size(current_database())::float8) as sizes,
  jsonb_build_object('used', (select sum(d.numbackends) from pg_stat_database d),
    'max', current_setting('max_connections')::integer - current_setting('superuser_reserved_connections')::integer
      - coalesce(current_setting('reserved_connections', true)::integer, 0)) as connections,
  (select jsonb_build_object('bytes', w.wal_bytes::float8, 'seconds', extract(epoch from clock_timestamp() - w.stats_reset)::float8)
    from pg_stat_wal w) as wal,
  -- As the server itself: so that the next checkpoint ends before max_wal_size is reached.
  jsonb_build_object('bytes', pg_size_bytes(current_setting('max_wal_size'))
      / (1 + current_setting('checkpoint_completion_target')::float8),
    'seconds', extract(epoch from current_setting('checkpoint_timeout')::interval)) as checkpoint,
  (select jsonb_build_object('count', count(*), 'capacity', coalesce(sum(w.capacity), 0)) from tock.workers w
    where w.kind in ('daemon', 'library')
      and w.seen_at > tock.now() - coalesce(w.heartbeat_ms, 15000) * interval '2.5 milliseconds') as workers
from busiest`,
);

// The server counts, so that the network does not.
const PROBE = statement<object, { readonly 'QUERY PLAN': readonly { readonly 'Execution Time': number }[] }>(
  'probe-cpu',
  `explain (analyze, timing off, summary on, format json) select count(*) from generate_series(1, 300000) i where i % 7 = 3`,
);
const PROBES = 3;

/** How long the server takes to count, in milliseconds: the quickest of three. */
async function probe(session: Session): Promise<number> {
  let quickest = Number.POSITIVE_INFINITY;
  for (let round = 0; round < PROBES; round++) {
    const row = await PROBE.first(session, {});
    quickest = Math.min(quickest, row?.['QUERY PLAN'][0]?.['Execution Time'] ?? Number.POSITIVE_INFINITY);
  }
  return quickest;
}

/** Takes a tenth of a second of CPU, to learn how fast the server is. Only reads. */
export async function readCapacity(session: Session): Promise<CapacityFacts> {
  const facts = await READ_FACTS.first(session, {});
  if (!facts) throw new Error('the server said nothing of its capacity');
  return { ...facts, probeMs: await probe(session) };
}
