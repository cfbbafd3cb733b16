-- adopt-database
update tock.database_identity i set system_identifier = t.system_identifier, database_oid = t.database_oid, table_oids = t.table_oids,
  noted_at = tock.now()
from tock.this_database() t;

-- cancel-run
with target as materialized (
  select r.id, r.status from tock.job_runs_live r where r.id = $1 for update
), asked as (
  update tock.job_runs_live r set cancel_requested_at = coalesce(r.cancel_requested_at, tock.now()), skip_reason = coalesce($2, r.skip_reason)
  from target t where r.id = t.id and t.status = 'running' returning r.id
), gone as (
  delete from tock.job_runs_live r using target t where r.id = t.id and t.status in ('queued', 'failed') returning r.*
), ended as (
  insert into tock.job_runs_finished (id, definition_id, run_at, priority, attempts, max_attempts, fence, releases, generation, occurrence_count,
  scheduled_for, interval_start, start_by, locked_by, created_at, started_at, job, queue, trigger, idempotency_key,
  payload, progress, slot_keys, slot_limits, live_key, status, finished_at, errors, skip_reason)
  select id, definition_id, run_at, priority, attempts, max_attempts, fence, releases, generation, occurrence_count,
  scheduled_for, interval_start, start_by, locked_by, created_at, started_at, job, queue, trigger, idempotency_key,
  payload, progress, slot_keys, slot_limits, live_key, 'cancelled', tock.now(), errors, $2 from gone returning id
), freed as (
  delete from tock.job_slots s using gone m
  where s.run_id = m.id and (true or s.concurrency_key not like 'definition:%') returning s.concurrency_key
), told as (
  insert into tock.job_outbox (kind, run_id, generation, definition_id, scheduled_for)
  select k.kind, e.id, e.generation, e.definition_id, e.scheduled_for from gone e cross join lateral (
    select 'chain' as kind from tock.job_definitions d
    where d.id = e.definition_id and d.has_followers and e.scheduled_for is not null
    union all
    select 'dead' from tock.job_definitions d where 'cancelled' = 'dead' and d.name = e.job and d.on_dead is not null
  ) k
  where e.definition_id is not null or 'cancelled' = 'dead'
  returning id
)
select (select array_agg(distinct concurrency_key) from freed) as freed, exists (select from told) as told, case when exists (select from ended) then 'cancelled' when exists (select from asked) then 'asked' end as result,
  -- A daemon that listens hears it at once; all others at their next heartbeat.
  (select tock.notify('cancel:' || id)::text from asked) as notified;

-- claim-upkeep
-- Written once an hour by one of all processes: the others ask nothing more. A clock that was set back must not make
-- them wait for it. What a crash left behind is due as well.
with mine as (
  update tock.upkeep set at = tock.now()
  where kind = 'partitions' and (at < tock.now() - interval '1 hour' or at > tock.now())
  returning 1
)
select case when exists (select from mine) then
    has_function_privilege('tock.create_partitions(integer, text)', 'execute')
    and (tock.partitions_end() < tock.now()
        + case tock.partition_unit() when 'day' then interval '7 days' else interval '2 months' end
      or exists (select from pg_constraint c where c.conrelid = 'tock.job_runs_finished_default'::regclass
        and c.conname = 'job_runs_finished_default_bounds'))
  else false end as "areDue";

-- count-backfilled-occurrences
select count(*)::integer as count from tock.job_occurrences o where o.definition_id = $1 and o.scheduled_for = any($2::timestamptz[]) and not exists (select from tock.job_runs_finished r where r.id = o.run_id and r.status = 'skipped');

-- create-partitions
select made, next_step as next from tock.create_partitions(null, $1);

-- displace-runs
-- Runs that wait end at once. Of those that are running, terminate takes the lease away: the holder's next write, or its
-- next heartbeat, finds that it is lost. cancel asks the holder to stop; the new run waits for its place.
with target as materialized (
  select r.id, r.status from tock.job_runs_live r
  where r.definition_id = any($1::bigint[]) and r.trigger in ('cron', 'chain')
  order by r.id for update
), asked as (
  update tock.job_runs_live r set cancel_requested_at = coalesce(r.cancel_requested_at, tock.now()), skip_reason = coalesce(r.skip_reason, 'a later occurrence took its place')
  from target t where r.id = t.id and t.status = 'running' and not $2
  returning r.id
), gone as (
  delete from tock.job_runs_live r using target t
  where r.id = t.id and (t.status in ('queued', 'failed') or ($2 and t.status in ('running')))
  returning r.*
), ended as (
  insert into tock.job_runs_finished (id, definition_id, run_at, priority, attempts, max_attempts, fence, releases, generation, occurrence_count,
  scheduled_for, interval_start, start_by, locked_by, created_at, started_at, job, queue, trigger, idempotency_key,
  payload, progress, slot_keys, slot_limits, live_key, status, finished_at, errors, skip_reason)
  select id, definition_id, run_at, priority, attempts, max_attempts, fence + (status = 'running')::integer, releases, generation, occurrence_count,
  scheduled_for, interval_start, start_by, locked_by, created_at, started_at, job, queue, trigger, idempotency_key,
  payload, progress, slot_keys, slot_limits, live_key, 'cancelled', tock.now(), errors, 'a later occurrence took its place' from gone
  returning id
), freed as (
  delete from tock.job_slots s using gone m
  where s.run_id = m.id and (true or s.concurrency_key not like 'definition:%') returning s.concurrency_key
), told as (
  insert into tock.job_outbox (kind, run_id, generation, definition_id, scheduled_for)
  select k.kind, e.id, e.generation, e.definition_id, e.scheduled_for from gone e cross join lateral (
    select 'chain' as kind from tock.job_definitions d
    where d.id = e.definition_id and d.has_followers and e.scheduled_for is not null
    union all
    select 'dead' from tock.job_definitions d where 'cancelled' = 'dead' and d.name = e.job and d.on_dead is not null
  ) k
  where e.definition_id is not null or 'cancelled' = 'dead'
  returning id
), notified as (
  select tock.notify('cancel:' || id) from (select id from asked union all select id from gone where status = 'running') r
)
select id::text, (select count(*) from notified) as notified from (select id from asked union all select id from ended) r;

-- insert-backfilled-runs
-- The occurrences go in sorted. Of two backfills at once the second waits for an occurrence's row, and then finds it with
-- a run that was not skipped.
with planned as materialized (
  select nextval('tock.job_runs_id_seq') as id, p.* from jsonb_to_recordset($1::jsonb) as p(
    key text, payload jsonb, scheduled_for timestamptz, interval_start timestamptz)
  order by p.scheduled_for
), taken as (
  update tock.job_occurrences o set run_id = p.id from planned p
  where o.definition_id = $2::bigint and o.scheduled_for = p.scheduled_for
    and o.scheduled_for = any($3::timestamptz[]) and exists (select from tock.job_runs_finished r where r.id = o.run_id and r.status = 'skipped')
  returning o.run_id
), fresh as (
  insert into tock.job_occurrences (definition_id, scheduled_for, run_id)
  select $2::bigint, scheduled_for, id from planned order by scheduled_for
  on conflict do nothing
  returning run_id
), made as (
  insert into tock.job_runs_live (id, definition_id, job, queue, priority, max_attempts, payload, idempotency_key,
    scheduled_for, interval_start, run_at, trigger, status)
  select p.id, d.id, d.job, d.queue, d.priority, d.max_attempts, p.payload, p.key,
    p.scheduled_for, p.interval_start, tock.now(), 'backfill', 'queued'
  from planned p join tock.job_definitions d on d.id = $2::bigint
  where p.id in (select run_id from taken union all select run_id from fresh)
  order by p.id
  returning id
), notified as (
  select tock.notify('queued') from (select from made limit 1) any_of_them
)
select (select count(*) from made)::integer as made, (select count(*) from notified) as notified;

-- insert-skipped-span
-- Without a key: the row stands for a span, and a backfill may yet make a run of each occurrence in it. The definition's
-- lock and cursor, which moves past the span in the same transaction, keep it from being recorded twice.
with skipped as (
  insert into tock.job_runs_finished (id, definition_id, job, queue, priority, max_attempts, payload, scheduled_for, run_at,
    interval_start, occurrence_count, trigger, status, finished_at, skip_reason)
  select nextval('tock.job_runs_id_seq'), d.id, d.job, d.queue, d.priority, d.max_attempts, d.payload,
    $1::timestamptz, $1, $2::timestamptz, $3::integer, 'cron', 'skipped', tock.now(), $4::text
  from tock.job_definitions d where d.id = $5
  returning id, generation, definition_id, scheduled_for, job
), told as (
  insert into tock.job_outbox (kind, run_id, generation, definition_id, scheduled_for)
  select k.kind, e.id, e.generation, e.definition_id, e.scheduled_for from skipped e cross join lateral (
    select 'chain' as kind from tock.job_definitions d
    where d.id = e.definition_id and d.has_followers and e.scheduled_for is not null
    union all
    select 'dead' from tock.job_definitions d where 'skipped' = 'dead' and d.name = e.job and d.on_dead is not null
  ) k
  where e.definition_id is not null or 'skipped' = 'dead'
  returning id
)
select id from skipped;

-- is-copy
select tock.is_copy() as "isCopy";

-- list-migrations
select name, checksum from tock.migrations;

-- lock-migrations
select pg_advisory_xact_lock(hashtextextended($1, 0));

-- lock-retention
select pg_try_advisory_xact_lock(hashtextextended('tock.retention', 0)) as "isMine";

-- lock-skipped-occurrences
select o.scheduled_for from tock.job_occurrences o
where o.definition_id = $1 and o.scheduled_for = any($2::timestamptz[]) and exists (select from tock.job_runs_finished r where r.id = o.run_id and r.status = 'skipped')
order by o.scheduled_for for update;

-- note-definitions-seen
with before as (
  select fingerprint, seen_at > tock.now() + interval '1 minute' as is_ahead from tock.registrations
  where fingerprint = $1 and is_current
), seen as (
  update tock.registrations r set seen_at = tock.now() from before b
  where r.fingerprint = b.fingerprint and r.is_current
  returning b.is_ahead
)
select exists (select from seen) as "isCurrent", coalesce((select is_ahead from seen), false) as "wasAhead",
  tock.is_copy() as "isCopy";

-- note-identity
insert into tock.database_identity (system_identifier, database_oid, table_oids)
select * from tock.this_database() on conflict do nothing;

-- note-migration
insert into tock.migrations (name, checksum) values ($1, $2);

-- preview-adoption
select tock.is_copy() as "isCopy", (select i.noted_at from tock.database_identity i) as "notedAt",
  count(*) filter (where r.status = 'queued')::integer as queued,
  count(*) filter (where r.status = 'failed')::integer as failed,
  count(*) filter (where r.status = 'running')::integer as running,
  (select count(*)::integer from tock.job_definitions d where d.next_at is not null and d.paused_at is null and d.broken_at is null
    and d.vanished_at is null) as scheduled,
  (select min(d.next_at) from tock.job_definitions d where isfinite(d.next_at) and d.paused_at is null and d.broken_at is null
    and d.vanished_at is null) as "nextAt"
from tock.job_runs_live r;

-- raise-sequences
-- Logical replication copies rows and no sequences: the ids to come must not be those of runs that are there.
select setval(s.name, greatest(s.used, coalesce(pg_sequence_last_value(s.name::regclass), 1))) from (
  select 'tock.job_runs_id_seq' as name, greatest(1, (select max(id) from tock.job_runs), (select max(run_id) from tock.job_keys),
    (select max(run_id) from tock.job_occurrences), (select max(run_id) from tock.job_effects)) as used
  union all
  select pg_get_serial_sequence('tock.job_definitions', 'id'), greatest(1, (select max(id) from tock.job_definitions))
  union all
  select pg_get_serial_sequence('tock.job_outbox', 'id'), greatest(1, (select max(id) from tock.job_outbox))
) s;

-- read-cursor-places
-- The last occurrence that was considered while the clock was right, and no earlier than the last edit and the end of
-- the last pause. What was written by the wrong clock is dated later than now. When an edit by it really happened
-- nobody knows: then from now on.
select d.id::text, floor(extract(epoch from case
    when greatest(d.updated_at, d.resumed_at) > tock.now() then tock.now()
    else greatest(d.updated_at, d.resumed_at, (
      select max(r.scheduled_for) from tock.job_runs r
      where r.definition_id = d.id and r.scheduled_for <= tock.now() and r.created_at <= tock.now()))
  end) * 1000)::float8 as place_ms
from tock.job_definitions d where d.id = any($1::bigint[]);

-- read-leftovers
select c.relname as name, obj_description(c.oid, 'pg_class') as comment
from pg_class c
where c.relnamespace = (select relnamespace from pg_class where oid = 'tock.job_runs_finished'::regclass)
  and c.relkind = 'r' and not c.relispartition
  and ((c.relname ~ '^job_runs_forgotten_\d+$' and obj_description(c.oid, 'pg_class') like 'tock: forgotten %')
    or (c.relname ~ '^job_runs_kept_[0-9a-f]+$' and obj_description(c.oid, 'pg_class') = 'tock: copy for retention'))
order by c.oid;

-- read-partitions
select p.name, (extract(epoch from p.low) * 1000)::float8 as low, (extract(epoch from p.high) * 1000)::float8 as high,
  p.is_kept as "isKept", pg_relation_size(p.oid)::float8 as bytes
from tock.finished_partitions() p;

-- read-report
select jsonb_build_object(
  'jobs', coalesce((select jsonb_agg(to_jsonb(j) order by j.job) from (
    select r.job,
      count(*) filter (where r.status = 'succeeded') as succeeded, count(*) filter (where r.status = 'dead') as dead,
      count(*) filter (where r.status = 'cancelled') as cancelled, count(*) filter (where r.status = 'skipped') as skipped,
      coalesce(sum(greatest(r.attempts - 1, 0)), 0) as retries,
      round((avg(extract(epoch from r.finished_at - case when r.started_at >= '10000-01-01Z'::timestamptz then '9999-12-31T23:59:59Z' when r.started_at < '0001-01-01Z'::timestamptz then '0001-01-01Z'::timestamptz else r.started_at end)) filter (where r.status = 'succeeded') * 1000)::numeric, 1) as "meanMs",
      round((percentile_cont(0.95) within group (order by extract(epoch from r.finished_at - case when r.started_at >= '10000-01-01Z'::timestamptz then '9999-12-31T23:59:59Z' when r.started_at < '0001-01-01Z'::timestamptz then '0001-01-01Z'::timestamptz else r.started_at end))
        filter (where r.status = 'succeeded') * 1000)::numeric, 1) as "p95Ms"
    from tock.job_runs_finished r where r.finished_at >= $1 and r.finished_at < $2 group by r.job) j), '[]'),
  'days', coalesce((select jsonb_agg(to_jsonb(d) order by d.day) from (
    select to_char(r.finished_at at time zone 'UTC', 'YYYY-MM-DD') as day,
      count(*) filter (where r.status = 'succeeded') as succeeded, count(*) filter (where r.status = 'dead') as dead,
      count(*) filter (where r.status = 'skipped') as skipped
    from tock.job_runs_finished r where r.finished_at >= $1 and r.finished_at < $2 group by 1) d), '[]'),
  'errors', coalesce((select jsonb_agg(to_jsonb(e) order by e.count desc, e.job) from (
    select r.job, e.value ->> 'name' as name, left(e.value ->> 'message', 300) as message, count(*) as count
    from tock.job_runs_finished r cross join lateral jsonb_array_elements(case jsonb_typeof(r.errors) when 'array' then r.errors else '[]' end) e
    where r.finished_at >= $1 and r.finished_at < $2 group by 1, 2, 3 order by count(*) desc limit 20) e), '[]')
) as report;

-- read-server-version
select current_setting('server_version_num')::integer as version, current_setting('server_version') as name;

-- read-status
with live as (
  select r.queue,
    count(*) filter (where r.status in ('queued', 'failed') and r.run_at <= tock.now()) as waiting,
    count(*) filter (where r.status = 'queued' and r.run_at > tock.now()) as scheduled,
    count(*) filter (where r.status = 'running') as running,
    count(*) filter (where r.status = 'failed') as failed,
    count(*) filter (where r.status = 'running' and r.locked_until < tock.now()) as stuck,
    min(r.run_at) filter (where r.status in ('queued', 'failed') and r.run_at <= tock.now()) as oldest
  from tock.job_runs_live r group by r.queue
), finished as (
  select r.status, count(*) as count,
    count(*) filter (where r.status = 'dead' and r.errors -> -1 ->> 'code' = 'TOCK_BAD_ROW') as set_aside
  from tock.job_runs_finished r
  where r.finished_at > tock.now() - interval '24 hours' and r.finished_at <= tock.now() group by r.status
), queues as (
  select coalesce(l.queue, q.name) as queue, coalesce(l.waiting, 0) as waiting, coalesce(l.running, 0) as running,
    coalesce(l.failed, 0) as failed, q.paused_at is not null as paused
  from live l full join tock.job_queues q on q.name = l.queue
), holders as (
  select w.id, w.kind, w.host, w.pid, w.seen_at,
    w.seen_at not between tock.now() - coalesce(w.heartbeat_ms, 15000) * interval '2.5 milliseconds'
      and tock.now() + coalesce(w.heartbeat_ms, 15000) * interval '2.5 milliseconds' as is_silent,
    (select count(*) from tock.job_runs_live r where r.status = 'running' and r.locked_by = w.id) as running
  from tock.workers w
), snapshot as (
  select a.pid, extract(epoch from clock_timestamp() - coalesce(a.xact_start, a.query_start)) * 1000 as age_ms
  from pg_stat_activity a
  where a.datname = current_database() and a.pid <> pg_backend_pid() and (a.backend_xmin is not null or a.backend_xid is not null)
  order by age(coalesce(a.backend_xmin, a.backend_xid)) desc limit 1
)
select jsonb_build_object(
  'at', tock.now(),
  'isCopy', tock.is_copy(),
  'definitions', (select jsonb_build_object(
    'scheduled', count(*) filter (where next_at is not null and vanished_at is null),
    'due', count(*) filter (where next_at <= tock.now() and paused_at is null and broken_at is null and vanished_at is null),
    'paused', count(*) filter (where paused_at is not null),
    'broken', count(*) filter (where broken_at is not null),
    'ahead', count(*) filter (where cursor > tock.now() + interval '1 minute' and next_at is not null and vanished_at is null),
    'aheadMs', greatest(0, round(extract(epoch from max(cursor) filter (where next_at is not null and vanished_at is null) - tock.now()) * 1000)),
    'overdueMs', coalesce(round(extract(epoch from tock.now() - min(next_at) filter (where next_at <= tock.now() and isfinite(next_at)
      and paused_at is null and broken_at is null and vanished_at is null)) * 1000), 0)) from tock.job_definitions),
  'runs', (select jsonb_build_object(
    'waiting', coalesce(sum(waiting), 0), 'scheduled', coalesce(sum(scheduled), 0), 'running', coalesce(sum(running), 0),
    'failed', coalesce(sum(failed), 0), 'stuck', coalesce(sum(stuck), 0)) from live),
  'oldestWaitMs', coalesce((select extract(epoch from tock.now() - case when min(oldest) >= '10000-01-01Z'::timestamptz then '9999-12-31T23:59:59Z' when min(oldest) < '0001-01-01Z'::timestamptz then '0001-01-01Z'::timestamptz else min(oldest) end) * 1000 from live), 0),
  'lastDay', jsonb_build_object('succeeded', 0, 'dead', 0, 'cancelled', 0, 'skipped', 0)
    || coalesce((select jsonb_object_agg(status, count) from finished), '{}')
    || jsonb_build_object('setAside', coalesce((select sum(set_aside) from finished), 0)),
  'workers', coalesce((select jsonb_agg(jsonb_build_object('id', id, 'kind', kind, 'host', host, 'pid', pid, 'seenAt', case when seen_at >= '10000-01-01Z'::timestamptz then '9999-12-31T23:59:59Z' when seen_at < '0001-01-01Z'::timestamptz then '0001-01-01Z'::timestamptz else seen_at end, 'silent', is_silent,
    'running', running) order by host, pid) from holders), '[]'),
  'queues', coalesce((select jsonb_agg(jsonb_build_object('queue', queue, 'waiting', waiting, 'running', running, 'failed', failed,
    'paused', paused) order by queue) from queues), '[]'),
  'oldestSnapshot', (select jsonb_build_object('ageMs', round(age_ms), 'pid', pid) from snapshot),
  'partitions', jsonb_build_object('end', partitions.until, 'unit', partitions.unit,
    'runningOut', partitions.until < tock.now() + case partitions.unit when 'day' then interval '3 days' else interval '10 days' end),
  'deadRows', coalesce((select n_dead_tup from pg_stat_user_tables where relid = 'tock.job_runs_live'::regclass), 0)
) as status
from (select tock.partitions_end() as until, tock.partition_unit() as unit) partitions;

-- read-taken-occurrences
select o.definition_id::text as id, (extract(epoch from o.scheduled_for) * 1000)::float8 as at
from unnest($1::bigint[], $2::float8[]) as w(definition_id, at)
join tock.job_occurrences o on o.definition_id = w.definition_id and o.scheduled_for = to_timestamp(w.at / 1000);

-- read-volume
-- By what the planner and the statistics know: to count a million rows each night would be work of its own.
select coalesce(sum(v.rows * v.shared / greatest(v.lasted, 1)) / greatest(sum(v.shared) / 86400, 1), 0)::float8 as "perDay",
  exists (select from tock.finished_partitions() p
    where not p.is_kept and p.high > tock.now() and p.high - p.low <= interval '1 day') as "hasDays"
from (
  select greatest(c.reltuples, s.n_live_tup, 0)::float8 as rows,
    extract(epoch from least(p.high, tock.now()) - p.low)::float8 as lasted,
    extract(epoch from least(p.high, tock.now()) - greatest(p.low, tock.now() - interval '7 days'))::float8 as shared
  from tock.finished_partitions() p
  join pg_class c on c.oid = p.oid
  left join pg_stat_all_tables s on s.relid = p.oid
  where not p.is_kept and p.low < tock.now() and p.high > tock.now() - interval '7 days'
) v;

-- read-zone-offsets
select z.timezone,
  array_agg(extract(epoch from (t.at at time zone z.timezone) - (t.at at time zone 'UTC'))::integer order by t.at) as offsets
from unnest($1::text[]) z(timezone)
cross join (
  select to_timestamp($2::float8 + i * $3::float8) as at from generate_series(0, $4::integer - 1) i
) t
group by z.timezone order by z.timezone;

-- retry-run
with gone as (
  delete from tock.job_runs_finished r where r.id = $1 and r.status in ('dead', 'cancelled') returning r.*
)
insert into tock.job_runs_live (id, definition_id, run_at, priority, attempts, max_attempts, fence, releases, generation,
  occurrence_count, scheduled_for, interval_start, created_at, job, queue, trigger, idempotency_key, payload, errors,
  slot_keys, slot_limits, live_key, status)
select id, definition_id, tock.now(), priority, attempts,
  attempts + coalesce($2::integer, (select d.max_attempts from tock.job_definitions d where d.name = gone.job), 1),
  fence + 1, releases, generation + 1, occurrence_count, scheduled_for, interval_start, created_at, job, queue, trigger,
  idempotency_key, payload, errors, slot_keys, slot_limits, live_key, 'queued'
from gone
returning id;

-- set-cursors-back
with u as materialized (
  select * from jsonb_to_recordset($1::jsonb) as u(id bigint, cursor timestamptz, next_at timestamptz)
), freed as (
  -- An occurrence that the wrong clock made a run of stays taken. One that it skipped may come again.
  delete from tock.job_occurrences o using u, tock.job_runs_finished r
  where o.definition_id = u.id and o.scheduled_for > u.cursor and r.id = o.run_id and r.definition_id = u.id
    and r.scheduled_for > u.cursor and r.status = 'skipped' and r.created_at > tock.now()
)
update tock.job_definitions d
set cursor = u.cursor, next_at = u.next_at, resumed_at = least(d.resumed_at, tock.now())
from u where d.id = u.id;

-- supersede-runs
with target as materialized (
  select r.id from tock.job_runs_live r
  where r.definition_id = any($1::bigint[]) and r.status in ('queued', 'failed') and r.trigger = 'cron'
    and r.scheduled_for is not null and r.run_at > tock.now() and r.attempts = 0
  order by r.id for update skip locked
), gone as (
  delete from tock.job_runs_live r using target where r.id = target.id returning r.*
), ended as (
  insert into tock.job_runs_finished (id, definition_id, run_at, priority, attempts, max_attempts, fence, releases, generation, occurrence_count,
  scheduled_for, interval_start, start_by, locked_by, created_at, started_at, job, queue, trigger, idempotency_key,
  payload, progress, slot_keys, slot_limits, live_key, status, finished_at, errors, skip_reason)
  select id, definition_id, run_at, priority, attempts, max_attempts, fence, releases, generation, occurrence_count,
  scheduled_for, interval_start, start_by, locked_by, created_at, started_at, job, queue, trigger, idempotency_key,
  payload, progress, slot_keys, slot_limits, live_key, 'skipped', tock.now(), errors, 'edited' from gone
  returning id
), freed as (
  delete from tock.job_slots s using gone m
  where s.run_id = m.id and (true or s.concurrency_key not like 'definition:%') returning s.concurrency_key
), told as (
  insert into tock.job_outbox (kind, run_id, generation, definition_id, scheduled_for)
  select k.kind, e.id, e.generation, e.definition_id, e.scheduled_for from gone e cross join lateral (
    select 'chain' as kind from tock.job_definitions d
    where d.id = e.definition_id and d.has_followers and e.scheduled_for is not null
    union all
    select 'dead' from tock.job_definitions d where 'skipped' = 'dead' and d.name = e.job and d.on_dead is not null
  ) k
  where e.definition_id is not null or 'skipped' = 'dead'
  returning id
)
select id from ended;

-- validate-bounds
select tock.validate_bounds();
