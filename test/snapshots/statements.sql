-- add-alert-channels
insert into tock.alert_channels (name) select n.name from unnest($1::text[]) as n(name) order by n.name on conflict do nothing;

-- add-alert-deliveries
insert into tock.alert_deliveries (flip_id, channel, run_id)
select u.flip_id, u.channel, u.run_id from unnest($1::bigint[], $2::text[], $3::bigint[]) as u(flip_id, channel, run_id)
order by u.flip_id, u.channel
on conflict do nothing;

-- add-members
with marked as (
  update tock.job_runs_live r set has_waiters = true where r.id = any($1::bigint[]) and r.has_waiters is null
), added as (
  insert into tock.job_awaited_runs (wait_id, position, run_id)
  select $2, l.position + m.position, m.run_id from unnest($1::bigint[]) with ordinality as m(run_id, position)
  cross join (select coalesce(max(a.position), 0) as position from tock.job_awaited_runs a where a.wait_id = $2) l
  where l.position + cardinality($1::bigint[]) <= $3::integer
  returning 1
)
select count(*)::integer as count from added having count(*) > 0;

-- admit
with taken as (
  insert into tock.job_slots (concurrency_key, slot, run_id, fence)
  select s.key, s.slot, s.run_id, r.fence + 1
  from unnest($1::text[], $2::integer[], $3::bigint[]) as s(key, slot, run_id)
    join tock.job_runs_live r on r.id = s.run_id
  order by s.key, s.slot
  on conflict (concurrency_key, slot) do update set fence = excluded.fence where job_slots.run_id = excluded.run_id
  returning run_id
), blocked as (
  update tock.job_runs_live r set blocked_on = b.key
  from unnest($4::bigint[], $5::text[]) as b(id, key) where r.id = b.id
), rated as (
  update tock.job_queues q set rate_next_at = to_timestamp(n.next_ms / 1000)
  from unnest($6::text[], $7::float8[]) as n(name, next_ms) where q.name = n.name
)
update tock.job_runs_live r set status = 'running', attempts = r.attempts + 1, fence = r.fence + 1, locked_by = $8,
    locked_until = tock.now() + $9 * interval '1 millisecond', started_at = tock.now(), unblocked_on = case when r.slot_keys[1] like '~%' then null else r.unblocked_on end
where r.id = any($10::bigint[])
  and (select count(*) from taken) = coalesce(array_length($3::bigint[], 1), 0)
returning r.id, r.fence, r.job, r.attempts, r.max_attempts, case when pg_column_size(r.payload) > 16384 then '' else left(r.payload::text, 16385) end as payload, r.idempotency_key, r.trigger,
  case when r.definition_id is null and r.scheduled_for is null and r.start_by is null and r.traceparent is null
      and r.began_at is null and r.has_parents is null
    then to_jsonb(r.slot_keys) else
    jsonb_build_object('occurrence_count', r.occurrence_count, 'slot_keys', r.slot_keys,
      'scheduled_for', (extract(epoch from r.scheduled_for) * 1000)::float8, 'interval_start', (extract(epoch from r.interval_start) * 1000)::float8,
      'is_late', case when r.attempts = 1 and r.releases = 0 and r.generation = 1 and r.began_at is null and r.start_by < tock.now()
        then ((extract(epoch from tock.now()) - extract(epoch from r.start_by)) * 1000)::float8 > tock.frozen_ms(coalesce(r.scheduled_for, r.created_at)) else false end)
    || coalesce((select jsonb_build_object('definition', d.name, 'window', case when d.active_window is not null then
        jsonb_build_object('hours', d.active_window, 'timezone', d.timezone, 'outside', d.outside_window, 'now', floor((extract(epoch from tock.now()) * 1000)::float8)) end)
      from tock.job_definitions d where d.id = r.definition_id), '{}')
    || case when r.began_at is null then '{}'::jsonb
      else jsonb_build_object('begun', jsonb_build_object('ageMs', (extract(epoch from (tock.now() - r.began_at)) * 1000)::float8, 'snoozes', coalesce(r.snoozes, 0))) end
    || case when r.has_parents then '{"has_parents": true}'::jsonb else '{}' end
    || case when r.traceparent is null then '{}'::jsonb
      else jsonb_build_object('trace', jsonb_build_object('traceparent', r.traceparent, 'queue', r.queue)) end end as planned;

-- admit-block-fair-flood
with blocked as (
update tock.job_runs_live r set blocked_on = $1::text where r.id in (
  select f.id from tock.job_runs_live f
  where f.queue = $2 and f.priority = $3 and f.run_at >= to_timestamp($4::float8 - 1) and f.blocked_on is null and f.run_at <= tock.now() and f.status in ('queued', 'failed')
    and $1::text = any(f.slot_keys) and not exists (select from tock.job_slots kept where kept.concurrency_key = $1::text and kept.run_id = f.id)
  order by f.run_at, f.id limit 1000 for update skip locked)
)
insert into tock.fair_keys as k (name, queue, job, key, tag)
select n.name, s.queue, s.job, regexp_replace(n.name, '^[^/]*/[^/]*/', ''), s.tag
from (select distinct name from (select $1::text as name) u) n join (
  select d.queue, d.job, coalesce((select p.tag from tock.fair_keys p where p.queue = d.queue and p.job = d.job and p.is_ready order by p.tag limit 1),
    (select p.tag from tock.fair_keys p where p.queue = d.queue and p.job = d.job and not p.is_ready order by p.tag desc limit 1), 0) as tag
  from (select distinct ltrim(split_part(name, '/', 1), '~!') as queue, split_part(name, '/', 2) as job from (select $1::text as name) u) d offset 0
) s on s.queue = ltrim(split_part(n.name, '/', 1), '~!') and s.job = split_part(n.name, '/', 2)
order by n.name
on conflict (name) do update set arrivals = k.arrivals + 1, held_on = null, tag = case when k.is_ready then k.tag when k.held_on is null then greatest(k.tag, excluded.tag) else greatest(k.tag, excluded.tag - 32) end,
  is_ready = coalesce(greatest(k.closed_until, k.rate_next_at) <= tock.now(), true), ready_at = case when greatest(k.closed_until, k.rate_next_at) > tock.now() then greatest(k.closed_until, k.rate_next_at) end;

-- admit-block-flood
update tock.job_runs_live r set blocked_on = $1::text where r.id in (
  select f.id from tock.job_runs_live f
  where f.queue = $2 and f.priority = $3 and f.run_at >= to_timestamp($4::float8 - 1) and f.blocked_on is null and f.run_at <= tock.now() and f.status in ('queued', 'failed')
    and $1::text = any(f.slot_keys) and not exists (select from tock.job_slots kept where kept.concurrency_key = $1::text and kept.run_id = f.id)
  order by f.run_at, f.id limit 1000 for update skip locked);

-- admit-candidates
select r.id, r.queue, r.priority, extract(epoch from r.run_at)::float8 as due_at, r.slot_keys, r.slot_limits, q.concurrency as queue_concurrency,
  q.rate_count is not null as has_rate,
  case when 'definition:' || r.definition_id = any(r.slot_keys) and coalesce((
    select true from tock.job_runs_live e
    where e.definition_id = r.definition_id and e.scheduled_for < r.scheduled_for
      and e.status in ('queued', 'failed') and e.run_at <= tock.now() and 'definition:' || r.definition_id = any(e.slot_keys) limit 1), false) and not exists (select from tock.job_slots kept where kept.concurrency_key = 'definition:' || r.definition_id and kept.run_id = r.id)
    then 'definition:' || r.definition_id end as turn_key, coalesce(r.slot_keys[1] like '~%' and (r.unblocked_on is null
    or exists (select from tock.fair_keys k where k.name = r.slot_keys[1] and k.closed_until > tock.now())), false) as waits_for_turn, f.slot_limit as fair_limit, f.step as fair_step, f.burst as fair_burst
from tock.job_runs_live r left join tock.job_queues q on q.name = r.queue left join lateral (
    select case when r.slot_keys[1] like '~!%' then 1 else coalesce(o.slot_limit, f.slot_limit) end as slot_limit, coalesce(o.rate_burst, f.rate_burst) as burst, coalesce(o.rate_period_ms::float8 / o.rate_count, f.rate_period_ms::float8 / f.rate_count) as step
    from (select split_part(r.slot_keys[1], '/', 2) as job, r.queue as queue) n
    left join tock.fair_scopes f on f.queue = case when n.job = '' then n.queue else '' end and f.job = n.job left join tock.key_settings o on o.key = regexp_replace(r.slot_keys[1], '^[^/]*/[^/]*/', '')
    where r.slot_keys[1] like '~%') f on true
where r.id = any($1::bigint[]) and r.blocked_on is null and r.run_at <= tock.now() and r.status in ('queued', 'failed') and q.paused_at is null and coalesce(q.closed_until <= tock.now(), true) and (q.active_window is null or case when split_part(q.active_window, '-', 1) < split_part(q.active_window, '-', 2)
    then (tock.now() at time zone q.timezone)::time >= split_part(q.active_window, '-', 1)::time and (tock.now() at time zone q.timezone)::time < split_part(q.active_window, '-', 2)::time
    else (tock.now() at time zone q.timezone)::time >= split_part(q.active_window, '-', 1)::time or (tock.now() at time zone q.timezone)::time < split_part(q.active_window, '-', 2)::time end)
order by r.priority, r.run_at, r.id
for update of r skip locked;

-- admit-lock-keys
select pg_advisory_xact_lock(h) from (
  select hashtextextended('tock.slots:' || k, 0) as h from unnest($1::text[]) k order by 1) sorted;

-- admit-one-key
with candidates as materialized (
  select r.id, r.queue, r.priority, r.run_at, r.fence, r.slot_keys[1] as key, r.slot_limits[1] as slot_limit,
    coalesce(cardinality(r.slot_keys) = 1 and r.slot_keys[1] not like 'definition:%' and r.slot_keys[1] not like '~%'
      and r.queue not in (select q.name from tock.job_queues q where (q.concurrency is not null or q.rate_count is not null)), false) as is_simple
  from tock.job_runs_live r
  where r.id = any($1::bigint[]) and r.blocked_on is null and r.run_at <= tock.now() and r.status in ('queued', 'failed')
    and (r.queue not in (select q.name from tock.job_queues q where q.paused_at is not null or q.closed_until is not null or q.active_window is not null)
      or (select q.paused_at is null and coalesce(q.closed_until <= tock.now(), true) and (q.active_window is null or case when split_part(q.active_window, '-', 1) < split_part(q.active_window, '-', 2)
    then (tock.now() at time zone q.timezone)::time >= split_part(q.active_window, '-', 1)::time and (tock.now() at time zone q.timezone)::time < split_part(q.active_window, '-', 2)::time
    else (tock.now() at time zone q.timezone)::time >= split_part(q.active_window, '-', 1)::time or (tock.now() at time zone q.timezone)::time < split_part(q.active_window, '-', 2)::time end) from tock.job_queues q where q.name = r.queue))
  order by r.priority, r.run_at, r.id
  for update skip locked
), ranked as materialized (
  select c.*, row_number() over by_key as rank, count(*) over by_key as wanted, max(slot_limit) over by_key as key_limit
  from candidates c where is_simple
  window by_key as (partition by key order by priority, run_at, id rows between unbounded preceding and unbounded following)
), locked as materialized (
  select p.*,
    case when rank = 1 then pg_try_advisory_xact_lock(hashtextextended('tock.slots:' || key, 0)) end as locks,
    case when rank = 1 then array(select s.slot from tock.job_slots s where s.concurrency_key = p.key) end as slots
  from ranked p where key_limit > 1
), turns as materialized (
  select l.*, first_value(locks) over by_key as is_locked,
    first_value(cardinality(slots)) over by_key as taken,
    first_value(coalesce((select max(slot) from unnest(slots) slot), 0)) over by_key as highest,
    first_value(case when rank = 1 and cardinality(slots) between 1 and key_limit - 1 then array(
      select f.slot from generate_series(1, least(key_limit, cardinality(slots) + wanted)) f(slot)
      where f.slot <> all(slots) order by 1) end) over by_key as free
  from locked l window by_key as (partition by key order by rank)
), taken as (
  insert into tock.job_slots (concurrency_key, slot, run_id, fence)
  select key, 1, id, fence + 1 from ranked p where key_limit <= 1 and rank = 1 and slot_limit = 1
    and (select count(*) from tock.job_slots s where s.concurrency_key = p.key) = 0
  union all
  select key, case when taken = 0 then rank else free[rank] end, id, fence + 1 from turns
  where is_locked and taken + rank <= slot_limit and highest <= slot_limit
  order by 1, 2
  on conflict do nothing
  returning run_id
), claimed as (
  update tock.job_runs_live r set status = 'running', attempts = r.attempts + 1, fence = r.fence + 1, locked_by = $2,
    locked_until = tock.now() + $3 * interval '1 millisecond', started_at = tock.now() where r.id = any(array(select run_id from taken))
  returning r.id, r.priority, r.run_at, r.fence, r.job, r.attempts, r.max_attempts, case when pg_column_size(r.payload) > 16384 then '' else left(r.payload::text, 16385) end as payload, r.idempotency_key, r.trigger,
  case when r.definition_id is null and r.scheduled_for is null and r.start_by is null and r.traceparent is null
      and r.began_at is null and r.has_parents is null
    then to_jsonb(r.slot_keys) else
    jsonb_build_object('occurrence_count', r.occurrence_count, 'slot_keys', r.slot_keys,
      'scheduled_for', (extract(epoch from r.scheduled_for) * 1000)::float8, 'interval_start', (extract(epoch from r.interval_start) * 1000)::float8,
      'is_late', case when r.attempts = 1 and r.releases = 0 and r.generation = 1 and r.began_at is null and r.start_by < tock.now()
        then ((extract(epoch from tock.now()) - extract(epoch from r.start_by)) * 1000)::float8 > tock.frozen_ms(coalesce(r.scheduled_for, r.created_at)) else false end)
    || coalesce((select jsonb_build_object('definition', d.name, 'window', case when d.active_window is not null then
        jsonb_build_object('hours', d.active_window, 'timezone', d.timezone, 'outside', d.outside_window, 'now', floor((extract(epoch from tock.now()) * 1000)::float8)) end)
      from tock.job_definitions d where d.id = r.definition_id), '{}')
    || case when r.began_at is null then '{}'::jsonb
      else jsonb_build_object('begun', jsonb_build_object('ageMs', (extract(epoch from (tock.now() - r.began_at)) * 1000)::float8, 'snoozes', coalesce(r.snoozes, 0))) end
    || case when r.has_parents then '{"has_parents": true}'::jsonb else '{}' end
    || case when r.traceparent is null then '{}'::jsonb
      else jsonb_build_object('trace', jsonb_build_object('traceparent', r.traceparent, 'queue', r.queue)) end end as planned
), others as (
  select id, queue, priority, run_at, key, false as is_decided from candidates where not is_simple
  union all
  select id, queue, priority, run_at, key, true from ranked where key_limit <= 1 and id not in (select run_id from taken)
  union all
  select id, queue, priority, run_at, key, is_locked from turns where id not in (select run_id from taken)
), blocked as (
  update tock.job_runs_live r set blocked_on = r.slot_keys[1]
  where r.id = any(array(select id from others where is_decided))
)
select id, null as queue, priority, extract(epoch from c.run_at)::float8 as due_at, null as key, true as is_decided, true as is_claimed, c.fence, c.job, c.attempts, c.max_attempts, c.payload, c.idempotency_key, c.trigger, c.planned
from claimed c
union all
select id, queue, priority, extract(epoch from o.run_at)::float8, key, is_decided, false, null, null, null, null, null, null, null, null from others o;

-- admit-queue-tokens
with rated as (
  select q.name, (q.rate_period_ms::float8 / q.rate_count) as step, greatest(case when not q.rate_next_at > tock.now()
    + least(q.rate_period_ms, q.rate_period_ms / q.rate_count + 60000) * interval '1 millisecond' then q.rate_next_at end, tock.now() - (greatest(1, ceil(1000.0 * q.rate_count / q.rate_period_ms)) - 1) * (q.rate_period_ms::float8 / q.rate_count) * interval '1 millisecond') as first_at from tock.job_queues q where q.name = any($1::text[])
  for update of q skip locked
)
select name, greatest(0, floor((extract(epoch from tock.now() - first_at) * 1000)::float8 / step + 1))::integer as tokens, (extract(epoch from first_at) * 1000)::float8 as first_ms, step from rated;

-- admit-taken-slots
select concurrency_key as key, slot, run_id::text as run_id from tock.job_slots where concurrency_key = any($1::text[]);

-- adopt-database
select tock.note_identity();

-- are-figures-due
select p.final_until <= tock.now() - interval '70 seconds' or p.counted_until > tock.now()
    or p.hours_until <= p.final_until - interval '1 hour' as "isDue"
  from tock.figures_progress p;

-- are-webhooks-due
select exists (select from tock.job_changes c where c.position is null) or exists (
  select from unnest($1::text[]) as w(job) left join tock.change_webhooks k on k.job = w.job
  where k.job is null or k.position < (select h.position from tock.changes_head h)
    and not exists (select from tock.job_runs_live r where r.live_key = $2::text || w.job and r.job = r.live_key)) as "areDue";

-- await-end
update tock.job_runs_live set is_awaited = true where id = $1 and is_awaited is null
returning set_config('synchronous_commit', 'off', true) as commit;

-- awaited-jobs
with recursive awaited as (
  (select r.blocked_on as key, 1 as number from tock.job_runs_live r where r.blocked_on > $1 and r.blocked_on >= 'code:' and r.blocked_on < 'code;' order by r.blocked_on limit 1)
  union all
  select n.key, a.number + 1 from awaited a cross join lateral (
    select r.blocked_on as key from tock.job_runs_live r where r.blocked_on > a.key and r.blocked_on >= 'code:' and r.blocked_on < 'code;'
    order by r.blocked_on limit 1) n
  where a.number < 1000
)
select key from awaited;

-- bad-definitions
select d.id::text as id from tock.job_definitions d
where d.id = any($1::bigint[]) and (not (d.queue ~ '^[A-Za-z0-9][A-Za-z0-9._:@-]*$' and octet_length(d.queue) <= 200) or d.max_attempts not between 1 and 1000000
  or not (d.cursor >= '0001-01-01Z'::timestamptz and d.cursor < '10000-01-01Z'::timestamptz) or d.jitter_ms not between 0 and 1e12 or d.start_deadline_ms not between 0 and 1e12);

-- begin-reaping
select pg_try_advisory_xact_lock(hashtextextended('tock.reap', 0)) as "isMine", ((select r.blocked_on from tock.job_runs_live r where r.blocked_on >= 'code:' and r.blocked_on < 'code;' order by r.blocked_on limit 1) is not null) as "waitsForCode", (exists (select from tock.fair_scopes) or exists (select from tock.fair_keys)) as "hasFair",
  (exists (select from tock.job_queues q where q.override_ends_at <= tock.now() or q.paused_until <= tock.now())
    or coalesce((select min(d.paused_until) from tock.job_definitions d where d.paused_until is not null) <= tock.now(), false) or exists (select from tock.freezes f where f.ended_at is null and f.until <= tock.now())) as "hasEnded", exists (select from tock.job_offers) as "hasOffers", exists (select from tock.job_queues q where q.relayed_to = 'sql') as "relaysToSql",
  set_config('jit', 'off', true) as jit,
  set_config('idle_in_transaction_session_timeout', '10s', true) as "atMostIdle";

-- blocking-keys
with recursive keys as (
  (select blocked_on as key from tock.job_runs_live where blocked_on > $1 and blocked_on < '~' order by blocked_on limit 1)
  union all
  select (select r.blocked_on from tock.job_runs_live r where r.blocked_on > k.key and r.blocked_on < '~' order by r.blocked_on limit 1) from keys k
  where k.key is not null
)
select key from keys where key is not null limit $2;

-- busiest-keys
select r.slot_keys[1] as name from tock.job_runs_live r tablesample system ((
  select case when exists (select from tock.fair_keys)
    then least(100, 100.0 * 200 / greatest(1, pg_relation_size('tock.job_runs_live') / current_setting('block_size')::integer)) else 0 end))
where r.queue = $1 and r.slot_keys[1] like '~%'
group by 1 order by count(*) desc, 1 limit $2;

-- cancel-children
with failed as materialized (
  select distinct on (w.id) w.id as wait_id, w.run_id, 'parent ' || case when a.name = a.run_id::text then '' else a.name || ' ' end
    || '(run ' || a.run_id || ') ' || case a.status when 'dead' then 'is dead' when 'pruned' then 'was removed' else 'was ' || a.status end as reason
  from tock.job_waits w join tock.job_awaited_runs a on a.wait_id = w.id and a.status <> 'succeeded'
  where w.id = any($1::bigint[]) and w.cancels and w.outcome is null order by w.id, a.position
), gone as (
  delete from tock.job_runs_live r using failed f where r.id = f.run_id and r.status = 'queued' returning r.*, f.wait_id, f.reason
), cancelled as (
  insert into tock.job_runs_finished (id, definition_id, run_at, priority, attempts, max_attempts, fence, releases, generation, occurrence_count, scheduled_for, interval_start, start_by, locked_by, created_at, started_at, job, queue, trigger, idempotency_key, payload, errors, progress, slot_keys, slot_limits, live_key, traceparent, last_traceparent, began_at, snoozes, has_waiters, has_parents, tags, finished_at, status, skip_reason)
  select id, definition_id, run_at, priority, attempts, max_attempts, fence, releases, generation, occurrence_count, scheduled_for, interval_start, start_by, locked_by, created_at, started_at, job, queue, trigger, idempotency_key, payload, errors, progress, slot_keys, slot_limits, live_key, traceparent, last_traceparent, began_at, snoozes, has_waiters, has_parents, tags, tock.now(), 'cancelled', reason
  from gone
), noted as (
  insert into tock.job_outbox (kind, run_id, run_ids, generation, definition_id, scheduled_for)
  select k.kind, e.id, null::bigint[], e.generation, e.definition_id, e.scheduled_for from gone e cross join lateral (
    select 'chain' as kind from tock.job_definitions d
    where d.id = e.definition_id and d.has_followers and e.scheduled_for is not null
    union all
    select 'dead' from tock.job_definitions d where 'cancelled' = 'dead' and d.name = e.job and d.on_dead is not null
  ) k
  where e.definition_id is not null or 'cancelled' = 'dead'
  union all
  select 'end', null, array_agg(e.id order by e.id), 1, null, null from gone e where e.has_waiters having count(*) > 0
  returning id
)
select g.wait_id::text as id, 'cancelled' as outcome, null as result from gone g;

-- cancel-runs
with target as materialized (
  select r.id, r.status from tock.job_runs_live r
  where r.id = any($1::bigint[]) and ($2::boolean or r.cancel_requested_at is null)
  order by r.id for update
), asked as (
  update tock.job_runs_live r set cancel_requested_at = coalesce(r.cancel_requested_at, tock.now()), skip_reason = coalesce($3, r.skip_reason),
    locked_until = case when (r.status = 'running' and r.locked_by = '00000000-0000-0000-0000-000000000000' and r.locked_until < '9999-12-31T00:00:00Z') then tock.now() - interval '1 millisecond' else r.locked_until end,
    run_at = case when (r.status = 'running' and r.locked_by = '00000000-0000-0000-0000-000000000000' and r.locked_until < '9999-12-31T00:00:00Z') then coalesce((select h.due_at from tock.job_hand_offs h where h.run_id = r.id and h.fence = r.fence and r.locked_by = '00000000-0000-0000-0000-000000000000'), r.run_at) else r.run_at end
  where r.id = any(array(select t.id from target t where t.status = 'running')) returning r.id, r.locked_by
), gone as (
  delete from tock.job_runs_live r where r.id = any(array(select t.id from target t where t.status in ('queued', 'failed'))) returning r.*
), ended as (
  insert into tock.job_runs_finished (id, definition_id, run_at, priority, attempts, max_attempts, fence, releases, generation, occurrence_count, scheduled_for, interval_start, start_by, locked_by, created_at, started_at, job, queue, trigger, idempotency_key, payload, errors, progress, slot_keys, slot_limits, live_key, traceparent, last_traceparent, began_at, snoozes, has_waiters, has_parents, tags, finished_at, status, skip_reason)
  select id, definition_id, run_at, priority, attempts, max_attempts, fence, releases, generation, occurrence_count, scheduled_for, interval_start, start_by, locked_by, created_at, started_at, job, queue, trigger, idempotency_key, payload, errors, progress, slot_keys, slot_limits, live_key, traceparent, last_traceparent, began_at, snoozes, has_waiters, has_parents, tags, tock.now(), 'cancelled', $3
  from gone returning id
), freed as (
  delete from tock.job_slots s where s.run_id = any(array(select m.id from gone m))
  returning s.concurrency_key
), noted as (
  insert into tock.job_outbox (kind, run_id, run_ids, generation, definition_id, scheduled_for)
  select k.kind, e.id, null::bigint[], e.generation, e.definition_id, e.scheduled_for from gone e cross join lateral (
    select 'chain' as kind from tock.job_definitions d
    where d.id = e.definition_id and d.has_followers and e.scheduled_for is not null
    union all
    select 'dead' from tock.job_definitions d where 'cancelled' = 'dead' and d.name = e.job and d.on_dead is not null
  ) k
  where e.definition_id is not null or 'cancelled' = 'dead'
  union all
  select 'end', null, array_agg(e.id order by e.id), 1, null, null from gone e where e.has_waiters having count(*) > 0
  returning id
)
select (select array_agg(distinct k.key) from (
    select concurrency_key as key from freed union all select unnest(g.slot_keys) from gone g) k) as freed,
  exists (select from noted) as "outboxWritten", array(select id::text from ended order by id) as cancelled, array(select id::text from asked order by id) as asked,
  -- A listening daemon is notified at once; other workers ask with their next heartbeat.
  (select count(tock.notify(case when locked_by = '00000000-0000-0000-0000-000000000000' then 'reap' else 'cancel:' || id end)::text) from asked) as notified;

-- cancel-successor
with follows as materialized (
  select r.id from tock.job_runs_live r
  where r.live_key = (select s.live_key from tock.job_successors s where s.run_id = $1)
  for key share
), gone as (
  delete from tock.job_successors s where s.run_id = $1 and exists (select from follows) returning s.*
)
insert into tock.job_runs_finished (job, payload, run_at, queue, priority, max_attempts, trigger, slot_keys, slot_limits, traceparent, created_at, live_key, tags, id, idempotency_key, status, skip_reason, finished_at)
  select job, payload, run_at, queue, priority, max_attempts, trigger, slot_keys, slot_limits, traceparent, created_at, live_key, tags, run_id, live_key, 'cancelled', $2, tock.now()
  from gone
returning id::text as id;

-- changes-head
select h.origin, h.position::float8 as position, h.kept_after::float8 as "keptAfter" from tock.changes_head h;

-- changes-page
select h.origin, h.position::float8 as position, h.kept_after::float8 as "keptAfter", c.* from tock.changes_head h left join lateral (
  select c.position::float8 as place, c.kind, c.run_id::text as "runId", c.job, d.name as definition, c.status, c.attempts, c.generation,
    extract(epoch from c.at) as at
  from tock.job_changes c left join tock.job_definitions d on d.id = c.definition_id
  where c.position > $1::bigint and c.position <= $1::bigint + 5000
    and ($2::text[] is null or c.job = any($2::text[])) and ($3::bigint is null or c.run_id = $3::bigint)
  order by c.position limit $4) c on true
order by c.place;

-- claim
with recursive watermarks as materialized (
  select m.queue collate "C" as queue, m.priority, m.after_at, m.after_id from unnest((select $1::text[]), (select $2::integer[]),
    (select $3::timestamptz[]), (select $4::bigint[])) with ordinality as m(queue, priority, after_at, after_id, turn)
), gaps as materialized (
  select b.queue, b.priority, lead(b.queue, 1, '~') over borders as before_queue, lead(b.priority, 1, 0) over borders as before_priority
  from (select '' collate "C" as queue, 0 as priority union all select w.queue, w.priority from watermarks w) b
  window borders as (order by b.queue, b.priority)
), others as (
  select n.queue, n.priority, g.before_queue, g.before_priority
  from gaps g cross join lateral (
    select r.queue, r.priority from tock.job_runs_live r
    where r.blocked_on is null and (r.queue, r.priority) > (g.queue, g.priority) and (r.queue, r.priority) < (g.before_queue, g.before_priority)
    order by r.queue, r.priority limit 1) n
  union all
  select n.queue, n.priority, p.before_queue, p.before_priority
  from others p cross join lateral (
    select r.queue, r.priority from tock.job_runs_live r
    where r.blocked_on is null and (r.queue, r.priority) > (p.queue, p.priority) and (r.queue, r.priority) < (p.before_queue, p.before_priority)
    order by r.queue, r.priority limit 1) n
), queue_lanes as (
  select w.* from watermarks w
  union all
  select o.queue, o.priority, timestamptz '-infinity', 0 from others o
), open as materialized (
  select p.queue, p.priority, case when (q.concurrency is not null or q.rate_count is not null) then timestamptz '-infinity' else p.after_at end as after_at, p.after_id, (q.concurrency is not null or q.rate_count is not null) as is_limited,
    least($5::integer, q.concurrency - (select count(*) from tock.job_slots s where s.concurrency_key = 'queue:' || q.name)) as room, count(*) over (partition by p.priority) as siblings
  from queue_lanes p left join tock.job_queues q on q.name = p.queue
  where (not exists (select from tock.freezes f where (f.ended_at is null and (f.until > tock.now() or f.ramp_ms > 0))) or p.queue = 'tock:alerts') and case when (select $6::text[]) is null then q.relayed_to is null else (p.queue = any($6) or 'default' = any($6) and p.queue like 'default:%') end and not (p.queue like 'default:%' and p.queue <> 'default:' || (select $7::text)
    and ((select $6::text[]) is null or p.queue <> all ($6))
    and exists (select from tock.workers w where w.service = substr(p.queue, 9) and w.seen_at
  between tock.now() - coalesce(w.heartbeat_ms, 15000) * interval '2.5 milliseconds'
    and tock.now() + coalesce(w.heartbeat_ms, 15000) * interval '2.5 milliseconds' and not w.draining
    and case when w.queues is null then coalesce(null, 'sql') = 'sql' else p.queue = any(w.queues) end)) and q.paused_at is null and coalesce(q.closed_until <= tock.now(), true) and (q.active_window is null or case when split_part(q.active_window, '-', 1) < split_part(q.active_window, '-', 2)
    then (tock.now() at time zone q.timezone)::time >= split_part(q.active_window, '-', 1)::time and (tock.now() at time zone q.timezone)::time < split_part(q.active_window, '-', 2)::time
    else (tock.now() at time zone q.timezone)::time >= split_part(q.active_window, '-', 1)::time or (tock.now() at time zone q.timezone)::time < split_part(q.active_window, '-', 2)::time end)
    and (q.concurrency is null or q.concurrency - (select count(*) from tock.job_slots s where s.concurrency_key = 'queue:' || q.name) > 0)
    and (q.rate_next_at is null or q.rate_count is null or q.rate_next_at <= tock.now() or q.rate_next_at > tock.now()
    + least(q.rate_period_ms, q.rate_period_ms / q.rate_count + 60000) * interval '1 millisecond')
    and (select true from tock.job_runs_live r where r.queue = p.queue and r.priority = p.priority and r.blocked_on is null and r.run_at <= tock.now() and r.status in ('queued', 'failed') and (r.run_at, r.id) > (case when (q.concurrency is not null or q.rate_count is not null) then timestamptz '-infinity' else p.after_at end, p.after_id)
      order by r.run_at, r.id limit 1)
), shares as materialized (
  select o.*, least(o.room, ceil($5::integer::numeric / o.siblings)::integer) as share,
    (row_number() over (order by o.priority, o.queue <= $8 collate "C", o.queue))::integer as lane
  from open o order by o.priority, o.queue <= $8 collate "C", o.queue
), found as materialized (
  select d.id, d.run_at, d.needs_admission, o.lane, o.priority, o.share
  from shares o cross join lateral (
    select r.id, r.run_at, o.is_limited or r.slot_keys is not null as needs_admission from tock.job_runs_live r
    where r.queue = o.queue and r.priority = o.priority and r.blocked_on is null and r.run_at <= tock.now() and r.status in ('queued', 'failed') and (r.run_at, r.id) > (o.after_at, o.after_id)
    order by r.run_at, r.id
    limit o.share
    for update of r skip locked
  ) d
  limit $5::integer
), taken as materialized (
  select f.priority, f.lane, f.share, count(*) as count, max(f.run_at) as at, bool_or(f.needs_admission) as needs_admission from found f group by f.priority, f.lane, f.share
), due as materialized (
  select f.id, f.needs_admission from found f
  where f.priority <= coalesce((select min(t.priority) from taken t where t.count >= t.share), f.priority)
), claimed as (
  update tock.job_runs_live r set status = 'running', attempts = r.attempts + 1, fence = r.fence + 1, locked_by = $9,
    locked_until = tock.now() + $10 * interval '1 millisecond', started_at = tock.now()
  where r.id = any(array(select id from due where not needs_admission))
  returning r.id, r.fence, r.job, r.attempts, r.max_attempts, case when pg_column_size(r.payload) > 16384 then '' else left(r.payload::text, 16385) end as payload, r.idempotency_key, r.trigger,
  case when r.definition_id is null and r.scheduled_for is null and r.start_by is null and r.traceparent is null
      and r.began_at is null and r.has_parents is null
    then to_jsonb(r.slot_keys) else
    jsonb_build_object('occurrence_count', r.occurrence_count, 'slot_keys', r.slot_keys,
      'scheduled_for', (extract(epoch from r.scheduled_for) * 1000)::float8, 'interval_start', (extract(epoch from r.interval_start) * 1000)::float8,
      'is_late', case when r.attempts = 1 and r.releases = 0 and r.generation = 1 and r.began_at is null and r.start_by < tock.now()
        then ((extract(epoch from tock.now()) - extract(epoch from r.start_by)) * 1000)::float8 > tock.frozen_ms(coalesce(r.scheduled_for, r.created_at)) else false end)
    || coalesce((select jsonb_build_object('definition', d.name, 'window', case when d.active_window is not null then
        jsonb_build_object('hours', d.active_window, 'timezone', d.timezone, 'outside', d.outside_window, 'now', floor((extract(epoch from tock.now()) * 1000)::float8)) end)
      from tock.job_definitions d where d.id = r.definition_id), '{}')
    || case when r.began_at is null then '{}'::jsonb
      else jsonb_build_object('begun', jsonb_build_object('ageMs', (extract(epoch from (tock.now() - r.began_at)) * 1000)::float8, 'snoozes', coalesce(r.snoozes, 0))) end
    || case when r.has_parents then '{"has_parents": true}'::jsonb else '{}' end
    || case when r.traceparent is null then '{}'::jsonb
      else jsonb_build_object('trace', jsonb_build_object('traceparent', r.traceparent, 'queue', r.queue)) end end as planned
)
select c.id, c.fence, c.job, c.attempts, c.max_attempts, c.payload, c.idempotency_key, c.trigger, c.planned, null::text as ids, null::text as needs_admission, null::json as lanes, null::json as taken from claimed c
union all
select null, null, null, null, null, null, null, null, null, array_agg(d.id)::text, (array_agg(d.id) filter (where d.needs_admission))::text,
  (select json_agg(json_build_array(s.queue, s.priority, s.is_limited) order by s.lane) from shares s),
  (select json_agg(json_build_array(t.lane, t.count, t.count >= t.share, t.at, t.needs_admission) order by t.lane) from taken t)
from due d having count(*) > 0;

-- claim-fair
with recursive ready_scopes as (
  (select k.queue, k.job from tock.fair_keys k where k.is_ready order by k.queue, k.job limit 1)
  union all
  select n.queue, n.job from ready_scopes s cross join lateral (select k.queue, k.job from tock.fair_keys k where k.is_ready and (k.queue, k.job) > (s.queue, s.job) order by k.queue, k.job limit 1) n
), due as materialized (
  select k.* from tock.fair_keys k left join tock.job_queues q on q.name = k.queue
  where not k.is_ready and k.ready_at <= tock.now() and (not exists (select from tock.freezes f where (f.ended_at is null and (f.until > tock.now() or f.ramp_ms > 0))) or k.queue = 'tock:alerts') and case when (select $1::text[]) is null then q.relayed_to is null else (k.queue = any($1) or 'default' = any($1) and k.queue like 'default:%') end and q.paused_at is null and coalesce(q.closed_until <= tock.now(), true) and (q.active_window is null or case when split_part(q.active_window, '-', 1) < split_part(q.active_window, '-', 2)
    then (tock.now() at time zone q.timezone)::time >= split_part(q.active_window, '-', 1)::time and (tock.now() at time zone q.timezone)::time < split_part(q.active_window, '-', 2)::time
    else (tock.now() at time zone q.timezone)::time >= split_part(q.active_window, '-', 1)::time or (tock.now() at time zone q.timezone)::time < split_part(q.active_window, '-', 2)::time end) and coalesce(case when (q.concurrency is not null or q.rate_count is not null) then least(q.concurrency - (select count(*) from tock.job_slots s where s.concurrency_key = 'queue:' || q.name), case when q.rate_count is not null then greatest(0, floor((extract(epoch from tock.now() - greatest(case when not q.rate_next_at > tock.now()
    + least(q.rate_period_ms, q.rate_period_ms / q.rate_count + 60000) * interval '1 millisecond' then q.rate_next_at end, tock.now() - (greatest(1, ceil(1000.0 * q.rate_count / q.rate_period_ms)) - 1) * (q.rate_period_ms::float8 / q.rate_count) * interval '1 millisecond')) * 1000)::float8 / (q.rate_period_ms::float8 / q.rate_count) + 1))::integer end) - (select count(*) from (
    select from tock.job_runs_live r where r.unblocked_on >= '~' || q.name || '/' and r.unblocked_on < '~' || q.name || '0'
      and r.blocked_on is null and r.status in ('queued', 'failed') limit 1000) s) end > 0, true)
  order by k.ready_at limit (select $2::integer) for no key update of k skip locked
), open_scopes as materialized (
  select s.queue, s.job, (q.concurrency is not null or q.rate_count is not null) as is_limited, f.slot_limit, f.rate_count, f.rate_period_ms, f.rate_burst,
    least(case when (q.concurrency is not null or q.rate_count is not null) then least(q.concurrency - (select count(*) from tock.job_slots s where s.concurrency_key = 'queue:' || q.name), case when q.rate_count is not null then greatest(0, floor((extract(epoch from tock.now() - greatest(case when not q.rate_next_at > tock.now()
    + least(q.rate_period_ms, q.rate_period_ms / q.rate_count + 60000) * interval '1 millisecond' then q.rate_next_at end, tock.now() - (greatest(1, ceil(1000.0 * q.rate_count / q.rate_period_ms)) - 1) * (q.rate_period_ms::float8 / q.rate_count) * interval '1 millisecond')) * 1000)::float8 / (q.rate_period_ms::float8 / q.rate_count) + 1))::integer end) - (select count(*) from (
    select from tock.job_runs_live r where r.unblocked_on >= '~' || q.name || '/' and r.unblocked_on < '~' || q.name || '0'
      and r.blocked_on is null and r.status in ('queued', 'failed') limit 1000) s) end, greatest(1, ceil((select $2::integer)::float8 / count(*) over ())))::integer as room
  from (select queue, job from ready_scopes union select queue, job from due) s left join tock.job_queues q on q.name = s.queue
  left join tock.fair_scopes f on f.queue = case when s.job = '' then s.queue else '' end and f.job = s.job
  where (not exists (select from tock.freezes f where (f.ended_at is null and (f.until > tock.now() or f.ramp_ms > 0))) or s.queue = 'tock:alerts') and case when (select $1::text[]) is null then q.relayed_to is null else (s.queue = any($1) or 'default' = any($1) and s.queue like 'default:%') end and q.paused_at is null and coalesce(q.closed_until <= tock.now(), true) and (q.active_window is null or case when split_part(q.active_window, '-', 1) < split_part(q.active_window, '-', 2)
    then (tock.now() at time zone q.timezone)::time >= split_part(q.active_window, '-', 1)::time and (tock.now() at time zone q.timezone)::time < split_part(q.active_window, '-', 2)::time
    else (tock.now() at time zone q.timezone)::time >= split_part(q.active_window, '-', 1)::time or (tock.now() at time zone q.timezone)::time < split_part(q.active_window, '-', 2)::time end) and coalesce(case when (q.concurrency is not null or q.rate_count is not null) then least(q.concurrency - (select count(*) from tock.job_slots s where s.concurrency_key = 'queue:' || q.name), case when q.rate_count is not null then greatest(0, floor((extract(epoch from tock.now() - greatest(case when not q.rate_next_at > tock.now()
    + least(q.rate_period_ms, q.rate_period_ms / q.rate_count + 60000) * interval '1 millisecond' then q.rate_next_at end, tock.now() - (greatest(1, ceil(1000.0 * q.rate_count / q.rate_period_ms)) - 1) * (q.rate_period_ms::float8 / q.rate_count) * interval '1 millisecond')) * 1000)::float8 / (q.rate_period_ms::float8 / q.rate_count) + 1))::integer end) - (select count(*) from (
    select from tock.job_runs_live r where r.unblocked_on >= '~' || q.name || '/' and r.unblocked_on < '~' || q.name || '0'
      and r.blocked_on is null and r.status in ('queued', 'failed') limit 1000) s) end > 0, true)
), ready as materialized (
  select k.* from open_scopes s cross join lateral (
    select k.* from tock.fair_keys k where k.queue = s.queue and k.job = s.job and k.is_ready
    order by k.tag, k.name limit least(s.room, 128) for no key update skip locked) k
), visited as materialized (
  select s.is_limited, s.room, k.is_ready as was_ready, k.name, k.queue, k.job, case when k.is_ready then k.tag when k.held_on is null then greatest(k.tag, coalesce((select p.tag from tock.fair_keys p where p.queue = k.queue and p.job = k.job and p.is_ready order by p.tag limit 1),
    (select p.tag from tock.fair_keys p where p.queue = k.queue and p.job = k.job and not p.is_ready order by p.tag desc limit 1), 0)) else greatest(k.tag, coalesce((select p.tag from tock.fair_keys p where p.queue = k.queue and p.job = k.job and p.is_ready order by p.tag limit 1),
    (select p.tag from tock.fair_keys p where p.queue = k.queue and p.job = k.job and not p.is_ready order by p.tag desc limit 1), 0) - 32) end as tag,
    k.arrivals, k.rate_next_at, coalesce(o.weight, 1) as weight, case when k.name like '~!%' then 1 else coalesce(o.slot_limit, s.slot_limit) end as slot_limit,
    case when case when k.name like '~!%' then 1 else coalesce(o.slot_limit, s.slot_limit) end is not null then exists (select from tock.fair_keys n where n.name = k.name and n.tag = k.tag and n.arrivals = k.arrivals) else true end as is_as_seen,
    h.id as holder, h.status = 'running' as is_running, h.run_at as held_until,
    coalesce(o.rate_period_ms::float8 / o.rate_count, s.rate_period_ms::float8 / s.rate_count) as step, coalesce(o.rate_burst, s.rate_burst) as burst
  from (select * from ready union all select * from due) k join open_scopes s on s.queue = k.queue and s.job = k.job
  left join tock.key_settings o on o.key = k.key
  left join lateral (select h.id, h.status, h.run_at from (
      select s.run_id from tock.job_slots s where s.concurrency_key = k.name
      union all
      select u.id from tock.job_runs_live u where u.unblocked_on = k.name and u.blocked_on is null and u.status <> 'running'
    ) first join tock.job_runs_live h on h.id = first.run_id where k.name like '~!%' limit 1) h on true
), allowed as materialized (
  select v.*, b.first_at, b.quantum, least(
    greatest(b.quantum, ceil(v.room * v.weight / sum(v.weight) over (partition by v.queue, v.job)))::integer,
    case when v.step is not null then greatest(0, floor((extract(epoch from tock.now() - b.first_at) * 1000)::float8 / v.step + 1))::integer end,
    case when v.slot_limit is null then null when v.holder is not null then 1 when v.is_as_seen
      then greatest(0, v.slot_limit - (select count(*) from tock.job_slots s where s.concurrency_key = v.name))::integer else 0 end
  ) as quota
  from visited v cross join lateral (
    select greatest(1, floor(v.room * least(v.weight, 8) / 32)) as quantum,
      greatest(v.rate_next_at, tock.now() - (v.burst - 1) * v.step * interval '1 millisecond') as first_at) b
), found as materialized (
  select a.*, r.id, a.is_limited or r.needs_admission or r.id is not distinct from a.holder as needs_admission,
    a.tag + floor((r.turn - 1)::float8 / a.quantum) * a.quantum / a.weight as at_tag, r.turn,
    r.other_key, count(r.id) over by_key as found, row_number() over by_key as number
  from allowed a left join lateral (
    select r.id, row_number() over () as turn, cardinality(r.slot_keys) > 1 as needs_admission, case when r.slot_keys[2] like 'job:%' then r.slot_keys[2] end as other_key from (
      select r.id, r.slot_keys from tock.job_runs_live r
      where r.blocked_on = a.name and r.queue = a.queue and r.run_at <= tock.now() and r.status in ('queued', 'failed')
        and coalesce(r.id = a.holder, true)
      order by r.priority, r.run_at, r.id limit a.quota) r) r on true
  window by_key as (partition by a.name)
), other_keys as materialized (
  select o.key, o.queue, (select true from tock.job_runs_live r where r.blocked_on = o.key and r.queue = o.queue limit 1) is null
    and (select true from tock.job_runs_live r where r.unblocked_on = o.key and r.queue = o.queue and r.blocked_on is null limit 1) is null as is_free
  from (select distinct other_key as key, queue from found where other_key is not null) o
), candidates as materialized (
  select f.id, f.name, f.turn, f.needs_admission, f.at_tag, f.other_key,
    coalesce(not o.is_free, false) as is_held,
    coalesce(f.is_limited and row_number() over (partition by f.queue, f.job order by f.at_tag, f.name, f.turn) > f.room, false) as is_late
  from found f left join other_keys o on o.key = f.other_key and o.queue = f.queue where f.id is not null
), held as materialized (
  select c.name, min(c.other_key) as other_key from candidates c where c.is_held group by c.name
), chosen as materialized (
  select c.id, c.name, c.turn, c.needs_admission, row_number() over (order by c.at_tag, c.name, c.turn) as place
  from candidates c where not c.is_held and not c.is_late order by place limit (select $2::integer)
), locked as materialized (
  select r.id from tock.job_runs_live r where r.id = any(array(select c.id from chosen c)) and coalesce(r.blocked_on, '') <> '' and r.status in ('queued', 'failed')
  for update of r skip locked
), taken as materialized (
  select array(select l.id from locked l) as ids
), counts as materialized (
  select * from (
    select f.*, count(*) filter (where f.id = any((select t.ids from taken t)::bigint[])) over by_key as taken,
      count(*) filter (where f.id = any((select t.ids from taken t)::bigint[]) and not f.needs_admission) over by_key as started
    from found f window by_key as (partition by f.name)) f
  where f.number = 1
), rests as materialized (
  select c.*, c.found < c.quota and c.taken = c.found as is_exhausted,
    case when c.step is not null then c.first_at + c.started * c.step * interval '1 millisecond' end as next_at,
    case when c.found < c.quota and c.taken = c.found then (
      select min(r.run_at) from tock.job_runs_live r where r.blocked_on = c.name and r.id <> all((select t.ids from taken t)::bigint[])) end as rest_at,
    c.slot_limit is not null and c.slot_limit <= c.taken + (select count(*) from tock.job_slots s where s.concurrency_key = c.name) as is_full,
    (select n.arrivals from tock.fair_keys n where n.name = c.name) = c.arrivals as has_seen_all,
    case when c.taken = 0 and c.found > 0 then (select h.other_key from held h where h.name = c.name) end as held_on
  from counts c
), decided as materialized (
  select r.*, r.is_exhausted and r.rest_at is null and r.has_seen_all as is_empty,
    case when r.holder is not null and r.found = 0 then case when r.has_seen_all then greatest(r.next_at, tock.now() + interval '5000 milliseconds',
        case when not r.is_running then least(r.held_until, tock.now() + interval '60000 milliseconds') end) else r.next_at end
      when r.is_exhausted and r.has_seen_all then greatest(r.rest_at, r.next_at)
      when r.is_full and r.is_as_seen then greatest(tock.now() + interval '5000 milliseconds', r.next_at)
      when r.held_on is not null then tock.now() + interval '1000 milliseconds'
      else r.next_at end as again_at
  from rests r
), served as (
  update tock.fair_keys k set tag = d.tag + d.taken / d.weight, rate_next_at = coalesce(d.next_at, k.rate_next_at),
    is_ready = not d.is_empty and coalesce(d.again_at <= tock.now(), true),
    ready_at = case when not d.is_empty and d.again_at > tock.now() then d.again_at end, held_on = d.held_on
  from decided d where k.name = d.name and (d.taken > 0 or d.found < d.quota or d.quota = 0 or d.held_on is not null or not d.was_ready)
), free_slots as materialized (
  select d.name, array(select f.slot from generate_series(1, d.slot_limit) f(slot)
    where not exists (select from tock.job_slots s where s.concurrency_key = d.name and s.slot = f.slot) order by 1) as slots
  from decided d where d.slot_limit is not null and d.taken > 0
), slots as (
  insert into tock.job_slots (concurrency_key, slot, run_id, fence)
  select c.name, f.slots[row_number() over (partition by c.name order by c.turn)], c.id, r.fence + 1
  from chosen c join free_slots f on f.name = c.name join tock.job_runs_live r on r.id = c.id
  where not c.needs_admission and c.id = any((select t.ids from taken t)::bigint[]) order by 1, 2
), unblocked as (
  update tock.job_runs_live r set blocked_on = null, unblocked_on = r.blocked_on
  where r.id = any(array(select c.id from chosen c where c.needs_admission)) and r.id = any((select t.ids from taken t)::bigint[])
), claimed as (
  update tock.job_runs_live r set blocked_on = null, status = 'running', attempts = r.attempts + 1, fence = r.fence + 1, locked_by = $3,
    locked_until = tock.now() + $4 * interval '1 millisecond', started_at = tock.now()
  where r.id = any((select t.ids from taken t)::bigint[]) and r.id <> all(array(select c.id from chosen c where c.needs_admission))
  returning r.id, r.fence, r.job, r.attempts, r.max_attempts, case when pg_column_size(r.payload) > 16384 then '' else left(r.payload::text, 16385) end as payload, r.idempotency_key, r.trigger,
  case when r.definition_id is null and r.scheduled_for is null and r.start_by is null and r.traceparent is null
      and r.began_at is null and r.has_parents is null
    then to_jsonb(r.slot_keys) else
    jsonb_build_object('occurrence_count', r.occurrence_count, 'slot_keys', r.slot_keys,
      'scheduled_for', (extract(epoch from r.scheduled_for) * 1000)::float8, 'interval_start', (extract(epoch from r.interval_start) * 1000)::float8,
      'is_late', case when r.attempts = 1 and r.releases = 0 and r.generation = 1 and r.began_at is null and r.start_by < tock.now()
        then ((extract(epoch from tock.now()) - extract(epoch from r.start_by)) * 1000)::float8 > tock.frozen_ms(coalesce(r.scheduled_for, r.created_at)) else false end)
    || coalesce((select jsonb_build_object('definition', d.name, 'window', case when d.active_window is not null then
        jsonb_build_object('hours', d.active_window, 'timezone', d.timezone, 'outside', d.outside_window, 'now', floor((extract(epoch from tock.now()) * 1000)::float8)) end)
      from tock.job_definitions d where d.id = r.definition_id), '{}')
    || case when r.began_at is null then '{}'::jsonb
      else jsonb_build_object('begun', jsonb_build_object('ageMs', (extract(epoch from (tock.now() - r.began_at)) * 1000)::float8, 'snoozes', coalesce(r.snoozes, 0))) end
    || case when r.has_parents then '{"has_parents": true}'::jsonb else '{}' end
    || case when r.traceparent is null then '{}'::jsonb
      else jsonb_build_object('trace', jsonb_build_object('traceparent', r.traceparent, 'queue', r.queue)) end end as planned
)
select c.id, c.needs_admission, l.fence, l.job, l.attempts, l.max_attempts, l.payload, l.idempotency_key, l.trigger, l.planned,
  (exists (select from decided x where not x.is_empty and coalesce(x.again_at <= tock.now(), true))
    or exists (select from visited v group by v.queue, v.job having count(*) >= least(max(v.room), 128))
      and not exists (select from decided h where h.held_on is not null))
    and not (exists (select from chosen) and not exists (select from locked)) as has_more,
  (extract(epoch from least((select min(d.again_at) from decided d where not d.is_empty and d.again_at > tock.now()),
    (select min(k.ready_at) from tock.fair_keys k where not k.is_ready and k.ready_at > tock.now())) - tock.now()) * 1000)::float8 as next_ms
from (values (1)) one left join chosen c on c.id = any((select t.ids from taken t)::bigint[]) left join claimed l on l.id = c.id order by c.place;

-- claim-in-lane
with due as materialized (
  select d.id, d.run_at from (
    select r.id, r.run_at from tock.job_runs_live r
    where r.queue = (select $1::text) and r.priority = (select $2::integer)
      and r.blocked_on is null and r.run_at <= tock.now() and r.status in ('queued', 'failed') and r.slot_keys is null
      and (r.run_at, r.id) > ((select $3::timestamptz), (select $4::bigint)) and not (not (not exists (select from tock.freezes f where (f.ended_at is null and (f.until > tock.now() or f.ramp_ms > 0))) or $1 = 'tock:alerts') or ($1 like 'default:%' and $1 <> 'default:' || (select $5::text)
    and ((select $6::text[]) is null or $1 <> all ($6))
    and exists (select from tock.workers w where w.service = substr($1, 9) and w.seen_at
  between tock.now() - coalesce(w.heartbeat_ms, 15000) * interval '2.5 milliseconds'
    and tock.now() + coalesce(w.heartbeat_ms, 15000) * interval '2.5 milliseconds' and not w.draining
    and case when w.queues is null then coalesce(null, 'sql') = 'sql' else $1 = any(w.queues) end)) or exists (select from tock.job_queues q where q.name = $1
      and ((q.concurrency is not null or q.rate_count is not null) or not (q.paused_at is null and coalesce(q.closed_until <= tock.now(), true) and (q.active_window is null or case when split_part(q.active_window, '-', 1) < split_part(q.active_window, '-', 2)
    then (tock.now() at time zone q.timezone)::time >= split_part(q.active_window, '-', 1)::time and (tock.now() at time zone q.timezone)::time < split_part(q.active_window, '-', 2)::time
    else (tock.now() at time zone q.timezone)::time >= split_part(q.active_window, '-', 1)::time or (tock.now() at time zone q.timezone)::time < split_part(q.active_window, '-', 2)::time end) and case when (select $6::text[]) is null then q.relayed_to is null else ($1 = any($6) or 'default' = any($6) and $1 like 'default:%') end))))
    order by r.run_at, r.id
    limit 2000
    for update of r skip locked
  ) d
  limit (select $7::integer)
), carried as materialized (
  select array_agg(id)::text as ids, min(id) as carrier,
    json_build_array(json_build_array(1, count(*), count(*) >= $7, max(run_at))) as taken from due
)
update tock.job_runs_live r set status = 'running', attempts = r.attempts + 1, fence = r.fence + 1, locked_by = $8,
    locked_until = tock.now() + $9 * interval '1 millisecond', started_at = tock.now()
where r.id = any(array(select id from due))
returning r.id, r.fence, r.job, r.attempts, r.max_attempts, case when pg_column_size(r.payload) > 16384 then '' else left(r.payload::text, 16385) end as payload, r.idempotency_key, r.trigger,
  case when r.definition_id is null and r.scheduled_for is null and r.start_by is null and r.traceparent is null
      and r.began_at is null and r.has_parents is null
    then to_jsonb(r.slot_keys) else
    jsonb_build_object('occurrence_count', r.occurrence_count, 'slot_keys', r.slot_keys,
      'scheduled_for', (extract(epoch from r.scheduled_for) * 1000)::float8, 'interval_start', (extract(epoch from r.interval_start) * 1000)::float8,
      'is_late', case when r.attempts = 1 and r.releases = 0 and r.generation = 1 and r.began_at is null and r.start_by < tock.now()
        then ((extract(epoch from tock.now()) - extract(epoch from r.start_by)) * 1000)::float8 > tock.frozen_ms(coalesce(r.scheduled_for, r.created_at)) else false end)
    || coalesce((select jsonb_build_object('definition', d.name, 'window', case when d.active_window is not null then
        jsonb_build_object('hours', d.active_window, 'timezone', d.timezone, 'outside', d.outside_window, 'now', floor((extract(epoch from tock.now()) * 1000)::float8)) end)
      from tock.job_definitions d where d.id = r.definition_id), '{}')
    || case when r.began_at is null then '{}'::jsonb
      else jsonb_build_object('begun', jsonb_build_object('ageMs', (extract(epoch from (tock.now() - r.began_at)) * 1000)::float8, 'snoozes', coalesce(r.snoozes, 0))) end
    || case when r.has_parents then '{"has_parents": true}'::jsonb else '{}' end
    || case when r.traceparent is null then '{}'::jsonb
      else jsonb_build_object('trace', jsonb_build_object('traceparent', r.traceparent, 'queue', r.queue)) end end as planned,
  case when r.id = (select carrier from carried) then (select ids from carried) end as ids,
  case when r.id = (select carrier from carried) then (select taken from carried) end as taken;

-- claim-in-lanes
with open as materialized (
  select m.*, ceil($1::integer::numeric / count(*) over (partition by m.priority))::integer as share
  from unnest((select $2::text[]), (select $3::integer[]),
    (select $4::timestamptz[]), (select $5::bigint[])) with ordinality as m(queue, priority, after_at, after_id, turn)
  where not (not (not exists (select from tock.freezes f where (f.ended_at is null and (f.until > tock.now() or f.ramp_ms > 0))) or m.queue = 'tock:alerts') or (m.queue like 'default:%' and m.queue <> 'default:' || (select $6::text)
    and ((select $7::text[]) is null or m.queue <> all ($7))
    and exists (select from tock.workers w where w.service = substr(m.queue, 9) and w.seen_at
  between tock.now() - coalesce(w.heartbeat_ms, 15000) * interval '2.5 milliseconds'
    and tock.now() + coalesce(w.heartbeat_ms, 15000) * interval '2.5 milliseconds' and not w.draining
    and case when w.queues is null then coalesce(null, 'sql') = 'sql' else m.queue = any(w.queues) end)) or exists (select from tock.job_queues q where q.name = m.queue
      and ((q.concurrency is not null or q.rate_count is not null) or not (q.paused_at is null and coalesce(q.closed_until <= tock.now(), true) and (q.active_window is null or case when split_part(q.active_window, '-', 1) < split_part(q.active_window, '-', 2)
    then (tock.now() at time zone q.timezone)::time >= split_part(q.active_window, '-', 1)::time and (tock.now() at time zone q.timezone)::time < split_part(q.active_window, '-', 2)::time
    else (tock.now() at time zone q.timezone)::time >= split_part(q.active_window, '-', 1)::time or (tock.now() at time zone q.timezone)::time < split_part(q.active_window, '-', 2)::time end) and case when (select $7::text[]) is null then q.relayed_to is null else (m.queue = any($7) or 'default' = any($7) and m.queue like 'default:%') end))))
  order by m.priority, m.turn
), found as materialized (
  select d.id, d.run_at, o.turn, o.priority, o.share
  from open o cross join lateral (
    select r.id, r.run_at from tock.job_runs_live r
    where r.queue = o.queue and r.priority = o.priority and r.blocked_on is null and r.run_at <= tock.now() and r.status in ('queued', 'failed') and r.slot_keys is null and (r.run_at, r.id) > (o.after_at, o.after_id)
    order by r.run_at, r.id
    limit o.share
    for update of r skip locked
  ) d
  limit $1::integer
), taken as materialized (
  select f.priority, f.turn, f.share, count(*) as count, max(f.run_at) as at from found f group by f.priority, f.turn, f.share
), due as materialized (
  select f.id from found f
  where f.priority <= coalesce((select min(t.priority) from taken t where t.count >= t.share), f.priority)
), carried as materialized (
  select array_agg(d.id)::text as ids, min(d.id) as carrier,
    (select json_agg(json_build_array(t.turn, t.count, t.count >= t.share, t.at) order by t.priority, t.turn) from taken t) as taken
  from due d
)
update tock.job_runs_live r set status = 'running', attempts = r.attempts + 1, fence = r.fence + 1, locked_by = $8,
    locked_until = tock.now() + $9 * interval '1 millisecond', started_at = tock.now()
where r.id = any(array(select id from due))
returning r.id, r.fence, r.job, r.attempts, r.max_attempts, case when pg_column_size(r.payload) > 16384 then '' else left(r.payload::text, 16385) end as payload, r.idempotency_key, r.trigger,
  case when r.definition_id is null and r.scheduled_for is null and r.start_by is null and r.traceparent is null
      and r.began_at is null and r.has_parents is null
    then to_jsonb(r.slot_keys) else
    jsonb_build_object('occurrence_count', r.occurrence_count, 'slot_keys', r.slot_keys,
      'scheduled_for', (extract(epoch from r.scheduled_for) * 1000)::float8, 'interval_start', (extract(epoch from r.interval_start) * 1000)::float8,
      'is_late', case when r.attempts = 1 and r.releases = 0 and r.generation = 1 and r.began_at is null and r.start_by < tock.now()
        then ((extract(epoch from tock.now()) - extract(epoch from r.start_by)) * 1000)::float8 > tock.frozen_ms(coalesce(r.scheduled_for, r.created_at)) else false end)
    || coalesce((select jsonb_build_object('definition', d.name, 'window', case when d.active_window is not null then
        jsonb_build_object('hours', d.active_window, 'timezone', d.timezone, 'outside', d.outside_window, 'now', floor((extract(epoch from tock.now()) * 1000)::float8)) end)
      from tock.job_definitions d where d.id = r.definition_id), '{}')
    || case when r.began_at is null then '{}'::jsonb
      else jsonb_build_object('begun', jsonb_build_object('ageMs', (extract(epoch from (tock.now() - r.began_at)) * 1000)::float8, 'snoozes', coalesce(r.snoozes, 0))) end
    || case when r.has_parents then '{"has_parents": true}'::jsonb else '{}' end
    || case when r.traceparent is null then '{}'::jsonb
      else jsonb_build_object('trace', jsonb_build_object('traceparent', r.traceparent, 'queue', r.queue)) end end as planned,
  case when r.id = (select carrier from carried) then (select ids from carried) end as ids,
  case when r.id = (select carrier from carried) then (select taken from carried) end as taken;

-- claim-one
with due as materialized (
  select r.id, r.blocked_on, r.slot_keys is not null or (q.concurrency is not null or q.rate_count is not null) as needs_admission
  from tock.job_runs_live r left join tock.job_queues q on q.name = r.queue
  where r.id = $1 and (r.blocked_on is null or r.blocked_on = any($2::text[])) and r.run_at <= tock.now() and r.status in ('queued', 'failed')
    and q.paused_at is null and coalesce(q.closed_until <= tock.now(), true) and (q.active_window is null or case when split_part(q.active_window, '-', 1) < split_part(q.active_window, '-', 2)
    then (tock.now() at time zone q.timezone)::time >= split_part(q.active_window, '-', 1)::time and (tock.now() at time zone q.timezone)::time < split_part(q.active_window, '-', 2)::time
    else (tock.now() at time zone q.timezone)::time >= split_part(q.active_window, '-', 1)::time or (tock.now() at time zone q.timezone)::time < split_part(q.active_window, '-', 2)::time end) and ($2::text[] is not null or (not exists (select from tock.freezes f where (f.ended_at is null and (f.until > tock.now() or f.ramp_ms > 0))) or r.queue = 'tock:alerts'))
  for update of r skip locked
), unblocked as (
  update tock.job_runs_live r set blocked_on = null from due where r.id = due.id and due.needs_admission and due.blocked_on is not null
), claimed as (
  update tock.job_runs_live r set blocked_on = null, status = 'running', attempts = r.attempts + 1, fence = r.fence + 1, locked_by = $3,
    locked_until = tock.now() + $4 * interval '1 millisecond', started_at = tock.now() from due where r.id = due.id and not due.needs_admission
  returning r.id, r.fence, r.job, r.attempts, r.max_attempts, case when pg_column_size(r.payload) > 16384 then '' else left(r.payload::text, 16385) end as payload, r.idempotency_key, r.trigger,
  case when r.definition_id is null and r.scheduled_for is null and r.start_by is null and r.traceparent is null
      and r.began_at is null and r.has_parents is null
    then to_jsonb(r.slot_keys) else
    jsonb_build_object('occurrence_count', r.occurrence_count, 'slot_keys', r.slot_keys,
      'scheduled_for', (extract(epoch from r.scheduled_for) * 1000)::float8, 'interval_start', (extract(epoch from r.interval_start) * 1000)::float8,
      'is_late', case when r.attempts = 1 and r.releases = 0 and r.generation = 1 and r.began_at is null and r.start_by < tock.now()
        then ((extract(epoch from tock.now()) - extract(epoch from r.start_by)) * 1000)::float8 > tock.frozen_ms(coalesce(r.scheduled_for, r.created_at)) else false end)
    || coalesce((select jsonb_build_object('definition', d.name, 'window', case when d.active_window is not null then
        jsonb_build_object('hours', d.active_window, 'timezone', d.timezone, 'outside', d.outside_window, 'now', floor((extract(epoch from tock.now()) * 1000)::float8)) end)
      from tock.job_definitions d where d.id = r.definition_id), '{}')
    || case when r.began_at is null then '{}'::jsonb
      else jsonb_build_object('begun', jsonb_build_object('ageMs', (extract(epoch from (tock.now() - r.began_at)) * 1000)::float8, 'snoozes', coalesce(r.snoozes, 0))) end
    || case when r.has_parents then '{"has_parents": true}'::jsonb else '{}' end
    || case when r.traceparent is null then '{}'::jsonb
      else jsonb_build_object('trace', jsonb_build_object('traceparent', r.traceparent, 'queue', r.queue)) end end as planned
)
select due.id, due.needs_admission, c.fence, c.job, c.attempts, c.max_attempts, c.payload, c.idempotency_key, c.trigger, c.planned
from due left join claimed c on c.id = due.id;

-- claim-upkeep
-- One process, whose role may do the work, writes the row of a turn; the others do nothing more. A row from too far in
-- the future counts as due, because the clock may have been set back. What a crash left behind is due too.
with due as (
  select from tock.upkeep where kind = 'partitions' and (at < tock.now() - interval '1 hour' or at > tock.now())
), mine as (
  update tock.upkeep set at = tock.now()
  where kind = 'partitions' and (at < tock.now() - interval '1 hour' or at > tock.now())
    and has_function_privilege('tock.create_partitions(integer, text)', 'execute')
  returning 1
), kept as (
  select substr(k.kind, 7)::jsonb as what from tock.upkeep k where k.kind like 'keeps %' and k.at > (select min(least(p.at, tock.now())) from tock.upkeep p where p.kind = 'pruned')
  - interval '7 days'
), prunes as (
  -- Only the owner may drop partitions. If a clock is wrong by a day, nobody knows what is old.
  update tock.upkeep set at = tock.now() + interval '22 hours'
  where kind = 'retention' and $1::boolean
    and (at < tock.now() - case when $2::boolean then interval '0' else interval '90 minutes' end
      or at > tock.now() + interval '22 hours' + interval '1 minute')
    and pg_has_role((select c.relowner from pg_class c where c.oid = 'tock.job_runs_finished'::regclass), 'usage')
    and abs(extract(epoch from clock_timestamp()) - $3::float8 / 1000) < 86400
    and not exists (select from kept k where k.what = 'false')
  returning 1
), unkept as (
  delete from tock.upkeep where exists (select from due) and kind like 'keeps %' and at < tock.now() - interval '400 days'
), gone as (
  -- Hosts that ticked no more for a week; those that ticked a few times only, such as containers that live for
  -- one tick, for a day. Counted from the latest tick, which stays on record.
  delete from tock.ticks t using (select max(at) as at from tock.ticks) latest
  where exists (select from due)
    and t.at < latest.at - case when t.tick_count < 5 then interval '1 day' else interval '7 days' end
)
select case when exists (select from mine) then
    (tock.partitions_end() < tock.now()
        + case tock.partition_unit() when 'day' then interval '7 days' else interval '2 months' end
      or exists (select from pg_constraint c where c.conrelid = 'tock.job_runs_finished_default'::regclass
        and c.conname = 'job_runs_finished_default_bounds'))
  else false end as "areDue",
  case when exists (select from prunes) then (select coalesce(jsonb_agg(k.what), '[]') from kept k) end as kept;

-- claim-waiting
with due as materialized (
  select d.id, d.needs_admission, d.priority, d.run_at from unnest($1::text[]) as k(key) cross join lateral (
    select r.id, r.priority, r.run_at, r.slot_keys is not null or (q.concurrency is not null or q.rate_count is not null) as needs_admission
    from tock.job_runs_live r left join tock.job_queues q on q.name = r.queue
    where r.blocked_on = k.key and r.run_at <= tock.now() and r.status in ('queued', 'failed')
      and (not exists (select from tock.freezes f where (f.ended_at is null and (f.until > tock.now() or f.ramp_ms > 0))) or r.queue = 'tock:alerts') and case when (select $2::text[]) is null then q.relayed_to is null else (r.queue = any($2) or 'default' = any($2) and r.queue like 'default:%') end and q.paused_at is null and coalesce(q.closed_until <= tock.now(), true) and (q.active_window is null or case when split_part(q.active_window, '-', 1) < split_part(q.active_window, '-', 2)
    then (tock.now() at time zone q.timezone)::time >= split_part(q.active_window, '-', 1)::time and (tock.now() at time zone q.timezone)::time < split_part(q.active_window, '-', 2)::time
    else (tock.now() at time zone q.timezone)::time >= split_part(q.active_window, '-', 1)::time or (tock.now() at time zone q.timezone)::time < split_part(q.active_window, '-', 2)::time end)
    order by r.priority, r.run_at, r.id limit $3::integer
    for update of r skip locked) d
  order by d.priority, d.run_at, d.id limit $3::integer
), unblocked as (
  update tock.job_runs_live r set blocked_on = null where r.id = any(array(select id from due where needs_admission))
), claimed as (
  update tock.job_runs_live r set blocked_on = null, status = 'running', attempts = r.attempts + 1, fence = r.fence + 1, locked_by = $4,
    locked_until = tock.now() + $5 * interval '1 millisecond', started_at = tock.now()
  where r.id = any(array(select id from due where not needs_admission))
  returning r.id, r.fence, r.job, r.attempts, r.max_attempts, case when pg_column_size(r.payload) > 16384 then '' else left(r.payload::text, 16385) end as payload, r.idempotency_key, r.trigger,
  case when r.definition_id is null and r.scheduled_for is null and r.start_by is null and r.traceparent is null
      and r.began_at is null and r.has_parents is null
    then to_jsonb(r.slot_keys) else
    jsonb_build_object('occurrence_count', r.occurrence_count, 'slot_keys', r.slot_keys,
      'scheduled_for', (extract(epoch from r.scheduled_for) * 1000)::float8, 'interval_start', (extract(epoch from r.interval_start) * 1000)::float8,
      'is_late', case when r.attempts = 1 and r.releases = 0 and r.generation = 1 and r.began_at is null and r.start_by < tock.now()
        then ((extract(epoch from tock.now()) - extract(epoch from r.start_by)) * 1000)::float8 > tock.frozen_ms(coalesce(r.scheduled_for, r.created_at)) else false end)
    || coalesce((select jsonb_build_object('definition', d.name, 'window', case when d.active_window is not null then
        jsonb_build_object('hours', d.active_window, 'timezone', d.timezone, 'outside', d.outside_window, 'now', floor((extract(epoch from tock.now()) * 1000)::float8)) end)
      from tock.job_definitions d where d.id = r.definition_id), '{}')
    || case when r.began_at is null then '{}'::jsonb
      else jsonb_build_object('begun', jsonb_build_object('ageMs', (extract(epoch from (tock.now() - r.began_at)) * 1000)::float8, 'snoozes', coalesce(r.snoozes, 0))) end
    || case when r.has_parents then '{"has_parents": true}'::jsonb else '{}' end
    || case when r.traceparent is null then '{}'::jsonb
      else jsonb_build_object('trace', jsonb_build_object('traceparent', r.traceparent, 'queue', r.queue)) end end as planned
)
select due.id, due.needs_admission, c.fence, c.job, c.attempts, c.max_attempts, c.payload, c.idempotency_key, c.trigger, c.planned
from due left join claimed c on c.id = due.id order by due.priority, due.run_at, due.id;

-- claimable-ids
with recursive queue_lanes as (
  (select queue, priority from tock.job_runs_live where blocked_on is null order by queue, priority limit 1)
  union all
  select n.queue, n.priority from queue_lanes p cross join lateral (
    select r.queue, r.priority from tock.job_runs_live r
    where r.blocked_on is null and (r.queue, r.priority) > (p.queue, p.priority) order by r.queue, r.priority limit 1) n
), open as materialized (
  select p.queue, p.priority, (q.concurrency is not null or q.rate_count is not null) as is_limited,
    least($1::integer, q.concurrency - (select count(*) from tock.job_slots s where s.concurrency_key = 'queue:' || q.name)) as room, count(*) over (partition by p.priority) as siblings
  from queue_lanes p left join tock.job_queues q on q.name = p.queue
  where (not exists (select from tock.freezes f where (f.ended_at is null and (f.until > tock.now() or f.ramp_ms > 0))) or p.queue = 'tock:alerts') and case when (select $2::text[]) is null then q.relayed_to is null else (p.queue = any($2) or 'default' = any($2) and p.queue like 'default:%') end and not (p.queue like 'default:%' and p.queue <> 'default:' || (select $3::text)
    and ((select $2::text[]) is null or p.queue <> all ($2))
    and exists (select from tock.workers w where w.service = substr(p.queue, 9) and w.seen_at
  between tock.now() - coalesce(w.heartbeat_ms, 15000) * interval '2.5 milliseconds'
    and tock.now() + coalesce(w.heartbeat_ms, 15000) * interval '2.5 milliseconds' and not w.draining
    and case when w.queues is null then coalesce(null, 'sql') = 'sql' else p.queue = any(w.queues) end)) and q.paused_at is null and coalesce(q.closed_until <= tock.now(), true) and (q.active_window is null or case when split_part(q.active_window, '-', 1) < split_part(q.active_window, '-', 2)
    then (tock.now() at time zone q.timezone)::time >= split_part(q.active_window, '-', 1)::time and (tock.now() at time zone q.timezone)::time < split_part(q.active_window, '-', 2)::time
    else (tock.now() at time zone q.timezone)::time >= split_part(q.active_window, '-', 1)::time or (tock.now() at time zone q.timezone)::time < split_part(q.active_window, '-', 2)::time end)
    and (q.concurrency is null or q.concurrency - (select count(*) from tock.job_slots s where s.concurrency_key = 'queue:' || q.name) > 0)
    and (q.rate_next_at is null or q.rate_count is null or q.rate_next_at <= tock.now() or q.rate_next_at > tock.now()
    + least(q.rate_period_ms, q.rate_period_ms / q.rate_count + 60000) * interval '1 millisecond')
    and (select true from tock.job_runs_live r where r.queue = p.queue and r.priority = p.priority and r.blocked_on is null and r.run_at <= tock.now() and r.status in ('queued', 'failed')
      order by r.run_at, r.id limit 1)
)
select d.id::text as id from open o cross join lateral (
  select r.id, r.run_at from tock.job_runs_live r
  where r.queue = o.queue and r.priority = o.priority and r.blocked_on is null and r.run_at <= tock.now() and r.status in ('queued', 'failed')
  order by r.run_at, r.id limit $1) d
order by o.priority, d.run_at, d.id limit $1;

-- clock-and-live-runs
select (extract(epoch from tock.now()) * 1000)::float8 as now, (select coalesce(jsonb_object_agg(i.id, l.count), '{}') from unnest($1::bigint[]) as i(id) cross join lateral (
    select count(*) from (select from tock.job_runs_live r where r.definition_id = i.id limit 2) r) l where l.count > 0) as live,
  (select string_agg(z.timezone || ' ' || z.zone_data, ',' order by z.timezone) from tock.zones z where z.zone_data <> $2) as "otherZones";

-- close-freeze
update tock.freezes f set ended_at = f.until where f.ended_at is null and f.until <= tock.now() and f.ramp_ms = 0;

-- close-key
with mine as materialized (
  select h.slot_keys[1] as name from tock.job_runs_live h where h.id = $1 and exists (select from tock.job_runs_live r
  where r.id = $1 and r.fence = $2 and r.locked_by = $3 and r.status = 'running')
), closed as (
  insert into tock.fair_keys as k (name, queue, job, key, tag, is_ready, ready_at, closed_until)
  select m.name, ltrim(split_part(m.name, '/', 1), '~!'), split_part(m.name, '/', 2), regexp_replace(m.name, '^[^/]*/[^/]*/', ''), coalesce((select p.tag from tock.fair_keys p where p.queue = ltrim(split_part(m.name, '/', 1), '~!') and p.job = split_part(m.name, '/', 2) and p.is_ready order by p.tag limit 1),
    (select p.tag from tock.fair_keys p where p.queue = ltrim(split_part(m.name, '/', 1), '~!') and p.job = split_part(m.name, '/', 2) and not p.is_ready order by p.tag desc limit 1), 0), false, t.until, t.until from mine m cross join (select coalesce($4::timestamptz, tock.now() + $5::float8 * interval '1 millisecond') as until) t where m.name like '~%'
  on conflict (name) do update set closed_until = greatest(k.closed_until, excluded.closed_until), is_ready = false,
    ready_at = greatest(k.ready_at, k.closed_until, excluded.closed_until)
  returning k.key as name, k.closed_until
)
select c.name, (extract(epoch from c.closed_until) * 1000)::float8 as "untilMs" from mine left join closed c on true;

-- close-queue
with closed as (
  insert into tock.job_queues as q (name, closed_until)
  select h.queue, t.until from tock.job_runs_live h cross join (select coalesce($1::timestamptz, tock.now() + $2::float8 * interval '1 millisecond') as until) t where h.id = $3 and exists (select from tock.job_runs_live r
  where r.id = $3 and r.fence = $4 and r.locked_by = $5 and r.status = 'running')
  on conflict (name) do update set closed_until = greatest(q.closed_until, excluded.closed_until), updated_at = tock.now()
  returning q.name, q.closed_until
)
select c.name, (extract(epoch from c.closed_until) * 1000)::float8 as "untilMs" from closed c;

-- complete
select tock.complete($1::bigint, $2::integer, $3::jsonb) as held;

-- complete-definitions
select d.name from tock.job_definitions d where d.vanished_at is null order by d.name limit 500;

-- complete-each
select tock.complete(a.run, a.fence, a.result) as held
from unnest($1::bigint[], $2::integer[], $3::jsonb[]) as a(run, fence, result);

-- complete-jobs
select distinct d.job as name from tock.job_definitions d where d.vanished_at is null order by d.job limit 500;

-- complete-many
with answer as materialized (
  select * from unnest($1::bigint[], $2::jsonb[]) as a(id, result)
), held as materialized (
  select r.id, r.fence from tock.job_runs_live r
  where r.id = any($1::bigint[]) and ($3::integer[])[width_bucket(r.id, $1::bigint[])] = r.fence and r.locked_by = $4 and r.status in ('running') and r.trigger <> 'exec' and r.locked_until >= tock.now() and r.locked_until < '9999-12-30T00:00:00Z'
    and r.id = any(array(select a.id from answer a where (a.result is null or (octet_length(a.result::text) <= 1048576
    and not jsonb_path_exists(a.result, 'strict $.**{201}')
    and not jsonb_path_exists(a.result, '$.** ? (@.type() == "number" && (@ > 9007199254740991 || @ < -9007199254740991))')))))
  order by r.id for update
), decided as (
  insert into tock.job_hand_offs as h (run_id, fence, handed_off_at, decided_at, decision, written_at)
  select held.id, held.fence, tock.now(), tock.now(), 'succeeded', tock.now() from held order by held.id
  on conflict (run_id, fence) do update set handed_off_at = coalesce(h.handed_off_at, excluded.handed_off_at),
    decided_at = excluded.decided_at, decision = excluded.decision, written_at = excluded.written_at, output = null, error = null, retry_at = null
  where h.decided_at is null
  returning h.run_id, h.due_at
), gone as (
  delete from tock.job_runs_live r where r.id = any(array(select run_id from decided)) returning r.*
), ended as (
  insert into tock.job_runs_finished (id, definition_id, run_at, priority, attempts, max_attempts, fence, releases, generation, occurrence_count, scheduled_for, interval_start, start_by, locked_by, created_at, started_at, job, queue, trigger, idempotency_key, payload, errors, progress, slot_keys, slot_limits, live_key, traceparent, last_traceparent, began_at, snoozes, has_waiters, has_parents, tags, finished_at, status, output)
  select id, definition_id, coalesce(h.due_at, gone.run_at), priority, attempts, max_attempts, fence, releases, generation, occurrence_count, scheduled_for, interval_start, start_by, locked_by, created_at, started_at, job, queue, trigger, idempotency_key, payload, errors, progress, slot_keys, slot_limits, live_key, traceparent, last_traceparent, began_at, snoozes, has_waiters, has_parents, tags, tock.now(), 'succeeded', a.result
  from gone join answer a using (id) join decided h on h.run_id = gone.id
  returning id, generation, definition_id, scheduled_for, job, status, has_waiters
), freed as (
  delete from tock.job_slots s where s.run_id = any(array(select m.id from gone m))
  returning s.concurrency_key
), noted as (
  insert into tock.job_outbox (kind, run_id, run_ids, generation, definition_id, scheduled_for)
  select k.kind, e.id, null::bigint[], e.generation, e.definition_id, e.scheduled_for from ended e cross join lateral (
    select 'chain' as kind from tock.job_definitions d
    where d.id = e.definition_id and d.has_followers and e.scheduled_for is not null
    union all
    select 'dead' from tock.job_definitions d where 'succeeded' = 'dead' and d.name = e.job and d.on_dead is not null
  ) k
  where e.definition_id is not null or 'succeeded' = 'dead'
  union all
  select 'end', null, array_agg(e.id order by e.id), 1, null, null from ended e where e.has_waiters having count(*) > 0
  returning id
), alerted as (
  insert into tock.alert_events (kind, count, run_id, definition_id, job)
  select 'dead', count(*)::integer, max(e.id), e.definition_id, e.job from ended e
  where 'succeeded' = 'dead' and e.job <> 'tock:deliver-alert' and exists (select from tock.alert_clock c where c.checked_at > tock.now() - interval '7 days')
  group by e.definition_id, e.job
  union all
  select 'succeeded', count(*)::integer, max(e.id), e.definition_id, e.job from ended e
  where 'succeeded' = 'succeeded' and (select s.job from tock.alert_states s where s.job is not null order by s.job limit 1) is not null and e.job = any(array(select s.job from tock.alert_states s where s.job is not null order by s.job limit 1000))
  group by e.definition_id, e.job, case when e.definition_id is null and e.id = any(array(select s.run_id from tock.alert_states s where s.job is not null order by s.job limit 1000)) then e.id end
)
select g.id::text as id, g.job, d.name as definition, g.attempts, g.max_attempts, g.trigger,
  (extract(epoch from case when g.scheduled_for >= '10000-01-01Z'::timestamptz then '9999-12-31T23:59:59Z' when g.scheduled_for < '0001-01-01Z'::timestamptz then '0001-01-01Z'::timestamptz else g.scheduled_for end) * 1000)::float8 as scheduled_for,
  greatest(0, extract(epoch from tock.now() - g.started_at) * 1000)::float8 as duration_ms, (select array_agg(distinct concurrency_key) from freed) as freed, exists (select from noted) as "outboxWritten"
from gone g left join tock.job_definitions d on d.id = g.definition_id;

-- complete-queues
select q.name from tock.job_queues q union select d.queue from tock.job_definitions d order by 1 limit 500;

-- count-alerts-down
select s.rule, count(*)::int as count, extract(epoch from min(s.since)) as since from tock.alert_states s where s.status = 'down' group by s.rule order by s.rule;

-- count-backfilled-occurrences
select count(*)::integer as count from tock.job_occurrences o where o.definition_id = $1 and o.scheduled_for = any($2::timestamptz[]) and not exists (select from tock.job_runs_finished r where r.id = o.run_id and r.status = 'skipped');

-- count-ended-runs
with ended_runs as (
  select finished_at, job, queue, status, skip_reason, occurrence_count, run_at, started_at from tock.job_runs_finished r where r.finished_at >= $1::timestamptz and r.finished_at < $2::timestamptz and true
  union all
  select finished_at, job, queue, status, skip_reason, occurrence_count, run_at, started_at from tock.figures_retried r where r.finished_at >= $1::timestamptz and r.finished_at < $2::timestamptz and true
), measured_runs as (
  select date_bin('1 minute', r.finished_at, 'epoch') as at, r.job collate "C" as job, r.queue, r.status collate "C" as status,
    case when r.status <> 'skipped' then '' when r.skip_reason in ('overlap', 'catchup', 'deadline', 'window', 'chain', 'paused', 'edited', 'excepted') then r.skip_reason else 'other' end collate "C" as reason,
    r.occurrence_count, case when m.is_measured then least(greatest(extract(epoch from case when r.finished_at >= '10000-01-01Z'::timestamptz then '9999-12-31T23:59:59Z' when r.finished_at < '0001-01-01Z'::timestamptz then '0001-01-01Z'::timestamptz else r.finished_at end - case when r.started_at >= '10000-01-01Z'::timestamptz then '9999-12-31T23:59:59Z' when r.started_at < '0001-01-01Z'::timestamptz then '0001-01-01Z'::timestamptz else r.started_at end) * 1000000, 0), 1e14)::bigint end as duration_us,
    case when m.is_measured then least(greatest(extract(epoch from case when r.started_at >= '10000-01-01Z'::timestamptz then '9999-12-31T23:59:59Z' when r.started_at < '0001-01-01Z'::timestamptz then '0001-01-01Z'::timestamptz else r.started_at end - case when r.run_at >= '10000-01-01Z'::timestamptz then '9999-12-31T23:59:59Z' when r.run_at < '0001-01-01Z'::timestamptz then '0001-01-01Z'::timestamptz else r.run_at end) * 1000000, 0), 1e14)::bigint end as wait_us
  from ended_runs r cross join lateral (select r.started_at is not null and r.status in ('succeeded', 'dead') as is_measured) m
), cells as (
  select at, job, queue, status, reason, 25 - width_bucket(-duration_us, '{-50000000000,-20000000000,-10000000000,-5000000000,-2000000000,-1000000000,-500000000,-200000000,-100000000,-50000000,-20000000,-10000000,-5000000,-2000000,-1000000,-500000,-200000,-100000,-50000,-20000,-10000,-5000,-2000,-1000}'::bigint[]) as duration_bucket, 25 - width_bucket(-wait_us, '{-50000000000,-20000000000,-10000000000,-5000000000,-2000000000,-1000000000,-500000000,-200000000,-100000000,-50000000,-20000000,-10000000,-5000000,-2000000,-1000000,-500000,-200000,-100000,-50000,-20000,-10000,-5000,-2000,-1000}'::bigint[]) as wait_bucket,
    count(*) as run_count, sum(occurrence_count) as occurrence_count, sum(duration_us) as duration_us, sum(wait_us) as wait_us
  from measured_runs group by at, job, queue, status, reason, duration_bucket, wait_bucket
), figures as materialized (
  select at, job, queue, status, reason, sum(run_count)::bigint as run_count, sum(occurrence_count)::bigint as occurrence_count,
    coalesce(sum(duration_us), 0)::bigint as duration_us, coalesce(sum(wait_us), 0)::bigint as wait_us,
    case when count(duration_bucket) > 0 then array[coalesce(sum(run_count) filter (where duration_bucket = 1), 0), coalesce(sum(run_count) filter (where duration_bucket = 2), 0), coalesce(sum(run_count) filter (where duration_bucket = 3), 0), coalesce(sum(run_count) filter (where duration_bucket = 4), 0), coalesce(sum(run_count) filter (where duration_bucket = 5), 0), coalesce(sum(run_count) filter (where duration_bucket = 6), 0), coalesce(sum(run_count) filter (where duration_bucket = 7), 0), coalesce(sum(run_count) filter (where duration_bucket = 8), 0), coalesce(sum(run_count) filter (where duration_bucket = 9), 0), coalesce(sum(run_count) filter (where duration_bucket = 10), 0), coalesce(sum(run_count) filter (where duration_bucket = 11), 0), coalesce(sum(run_count) filter (where duration_bucket = 12), 0), coalesce(sum(run_count) filter (where duration_bucket = 13), 0), coalesce(sum(run_count) filter (where duration_bucket = 14), 0), coalesce(sum(run_count) filter (where duration_bucket = 15), 0), coalesce(sum(run_count) filter (where duration_bucket = 16), 0), coalesce(sum(run_count) filter (where duration_bucket = 17), 0), coalesce(sum(run_count) filter (where duration_bucket = 18), 0), coalesce(sum(run_count) filter (where duration_bucket = 19), 0), coalesce(sum(run_count) filter (where duration_bucket = 20), 0), coalesce(sum(run_count) filter (where duration_bucket = 21), 0), coalesce(sum(run_count) filter (where duration_bucket = 22), 0), coalesce(sum(run_count) filter (where duration_bucket = 23), 0), coalesce(sum(run_count) filter (where duration_bucket = 24), 0), coalesce(sum(run_count) filter (where duration_bucket = 25), 0)]::integer[] end as durations,
    case when count(wait_bucket) > 0 then array[coalesce(sum(run_count) filter (where wait_bucket = 1), 0), coalesce(sum(run_count) filter (where wait_bucket = 2), 0), coalesce(sum(run_count) filter (where wait_bucket = 3), 0), coalesce(sum(run_count) filter (where wait_bucket = 4), 0), coalesce(sum(run_count) filter (where wait_bucket = 5), 0), coalesce(sum(run_count) filter (where wait_bucket = 6), 0), coalesce(sum(run_count) filter (where wait_bucket = 7), 0), coalesce(sum(run_count) filter (where wait_bucket = 8), 0), coalesce(sum(run_count) filter (where wait_bucket = 9), 0), coalesce(sum(run_count) filter (where wait_bucket = 10), 0), coalesce(sum(run_count) filter (where wait_bucket = 11), 0), coalesce(sum(run_count) filter (where wait_bucket = 12), 0), coalesce(sum(run_count) filter (where wait_bucket = 13), 0), coalesce(sum(run_count) filter (where wait_bucket = 14), 0), coalesce(sum(run_count) filter (where wait_bucket = 15), 0), coalesce(sum(run_count) filter (where wait_bucket = 16), 0), coalesce(sum(run_count) filter (where wait_bucket = 17), 0), coalesce(sum(run_count) filter (where wait_bucket = 18), 0), coalesce(sum(run_count) filter (where wait_bucket = 19), 0), coalesce(sum(run_count) filter (where wait_bucket = 20), 0), coalesce(sum(run_count) filter (where wait_bucket = 21), 0), coalesce(sum(run_count) filter (where wait_bucket = 22), 0), coalesce(sum(run_count) filter (where wait_bucket = 23), 0), coalesce(sum(run_count) filter (where wait_bucket = 24), 0), coalesce(sum(run_count) filter (where wait_bucket = 25), 0)]::integer[] end as waits
  from cells group by at, job, queue, status, reason
), written as (
  insert into tock.figures_by_minute as f (at, job, queue, status, reason, run_count, occurrence_count, duration_us, wait_us, durations, waits) select at, job, queue, status, reason, run_count, occurrence_count, duration_us, wait_us, durations, waits from figures order by at, job, queue, status, reason
  on conflict (at, job, queue, status, reason) do update set run_count = excluded.run_count, occurrence_count = excluded.occurrence_count, duration_us = excluded.duration_us, wait_us = excluded.wait_us, durations = excluded.durations, waits = excluded.waits where excluded.run_count >= f.run_count returning at
), forgotten as (
  delete from tock.figures_retried r where r.finished_at < $2 and $3::boolean
), moved as (
  update tock.figures_progress p set counted_until = greatest(p.counted_until, $2),
    final_until = case when $3 then $2 else p.final_until end
)
select coalesce(sum(run_count), 0)::float8 as runs from figures;

-- count-handed-off
with recursive queue_lanes as (
  (select queue, priority from tock.job_runs_live where blocked_on is null order by queue, priority limit 1)
  union all
  select n.queue, n.priority from queue_lanes p cross join lateral (
    select r.queue, r.priority from tock.job_runs_live r
    where r.blocked_on is null and (r.queue, r.priority) > (p.queue, p.priority) order by r.queue, r.priority limit 1) n
)
select coalesce(sum(n.count), 0)::integer as count from queue_lanes p cross join lateral (
  select count(*) as count from tock.job_runs_live r
  where r.blocked_on is null and r.queue = p.queue and r.priority = p.priority and r.run_at > tock.now()
    and r.status = 'running' and r.locked_by = '00000000-0000-0000-0000-000000000000') n
where p.queue = any($1::text[]);

-- count-live-runs
select (select coalesce(jsonb_object_agg(i.id, l.count), '{}') from unnest($1::bigint[]) as i(id) cross join lateral (
    select count(*) from (select from tock.job_runs_live r where r.definition_id = i.id limit 1000) r) l where l.count > 0) as live;

-- count-waiting-runs
with recursive queue_lanes as (
  (select queue, priority from tock.job_runs_live where blocked_on is null order by queue, priority limit 1)
  union all
  select n.queue, n.priority from queue_lanes p cross join lateral (
    select r.queue, r.priority from tock.job_runs_live r
    where r.blocked_on is null and (r.queue, r.priority) > (p.queue, p.priority) order by r.queue, r.priority limit 1) n
), counts as (
  select r.queue, count(*) as count from (
    select l.queue, l.status, l.run_at from tock.job_runs_live l limit $1) r
  where r.run_at <= tock.now() and r.status in ('queued', 'failed') group by r.queue
), oldest as (
  select p.queue, d.run_at from queue_lanes p cross join lateral (
    select r.run_at from tock.job_runs_live r where r.blocked_on is null and r.queue = p.queue and r.priority = p.priority and r.run_at <= tock.now() and r.status in ('queued', 'failed')
    order by r.run_at, r.id limit 1) d
  union all
  select b.queue, min(b.run_at) from (
    select r.queue, r.run_at from tock.job_runs_live r where r.blocked_on is not null and r.run_at <= tock.now() and r.status in ('queued', 'failed')
    order by r.blocked_on, r.queue, r.priority, r.run_at, r.id limit 10000) b
  group by b.queue
)
select o.queue, greatest(coalesce(max(c.count), 0), 1)::float8 as waiting,
  coalesce(greatest(extract(epoch from tock.now() - case when min(o.run_at) >= '10000-01-01Z'::timestamptz then '9999-12-31T23:59:59Z' when min(o.run_at) < '0001-01-01Z'::timestamptz then '0001-01-01Z'::timestamptz else min(o.run_at) end)::float8, 0), 0) as "oldestSeconds"
from oldest o left join counts c on c.queue = o.queue group by o.queue order by o.queue;

-- create-partitions
select made, next_step as next from tock.create_partitions(null, $1);

-- defer
with outcome as materialized (
  select * from unnest($1::bigint[], $2::timestamptz[], $3::jsonb[], $4::text[]) as o(id, run_at, limits, blocked_on)
), held as materialized (
  select r.id from tock.job_runs_live r
  where r.id = any($1::bigint[]) and ($5::integer[])[width_bucket(r.id, $1::bigint[])] = r.fence and r.locked_by = $6 and r.status in ('running')
  order by r.id
  for update
), asked as (
  delete from tock.job_runs_live r where r.id = any(array(select id from held)) and (r.cancel_requested_at is not null or r.live_key is not null and true and tock.successor_of(r.live_key) is not null) returning r.*
), withdrawn as (
  insert into tock.job_runs_finished (id, definition_id, run_at, priority, attempts, max_attempts, fence, releases, generation, occurrence_count, scheduled_for, interval_start, start_by, locked_by, created_at, started_at, job, queue, trigger, idempotency_key, payload, errors, progress, slot_keys, slot_limits, live_key, traceparent, last_traceparent, began_at, snoozes, has_waiters, has_parents, tags, finished_at, status, skip_reason)
  select id, definition_id, run_at, priority, attempts, max_attempts, fence, releases, generation, occurrence_count, scheduled_for, interval_start, start_by, locked_by, created_at, started_at, job, queue, trigger, idempotency_key, payload, errors, progress, slot_keys, slot_limits, live_key, traceparent, last_traceparent, began_at, snoozes, has_waiters, has_parents, tags, tock.now(), 'cancelled', case when cancel_requested_at is null then 'replaced by run ' || tock.successor_of(live_key) else skip_reason end
  from asked
  returning id
), given_back as (
  update tock.job_runs_live r set status = 'queued', locked_by = null, locked_until = null, attempts = r.attempts - 1,
      run_at = coalesce(o.run_at, r.run_at), blocked_on = o.blocked_on,
      slot_keys = nullif(coalesce(r.slot_keys, '{}') || array(select l.value ->> 'key' from jsonb_array_elements(o.limits) l), '{}'),
      slot_limits = nullif(coalesce(r.slot_limits, '{}') || array(select (l.value ->> 'limit')::integer from jsonb_array_elements(o.limits) l), '{}')
  from held join outcome o using (id) where r.id = held.id and r.id <> all(array(select id from asked))
  returning r.id, r.definition_id, r.job, r.run_at
), freed as (
  delete from tock.job_slots s where s.run_id = any(array(select m.id from held m))
    and (not (s.concurrency_key like 'definition:%' or s.concurrency_key like '~!%') or s.run_id = any(array(select m.id from held m where m.id in (select id from asked))))
  returning s.concurrency_key
), noted as (
  insert into tock.job_outbox (kind, run_id, run_ids, generation, definition_id, scheduled_for)
  select k.kind, e.id, null::bigint[], e.generation, e.definition_id, e.scheduled_for from asked e cross join lateral (
    select 'chain' as kind from tock.job_definitions d
    where d.id = e.definition_id and d.has_followers and e.scheduled_for is not null
    union all
    select 'dead' from tock.job_definitions d where 'cancelled' = 'dead' and d.name = e.job and d.on_dead is not null
  ) k
  where e.definition_id is not null or 'cancelled' = 'dead'
  union all
  select 'end', null, array_agg(e.id order by e.id), 1, null, null from asked e where e.has_waiters having count(*) > 0
  returning id
)
select case when count(*) < cardinality($1::bigint[]) then coalesce(array_agg(id::text), '{}') end as ids, (select array_agg(distinct concurrency_key) from freed) as freed, exists (select from noted) as "outboxWritten", (select tock.notify('code') from given_back join outcome o using (id) where o.blocked_on is not null limit 1) as notified from (select id from given_back union all select id from withdrawn) moved;

-- delete sleeper
delete from tock.sleepers where worker_id = $1;

-- delete-definition-versions
with gone as (
  delete from tock.definition_versions v where v.ctid = any(array(
    select o.ctid from tock.definition_versions o join tock.definition_versions n
      on n.definition_id = o.definition_id and n.number = o.number + 1
    where n.written_at < to_timestamp($1::float8 / 1000) limit $2::integer))
  returning 1
)
select count(*)::integer as count from gone;

-- delete-exception
with gone as (
  delete from tock.job_exceptions e where e.definition_id = $1::bigint and e.scheduled_for = $2::timestamptz
), moved as (
  update tock.job_definitions d set next_at = $3::timestamptz
  where d.id = $1::bigint returning case when d.paused_at is null then tock.wake_for(d.next_at, null, 'soon')::text end as woken
)
select count(woken)::integer as woken from moved;

-- delete-old-changes
with young as materialized (
  select coalesce((select c.position from tock.job_changes c where c.position is not null and c.at between to_timestamp($1::float8 / 1000) and tock.now()
    order by c.position limit 1), h.position + 1) as first
  from tock.changes_head h
), gone as (
  delete from tock.job_changes c where c.position = any(array(
    select o.position from tock.job_changes o where o.position < (select y.first from young y) order by o.position limit $2))
  returning c.position
), noted as (
  update tock.changes_head h set kept_after = g.last from (select max(position) as last from gone) g where g.last > h.kept_after
)
select count(*)::integer as count from gone;

-- displace-runs
-- Waiting runs end at once. From running ones terminate takes the lease: the holder's next write, or its next
-- heartbeat, finds it lost. cancel asks the holder to stop, or ends the lease of a run that is handed off; the
-- new run waits for its slot.
with target as materialized (
  select r.id, r.status from tock.job_runs_live r
  where r.definition_id = any($1::bigint[]) and r.trigger in ('cron', 'chain')
  order by r.id for update
), asked as (
  update tock.job_runs_live r set cancel_requested_at = coalesce(r.cancel_requested_at, tock.now()), skip_reason = coalesce(r.skip_reason, 'a later occurrence took its place'),
    locked_until = case when (r.status = 'running' and r.locked_by = '00000000-0000-0000-0000-000000000000' and r.locked_until < '9999-12-31T00:00:00Z') then tock.now() - interval '1 millisecond' else r.locked_until end,
    run_at = case when (r.status = 'running' and r.locked_by = '00000000-0000-0000-0000-000000000000' and r.locked_until < '9999-12-31T00:00:00Z') then coalesce((select h.due_at from tock.job_hand_offs h where h.run_id = r.id and h.fence = r.fence and r.locked_by = '00000000-0000-0000-0000-000000000000'), r.run_at) else r.run_at end
  from target t where r.id = t.id and t.status = 'running' and not $2
  returning r.id
), gone as (
  delete from tock.job_runs_live r using target t
  where r.id = t.id and (t.status in ('queued', 'failed') or ($2 and t.status in ('running')))
  returning r.*
), ended as (
  insert into tock.job_runs_finished (id, definition_id, run_at, priority, attempts, max_attempts, fence, releases, generation, occurrence_count, scheduled_for, interval_start, start_by, locked_by, created_at, started_at, job, queue, trigger, idempotency_key, payload, errors, progress, slot_keys, slot_limits, live_key, traceparent, last_traceparent, began_at, snoozes, has_waiters, has_parents, tags, finished_at, status, skip_reason)
  select id, definition_id, run_at, priority, attempts, max_attempts, fence + (status = 'running')::integer, releases, generation, occurrence_count, scheduled_for, interval_start, start_by, locked_by, created_at, started_at, job, queue, trigger, idempotency_key, payload, errors, progress, slot_keys, slot_limits, live_key, traceparent, last_traceparent, began_at, snoozes, has_waiters, has_parents, tags, tock.now(), 'cancelled', 'a later occurrence took its place'
  from gone
  returning id
), freed as (
  delete from tock.job_slots s where s.run_id = any(array(select m.id from gone m))
  returning s.concurrency_key
), noted as (
  insert into tock.job_outbox (kind, run_id, run_ids, generation, definition_id, scheduled_for)
  select k.kind, e.id, null::bigint[], e.generation, e.definition_id, e.scheduled_for from gone e cross join lateral (
    select 'chain' as kind from tock.job_definitions d
    where d.id = e.definition_id and d.has_followers and e.scheduled_for is not null
    union all
    select 'dead' from tock.job_definitions d where 'cancelled' = 'dead' and d.name = e.job and d.on_dead is not null
  ) k
  where e.definition_id is not null or 'cancelled' = 'dead'
  union all
  select 'end', null, array_agg(e.id order by e.id), 1, null, null from gone e where e.has_waiters having count(*) > 0
  returning id
), notified as (
  select tock.notify('cancel:' || id) from (select id from asked union all select id from gone where status = 'running') r
)
select id::text, (select count(*) from notified) as notified from (select id from asked union all select id from ended) r;

-- drain worker
with sleeper as (delete from tock.sleepers where worker_id = $1)
update tock.workers set draining = true where id = $1;

-- due-alert-watches
select d.id::text, name, job, payload, cron, every_ms::float8, phase_ms::float8, anchor, at, after, waits_for, timezone, dst, extract(epoch from start_at) as start_at, extract(epoch from end_at) as end_at, exclude, shift, overlap, catchup, catchup_window_ms::float8, start_deadline_ms::float8, jitter_ms::float8, remaining_count, pause_on_failure_count, expect_within_ms::float8, max_duration_ms::float8, active_window, outside_window, queue, priority, max_attempts, tags, on_dead, keeps_changes, d.excepted_until is not null as is_excepted,
  d.paused_at is null and d.broken_at is null and d.vanished_at is null and d.expect_within_ms is not null as "isActive",
  d.vanished_at is not null or d.broken_at is not null or d.expect_within_ms is null as "isGone",
  (extract(epoch from greatest(d.created_at, d.updated_at, d.resumed_at)) * 1000)::float8 as "begunAt",
  (select (extract(epoch from s.scheduled_for) * 1000)::float8 from (
    select r.scheduled_for, r.status from tock.job_runs_finished r
    where r.definition_id = d.id and r.scheduled_for is not null order by r.scheduled_for desc limit 1000) s
    where s.status = 'succeeded' limit 1) as "lastSuccess",
  case when d.next_at is null then (extract(epoch from d.cursor) * 1000)::float8 end as "endedAt"
from (select w.definition_id from tock.alert_watches w where w.check_at <= tock.now() order by w.check_at, w.definition_id limit $1) w
join tock.job_definitions d on d.id = w.definition_id
order by d.id;

-- edit-run
with target as materialized (
  select r.id, r.status, r.queue, r.job, r.blocked_on, r.slot_keys, r.slot_limits from tock.job_runs r
  where r.id = $1 and r.fence = $2 and r.status = $3 and r.status in ('queued', 'failed', 'dead', 'cancelled') and r.trigger <> 'exec'
  for update
), kept as materialized (
  select array_agg(u.key order by u.place) as keys, array_agg(u.most order by u.place) as limits
  from target t cross join lateral unnest(t.slot_keys, t.slot_limits) with ordinality u(key, most, place)
  where u.key not like 'job:%' and u.key not like '~%'
), needed as materialized (
  select t.*, f.keys as new_keys, f.keys is distinct from t.slot_keys as differs, tock.fair_limits(f.keys, k.limits) as new_limits
  from target t cross join kept k cross join lateral (select tock.fair_slots(k.keys, t.queue, t.job, $4::jsonb) as keys offset 0) f
), held as materialized (
  select min(s.concurrency_key) as key from tock.job_slots s join needed n on n.id = s.run_id
  where s.concurrency_key <> all (coalesce(n.new_keys, '{}'))
), edited as (
  update tock.job_runs r set payload = $4::jsonb, fence = r.fence + 1, slot_keys = n.new_keys, slot_limits = n.new_limits,
    blocked_on = case when not n.differs or r.blocked_on like 'code:%' then r.blocked_on
      when r.status in ('queued', 'failed') and n.new_keys[1] like '~%' then n.new_keys[1] end,
    unblocked_on = case when not n.differs then r.unblocked_on end
  from needed n where r.id = n.id and r.status = n.status and (select key from held) is null
  returning n.blocked_on as before, r.blocked_on
)
select (select key from held) as held, (select case when e.blocked_on like '~%' then tock.fair_runs_come(array[e.blocked_on])::text
  when e.blocked_on is null then tock.notify('queued')::text end from edited e where e.before is distinct from e.blocked_on) as notified
from target;

-- emit-event
select tock.emit($1, $2, $3::jsonb)::text as id;

-- end leases
with recursive queue_lanes as (
  (select queue, priority from tock.job_runs_live where blocked_on is null order by queue, priority limit 1)
  union all
  select n.queue, n.priority from queue_lanes p cross join lateral (
    select r.queue, r.priority from tock.job_runs_live r
    where r.blocked_on is null and (r.queue, r.priority) > (p.queue, p.priority) order by r.queue, r.priority limit 1) n
), held as materialized (
  select h.id from queue_lanes p cross join lateral (
    select r.id from tock.job_runs_live r
    where r.blocked_on is null and r.queue = p.queue and r.priority = p.priority and r.run_at <= tock.now()
      and r.locked_by = any($1::uuid[]) and r.status = 'running' and r.locked_until > tock.now()
    order by r.run_at, r.id for update skip locked) h
)
update tock.job_runs_live r set locked_until = tock.now() - interval '1 millisecond'
where r.id = any(array(select id from held order by id)) and r.locked_by = any($1::uuid[]) and r.status = 'running'
returning r.id::text as id;

-- end-alert-watches
delete from tock.alert_watches w where w.definition_id = any($1::bigint[]);

-- end-freeze
update tock.freezes f set ended_at = case when f.ramp_ms > 0 then tock.now() else f.until end
where f.ended_at is null and f.until <= tock.now();

-- end-own-wait
with over as materialized (
  select w.id, w.run_id, e.result, case when e.result is not null then 'event' when w.until <= tock.now() then case w.kind when 'sleep' then 'time' else 'timeout' end end as outcome
  from tock.job_waits w left join lateral (select case when w.kind = 'event' then (select jsonb_build_object('id', e.id::text, 'payload', e.payload, 'emittedAt', to_char(e.created_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'))
    from tock.job_events e where e.name = w.name and e.key = w.key and e.created_at >= w.since order by e.id limit 1) end as result) e on true
  where w.id = any(array[$1::bigint]) and exists (select from tock.job_runs_live r where r.id = w.run_id)
), ended as (
  update tock.job_waits w set outcome = o.outcome, result = o.result, ended_at = tock.now()
  from over o where w.id = o.id and w.id = any(array(select o.id from over o where o.outcome is not null)) and w.outcome is null
  returning w.id, w.run_id, w.outcome, w.result
), resumed as (
  update tock.job_runs_live r set run_at = case when r.status = 'queued' then least(r.run_at, tock.now()) else r.run_at end
  where r.id = any(array(select e.run_id from ended e where e.id <> all(array[$1::bigint]::bigint[])))
  returning r.queue, r.priority
)
select id::text, outcome, result::text from ended;

-- end-waits
with over as materialized (
  select w.id, w.run_id, e.result, case when e.result is not null then 'event' when w.kind in ('runs', 'group') and not tock.has_live_runs(w.id)
      and (w.needs_success is not true or not exists (
        select from tock.job_awaited_runs a where a.wait_id = w.id
          and coalesce(a.status, (select f.status from tock.job_runs_finished f where f.id = a.run_id), 'pruned') <> 'succeeded')) then 'ended' when w.until <= tock.now() then case w.kind when 'sleep' then 'time' else 'timeout' end end as outcome
  from tock.job_waits w left join lateral (select case when w.kind = 'event' then (select jsonb_build_object('id', e.id::text, 'payload', e.payload, 'emittedAt', to_char(e.created_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'))
    from tock.job_events e where e.name = w.name and e.key = w.key and e.created_at >= w.since order by e.id limit 1) end as result) e on true
  where w.id = any($1::bigint[]) and exists (select from tock.job_runs_live r where r.id = w.run_id)
), ended as (
  update tock.job_waits w set outcome = o.outcome, result = o.result, ended_at = tock.now()
  from over o where w.id = o.id and w.id = any(array(select o.id from over o where o.outcome is not null)) and w.outcome is null
  returning w.id, w.run_id, w.outcome, w.result
), resumed as (
  update tock.job_runs_live r set run_at = case when r.status = 'queued' then least(r.run_at, tock.now()) else r.run_at end
  where r.id = any(array(select e.run_id from ended e where e.id <> all($2::bigint[])))
  returning r.queue, r.priority
), unnoted as materialized (
    select a.wait_id, a.position, a.run_id from tock.job_awaited_runs a where a.run_id = any($3::bigint[]) and a.status is null
    union
    select a.wait_id, a.position, a.run_id from tock.job_awaited_runs a
    where a.wait_id = any($2::bigint[] || array(select o.id from over o where o.outcome = 'ended')) and a.status is null
  ), noted as (
  update tock.job_awaited_runs a
  set status = coalesce(f.status, 'pruned'), output = f.output, error = case f.status when 'dead' then f.errors -> -1 ->> 'message' else f.skip_reason end
  from (
    select a.wait_id, a.position, f.status, f.output, f.errors, f.skip_reason from unnoted a left join tock.job_runs_finished f on f.id = a.run_id
    where f.id is not null or not (exists (select from tock.job_runs_live l where l.id = a.run_id)
  or exists (select from tock.job_successors s where s.run_id = a.run_id))
    order by a.wait_id, a.position
  ) f
  where a.wait_id = f.wait_id and a.position = f.position and a.status is null
)
select id::text, outcome, result::text from ended;

-- ended-attempts
select id from tock.job_runs_finished r where r.id = any($1::bigint[]) and ($2::integer[])[width_bucket(r.id, $1::bigint[])] = r.fence and locked_by = $3
union all
select id from tock.job_runs_live r
where r.id = any($1::bigint[]) and ($2::integer[])[width_bucket(r.id, $1::bigint[])] = r.fence and locked_by is null and status <> 'running'
  and errors -> -1 ->> 'code' is distinct from 'TOCK_LEASE_LOST'
union
select r.id from (select h.run_id as id, h.fence, h.worker_id from tock.job_hand_offs h where h.run_id = any($1::bigint[])) r
where r.id = any($1::bigint[]) and ($2::integer[])[width_bucket(r.id, $1::bigint[])] = r.fence and r.worker_id = $3;

-- enqueue
select ids, refused from tock.enqueue_many($1::text, $2::text);

-- enqueue-live
select place, made, replaced, id from tock.enqueue_live($1::text) order by place;

-- enqueue-one
select tock.enqueue_one($1::text, $2::text::jsonb, $3::text::timestamptz, $4::text::float8, $5::text,
  $6::text::integer, $7::text::integer, $8::text, $9::text, string_to_array($10::text, ','))::text as id;

-- estimate-rows
select coalesce(sum(greatest(c.reltuples, s.n_live_tup, 0)::float8), 0) as rows, coalesce(sum(pg_relation_size(c.oid)), 0)::float8 as bytes
from pg_namespace n join pg_class root on root.relnamespace = n.oid and root.relname = $1
-- No row for a table that is not partitioned.
left join lateral pg_partition_tree(root.oid) t on t.isleaf
join pg_class c on c.oid = coalesce(t.relid, root.oid) left join pg_stat_all_tables s on s.relid = c.oid
where n.nspname = 'tock';

-- evaluate-without-jit
set local jit = off;

-- exec-attempt-failed
with held as materialized (
  select r.id from tock.job_runs_live r
  where r.id = any($1::bigint[]) and ($2::integer[])[width_bucket(r.id, $1::bigint[])] = r.fence and r.locked_by = $3 and r.status in ('running')
  order by r.id
  for update
), noted as (
  update tock.job_runs_live r set errors = case when $4::jsonb is null then r.errors
    else (case when jsonb_array_length(r.errors) >= 50 then r.errors - 0 else r.errors end) || (jsonb_build_object('at', to_char(tock.now() at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')) || jsonb_strip_nulls(jsonb_build_object('dueAt', to_char(r.run_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'), 'startedAt', to_char(r.started_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'))) || $4::jsonb) end
  from held where r.id = held.id
  returning r.id, r.definition_id, r.job
), alerted as (
  insert into tock.alert_events (kind, count, run_id, definition_id, job)
  select 'failed', count(*)::integer, max(f.id), f.definition_id, f.job from noted f
  where f.job <> 'tock:deliver-alert' and exists (select from tock.alert_clock c where c.checked_at > tock.now() - interval '7 days')
  group by f.definition_id, f.job
)
select count(*)::integer as count from noted;

-- exec-begin
with taken as (
  insert into tock.job_keys (idempotency_key, run_id) values ($1::text, nextval('tock.job_runs_id_seq'))
  on conflict do nothing
  returning idempotency_key, run_id
), begun as (
  insert into tock.job_runs_live (id, job, queue, trigger, max_attempts, idempotency_key, payload, run_at, created_at, status, attempts, fence, started_at, locked_by, locked_until, live_key)
  select t.run_id, $2::text, 'exec', 'exec', $3::integer, t.idempotency_key, $4::jsonb, tock.now(), tock.now(), 'running', 1, 1, tock.now(), $5, tock.now() + $6 * interval '1 millisecond', case when $7::boolean then null else 'exec:' || $2::text end
  from taken t
  on conflict (live_key) where live_key is not null do nothing
  returning id
), skipped as (
  insert into tock.job_runs_finished (id, job, queue, trigger, max_attempts, idempotency_key, payload, run_at, created_at, status, skip_reason, finished_at)
  select t.run_id, $2::text, 'exec', 'exec', $3::integer, t.idempotency_key, $4::jsonb, tock.now(), tock.now(), 'skipped', 'overlap', tock.now()
  from taken t where t.run_id not in (select b.id from begun b)
  returning id
)
select (select t.run_id::text from taken t) as id, exists (select from begun) as "isBegun",
  (select count(*) from skipped) as skipped;

-- exec-key-holder
select k.run_id::text as id, r.status from tock.job_keys k left join tock.job_runs r on r.id = k.run_id
where k.idempotency_key = $1;

-- exec-look
with clock as materialized (
  select date_trunc('minute', tock.now() + interval '30 seconds', 'UTC') as minute
), wanted as materialized (
  select c.minute, 'exec:' || $1::text || ':' ||
    coalesce($2::text, to_char(c.minute at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI"Z"')) as key from clock c
)
select w.key, (extract(epoch from w.minute) * 1000)::float8 as minute,
  exists (select from tock.job_keys k where k.idempotency_key = w.key) as "isTaken",
  (select r.id::text from tock.job_runs_live r where r.live_key = 'exec:' || $1::text) as "liveId",
  array(select r.id::text from tock.job_runs_live r
    where r.blocked_on is null and r.queue = 'exec' and r.priority = 0 and r.run_at <= tock.now() and r.job = $1
      and r.trigger = 'exec' and r.status in ('running') and (r.locked_until < tock.now() or r.locked_until is null)
    order by r.run_at, r.id limit 100) as expired
from wanted w;

-- exec-next-attempt
with held as materialized (
  select r.id from tock.job_runs_live r
  where r.id = any($1::bigint[]) and ($2::integer[])[width_bucket(r.id, $1::bigint[])] = r.fence and r.locked_by = $3 and r.status in ('running')
  order by r.id
  for update
)
update tock.job_runs_live r set attempts = r.attempts + 1, fence = r.fence + 1, run_at = tock.now(), started_at = tock.now(),
  locked_until = tock.now() + $4 * interval '1 millisecond', progress = null
from held where r.id = held.id
returning r.fence;

-- exec-runs-among
select r.id::text as id from tock.job_runs_finished r
where r.id = any($1::bigint[]) and r.trigger = 'exec' and r.status in ('dead', 'cancelled')
order by r.id;

-- expired-ids
with recursive queue_lanes as (
  (select queue, priority from tock.job_runs_live where blocked_on is null order by queue, priority limit 1)
  union all
  select n.queue, n.priority from queue_lanes p cross join lateral (
    select r.queue, r.priority from tock.job_runs_live r
    where r.blocked_on is null and (r.queue, r.priority) > (p.queue, p.priority) order by r.queue, r.priority limit 1) n
)
select e.id::text as id from queue_lanes p cross join lateral (
  select r.id from tock.job_runs_live r where r.blocked_on is null and r.queue = p.queue and r.priority = p.priority and r.run_at <= tock.now()
      and r.status in ('running') and (r.locked_until < tock.now() or r.locked_until is null) order by r.run_at, r.id limit $1) e
limit $1;

-- extend
select tock.extend($1::bigint, $2::integer, $3::float8 * interval '1 millisecond') as held;

-- extend-each
select tock.extend(a.run, a.fence, a.lease_ms * interval '1 millisecond') as held
from unnest($1::bigint[], $2::integer[], $3::float8[]) as a(run, fence, lease_ms);

-- fail
with outcome as materialized (
  select * from unnest($1::bigint[], $2::jsonb[], $3::float8[], $4::boolean[]) as o(id, error, delay_ms, is_suspect)
), held as materialized (
  select r.id from tock.job_runs_live r
  where r.id = any($1::bigint[]) and ($5::integer[])[width_bucket(r.id, $1::bigint[])] = r.fence and r.locked_by = $6 and r.status in ('running')
  order by r.id
  for update
), asked as (
  delete from tock.job_runs_live r where r.id = any(array(select id from held)) and (r.cancel_requested_at is not null or r.live_key is not null and true and tock.successor_of(r.live_key) is not null) returning r.*
), withdrawn as (
  insert into tock.job_runs_finished (id, definition_id, run_at, priority, attempts, max_attempts, fence, releases, generation, occurrence_count, scheduled_for, interval_start, start_by, locked_by, created_at, started_at, job, queue, trigger, idempotency_key, payload, errors, progress, slot_keys, slot_limits, live_key, traceparent, last_traceparent, began_at, snoozes, has_waiters, has_parents, tags, finished_at, status, skip_reason)
  select id, definition_id, run_at, priority, attempts, max_attempts, fence, releases, generation, occurrence_count, scheduled_for, interval_start, start_by, locked_by, created_at, started_at, job, queue, trigger, idempotency_key, payload, case when o.error is null then asked.errors
    else (case when jsonb_array_length(asked.errors) >= 50 then asked.errors - 0 else asked.errors end) || (jsonb_build_object('at', to_char(tock.now() at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')) || jsonb_strip_nulls(jsonb_build_object('dueAt', to_char(asked.run_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'), 'startedAt', to_char(asked.started_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'))) || o.error) end, progress, slot_keys, slot_limits, live_key, traceparent, last_traceparent, began_at, snoozes, has_waiters, has_parents, tags, tock.now(), 'cancelled', case when cancel_requested_at is null then 'replaced by run ' || tock.successor_of(live_key) else skip_reason end
  from asked join outcome o using (id)
  returning id
), given_back as (
  update tock.job_runs_live r set status = 'failed', run_at = tock.now() + o.delay_ms * interval '1 millisecond',
      locked_by = null, locked_until = null, errors = case when o.error is null then r.errors
    else (case when jsonb_array_length(r.errors) >= 50 then r.errors - 0 else r.errors end) || (jsonb_build_object('at', to_char(tock.now() at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')) || jsonb_strip_nulls(jsonb_build_object('dueAt', to_char(r.run_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'), 'startedAt', to_char(r.started_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'))) || o.error) end,
      slot_keys = case when o.is_suspect and 'isolated' <> all(coalesce(r.slot_keys, '{}')) then array_append(r.slot_keys, 'isolated') else r.slot_keys end,
      slot_limits = case when o.is_suspect and 'isolated' <> all(coalesce(r.slot_keys, '{}')) then array_append(r.slot_limits, 4) else r.slot_limits end
  from held join outcome o using (id) where r.id = held.id and r.id <> all(array(select id from asked))
  returning r.id, r.definition_id, r.job, r.run_at, r.attempts, r.generation, r.keeps_changes
), alerted as (
  insert into tock.alert_events (kind, count, run_id, definition_id, job)
  select 'failed', count(*)::integer, max(f.id), f.definition_id, f.job from given_back f
  where f.job <> 'tock:deliver-alert' and exists (select from tock.alert_clock c where c.checked_at > tock.now() - interval '7 days')
  group by f.definition_id, f.job
), changed as (
  insert into tock.job_changes (kind, run_id, job, definition_id, status, attempts, generation)
  select 'failed', c.id, c.job, c.definition_id, 'failed', c.attempts, c.generation
  from given_back c where c.keeps_changes order by c.id
), freed as (
  delete from tock.job_slots s where s.run_id = any(array(select m.id from held m))
    and (not (s.concurrency_key like 'definition:%' or s.concurrency_key like '~!%') or s.run_id = any(array(select m.id from held m where m.id in (select id from asked))))
  returning s.concurrency_key
), noted as (
  insert into tock.job_outbox (kind, run_id, run_ids, generation, definition_id, scheduled_for)
  select k.kind, e.id, null::bigint[], e.generation, e.definition_id, e.scheduled_for from asked e cross join lateral (
    select 'chain' as kind from tock.job_definitions d
    where d.id = e.definition_id and d.has_followers and e.scheduled_for is not null
    union all
    select 'dead' from tock.job_definitions d where 'cancelled' = 'dead' and d.name = e.job and d.on_dead is not null
  ) k
  where e.definition_id is not null or 'cancelled' = 'dead'
  union all
  select 'end', null, array_agg(e.id order by e.id), 1, null, null from asked e where e.has_waiters having count(*) > 0
  returning id
)
select case when count(*) < cardinality($1::bigint[]) then coalesce(array_agg(id::text), '{}') end as ids, (select array_agg(distinct concurrency_key) from freed) as freed, exists (select from noted) as "outboxWritten" from (select id from given_back union all select id from withdrawn) moved;

-- fail-each
select tock.fail(a.run, a.fence, a.message, a.is_retried, a.retry_at, a.details) as held
from unnest($1::bigint[], $2::integer[], $3::text[], $4::boolean[], $5::timestamptz[], $6::jsonb[])
  as a(run, fence, message, is_retried, retry_at, details);

-- fail-handed-off
select tock.fail($1::bigint, $2::integer, $3::text, $4::boolean, $5::timestamptz, $6::jsonb) as held;

-- fair-keys-arrive
insert into tock.fair_keys as k (name, queue, job, key, tag)
select n.name, s.queue, s.job, regexp_replace(n.name, '^[^/]*/[^/]*/', ''), s.tag
from (select distinct name from unnest((select $1::text[])) u(name)) n join (
  select d.queue, d.job, coalesce((select p.tag from tock.fair_keys p where p.queue = d.queue and p.job = d.job and p.is_ready order by p.tag limit 1),
    (select p.tag from tock.fair_keys p where p.queue = d.queue and p.job = d.job and not p.is_ready order by p.tag desc limit 1), 0) as tag
  from (select distinct ltrim(split_part(name, '/', 1), '~!') as queue, split_part(name, '/', 2) as job from unnest((select $1::text[])) u(name)) d offset 0
) s on s.queue = ltrim(split_part(n.name, '/', 1), '~!') and s.job = split_part(n.name, '/', 2)
order by n.name
on conflict (name) do update set arrivals = k.arrivals + 1, held_on = null, tag = case when k.is_ready then k.tag when k.held_on is null then greatest(k.tag, excluded.tag) else greatest(k.tag, excluded.tag - 32) end,
  is_ready = coalesce(greatest(k.closed_until, k.rate_next_at) <= tock.now(), true), ready_at = case when greatest(k.closed_until, k.rate_next_at) > tock.now() then greatest(k.closed_until, k.rate_next_at) end;

-- fair-keys-arrive-from-outbox
with taken as (
  delete from tock.job_outbox o where o.id = any(array(
    select f.id from tock.job_outbox f where f.kind = 'fair' order by f.id limit (select $1::integer) for update))
  returning o.fair_keys
), arrived as (
insert into tock.fair_keys as k (name, queue, job, key, tag)
select n.name, s.queue, s.job, regexp_replace(n.name, '^[^/]*/[^/]*/', ''), s.tag
from (select distinct name from (select unnest(t.fair_keys) as name from taken t) u) n join (
  select d.queue, d.job, coalesce((select p.tag from tock.fair_keys p where p.queue = d.queue and p.job = d.job and p.is_ready order by p.tag limit 1),
    (select p.tag from tock.fair_keys p where p.queue = d.queue and p.job = d.job and not p.is_ready order by p.tag desc limit 1), 0) as tag
  from (select distinct ltrim(split_part(name, '/', 1), '~!') as queue, split_part(name, '/', 2) as job from (select unnest(t.fair_keys) as name from taken t) u) d offset 0
) s on s.queue = ltrim(split_part(n.name, '/', 1), '~!') and s.job = split_part(n.name, '/', 2)
order by n.name
on conflict (name) do update set arrivals = k.arrivals + 1, held_on = null, tag = case when k.is_ready then k.tag when k.held_on is null then greatest(k.tag, excluded.tag) else greatest(k.tag, excluded.tag - 32) end,
  is_ready = coalesce(greatest(k.closed_until, k.rate_next_at) <= tock.now(), true), ready_at = case when greatest(k.closed_until, k.rate_next_at) > tock.now() then greatest(k.closed_until, k.rate_next_at) end)
select (select count(*) from taken)::integer as taken, set_config('synchronous_commit', 'off', true) as commit;

-- fair-keys-forget
with idle as materialized (
  select k.name from tock.fair_keys k
  left join tock.key_settings o on o.key = k.key left join tock.fair_scopes f on f.queue = case when k.job = '' then k.queue else '' end and f.job = k.job
  where not k.is_ready and k.ready_at is null and coalesce(k.closed_until <= tock.now(), true)
    and coalesce(k.rate_next_at + coalesce(coalesce(o.rate_burst, f.rate_burst) * coalesce(o.rate_period_ms::float8 / o.rate_count, f.rate_period_ms::float8 / f.rate_count), 0) * interval '1 millisecond' <= tock.now(), true)
    and k.tag <= coalesce((select p.tag from tock.fair_keys p where p.queue = k.queue and p.job = k.job and p.is_ready order by p.tag limit 1), 'infinity')
  order by k.name limit 10000 for update of k skip locked
)
delete from tock.fair_keys k where k.name = any(array(select name from idle));

-- fair-keys-slots-free
with mine as materialized (
  select k.name from tock.fair_keys k where k.held_on = any($1::text[]) order by k.tag limit 100
)
insert into tock.fair_keys as k (name, queue, job, key, tag)
select n.name, s.queue, s.job, regexp_replace(n.name, '^[^/]*/[^/]*/', ''), s.tag
from (select distinct name from mine) n join (
  select d.queue, d.job, coalesce((select p.tag from tock.fair_keys p where p.queue = d.queue and p.job = d.job and p.is_ready order by p.tag limit 1),
    (select p.tag from tock.fair_keys p where p.queue = d.queue and p.job = d.job and not p.is_ready order by p.tag desc limit 1), 0) as tag
  from (select distinct ltrim(split_part(name, '/', 1), '~!') as queue, split_part(name, '/', 2) as job from mine) d offset 0
) s on s.queue = ltrim(split_part(n.name, '/', 1), '~!') and s.job = split_part(n.name, '/', 2)
order by n.name
on conflict (name) do update set arrivals = k.arrivals + 1, held_on = null, tag = case when k.is_ready then k.tag when k.held_on is null then greatest(k.tag, excluded.tag) else greatest(k.tag, excluded.tag - 32) end,
  is_ready = coalesce(greatest(k.closed_until, k.rate_next_at) <= tock.now(), true), ready_at = case when greatest(k.closed_until, k.rate_next_at) > tock.now() then greatest(k.closed_until, k.rate_next_at) end;

-- fair-rates-void
with void as materialized (
  select k.name from tock.fair_keys k
  left join tock.key_settings o on o.key = k.key left join tock.fair_scopes f on f.queue = case when k.job = '' then k.queue else '' end and f.job = k.job
  where not k.is_ready and k.ready_at > tock.now() + interval '1 minute' and k.rate_next_at > tock.now()
    and k.rate_next_at > tock.now() + interval '1 minute' + coalesce(coalesce(o.rate_period_ms::float8 / o.rate_count, f.rate_period_ms::float8 / f.rate_count), 0) * interval '1 millisecond'
  order by k.name for update of k skip locked
)
update tock.fair_keys k set rate_next_at = null, arrivals = k.arrivals + 1, tag = greatest(k.tag, coalesce((select p.tag from tock.fair_keys p where p.queue = k.queue and p.job = k.job and p.is_ready order by p.tag limit 1),
    (select p.tag from tock.fair_keys p where p.queue = k.queue and p.job = k.job and not p.is_ready order by p.tag desc limit 1), 0)),
  is_ready = coalesce(k.closed_until <= tock.now(), true), ready_at = case when k.closed_until > tock.now() then k.closed_until end
from void v where k.name = v.name;

-- fair-tokens
select name, greatest(0, floor((extract(epoch from tock.now() - first_at) * 1000)::float8 / step + 1))::integer as tokens, (extract(epoch from first_at) * 1000)::float8 as first_ms, step from (
  select k.name, r.step, greatest(k.rate_next_at, tock.now() - (r.burst - 1) * r.step * interval '1 millisecond') as first_at
  from unnest($1::text[], $2::float8[], $3::integer[]) r(name, step, burst) join tock.fair_keys k on k.name = r.name) r;

-- fair-tokens-spend
update tock.fair_keys k set rate_next_at = n.at, is_ready = coalesce(greatest(n.at, k.closed_until) <= tock.now(), true),
  ready_at = case when greatest(n.at, k.closed_until) > tock.now() then greatest(n.at, k.closed_until) end
from (select u.name, to_timestamp(u.next_ms / 1000) as at from unnest($1::text[], $2::float8[]) u(name, next_ms)) n
where k.name = n.name;

-- find-keys
select key, id, live from tock.find_keys($1::text, $2::text);

-- finish
with outcome as materialized (
  select * from unnest($1::bigint[], $2::text[], $3::jsonb[], $4::jsonb[], $5::text[])
    as o(id, status, output, error, skip_reason)
), gone as (
  delete from tock.job_runs_live r where r.id = any($1::bigint[]) and ($6::integer[])[width_bucket(r.id, $1::bigint[])] = r.fence and r.locked_by = $7 and r.status in ('running') returning r.*
), ended as (
  insert into tock.job_runs_finished (id, definition_id, run_at, priority, attempts, max_attempts, fence, releases, generation, occurrence_count, scheduled_for, interval_start, start_by, locked_by, created_at, started_at, job, queue, trigger, idempotency_key, payload, errors, progress, slot_keys, slot_limits, live_key, traceparent, last_traceparent, began_at, snoozes, has_waiters, has_parents, tags, finished_at, status, output, skip_reason)
  select id, definition_id, run_at, priority, attempts, max_attempts, fence, releases, generation, occurrence_count, scheduled_for, interval_start, start_by, locked_by, created_at, started_at, job, queue, trigger, idempotency_key, payload, case when o.error is null then gone.errors
    else (case when jsonb_array_length(gone.errors) >= 50 then gone.errors - 0 else gone.errors end) || (jsonb_build_object('at', to_char(tock.now() at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')) || jsonb_strip_nulls(jsonb_build_object('dueAt', to_char(gone.run_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'), 'startedAt', to_char(gone.started_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'))) || o.error) end, progress, slot_keys, slot_limits, live_key, traceparent, last_traceparent, began_at, snoozes, has_waiters, has_parents, tags, tock.now(), o.status, o.output, case when o.status in ('cancelled', 'skipped') then coalesce(o.skip_reason, gone.skip_reason) end
  from gone join outcome o using (id)
  returning id, generation, definition_id, scheduled_for, job, status, has_waiters
), freed as (
  delete from tock.job_slots s where s.run_id = any(array(select m.id from gone m))
  returning s.concurrency_key
), noted as (
  insert into tock.job_outbox (kind, run_id, run_ids, generation, definition_id, scheduled_for)
  select k.kind, e.id, null::bigint[], e.generation, e.definition_id, e.scheduled_for from ended e cross join lateral (
    select 'chain' as kind from tock.job_definitions d
    where d.id = e.definition_id and d.has_followers and e.scheduled_for is not null
    union all
    select 'dead' from tock.job_definitions d where e.status = 'dead' and d.name = e.job and d.on_dead is not null
  ) k
  where e.definition_id is not null or e.status = 'dead'
  union all
  select 'end', null, array_agg(e.id order by e.id), 1, null, null from ended e where e.has_waiters having count(*) > 0
  returning id
), alerted as (
  insert into tock.alert_events (kind, count, run_id, definition_id, job)
  select 'dead', count(*)::integer, max(e.id), e.definition_id, e.job from ended e
  where e.status = 'dead' and e.job <> 'tock:deliver-alert' and exists (select from tock.alert_clock c where c.checked_at > tock.now() - interval '7 days')
  group by e.definition_id, e.job
  union all
  select 'succeeded', count(*)::integer, max(e.id), e.definition_id, e.job from ended e
  where e.status = 'succeeded' and (select s.job from tock.alert_states s where s.job is not null order by s.job limit 1) is not null and e.job = any(array(select s.job from tock.alert_states s where s.job is not null order by s.job limit 1000))
  group by e.definition_id, e.job, case when e.definition_id is null and e.id = any(array(select s.run_id from tock.alert_states s where s.job is not null order by s.job limit 1000)) then e.id end
)
select case when count(*) < cardinality($1::bigint[]) then coalesce(array_agg(id::text), '{}') end as ids, (select array_agg(distinct concurrency_key) from freed) as freed, exists (select from noted) as "outboxWritten" from ended;

-- finish-and-pass-on
with recursive outcome as materialized (
  select * from unnest($1::bigint[], $2::text[], $3::jsonb[], $4::jsonb[], $5::text[])
    as o(id, status, output, error, skip_reason)
), gone as (
  delete from tock.job_runs_live r where r.id = any($1::bigint[]) and ($6::integer[])[width_bucket(r.id, $1::bigint[])] = r.fence and r.locked_by = $7 and r.status in ('running') returning r.*
), ended as (
  insert into tock.job_runs_finished (id, definition_id, run_at, priority, attempts, max_attempts, fence, releases, generation, occurrence_count, scheduled_for, interval_start, start_by, locked_by, created_at, started_at, job, queue, trigger, idempotency_key, payload, errors, progress, slot_keys, slot_limits, live_key, traceparent, last_traceparent, began_at, snoozes, has_waiters, has_parents, tags, finished_at, status, output, skip_reason)
  select id, definition_id, run_at, priority, attempts, max_attempts, fence, releases, generation, occurrence_count, scheduled_for, interval_start, start_by, locked_by, created_at, started_at, job, queue, trigger, idempotency_key, payload, case when o.error is null then gone.errors
    else (case when jsonb_array_length(gone.errors) >= 50 then gone.errors - 0 else gone.errors end) || (jsonb_build_object('at', to_char(tock.now() at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')) || jsonb_strip_nulls(jsonb_build_object('dueAt', to_char(gone.run_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'), 'startedAt', to_char(gone.started_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'))) || o.error) end, progress, slot_keys, slot_limits, live_key, traceparent, last_traceparent, began_at, snoozes, has_waiters, has_parents, tags, tock.now(), o.status, o.output, case when o.status in ('cancelled', 'skipped') then coalesce(o.skip_reason, gone.skip_reason) end
  from gone join outcome o using (id)
  returning id, generation, definition_id, scheduled_for, job, status, has_waiters
), keys as materialized (
  select s.concurrency_key as key, array_agg(s.slot order by s.slot) as slots, max(s.slot) as highest
  from tock.job_slots s where s.run_id = any(array(select id from gone)) and s.concurrency_key like 'job:%' group by 1
), first_queues as materialized (
  select k.key, k.slots, k.highest, n.*, (select r.queue from tock.job_runs_live r where r.blocked_on = k.key order by r.queue desc limit 1) as last_queue
  from keys k cross join lateral (
    select r.queue, r.slot_limits[array_position(r.slot_keys, k.key)] as slot_limit, r.priority, r.run_at, r.id
    from tock.job_runs_live r where r.blocked_on = k.key
    order by r.queue, r.priority, r.run_at, r.id limit 1) n
), further_queues as (
  select p.key, p.slots, p.highest, n.* from first_queues p cross join lateral (
    select r.queue, r.slot_limits[array_position(r.slot_keys, p.key)] as slot_limit, r.priority, r.run_at, r.id
    from tock.job_runs_live r where r.blocked_on = p.key and r.queue > p.queue
    order by r.queue, r.priority, r.run_at, r.id limit 1) n
  where case when p.queue < p.last_queue then 1 end = 1
  union all
  select p.key, p.slots, p.highest, n.* from further_queues p cross join lateral (
    select r.queue, r.slot_limits[array_position(r.slot_keys, p.key)] as slot_limit, r.priority, r.run_at, r.id
    from tock.job_runs_live r where r.blocked_on = p.key and r.queue > p.queue
    order by r.queue, r.priority, r.run_at, r.id limit 1) n
), blocked_queues as materialized (
  select p.key, p.slots, p.highest, p.queue, p.slot_limit, p.priority, p.run_at, p.id from first_queues p union all select p.key, p.slots, p.highest, p.queue, p.slot_limit, p.priority, p.run_at, p.id from further_queues p
), chosen as materialized (
  select distinct on (k.key) k.key, k.slots, k.highest, k.queue
  from blocked_queues k left join tock.job_queues q on q.name = k.queue cross join lateral (
    select r.priority, r.run_at, r.id from tock.job_runs_live r where r.blocked_on = k.key and r.queue = k.queue and r.slot_keys = array[k.key] and r.run_at <= tock.now() and r.status in ('queued', 'failed')
      and r.priority <= (select min(priority) from gone) and r.slot_limits[1] >= k.highest
      and r.slot_limits[1] >= (select count(*) from tock.job_slots s where s.concurrency_key = k.key)
    order by r.priority, r.run_at, r.id limit 1) f
  where (not exists (select from tock.freezes f where (f.ended_at is null and (f.until > tock.now() or f.ramp_ms > 0))) or k.queue = 'tock:alerts') and case when (select $8::text[]) is null then q.relayed_to is null else (k.queue = any($8) or 'default' = any($8) and k.queue like 'default:%') end and q.paused_at is null and coalesce(q.closed_until <= tock.now(), true) and (q.active_window is null or case when split_part(q.active_window, '-', 1) < split_part(q.active_window, '-', 2)
    then (tock.now() at time zone q.timezone)::time >= split_part(q.active_window, '-', 1)::time and (tock.now() at time zone q.timezone)::time < split_part(q.active_window, '-', 2)::time
    else (tock.now() at time zone q.timezone)::time >= split_part(q.active_window, '-', 1)::time or (tock.now() at time zone q.timezone)::time < split_part(q.active_window, '-', 2)::time end) and not (q.concurrency is not null or q.rate_count is not null)
  order by k.key, f.priority, f.run_at, f.id
), next as materialized (
  select n.id, n.fence, k.key, k.slots[row_number() over (partition by k.key order by n.priority, n.run_at, n.id)] as slot
  from chosen k cross join lateral (
    select r.id, r.fence, r.priority, r.run_at from tock.job_runs_live r
    where r.blocked_on = k.key and r.queue = k.queue and r.slot_keys = array[k.key] and r.run_at <= tock.now() and r.status in ('queued', 'failed')
      and r.priority <= (select min(priority) from gone) and r.slot_limits[1] >= k.highest
      and r.slot_limits[1] >= (select count(*) from tock.job_slots s where s.concurrency_key = k.key)
    order by r.priority, r.run_at, r.id
    limit cardinality(k.slots)
    for update of r skip locked) n
  limit $9::integer
), freed as (
  delete from tock.job_slots s where s.run_id = any(array(select id from gone)) returning s.concurrency_key, s.slot
), passed as (
  insert into tock.job_slots (concurrency_key, slot, run_id, fence)
  select key, slot, id, fence + 1 from next where (select count(*) from freed) > 0 order by key, slot
), recipients as (
  update tock.job_runs_live r set blocked_on = null, status = 'running', attempts = r.attempts + 1, fence = r.fence + 1, locked_by = $7,
    locked_until = tock.now() + $10 * interval '1 millisecond', started_at = tock.now() where r.id = any(array(select id from next))
  returning r.id, r.fence, r.job, r.attempts, r.max_attempts, case when pg_column_size(r.payload) > 16384 then '' else left(r.payload::text, 16385) end as payload, r.idempotency_key, r.trigger,
  case when r.definition_id is null and r.scheduled_for is null and r.start_by is null and r.traceparent is null
      and r.began_at is null and r.has_parents is null
    then to_jsonb(r.slot_keys) else
    jsonb_build_object('occurrence_count', r.occurrence_count, 'slot_keys', r.slot_keys,
      'scheduled_for', (extract(epoch from r.scheduled_for) * 1000)::float8, 'interval_start', (extract(epoch from r.interval_start) * 1000)::float8,
      'is_late', case when r.attempts = 1 and r.releases = 0 and r.generation = 1 and r.began_at is null and r.start_by < tock.now()
        then ((extract(epoch from tock.now()) - extract(epoch from r.start_by)) * 1000)::float8 > tock.frozen_ms(coalesce(r.scheduled_for, r.created_at)) else false end)
    || coalesce((select jsonb_build_object('definition', d.name, 'window', case when d.active_window is not null then
        jsonb_build_object('hours', d.active_window, 'timezone', d.timezone, 'outside', d.outside_window, 'now', floor((extract(epoch from tock.now()) * 1000)::float8)) end)
      from tock.job_definitions d where d.id = r.definition_id), '{}')
    || case when r.began_at is null then '{}'::jsonb
      else jsonb_build_object('begun', jsonb_build_object('ageMs', (extract(epoch from (tock.now() - r.began_at)) * 1000)::float8, 'snoozes', coalesce(r.snoozes, 0))) end
    || case when r.has_parents then '{"has_parents": true}'::jsonb else '{}' end
    || case when r.traceparent is null then '{}'::jsonb
      else jsonb_build_object('trace', jsonb_build_object('traceparent', r.traceparent, 'queue', r.queue)) end end as planned
), noted as (
  insert into tock.job_outbox (kind, run_id, run_ids, generation, definition_id, scheduled_for)
  select k.kind, e.id, null::bigint[], e.generation, e.definition_id, e.scheduled_for from ended e cross join lateral (
    select 'chain' as kind from tock.job_definitions d
    where d.id = e.definition_id and d.has_followers and e.scheduled_for is not null
    union all
    select 'dead' from tock.job_definitions d where e.status = 'dead' and d.name = e.job and d.on_dead is not null
  ) k
  where e.definition_id is not null or e.status = 'dead'
  union all
  select 'end', null, array_agg(e.id order by e.id), 1, null, null from ended e where e.has_waiters having count(*) > 0
  returning id
), alerted as (
  insert into tock.alert_events (kind, count, run_id, definition_id, job)
  select 'dead', count(*)::integer, max(e.id), e.definition_id, e.job from ended e
  where e.status = 'dead' and e.job <> 'tock:deliver-alert' and exists (select from tock.alert_clock c where c.checked_at > tock.now() - interval '7 days')
  group by e.definition_id, e.job
  union all
  select 'succeeded', count(*)::integer, max(e.id), e.definition_id, e.job from ended e
  where e.status = 'succeeded' and (select s.job from tock.alert_states s where s.job is not null order by s.job limit 1) is not null and e.job = any(array(select s.job from tock.alert_states s where s.job is not null order by s.job limit 1000))
  group by e.definition_id, e.job, case when e.definition_id is null and e.id = any(array(select s.run_id from tock.alert_states s where s.job is not null order by s.job limit 1000)) then e.id end
)
select null::text[] as ids, null::text[] as freed, null::boolean as "outboxWritten", s.* from recipients s
union all
select case when count(*) < cardinality($1::bigint[]) then coalesce(array_agg(id::text), '{}') end as ids,
  (select array_agg(distinct concurrency_key) from freed where (concurrency_key, slot) not in (select key, slot from next)),
  exists (select from noted), null, null, null, null, null, null, null, null, null
from ended;

-- finish-plain
with gone as (
  delete from tock.job_runs_live r where r.id = any($1::bigint[]) and ($2::integer[])[width_bucket(r.id, $1::bigint[])] = r.fence and r.locked_by = $3 and r.status in ('running') returning r.id, r.definition_id, r.run_at, r.priority, r.attempts, r.max_attempts, r.fence, r.releases, r.generation, r.occurrence_count, r.scheduled_for, r.interval_start, r.start_by, r.locked_by, r.created_at, r.started_at, r.job, r.queue, r.trigger, r.idempotency_key, r.payload, r.errors, r.progress, r.slot_keys, r.slot_limits, r.live_key, r.traceparent, r.last_traceparent, r.began_at, r.snoozes, r.has_waiters, r.has_parents, r.tags
), ended as (
  insert into tock.job_runs_finished (id, definition_id, run_at, priority, attempts, max_attempts, fence, releases, generation, occurrence_count, scheduled_for, interval_start, start_by, locked_by, created_at, started_at, job, queue, trigger, idempotency_key, payload, errors, progress, slot_keys, slot_limits, live_key, traceparent, last_traceparent, began_at, snoozes, has_waiters, has_parents, tags, finished_at, status)
  select id, definition_id, run_at, priority, attempts, max_attempts, fence, releases, generation, occurrence_count, scheduled_for, interval_start, start_by, locked_by, created_at, started_at, job, queue, trigger, idempotency_key, payload, errors, progress, slot_keys, slot_limits, live_key, traceparent, last_traceparent, began_at, snoozes, has_waiters, has_parents, tags, tock.now(), 'succeeded'
  from gone
), freed as (
  delete from tock.job_slots s where s.run_id = any(array(select m.id from gone m))
  returning s.concurrency_key
), noted as (
  insert into tock.job_outbox (kind, run_id, run_ids, generation, definition_id, scheduled_for)
  select k.kind, e.id, null::bigint[], e.generation, e.definition_id, e.scheduled_for from gone e cross join lateral (
    select 'chain' as kind from tock.job_definitions d
    where d.id = e.definition_id and d.has_followers and e.scheduled_for is not null
    union all
    select 'dead' from tock.job_definitions d where 'succeeded' = 'dead' and d.name = e.job and d.on_dead is not null
  ) k
  where e.definition_id is not null or 'succeeded' = 'dead'
  union all
  select 'end', null, array_agg(e.id order by e.id), 1, null, null from gone e where e.has_waiters having count(*) > 0
  returning id
), alerted as (
  insert into tock.alert_events (kind, count, run_id, definition_id, job)
  select 'dead', count(*)::integer, max(e.id), e.definition_id, e.job from gone e
  where 'succeeded' = 'dead' and e.job <> 'tock:deliver-alert' and exists (select from tock.alert_clock c where c.checked_at > tock.now() - interval '7 days')
  group by e.definition_id, e.job
  union all
  select 'succeeded', count(*)::integer, max(e.id), e.definition_id, e.job from gone e
  where 'succeeded' = 'succeeded' and (select s.job from tock.alert_states s where s.job is not null order by s.job limit 1) is not null and e.job = any(array(select s.job from tock.alert_states s where s.job is not null order by s.job limit 1000))
  group by e.definition_id, e.job, case when e.definition_id is null and e.id = any(array(select s.run_id from tock.alert_states s where s.job is not null order by s.job limit 1000)) then e.id end
)
select case when count(*) < cardinality($1::bigint[]) then coalesce(array_agg(id::text), '{}') end as ids, (select array_agg(distinct concurrency_key) from freed) as freed, exists (select from noted) as "outboxWritten" from gone;

-- forget-alert-flips
delete from tock.alert_flips f where f.id = any(array(
  select o.id from tock.alert_flips o where o.at < tock.now() - interval '90 days' order by o.at limit $1));

-- forget-coming-exceptions
delete from tock.job_exceptions e where e.definition_id = any($1::bigint[]) and e.due_at > tock.now();

-- free-stale-slots
delete from tock.job_slots s where not exists (
  select from tock.job_runs_live r
  where r.id = s.run_id and (r.status = 'running' or (s.concurrency_key like 'definition:%' or s.concurrency_key like '~!%')));

-- hand-definitions-over
update tock.job_definitions d set service = $1, queue = u.queue
from unnest($2::bigint[], $3::text[]) u(id, queue) where d.id = u.id;

-- hand-off
with outcome as materialized (
  select * from unnest($1::bigint[], $2::float8[], $3::text[]) as o(id, lease_ms, handed_to)
), held as materialized (
  select r.id, r.fence, r.run_at, r.cancel_requested_at from tock.job_runs_live r
  where r.id = any($1::bigint[]) and ($4::integer[])[width_bucket(r.id, $1::bigint[])] = r.fence and r.locked_by = $5 and r.status in ('running') order by r.id for update
), asked as (
  delete from tock.job_runs_live r where r.id = any(array(select id from held)) and r.cancel_requested_at is not null returning r.*
), withdrawn as (
  insert into tock.job_runs_finished (id, definition_id, run_at, priority, attempts, max_attempts, fence, releases, generation, occurrence_count, scheduled_for, interval_start, start_by, locked_by, created_at, started_at, job, queue, trigger, idempotency_key, payload, errors, progress, slot_keys, slot_limits, live_key, traceparent, last_traceparent, began_at, snoozes, has_waiters, has_parents, tags, finished_at, status, skip_reason)
  select id, definition_id, run_at, priority, attempts, max_attempts, fence, releases, generation, occurrence_count, scheduled_for, interval_start, start_by, locked_by, created_at, started_at, job, queue, trigger, idempotency_key, payload, errors, progress, slot_keys, slot_limits, live_key, traceparent, last_traceparent, began_at, snoozes, has_waiters, has_parents, tags, tock.now(), 'cancelled', skip_reason
  from asked
  returning id
), kept as (
  insert into tock.job_hand_offs as h (run_id, fence, handed_off_at, handed_to, worker_id, due_at, lease_until)
  select held.id, held.fence, tock.now(), o.handed_to, $5::uuid, held.run_at, tock.now() + o.lease_ms * interval '1 millisecond'
  from held join outcome o using (id) where held.cancel_requested_at is null order by held.id
  on conflict (run_id, fence) do update set handed_off_at = excluded.handed_off_at, handed_to = excluded.handed_to,
    worker_id = excluded.worker_id, due_at = excluded.due_at, lease_until = greatest(excluded.lease_until, h.lease_until)
  returning h.run_id, h.lease_until, h.decided_at is not null as is_decided
), handed_off as (
  update tock.job_runs_live r set locked_by = '00000000-0000-0000-0000-000000000000',
    locked_until = case when k.is_decided then '9999-12-31T00:00:00Z' else k.lease_until end,
    run_at = case when k.is_decided then r.run_at else k.lease_until end
  from kept k where r.id = k.run_id
  returning r.id, k.is_decided
), freed as (
  delete from tock.job_slots s where s.run_id = any(array(select id from held))
    and (s.concurrency_key = 'isolated' or s.run_id = any(array(select id from asked)))
  returning s.concurrency_key
), noted as (
  insert into tock.job_outbox (kind, run_id, run_ids, generation, definition_id, scheduled_for)
  select k.kind, e.id, null::bigint[], e.generation, e.definition_id, e.scheduled_for from asked e cross join lateral (
    select 'chain' as kind from tock.job_definitions d
    where d.id = e.definition_id and d.has_followers and e.scheduled_for is not null
    union all
    select 'dead' from tock.job_definitions d where 'cancelled' = 'dead' and d.name = e.job and d.on_dead is not null
  ) k
  where e.definition_id is not null or 'cancelled' = 'dead'
  union all
  select 'end', null, array_agg(e.id order by e.id), 1, null, null from asked e where e.has_waiters having count(*) > 0
  returning id
)
select case when count(*) < cardinality($1::bigint[]) then coalesce(array_agg(id::text), '{}') end as ids, (select array_agg(distinct concurrency_key) from freed) as freed, exists (select from noted) as "outboxWritten", (select count(tock.wake(null, 'reap')::text) from handed_off where is_decided) as woken
from (select id from handed_off union all select id from withdrawn) moved;

-- have all ended before
select pg_snapshot_xmin(pg_current_snapshot()) >= $1::text::xid8 as "haveEnded";

-- insert sleeper
insert into tock.sleepers (worker_id, queues) select id, $1::text[] from tock.workers where id = $2
on conflict (worker_id) do update set queues = excluded.queues returning worker_id as id;

-- insert worker
with made as (
  insert into tock.workers (id, kind, host, pid, process, capacity, heartbeat_ms, queues, service, fingerprint)
  values ($1, $2, $3, $4, $5, $6, $7, $8::text[], $9, $10)
), deployed as (
  insert into tock.deploys (name, code, first_seen_at) select $11, $12, tock.now() where $11::text is not null
  on conflict do nothing
), seen as (
  update tock.deploys v set first_seen_at = tock.now() where v.name = $11::text and v.first_seen_at is null
)
select w.id, w.pid, w.process from tock.workers w where w.host = $3 and w.process is not null;

-- insert-backfilled-runs
-- The occurrences go in sorted. Of two backfills at once the second waits for an occurrence's row, and then
-- finds it with a run that was not skipped.
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
  insert into tock.job_runs_live (id, definition_id, job, queue, priority, max_attempts, tags, keeps_changes, payload, idempotency_key,
    scheduled_for, interval_start, run_at, trigger, slot_keys, slot_limits, status)
  select p.id, d.id, d.job, d.queue, d.priority, d.max_attempts, d.tags, d.keeps_changes, p.payload, p.key,
    p.scheduled_for, p.interval_start, case when d.waits_for is null then tock.now() else '9999-12-31' end, 'backfill', f.keys, f.limits, 'queued'
  from planned p join tock.job_definitions d on d.id = $2::bigint cross join lateral (select tock.fair_slots(null, d.queue, d.job, p.payload) as keys offset 0) k
  cross join lateral (select k.keys, tock.fair_limits(k.keys, null) as limits) f
  where p.id in (select run_id from taken union all select run_id from fresh)
  order by p.id
  returning id
), notified as (
  select tock.notify('queued') from (select from made limit 1) any_of_them
)
select (select count(*) from made)::integer as made, (select count(*) from notified) as notified;

-- insert-occurrences
with planned as materialized (
  select nextval('tock.job_runs_id_seq') as id, o.* from (
    select p.definition_id, d.job, d.queue, d.priority, d.max_attempts, d.tags, d.keeps_changes, p.key, p.occurrence_count,
      p.trigger, p.skip_reason,
      case when p.payload is null then d.payload else nullif(p.payload, 'null') end as payload,
      to_timestamp(p.scheduled_for / 1000) as scheduled_for, to_timestamp(p.run_at / 1000) as run_at,
      to_timestamp(p.start_by / 1000) as start_by, to_timestamp(p.interval_start / 1000) as interval_start,
      case when p.slots is not null then array(select jsonb_array_elements_text(p.slots -> 'keys')) end as slot_keys,
      case when p.slots is not null then array(select jsonb_array_elements_text(p.slots -> 'limits')::integer) end as slot_limits
    from unnest($1::bigint[], $2::float8[], $3::float8[], $4::float8[], $5::float8[],
      $6::integer[], $7::text[], $8::jsonb[], $9::jsonb[], $10::text[], $11::text[]) with ordinality
      as p(definition_id, scheduled_for, run_at, start_by, interval_start, occurrence_count, key, payload, slots, trigger, skip_reason, place)
    join tock.job_definitions d on d.id = p.definition_id
    order by p.place) o
), taken as (
  update tock.job_occurrences o set run_id = p.id from planned p
  where o.definition_id = p.definition_id and o.scheduled_for = p.scheduled_for and p.trigger = 'chain' and p.skip_reason is null
    and exists (select from tock.job_runs_finished f where f.id = o.run_id and f.status = 'skipped')
  returning o.run_id
), fresh as (
  insert into tock.job_occurrences (definition_id, scheduled_for, run_id)
  select definition_id, scheduled_for, id from planned order by definition_id, scheduled_for
  on conflict do nothing
  returning run_id
), chosen as (
  select run_id from fresh union all select run_id from taken
), queued as (
  insert into tock.job_runs_live (id, definition_id, job, queue, priority, max_attempts, tags, payload, scheduled_for, run_at, interval_start, occurrence_count, trigger, idempotency_key, start_by, keeps_changes, slot_keys, slot_limits, status)
  select id, definition_id, job, queue, priority, max_attempts, tags, payload, scheduled_for, run_at, interval_start, occurrence_count, trigger, key, start_by, keeps_changes, f.keys, f.limits, 'queued'
  from planned join chosen on chosen.run_id = planned.id cross join lateral (select tock.fair_slots(slot_keys, queue, job, payload) as keys offset 0) k
  cross join lateral (select k.keys, tock.fair_limits(k.keys, slot_limits) as limits) f where skip_reason is null order by id
  returning id
), skipped as (
  insert into tock.job_runs_finished (id, definition_id, job, queue, priority, max_attempts, tags, payload, scheduled_for, run_at, interval_start, occurrence_count, trigger, idempotency_key, status, finished_at, skip_reason)
  select id, definition_id, job, queue, priority, max_attempts, tags, payload, scheduled_for, run_at, interval_start, occurrence_count, trigger, key, 'skipped', tock.now(), skip_reason
  from planned left join fresh on fresh.run_id = planned.id where skip_reason is not null and (fresh.run_id is not null or occurrence_count > 1 and planned.trigger = 'cron' and not exists (
      select from tock.job_runs_finished f
      where f.definition_id = planned.definition_id and f.scheduled_for = planned.scheduled_for and f.status = 'skipped' offset 0))
  returning id, generation, definition_id, scheduled_for, job, has_waiters
), noted as (
  insert into tock.job_outbox (kind, run_id, run_ids, generation, definition_id, scheduled_for)
  select k.kind, e.id, null::bigint[], e.generation, e.definition_id, e.scheduled_for from skipped e cross join lateral (
    select 'chain' as kind from tock.job_definitions d
    where d.id = e.definition_id and d.has_followers and e.scheduled_for is not null
    union all
    select 'dead' from tock.job_definitions d where 'skipped' = 'dead' and d.name = e.job and d.on_dead is not null
  ) k
  where e.definition_id is not null or 'skipped' = 'dead'
  union all
  select 'end', null, array_agg(e.id order by e.id), 1, null, null from skipped e where e.has_waiters having count(*) > 0
  returning id
)
select (select count(*) from queued)::int as runs, (select count(*) from skipped)::int as skips,
  exists (select from noted) as "outboxWritten";

-- insert-runs-and-move-cursors
with moved as (
  update tock.job_definitions d
set cursor = greatest(d.cursor, to_timestamp(u.cursor / 1000)), next_at = to_timestamp(u.next_at / 1000),
  remaining_count = u.remaining
from unnest($1::bigint[], $2::float8[], $3::float8[], $4::integer[]) as u(id, cursor, next_at, remaining)
where d.id = u.id and d.id = any($1::bigint[])
  returning d.id, d.job, d.queue, d.priority, d.max_attempts, d.tags, d.keeps_changes, d.payload
), planned as materialized (
  select nextval('tock.job_runs_id_seq') as id, o.* from (
    select p.definition_id, d.job, d.queue, d.priority, d.max_attempts, d.tags, d.keeps_changes, p.key, p.occurrence_count,
      'cron'::text as trigger,
      case when p.payload is null then d.payload else nullif(p.payload, 'null') end as payload,
      to_timestamp(p.scheduled_for / 1000) as scheduled_for, to_timestamp(p.run_at / 1000) as run_at,
      to_timestamp(p.start_by / 1000) as start_by, to_timestamp(p.interval_start / 1000) as interval_start,
      case when p.slots is not null then array(select jsonb_array_elements_text(p.slots -> 'keys')) end as slot_keys,
      case when p.slots is not null then array(select jsonb_array_elements_text(p.slots -> 'limits')::integer) end as slot_limits
    from unnest($5::bigint[], $6::float8[], $7::float8[], $8::float8[], $9::float8[],
      $10::integer[], $11::text[], $12::jsonb[], $13::jsonb[]) with ordinality
      as p(definition_id, scheduled_for, run_at, start_by, interval_start, occurrence_count, key, payload, slots, place)
    join moved d on d.id = p.definition_id
    order by p.place) o
), fresh as (
  insert into tock.job_occurrences (definition_id, scheduled_for, run_id)
  select definition_id, scheduled_for, id from planned order by definition_id, scheduled_for
  on conflict do nothing
  returning run_id
), queued as (
  insert into tock.job_runs_live (id, definition_id, job, queue, priority, max_attempts, tags, payload, scheduled_for, run_at, interval_start, occurrence_count, trigger, idempotency_key, start_by, keeps_changes, slot_keys, slot_limits, status)
  select id, definition_id, job, queue, priority, max_attempts, tags, payload, scheduled_for, run_at, interval_start, occurrence_count, trigger, key, start_by, keeps_changes, f.keys, f.limits, 'queued'
  from planned join fresh on fresh.run_id = planned.id cross join lateral (select tock.fair_slots(slot_keys, queue, job, payload) as keys offset 0) k
  cross join lateral (select k.keys, tock.fair_limits(k.keys, slot_limits) as limits) f order by id
  returning id
)
select count(*)::int as runs from queued;

-- insert-skipped-span
-- Without a key: the row stands for a span, and a backfill may yet make a run of each occurrence in it. The
-- definition's lock and cursor, which moves past the span in the same transaction, keep it from being
-- recorded twice.
with skipped as (
  insert into tock.job_runs_finished (id, definition_id, job, queue, priority, max_attempts, tags, payload, scheduled_for, run_at,
    interval_start, occurrence_count, trigger, status, finished_at, skip_reason)
  select nextval('tock.job_runs_id_seq'), d.id, d.job, d.queue, d.priority, d.max_attempts, d.tags, d.payload,
    $1::timestamptz, $1, $2::timestamptz, $3::integer, 'cron', 'skipped', tock.now(), $4::text
  from tock.job_definitions d where d.id = $5
  returning id, generation, definition_id, scheduled_for, job, has_waiters
), noted as (
  insert into tock.job_outbox (kind, run_id, run_ids, generation, definition_id, scheduled_for)
  select k.kind, e.id, null::bigint[], e.generation, e.definition_id, e.scheduled_for from skipped e cross join lateral (
    select 'chain' as kind from tock.job_definitions d
    where d.id = e.definition_id and d.has_followers and e.scheduled_for is not null
    union all
    select 'dead' from tock.job_definitions d where 'skipped' = 'dead' and d.name = e.job and d.on_dead is not null
  ) k
  where e.definition_id is not null or 'skipped' = 'dead'
  union all
  select 'end', null, array_agg(e.id order by e.id), 1, null, null from skipped e where e.has_waiters having count(*) > 0
  returning id
)
select id from skipped;

-- insert-zones
insert into tock.zones (timezone, zone_data, offsets)
select r.timezone, r."zoneData", r.offsets
from jsonb_to_recordset($1::jsonb) as r(timezone text, "zoneData" text, offsets jsonb)
order by r.timezone on conflict (timezone) do nothing;

-- is notify lock awaited
select exists (select from pg_locks
    where locktype = 'object' and database = 0 and classid = 'pg_database'::regclass and objid = 0 and not granted) as "isAwaited";

-- is-copy
select tock.is_copy() as "isCopy";

-- is-exec-name
select exists (select from tock.job_runs_live r where r.live_key = 'exec:' || $1::text) or coalesce(
  (select r.trigger from tock.job_runs_finished r where r.job = $1 order by r.id desc limit 1) = 'exec', false) as found;

-- is-idle
with recursive queue_lanes as (
  (select queue, priority from tock.job_runs_live where blocked_on is null order by queue, priority limit 1)
  union all
  select n.queue, n.priority from queue_lanes p cross join lateral (
    select r.queue, r.priority from tock.job_runs_live r
    where r.blocked_on is null and (r.queue, r.priority) > (p.queue, p.priority) order by r.queue, r.priority limit 1) n
), ready_scopes as (
  (select k.queue, k.job from tock.fair_keys k where k.is_ready order by k.queue, k.job limit 1)
  union all
  select n.queue, n.job from ready_scopes s cross join lateral (select k.queue, k.job from tock.fair_keys k where k.is_ready and (k.queue, k.job) > (s.queue, s.job) order by k.queue, k.job limit 1) n
), open as materialized (
  select p.queue, p.priority, (q.concurrency is not null or q.rate_count is not null) as is_limited,
    least(1, q.concurrency - (select count(*) from tock.job_slots s where s.concurrency_key = 'queue:' || q.name)) as room, count(*) over (partition by p.priority) as siblings
  from queue_lanes p left join tock.job_queues q on q.name = p.queue
  where (not exists (select from tock.freezes f where (f.ended_at is null and (f.until > tock.now() or f.ramp_ms > 0))) or p.queue = 'tock:alerts') and case when (select $1::text[]) is null then q.relayed_to is null else (p.queue = any($1) or 'default' = any($1) and p.queue like 'default:%') end and not (p.queue like 'default:%' and p.queue <> 'default:' || (select $2::text)
    and ((select $1::text[]) is null or p.queue <> all ($1))
    and exists (select from tock.workers w where w.service = substr(p.queue, 9) and w.seen_at
  between tock.now() - coalesce(w.heartbeat_ms, 15000) * interval '2.5 milliseconds'
    and tock.now() + coalesce(w.heartbeat_ms, 15000) * interval '2.5 milliseconds' and not w.draining
    and case when w.queues is null then coalesce(null, 'sql') = 'sql' else p.queue = any(w.queues) end)) and q.paused_at is null and coalesce(q.closed_until <= tock.now(), true) and (q.active_window is null or case when split_part(q.active_window, '-', 1) < split_part(q.active_window, '-', 2)
    then (tock.now() at time zone q.timezone)::time >= split_part(q.active_window, '-', 1)::time and (tock.now() at time zone q.timezone)::time < split_part(q.active_window, '-', 2)::time
    else (tock.now() at time zone q.timezone)::time >= split_part(q.active_window, '-', 1)::time or (tock.now() at time zone q.timezone)::time < split_part(q.active_window, '-', 2)::time end)
    and (q.concurrency is null or q.concurrency - (select count(*) from tock.job_slots s where s.concurrency_key = 'queue:' || q.name) > 0)
    and (q.rate_next_at is null or q.rate_count is null or q.rate_next_at <= tock.now() or q.rate_next_at > tock.now()
    + least(q.rate_period_ms, q.rate_period_ms / q.rate_count + 60000) * interval '1 millisecond')
    and (select true from tock.job_runs_live r where r.queue = p.queue and r.priority = p.priority and r.blocked_on is null and r.run_at <= tock.now() and r.status in ('queued', 'failed')
      order by r.run_at, r.id limit 1)
), seen as (
  update tock.registrations set seen_at = tock.now()
  where service = $3 and fingerprint = $4 and is_current and seen_at < tock.now() - interval '30 seconds'
), question as materialized (
  select not exists (select from unnest($5::text[]) n(name) where n.name not in (select m.name from tock.migrations m))
    and exists (select from tock.registrations
      where service = $3 and fingerprint = $4 and is_current and seen_at <= tock.now() + interval '1 minute')
    and not tock.is_copy() and not exists (select from tock.zones z where z.zone_data < nullif($6, 'unknown'))
    and not exists (select from tock.job_definitions where next_at <= tock.now() and next_at is not null and paused_at is null and broken_at is null and vanished_at is null and not exists (select from tock.freezes f where (f.ended_at is null and (f.until > tock.now() or f.ramp_ms > 0))))
    and not exists (select from open) and not (exists (select from ready_scopes s left join tock.job_queues q on q.name = s.queue where (not exists (select from tock.freezes f where (f.ended_at is null and (f.until > tock.now() or f.ramp_ms > 0))) or s.queue = 'tock:alerts') and case when (select $1::text[]) is null then q.relayed_to is null else (s.queue = any($1) or 'default' = any($1) and s.queue like 'default:%') end and q.paused_at is null and coalesce(q.closed_until <= tock.now(), true) and (q.active_window is null or case when split_part(q.active_window, '-', 1) < split_part(q.active_window, '-', 2)
    then (tock.now() at time zone q.timezone)::time >= split_part(q.active_window, '-', 1)::time and (tock.now() at time zone q.timezone)::time < split_part(q.active_window, '-', 2)::time
    else (tock.now() at time zone q.timezone)::time >= split_part(q.active_window, '-', 1)::time or (tock.now() at time zone q.timezone)::time < split_part(q.active_window, '-', 2)::time end) and coalesce(case when (q.concurrency is not null or q.rate_count is not null) then least(q.concurrency - (select count(*) from tock.job_slots s where s.concurrency_key = 'queue:' || q.name), case when q.rate_count is not null then greatest(0, floor((extract(epoch from tock.now() - greatest(case when not q.rate_next_at > tock.now()
    + least(q.rate_period_ms, q.rate_period_ms / q.rate_count + 60000) * interval '1 millisecond' then q.rate_next_at end, tock.now() - (greatest(1, ceil(1000.0 * q.rate_count / q.rate_period_ms)) - 1) * (q.rate_period_ms::float8 / q.rate_count) * interval '1 millisecond')) * 1000)::float8 / (q.rate_period_ms::float8 / q.rate_count) + 1))::integer end) - (select count(*) from (
    select from tock.job_runs_live r where r.unblocked_on >= '~' || q.name || '/' and r.unblocked_on < '~' || q.name || '0'
      and r.blocked_on is null and r.status in ('queued', 'failed') limit 1000) s) end > 0, true))
  or exists (select from tock.fair_keys k left join tock.job_queues q on q.name = k.queue
    where not k.is_ready and k.ready_at <= tock.now() and (not exists (select from tock.freezes f where (f.ended_at is null and (f.until > tock.now() or f.ramp_ms > 0))) or k.queue = 'tock:alerts') and case when (select $1::text[]) is null then q.relayed_to is null else (k.queue = any($1) or 'default' = any($1) and k.queue like 'default:%') end and q.paused_at is null and coalesce(q.closed_until <= tock.now(), true) and (q.active_window is null or case when split_part(q.active_window, '-', 1) < split_part(q.active_window, '-', 2)
    then (tock.now() at time zone q.timezone)::time >= split_part(q.active_window, '-', 1)::time and (tock.now() at time zone q.timezone)::time < split_part(q.active_window, '-', 2)::time
    else (tock.now() at time zone q.timezone)::time >= split_part(q.active_window, '-', 1)::time or (tock.now() at time zone q.timezone)::time < split_part(q.active_window, '-', 2)::time end) and coalesce(case when (q.concurrency is not null or q.rate_count is not null) then least(q.concurrency - (select count(*) from tock.job_slots s where s.concurrency_key = 'queue:' || q.name), case when q.rate_count is not null then greatest(0, floor((extract(epoch from tock.now() - greatest(case when not q.rate_next_at > tock.now()
    + least(q.rate_period_ms, q.rate_period_ms / q.rate_count + 60000) * interval '1 millisecond' then q.rate_next_at end, tock.now() - (greatest(1, ceil(1000.0 * q.rate_count / q.rate_period_ms)) - 1) * (q.rate_period_ms::float8 / q.rate_count) * interval '1 millisecond')) * 1000)::float8 / (q.rate_period_ms::float8 / q.rate_count) + 1))::integer end) - (select count(*) from (
    select from tock.job_runs_live r where r.unblocked_on >= '~' || q.name || '/' and r.unblocked_on < '~' || q.name || '0'
      and r.blocked_on is null and r.status in ('queued', 'failed') limit 1000) s) end > 0, true))) and not (exists (select from queue_lanes p cross join lateral (
    select from tock.job_runs_live r where r.blocked_on is null and r.queue = p.queue and r.priority = p.priority and r.run_at <= tock.now()
      and r.status in ('running') and (r.locked_until < tock.now() or r.locked_until is null)
    order by r.run_at, r.id limit 1) e)
  or exists (select w.id from (
    select id from tock.workers where seen_at < tock.now() - interval '10 minutes'
    order by hashtext(id::text || to_char(tock.now(), 'HH24MI')) limit 10) w
  where 0 = (select count(*) from (select from queue_lanes p cross join lateral (
    select from tock.job_runs_live r
    where r.blocked_on is null and r.queue = p.queue and r.priority = p.priority and r.run_at <= tock.now()
      and r.locked_by = w.id and r.status = 'running'
    order by r.run_at, r.id limit 1) h limit 1) held)) or (exists (select from tock.job_slots) or (select blocked_on from tock.job_runs_live where blocked_on < '~'
    order by blocked_on, queue, priority, run_at, id limit 1) is not null) or exists (select from tock.job_outbox) or exists (select from tock.job_hand_offs h where h.handed_off_at is not null and h.decided_at is not null and h.written_at is null)
  or (exists (select from tock.job_queues q where q.override_ends_at <= tock.now() or q.paused_until <= tock.now())
    or coalesce((select min(d.paused_until) from tock.job_definitions d where d.paused_until is not null) <= tock.now(), false) or exists (select from tock.freezes f where f.ended_at is null and f.until <= tock.now())) or exists (select from tock.job_offers o left join tock.job_queues q on q.name = o.queue where (q.relayed_to is distinct from 'sql' or not (not exists (select from tock.freezes f where (f.ended_at is null and (f.until > tock.now() or f.ramp_ms > 0))) or o.queue = 'tock:alerts') or not (q.paused_at is null and coalesce(q.closed_until <= tock.now(), true) and (q.active_window is null or case when split_part(q.active_window, '-', 1) < split_part(q.active_window, '-', 2)
    then (tock.now() at time zone q.timezone)::time >= split_part(q.active_window, '-', 1)::time and (tock.now() at time zone q.timezone)::time < split_part(q.active_window, '-', 2)::time
    else (tock.now() at time zone q.timezone)::time >= split_part(q.active_window, '-', 1)::time or (tock.now() at time zone q.timezone)::time < split_part(q.active_window, '-', 2)::time end)))))
    and case when $1::text[] is null then not exists (select from tock.job_queues s where not (s.relayed_to is distinct from 'sql' or not (not exists (select from tock.freezes f where (f.ended_at is null and (f.until > tock.now() or f.ramp_ms > 0))) or s.name = 'tock:alerts') or not (s.paused_at is null and coalesce(s.closed_until <= tock.now(), true) and (s.active_window is null or case when split_part(s.active_window, '-', 1) < split_part(s.active_window, '-', 2)
    then (tock.now() at time zone s.timezone)::time >= split_part(s.active_window, '-', 1)::time and (tock.now() at time zone s.timezone)::time < split_part(s.active_window, '-', 2)::time
    else (tock.now() at time zone s.timezone)::time >= split_part(s.active_window, '-', 1)::time or (tock.now() at time zone s.timezone)::time < split_part(s.active_window, '-', 2)::time end))) and (
    exists (select from queue_lanes p cross join lateral (
      select r.id from tock.job_runs_live r where r.queue = p.queue and r.priority = p.priority and r.blocked_on is null and r.run_at <= tock.now() and r.status in ('queued', 'failed') order by r.run_at, r.id limit 1) d where p.queue = s.name)
    or exists (select from tock.fair_keys k where k.queue = s.name and (k.is_ready or k.ready_at <= tock.now())))) else true end as is_idle
), kept as (
  insert into tock.upkeep as u (kind, at) select 'keeps ' || $7::text, tock.now()
  from question where is_idle and not exists (select from tock.upkeep n where n.kind = 'keeps ' || $7::text
    and n.at between tock.now() - interval '1 hour' and tock.now() + interval '1 minute')
  on conflict (kind) do update set at = tock.now()
), noted as (
  insert into tock.ticks as t (host, folder, kind, service, fingerprint, version, node, zone_data, clock_ms)
  select $8, $9, $10, $3, $4, $11, $12, $6, round($13::float8 - extract(epoch from tock.now())::float8 * 1000)
  from question where is_idle and not exists (
    select from tock.ticks n where n.host = $8 and n.folder = $9 and n.kind = $10 and n.service = $3
      and n.fingerprint = $4 and n.version = $11 and n.node = $12
      and n.stopped_at is null and n.at between tock.now() - interval '30 seconds' and tock.now() + interval '1 minute')
  on conflict (host, folder, kind, service) do update set at = tock.now(), tick_count = t.tick_count + 1, version = excluded.version,
    fingerprint = excluded.fingerprint, set_at = case when t.fingerprint is distinct from excluded.fingerprint then tock.now() else t.set_at end,
    node = excluded.node, zone_data = excluded.zone_data, clock_ms = excluded.clock_ms, stopped_at = null,
    silences = case when tock.now() - t.at > greatest(interval '100 seconds', (t.at - t.first_at) / greatest(t.tick_count - 1, 1) * 1.7) then (coalesce(t.silences, '{}') + tstzmultirange(tstzrange(t.at, tock.now(), '()')))
      * tstzmultirange(tstzrange(tock.now() - interval '7 days', null)) else t.silences end
)
select is_idle as "isIdle", set_config('synchronous_commit', 'off', true) as "commit" from question;

-- is-idle-with-alerts
with recursive queue_lanes as (
  (select queue, priority from tock.job_runs_live where blocked_on is null order by queue, priority limit 1)
  union all
  select n.queue, n.priority from queue_lanes p cross join lateral (
    select r.queue, r.priority from tock.job_runs_live r
    where r.blocked_on is null and (r.queue, r.priority) > (p.queue, p.priority) order by r.queue, r.priority limit 1) n
), ready_scopes as (
  (select k.queue, k.job from tock.fair_keys k where k.is_ready order by k.queue, k.job limit 1)
  union all
  select n.queue, n.job from ready_scopes s cross join lateral (select k.queue, k.job from tock.fair_keys k where k.is_ready and (k.queue, k.job) > (s.queue, s.job) order by k.queue, k.job limit 1) n
), open as materialized (
  select p.queue, p.priority, (q.concurrency is not null or q.rate_count is not null) as is_limited,
    least(1, q.concurrency - (select count(*) from tock.job_slots s where s.concurrency_key = 'queue:' || q.name)) as room, count(*) over (partition by p.priority) as siblings
  from queue_lanes p left join tock.job_queues q on q.name = p.queue
  where (not exists (select from tock.freezes f where (f.ended_at is null and (f.until > tock.now() or f.ramp_ms > 0))) or p.queue = 'tock:alerts') and case when (select $1::text[]) is null then q.relayed_to is null else (p.queue = any($1) or 'default' = any($1) and p.queue like 'default:%') end and not (p.queue like 'default:%' and p.queue <> 'default:' || (select $2::text)
    and ((select $1::text[]) is null or p.queue <> all ($1))
    and exists (select from tock.workers w where w.service = substr(p.queue, 9) and w.seen_at
  between tock.now() - coalesce(w.heartbeat_ms, 15000) * interval '2.5 milliseconds'
    and tock.now() + coalesce(w.heartbeat_ms, 15000) * interval '2.5 milliseconds' and not w.draining
    and case when w.queues is null then coalesce(null, 'sql') = 'sql' else p.queue = any(w.queues) end)) and q.paused_at is null and coalesce(q.closed_until <= tock.now(), true) and (q.active_window is null or case when split_part(q.active_window, '-', 1) < split_part(q.active_window, '-', 2)
    then (tock.now() at time zone q.timezone)::time >= split_part(q.active_window, '-', 1)::time and (tock.now() at time zone q.timezone)::time < split_part(q.active_window, '-', 2)::time
    else (tock.now() at time zone q.timezone)::time >= split_part(q.active_window, '-', 1)::time or (tock.now() at time zone q.timezone)::time < split_part(q.active_window, '-', 2)::time end)
    and (q.concurrency is null or q.concurrency - (select count(*) from tock.job_slots s where s.concurrency_key = 'queue:' || q.name) > 0)
    and (q.rate_next_at is null or q.rate_count is null or q.rate_next_at <= tock.now() or q.rate_next_at > tock.now()
    + least(q.rate_period_ms, q.rate_period_ms / q.rate_count + 60000) * interval '1 millisecond')
    and (select true from tock.job_runs_live r where r.queue = p.queue and r.priority = p.priority and r.blocked_on is null and r.run_at <= tock.now() and r.status in ('queued', 'failed')
      order by r.run_at, r.id limit 1)
), seen as (
  update tock.registrations set seen_at = tock.now()
  where service = $3 and fingerprint = $4 and is_current and seen_at < tock.now() - interval '30 seconds'
), question as materialized (
  select not exists (select from unnest($5::text[]) n(name) where n.name not in (select m.name from tock.migrations m))
    and exists (select from tock.registrations
      where service = $3 and fingerprint = $4 and is_current and seen_at <= tock.now() + interval '1 minute')
    and not tock.is_copy() and not exists (select from tock.zones z where z.zone_data < nullif($6, 'unknown'))
    and not exists (select from tock.job_definitions where next_at <= tock.now() and next_at is not null and paused_at is null and broken_at is null and vanished_at is null and not exists (select from tock.freezes f where (f.ended_at is null and (f.until > tock.now() or f.ramp_ms > 0))))
    and not exists (select from open) and not (exists (select from ready_scopes s left join tock.job_queues q on q.name = s.queue where (not exists (select from tock.freezes f where (f.ended_at is null and (f.until > tock.now() or f.ramp_ms > 0))) or s.queue = 'tock:alerts') and case when (select $1::text[]) is null then q.relayed_to is null else (s.queue = any($1) or 'default' = any($1) and s.queue like 'default:%') end and q.paused_at is null and coalesce(q.closed_until <= tock.now(), true) and (q.active_window is null or case when split_part(q.active_window, '-', 1) < split_part(q.active_window, '-', 2)
    then (tock.now() at time zone q.timezone)::time >= split_part(q.active_window, '-', 1)::time and (tock.now() at time zone q.timezone)::time < split_part(q.active_window, '-', 2)::time
    else (tock.now() at time zone q.timezone)::time >= split_part(q.active_window, '-', 1)::time or (tock.now() at time zone q.timezone)::time < split_part(q.active_window, '-', 2)::time end) and coalesce(case when (q.concurrency is not null or q.rate_count is not null) then least(q.concurrency - (select count(*) from tock.job_slots s where s.concurrency_key = 'queue:' || q.name), case when q.rate_count is not null then greatest(0, floor((extract(epoch from tock.now() - greatest(case when not q.rate_next_at > tock.now()
    + least(q.rate_period_ms, q.rate_period_ms / q.rate_count + 60000) * interval '1 millisecond' then q.rate_next_at end, tock.now() - (greatest(1, ceil(1000.0 * q.rate_count / q.rate_period_ms)) - 1) * (q.rate_period_ms::float8 / q.rate_count) * interval '1 millisecond')) * 1000)::float8 / (q.rate_period_ms::float8 / q.rate_count) + 1))::integer end) - (select count(*) from (
    select from tock.job_runs_live r where r.unblocked_on >= '~' || q.name || '/' and r.unblocked_on < '~' || q.name || '0'
      and r.blocked_on is null and r.status in ('queued', 'failed') limit 1000) s) end > 0, true))
  or exists (select from tock.fair_keys k left join tock.job_queues q on q.name = k.queue
    where not k.is_ready and k.ready_at <= tock.now() and (not exists (select from tock.freezes f where (f.ended_at is null and (f.until > tock.now() or f.ramp_ms > 0))) or k.queue = 'tock:alerts') and case when (select $1::text[]) is null then q.relayed_to is null else (k.queue = any($1) or 'default' = any($1) and k.queue like 'default:%') end and q.paused_at is null and coalesce(q.closed_until <= tock.now(), true) and (q.active_window is null or case when split_part(q.active_window, '-', 1) < split_part(q.active_window, '-', 2)
    then (tock.now() at time zone q.timezone)::time >= split_part(q.active_window, '-', 1)::time and (tock.now() at time zone q.timezone)::time < split_part(q.active_window, '-', 2)::time
    else (tock.now() at time zone q.timezone)::time >= split_part(q.active_window, '-', 1)::time or (tock.now() at time zone q.timezone)::time < split_part(q.active_window, '-', 2)::time end) and coalesce(case when (q.concurrency is not null or q.rate_count is not null) then least(q.concurrency - (select count(*) from tock.job_slots s where s.concurrency_key = 'queue:' || q.name), case when q.rate_count is not null then greatest(0, floor((extract(epoch from tock.now() - greatest(case when not q.rate_next_at > tock.now()
    + least(q.rate_period_ms, q.rate_period_ms / q.rate_count + 60000) * interval '1 millisecond' then q.rate_next_at end, tock.now() - (greatest(1, ceil(1000.0 * q.rate_count / q.rate_period_ms)) - 1) * (q.rate_period_ms::float8 / q.rate_count) * interval '1 millisecond')) * 1000)::float8 / (q.rate_period_ms::float8 / q.rate_count) + 1))::integer end) - (select count(*) from (
    select from tock.job_runs_live r where r.unblocked_on >= '~' || q.name || '/' and r.unblocked_on < '~' || q.name || '0'
      and r.blocked_on is null and r.status in ('queued', 'failed') limit 1000) s) end > 0, true))) and not (exists (select from queue_lanes p cross join lateral (
    select from tock.job_runs_live r where r.blocked_on is null and r.queue = p.queue and r.priority = p.priority and r.run_at <= tock.now()
      and r.status in ('running') and (r.locked_until < tock.now() or r.locked_until is null)
    order by r.run_at, r.id limit 1) e)
  or exists (select w.id from (
    select id from tock.workers where seen_at < tock.now() - interval '10 minutes'
    order by hashtext(id::text || to_char(tock.now(), 'HH24MI')) limit 10) w
  where 0 = (select count(*) from (select from queue_lanes p cross join lateral (
    select from tock.job_runs_live r
    where r.blocked_on is null and r.queue = p.queue and r.priority = p.priority and r.run_at <= tock.now()
      and r.locked_by = w.id and r.status = 'running'
    order by r.run_at, r.id limit 1) h limit 1) held)) or (exists (select from tock.job_slots) or (select blocked_on from tock.job_runs_live where blocked_on < '~'
    order by blocked_on, queue, priority, run_at, id limit 1) is not null) or exists (select from tock.job_outbox) or exists (select from tock.job_hand_offs h where h.handed_off_at is not null and h.decided_at is not null and h.written_at is null)
  or (exists (select from tock.job_queues q where q.override_ends_at <= tock.now() or q.paused_until <= tock.now())
    or coalesce((select min(d.paused_until) from tock.job_definitions d where d.paused_until is not null) <= tock.now(), false) or exists (select from tock.freezes f where f.ended_at is null and f.until <= tock.now())) or exists (select from tock.job_offers o left join tock.job_queues q on q.name = o.queue where (q.relayed_to is distinct from 'sql' or not (not exists (select from tock.freezes f where (f.ended_at is null and (f.until > tock.now() or f.ramp_ms > 0))) or o.queue = 'tock:alerts') or not (q.paused_at is null and coalesce(q.closed_until <= tock.now(), true) and (q.active_window is null or case when split_part(q.active_window, '-', 1) < split_part(q.active_window, '-', 2)
    then (tock.now() at time zone q.timezone)::time >= split_part(q.active_window, '-', 1)::time and (tock.now() at time zone q.timezone)::time < split_part(q.active_window, '-', 2)::time
    else (tock.now() at time zone q.timezone)::time >= split_part(q.active_window, '-', 1)::time or (tock.now() at time zone q.timezone)::time < split_part(q.active_window, '-', 2)::time end))))) and not (exists (select from tock.alert_events)
    or not exists (select from tock.alert_clock c where c.check_at > tock.now() and c.checked_at < tock.now() + interval '1 minute')
    or $7::boolean and coalesce((select min(w.check_at) from tock.alert_watches w) <= tock.now(), false)
    or $8::boolean and exists (select r.id, r.job, r.definition_id, r.started_at, m.max_ms
  from queue_lanes p cross join lateral (
    select l.id, l.job, l.definition_id, l.started_at, l.status from tock.job_runs_live l
    where l.blocked_on is null and l.queue = p.queue and l.priority = p.priority and l.run_at <= tock.now()
    order by l.run_at, l.id limit 10000
  ) r cross join lateral (
    select coalesce((select d.max_duration_ms from tock.job_definitions d where d.id = r.definition_id),
      (select d.max_duration_ms from tock.job_definitions d where d.name = r.job)) as max_ms
  ) m
  where r.status = 'running' and r.started_at < tock.now() - m.max_ms * interval '1 millisecond' limit 1)
    or $9::float8 is not null and exists (select p.queue, w.run_at, q.paused_at is not null as is_paused
  from queue_lanes p left join tock.job_queues q on q.name = p.queue cross join lateral (
    select r.run_at from tock.job_runs_live r
    where r.blocked_on is null and r.queue = p.queue and r.priority = p.priority and r.run_at <= tock.now() - $9::float8 * interval '1 millisecond' and r.status in ('queued', 'failed')
    order by r.run_at, r.id limit 1
  ) w
  where p.queue <> 'tock:alerts' and ((extract(epoch from tock.now()) - extract(epoch from w.run_at)) * 1000)::float8 - tock.frozen_ms(w.run_at) >= $9::float8 and ($10::text[] is null or p.queue = any($10::text[])) and (q.paused_at is not null or q.paused_at is null and coalesce(q.closed_until <= tock.now(), true) and (q.active_window is null or case when split_part(q.active_window, '-', 1) < split_part(q.active_window, '-', 2)
    then (tock.now() at time zone q.timezone)::time >= split_part(q.active_window, '-', 1)::time and (tock.now() at time zone q.timezone)::time < split_part(q.active_window, '-', 2)::time
    else (tock.now() at time zone q.timezone)::time >= split_part(q.active_window, '-', 1)::time or (tock.now() at time zone q.timezone)::time < split_part(q.active_window, '-', 2)::time end)
    and (q.active_window is null or (((tock.now() at time zone q.timezone)::date + split_part(q.active_window, '-', 1)::time - case when (tock.now() at time zone q.timezone)::time < split_part(q.active_window, '-', 1)::time then interval '1 day' else interval '0' end) at time zone q.timezone) <= tock.now() - $9::float8 * interval '1 millisecond')) limit 1)
    or $11::float8 is not null and exists (select t.host, t.folder, max(t.at) as at from tock.ticks t
  where t.tick_count >= 10 and t.at > tock.now() - interval '7 days' and t.stopped_at is null
  group by t.host, t.folder having max(t.at) < tock.now() - $11::float8 * interval '1 millisecond' limit 1))
    and case when $1::text[] is null then not exists (select from tock.job_queues s where not (s.relayed_to is distinct from 'sql' or not (not exists (select from tock.freezes f where (f.ended_at is null and (f.until > tock.now() or f.ramp_ms > 0))) or s.name = 'tock:alerts') or not (s.paused_at is null and coalesce(s.closed_until <= tock.now(), true) and (s.active_window is null or case when split_part(s.active_window, '-', 1) < split_part(s.active_window, '-', 2)
    then (tock.now() at time zone s.timezone)::time >= split_part(s.active_window, '-', 1)::time and (tock.now() at time zone s.timezone)::time < split_part(s.active_window, '-', 2)::time
    else (tock.now() at time zone s.timezone)::time >= split_part(s.active_window, '-', 1)::time or (tock.now() at time zone s.timezone)::time < split_part(s.active_window, '-', 2)::time end))) and (
    exists (select from queue_lanes p cross join lateral (
      select r.id from tock.job_runs_live r where r.queue = p.queue and r.priority = p.priority and r.blocked_on is null and r.run_at <= tock.now() and r.status in ('queued', 'failed') order by r.run_at, r.id limit 1) d where p.queue = s.name)
    or exists (select from tock.fair_keys k where k.queue = s.name and (k.is_ready or k.ready_at <= tock.now())))) else true end as is_idle
), kept as (
  insert into tock.upkeep as u (kind, at) select 'keeps ' || $12::text, tock.now()
  from question where is_idle and not exists (select from tock.upkeep n where n.kind = 'keeps ' || $12::text
    and n.at between tock.now() - interval '1 hour' and tock.now() + interval '1 minute')
  on conflict (kind) do update set at = tock.now()
), noted as (
  insert into tock.ticks as t (host, folder, kind, service, fingerprint, version, node, zone_data, clock_ms)
  select $13, $14, $15, $3, $4, $16, $17, $6, round($18::float8 - extract(epoch from tock.now())::float8 * 1000)
  from question where is_idle and not exists (
    select from tock.ticks n where n.host = $13 and n.folder = $14 and n.kind = $15 and n.service = $3
      and n.fingerprint = $4 and n.version = $16 and n.node = $17
      and n.stopped_at is null and n.at between tock.now() - interval '30 seconds' and tock.now() + interval '1 minute')
  on conflict (host, folder, kind, service) do update set at = tock.now(), tick_count = t.tick_count + 1, version = excluded.version,
    fingerprint = excluded.fingerprint, set_at = case when t.fingerprint is distinct from excluded.fingerprint then tock.now() else t.set_at end,
    node = excluded.node, zone_data = excluded.zone_data, clock_ms = excluded.clock_ms, stopped_at = null,
    silences = case when tock.now() - t.at > greatest(interval '100 seconds', (t.at - t.first_at) / greatest(t.tick_count - 1, 1) * 1.7) then (coalesce(t.silences, '{}') + tstzmultirange(tstzrange(t.at, tock.now(), '()')))
      * tstzmultirange(tstzrange(tock.now() - interval '7 days', null)) else t.silences end
)
select is_idle as "isIdle", set_config('synchronous_commit', 'off', true) as "commit" from question;

-- is-join
select from tock.job_waits w where w.run_id = $1 and w.kind = 'group';

-- is-known-subject
select $1::text as name where exists (select from tock.job_definitions where name = $1) or exists (select from tock.job_queues where name = $1)
  or exists (select from tock.alert_states where subject = $1);

-- is-queue-named
select exists (select from tock.workers w where $1 = any(w.queues) and w.seen_at
  between tock.now() - coalesce(w.heartbeat_ms, 15000) * interval '2.5 milliseconds'
    and tock.now() + coalesce(w.heartbeat_ms, 15000) * interval '2.5 milliseconds' and not w.draining) as "isNamed";

-- job-defaults
select name, queue, priority, attempts, tags, changes
from tock.job_defaults(array(select jsonb_array_elements_text($1::text::jsonb))) order by name;

-- join-runs
select tock.join_runs($1::bigint[], $2::text[], $3::bigint[], $4::bigint[], $5::text[], $6::bigint[])::text[] as unknown;

-- keep result of effect
update tock.job_effects set result = $1 where key = $2 returning result::text as result;

-- keep step
insert into tock.job_effects (key, run_id, result) select $1, $2, $3 where exists (select from tock.job_runs_live r
  where r.id = $2 and r.fence = $4 and r.locked_by = $5 and r.status = 'running')
on conflict (key) do nothing
returning result::text as result;

-- keep-cursor
insert into tock.job_effects as e (key, run_id, result) select $1, $2, $3::jsonb where exists (select from tock.job_runs_live r
  where r.id = $2 and r.fence = $4 and r.locked_by = $5 and r.status = 'running')
on conflict (key) do update set result = case when (e.result ->> 'n')::bigint < (excluded.result ->> 'n')::bigint then excluded.result else e.result end
returning e.key;

-- keep-cursors
with held as materialized (
  select r.id from tock.job_runs_live r
  where r.id = any($1::bigint[]) and ($2::integer[])[width_bucket(r.id, $1::bigint[])] = r.fence and r.locked_by = $3 and r.status in ('running')
  order by r.id
  for no key update
)
insert into tock.job_effects as e (key, run_id, result) select c.key, c.id, c.result from unnest($4::bigint[], $5::text[], $6::jsonb[]) as c(id, key, result)
where c.id = any(array(select id from held)) order by c.key
on conflict (key) do update set result = case when (e.result ->> 'n')::bigint < (excluded.result ->> 'n')::bigint then excluded.result else e.result end
returning e.key;

-- keep-reap-turn
select set_config('synchronous_commit', 'off', true) as "commit",
  setval('tock.reap_turn', (extract(epoch from clock_timestamp()) * 1000)::bigint + ceil($1::float8)::bigint) as until;

-- large-payload
select octet_length(p.text)::float8 as bytes, case when octet_length(p.text) <= $1::integer then p.text end as text
from (select r.payload::text as text from tock.job_runs_live r where r.id = $2 and r.fence = $3 offset 0) p;

-- last-errors-of-dead
select r.id::text, r.job, e.last ->> 'name' as name, e.last ->> 'code' as code,
  left(e.last ->> 'message', 500) as message, case when e.last -> 'cause' is not null or e.last -> 'errors' is not null then (
    with recursive inner_errors (said, depth) as (
      select coalesce(e.last -> 'cause', e.last -> 'errors' -> 0), 1
      union all
      select coalesce(said -> 'cause', said -> 'errors' -> 0), depth + 1 from inner_errors where said is not null
    )
    select left(coalesce(nullif(said ->> 'message', ''), nullif(said ->> 'code', ''), said ->> 'name'), 500)
    from inner_errors where said is not null order by depth desc limit 1) end as cause, e.last ->> 'deploy' as deploy, (extract(epoch from r.finished_at) * 1000)::float8 as at from tock.job_runs_finished r cross join lateral (select r.errors -> -1 as last offset 0) e
where r.status = 'dead' and r.finished_at >= $1::timestamptz and r.finished_at < $2::timestamptz
order by r.finished_at desc limit $3::integer;

-- last-errors-of-failing
select r.id::text, r.job, e.last ->> 'name' as name, e.last ->> 'code' as code,
  left(e.last ->> 'message', 500) as message, case when e.last -> 'cause' is not null or e.last -> 'errors' is not null then (
    with recursive inner_errors (said, depth) as (
      select coalesce(e.last -> 'cause', e.last -> 'errors' -> 0), 1
      union all
      select coalesce(said -> 'cause', said -> 'errors' -> 0), depth + 1 from inner_errors where said is not null
    )
    select left(coalesce(nullif(said ->> 'message', ''), nullif(said ->> 'code', ''), said ->> 'name'), 500)
    from inner_errors where said is not null order by depth desc limit 1) end as cause, e.last ->> 'deploy' as deploy, (extract(epoch from r.started_at) * 1000)::float8 as at from tock.job_runs_live r cross join lateral (select r.errors -> -1 as last offset 0) e
where r.status = 'failed' and r.started_at >= $1::timestamptz and r.started_at < $2::timestamptz
order by r.id desc limit $3::integer;

-- link-followers
update tock.job_runs_live r set traceparent = l.traceparent
from unnest($1::timestamptz[], $2::text[]) as l(scheduled_for, traceparent)
where r.definition_id = $3 and r.scheduled_for = l.scheduled_for and r.trigger = 'chain' and r.traceparent is null and not tock.has_begun(r.attempts, r.releases, r.generation, r.began_at);

-- list-alert-flips
select f.id::text, f.rule, f.subject, case
    when f.condition = 'waiting' then 'queue' when f.condition = 'silent' then null
    else (select case when d.name = d.job and d.next_at is null and d.after is null then 'job' else 'definition' end
      from tock.job_definitions d where d.name = f.subject) end as about, f.kind, extract(epoch from f.at) as at, extract(epoch from f.since) as since,
  f.detail, f.run_id::text as "runId", coalesce((
    select jsonb_agg(jsonb_build_object('channel', d.channel, 'runId', d.run_id::text, 'deliveredAt', d.delivered_at, 'answer', d.answer,
      'runStatus', r.status, 'error', case when d.delivered_at is null then left(r.errors -> -1 ->> 'message', 300) end) order by d.channel)
    from tock.alert_deliveries d left join lateral (select r.status, r.errors, r.started_at, r.finished_at, r.run_at from tock.job_runs r where r.id = d.run_id limit 1) r on true where d.flip_id = f.id), '[]') as deliveries
from (select * from tock.alert_flips f where f.id < coalesce($1::bigint, 9223372036854775807) order by f.id desc limit $2) f
order by f.id desc;

-- list-alert-mutes
select m.name, extract(epoch from m.until) as until, m.note, m.muted_by as by, extract(epoch from m.created_at) as at from tock.alert_mutes m where m.until > tock.now() order by m.name;

-- list-alerts
with chosen as materialized (
  select s.* from tock.alert_states s
  where s.status = 'down' or not $1::boolean and exists (select from tock.alert_flips f where f.rule = s.rule and f.subject = s.subject)
  order by s.status = 'up', s.since desc, s.rule, s.subject limit $2
)
select s.rule, s.subject, s.status, extract(epoch from s.since) as since, s.detail, s.failure_count as failures, s.run_id::text as "runId", extract(epoch from s.notified_at) as "notifiedAt",
  case
    when (select f.condition from tock.alert_flips f where f.rule = s.rule and f.subject = s.subject order by f.id desc limit 1) = 'waiting' then 'queue' when (select f.condition from tock.alert_flips f where f.rule = s.rule and f.subject = s.subject order by f.id desc limit 1) = 'silent' then null
    else (select case when d.name = d.job and d.next_at is null and d.after is null then 'job' else 'definition' end
      from tock.job_definitions d where d.name = s.subject) end as about,
  (select extract(epoch from max(m.until)) from tock.alert_mutes m where m.name in (s.rule, s.subject) and m.until > tock.now()) as "mutedUntil",
  (select jsonb_build_object('kind', f.kind, 'at', f.at, 'deliveries', coalesce((
    select jsonb_agg(jsonb_build_object('channel', d.channel, 'runId', d.run_id::text, 'deliveredAt', d.delivered_at, 'answer', d.answer,
      'runStatus', r.status, 'error', case when d.delivered_at is null then left(r.errors -> -1 ->> 'message', 300) end) order by d.channel)
    from tock.alert_deliveries d left join lateral (select r.status, r.errors, r.started_at, r.finished_at, r.run_at from tock.job_runs r where r.id = d.run_id limit 1) r on true where d.flip_id = f.id), '[]'))
  from tock.alert_flips f where f.rule = s.rule and f.subject = s.subject order by f.id desc limit 1) as "lastFlip"
from chosen s order by s.status = 'up', s.since desc, s.rule, s.subject;

-- list-alive-workers
select w.kind, w.host, w.pid from tock.workers w
    where w.seen_at > tock.now() - coalesce(w.heartbeat_ms, 15000) * interval '2.5 milliseconds';

-- list-applied-migrations
select m.name, m.checksum, extract(epoch from m.applied_at) as "appliedAt" from tock.migrations m order by m.name;

-- list-channel-deliveries
with latest as materialized (
  select d.flip_id, d.channel, d.run_id, d.delivered_at, d.answer from tock.alert_deliveries d order by d.flip_id desc, d.channel desc limit 1000
), messages as materialized (
  select d.channel, d.run_id, max(d.delivered_at) as delivered_at, max(d.answer) as answer, count(*)::int as flips, max(d.flip_id) as flip_id,
    row_number() over (partition by d.channel order by max(d.flip_id) desc) as place
  from latest d group by d.channel, d.run_id
)
select d.channel, d.run_id::text as "runId", extract(epoch from d.delivered_at) as "deliveredAt", d.answer, r.status as "runStatus",
  case when d.delivered_at is null then left(r.errors -> -1 ->> 'message', 300) end as error, d.flips,
  extract(epoch from coalesce(d.delivered_at, r.finished_at, r.started_at)) as at, case when r.status in ('queued', 'failed') then extract(epoch from r.run_at) end as "nextAt"
from messages d left join lateral (select r.status, r.errors, r.started_at, r.finished_at, r.run_at from tock.job_runs r where r.id = d.run_id limit 1) r on true where d.place <= $1 order by d.channel, d.flip_id desc;

-- list-migrations
select name, checksum from tock.migrations;

-- list-own-objects
select case c.relkind when 'S' then 'sequence' else 'table' end as kind, format('%I.%I', n.nspname, c.relname) as name
from pg_namespace n join pg_class c on c.relnamespace = n.oid
-- Partitions go with their tables. Retention marks its tables, which have names of their own, by a comment.
where n.nspname = 'tock' and c.relkind in ('r', 'p', 'S') and not c.relispartition
  and (c.relname = any($1::text[]) or obj_description(c.oid, 'pg_class') like 'tock: %')
union all
select case when exists (
    select from pg_type t where t.oid = any(p.proargtypes) and t.typnamespace = n.oid and t.typtype = 'c')
  then 'function' else 'routine' end, p.oid::regprocedure::text
from pg_namespace n join pg_proc p on p.pronamespace = n.oid
where n.nspname = 'tock' and p.proname = any($1::text[])
union all
select 'domain', format('%I.%I', n.nspname, t.typname)
from pg_namespace n join pg_type t on t.typnamespace = n.oid
where n.nspname = 'tock' and t.typtype = 'd' and t.typname = any($1::text[])
order by 1, 2;

-- list-relations
select c.relname as name, parent.relname as parent, pg_get_expr(c.relpartbound, c.oid) as bound, c.relkind = 'p' as "isPartitioned",
  greatest(c.reltuples, s.n_live_tup, 0)::float8 as rows, pg_table_size(c.oid)::float8 as bytes, pg_indexes_size(c.oid)::float8 as "indexBytes"
from pg_class c
left join pg_stat_all_tables s on s.relid = c.oid
left join pg_inherits i on i.inhrelid = c.oid
left join pg_class parent on parent.oid = i.inhparent
where c.relnamespace = (select n.oid from pg_namespace n where n.nspname = 'tock') and c.relkind in ('r', 'p')
order by c.relname;

-- list-tock-schemas
select n.nspname as name from pg_namespace n where (select count(*) from pg_class c where c.relnamespace = n.oid and c.relkind in ('r', 'p')
    and c.relname in ('migrations', 'job_definitions', 'job_runs', 'job_runs_live', 'job_keys', 'workers')) = 6 order by n.nspname limit 20;

-- list-zones
select z.timezone, z.zone_data as "zoneData", z.offsets, z.previous_data as "previousData", z.previous, z.moved_count::float8 as moved, extract(epoch from z.moved_at) as "movedAt"
from tock.zones z order by z.timezone;

-- listed-keys
select key from (
  select key, 1 as part from (select s.key from tock.key_settings s order by s.key limit 1000) s
  union all
  select c.key, 2 from (
    select distinct k.key from (
      select k.key from tock.fair_keys k where k.closed_until > tock.now() order by k.closed_until limit 1000) k
    where not exists (select from tock.key_settings s where s.key = k.key)) c
) l order by part, key;

-- live-runs-since
select coalesce(jsonb_object_agg(i.id, l.since), '{}') as since from unnest($1::bigint[]) as i(id) cross join lateral (
  select extract(epoch from min(r.created_at)) * 1000 as since from tock.job_runs_live r where r.definition_id = i.id) l
where l.since is not null;

-- lock held run
select from tock.job_runs_live r
  where r.id = $1 and r.fence = $2 and r.locked_by = $3 and r.status = 'running' for key share;

-- lock-alert-channels
select c.name, c.run_id::text as "runId",
  greatest(0, case when isfinite(c.free_at) then extract(epoch from c.free_at - tock.now()) * 1000 else 0 end)::float8 as "freeInMs"
from tock.alert_channels c where c.name = any($1::text[]) order by c.name for update;

-- lock-alert-clock
select (extract(epoch from tock.now()) * 1000)::float8 as now from tock.alert_clock c
where c.is_only and (c.check_at <= tock.now() or c.checked_at not between tock.now() - interval '20 seconds' and tock.now()
  or exists (select from tock.alert_events) or $1::boolean)
for update skip locked;

-- lock-due-definitions
select id, name, job, cron, every_ms::float8, phase_ms::float8, anchor, at, after, waits_for, timezone, dst, extract(epoch from start_at) as start_at, extract(epoch from end_at) as end_at, exclude, shift, overlap, catchup, catchup_window_ms::float8, start_deadline_ms::float8, jitter_ms::float8, remaining_count, active_window, outside_window, (extract(epoch from cursor) * 1000)::float8 as cursor_ms,
  (extract(epoch from next_at) * 1000)::float8 as next_ms, coalesce(job_definitions.excepted_until > job_definitions.cursor, false) as is_excepted
from tock.job_definitions
where next_at <= coalesce(to_timestamp($1::float8 / 1000), tock.now()) and next_at is not null and paused_at is null and broken_at is null and vanished_at is null
  and (next_at, id) > (to_timestamp($2::float8 / 1000), $3::bigint)
  and ($4::bigint[] is null or id = any($4)) and ($1::float8 is not null or not exists (select from tock.freezes f where (f.ended_at is null and (f.until > tock.now() or f.ramp_ms > 0))))
order by next_at, id
limit $5
for update skip locked;

-- lock-ended-freeze
select extract(epoch from f.began_at) as "beganAt", extract(epoch from f.until) as until, f.ramp_ms::float8 as "rampMs", f.note, f.operator as "by", to_jsonb(tock.now()) #>> '{}' as now from tock.freezes f where f.ended_at is null and f.until <= tock.now() for update skip locked;

-- lock-figures
select set_config('jit', 'off', true) as jit, (extract(epoch from tock.now()) * 1000)::float8 as now, (extract(epoch from p.final_until) * 1000)::float8 as "finalUntil", (extract(epoch from p.counted_until) * 1000)::float8 as "countedUntil",
  (extract(epoch from p.hours_until) * 1000)::float8 as "hoursUntil", (extract(epoch from p.watched_until) * 1000)::float8 as "watchedUntil",
  (extract(epoch from (select min(m.at) from tock.figures_by_minute m where m.at >= p.hours_until)) * 1000)::float8 as "firstMinute", not exists (select l.virtualtransaction from pg_locks l
  where l.locktype = 'relation' and l.mode = 'RowExclusiveLock' and l.relation = 'tock.job_runs_finished'::regclass
    and l.database = (select d.oid from pg_database d where d.datname = current_database()) and l.virtualtransaction = any(p.writers)) as "writersEnded"
from tock.figures_progress p for update of p skip locked;

-- lock-followers
select d.id::text, name, job, payload, cron, every_ms::float8, phase_ms::float8, anchor, at, after, waits_for, timezone, dst, extract(epoch from start_at) as start_at, extract(epoch from end_at) as end_at, exclude, shift, overlap, catchup, catchup_window_ms::float8, start_deadline_ms::float8, jitter_ms::float8, remaining_count, pause_on_failure_count, expect_within_ms::float8, max_duration_ms::float8, active_window, outside_window, queue, priority, max_attempts, tags, on_dead, keeps_changes, (extract(epoch from d.cursor) * 1000)::float8 as cursor_ms, d.paused_at is not null as is_paused,
  (select count(*)::integer from tock.job_runs_live r where r.definition_id = d.id) as live
from tock.job_definitions d
where d.after is not null and d.vanished_at is null and d.broken_at is null
  and d.after -> 'definitions' ?| array(select p.name from tock.job_definitions p where p.id = any($1::bigint[]))
order by d.id
for update of d;

-- lock-freeze
select extract(epoch from f.began_at) as "beganAt", extract(epoch from f.until) as until, f.ramp_ms::float8 as "rampMs", f.note, f.operator as "by" from tock.freezes f where (f.ended_at is null and (f.until > tock.now() or f.ramp_ms > 0)) for update;

-- lock-groups-of
select w.id::text as wait, w.run_id::text as join, w.outcome is not null as "isOver" from tock.job_waits w
where w.kind = 'group' and w.id = any(array(select a.wait_id from tock.job_awaited_runs a where a.run_id = $1))
  and not exists (select from tock.job_runs r where r.id = w.run_id and r.scheduled_for is not null)
order by w.id for no key update;

-- lock-interval-run
select r.id::text from tock.job_runs_live r where r.id = $1 and r.status = 'queued' and r.run_at = '9999-12-31' and r.trigger in ('cron', 'backfill') and r.scheduled_for is not null
    and not exists (select from tock.job_waits w where w.run_id = r.id) for no key update;

-- lock-interval-runs
with ended as materialized (
  select distinct p.name, n.scheduled_for as at, n.occurrence_count > 1 as is_many, n.trigger = 'backfill' as is_backfilled
  from unnest($1::bigint[], $2::bigint[]) as e(definition_id, run_id)
  join tock.job_definitions p on p.id = e.definition_id
    and exists (select from tock.job_definitions w where w.waits_for is not null and w.waits_for -> 'definitions' ? p.name)
  join tock.job_runs n on n.id = e.run_id
)
select r.id::text
from tock.job_definitions d join tock.job_runs_live r on r.definition_id = d.id and r.status = 'queued' and r.run_at = '9999-12-31' and r.trigger in ('cron', 'backfill') and r.scheduled_for is not null
    and not exists (select from tock.job_waits w where w.run_id = r.id)
where d.id = any($3::bigint[]) or d.waits_for is not null and exists (
  select from ended e where d.waits_for -> 'definitions' ? e.name and (e.is_many or e.at < r.scheduled_for)
    and (not e.is_backfilled or e.at >= coalesce(r.interval_start, r.scheduled_for)))
order by r.id for no key update of r;

-- lock-key-settings
insert into tock.key_settings as s (key) values ($1) on conflict (key) do update set weight = s.weight
returning s.weight, s.slot_limit as limit, s.rate_count as "rateCount",
  s.rate_period_ms::float8 as "ratePeriodMs", s.rate_burst as "rateBurst";

-- lock-migrations
select pg_advisory_xact_lock(hashtextextended($1, 0));

-- lock-pending-deliveries
select r.id::text as id from tock.job_runs_live r
where r.id = any($1::bigint[]) and r.status = 'queued' and not tock.has_begun(r.attempts, r.releases, r.generation, r.began_at)
order by r.id for update skip locked;

-- lock-retention
select pg_try_advisory_xact_lock(hashtextextended('tock.retention', 0)) as "isMine";

-- lock-skipped-occurrences
select extract(epoch from o.scheduled_for) as scheduled_for from tock.job_occurrences o
where o.definition_id = $1 and o.scheduled_for = any($2::timestamptz[]) and exists (select from tock.job_runs_finished r where r.id = o.run_id and r.status = 'skipped')
order by o.scheduled_for for update;

-- lock-waits
with candidate as materialized (
  select w.id, w.run_id from tock.job_waits w where w.id = any($1::bigint[]) and w.outcome is null
  union
  select w.id, w.run_id from tock.job_events e cross join lateral (
    select w.id, w.run_id from tock.job_waits w
    where w.kind = 'event' and w.outcome is null and w.name = e.name and w.key = e.key and w.since <= e.created_at) w
  where e.id = any($2::bigint[])
  union
  select w.id, w.run_id from tock.job_awaited_runs a join tock.job_waits w on w.id = a.wait_id and w.outcome is null
  where a.run_id = any($3::bigint[])
), locked as materialized (
  select r.id from tock.job_runs_live r where r.id = any(array(select c.run_id from candidate c) || $4::bigint[]) order by r.id for no key update
), marked as (
  update tock.job_runs_live r set has_waiters = true
  where r.id = any($4::bigint[]) and r.has_waiters is null and (select count(*) from locked) > 0
)
select w.id::text, w.cancels from tock.job_waits w
where w.id = any(array(select c.id from candidate c)) and (select count(*) from locked) >= 0 and w.outcome is null
order by w.id for no key update;

-- lock-zone
select z.timezone, z.zone_data as "zoneData", z.offsets, (extract(epoch from tock.now()) * 1000)::float8 as now from tock.zones z
where z.timezone = $1 and z.zone_data < $2 for update;

-- look-at-intervals-again
insert into tock.job_outbox (kind, definition_id) select 'interval', d.id from tock.job_definitions d
where (d.waits_for is not null or d.name = any($1::text[]))
  and exists (select from tock.job_runs_live r where r.definition_id = d.id and r.status = 'queued' and r.run_at = '9999-12-31' and r.trigger in ('cron', 'backfill') and r.scheduled_for is not null
    and not exists (select from tock.job_waits w where w.run_id = r.id))
order by d.id;

-- look-at-key-again
with mine as materialized (
  select k.name, k.closed_until > tock.now() as is_closed from tock.fair_keys k where k.key = $1 order by k.name for update
), looked as (
  update tock.fair_keys k set arrivals = k.arrivals + 1, held_on = null, tag = case when k.is_ready then k.tag when k.held_on is null then greatest(k.tag, coalesce((select p.tag from tock.fair_keys p where p.queue = k.queue and p.job = k.job and p.is_ready order by p.tag limit 1),
    (select p.tag from tock.fair_keys p where p.queue = k.queue and p.job = k.job and not p.is_ready order by p.tag desc limit 1), 0)) else greatest(k.tag, coalesce((select p.tag from tock.fair_keys p where p.queue = k.queue and p.job = k.job and p.is_ready order by p.tag limit 1),
    (select p.tag from tock.fair_keys p where p.queue = k.queue and p.job = k.job and not p.is_ready order by p.tag desc limit 1), 0) - 32) end,
    closed_until = case when not $2::boolean then k.closed_until end,
    rate_next_at = case when not $3::boolean then k.rate_next_at end,
    is_ready = ($2::boolean or m.is_closed is not true) and ($3::boolean or coalesce(k.rate_next_at <= tock.now(), true)),
    ready_at = greatest(case when not $2::boolean and m.is_closed then k.closed_until end,
      case when not $3::boolean and k.rate_next_at > tock.now() then k.rate_next_at end)
  from mine m where k.name = m.name and (not $2::boolean or m.is_closed)
)
select coalesce(bool_or(m.is_closed), false) as "isOpened", tock.notify('fair') from mine m;

-- look-at-webhooks
with wanted as materialized (
  select w.job, w.names, w.kinds, k.position
  from jsonb_to_recordset($1::jsonb) as w(job text, names text[], kinds text[]) left join tock.change_webhooks k on k.job = w.job
), added as (
  insert into tock.change_webhooks (job, position)
  select w.job, coalesce((select min(k.position) from tock.change_webhooks k where k.job = any(w.names)), $2::bigint)
  from wanted w where w.position is null order by w.job
  on conflict do nothing
), aliases as materialized (
  select k.job from tock.change_webhooks k
  where k.job in (select a.name from wanted w cross join unnest(w.names) as a(name) where a.name <> w.job)
  order by k.job for update skip locked
), replaced as (
  delete from tock.change_webhooks k using aliases a where k.job = a.job
), looked as materialized (
  select w.job, (select c.position from tock.job_changes c
      where c.position > w.position and c.position <= w.position + 5000
        and c.job = any(w.names) and (w.kinds is null or c.kind = any(w.kinds))
      order by c.position limit 1) is not null
    or w.position + 5000 < $2::bigint
    or w.position < (select h.kept_after from tock.changes_head h) as is_pending
  from wanted w where w.position is not null
), passed as materialized (
  select k.job from tock.change_webhooks k
  where k.position < $2::bigint and k.job in (select l.job from looked l where not l.is_pending)
  order by k.job for update skip locked
), moved as (
  update tock.change_webhooks k set position = $2::bigint from passed p where k.job = p.job and k.position < $2::bigint
)
select l.job, case when r.id is not null then jsonb_build_object('id', r.id::text, 'job', r.job, 'status', r.status) end as run
from looked l left join tock.job_runs_live r on r.live_key = $3::text || l.job
where l.is_pending order by l.job;

-- lost-before
select id::text as id from tock.job_runs_live where id = any($1::bigint[]) and errors -> -1 ->> 'code' = 'TOCK_LEASE_LOST';

-- mark-awaited
update tock.job_runs_live set has_waiters = true where id = $1 and has_waiters is null;

-- mark-decided-written
with written as materialized (
  select h.run_id, h.fence from tock.job_hand_offs h join unnest($1::bigint[], $2::integer[]) as w(run_id, fence) using (run_id, fence)
  where h.handed_off_at is not null and h.decided_at is not null and h.written_at is null order by h.run_id, h.fence for update of h
)
update tock.job_hand_offs h set written_at = tock.now(), output = null, error = null
from written w where h.run_id = w.run_id and h.fence = w.fence;

-- mark-definition-broken
update tock.job_definitions set broken_at = tock.now(), broken_reason = left($1, 1000) where id = $2;

-- mark-deploy
insert into tock.deploys as v (name, code, marked_at, marked_by, note)
values ($1, $2, coalesce($3::timestamptz, tock.now()), coalesce($4, session_user), $5)
on conflict (name) do update set marked_at = excluded.marked_at, marked_by = excluded.marked_by, note = excluded.note
returning v.name;

-- metrics-without-jit
set local jit = off;

-- move-alert-clock
update tock.alert_clock set checked_at = tock.now(), check_at = tock.now() + $1::float8 * interval '1 millisecond' where is_only;

-- move-alert-watches
update tock.alert_watches w set check_at = coalesce(to_timestamp(u.at / 1000), 'infinity')
from unnest($1::bigint[], $2::float8[]) as u(id, at) where w.definition_id = u.id;

-- move-cursors
update tock.job_definitions d
set cursor = greatest(d.cursor, to_timestamp(u.cursor / 1000)), next_at = to_timestamp(u.next_at / 1000),
  remaining_count = u.remaining
from unnest($1::bigint[], $2::float8[], $3::float8[], $4::integer[]) as u(id, cursor, next_at, remaining)
where d.id = u.id and d.id = any($1::bigint[]);

-- move-definitions-by-zone
with u as materialized (
  select * from jsonb_to_recordset($1::jsonb) as u(id bigint, cursor timestamptz, next_at timestamptz, excepted_until timestamptz)
), watched as (
  update tock.alert_watches w set check_at = '-infinity' from u where w.definition_id = u.id
)
update tock.job_definitions d set cursor = coalesce(u.cursor, d.cursor), next_at = u.next_at,
  excepted_until = coalesce(u.excepted_until, d.excepted_until)
from u where d.id = u.id
returning case when d.paused_at is null then tock.wake_for(d.next_at, null, 'soon')::text end as woken;

-- move-webhook
update tock.change_webhooks k set position = $1::bigint where k.job = $2 and k.position = $3::bigint returning k.position::float8 as position, extract(epoch from tock.now())::float8 * 1000 as now;

-- mute-alerts
insert into tock.alert_mutes as m (name, until, note, muted_by) values ($1, $2, $3, coalesce($4::text, session_user))
on conflict (name) do update set until = excluded.until, note = excluded.note, muted_by = excluded.muted_by, created_at = excluded.created_at
returning m.name, extract(epoch from m.until) as until, m.note, m.muted_by as by, extract(epoch from m.created_at) as at;

-- new transaction id
select pg_current_xact_id()::text as id;

-- new-origin-of-changes
update tock.changes_head set origin = default;

-- next-due
with recursive watermarks as materialized (
  select m.queue collate "C" as queue, m.priority, m.after_at, m.after_id from unnest((select $1::text[]), (select $2::integer[]),
    (select $3::timestamptz[]), (select $4::bigint[])) with ordinality as m(queue, priority, after_at, after_id, turn)
), gaps as materialized (
  select b.queue, b.priority, lead(b.queue, 1, '~') over borders as before_queue, lead(b.priority, 1, 0) over borders as before_priority
  from (select '' collate "C" as queue, 0 as priority union all select w.queue, w.priority from watermarks w) b
  window borders as (order by b.queue, b.priority)
), others as (
  select n.queue, n.priority, g.before_queue, g.before_priority
  from gaps g cross join lateral (
    select r.queue, r.priority from tock.job_runs_live r
    where r.blocked_on is null and (r.queue, r.priority) > (g.queue, g.priority) and (r.queue, r.priority) < (g.before_queue, g.before_priority)
    order by r.queue, r.priority limit 1) n
  union all
  select n.queue, n.priority, p.before_queue, p.before_priority
  from others p cross join lateral (
    select r.queue, r.priority from tock.job_runs_live r
    where r.blocked_on is null and (r.queue, r.priority) > (p.queue, p.priority) and (r.queue, r.priority) < (p.before_queue, p.before_priority)
    order by r.queue, r.priority limit 1) n
), queue_lanes as (
  select w.* from watermarks w
  union all
  select o.queue, o.priority, timestamptz '-infinity', 0 from others o
), ready_scopes as (
  (select k.queue, k.job from tock.fair_keys k where k.is_ready order by k.queue, k.job limit 1)
  union all
  select n.queue, n.job from ready_scopes s cross join lateral (select k.queue, k.job from tock.fair_keys k where k.is_ready and (k.queue, k.job) > (s.queue, s.job) order by k.queue, k.job limit 1) n
), open as materialized (
  select p.queue, p.priority, case when (q.concurrency is not null or q.rate_count is not null) then timestamptz '-infinity' else p.after_at end as after_at, p.after_id, (q.concurrency is not null or q.rate_count is not null) as is_limited,
    least(1, q.concurrency - (select count(*) from tock.job_slots s where s.concurrency_key = 'queue:' || q.name)) as room, count(*) over (partition by p.priority) as siblings
  from queue_lanes p left join tock.job_queues q on q.name = p.queue
  where (not exists (select from tock.freezes f where (f.ended_at is null and (f.until > tock.now() or f.ramp_ms > 0))) or p.queue = 'tock:alerts') and case when (select $5::text[]) is null then q.relayed_to is null else (p.queue = any($5) or 'default' = any($5) and p.queue like 'default:%') end and not (p.queue like 'default:%' and p.queue <> 'default:' || (select $6::text)
    and ((select $5::text[]) is null or p.queue <> all ($5))
    and exists (select from tock.workers w where w.service = substr(p.queue, 9) and w.seen_at
  between tock.now() - coalesce(w.heartbeat_ms, 15000) * interval '2.5 milliseconds'
    and tock.now() + coalesce(w.heartbeat_ms, 15000) * interval '2.5 milliseconds' and not w.draining
    and case when w.queues is null then coalesce(null, 'sql') = 'sql' else p.queue = any(w.queues) end)) and q.paused_at is null and coalesce(q.closed_until <= tock.now(), true) and (q.active_window is null or case when split_part(q.active_window, '-', 1) < split_part(q.active_window, '-', 2)
    then (tock.now() at time zone q.timezone)::time >= split_part(q.active_window, '-', 1)::time and (tock.now() at time zone q.timezone)::time < split_part(q.active_window, '-', 2)::time
    else (tock.now() at time zone q.timezone)::time >= split_part(q.active_window, '-', 1)::time or (tock.now() at time zone q.timezone)::time < split_part(q.active_window, '-', 2)::time end)
    and (q.concurrency is null or q.concurrency - (select count(*) from tock.job_slots s where s.concurrency_key = 'queue:' || q.name) > 0)
    and (q.rate_next_at is null or q.rate_count is null or q.rate_next_at <= tock.now() or q.rate_next_at > tock.now()
    + least(q.rate_period_ms, q.rate_period_ms / q.rate_count + 60000) * interval '1 millisecond')
    and (select true from tock.job_runs_live r where r.queue = p.queue and r.priority = p.priority and r.blocked_on is null and r.run_at <= tock.now() and r.status in ('queued', 'failed') and (r.run_at, r.id) > (case when (q.concurrency is not null or q.rate_count is not null) then timestamptz '-infinity' else p.after_at end, p.after_id)
      order by r.run_at, r.id limit 1)
), fair as materialized (select (exists (select from ready_scopes s left join tock.job_queues q on q.name = s.queue where (not exists (select from tock.freezes f where (f.ended_at is null and (f.until > tock.now() or f.ramp_ms > 0))) or s.queue = 'tock:alerts') and case when (select $5::text[]) is null then q.relayed_to is null else (s.queue = any($5) or 'default' = any($5) and s.queue like 'default:%') end and q.paused_at is null and coalesce(q.closed_until <= tock.now(), true) and (q.active_window is null or case when split_part(q.active_window, '-', 1) < split_part(q.active_window, '-', 2)
    then (tock.now() at time zone q.timezone)::time >= split_part(q.active_window, '-', 1)::time and (tock.now() at time zone q.timezone)::time < split_part(q.active_window, '-', 2)::time
    else (tock.now() at time zone q.timezone)::time >= split_part(q.active_window, '-', 1)::time or (tock.now() at time zone q.timezone)::time < split_part(q.active_window, '-', 2)::time end) and coalesce(case when (q.concurrency is not null or q.rate_count is not null) then least(q.concurrency - (select count(*) from tock.job_slots s where s.concurrency_key = 'queue:' || q.name), case when q.rate_count is not null then greatest(0, floor((extract(epoch from tock.now() - greatest(case when not q.rate_next_at > tock.now()
    + least(q.rate_period_ms, q.rate_period_ms / q.rate_count + 60000) * interval '1 millisecond' then q.rate_next_at end, tock.now() - (greatest(1, ceil(1000.0 * q.rate_count / q.rate_period_ms)) - 1) * (q.rate_period_ms::float8 / q.rate_count) * interval '1 millisecond')) * 1000)::float8 / (q.rate_period_ms::float8 / q.rate_count) + 1))::integer end) - (select count(*) from (
    select from tock.job_runs_live r where r.unblocked_on >= '~' || q.name || '/' and r.unblocked_on < '~' || q.name || '0'
      and r.blocked_on is null and r.status in ('queued', 'failed') limit 1000) s) end > 0, true))
  or exists (select from tock.fair_keys k left join tock.job_queues q on q.name = k.queue
    where not k.is_ready and k.ready_at <= tock.now() and (not exists (select from tock.freezes f where (f.ended_at is null and (f.until > tock.now() or f.ramp_ms > 0))) or k.queue = 'tock:alerts') and case when (select $5::text[]) is null then q.relayed_to is null else (k.queue = any($5) or 'default' = any($5) and k.queue like 'default:%') end and q.paused_at is null and coalesce(q.closed_until <= tock.now(), true) and (q.active_window is null or case when split_part(q.active_window, '-', 1) < split_part(q.active_window, '-', 2)
    then (tock.now() at time zone q.timezone)::time >= split_part(q.active_window, '-', 1)::time and (tock.now() at time zone q.timezone)::time < split_part(q.active_window, '-', 2)::time
    else (tock.now() at time zone q.timezone)::time >= split_part(q.active_window, '-', 1)::time or (tock.now() at time zone q.timezone)::time < split_part(q.active_window, '-', 2)::time end) and coalesce(case when (q.concurrency is not null or q.rate_count is not null) then least(q.concurrency - (select count(*) from tock.job_slots s where s.concurrency_key = 'queue:' || q.name), case when q.rate_count is not null then greatest(0, floor((extract(epoch from tock.now() - greatest(case when not q.rate_next_at > tock.now()
    + least(q.rate_period_ms, q.rate_period_ms / q.rate_count + 60000) * interval '1 millisecond' then q.rate_next_at end, tock.now() - (greatest(1, ceil(1000.0 * q.rate_count / q.rate_period_ms)) - 1) * (q.rate_period_ms::float8 / q.rate_count) * interval '1 millisecond')) * 1000)::float8 / (q.rate_period_ms::float8 / q.rate_count) + 1))::integer end) - (select count(*) from (
    select from tock.job_runs_live r where r.unblocked_on >= '~' || q.name || '/' and r.unblocked_on < '~' || q.name || '0'
      and r.blocked_on is null and r.status in ('queued', 'failed') limit 1000) s) end > 0, true))) as is_due)
select
  ((extract(epoch from greatest((select min(next_at) from tock.job_definitions where next_at is not null and paused_at is null and broken_at is null and vanished_at is null), (select case when f.until > tock.now() then f.until else tock.now() + interval '1 second' end from tock.freezes f where (f.ended_at is null and (f.until > tock.now() or f.ramp_ms > 0))))) - extract(epoch from tock.now())) * 1000)::float8 as "occurrenceMs",
  ((extract(epoch from least((select min(f.run_at) from queue_lanes p cross join lateral (
    select r.run_at from tock.job_runs_live r where r.blocked_on is null and r.queue = p.queue and r.priority = p.priority
      and r.run_at > tock.now()
    order by r.run_at, r.id limit 1) f where case when (select $5::text[]) is null
      then not exists (select from tock.job_queues q where q.name = p.queue and q.relayed_to <> 'sql') else (p.queue = any($5) or 'default' = any($5) and p.queue like 'default:%') end and not (p.queue like 'default:%' and p.queue <> 'default:' || (select $6::text)
    and ((select $5::text[]) is null or p.queue <> all ($5))
    and exists (select from tock.workers w where w.service = substr(p.queue, 9) and w.seen_at
  between tock.now() - coalesce(w.heartbeat_ms, 15000) * interval '2.5 milliseconds'
    and tock.now() + coalesce(w.heartbeat_ms, 15000) * interval '2.5 milliseconds' and not w.draining
    and case when w.queues is null then coalesce(null, 'sql') = 'sql' else p.queue = any(w.queues) end))),
    (select min(q.rate_next_at) from tock.job_queues q where q.rate_count is not null and q.rate_next_at > tock.now()),
    (select min(q.closed_until) from tock.job_queues q where q.closed_until > tock.now()), (select min(k.ready_at) from tock.fair_keys k where not k.is_ready and k.ready_at > tock.now()), (select f.until from tock.freezes f where f.ended_at is null and f.until > tock.now()))) - extract(epoch from tock.now())) * 1000)::float8 as "runMs",
  exists (select from open) or (select is_due from fair) as "isOverdue", (select is_due from fair) as "isFairDue", ((select r.blocked_on from tock.job_runs_live r where r.blocked_on >= 'code:' and r.blocked_on < 'code;' order by r.blocked_on limit 1) is not null) as "waitsForCode",
  case when (select $5::text[]) is null then exists (select from tock.job_queues s where not (s.relayed_to is distinct from 'sql' or not (not exists (select from tock.freezes f where (f.ended_at is null and (f.until > tock.now() or f.ramp_ms > 0))) or s.name = 'tock:alerts') or not (s.paused_at is null and coalesce(s.closed_until <= tock.now(), true) and (s.active_window is null or case when split_part(s.active_window, '-', 1) < split_part(s.active_window, '-', 2)
    then (tock.now() at time zone s.timezone)::time >= split_part(s.active_window, '-', 1)::time and (tock.now() at time zone s.timezone)::time < split_part(s.active_window, '-', 2)::time
    else (tock.now() at time zone s.timezone)::time >= split_part(s.active_window, '-', 1)::time or (tock.now() at time zone s.timezone)::time < split_part(s.active_window, '-', 2)::time end))) and (
    exists (select from queue_lanes p cross join lateral (
      select r.id from tock.job_runs_live r where r.queue = p.queue and r.priority = p.priority and r.blocked_on is null and r.run_at <= tock.now() and r.status in ('queued', 'failed') order by r.run_at, r.id limit 1) d where p.queue = s.name)
    or exists (select from tock.fair_keys k where k.queue = s.name and (k.is_ready or k.ready_at <= tock.now())))) else false end as "isOfferDue",
  case when (select $7::boolean) then (exists (select from queue_lanes p cross join lateral (
    select from tock.job_runs_live r where r.blocked_on is null and r.queue = p.queue and r.priority = p.priority and r.run_at <= tock.now()
      and r.status in ('running') and (r.locked_until < tock.now() or r.locked_until is null)
    order by r.run_at, r.id limit 1) e)
  or exists (select w.id from (
    select id from tock.workers where seen_at < tock.now() - interval '10 minutes'
    order by hashtext(id::text || to_char(tock.now(), 'HH24MI')) limit 10) w
  where 0 = (select count(*) from (select from queue_lanes p cross join lateral (
    select from tock.job_runs_live r
    where r.blocked_on is null and r.queue = p.queue and r.priority = p.priority and r.run_at <= tock.now()
      and r.locked_by = w.id and r.status = 'running'
    order by r.run_at, r.id limit 1) h limit 1) held)) or (exists (select from tock.job_slots) or (select blocked_on from tock.job_runs_live where blocked_on < '~'
    order by blocked_on, queue, priority, run_at, id limit 1) is not null) or exists (select from tock.job_outbox) or exists (select from tock.job_hand_offs h where h.handed_off_at is not null and h.decided_at is not null and h.written_at is null)
  or (exists (select from tock.job_queues q where q.override_ends_at <= tock.now() or q.paused_until <= tock.now())
    or coalesce((select min(d.paused_until) from tock.job_definitions d where d.paused_until is not null) <= tock.now(), false) or exists (select from tock.freezes f where f.ended_at is null and f.until <= tock.now())) or exists (select from tock.job_offers o left join tock.job_queues q on q.name = o.queue where (q.relayed_to is distinct from 'sql' or not (not exists (select from tock.freezes f where (f.ended_at is null and (f.until > tock.now() or f.ramp_ms > 0))) or o.queue = 'tock:alerts') or not (q.paused_at is null and coalesce(q.closed_until <= tock.now(), true) and (q.active_window is null or case when split_part(q.active_window, '-', 1) < split_part(q.active_window, '-', 2)
    then (tock.now() at time zone q.timezone)::time >= split_part(q.active_window, '-', 1)::time and (tock.now() at time zone q.timezone)::time < split_part(q.active_window, '-', 2)::time
    else (tock.now() at time zone q.timezone)::time >= split_part(q.active_window, '-', 1)::time or (tock.now() at time zone q.timezone)::time < split_part(q.active_window, '-', 2)::time end))))) else false end as "needsReaping",
  (select count(*)::integer from tock.workers where kind in ('daemon', 'relay')) as daemons;

-- note-definitions-seen
with before as (
  select service, fingerprint, seen_at > tock.now() + interval '1 minute' as is_ahead from tock.registrations
  where service = $1 and fingerprint = $2 and is_current
), seen as (
  update tock.registrations r set seen_at = tock.now() from before b
  where r.service = b.service and r.fingerprint = b.fingerprint and r.is_current
  returning b.is_ahead
)
select exists (select from seen) as "isCurrent", coalesce((select is_ahead from seen), false) as "wasAhead",
  tock.is_copy() as "isCopy", jsonb_build_object('role', current_user, 'settings', jsonb_build_object('array_nulls', current_setting('array_nulls'), 'standard_conforming_strings', current_setting('standard_conforming_strings'), 'extra_float_digits', current_setting('extra_float_digits'), 'default_transaction_read_only', current_setting('default_transaction_read_only'), 'session_replication_role', current_setting('session_replication_role'))) as session,
  exists (select from tock.zones z where z.zone_data < $3) as "hasOlderZones", (select string_agg(z.timezone || ' ' || z.zone_data, ',' order by z.timezone) from tock.zones z where z.zone_data <> $3) as "otherZones";

-- note-delivered
update tock.alert_deliveries set delivered_at = tock.now(), answer = $1 where run_id = $2 and delivered_at is null;

-- note-due-intervals
with noted as (
  insert into tock.job_outbox (kind, definition_id) select 'interval', d.id from tock.job_definitions d
  where d.id = any($1::bigint[]) and not exists (select from tock.freezes f where (f.ended_at is null and (f.until > tock.now() or f.ramp_ms > 0))) and exists (
    select from tock.job_definitions p where p.name = any(array(select jsonb_array_elements_text(d.waits_for -> 'definitions')))
      and p.next_at <= tock.now() and tock.why_stopped(p) is null)
  order by d.id returning id
)
select count(*)::integer as count from noted;

-- note-identity
select tock.note_identity() where not exists (select from tock.database_identity);

-- note-intervals
insert into tock.job_outbox (kind, definition_id) select 'interval', i.id from unnest($1::bigint[]) as i(id) order by i.id;

-- note-migration
insert into tock.migrations (name, checksum) values ($1, $2);

-- note-pruned
insert into tock.upkeep as u (kind, at) values ($1::text, to_timestamp($2::float8 / 1000))
on conflict (kind) do update set at = excluded.at where u.at < excluded.at;

-- note-schema-objects
select tock.note_objects();

-- note-stopped
update tock.ticks set stopped_at = tock.now() where host = $1 and folder = $2 and kind = $3 and service = $4;

-- note-tick
with kept as (
  insert into tock.upkeep as u (kind, at) select 'keeps ' || $1::text, tock.now()
  from (values (true)) always(yes) where yes and not exists (select from tock.upkeep n where n.kind = 'keeps ' || $1::text
    and n.at between tock.now() - interval '1 hour' and tock.now() + interval '1 minute')
  on conflict (kind) do update set at = tock.now()
)
  insert into tock.ticks as t (host, folder, kind, service, fingerprint, version, node, zone_data, clock_ms)
  select $2, $3, $4, $5, $6, $7, $8, $9, round($10::float8 - extract(epoch from tock.now())::float8 * 1000)
  from (values (true)) always(yes) where yes and not exists (
    select from tock.ticks n where n.host = $2 and n.folder = $3 and n.kind = $4 and n.service = $5
      and n.fingerprint = $6 and n.version = $7 and n.node = $8
      and n.stopped_at is null and n.at between tock.now() - interval '30 seconds' and tock.now() + interval '1 minute')
  on conflict (host, folder, kind, service) do update set at = tock.now(), tick_count = t.tick_count + 1, version = excluded.version,
    fingerprint = excluded.fingerprint, set_at = case when t.fingerprint is distinct from excluded.fingerprint then tock.now() else t.set_at end,
    node = excluded.node, zone_data = excluded.zone_data, clock_ms = excluded.clock_ms, stopped_at = null,
    silences = case when tock.now() - t.at > greatest(interval '100 seconds', (t.at - t.first_at) / greatest(t.tick_count - 1, 1) * 1.7) then (coalesce(t.silences, '{}') + tstzmultirange(tstzrange(t.at, tock.now(), '()')))
      * tstzmultirange(tstzrange(tock.now() - interval '7 days', null)) else t.silences end;

-- note-whole-prune
update tock.upkeep set at = case kind when 'pruned' then tock.now() else tock.now() + interval '22 hours' end
where kind in ('retention', 'pruned');

-- notify-fair
select tock.notify('fair');

-- notify-queued
select tock.notify('queued');

-- number-changes
select tock.number_changes()::float8 as last;

-- offer
with outcome as materialized (
  select * from unnest($1::bigint[], $2::jsonb[]) as o(id, payload)
), held as materialized (
  select r.id, r.fence, r.queue, r.priority, r.run_at, r.cancel_requested_at from tock.job_runs_live r
  where r.id = any($1::bigint[]) and ($3::integer[])[width_bucket(r.id, $1::bigint[])] = r.fence and r.locked_by = $4 and r.status in ('running') order by r.id for update
), asked as (
  delete from tock.job_runs_live r where r.id = any(array(select id from held)) and r.cancel_requested_at is not null returning r.*
), withdrawn as (
  insert into tock.job_runs_finished (id, definition_id, run_at, priority, attempts, max_attempts, fence, releases, generation, occurrence_count, scheduled_for, interval_start, start_by, locked_by, created_at, started_at, job, queue, trigger, idempotency_key, payload, errors, progress, slot_keys, slot_limits, live_key, traceparent, last_traceparent, began_at, snoozes, has_waiters, has_parents, tags, finished_at, status, skip_reason)
  select id, definition_id, run_at, priority, attempts, max_attempts, fence, releases, generation, occurrence_count, scheduled_for, interval_start, start_by, locked_by, created_at, started_at, job, queue, trigger, idempotency_key, payload, errors, progress, slot_keys, slot_limits, live_key, traceparent, last_traceparent, began_at, snoozes, has_waiters, has_parents, tags, tock.now(), 'cancelled', skip_reason
  from asked
  returning id
), kept as (
  insert into tock.job_hand_offs as h (run_id, fence, handed_off_at, handed_to, worker_id, due_at, lease_until)
  select held.id, held.fence, tock.now(), 'sql: tock.work.' || held.queue, $4::uuid, held.run_at, '9999-12-30T00:00:00Z'
  from held where held.cancel_requested_at is null order by held.id
  on conflict (run_id, fence) do update set handed_off_at = excluded.handed_off_at, handed_to = excluded.handed_to,
    worker_id = excluded.worker_id, due_at = excluded.due_at, lease_until = excluded.lease_until
  returning h.run_id, h.decided_at is not null as is_decided
), handed_off as (
  update tock.job_runs_live r set locked_by = '00000000-0000-0000-0000-000000000000',
    locked_until = case when k.is_decided then '9999-12-31T00:00:00Z'::timestamptz else '9999-12-30T00:00:00Z' end,
    run_at = case when k.is_decided then r.run_at else '9999-12-30T00:00:00Z' end
  from kept k where r.id = k.run_id
  returning r.id, k.is_decided
), offered as (
  insert into tock.job_offers (queue, priority, run_id, fence, payload)
  select held.queue, held.priority, held.id, held.fence, o.payload
  from held join handed_off n using (id) join outcome o using (id) where not n.is_decided order by held.run_at, held.id
  returning queue
), freed as (
  delete from tock.job_slots s where s.run_id = any(array(select id from held))
    and (s.concurrency_key = 'isolated' or s.run_id = any(array(select id from asked)))
  returning s.concurrency_key
), noted as (
  insert into tock.job_outbox (kind, run_id, run_ids, generation, definition_id, scheduled_for)
  select k.kind, e.id, null::bigint[], e.generation, e.definition_id, e.scheduled_for from asked e cross join lateral (
    select 'chain' as kind from tock.job_definitions d
    where d.id = e.definition_id and d.has_followers and e.scheduled_for is not null
    union all
    select 'dead' from tock.job_definitions d where 'cancelled' = 'dead' and d.name = e.job and d.on_dead is not null
  ) k
  where e.definition_id is not null or 'cancelled' = 'dead'
  union all
  select 'end', null, array_agg(e.id order by e.id), 1, null, null from asked e where e.has_waiters having count(*) > 0
  returning id
)
select case when count(*) < cardinality($1::bigint[]) then coalesce(array_agg(id::text), '{}') end as ids, (select array_agg(distinct concurrency_key) from freed) as freed, exists (select from noted) as "outboxWritten", (select count(tock.wake(null, 'reap')::text) from handed_off where is_decided) as woken,
  tock.tell_of_offers(array(select queue from offered))::text as notified
from (select id from handed_off union all select id from withdrawn) moved;

-- open-wait
with found as materialized (
  select w.id, w.outcome, w.result, w.until from tock.job_waits w where w.run_id = $1 and w.kind = $2 and w.name = $3 and w.key = $4
), unknown as materialized (
  select a.run_id from unnest($5::bigint[]) as a(run_id)
  where not exists (select from found) and not exists (select from tock.job_runs r where r.id = a.run_id)
    and not exists (select from tock.job_successors s where s.run_id = a.run_id)
), made as (
  insert into tock.job_waits as w (run_id, kind, name, key, until, since)
  select r.id, $2, $3, $4, coalesce($6::timestamptz, tock.now() + $7::float8 * interval '1 millisecond'),
    coalesce($8::timestamptz, r.created_at)
  from tock.job_runs_live r
  where r.id = $1 and not exists (select from found) and not exists (select from unknown) and exists (select from tock.job_runs_live r
  where r.id = $1 and r.fence = $9 and r.locked_by = $10 and r.status = 'running')
  returning w.id, w.outcome, w.result, w.until
), awaited as (
  insert into tock.job_awaited_runs (wait_id, position, run_id)
  select made.id, a.position, a.run_id from made cross join unnest($5::bigint[]) with ordinality as a(run_id, position)
  returning run_id
), unmarked as materialized (
  select r.id from tock.job_runs_live r where r.id = any(array(select a.run_id from awaited a)) and r.has_waiters is null
  order by r.id for no key update
), marked as (
  update tock.job_runs_live r set has_waiters = true where r.id = any(array(select u.id from unmarked u))
)
select o.id::text, o.outcome, o.result::text, (extract(epoch from o.until) * 1000)::float8 as until,
  coalesce(o.until <= tock.now(), false) as "isOver", (select array_agg(u.run_id::text) from unknown u) as unknown
from (values (1)) as one left join (select * from made union all select * from found where exists (select from tock.job_runs_live r
  where r.id = $1 and r.fence = $9 and r.locked_by = $10 and r.status = 'running')) o on true
where o.id is not null or exists (select from unknown);

-- parent-runs
select distinct on (r.definition_id, r.scheduled_for) d.name, r.definition_id::text, r.status, r.occurrence_count, r.last_traceparent,
  (extract(epoch from r.scheduled_for) * 1000)::float8 as scheduled_for,
  (extract(epoch from case when r.interval_start >= '10000-01-01Z'::timestamptz then '9999-12-31T23:59:59Z' when r.interval_start < '0001-01-01Z'::timestamptz then '0001-01-01Z'::timestamptz else r.interval_start end) * 1000)::float8 as interval_start
from tock.job_definitions d join tock.job_runs r on r.definition_id = d.id
where d.name = any($1::text[]) and r.scheduled_for = any($2::timestamptz[])
order by r.definition_id, r.scheduled_for, r.status = 'skipped', r.id desc;

-- pass-on-retention
update tock.upkeep set at = tock.now() + interval '1 hour' where kind = 'retention';

-- pause failing definitions
with failing as materialized (
  select d.id, d.pause_on_failure_count as count, d.resumed_at from tock.job_definitions d
  where d.pause_on_failure_count is not null and d.paused_at is null and d.id in (
    select r.definition_id from tock.job_runs_finished r where r.id = any($1::bigint[]) and r.status = 'dead')
  order by d.id for update
)
update tock.job_definitions d set paused_at = tock.now(),
  pause_reason = 'paused by itself after ' || f.count || case f.count when 1 then ' dead run' else ' dead runs in a row' end
from failing f
where d.id = f.id and (
  select count(*) = f.count and bool_and(l.status = 'dead') from (
    select r.status from tock.job_runs_finished r
    where r.definition_id = f.id and r.status in ('dead', 'succeeded') and r.finished_at > coalesce(f.resumed_at, '-infinity')
    order by r.scheduled_for desc nulls last limit f.count) l)
returning d.name, d.job, d.pause_reason;

-- preview-adoption
select tock.is_copy() as "isCopy", (select extract(epoch from max(i.noted_at)) from tock.database_identity i) as "notedAt",
  count(*) filter (where r.status = 'queued')::integer as queued,
  count(*) filter (where r.status = 'failed')::integer as failed,
  count(*) filter (where r.status = 'running')::integer as running,
  (select count(*)::integer from tock.job_definitions d where d.next_at is not null and d.paused_at is null and d.broken_at is null
    and d.vanished_at is null) as scheduled,
  (select extract(epoch from min(d.next_at)) from tock.job_definitions d where isfinite(d.next_at) and d.paused_at is null and d.broken_at is null
    and d.vanished_at is null) as "nextAt"
from tock.job_runs_live r;

-- preview-uninstall
select jsonb_build_object(
  'bytes', (select coalesce(sum(pg_total_relation_size(c.oid)), 0) from pg_class c where c.relnamespace = n.oid and c.relkind = 'r'),
  'live', coalesce((select jsonb_object_agg(l.status, l.count) from (
    select r.status, count(*) as count from tock.job_runs_live r group by r.status) l), '{}'),
  'definitions', (select count(*) from tock.job_definitions d where d.vanished_at is null),
  'operatorMade', array(select d.name from tock.job_definitions d where d.vanished_at is null and d.origin = 'runtime' order by d.name),
  'limitedQueues', array(select q.name from tock.job_queues q order by q.name),
  'workers', coalesce((select jsonb_agg(a order by a.host, a.pid) from (select w.kind, w.host, w.pid from tock.workers w
    where w.seen_at > tock.now() - coalesce(w.heartbeat_ms, 15000) * interval '2.5 milliseconds') a), '[]'),
  'ticks', coalesce((select jsonb_agg(jsonb_build_object('host', t.host, 'folder', t.folder, 'kind', t.kind) order by t.at desc)
    from tock.ticks t where t.at > tock.now() - interval '1 day'), '[]'),
  'roles', array(select distinct pg_get_userbyid(a.grantee) from aclexplode(n.nspacl) a
    where a.grantee <> 0 and a.grantee <> n.nspowner order by 1),
  'publications', array(select p.pubname from pg_publication p where not p.puballtables and (
    exists (select from pg_publication_namespace x where x.pnpubid = p.oid and x.pnnspid = n.oid)
    or exists (select from pg_publication_rel x join pg_class c on c.oid = x.prrelid where x.prpubid = p.oid and c.relnamespace = n.oid))
    order by p.pubname),
  'settings', array(select concat_ws(' ', 'alter', case when s.setrole = 0 then 'database ' || quote_ident(d.datname)
      else 'role ' || quote_ident(pg_get_userbyid(s.setrole)) || coalesce(' in database ' || quote_ident(d.datname), '') end,
      'reset', split_part(c.setting, '=', 1))
    from pg_db_role_setting s cross join unnest(s.setconfig) c(setting) left join pg_database d on d.oid = s.setdatabase
    where c.setting like 'pg_tock.%' and (s.setdatabase = 0 or d.datname = current_database()) order by 1)
) as facts
from pg_namespace n where n.nspname = 'tock';

-- probe-cpu
explain (analyze, timing off, summary on, format json) select count(*) from generate_series(1, 300000) i where i % 7 = 3;

-- probe-queue
select q.paused_at is null and coalesce(q.closed_until <= tock.now(), true) and (q.active_window is null or case when split_part(q.active_window, '-', 1) < split_part(q.active_window, '-', 2)
    then (tock.now() at time zone q.timezone)::time >= split_part(q.active_window, '-', 1)::time and (tock.now() at time zone q.timezone)::time < split_part(q.active_window, '-', 2)::time
    else (tock.now() at time zone q.timezone)::time >= split_part(q.active_window, '-', 1)::time or (tock.now() at time zone q.timezone)::time < split_part(q.active_window, '-', 2)::time end) as is_open, extract(epoch from tock.now() + q.rate_period_ms / q.rate_count * interval '1 millisecond') as next_at
from tock.job_queues q where q.name = $1;

-- progress
select tock.progress($1::bigint, $2::integer, $3::float8, $4::text) as held;

-- progress-each
select tock.progress(a.run, a.fence, a.fraction, a.stage) as held
from unnest($1::bigint[], $2::integer[], $3::float8[], $4::text[]) as a(run, fence, fraction, stage);

-- put-exceptions
insert into tock.job_exceptions (definition_id, scheduled_for, kind, due_at, note, operator, created_at)
select $1::bigint, to_timestamp(r.at / 1000), r.kind, to_timestamp(r."dueAt" / 1000), r.note, r.operator, to_timestamp(r."madeAt" / 1000)
from jsonb_to_recordset($2::jsonb) as r(at float8, kind text, "dueAt" float8, note text, operator text, "madeAt" float8)
on conflict (definition_id, scheduled_for) do nothing;

-- queue-names
select name from tock.job_queues order by name;

-- raise-sequences
-- Logical replication copies rows and no sequences: the ids to come must not be those of runs that are there.
select setval(s.name, greatest(s.used, coalesce(pg_sequence_last_value(s.name::regclass), 1))) from (
  select 'tock.job_runs_id_seq' as name, greatest(1, (select max(id) from tock.job_runs), (select max(run_id) from tock.job_keys),
    (select max(run_id) from tock.job_occurrences), (select max(run_id) from tock.job_effects), (select max(run_id) from tock.job_successors)) as used
  union all
  select pg_get_serial_sequence('tock.job_definitions', 'id'), greatest(1, (select max(id) from tock.job_definitions))
  union all
  select pg_get_serial_sequence('tock.job_outbox', 'id'), greatest(1, (select max(id) from tock.job_outbox))
  union all
  select pg_get_serial_sequence('tock.job_changes', 'id'), greatest(1, (select max(id) from tock.job_changes))
  union all
  select pg_get_serial_sequence('tock.audit', 'id'), greatest(1, (select max(id) from tock.audit))
) s;

-- read effect
select result::text as result from tock.job_effects where key = $1;

-- read effect if held
select result::text as result from tock.job_effects where key = $1 and exists (select from tock.job_runs_live r
  where r.id = $2 and r.fence = $3 and r.locked_by = $4 and r.status = 'running');

-- read-alert-mutes
select m.name from tock.alert_mutes m where m.until > tock.now() order by m.name;

-- read-alert-states
select s.rule, s.subject, s.status, (extract(epoch from s.since) * 1000)::float8 as since, s.version, s.failure_count as failures, s.job,
  s.definition_id::text as "definitionId", s.run_id::text as "runId", (extract(epoch from s.last_at) * 1000)::float8 as "lastAt", (extract(epoch from s.notified_at) * 1000)::float8 as "notifiedAt", s.detail from tock.alert_states s where s.rule = any($1::text[]) and s.subject = any($2::text[])
union
select * from (select s.rule, s.subject, s.status, (extract(epoch from s.since) * 1000)::float8 as since, s.version, s.failure_count as failures, s.job,
  s.definition_id::text as "definitionId", s.run_id::text as "runId", (extract(epoch from s.last_at) * 1000)::float8 as "lastAt", (extract(epoch from s.notified_at) * 1000)::float8 as "notifiedAt", s.detail from tock.alert_states s where s.status = 'down'
  order by hashtext(s.rule || ' ' || s.subject || to_char(tock.now(), 'HH24MI')) limit $3) down;

-- read-answered
select r.id::text as id from (select h.run_id as id, h.fence from tock.job_hand_offs h
  where h.run_id = any($1::bigint[]) and h.decided_at is not null) r where r.id = any($1::bigint[]) and ($2::integer[])[width_bucket(r.id, $1::bigint[])] = r.fence;

-- read-awaited
select a.run_id::text as id, a.status, a.output::text, a.error from tock.job_awaited_runs a
where a.wait_id = $1 and a.status is not null order by a.position;

-- read-blocking-keys
with recursive keys as (
  (select blocked_on as key, 1 as number from tock.job_runs_live where blocked_on < '~' order by blocked_on limit 1)
  union all
  select n.key, k.number + 1 from keys k cross join lateral (
    select r.blocked_on as key from tock.job_runs_live r where r.blocked_on > k.key and r.blocked_on < '~'
    order by r.blocked_on limit 1) n
  where k.number < 200
), first_queues as materialized (
  select k.key, n.*, (select r.queue from tock.job_runs_live r where r.blocked_on = k.key order by r.queue desc limit 1) as last_queue
  from keys k cross join lateral (
    select r.queue, r.slot_limits[array_position(r.slot_keys, k.key)] as slot_limit, r.priority, r.run_at, r.id
    from tock.job_runs_live r where r.blocked_on = k.key
    order by r.queue, r.priority, r.run_at, r.id limit 1) n
), further_queues as (
  select p.key, n.* from first_queues p cross join lateral (
    select r.queue, r.slot_limits[array_position(r.slot_keys, p.key)] as slot_limit, r.priority, r.run_at, r.id
    from tock.job_runs_live r where r.blocked_on = p.key and r.queue > p.queue
    order by r.queue, r.priority, r.run_at, r.id limit 1) n
  where case when p.queue < p.last_queue then 1 end = 1
  union all
  select p.key, n.* from further_queues p cross join lateral (
    select r.queue, r.slot_limits[array_position(r.slot_keys, p.key)] as slot_limit, r.priority, r.run_at, r.id
    from tock.job_runs_live r where r.blocked_on = p.key and r.queue > p.queue
    order by r.queue, r.priority, r.run_at, r.id limit 1) n
), blocked_queues as materialized (
  select p.key, p.queue, p.slot_limit, p.priority, p.run_at, p.id from first_queues p union all select p.key, p.queue, p.slot_limit, p.priority, p.run_at, p.id from further_queues p
)
select k.key, f."limit", h.count as held, coalesce((
    select jsonb_agg(to_jsonb(h) order by h.slot) from (
      select s.slot, s.run_id::text as id, r.job, d.name as definition, r.status, case when r.started_at >= '10000-01-01Z'::timestamptz then '9999-12-31T23:59:59Z' when r.started_at < '0001-01-01Z'::timestamptz then '0001-01-01Z'::timestamptz else r.started_at end as "startedAt", w.host, w.pid
      from tock.job_slots s
      left join tock.job_runs_live r on r.id = s.run_id
      left join tock.job_definitions d on d.id = r.definition_id
      left join tock.workers w on w.id = r.locked_by
      where s.concurrency_key = k.key order by s.slot limit 6) h), '[]') as holders, least(w.count, 500) as waiting,
  w.count > 500 as "isCapped", extract(epoch from w.at) as "oldestAt", f.first
from keys k
cross join lateral (
  select count(*)::integer as count, case when min(r.run_at) >= '10000-01-01Z'::timestamptz then '9999-12-31T23:59:59Z' when min(r.run_at) < '0001-01-01Z'::timestamptz then '0001-01-01Z'::timestamptz else min(r.run_at) end as at from (
    select run_at from tock.job_runs_live where blocked_on = k.key order by blocked_on, queue, priority, run_at, id limit 501) r
) w
cross join lateral (
  select r.slot_limits[array_position(r.slot_keys, k.key)] as "limit",
    jsonb_build_object('id', r.id::text, 'job', r.job, 'definition', d.name, 'queue', r.queue) as first, r.queue
  from blocked_queues p join tock.job_runs_live r on r.id = p.id left join tock.job_definitions d on d.id = r.definition_id
  where p.key = k.key order by p.priority, p.run_at, p.id limit 1
) f
cross join lateral (select count(*)::integer as count from tock.job_slots s where s.concurrency_key = k.key) h
where ($1::text is null or f.queue = $1) and not (k.key >= 'code:' and k.key < 'code;')
order by w.count desc, w.at, k.key limit $2;

-- read-calendar-uses
select distinct e.entry ->> 'calendar' as calendar, d.name as definition
from tock.job_definitions d cross join lateral jsonb_array_elements(d.exclude) as e(entry)
where d.vanished_at is null and d.exclude @> '[{}]' and e.entry ? 'calendar'
order by 1, 2;

-- read-capacity
with span as (
  select date_bin('1 day', p.hours_until, 'epoch') as until,
    greatest(date_bin('1 day', p.hours_until, 'epoch') - interval '56 days',
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
select extract(epoch from tock.now()) as at,
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
  jsonb_build_object('live', (select coalesce(sum(pg_total_relation_size(t.relid)), 0)::float8 from (
    select relid from pg_partition_tree('tock.job_runs_live')) t), 'finished', (select coalesce(sum(pg_total_relation_size(t.relid)), 0)::float8 from (
    select relid from pg_partition_tree('tock.job_runs_finished')) t),
    'keys', (select coalesce(sum(pg_total_relation_size(t.relid)), 0)::float8 from (
    select relid from pg_partition_tree('tock.job_keys') union all select relid from pg_partition_tree('tock.job_occurrences') union all select relid from pg_partition_tree('tock.job_exceptions') union all select relid from pg_partition_tree('tock.job_effects') union all select relid from pg_partition_tree('tock.job_waits') union all select relid from pg_partition_tree('tock.job_awaited_runs') union all select relid from pg_partition_tree('tock.job_events')) t), 'logs', (select coalesce(sum(pg_total_relation_size(t.relid)), 0)::float8 from (
    select relid from pg_partition_tree('tock.job_logs')) t),
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
from busiest;

-- read-code-jobs
select distinct d.job, d.queue from tock.job_definitions d where d.origin = 'code' and d.vanished_at is null order by 1, 2;

-- read-coming
select d.name, d.job, d.cron, d.every_ms::float8 as every_ms, d.phase_ms::float8 as phase_ms, d.anchor,
  d.at, d.after, d.timezone, extract(epoch from case when d.next_at >= '10000-01-01Z'::timestamptz then '9999-12-31T23:59:59Z' when d.next_at < '0001-01-01Z'::timestamptz then '0001-01-01Z'::timestamptz else d.next_at end) as "nextAt", d.jitter_ms::float8 as "jitterMs"
from tock.job_definitions d
where d.next_at is not null and d.paused_at is null and d.broken_at is null and d.vanished_at is null and isfinite(d.next_at)
  and (d.excepted_until is null or not exists (
    select from tock.job_exceptions e where e.definition_id = d.id and e.kind = 'skip' and e.due_at = d.next_at))
order by d.next_at, d.id limit $1;

-- read-counted-runs
select count(*)::integer as count, max(floor(extract(epoch from r.scheduled_for))::bigint)::float8 as last from tock.job_runs r
where r.definition_id = $1::bigint and r.scheduled_for >= to_timestamp($2::float8)
  and r.scheduled_for < to_timestamp($3::float8) and r.trigger = 'cron'
  and not (r.status = 'skipped' and (r.idempotency_key is null or r.skip_reason in ('catchup', 'overlap', 'paused', 'excepted')
    or r.skip_reason = 'window' and r.fence = 0));

-- read-cursor-places
-- The last occurrence that was considered while the clock was right, and no earlier than the last edit and
-- the end of the last pause. Whatever the wrong clock wrote has a time after now. The real time of such an edit
-- is unknown, so the cursor goes to now.
select d.id::text, floor(extract(epoch from case
    when greatest(d.updated_at, d.resumed_at) > tock.now() then tock.now()
    else greatest(d.updated_at, d.resumed_at, (
      select max(r.scheduled_for) from tock.job_runs r
      where r.definition_id = d.id and r.scheduled_for <= tock.now() and r.created_at <= tock.now()))
  end) * 1000)::float8 as place_ms
from tock.job_definitions d where d.id = any($1::bigint[]);

-- read-database-size
select current_setting('server_version') as server, pg_database_size(current_database())::float8 as "databaseBytes";

-- read-decided
select h.run_id::text as id, h.fence, h.decision, h.output, h.error,
  case when h.retry_at is not null then greatest(0, extract(epoch from h.retry_at - tock.now()) * 1000)::float8 end as retry_in_ms,
  r.job, d.name as definition, coalesce(r.attempts, 0) as attempts, coalesce(r.max_attempts, 0) as max_attempts,
  (extract(epoch from case when r.scheduled_for >= '10000-01-01Z'::timestamptz then '9999-12-31T23:59:59Z' when r.scheduled_for < '0001-01-01Z'::timestamptz then '0001-01-01Z'::timestamptz else r.scheduled_for end) * 1000)::float8 as scheduled_for, coalesce(r.trigger, 'api') as trigger,
  greatest(0, extract(epoch from h.decided_at - r.started_at) * 1000)::float8 as duration_ms
from (
  select u.*, sum(coalesce(pg_column_size(u.output), 0)) over (order by u.run_id, u.fence) as bytes, row_number() over (order by u.run_id, u.fence) as place
  from (select * from tock.job_hand_offs h where h.handed_off_at is not null and h.decided_at is not null and h.written_at is null and (h.run_id, h.fence) > ($1::bigint, $2::integer)
    order by h.run_id, h.fence limit $3) u
) h
left join tock.job_runs_live r on r.id = h.run_id and r.fence = h.fence and r.status = 'running' and r.locked_by = '00000000-0000-0000-0000-000000000000'
left join tock.job_definitions d on d.id = r.definition_id
where h.place = 1 or h.bytes <= $4
order by h.run_id, h.fence;

-- read-definition-versions
select v.definition_id::text as id, v.number, v.change, (extract(epoch from v.since) * 1000)::float8 as since_ms, (extract(epoch from v.written_at) * 1000)::float8 as written_ms,
  v.left_count, v.stop, v.void_until::float8, s.name, s.cron, s.every_ms::float8, s.phase_ms::float8, s.anchor, s.at, s.after, s.timezone, s.dst,
  extract(epoch from s.start_at) as start_at, extract(epoch from s.end_at) as end_at, s.exclude, s.shift, s.active_window, s.outside_window, s.remaining_count
from tock.definition_versions v cross join lateral jsonb_populate_record(null::tock.job_definitions, v.stated) s
where v.definition_id = any($1::bigint[])
order by v.definition_id, v.number;

-- read-duration-samples
select d.id::text as id, s.durations
from unnest($1::bigint[]) as d(id)
cross join lateral (
  select array_agg(case r.status when 'dead' then -1 - r.ms else r.ms end order by r.scheduled_for)::float8[] as durations from (
    select l.scheduled_for, l.status, greatest(round((extract(epoch from l.finished_at - case when l.started_at >= '10000-01-01Z'::timestamptz then '9999-12-31T23:59:59Z' when l.started_at < '0001-01-01Z'::timestamptz then '0001-01-01Z'::timestamptz else l.started_at end) * 1000)::numeric), 0) as ms from (
      select r.scheduled_for, r.status, r.started_at, r.finished_at from tock.job_runs_finished r
      where r.definition_id = d.id and r.finished_at >= $2::timestamptz and r.finished_at < $3::timestamptz
      order by r.scheduled_for desc limit 100) l
    where l.started_at is not null and l.status in ('succeeded', 'dead') order by l.scheduled_for desc limit 20) r
) s
where s.durations is not null;

-- read-ended-freeze
select extract(epoch from f.began_at) as "beganAt", extract(epoch from f.until) as until, f.ramp_ms::float8 as "rampMs", f.note, f.operator as "by", to_jsonb(tock.now()) #>> '{}' as now from tock.freezes f where f.ended_at is null and f.until <= tock.now();

-- read-ended-overrides
select q.name from tock.job_queues q where q.override_ends_at <= tock.now() order by q.name;

-- read-exception-of-run
select (extract(epoch from case when e.scheduled_for >= '10000-01-01Z'::timestamptz then '9999-12-31T23:59:59Z' when e.scheduled_for < '0001-01-01Z'::timestamptz then '0001-01-01Z'::timestamptz else e.scheduled_for end) * 1000)::float8 as at, e.kind, (extract(epoch from case when e.due_at >= '10000-01-01Z'::timestamptz then '9999-12-31T23:59:59Z' when e.due_at < '0001-01-01Z'::timestamptz then '0001-01-01Z'::timestamptz else e.due_at end) * 1000)::float8 as "dueAt", e.note, e.operator,
  (extract(epoch from case when e.created_at >= '10000-01-01Z'::timestamptz then '9999-12-31T23:59:59Z' when e.created_at < '0001-01-01Z'::timestamptz then '0001-01-01Z'::timestamptz else e.created_at end) * 1000)::float8 as "madeAt", d.timezone from tock.job_definitions d join tock.job_exceptions e on e.definition_id = d.id
where d.name = $1 and e.scheduled_for = $2::timestamptz;

-- read-exceptions
select e.definition_id::text as "definitionId", (extract(epoch from case when e.scheduled_for >= '10000-01-01Z'::timestamptz then '9999-12-31T23:59:59Z' when e.scheduled_for < '0001-01-01Z'::timestamptz then '0001-01-01Z'::timestamptz else e.scheduled_for end) * 1000)::float8 as at, e.kind, (extract(epoch from case when e.due_at >= '10000-01-01Z'::timestamptz then '9999-12-31T23:59:59Z' when e.due_at < '0001-01-01Z'::timestamptz then '0001-01-01Z'::timestamptz else e.due_at end) * 1000)::float8 as "dueAt", e.note, e.operator,
  (extract(epoch from case when e.created_at >= '10000-01-01Z'::timestamptz then '9999-12-31T23:59:59Z' when e.created_at < '0001-01-01Z'::timestamptz then '0001-01-01Z'::timestamptz else e.created_at end) * 1000)::float8 as "madeAt"
from tock.job_definitions d join tock.job_exceptions e on e.definition_id = d.id
where d.id = any($1::bigint[]) and ($2 or greatest(e.scheduled_for, e.due_at) > d.cursor)
order by e.definition_id, e.scheduled_for;

-- read-exceptions-in-span
select (extract(epoch from case when e.scheduled_for >= '10000-01-01Z'::timestamptz then '9999-12-31T23:59:59Z' when e.scheduled_for < '0001-01-01Z'::timestamptz then '0001-01-01Z'::timestamptz else e.scheduled_for end) * 1000)::float8 as at, e.kind, (extract(epoch from case when e.due_at >= '10000-01-01Z'::timestamptz then '9999-12-31T23:59:59Z' when e.due_at < '0001-01-01Z'::timestamptz then '0001-01-01Z'::timestamptz else e.due_at end) * 1000)::float8 as "dueAt", e.note, e.operator,
  (extract(epoch from case when e.created_at >= '10000-01-01Z'::timestamptz then '9999-12-31T23:59:59Z' when e.created_at < '0001-01-01Z'::timestamptz then '0001-01-01Z'::timestamptz else e.created_at end) * 1000)::float8 as "madeAt" from tock.job_exceptions e
where e.definition_id = $1::bigint and e.scheduled_for >= $2::timestamptz and e.scheduled_for < $3::timestamptz
order by e.scheduled_for limit 5000;

-- read-figures-progress
select (extract(epoch from tock.now()) * 1000)::float8 as now, (extract(epoch from p.hours_until) * 1000)::float8 as "hoursUntil", (extract(epoch from p.counted_until) * 1000)::float8 as "countedUntil"
  from tock.figures_progress p;

-- read-flow
with recursive reached(id) as (
  select $1::bigint
  union
  select n.id from reached m cross join lateral (
    select a.run_id as id from tock.job_waits w join tock.job_awaited_runs a on a.wait_id = w.id and a.name is not null where w.run_id = m.id and w.kind = 'group'
    union all
    select w.run_id from tock.job_waits w join tock.job_awaited_runs a on a.wait_id = w.id and a.name is not null where a.run_id = m.id and w.kind = 'group') n
), chosen as materialized (
  select id from reached limit $2
)
select c.id::text, (select a.name from tock.job_awaited_runs a where a.run_id = c.id and a.name is not null order by a.wait_id limit 1) as name,
  r.job, coalesce(r.status, case when exists (select from tock.job_successors s where s.run_id = c.id) then 'queued' else 'pruned' end) as status,
  (extract(epoch from r.started_at) * 1000)::float8 as "startedAt", (extract(epoch from r.finished_at) * 1000)::float8 as "endedAt",
  array(select a.run_id::text from tock.job_waits w join tock.job_awaited_runs a on a.wait_id = w.id and a.name is not null where w.run_id = c.id and w.kind = 'group' order by a.position) as after
from chosen c left join tock.job_runs r on r.id = c.id order by c.id;

-- read-frame
select extract(epoch from tock.now()) as now, md5(case when pg_is_in_recovery() then pg_last_wal_replay_lsn()::text else pg_current_snapshot()::text end) as seen, current_database() as database,
  split_part(current_setting('server_version'), ' ', 1) as "serverVersion",
  (select count(*)::int from (select from tock.job_definitions where (next_at is not null or after is not null)
    and vanished_at is null limit 10001) d) as schedules,
  (select count(*)::int from (select from tock.job_runs_finished where status = 'dead'
    and finished_at > tock.now() - interval '24 hours' and finished_at <= tock.now() limit 10001) r) as dead,
  (select count(*)::int from tock.workers) as workers,
  (select count(*)::int from tock.job_queues where paused_at is not null) as "pausedQueues",
  (select count(*)::int from (select from tock.alert_states where status = 'down' limit 10001) s) as "alertsDown",
  case when pg_is_in_recovery() then case
    when pg_last_wal_receive_lsn() = pg_last_wal_replay_lsn() then 0
    else greatest(0, coalesce(round(extract(epoch from clock_timestamp() - pg_last_xact_replay_timestamp()) * 1000), 0))
  end end::float8 as "replicaLagMs", (select jsonb_build_object('beganAt', f.began_at, 'until', f.until, 'rampMs', f.ramp_ms, 'note', f.note, 'by', f.operator)
    from tock.freezes f where (f.ended_at is null and (f.until > tock.now() or f.ramp_ms > 0))) as frozen,
  coalesce((select json_agg(s) from (select (extract(epoch from f.began_at) * 1000)::float8 as "from",
    case when not (f.ended_at is null and (f.until > tock.now() or f.ramp_ms > 0)) then (extract(epoch from coalesce(f.ended_at, f.until) + f.ramp_ms * interval '1 millisecond') * 1000)::float8 end as "to"
  from tock.freezes f order by f.began_at) s), '[]') as "frozenSpans";

-- read-freeze
select extract(epoch from f.began_at) as "beganAt", extract(epoch from f.until) as until, f.ramp_ms::float8 as "rampMs", f.note, f.operator as "by" from tock.freezes f where (f.ended_at is null and (f.until > tock.now() or f.ramp_ms > 0));

-- read-frozen-spans
select (extract(epoch from f.began_at) * 1000)::float8 as "from",
    case when not (f.ended_at is null and (f.until > tock.now() or f.ramp_ms > 0)) then (extract(epoch from coalesce(f.ended_at, f.until) + f.ramp_ms * interval '1 millisecond') * 1000)::float8 end as "to"
  from tock.freezes f order by f.began_at;

-- read-group
select w.id::text as wait, r.id::text, r.job, r.idempotency_key as key, r.status, w.needs_success,
  (extract(epoch from w.created_at) * 1000)::float8 as created_at, (extract(epoch from w.ended_at) * 1000)::float8 as ended_at
from tock.job_waits w join tock.job_runs r on r.id = w.run_id
where w.kind = 'group' and (w.run_id = $1
  or w.id = any(array(select a.wait_id from tock.job_awaited_runs a where a.run_id = $1)))
order by w.run_id <> $1, w.id limit 1;

-- read-held
select r.id, r.cancel_requested_at is not null as cancel_requested from tock.job_runs_live r where r.id = any($1::bigint[]) and ($2::integer[])[width_bucket(r.id, $1::bigint[])] = r.fence and r.locked_by = $3 and r.status in ('running');

-- read-instant
select to_char(tock.now() at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') as iso, floor(extract(epoch from tock.now()))::bigint::text as seconds;

-- read-interval-run
select r.id::text, d.id::text as definition, (extract(epoch from case when coalesce(r.interval_start, r.scheduled_for) >= '10000-01-01Z'::timestamptz then '9999-12-31T23:59:59Z' when coalesce(r.interval_start, r.scheduled_for) < '0001-01-01Z'::timestamptz then '0001-01-01Z'::timestamptz else coalesce(r.interval_start, r.scheduled_for) end) * 1000)::float8 as "from",
  (extract(epoch from case when r.scheduled_for >= '10000-01-01Z'::timestamptz then '9999-12-31T23:59:59Z' when r.scheduled_for < '0001-01-01Z'::timestamptz then '0001-01-01Z'::timestamptz else r.scheduled_for end) * 1000)::float8 as "to", coalesce(d.waits_for -> 'definitions', '[]') as definitions,
  coalesce(d.waits_for ->> 'on', 'success') as "on"
from tock.job_runs_live r join tock.job_definitions d on d.id = r.definition_id
where r.id = $1 and r.status = 'queued' and r.run_at = '9999-12-31' and d.waits_for is not null and r.scheduled_for is not null;

-- read-interval-runs
select r.id::text, d.id::text as definition, (extract(epoch from case when coalesce(r.interval_start, r.scheduled_for) >= '10000-01-01Z'::timestamptz then '9999-12-31T23:59:59Z' when coalesce(r.interval_start, r.scheduled_for) < '0001-01-01Z'::timestamptz then '0001-01-01Z'::timestamptz else coalesce(r.interval_start, r.scheduled_for) end) * 1000)::float8 as "from",
  (extract(epoch from case when r.scheduled_for >= '10000-01-01Z'::timestamptz then '9999-12-31T23:59:59Z' when r.scheduled_for < '0001-01-01Z'::timestamptz then '0001-01-01Z'::timestamptz else r.scheduled_for end) * 1000)::float8 as "to", coalesce(d.waits_for -> 'definitions', '[]') as definitions,
  coalesce(d.waits_for ->> 'on', 'success') as "on"
from tock.job_runs_live r join tock.job_definitions d on d.id = r.definition_id
where r.id = any($1::bigint[]) and r.status = 'queued' and r.run_at = '9999-12-31' and r.trigger in ('cron', 'backfill') and r.scheduled_for is not null
    and not exists (select from tock.job_waits w where w.run_id = r.id) order by r.id;

-- read-intervals
select i.run_id::text as run, i.name, u.id::text, coalesce(u.cron is not null or u.every_ms is not null or u.at is not null, false) as "hasTimes",
  tock.why_stopped(u) as stop, (extract(epoch from case when u.cursor >= '10000-01-01Z'::timestamptz then '9999-12-31T23:59:59Z' when u.cursor < '0001-01-01Z'::timestamptz then '0001-01-01Z'::timestamptz else u.cursor end) * 1000)::float8 as cursor, (extract(epoch from u.next_at) * 1000)::float8 as next,
  coalesce(r.list, '[]') as runs, coalesce(s.list, '[]') as skipped
from unnest($1::bigint[], $2::timestamptz[], $3::timestamptz[], $4::text[]) with ordinality as i(run_id, "from", "to", name, place)
left join tock.job_definitions u on u.name = i.name
cross join lateral (
  select jsonb_agg(jsonb_build_object('id', r.id::text, 'at', (extract(epoch from r.scheduled_for) * 1000)::float8, 'status', r.status) order by r.scheduled_for, r.id) as list
  from tock.job_runs r
  where r.definition_id = u.id and r.scheduled_for >= i."from" and r.scheduled_for < i."to" and r.status <> 'skipped') r
cross join lateral (
  select jsonb_agg(jsonb_build_object('id', s.id::text, 'first', (extract(epoch from s.first) * 1000)::float8, 'last', (extract(epoch from s.scheduled_for) * 1000)::float8, 'reason', s.skip_reason,
    'standsForThem', case when s.skip_reason = 'catchup' then (
      select jsonb_build_object('id', n.id::text, 'at', (extract(epoch from n.scheduled_for) * 1000)::float8, 'status', n.status) from (
        select n.id, n.occurrence_count, n.scheduled_for, n.status from tock.job_runs n
        where n.definition_id = s.definition_id and n.scheduled_for > s.scheduled_for and n.status <> 'skipped' order by n.scheduled_for limit 1) n
      where n.occurrence_count > s.occurrence_count) end) order by s.scheduled_for, s.id) as list
  from (
    select o.id, o.definition_id, o.scheduled_for, o.occurrence_count, o.skip_reason, o.scheduled_for as first from tock.job_runs o
    where o.definition_id = u.id and o.status = 'skipped' and o.occurrence_count = 1 and o.scheduled_for >= i."from" and o.scheduled_for < i."to"
    union all
    select p.id, p.definition_id, p.scheduled_for, p.occurrence_count, p.skip_reason, coalesce(p.interval_start, p.scheduled_for) from tock.job_runs p
    where p.definition_id = u.id and p.status = 'skipped' and p.occurrence_count > 1 and p.scheduled_for >= i."from"
      and coalesce(p.interval_start, p.scheduled_for) < i."to") s) s
order by i.place;

-- read-job-parts
with ended_runs as (
  select finished_at, job, queue, status, skip_reason, occurrence_count, run_at, started_at from tock.job_runs_finished r where r.finished_at >= $1::timestamptz and r.finished_at < $2::timestamptz and true
  union all
  select finished_at, job, queue, status, skip_reason, occurrence_count, run_at, started_at from tock.figures_retried r where r.finished_at >= $1::timestamptz and r.finished_at < $2::timestamptz and true
), measured_runs as (
  select date_bin('1 minute', r.finished_at, 'epoch') as at, r.job collate "C" as job, r.queue, r.status collate "C" as status,
    case when r.status <> 'skipped' then '' when r.skip_reason in ('overlap', 'catchup', 'deadline', 'window', 'chain', 'paused', 'edited', 'excepted') then r.skip_reason else 'other' end collate "C" as reason,
    r.occurrence_count, case when m.is_measured then least(greatest(extract(epoch from case when r.finished_at >= '10000-01-01Z'::timestamptz then '9999-12-31T23:59:59Z' when r.finished_at < '0001-01-01Z'::timestamptz then '0001-01-01Z'::timestamptz else r.finished_at end - case when r.started_at >= '10000-01-01Z'::timestamptz then '9999-12-31T23:59:59Z' when r.started_at < '0001-01-01Z'::timestamptz then '0001-01-01Z'::timestamptz else r.started_at end) * 1000000, 0), 1e14)::bigint end as duration_us,
    case when m.is_measured then least(greatest(extract(epoch from case when r.started_at >= '10000-01-01Z'::timestamptz then '9999-12-31T23:59:59Z' when r.started_at < '0001-01-01Z'::timestamptz then '0001-01-01Z'::timestamptz else r.started_at end - case when r.run_at >= '10000-01-01Z'::timestamptz then '9999-12-31T23:59:59Z' when r.run_at < '0001-01-01Z'::timestamptz then '0001-01-01Z'::timestamptz else r.run_at end) * 1000000, 0), 1e14)::bigint end as wait_us
  from ended_runs r cross join lateral (select r.started_at is not null and r.status in ('succeeded', 'dead') as is_measured) m
), cells as (
  select at, job, queue, status, reason, 25 - width_bucket(-duration_us, '{-50000000000,-20000000000,-10000000000,-5000000000,-2000000000,-1000000000,-500000000,-200000000,-100000000,-50000000,-20000000,-10000000,-5000000,-2000000,-1000000,-500000,-200000,-100000,-50000,-20000,-10000,-5000,-2000,-1000}'::bigint[]) as duration_bucket, 25 - width_bucket(-wait_us, '{-50000000000,-20000000000,-10000000000,-5000000000,-2000000000,-1000000000,-500000000,-200000000,-100000000,-50000000,-20000000,-10000000,-5000000,-2000000,-1000000,-500000,-200000,-100000,-50000,-20000,-10000,-5000,-2000,-1000}'::bigint[]) as wait_bucket,
    count(*) as run_count, sum(occurrence_count) as occurrence_count, sum(duration_us) as duration_us, sum(wait_us) as wait_us
  from measured_runs group by at, job, queue, status, reason, duration_bucket, wait_bucket
), uncounted as materialized (
  select at, job, queue, status, reason, sum(run_count)::bigint as run_count, sum(occurrence_count)::bigint as occurrence_count,
    coalesce(sum(duration_us), 0)::bigint as duration_us, coalesce(sum(wait_us), 0)::bigint as wait_us,
    case when count(duration_bucket) > 0 then array[coalesce(sum(run_count) filter (where duration_bucket = 1), 0), coalesce(sum(run_count) filter (where duration_bucket = 2), 0), coalesce(sum(run_count) filter (where duration_bucket = 3), 0), coalesce(sum(run_count) filter (where duration_bucket = 4), 0), coalesce(sum(run_count) filter (where duration_bucket = 5), 0), coalesce(sum(run_count) filter (where duration_bucket = 6), 0), coalesce(sum(run_count) filter (where duration_bucket = 7), 0), coalesce(sum(run_count) filter (where duration_bucket = 8), 0), coalesce(sum(run_count) filter (where duration_bucket = 9), 0), coalesce(sum(run_count) filter (where duration_bucket = 10), 0), coalesce(sum(run_count) filter (where duration_bucket = 11), 0), coalesce(sum(run_count) filter (where duration_bucket = 12), 0), coalesce(sum(run_count) filter (where duration_bucket = 13), 0), coalesce(sum(run_count) filter (where duration_bucket = 14), 0), coalesce(sum(run_count) filter (where duration_bucket = 15), 0), coalesce(sum(run_count) filter (where duration_bucket = 16), 0), coalesce(sum(run_count) filter (where duration_bucket = 17), 0), coalesce(sum(run_count) filter (where duration_bucket = 18), 0), coalesce(sum(run_count) filter (where duration_bucket = 19), 0), coalesce(sum(run_count) filter (where duration_bucket = 20), 0), coalesce(sum(run_count) filter (where duration_bucket = 21), 0), coalesce(sum(run_count) filter (where duration_bucket = 22), 0), coalesce(sum(run_count) filter (where duration_bucket = 23), 0), coalesce(sum(run_count) filter (where duration_bucket = 24), 0), coalesce(sum(run_count) filter (where duration_bucket = 25), 0)]::integer[] end as durations,
    case when count(wait_bucket) > 0 then array[coalesce(sum(run_count) filter (where wait_bucket = 1), 0), coalesce(sum(run_count) filter (where wait_bucket = 2), 0), coalesce(sum(run_count) filter (where wait_bucket = 3), 0), coalesce(sum(run_count) filter (where wait_bucket = 4), 0), coalesce(sum(run_count) filter (where wait_bucket = 5), 0), coalesce(sum(run_count) filter (where wait_bucket = 6), 0), coalesce(sum(run_count) filter (where wait_bucket = 7), 0), coalesce(sum(run_count) filter (where wait_bucket = 8), 0), coalesce(sum(run_count) filter (where wait_bucket = 9), 0), coalesce(sum(run_count) filter (where wait_bucket = 10), 0), coalesce(sum(run_count) filter (where wait_bucket = 11), 0), coalesce(sum(run_count) filter (where wait_bucket = 12), 0), coalesce(sum(run_count) filter (where wait_bucket = 13), 0), coalesce(sum(run_count) filter (where wait_bucket = 14), 0), coalesce(sum(run_count) filter (where wait_bucket = 15), 0), coalesce(sum(run_count) filter (where wait_bucket = 16), 0), coalesce(sum(run_count) filter (where wait_bucket = 17), 0), coalesce(sum(run_count) filter (where wait_bucket = 18), 0), coalesce(sum(run_count) filter (where wait_bucket = 19), 0), coalesce(sum(run_count) filter (where wait_bucket = 20), 0), coalesce(sum(run_count) filter (where wait_bucket = 21), 0), coalesce(sum(run_count) filter (where wait_bucket = 22), 0), coalesce(sum(run_count) filter (where wait_bucket = 23), 0), coalesce(sum(run_count) filter (where wait_bucket = 24), 0), coalesce(sum(run_count) filter (where wait_bucket = 25), 0)]::integer[] end as waits
  from cells group by at, job, queue, status, reason
), figures as (
  select h.at, job, queue, status, reason, run_count, occurrence_count, duration_us, wait_us, durations, waits from tock.figures_by_hour h where h.at >= $3 and h.at < $4
  union all
  select m.at, job, queue, status, reason, run_count, occurrence_count, duration_us, wait_us, durations, waits from tock.figures_by_minute m where m.at >= $5 and m.at < $3 and m.at < $6
  union all
  select m.at, job, queue, status, reason, run_count, occurrence_count, duration_us, wait_us, durations, waits from tock.figures_by_minute m where m.at >= $4 and m.at < $6
  union all
  select u.at, job, queue, status, reason, run_count, occurrence_count, duration_us, wait_us, durations, waits from uncounted u
)
select (extract(epoch from date_bin($7::interval, f.at, $5::timestamptz)) * 1000)::float8 as at, f.status,
  sum(f.run_count)::float8 as count, (case when count(f.durations) > 0 then array[sum(f.durations[1]), sum(f.durations[2]), sum(f.durations[3]), sum(f.durations[4]), sum(f.durations[5]), sum(f.durations[6]), sum(f.durations[7]), sum(f.durations[8]), sum(f.durations[9]), sum(f.durations[10]), sum(f.durations[11]), sum(f.durations[12]), sum(f.durations[13]), sum(f.durations[14]), sum(f.durations[15]), sum(f.durations[16]), sum(f.durations[17]), sum(f.durations[18]), sum(f.durations[19]), sum(f.durations[20]), sum(f.durations[21]), sum(f.durations[22]), sum(f.durations[23]), sum(f.durations[24]), sum(f.durations[25])]::bigint[] end)::float8[] as durations, (case when count(f.waits) > 0 then array[sum(f.waits[1]), sum(f.waits[2]), sum(f.waits[3]), sum(f.waits[4]), sum(f.waits[5]), sum(f.waits[6]), sum(f.waits[7]), sum(f.waits[8]), sum(f.waits[9]), sum(f.waits[10]), sum(f.waits[11]), sum(f.waits[12]), sum(f.waits[13]), sum(f.waits[14]), sum(f.waits[15]), sum(f.waits[16]), sum(f.waits[17]), sum(f.waits[18]), sum(f.waits[19]), sum(f.waits[20]), sum(f.waits[21]), sum(f.waits[22]), sum(f.waits[23]), sum(f.waits[24]), sum(f.waits[25])]::bigint[] end)::float8[] as waits
from figures f where f.job = $8 group by 1, 2;

-- read-joins-of
select w.run_id::text as id from tock.job_waits w
where w.kind = 'group' and w.id = any(array(select a.wait_id from tock.job_awaited_runs a where a.run_id = $1)) order by w.id limit 10;

-- read-kept
select substr(k.kind, 7)::jsonb as what from tock.upkeep k where k.kind like 'keeps %' and k.at > (select min(least(p.at, tock.now())) from tock.upkeep p where p.kind = 'pruned')
  - interval '7 days';

-- read-keys
select n.key, coalesce(o.weight, 1) as weight, o.slot_limit as limit, case when o.rate_count is not null then jsonb_build_object('limit', o.rate_count,
    'perMs', o.rate_period_ms, 'burst', o.rate_burst) end as rate, to_jsonb(array(select jsonb_build_object('queue', k.queue, 'job', nullif(k.job, ''),
      'waiting', (select count(*) from (select from tock.job_runs_live r where r.blocked_on = k.name limit 1001) w),
      'held', (select count(*) from tock.job_slots s where s.concurrency_key = k.name),
      'limit', case when k.name like '~!%' then 1 else coalesce(o.slot_limit, f.slot_limit) end,
      'heldBy', case when k.name like '~!%' then (select s.run_id::text from tock.job_slots s where s.concurrency_key = k.name limit 1) end,
      'closedUntil', (extract(epoch from case when k.closed_until > tock.now() then k.closed_until end) * 1000)::float8,
      'nextAt', (extract(epoch from case when not k.is_ready and k.ready_at > tock.now() then k.ready_at end) * 1000)::float8)
    from (select * from tock.fair_keys k where k.key = n.key order by k.name limit 100) k
    left join tock.fair_scopes f on f.queue = case when k.job = '' then k.queue else '' end and f.job = k.job
    order by k.name)) as states
from unnest($1::text[]) with ordinality as n(key, place) left join tock.key_settings o on o.key = n.key
order by n.place;

-- read-keys-made-since
select floor(extract(epoch from o.scheduled_for))::bigint::float8 as at from unnest($1::float8[]) as i(at)
join tock.job_occurrences o on o.definition_id = $2::bigint and o.scheduled_for = to_timestamp(i.at)
where o.created_at > to_timestamp($3::float8 / 1000)
order by o.scheduled_for;

-- read-large-indexes
select i.relname as name, pg_relation_size(i.oid)::float8 as bytes, greatest(c.reltuples, s.n_live_tup, 0)::float8 as rows, x.indisvalid as "isValid"
from pg_class c join pg_index x on x.indrelid = c.oid join pg_class i on i.oid = x.indexrelid join pg_am a on a.oid = i.relam
left join pg_stat_all_tables s on s.relid = c.oid
where c.relnamespace = to_regnamespace('tock') and c.relkind = 'r'
  and (not x.indisvalid or a.amname = 'btree' and c.reltuples >= 0 and pg_relation_size(i.oid) >= $1::float8)
order by 2 desc, 1;

-- read-last-errors
select i.id::text as id, e.error from unnest($1::bigint[]) as i(id) cross join lateral (
  select jsonb_build_object('name', r.errors -> -1 ->> 'name', 'message', left(r.errors -> -1 ->> 'message', 500), 'cause', case when r.errors -> -1 -> 'cause' is not null or r.errors -> -1 -> 'errors' is not null then (
    with recursive inner_errors (said, depth) as (
      select coalesce(r.errors -> -1 -> 'cause', r.errors -> -1 -> 'errors' -> 0), 1
      union all
      select coalesce(said -> 'cause', said -> 'errors' -> 0), depth + 1 from inner_errors where said is not null
    )
    select left(coalesce(nullif(said ->> 'message', ''), nullif(said ->> 'code', ''), said ->> 'name'), 500)
    from inner_errors where said is not null order by depth desc limit 1) end) as error from tock.job_runs r where r.id = i.id and r.errors -> -1 is not null limit 1) e;

-- read-last-ticks
select t.host, extract(epoch from max(t.at))::float8 as at from tock.ticks t
where t.stopped_at is null and t.at > tock.now() - interval '30 days' group by t.host order by t.host;

-- read-later-spans
select jsonb_agg(jsonb_build_object('id', r.id::text, 'at', r.at, 'first', r.first, 'status', r.status, 'trigger', r.trigger, 'reason', r.skip_reason,
  'count', r.occurrence_count, 'has_key', r.idempotency_key is not null, 'was_claimed', r.fence > 0)) as wide from (
  select r.id, floor(extract(epoch from r.scheduled_for))::bigint as at, floor(extract(epoch from r.interval_start))::bigint as first, r.status, r.trigger, r.skip_reason,
      r.occurrence_count, r.idempotency_key, r.fence from tock.job_runs r
  where r.definition_id = $1::bigint and r.scheduled_for >= to_timestamp($2::float8)
    and r.scheduled_for < to_timestamp($3::float8) and (r.occurrence_count > 1 or r.status = 'skipped' and r.skip_reason in ('paused', 'edited') and r.interval_start < r.scheduled_for)
    and case r.status when 'skipped' then r.interval_start < to_timestamp($2::float8)
      else exists (select from tock.job_occurrences o where o.definition_id = r.definition_id and o.scheduled_for = r.interval_start) end
  order by r.scheduled_for limit 100) r;

-- read-ledger
select u.place::integer, k.keys, k.key_count, r.rows, r.wide, r.row_count
from unnest($1::bigint[], $2::float8[], $3::float8[]) with ordinality as u(definition_id, low, high, place)
cross join lateral (
  select string_agg(o.at || ':' || o.run_id, ',') as keys, count(*)::integer as key_count from (
    select floor(extract(epoch from o.scheduled_for))::bigint as at, o.run_id from tock.job_occurrences o
    where o.definition_id = u.definition_id and o.scheduled_for >= to_timestamp(u.low) and o.scheduled_for < to_timestamp(u.high)
    order by o.scheduled_for limit $4::integer) o
) k
cross join lateral (
  select string_agg(r.at || ':' || r.id || ':' || case r.status when 'skipped' then '=' || replace(coalesce(r.skip_reason, ''), ',', ' ')
      else r.trigger end, ',') as rows,
    jsonb_agg(jsonb_build_object('id', r.id::text, 'at', r.at, 'first', r.first, 'status', r.status, 'trigger', r.trigger, 'reason', r.skip_reason,
  'count', r.occurrence_count, 'has_key', r.idempotency_key is not null, 'was_claimed', r.fence > 0)) filter (where r.occurrence_count > 1 or r.status = 'skipped' and r.skip_reason in ('paused', 'edited') and r.first < r.at) as wide, count(*)::integer as row_count
  from (
    select r.id, floor(extract(epoch from r.scheduled_for))::bigint as at, floor(extract(epoch from r.interval_start))::bigint as first, r.status, r.trigger, r.skip_reason,
      r.occurrence_count, r.idempotency_key, r.fence
    from tock.job_runs r
    where r.definition_id = u.definition_id and r.scheduled_for >= to_timestamp(u.low) and r.scheduled_for < to_timestamp(u.high)
    order by r.scheduled_for, r.id limit $4::integer) r
) r
order by u.place;

-- read-leftovers
select c.relname as name, obj_description(c.oid, 'pg_class') as comment
from pg_class c
where c.relnamespace = (select relnamespace from pg_class where oid = 'tock.job_runs_finished'::regclass)
  and c.relkind = 'r' and not c.relispartition
  and ((c.relname ~ '^job_runs_detached_\d+$' and obj_description(c.oid, 'pg_class') like 'tock: detached %')
    or (c.relname ~ '^job_runs_kept_[0-9a-f]+$' and obj_description(c.oid, 'pg_class') = 'tock: copy for retention'))
order by c.oid;

-- read-limited-queues
select q.name, q.concurrency,
  case when q.rate_count is not null then jsonb_build_object('count', q.rate_count, 'perMs', q.rate_period_ms) end as rate,
  q.active_window as window, coalesce(q.timezone, 'UTC') as timezone,
  case when q.concurrency = 0 then (select count(*)::integer from (
    select from tock.job_runs_live r where r.queue = q.name and r.run_at <= tock.now() and r.status in ('queued', 'failed')
    limit 10000) w) else 0 end as waiting
from tock.job_queues q
where q.concurrency is not null or q.rate_count is not null or q.active_window is not null
order by q.name;

-- read-live-figures
with recursive queue_lanes as (
  (select queue, priority from tock.job_runs_live where blocked_on is null order by queue, priority limit 1)
  union all
  select n.queue, n.priority from queue_lanes p cross join lateral (
    select r.queue, r.priority from tock.job_runs_live r
    where r.blocked_on is null and (r.queue, r.priority) > (p.queue, p.priority) order by r.queue, r.priority limit 1) n
), heads as materialized (
  select s.* from queue_lanes p cross join lateral (
    select r.id, r.status, r.run_at, r.started_at from tock.job_runs_live r
    where r.blocked_on is null and r.queue = p.queue and r.priority = p.priority and r.run_at <= tock.now()
    order by r.run_at, r.id limit (select least(5001, greatest(20, 6000 / greatest(count(*), 1))) from queue_lanes)) s
), due as materialized (
  select s.* from queue_lanes p cross join lateral (
    select r.id, r.status, r.run_at, r.started_at from tock.job_runs_live r
    where r.blocked_on is null and r.queue = p.queue and r.priority = p.priority and r.blocked_on is null and r.run_at <= tock.now() and r.status in ('queued', 'failed')
    order by r.run_at, r.id limit $1) s limit $1
), oldest as materialized (
  select s.* from queue_lanes p cross join lateral (
    select r.id, r.status, r.run_at, r.started_at from tock.job_runs_live r
    where r.blocked_on is null and r.queue = p.queue and r.priority = p.priority and r.blocked_on is null and r.run_at <= tock.now() and r.status in ('queued', 'failed')
    order by r.run_at, r.id limit 1) s
), later as materialized (
  select s.* from queue_lanes p cross join lateral (
    select r.id, r.status, r.run_at, r.started_at from tock.job_runs_live r
    where r.blocked_on is null and r.queue = p.queue and r.priority = p.priority and r.run_at > tock.now()
    order by r.run_at, r.id limit $1) s limit $1
), blocked as materialized (
  select r.run_at from tock.job_runs_live r where r.blocked_on is not null limit $1
), alive as materialized (
  select w.capacity from tock.workers w
  where w.seen_at > tock.now() - coalesce(w.heartbeat_ms, 15000) * interval '2.5 milliseconds'
), longest as materialized (
  select id from heads where status = 'running' order by started_at, id limit $2
)
select jsonb_build_object(
  'waiting', (select count(*) from due) + (select count(*) from blocked),
  'oldestDue', (select case when min(o.run_at) >= '10000-01-01Z'::timestamptz then '9999-12-31T23:59:59Z' when min(o.run_at) < '0001-01-01Z'::timestamptz then '0001-01-01Z'::timestamptz else min(o.run_at) end from (
    select run_at from oldest union all select run_at from blocked) o where o.run_at <= tock.now()),
  'running', (select count(*) from heads where status = 'running'),
  'capacity', (select coalesce(sum(capacity), 0) from alive), 'workers', (select count(*) from alive),
  'retrying', (select count(*) from due where status = 'failed') + (select count(*) from later where status = 'failed'),
  'nextRetry', (select case when min(run_at) >= '10000-01-01Z'::timestamptz then '9999-12-31T23:59:59Z' when min(run_at) < '0001-01-01Z'::timestamptz then '0001-01-01Z'::timestamptz else min(run_at) end from later where status = 'failed'),
  'scheduled', (select count(*) from later where status = 'queued'),
  'longest', coalesce((select jsonb_agg(jsonb_build_object('id', r.id::text, 'job', r.job, 'definition', d.name, 'attempts', r.attempts,
    'startedAt', case when r.started_at >= '10000-01-01Z'::timestamptz then '9999-12-31T23:59:59Z' when r.started_at < '0001-01-01Z'::timestamptz then '0001-01-01Z'::timestamptz else r.started_at end, 'isStuck', coalesce(r.locked_until < tock.now(), true),
    'worker', w.host || ' pid ' || w.pid, 'progress', r.progress) order by r.started_at, r.id)
    from longest join tock.job_runs_live r on r.id = longest.id
      left join tock.job_definitions d on d.id = r.definition_id left join tock.workers w on w.id = r.locked_by), '[]')
) as figures;

-- read-living-subjects
select d.name from tock.job_definitions d where d.name = any($1::text[]) and d.vanished_at is null;

-- read-loads-of-hosts
select p.host, sum(p.cpu)::float8 as cpu, sum(p.memory_bytes)::float8 as "memoryBytes", max(p.loop_delay_ms)::float8 / 1000 as "loopDelaySeconds"
from (
  select w.host, max(w.cpu) as cpu, max(w.memory_bytes) as memory_bytes, max(w.loop_delay_ms) as loop_delay_ms from tock.workers w
  where w.cpu is not null and w.seen_at
  between tock.now() - coalesce(w.heartbeat_ms, 15000) * interval '2.5 milliseconds'
    and tock.now() + coalesce(w.heartbeat_ms, 15000) * interval '2.5 milliseconds' group by w.host, w.pid, w.process) p
group by p.host order by p.host;

-- read-long-runs
with recursive queue_lanes as (
  (select queue, priority from tock.job_runs_live where blocked_on is null order by queue, priority limit 1)
  union all
  select n.queue, n.priority from queue_lanes p cross join lateral (
    select r.queue, r.priority from tock.job_runs_live r
    where r.blocked_on is null and (r.queue, r.priority) > (p.queue, p.priority) order by r.queue, r.priority limit 1) n
)
select l.* from (select f.* from (
  select distinct on (subject) coalesce(d.name, r.job) as subject, r.id::text as id, (extract(epoch from tock.now()) * 1000)::float8 - (extract(epoch from r.started_at) * 1000)::float8 as "runningMs",
    r.max_ms::float8 as "maxMs"
  from (select r.id, r.job, r.definition_id, r.started_at, m.max_ms
  from queue_lanes p cross join lateral (
    select l.id, l.job, l.definition_id, l.started_at, l.status from tock.job_runs_live l
    where l.blocked_on is null and l.queue = p.queue and l.priority = p.priority and l.run_at <= tock.now()
    order by l.run_at, l.id limit 10000
  ) r cross join lateral (
    select coalesce((select d.max_duration_ms from tock.job_definitions d where d.id = r.definition_id),
      (select d.max_duration_ms from tock.job_definitions d where d.name = r.job)) as max_ms
  ) m
  where r.status = 'running' and r.started_at < tock.now() - m.max_ms * interval '1 millisecond') r left join tock.job_definitions d on d.id = r.definition_id
  order by subject, r.started_at, r.id) f
  order by hashtext(f.subject || to_char(tock.now(), 'HH24MI')), f.subject limit $1) l order by l.subject;

-- read-member-errors
select r.id::text, r.job, e.last ->> 'name' as name, e.last ->> 'code' as code, left(e.last ->> 'message', 500) as message,
  case when e.last -> 'cause' is not null or e.last -> 'errors' is not null then (
    with recursive inner_errors (said, depth) as (
      select coalesce(e.last -> 'cause', e.last -> 'errors' -> 0), 1
      union all
      select coalesce(said -> 'cause', said -> 'errors' -> 0), depth + 1 from inner_errors where said is not null
    )
    select left(coalesce(nullif(said ->> 'message', ''), nullif(said ->> 'code', ''), said ->> 'name'), 500)
    from inner_errors where said is not null order by depth desc limit 1) end as cause, (extract(epoch from r.finished_at) * 1000)::float8 as at
from tock.job_runs_finished r cross join lateral (select r.errors -> -1 as last offset 0) e
where r.status = 'dead' and r.finished_at >= $1::timestamptz and r.id = any(array(
  select a.run_id from tock.job_awaited_runs a where a.wait_id = $2 and (a.status is null or a.status = 'dead') order by a.position limit $3::integer));

-- read-member-page
select a.run_id::text as id from tock.job_awaited_runs a
where a.wait_id = $1 and a.run_id > $2::bigint
  and case when $3::boolean then exists (select from tock.job_runs_finished f where f.id = a.run_id and f.status = 'dead')
    else exists (select from tock.job_runs_live l where l.id = a.run_id) end
order by a.run_id limit $4::integer;

-- read-member-spans
with member as (
  select a.position, a.run_id, coalesce(a.status, (select l.status from tock.job_runs_live l where l.id = a.run_id),
  (select f.status from tock.job_runs_finished f where f.id = a.run_id),
  case when exists (select from tock.job_successors s where s.run_id = a.run_id) then 'queued' else 'pruned' end) collate "C" as status from tock.job_awaited_runs a where a.wait_id = $1 and a.position <= $2
), island as (
  select m.*, m.position - row_number() over (partition by m.status order by m.position) as island from member m
)
select i.status, count(*)::integer as count, (array_agg(i.run_id::text order by i.position))[1:5] as first, (max(array[i.position, i.run_id]))[2]::text as last
from island i group by i.status, i.island order by min(i.position);

-- read-member-states
select m.status, count(*)::integer as count, (array_agg(m.run_id::text order by m.position))[1:5] as first
from (select a.position, a.run_id, coalesce(a.status, (select l.status from tock.job_runs_live l where l.id = a.run_id),
  (select f.status from tock.job_runs_finished f where f.id = a.run_id),
  case when exists (select from tock.job_successors s where s.run_id = a.run_id) then 'queued' else 'pruned' end) collate "C" as status from tock.job_awaited_runs a where a.wait_id = $1) m group by m.status;

-- read-members
select a.run_id::text as id from tock.job_waits w join tock.job_awaited_runs a on a.wait_id = w.id
where w.run_id = $1 and w.kind = 'group' order by a.position;

-- read-missed-spans
with 
outages as materialized (
  select o.*, case o.cause when 'silence' then 
  greatest(o."from", (
    select f.finished_at from tock.job_runs_finished f
    where f.finished_at > o."from" and f.finished_at < least(o."from" + interval '100 seconds', o.until)
      and f.status in ('succeeded', 'dead')
    order by f.finished_at desc limit 1)) else o."from" end as began from (
    select 1 as rank, 'silence' as cause, s."from", s.until, s.until as over_at from (
  select lower(s.span) as "from", upper(s.span) as until
  from (
    select range_intersect_agg(coalesce(t.silences, '{}') + tstzmultirange(tstzrange(null, t.first_at, '()'), tstzrange(t.at, null, '()'))) as silences
    from tock.ticks t
  ) h cross join unnest(h.silences) s(span)
  where not lower_inf(s.span) and coalesce(upper(s.span), tock.now()) - lower(s.span) > interval '100 seconds') s
    union all
    select 2, 'freeze', f.began_at, f.until, coalesce(f.ended_at, f.until) from tock.freezes f where f.until <= tock.now()) o
  where o.until > tock.now() - interval '24 hours' and o.until - o."from" >= interval '5 minutes'
  order by o.until desc limit 20
), skipped as materialized (
  select o.rank, o.cause, o.began as "from", o.until, r.* from outages o cross join lateral (
    select f.id, f.skip_reason, f.trigger, f.definition_id, f.scheduled_for, case when f.skip_reason = 'deadline' then f.scheduled_for else f.interval_start end as first, case when f.skip_reason = 'deadline' then 1 else f.occurrence_count end as count from tock.job_runs_finished f
    where f.finished_at > greatest(o."from", o.until - interval '10 minutes') and f.finished_at < o.over_at + interval '10 minutes'
      and f.status = 'skipped' and f.skip_reason in ('catchup', 'deadline') and f.scheduled_for >= o."from" and case when f.skip_reason = 'deadline' then f.scheduled_for else f.interval_start end <= o.until
    order by f.finished_at limit 20000) r
  union all
  select 3, 'pause', null, null, r.id, r.skip_reason, r.trigger, r.definition_id, r.scheduled_for, r.first, r.count
  from tock.job_definitions d cross join lateral (
    select f.id, f.skip_reason, f.trigger, f.definition_id, f.scheduled_for, case when f.skip_reason = 'deadline' then f.scheduled_for else f.interval_start end as first, case when f.skip_reason = 'deadline' then 1 else f.occurrence_count end as count, f.status, f.finished_at from tock.job_runs_finished f
    where f.definition_id = d.id and f.scheduled_for <= d.resumed_at
    order by f.scheduled_for desc limit 5) r
  where d.resumed_at > (select tock.now() - interval '24 hours') and r.status = 'skipped' and r.skip_reason = 'paused'
    and r.finished_at > (select tock.now() - interval '24 hours')
), gaps as materialized (
  select distinct on (s.id) s.id, s.cause, s.skip_reason, s."from", s.until, s.definition_id, d.name, d.catchup, s.first, s.scheduled_for as last,
    s.count, t.taken
  from skipped s join tock.job_definitions d on d.id = s.definition_id
  cross join lateral (
    select count(*)::integer as taken from tock.job_occurrences o
    where o.definition_id = s.definition_id and o.scheduled_for between s.first and s.scheduled_for and o.run_id <> s.id
      and not exists (select from tock.job_exceptions e where e.definition_id = o.definition_id and e.scheduled_for = o.scheduled_for)) t
  where s.trigger = 'cron' and s.count > t.taken and d.vanished_at is null and d.broken_at is null
    and (d.cron is not null or d.every_ms is not null or d.at is not null) and d.remaining_count is distinct from 0
    and (d.active_window is null or d.outside_window = 'defer')
    and not exists (select from tock.job_exceptions e where e.definition_id = s.definition_id and e.scheduled_for = s.scheduled_for)
  order by s.id, s.rank
)
select g.id::text as "runId", g.name as definition, g.cause, extract(epoch from g."from") as "from", extract(epoch from g.until) as until,
  g.skip_reason = 'deadline' as "isTooLate", extract(epoch from g.first) as first, extract(epoch from g.last) as last, extract(epoch from stands.at) as "stoodForBy",
  g.count - g.taken as missed, g.taken, array(
    select (extract(epoch from e.scheduled_for) * 1000)::float8 from tock.job_exceptions e
    where e.definition_id = g.definition_id and e.scheduled_for between g.first and g.last order by e.scheduled_for) as excepted
from (select * from gaps order by name, first limit $1) g
left join lateral (
  select r.scheduled_for as at
  from (
    select o.run_id from tock.job_occurrences o
    where o.definition_id = g.definition_id and o.scheduled_for > g.last
      and not exists (select from tock.job_exceptions e where e.definition_id = o.definition_id and e.scheduled_for = o.scheduled_for)
    order by o.scheduled_for limit 1) o
  join tock.job_runs r on r.id = o.run_id
  where r.occurrence_count > 1 and r.interval_start >= g.last and r.status <> 'skipped') stands on g.skip_reason = 'catchup' and g.catchup = 'latest'
order by g.name, g.first;

-- read-occurrence-groups
select status, skip_reason, is_retried, string_agg(second::text, ',') as instants from (
  select r.status, case when r.status = 'skipped' then r.skip_reason end as skip_reason,
    r.status = 'succeeded' and (r.attempts > 1 or r.generation > 1) as is_retried,
    extract(epoch from case when r.scheduled_for >= '10000-01-01Z'::timestamptz then '9999-12-31T23:59:59Z' when r.scheduled_for < '0001-01-01Z'::timestamptz then '0001-01-01Z'::timestamptz else r.scheduled_for end)::bigint as second
  from tock.job_runs r
  where r.definition_id = $1::bigint and r.scheduled_for >= $2::timestamptz and r.scheduled_for < $3::timestamptz
    and not (r.status = 'skipped' and r.occurrence_count > 1)
  order by r.scheduled_for limit $4::integer
) rows group by status, skip_reason, is_retried;

-- read-occurrence-keys
select string_agg(second::text, ',') as instants from (
  select extract(epoch from o.scheduled_for)::bigint as second from tock.job_occurrences o
  where o.definition_id = $1::bigint and o.scheduled_for >= $2::timestamptz and o.scheduled_for < $3::timestamptz
  order by o.scheduled_for limit $4::integer
) keys;

-- read-occurrences
select r.id::text as id, (extract(epoch from case when r.scheduled_for >= '10000-01-01Z'::timestamptz then '9999-12-31T23:59:59Z' when r.scheduled_for < '0001-01-01Z'::timestamptz then '0001-01-01Z'::timestamptz else r.scheduled_for end) * 1000)::float8 as at, (extract(epoch from case when r.interval_start >= '10000-01-01Z'::timestamptz then '9999-12-31T23:59:59Z' when r.interval_start < '0001-01-01Z'::timestamptz then '0001-01-01Z'::timestamptz else r.interval_start end) * 1000)::float8 as first,
  (extract(epoch from case when r.started_at >= '10000-01-01Z'::timestamptz then '9999-12-31T23:59:59Z' when r.started_at < '0001-01-01Z'::timestamptz then '0001-01-01Z'::timestamptz else r.started_at end) * 1000)::float8 as started, (extract(epoch from case when r.finished_at >= '10000-01-01Z'::timestamptz then '9999-12-31T23:59:59Z' when r.finished_at < '0001-01-01Z'::timestamptz then '0001-01-01Z'::timestamptz else r.finished_at end) * 1000)::float8 as finished, r.status, r.trigger, r.skip_reason,
  r.occurrence_count, r.attempts, r.generation, r.idempotency_key is not null as has_key, r.fence > 0 as was_claimed from tock.job_runs r
where r.definition_id = $1::bigint and r.scheduled_for >= $2::timestamptz and r.scheduled_for < $3::timestamptz
order by r.scheduled_for limit $4::integer;

-- read-offer-rooms
select q.name as queue, ($1::integer - n.count)::integer as room from tock.job_queues q
cross join lateral (select count(*) as count from tock.job_offers o where o.queue = q.name) n
where not (q.relayed_to is distinct from 'sql' or not (not exists (select from tock.freezes f where (f.ended_at is null and (f.until > tock.now() or f.ramp_ms > 0))) or q.name = 'tock:alerts') or not (q.paused_at is null and coalesce(q.closed_until <= tock.now(), true) and (q.active_window is null or case when split_part(q.active_window, '-', 1) < split_part(q.active_window, '-', 2)
    then (tock.now() at time zone q.timezone)::time >= split_part(q.active_window, '-', 1)::time and (tock.now() at time zone q.timezone)::time < split_part(q.active_window, '-', 2)::time
    else (tock.now() at time zone q.timezone)::time >= split_part(q.active_window, '-', 1)::time or (tock.now() at time zone q.timezone)::time < split_part(q.active_window, '-', 2)::time end))) and n.count < $1::integer order by q.name;

-- read-oldest-key
-- Rows are appended, and the space of deleted ones is used again: the oldest are among the first blocks. There is no index
-- by age, and none is worth its cost. What live runs have stays, however old.
select extract(epoch from case when k.at >= '10000-01-01Z'::timestamptz then '9999-12-31T23:59:59Z' when k.at < '0001-01-01Z'::timestamptz then '0001-01-01Z'::timestamptz else k.at end) as oldest, k.name as table from (
  select min(created_at) as at, 'job_keys' as name from tock.job_keys t where t.ctid < '(64,0)'::tid and not exists (select from tock.job_runs_live l where l.id = t.run_id)
  union all select min(created_at), 'job_occurrences' from tock.job_occurrences t where t.ctid < '(64,0)'::tid and not exists (select from tock.job_runs_live l where l.id = t.run_id)
  union all select min(created_at), 'job_effects' from tock.job_effects t where t.ctid < '(64,0)'::tid and not exists (select from tock.job_runs_live l where l.id = t.run_id)
) k(at, name) where k.at is not null order by k.at limit 1;

-- read-orphans
with recursive queue_lanes as (
  (select queue, priority from tock.job_runs_live where blocked_on is null order by queue, priority limit 1)
  union all
  select n.queue, n.priority from queue_lanes p cross join lateral (
    select r.queue, r.priority from tock.job_runs_live r
    where r.blocked_on is null and (r.queue, r.priority) > (p.queue, p.priority) order by r.queue, r.priority limit 1) n
), running as materialized (
  select x.* from queue_lanes p cross join lateral (
    select r.id, r.job, r.definition_id, r.status, r.started_at, r.progress, r.locked_by, r.locked_until
    from tock.job_runs_live r where r.queue = p.queue and r.priority = p.priority and r.blocked_on is null
    order by r.run_at, r.id
    limit (select greatest(20, 10000 / greatest(count(*), 1)) from queue_lanes)) x
  where x.status = 'running'
)
select count(*)::integer as count, extract(epoch from case when max(r.locked_until) >= '10000-01-01Z'::timestamptz then '9999-12-31T23:59:59Z' when max(r.locked_until) < '0001-01-01Z'::timestamptz then '0001-01-01Z'::timestamptz else max(r.locked_until) end) as until from running r
where not exists (select from tock.workers w where w.id = r.locked_by);

-- read-other-zones
select z.timezone, z.zone_data as "zoneData", z.offsets from tock.zones z where z.zone_data <> $1 order by z.timezone;

-- read-outcomes
with ended_runs as (
  select finished_at, job, queue, status, skip_reason, occurrence_count, run_at, started_at from tock.job_runs_finished r where r.finished_at >= $1::timestamptz and r.finished_at < $2::timestamptz and true
  union all
  select finished_at, job, queue, status, skip_reason, occurrence_count, run_at, started_at from tock.figures_retried r where r.finished_at >= $1::timestamptz and r.finished_at < $2::timestamptz and true
), measured_runs as (
  select date_bin('1 minute', r.finished_at, 'epoch') as at, r.job collate "C" as job, r.queue, r.status collate "C" as status,
    case when r.status <> 'skipped' then '' when r.skip_reason in ('overlap', 'catchup', 'deadline', 'window', 'chain', 'paused', 'edited', 'excepted') then r.skip_reason else 'other' end collate "C" as reason,
    r.occurrence_count, case when m.is_measured then least(greatest(extract(epoch from case when r.finished_at >= '10000-01-01Z'::timestamptz then '9999-12-31T23:59:59Z' when r.finished_at < '0001-01-01Z'::timestamptz then '0001-01-01Z'::timestamptz else r.finished_at end - case when r.started_at >= '10000-01-01Z'::timestamptz then '9999-12-31T23:59:59Z' when r.started_at < '0001-01-01Z'::timestamptz then '0001-01-01Z'::timestamptz else r.started_at end) * 1000000, 0), 1e14)::bigint end as duration_us,
    case when m.is_measured then least(greatest(extract(epoch from case when r.started_at >= '10000-01-01Z'::timestamptz then '9999-12-31T23:59:59Z' when r.started_at < '0001-01-01Z'::timestamptz then '0001-01-01Z'::timestamptz else r.started_at end - case when r.run_at >= '10000-01-01Z'::timestamptz then '9999-12-31T23:59:59Z' when r.run_at < '0001-01-01Z'::timestamptz then '0001-01-01Z'::timestamptz else r.run_at end) * 1000000, 0), 1e14)::bigint end as wait_us
  from ended_runs r cross join lateral (select r.started_at is not null and r.status in ('succeeded', 'dead') as is_measured) m
), cells as (
  select at, job, queue, status, reason, 25 - width_bucket(-duration_us, '{-50000000000,-20000000000,-10000000000,-5000000000,-2000000000,-1000000000,-500000000,-200000000,-100000000,-50000000,-20000000,-10000000,-5000000,-2000000,-1000000,-500000,-200000,-100000,-50000,-20000,-10000,-5000,-2000,-1000}'::bigint[]) as duration_bucket, 25 - width_bucket(-wait_us, '{-50000000000,-20000000000,-10000000000,-5000000000,-2000000000,-1000000000,-500000000,-200000000,-100000000,-50000000,-20000000,-10000000,-5000000,-2000000,-1000000,-500000,-200000,-100000,-50000,-20000,-10000,-5000,-2000,-1000}'::bigint[]) as wait_bucket,
    count(*) as run_count, sum(occurrence_count) as occurrence_count, sum(duration_us) as duration_us, sum(wait_us) as wait_us
  from measured_runs group by at, job, queue, status, reason, duration_bucket, wait_bucket
), uncounted as materialized (
  select at, job, queue, status, reason, sum(run_count)::bigint as run_count, sum(occurrence_count)::bigint as occurrence_count,
    coalesce(sum(duration_us), 0)::bigint as duration_us, coalesce(sum(wait_us), 0)::bigint as wait_us,
    case when count(duration_bucket) > 0 then array[coalesce(sum(run_count) filter (where duration_bucket = 1), 0), coalesce(sum(run_count) filter (where duration_bucket = 2), 0), coalesce(sum(run_count) filter (where duration_bucket = 3), 0), coalesce(sum(run_count) filter (where duration_bucket = 4), 0), coalesce(sum(run_count) filter (where duration_bucket = 5), 0), coalesce(sum(run_count) filter (where duration_bucket = 6), 0), coalesce(sum(run_count) filter (where duration_bucket = 7), 0), coalesce(sum(run_count) filter (where duration_bucket = 8), 0), coalesce(sum(run_count) filter (where duration_bucket = 9), 0), coalesce(sum(run_count) filter (where duration_bucket = 10), 0), coalesce(sum(run_count) filter (where duration_bucket = 11), 0), coalesce(sum(run_count) filter (where duration_bucket = 12), 0), coalesce(sum(run_count) filter (where duration_bucket = 13), 0), coalesce(sum(run_count) filter (where duration_bucket = 14), 0), coalesce(sum(run_count) filter (where duration_bucket = 15), 0), coalesce(sum(run_count) filter (where duration_bucket = 16), 0), coalesce(sum(run_count) filter (where duration_bucket = 17), 0), coalesce(sum(run_count) filter (where duration_bucket = 18), 0), coalesce(sum(run_count) filter (where duration_bucket = 19), 0), coalesce(sum(run_count) filter (where duration_bucket = 20), 0), coalesce(sum(run_count) filter (where duration_bucket = 21), 0), coalesce(sum(run_count) filter (where duration_bucket = 22), 0), coalesce(sum(run_count) filter (where duration_bucket = 23), 0), coalesce(sum(run_count) filter (where duration_bucket = 24), 0), coalesce(sum(run_count) filter (where duration_bucket = 25), 0)]::integer[] end as durations,
    case when count(wait_bucket) > 0 then array[coalesce(sum(run_count) filter (where wait_bucket = 1), 0), coalesce(sum(run_count) filter (where wait_bucket = 2), 0), coalesce(sum(run_count) filter (where wait_bucket = 3), 0), coalesce(sum(run_count) filter (where wait_bucket = 4), 0), coalesce(sum(run_count) filter (where wait_bucket = 5), 0), coalesce(sum(run_count) filter (where wait_bucket = 6), 0), coalesce(sum(run_count) filter (where wait_bucket = 7), 0), coalesce(sum(run_count) filter (where wait_bucket = 8), 0), coalesce(sum(run_count) filter (where wait_bucket = 9), 0), coalesce(sum(run_count) filter (where wait_bucket = 10), 0), coalesce(sum(run_count) filter (where wait_bucket = 11), 0), coalesce(sum(run_count) filter (where wait_bucket = 12), 0), coalesce(sum(run_count) filter (where wait_bucket = 13), 0), coalesce(sum(run_count) filter (where wait_bucket = 14), 0), coalesce(sum(run_count) filter (where wait_bucket = 15), 0), coalesce(sum(run_count) filter (where wait_bucket = 16), 0), coalesce(sum(run_count) filter (where wait_bucket = 17), 0), coalesce(sum(run_count) filter (where wait_bucket = 18), 0), coalesce(sum(run_count) filter (where wait_bucket = 19), 0), coalesce(sum(run_count) filter (where wait_bucket = 20), 0), coalesce(sum(run_count) filter (where wait_bucket = 21), 0), coalesce(sum(run_count) filter (where wait_bucket = 22), 0), coalesce(sum(run_count) filter (where wait_bucket = 23), 0), coalesce(sum(run_count) filter (where wait_bucket = 24), 0), coalesce(sum(run_count) filter (where wait_bucket = 25), 0)]::integer[] end as waits
  from cells group by at, job, queue, status, reason
), figures as (
  select h.at, job, queue, status, reason, run_count, occurrence_count, duration_us, wait_us, durations, waits from tock.figures_by_hour h where h.at >= $3 and h.at < $4
  union all
  select m.at, job, queue, status, reason, run_count, occurrence_count, duration_us, wait_us, durations, waits from tock.figures_by_minute m where m.at >= $5 and m.at < $3 and m.at < $6
  union all
  select m.at, job, queue, status, reason, run_count, occurrence_count, duration_us, wait_us, durations, waits from tock.figures_by_minute m where m.at >= $4 and m.at < $6
  union all
  select u.at, job, queue, status, reason, run_count, occurrence_count, duration_us, wait_us, durations, waits from uncounted u
)
select extract(epoch from f.at) as at, f.status, sum(f.run_count)::float8 as count from figures f group by f.at, f.status;

-- read-overlooked-run
with long_due as materialized (
  select r.id, r.job, r.definition_id, r.queue, greatest(r.run_at, r.created_at) as since
  from (select r.* from tock.job_runs_live r where r.id = $1::bigint) r left join tock.job_queues q on q.name = r.queue
  where r.blocked_on is null and r.run_at <= tock.now() and r.status in ('queued', 'failed') and r.run_at <= (tock.now() - interval '30000 milliseconds') and r.created_at <= (tock.now() - interval '30000 milliseconds') and r.unblocked_on is null and r.releases = 0 and r.slot_keys is null and (select a.slot_keys is null from tock.job_runs_live a
    where a.queue = r.queue and a.priority = r.priority and a.blocked_on is null and a.run_at <= tock.now() and a.status in ('queued', 'failed') order by a.run_at, a.id limit 1)
    and not exists (select from tock.freezes f where (f.ended_at is null and (f.until > tock.now() or f.ramp_ms > 0))) and tock.frozen_ms((tock.now() - interval '30000 milliseconds')) = 0 and q.relayed_to is null and not (q.concurrency is not null or q.rate_count is not null)
    and coalesce(q.updated_at <= (tock.now() - interval '30000 milliseconds'), true) and q.paused_at is null and coalesce(q.closed_until <= tock.now(), true) and (q.active_window is null or case when split_part(q.active_window, '-', 1) < split_part(q.active_window, '-', 2)
    then (tock.now() at time zone q.timezone)::time >= split_part(q.active_window, '-', 1)::time and (tock.now() at time zone q.timezone)::time < split_part(q.active_window, '-', 2)::time
    else (tock.now() at time zone q.timezone)::time >= split_part(q.active_window, '-', 1)::time or (tock.now() at time zone q.timezone)::time < split_part(q.active_window, '-', 2)::time end) and q.paused_at is null and coalesce(q.closed_until <= (tock.now() - interval '30000 milliseconds'), true) and (q.active_window is null or case when split_part(q.active_window, '-', 1) < split_part(q.active_window, '-', 2)
    then ((tock.now() - interval '30000 milliseconds') at time zone q.timezone)::time >= split_part(q.active_window, '-', 1)::time and ((tock.now() - interval '30000 milliseconds') at time zone q.timezone)::time < split_part(q.active_window, '-', 2)::time
    else ((tock.now() - interval '30000 milliseconds') at time zone q.timezone)::time >= split_part(q.active_window, '-', 1)::time or ((tock.now() - interval '30000 milliseconds') at time zone q.timezone)::time < split_part(q.active_window, '-', 2)::time end)
), held as materialized (
  select h.worker, count(*) as count from (
    select case when r.status = 'running' then nullif(r.locked_by, '00000000-0000-0000-0000-000000000000') end as worker from tock.job_runs_live r
    where r.fence > 0 and (r.status = 'running' and r.locked_by <> '00000000-0000-0000-0000-000000000000' or (r.started_at > (tock.now() - interval '30000 milliseconds')
    or (r.errors -> -1 ->> 'at') collate "C" > to_char((tock.now() - interval '30000 milliseconds') at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') collate "C"
    or exists (select from tock.job_waits w where w.run_id = r.id and w.created_at > (tock.now() - interval '30000 milliseconds'))))
    union all
    select f.locked_by from tock.job_runs_finished f where f.finished_at > (tock.now() - interval '30000 milliseconds')) h
  group by h.worker
), overlooked as materialized (
  select o.id, o.job, o.definition_id, o.queue, o.since, x.host, x.pid from long_due o cross join lateral (
    select w.host, w.pid from tock.workers w
    where w.kind = 'daemon' and w.started_at <= (tock.now() - interval '30000 milliseconds') and w.seen_at
  between tock.now() - coalesce(w.heartbeat_ms, 15000) * interval '2.5 milliseconds'
    and tock.now() + coalesce(w.heartbeat_ms, 15000) * interval '2.5 milliseconds' and not w.draining
    and case when w.queues is null then coalesce(null::text, 'sql') = 'sql' else o.queue = any(w.queues) end
      and w.seen_at >= o.since + interval '15000 milliseconds'
      and w.capacity > (select coalesce(sum(h.count), 0) from held h where h.worker = w.id or h.worker is null)
    order by w.host, w.pid, w.id limit 1) x
  order by o.since, o.id limit 5
)
select jsonb_build_object('id', o.id::text, 'job', o.job, 'definition', d.name, 'queue', o.queue,
    'since', case when o.since >= '10000-01-01Z'::timestamptz then '9999-12-31T23:59:59Z' when o.since < '0001-01-01Z'::timestamptz then '0001-01-01Z'::timestamptz else o.since end, 'worker', jsonb_build_object('host', o.host, 'pid', o.pid)) as found from overlooked o left join tock.job_definitions d on d.id = o.definition_id;

-- read-parents
select p.name, p.id, p.status, case when not p."isCut" then p.output end as output, p."isCut", p.error
from (
  select a.position, a.name, a.run_id::text as id, coalesce(a.status, 'pruned') as status, a.output::text as output, a.error,
    coalesce(sum(octet_length(a.output::text)) over () > $1, false) as "isCut"
  from tock.job_waits w join tock.job_awaited_runs a on a.wait_id = w.id
  where w.run_id = $2 and w.kind = 'group' and a.name is not null offset 0) p
order by p.position;

-- read-partitions
select p.name, (extract(epoch from p.low) * 1000)::float8 as low, (extract(epoch from p.high) * 1000)::float8 as high,
  p.is_kept as "isKept", pg_relation_size(p.oid)::float8 as bytes
from tock.finished_partitions() p;

-- read-paused-queues
select name from tock.job_queues where paused_at is not null order by name limit 50;

-- read-plan-workers
select (extract(epoch from tock.now()) * 1000)::float8 as now, nullif(sum(w.capacity), 0)::integer as capacity
from tock.workers w where w.kind in ('daemon', 'library') and not w.draining and w.seen_at
  between tock.now() - coalesce(w.heartbeat_ms, 15000) * interval '2.5 milliseconds'
    and tock.now() + coalesce(w.heartbeat_ms, 15000) * interval '2.5 milliseconds';

-- read-proof-times
select (extract(epoch from tock.now()) * 1000)::float8 as now,
  (select (extract(epoch from u.at) * 1000)::float8 from tock.upkeep u where u.kind = 'pruned-runs') as runs_pruned,
  (select (extract(epoch from u.at) * 1000)::float8 from tock.upkeep u where u.kind = 'pruned-keys') as keys_pruned,
  (select count(*)::integer from tock.job_definitions d where $1::text[] is null or d.name = any($1)) as definitions;

-- read-proved-definitions
select d.id::text, d.name, (extract(epoch from d.cursor) * 1000)::float8 as cursor_ms, (extract(epoch from d.next_at) * 1000)::float8 as next_ms, d.remaining_count, d.version,
  tock.why_stopped(d) as stop, coalesce(d.excepted_until > d.cursor, false) as is_excepted,
  coalesce((select tock.stated_of(d) - '{remaining_count,after}'::text[] = v.stated - '{remaining_count,after}'::text[] and tock.why_stopped(d) is not distinct from v.stop
    from tock.definition_versions v where v.definition_id = d.id order by v.number desc limit 1), true) as is_kept
from tock.job_definitions d
where d.id > $1::bigint and ($2::text[] is null or d.name = any($2))
order by d.id limit $3::integer;

-- read-pruned
select extract(epoch from u.at) as "prunedAt",
  (select extract(epoch from d.at) from tock.upkeep d where d.kind = 'retention') as "dueAt",
  exists (select from tock.job_runs_finished f
    where f.finished_at > u.at + interval '2 days' and f.finished_at < tock.now() - interval '2 hours') as "hasEndedSince"
from tock.upkeep u where u.kind = 'pruned';

-- read-pulse
select s.seen, case when s.seen <> $1::text then md5(concat_ws(' ',
  (select case when count(*) > 1000 or bool_or(r.status = 'running') then s.seen
      else concat(count(*), ' ', sum(hashtextextended(concat(r.id, ' ', r.xmin), 0))) end
    from (select l.id, l.status, l.xmin from tock.job_runs_live l order by l.id limit 1001) r),
  (select concat(f.id, ' ', f.xmin) from tock.job_runs_finished f
    where f.finished_at > tock.now() - interval '1 hour' order by f.finished_at desc limit 1),
  (select max(a.id) from tock.audit a),
  (select max(f.id) from tock.alert_flips f),
  (select sum(hashtextextended(concat(w.id, w.draining), 0)) from tock.workers w),
  (select sum(hashtextextended(concat(q.name, ' ', q.xmin), 0)) from tock.job_queues q)
)) end as pulse
from (select md5(case when pg_is_in_recovery() then pg_last_wal_replay_lsn()::text else pg_current_snapshot()::text end) as seen) s;

-- read-queue-backlog
with recursive queue_lanes as (
  (select queue, priority from tock.job_runs_live where blocked_on is null order by queue, priority limit 1)
  union all
  select n.queue, n.priority from queue_lanes p cross join lateral (
    select r.queue, r.priority from tock.job_runs_live r
    where r.blocked_on is null and (r.queue, r.priority) > (p.queue, p.priority) order by r.queue, r.priority limit 1) n
), mine as materialized (select p.queue, p.priority from queue_lanes p where p.queue = $1)
select counted.count, extract(epoch from case when oldest.at >= '10000-01-01Z'::timestamptz then '9999-12-31T23:59:59Z' when oldest.at < '0001-01-01Z'::timestamptz then '0001-01-01Z'::timestamptz else oldest.at end) as "oldestAt", (extract(epoch from tock.now() - oldest.at) * 1000)::float8 as "oldestMs"
from (
  select count(*)::integer as count from (
    select from mine p cross join lateral (
      select from tock.job_runs_live r where r.queue = p.queue and r.priority = p.priority and r.blocked_on is null and r.run_at <= tock.now() and r.status in ('queued', 'failed') order by r.run_at limit 10001) w
    limit 10001) c
) counted
cross join (
  -- In each priority the first that can be claimed: they are sorted by run_at.
  select min(f.run_at) as at from mine p cross join lateral (
    select r.run_at from tock.job_runs_live r where r.queue = p.queue and r.priority = p.priority and r.blocked_on is null and r.run_at <= tock.now() and r.status in ('queued', 'failed') order by r.run_at limit 1) f
) oldest;

-- read-queue-due
select (extract(epoch from date_bin($1::interval, d.run_at, $2::timestamptz)) * 1000)::float8 as at, count(*)::float8 as count from (
  select r.run_at from tock.job_runs_live r
  where r.queue = $3 and r.blocked_on is null and r.run_at <= tock.now() and r.status in ('queued', 'failed')
  limit $4::integer) d
group by 1;

-- read-queue-ends
with ended_runs as (
  select finished_at, job, queue, status, skip_reason, occurrence_count, run_at, started_at from tock.job_runs_finished r where r.finished_at >= $1::timestamptz and r.finished_at < $2::timestamptz and true
  union all
  select finished_at, job, queue, status, skip_reason, occurrence_count, run_at, started_at from tock.figures_retried r where r.finished_at >= $1::timestamptz and r.finished_at < $2::timestamptz and true
), measured_runs as (
  select date_bin('1 minute', r.finished_at, 'epoch') as at, r.job collate "C" as job, r.queue, r.status collate "C" as status,
    case when r.status <> 'skipped' then '' when r.skip_reason in ('overlap', 'catchup', 'deadline', 'window', 'chain', 'paused', 'edited', 'excepted') then r.skip_reason else 'other' end collate "C" as reason,
    r.occurrence_count, case when m.is_measured then least(greatest(extract(epoch from case when r.finished_at >= '10000-01-01Z'::timestamptz then '9999-12-31T23:59:59Z' when r.finished_at < '0001-01-01Z'::timestamptz then '0001-01-01Z'::timestamptz else r.finished_at end - case when r.started_at >= '10000-01-01Z'::timestamptz then '9999-12-31T23:59:59Z' when r.started_at < '0001-01-01Z'::timestamptz then '0001-01-01Z'::timestamptz else r.started_at end) * 1000000, 0), 1e14)::bigint end as duration_us,
    case when m.is_measured then least(greatest(extract(epoch from case when r.started_at >= '10000-01-01Z'::timestamptz then '9999-12-31T23:59:59Z' when r.started_at < '0001-01-01Z'::timestamptz then '0001-01-01Z'::timestamptz else r.started_at end - case when r.run_at >= '10000-01-01Z'::timestamptz then '9999-12-31T23:59:59Z' when r.run_at < '0001-01-01Z'::timestamptz then '0001-01-01Z'::timestamptz else r.run_at end) * 1000000, 0), 1e14)::bigint end as wait_us
  from ended_runs r cross join lateral (select r.started_at is not null and r.status in ('succeeded', 'dead') as is_measured) m
), cells as (
  select at, job, queue, status, reason, 25 - width_bucket(-duration_us, '{-50000000000,-20000000000,-10000000000,-5000000000,-2000000000,-1000000000,-500000000,-200000000,-100000000,-50000000,-20000000,-10000000,-5000000,-2000000,-1000000,-500000,-200000,-100000,-50000,-20000,-10000,-5000,-2000,-1000}'::bigint[]) as duration_bucket, 25 - width_bucket(-wait_us, '{-50000000000,-20000000000,-10000000000,-5000000000,-2000000000,-1000000000,-500000000,-200000000,-100000000,-50000000,-20000000,-10000000,-5000000,-2000000,-1000000,-500000,-200000,-100000,-50000,-20000,-10000,-5000,-2000,-1000}'::bigint[]) as wait_bucket,
    count(*) as run_count, sum(occurrence_count) as occurrence_count, sum(duration_us) as duration_us, sum(wait_us) as wait_us
  from measured_runs group by at, job, queue, status, reason, duration_bucket, wait_bucket
), uncounted as materialized (
  select at, job, queue, status, reason, sum(run_count)::bigint as run_count, sum(occurrence_count)::bigint as occurrence_count,
    coalesce(sum(duration_us), 0)::bigint as duration_us, coalesce(sum(wait_us), 0)::bigint as wait_us,
    case when count(duration_bucket) > 0 then array[coalesce(sum(run_count) filter (where duration_bucket = 1), 0), coalesce(sum(run_count) filter (where duration_bucket = 2), 0), coalesce(sum(run_count) filter (where duration_bucket = 3), 0), coalesce(sum(run_count) filter (where duration_bucket = 4), 0), coalesce(sum(run_count) filter (where duration_bucket = 5), 0), coalesce(sum(run_count) filter (where duration_bucket = 6), 0), coalesce(sum(run_count) filter (where duration_bucket = 7), 0), coalesce(sum(run_count) filter (where duration_bucket = 8), 0), coalesce(sum(run_count) filter (where duration_bucket = 9), 0), coalesce(sum(run_count) filter (where duration_bucket = 10), 0), coalesce(sum(run_count) filter (where duration_bucket = 11), 0), coalesce(sum(run_count) filter (where duration_bucket = 12), 0), coalesce(sum(run_count) filter (where duration_bucket = 13), 0), coalesce(sum(run_count) filter (where duration_bucket = 14), 0), coalesce(sum(run_count) filter (where duration_bucket = 15), 0), coalesce(sum(run_count) filter (where duration_bucket = 16), 0), coalesce(sum(run_count) filter (where duration_bucket = 17), 0), coalesce(sum(run_count) filter (where duration_bucket = 18), 0), coalesce(sum(run_count) filter (where duration_bucket = 19), 0), coalesce(sum(run_count) filter (where duration_bucket = 20), 0), coalesce(sum(run_count) filter (where duration_bucket = 21), 0), coalesce(sum(run_count) filter (where duration_bucket = 22), 0), coalesce(sum(run_count) filter (where duration_bucket = 23), 0), coalesce(sum(run_count) filter (where duration_bucket = 24), 0), coalesce(sum(run_count) filter (where duration_bucket = 25), 0)]::integer[] end as durations,
    case when count(wait_bucket) > 0 then array[coalesce(sum(run_count) filter (where wait_bucket = 1), 0), coalesce(sum(run_count) filter (where wait_bucket = 2), 0), coalesce(sum(run_count) filter (where wait_bucket = 3), 0), coalesce(sum(run_count) filter (where wait_bucket = 4), 0), coalesce(sum(run_count) filter (where wait_bucket = 5), 0), coalesce(sum(run_count) filter (where wait_bucket = 6), 0), coalesce(sum(run_count) filter (where wait_bucket = 7), 0), coalesce(sum(run_count) filter (where wait_bucket = 8), 0), coalesce(sum(run_count) filter (where wait_bucket = 9), 0), coalesce(sum(run_count) filter (where wait_bucket = 10), 0), coalesce(sum(run_count) filter (where wait_bucket = 11), 0), coalesce(sum(run_count) filter (where wait_bucket = 12), 0), coalesce(sum(run_count) filter (where wait_bucket = 13), 0), coalesce(sum(run_count) filter (where wait_bucket = 14), 0), coalesce(sum(run_count) filter (where wait_bucket = 15), 0), coalesce(sum(run_count) filter (where wait_bucket = 16), 0), coalesce(sum(run_count) filter (where wait_bucket = 17), 0), coalesce(sum(run_count) filter (where wait_bucket = 18), 0), coalesce(sum(run_count) filter (where wait_bucket = 19), 0), coalesce(sum(run_count) filter (where wait_bucket = 20), 0), coalesce(sum(run_count) filter (where wait_bucket = 21), 0), coalesce(sum(run_count) filter (where wait_bucket = 22), 0), coalesce(sum(run_count) filter (where wait_bucket = 23), 0), coalesce(sum(run_count) filter (where wait_bucket = 24), 0), coalesce(sum(run_count) filter (where wait_bucket = 25), 0)]::integer[] end as waits
  from cells group by at, job, queue, status, reason
), figures as (
  select h.at, job, queue, status, reason, run_count, occurrence_count, duration_us, wait_us, durations, waits from tock.figures_by_hour h where h.at >= $3 and h.at < $4
  union all
  select m.at, job, queue, status, reason, run_count, occurrence_count, duration_us, wait_us, durations, waits from tock.figures_by_minute m where m.at >= $5 and m.at < $3 and m.at < $6
  union all
  select m.at, job, queue, status, reason, run_count, occurrence_count, duration_us, wait_us, durations, waits from tock.figures_by_minute m where m.at >= $4 and m.at < $6
  union all
  select u.at, job, queue, status, reason, run_count, occurrence_count, duration_us, wait_us, durations, waits from uncounted u
)
select (extract(epoch from date_bin($7::interval, f.at, $5::timestamptz)) * 1000)::float8 as at, sum(f.run_count)::float8 as count
from figures f where f.queue = $8 and f.status <> 'skipped' group by 1;

-- read-queue-hand-offs
with relayed as materialized (
  select q.name, q.relayed_to from tock.job_queues q
  where q.relayed_to is not null and ($1::text[] is null or q.name = any($1))
), handed_off as (
  select substr(h.handed_to, strpos(h.handed_to, '.work.') + 6) as queue, split_part(h.handed_to, ': ', 1) as broker,
    count(*)::integer as count,
    (count(*) filter (where h.decision = 'succeeded'))::integer as completed,
    (count(*) filter (where h.decision in ('failed', 'dead')))::integer as failed,
    (count(*) filter (where h.decision is null))::integer as unanswered,
    (count(*) filter (where h.decision is null and exists (
      select from tock.job_runs_live r where r.id = h.run_id and r.fence = h.fence and r.locked_by = '00000000-0000-0000-0000-000000000000')))::integer as waiting,
    sum(h.refused_count)::integer as refused
  from tock.job_hand_offs h
  where h.created_at > (select tock.now() - interval '24 hours') and h.handed_off_at is not null and strpos(h.handed_to, '.work.') > 0
  group by 1, 2
)
select q.name as queue, q.relayed_to as "relayedTo", coalesce(h.count, 0) as "handedOff", coalesce(h.completed, 0) as completed,
  coalesce(h.failed, 0) as failed, coalesce(h.unanswered - h.waiting, 0) as "leaseEnded", coalesce(h.waiting, 0) as waiting,
  coalesce(h.refused, 0) as refused
from relayed q left join handed_off h on h.queue = q.name and h.broker = q.relayed_to
order by q.name;

-- read-queue-load
with recursive queue_lanes as (
  (select queue, priority from tock.job_runs_live where blocked_on is null order by queue, priority limit 1)
  union all
  select n.queue, n.priority from queue_lanes p cross join lateral (
    select r.queue, r.priority from tock.job_runs_live r
    where r.blocked_on is null and (r.queue, r.priority) > (p.queue, p.priority) order by r.queue, r.priority limit 1) n
), blocked as materialized (
  select r.queue, count(*)::integer as count from (
    select queue from tock.job_runs_live where blocked_on is not null order by blocked_on limit 5001) r group by r.queue
), names as (
  select queue collate "C" as name from queue_lanes
  union select b.queue from blocked b
  union select name collate "C" from tock.job_queues
  union select queue collate "C" from tock.job_definitions where vanished_at is null
), chosen as (
  select n.name from names n
  where ($1::text is null or n.name = $1) and ($2::text is null or n.name > $2)
  order by n.name limit $3
), cap as materialized (
  select least(5000, greatest(500, 25000 / greatest(count(*), 1) / 500 * 500))::integer as size from chosen
)
select c.name, q.concurrency,
  case when q.rate_count is not null then jsonb_build_object('count', q.rate_count, 'perMs', q.rate_period_ms) end as rate,
  q.active_window as window, coalesce(q.timezone, 'UTC') as timezone, extract(epoch from case when q.paused_at >= '10000-01-01Z'::timestamptz then '9999-12-31T23:59:59Z' when q.paused_at < '0001-01-01Z'::timestamptz then '0001-01-01Z'::timestamptz else q.paused_at end) as "pausedAt", extract(epoch from case when q.paused_until >= '10000-01-01Z'::timestamptz then '9999-12-31T23:59:59Z' when q.paused_until < '0001-01-01Z'::timestamptz then '0001-01-01Z'::timestamptz else q.paused_until end) as "pausedUntil", q.pause_reason as "pauseReason", q.relayed_to as "relayedTo",
  q.in_code as "inCode", q.overrides,
  extract(epoch from case when q.closed_until > tock.now() then q.closed_until end) as "closedUntil", (select jsonb_build_object('path', regexp_replace(f.path::text, '\."([A-Za-z_][A-Za-z0-9_]*)"', '.\1', 'g'),
      'limit', f.slot_limit, 'rate', case when f.rate_count is not null
        then jsonb_build_object('limit', f.rate_count, 'perMs', f.rate_period_ms, 'burst', f.rate_burst) end)
    from tock.fair_scopes f where f.queue = c.name and f.job = '') as fair,
  least(counts.waiting, cap.size) as waiting, least(counts.running, cap.size) as running, least(counts.later, cap.size) as later,
  coalesce(b.count, 0) as blocked, counts.examined > cap.size as "isCapped",
  extract(epoch from oldest.at) as "oldestAt",
  (select count(*)::integer from tock.workers w where w.seen_at
  between tock.now() - coalesce(w.heartbeat_ms, 15000) * interval '2.5 milliseconds'
    and tock.now() + coalesce(w.heartbeat_ms, 15000) * interval '2.5 milliseconds' and not w.draining
    and case when w.queues is null then coalesce(q.relayed_to, 'sql') = 'sql' else c.name = any(w.queues) end) as claimers,
  case when q.concurrency is null then 0
    else (select count(*)::integer from tock.job_slots s where s.concurrency_key = 'queue:' || q.name) end as held,
  case when q.concurrency is null then '[]' else coalesce((
    select jsonb_agg(to_jsonb(h) order by h.slot) from (
      select s.slot, s.run_id::text as id, r.job, d.name as definition, r.status, case when r.started_at >= '10000-01-01Z'::timestamptz then '9999-12-31T23:59:59Z' when r.started_at < '0001-01-01Z'::timestamptz then '0001-01-01Z'::timestamptz else r.started_at end as "startedAt", w.host, w.pid
      from tock.job_slots s
      left join tock.job_runs_live r on r.id = s.run_id
      left join tock.job_definitions d on d.id = r.definition_id
      left join tock.workers w on w.id = r.locked_by
      where s.concurrency_key = 'queue:' || q.name order by s.slot limit 6) h), '[]') end as holders,
  case when q.rate_next_at > tock.now() and q.rate_count is not null and not q.rate_next_at > tock.now()
    + least(q.rate_period_ms, q.rate_period_ms / q.rate_count + 60000) * interval '1 millisecond' then extract(epoch from q.rate_next_at) end as "rateNextAt"
from chosen c
cross join cap
left join tock.job_queues q on q.name = c.name
left join blocked b on b.queue = c.name
cross join lateral (
  select count(*)::integer as examined,
    (count(*) filter (where r.status in ('queued', 'failed') and r.run_at <= tock.now()))::integer as waiting,
    (count(*) filter (where r.status in ('queued', 'failed') and r.run_at > tock.now()))::integer as later,
    (count(*) filter (where r.status = 'running'))::integer as running
  from (
    select l.status, l.run_at from tock.job_runs_live l where l.queue = c.name and l.blocked_on is null
    order by l.queue, l.priority, l.run_at, l.id limit cap.size + 1) r
) counts
cross join lateral (
  -- In each priority the first that can be claimed: they are sorted by run_at.
  select case when min(f.run_at) >= '10000-01-01Z'::timestamptz then '9999-12-31T23:59:59Z' when min(f.run_at) < '0001-01-01Z'::timestamptz then '0001-01-01Z'::timestamptz else min(f.run_at) end as at from queue_lanes p cross join lateral (
    select r.run_at from tock.job_runs_live r where r.queue = p.queue and r.priority = p.priority and r.blocked_on is null and r.run_at <= tock.now() and r.status in ('queued', 'failed') order by r.run_at limit 1) f
  where p.queue = c.name
) oldest
order by c.name;

-- read-queue-names
with recursive queue_lanes as (
  (select queue, priority from tock.job_runs_live where blocked_on is null order by queue, priority limit 1)
  union all
  select n.queue, n.priority from queue_lanes p cross join lateral (
    select r.queue, r.priority from tock.job_runs_live r
    where r.blocked_on is null and (r.queue, r.priority) > (p.queue, p.priority) order by r.queue, r.priority limit 1) n
)
select n.name from (
  select queue collate "C" as name from queue_lanes
  union select b.queue from (select queue from tock.job_runs_live where blocked_on is not null order by blocked_on limit 5000) b
  union select name collate "C" from tock.job_queues
  union select queue collate "C" from tock.job_definitions where vanished_at is null) n order by n.name limit 10000;

-- read-queues-in-code
select q.name, q.in_code as settings from tock.job_queues q where q.in_code is not null order by q.name;

-- read-real-runs
select count(*) filter (where w.ms is not null)::integer as starts, coalesce(sum(w.overlaps), 0)::integer as overlaps,
  count(*) filter (where w.ms >= 10000)::integer as late,
  coalesce(percentile_disc(0.95) within group (order by w.ms) filter (where w.ms >= 10000), 0)::float8 as p95,
  coalesce(max(w.ms) filter (where w.ms >= 10000), 0)::float8 as max
from (
  select case when r.status = 'skipped' and r.skip_reason = 'overlap' then r.occurrence_count end as overlaps,
    case when r.started_at is not null and r.attempts <= 1
      then round((extract(epoch from case when r.started_at >= '10000-01-01Z'::timestamptz then '9999-12-31T23:59:59Z' when r.started_at < '0001-01-01Z'::timestamptz then '0001-01-01Z'::timestamptz else r.started_at end - case when r.run_at >= '10000-01-01Z'::timestamptz then '9999-12-31T23:59:59Z' when r.run_at < '0001-01-01Z'::timestamptz then '0001-01-01Z'::timestamptz else r.run_at end) * 1000)::numeric) end as ms
  from unnest($1::bigint[]) as d(id)
  join tock.job_runs r on r.definition_id = d.id
    and r.scheduled_for >= $2::timestamptz and r.scheduled_for < $3::timestamptz and r.trigger in ('cron', 'chain')
) w;

-- read-recent-occurrences
select d.id::text as definition_id, r.rows, r.p50, r.p95 from unnest($1::bigint[]) as d(id) cross join lateral (
  select coalesce(jsonb_agg(to_jsonb(n) - 'place' order by n.place), '[]') as rows,
    percentile_cont(0.5) within group (order by n.finished - n.started) filter (where n.status = 'succeeded') as p50,
    percentile_cont(0.95) within group (order by n.finished - n.started) filter (where n.status = 'succeeded') as p95
  from (
    select r.id::text as id, (extract(epoch from case when r.scheduled_for >= '10000-01-01Z'::timestamptz then '9999-12-31T23:59:59Z' when r.scheduled_for < '0001-01-01Z'::timestamptz then '0001-01-01Z'::timestamptz else r.scheduled_for end) * 1000)::float8 as at, (extract(epoch from case when r.interval_start >= '10000-01-01Z'::timestamptz then '9999-12-31T23:59:59Z' when r.interval_start < '0001-01-01Z'::timestamptz then '0001-01-01Z'::timestamptz else r.interval_start end) * 1000)::float8 as first,
  (extract(epoch from case when r.started_at >= '10000-01-01Z'::timestamptz then '9999-12-31T23:59:59Z' when r.started_at < '0001-01-01Z'::timestamptz then '0001-01-01Z'::timestamptz else r.started_at end) * 1000)::float8 as started, (extract(epoch from case when r.finished_at >= '10000-01-01Z'::timestamptz then '9999-12-31T23:59:59Z' when r.finished_at < '0001-01-01Z'::timestamptz then '0001-01-01Z'::timestamptz else r.finished_at end) * 1000)::float8 as finished, r.status, r.trigger, r.skip_reason,
  r.occurrence_count, r.attempts, r.generation, r.idempotency_key is not null as has_key, r.fence > 0 as was_claimed, row_number() over (order by r.scheduled_for desc) as place from (
      select * from tock.job_runs j where j.definition_id = d.id and j.scheduled_for is not null
      order by j.scheduled_for desc limit $2::integer
    ) r
  ) n
) r;

-- read-relay-batch
select (extract(epoch from tock.now()) * 1000)::float8 as "nowMs",
  coalesce((select jsonb_object_agg(r.id::text, r.queue) from tock.job_runs_live r where r.id = any($1::bigint[])), '{}') as queues;

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

-- read-results
select a.position, a.run_id::text as id, a.status, a.output::text, a.error
from tock.job_waits w join tock.job_awaited_runs a on a.wait_id = w.id
where w.run_id = $1 and w.kind = 'group' and a.position > $2 order by a.position limit $3;

-- read-role-rights
-- By oids: a role that may not use the schema cannot name what is in it.
select current_user::text as role, array(
  select missing from (
    select 'usage on the schema' as missing where not has_schema_privilege(n.oid, 'usage')
    union all
    select p.name || ' on ' || c.relname from pg_class c, unnest('{select,insert,update,delete}'::text[]) p(name)
    where c.relnamespace = n.oid and c.relname = any($1) and not has_table_privilege(c.oid, p.name)
    union all
    select 'usage on job_runs_id_seq' from pg_class c
    where c.relnamespace = n.oid and c.relname = 'job_runs_id_seq' and not has_sequence_privilege(c.oid, 'usage')
    union all
    select p.name || ' on ' || c.relname from pg_class c, unnest('{select,update}'::text[]) p(name)
    where c.relnamespace = n.oid and c.relname = any('{reap_turn}') and not has_sequence_privilege(c.oid, p.name)
    union all
    select 'execute on ' || f.oid::regprocedure from pg_proc f
    where f.pronamespace = n.oid and f.proname = any($2) and not has_function_privilege(f.oid, 'execute')
  ) m order by missing <> 'usage on the schema', missing) as missing,
  has_schema_privilege(n.oid, 'usage') and has_table_privilege(m.oid, 'select') as "mayRead"
from pg_namespace n join pg_class m on m.relnamespace = n.oid and m.relname = 'migrations' where n.nspname = 'tock';

-- read-schedule-states
with chosen as materialized (
  select d.id, d.name, d.paused_at, d.pause_reason, d.broken_at, d.active_window, d.timezone,
    case when d.paused_at is null and d.broken_at is null and isfinite(d.next_at) then d.next_at end as next_at
  from tock.job_definitions d
  where num_nonnulls(d.cron, d.every_ms, d.at, d.after) = 1 and d.vanished_at is null
  order by d.origin <> 'code', d.id limit $1
)
select c.name as schedule, c.broken_at is null and coalesce(c.pause_reason, '') not like 'paused by itself%' as "isUp",
  extract(epoch from l.finished_at)::float8 as "lastSuccess", extract(epoch from c.next_at)::float8 as next,
  extract(epoch from case when c.paused_at is null and c.broken_at is null then least(m.scheduled_for, w.scheduled_for, c.next_at) end)::float8 as "expectedBy",
  c.active_window, c.timezone
from chosen c
left join lateral (
  select f.finished_at, f.scheduled_for, f.place from (
    select r.status, r.finished_at, r.scheduled_for, row_number() over (order by r.scheduled_for desc) as place
    from tock.job_runs_finished r
    where r.definition_id = c.id and r.scheduled_for is not null and r.finished_at > tock.now() - interval '2 days'
    order by r.scheduled_for desc limit 200) f
  where f.status = 'succeeded' order by f.scheduled_for desc limit 1) recent on true
left join lateral (
  select f.finished_at, f.scheduled_for, f.place from (
    select r.status, r.finished_at, r.scheduled_for, row_number() over (order by r.scheduled_for desc) as place
    from tock.job_runs_finished r
    where r.definition_id = c.id and r.scheduled_for is not null and recent.finished_at is null
    order by r.scheduled_for desc limit 200) f
  where f.status = 'succeeded' order by f.scheduled_for desc limit 1) older on true
cross join lateral (select coalesce(recent.finished_at, older.finished_at) as finished_at,
  coalesce(recent.scheduled_for, older.scheduled_for, '-infinity') as scheduled_for) l
cross join lateral (
  select min(f.scheduled_for) as scheduled_for from (
    select r.status, r.scheduled_for from tock.job_runs_finished r
    where r.definition_id = c.id and r.scheduled_for > l.scheduled_for and r.finished_at >= l.scheduled_for
      and not coalesce(recent.place = 1 and recent.scheduled_for > tock.now() - interval '2 days', false)
    order by r.scheduled_for desc limit 200) f
  where f.status = 'dead') m
cross join lateral (
  select min(r.scheduled_for) as scheduled_for from tock.job_runs_live r
  where r.definition_id = c.id and r.scheduled_for > l.scheduled_for) w
order by c.name;

-- read-scheduler-state
select (select count(*)::integer from tock.job_definitions d
    where num_nonnulls(d.cron, d.every_ms, d.at, d.after) = 1 and d.vanished_at is null) as schedules,
  coalesce((select extract(epoch from tock.now() - min(d.next_at))::float8 from tock.job_definitions d
    where d.next_at <= tock.now() and isfinite(d.next_at) and d.paused_at is null and d.broken_at is null
      and d.vanished_at is null), 0) as "overdueSeconds",
  exists (select from tock.freezes f where (f.ended_at is null and (f.until > tock.now() or f.ramp_ms > 0))) as "isFrozen",
  case when pg_has_role('pg_read_all_stats', 'usage') then coalesce((select s.age_ms from (select a.pid, extract(epoch from clock_timestamp() - coalesce(a.xact_start, a.query_start)) * 1000 as age_ms
  from pg_stat_activity a
  where a.datname = current_database() and a.pid <> pg_backend_pid() and (a.backend_xmin is not null or a.backend_xid is not null)
  order by age(coalesce(a.backend_xmin, a.backend_xid)) desc, coalesce(a.xact_start, a.query_start) limit 1) s), 0)::float8 / 1000 end
    as "oldestSnapshotSeconds";

-- read-schema-drift
with made as materialized (
  select e.object, e.digest, (m.objects ->> 'server')::integer = current_setting('server_version_num')::integer / 10000 as is_comparable
  from tock.migrations m cross join lateral jsonb_each_text(m.objects -> 'objects') e(object, digest)
), present as materialized (select o.object, md5(o.definition) as digest from tock.schema_objects() o)
select coalesce(m.object, p.object) as object,
  case when p.object is null then 'missing' when m.object is null then 'added' else 'changed' end as what
from made m full join present p on p.object = m.object
where case when p.object is null then true when m.object is not null then m.is_comparable and m.digest <> p.digest
  else exists (select from made) and p.object ~ '^(index .* of job_runs_live|trigger .*)$' end
order by what desc, object limit 100;

-- read-schema-state
select pg_get_userbyid(n.nspowner) as owner, pg_has_role(n.nspowner, 'usage') as "isOwner", current_user::text as role,
  has_schema_privilege(n.oid, 'usage') and coalesce((select has_table_privilege(c.oid, 'select') from pg_class c
    where c.relnamespace = n.oid and c.relname = 'migrations'), false) as "mayRead",
  (select count(*) from pg_class c where c.relnamespace = n.oid and c.relkind in ('r', 'p')
    and c.relname in ('migrations', 'job_definitions', 'job_runs', 'job_runs_live', 'job_keys', 'workers')) = 6 as "isTock"
from pg_namespace n where n.nspname = 'tock';

-- read-schema-trouble
select array(
    select c.relname::text from pg_class c
    where c.relnamespace = to_regnamespace('tock') and c.relkind in ('r', 'p') and row_security_active(c.oid) order by 1) as hidden,
  (select substring(p.prosrc from 'from "?([a-z_][a-z0-9_]*)"?[.]sleepers') from pg_proc p
    where p.pronamespace = to_regnamespace('tock') and p.proname = 'wake') as named;

-- read-server-facts
select current_setting('autovacuum') = 'on' as "isOn",
  coalesce((select c.reloptions from pg_class c where c.oid = 'tock.job_runs_live'::regclass), '{}') as "tableOptions",
  (select coalesce(jsonb_agg(jsonb_build_object('name', s.application_name, 'syncState', s.sync_state) order by s.application_name), '[]')
    from pg_stat_replication s where s.application_name is distinct from 'pg_basebackup' and not exists (
      select from pg_replication_slots p where p.active_pid = s.pid and p.slot_type = 'logical')) as standbys,
  current_setting('synchronous_standby_names') as "synchronousNames", current_setting('synchronous_commit') as "synchronousCommit",
  (select count(*)::integer from tock.sleepers) as listeners,
  case when current_setting('pg_tock.notify', true) = 'off' then coalesce((
    select case when s.setrole = 0 and s.setdatabase = 0 then 'role all' when s.setrole = 0 then 'database ' || quote_ident(current_database())
      else 'role ' || quote_ident(current_user) || case when s.setdatabase = 0 then '' else ' in database ' || quote_ident(current_database()) end end
    from pg_db_role_setting s
    where 'pg_tock.notify=off' = any(s.setconfig) and (s.setrole = 0 or pg_get_userbyid(s.setrole) = current_user)
      and s.setdatabase in (0, (select d.oid from pg_database d where d.datname = current_database()))
    order by s.setrole desc, s.setdatabase desc limit 1), 'system') end as "turnedOffFor";

-- read-server-version
select current_setting('server_version_num')::integer as version, current_setting('server_version') as name;

-- read-session-settings
select current_user::text as role,
  (select jsonb_object_agg(s.name, s.setting) from pg_settings s where s.name = any($1::text[])) as settings;

-- read-silence
select extract(epoch from s.began) as from, extract(epoch from s.until) as until
from (
  select 
  greatest(s."from", (
    select f.finished_at from tock.job_runs_finished f
    where f.finished_at > s."from" and f.finished_at < least(s."from" + interval '100 seconds', $1::timestamptz)
      and f.status in ('succeeded', 'dead')
    order by f.finished_at desc limit 1)) as began, s.until from (
  select lower(s.span) as "from", upper(s.span) as until
  from (
    select range_intersect_agg(coalesce(t.silences, '{}') + tstzmultirange(tstzrange(null, t.first_at, '()'), tstzrange(t.at, null, '()'))) as silences
    from tock.ticks t
  ) h cross join unnest(h.silences) s(span)
  where not lower_inf(s.span) and coalesce(upper(s.span), tock.now()) - lower(s.span) > interval '100 seconds') s
  where s."from" < $1::timestamptz and (s.until is null or s.until > $1::timestamptz)) s;

-- read-silent-hosts
select s.host, s.folder, (extract(epoch from tock.now()) * 1000)::float8 - (extract(epoch from s.at) * 1000)::float8 as "silentMs"
from (select t.host, t.folder, max(t.at) as at from tock.ticks t
  where t.tick_count >= 10 and t.at > tock.now() - interval '7 days' and t.stopped_at is null
  group by t.host, t.folder having max(t.at) < tock.now() - $1::float8 * interval '1 millisecond') s order by s.host, s.folder;

-- read-slow-members
select s.id::text, s.job, s.status, (extract(epoch from s.took) * 1000)::float8 as "tookMs" from (
  select r.id, r.job, r.status, r.finished_at - r.started_at as took from tock.job_runs_finished r
  where r.finished_at >= $1::timestamptz and r.started_at is not null and r.id in (select a.run_id from tock.job_awaited_runs a where a.wait_id = $2)
  union all
  select r.id, r.job, r.status, tock.now() - r.started_at from tock.job_runs_live r
  where r.status = 'running' and r.id = any(array(select a.run_id from tock.job_awaited_runs a where a.wait_id = $2 and a.status is null))
  order by took desc limit 5
) s order by s.took desc;

-- read-spans
select r.id::text as id, (extract(epoch from case when r.scheduled_for >= '10000-01-01Z'::timestamptz then '9999-12-31T23:59:59Z' when r.scheduled_for < '0001-01-01Z'::timestamptz then '0001-01-01Z'::timestamptz else r.scheduled_for end) * 1000)::float8 as at, (extract(epoch from case when r.interval_start >= '10000-01-01Z'::timestamptz then '9999-12-31T23:59:59Z' when r.interval_start < '0001-01-01Z'::timestamptz then '0001-01-01Z'::timestamptz else r.interval_start end) * 1000)::float8 as first,
  (extract(epoch from case when r.started_at >= '10000-01-01Z'::timestamptz then '9999-12-31T23:59:59Z' when r.started_at < '0001-01-01Z'::timestamptz then '0001-01-01Z'::timestamptz else r.started_at end) * 1000)::float8 as started, (extract(epoch from case when r.finished_at >= '10000-01-01Z'::timestamptz then '9999-12-31T23:59:59Z' when r.finished_at < '0001-01-01Z'::timestamptz then '0001-01-01Z'::timestamptz else r.finished_at end) * 1000)::float8 as finished, r.status, r.trigger, r.skip_reason,
  r.occurrence_count, r.attempts, r.generation, r.idempotency_key is not null as has_key, r.fence > 0 as was_claimed from tock.job_runs r
where r.definition_id = $1::bigint and r.scheduled_for >= $2::timestamptz and r.scheduled_for < $3::timestamptz
  and r.status = 'skipped' and r.occurrence_count > 1
order by r.scheduled_for limit $4::integer;

-- read-spans-after
select * from (
  select r.id::text as id, (extract(epoch from case when r.scheduled_for >= '10000-01-01Z'::timestamptz then '9999-12-31T23:59:59Z' when r.scheduled_for < '0001-01-01Z'::timestamptz then '0001-01-01Z'::timestamptz else r.scheduled_for end) * 1000)::float8 as at, (extract(epoch from case when r.interval_start >= '10000-01-01Z'::timestamptz then '9999-12-31T23:59:59Z' when r.interval_start < '0001-01-01Z'::timestamptz then '0001-01-01Z'::timestamptz else r.interval_start end) * 1000)::float8 as first,
  (extract(epoch from case when r.started_at >= '10000-01-01Z'::timestamptz then '9999-12-31T23:59:59Z' when r.started_at < '0001-01-01Z'::timestamptz then '0001-01-01Z'::timestamptz else r.started_at end) * 1000)::float8 as started, (extract(epoch from case when r.finished_at >= '10000-01-01Z'::timestamptz then '9999-12-31T23:59:59Z' when r.finished_at < '0001-01-01Z'::timestamptz then '0001-01-01Z'::timestamptz else r.finished_at end) * 1000)::float8 as finished, r.status, r.trigger, r.skip_reason,
  r.occurrence_count, r.attempts, r.generation, r.idempotency_key is not null as has_key, r.fence > 0 as was_claimed from tock.job_runs r
  where r.definition_id = $1::bigint and r.scheduled_for >= $2::timestamptz
  order by r.scheduled_for limit 50
) after where status = 'skipped' and occurrence_count > 1;

-- read-status
with recursive awaited as (
  (select r.blocked_on as key, 1 as number from tock.job_runs_live r where r.blocked_on > '' and r.blocked_on >= 'code:' and r.blocked_on < 'code;' order by r.blocked_on limit 1)
  union all
  select n.key, a.number + 1 from awaited a cross join lateral (
    select r.blocked_on as key from tock.job_runs_live r where r.blocked_on > a.key and r.blocked_on >= 'code:' and r.blocked_on < 'code;'
    order by r.blocked_on limit 1) n
  where a.number < 1000
), groups as materialized (
  -- One pass with few groups: of a long backlog a filter for each count takes three times as long.
  select r.queue, r.status, r.run_at <= tock.now() as is_due, r.locked_by, count(*) as count,
    -- Those that wait for code are told apart.
    min(r.run_at) filter (where (r.blocked_on >= 'code:' and r.blocked_on < 'code;') is not true) as oldest,
    min(r.run_at) filter (where r.blocked_on is null) as oldest_free,
    max(r.locked_until) as leases_end, count(*) filter (where r.locked_until < tock.now()) as expired
  from tock.job_runs_live r group by 1, 2, 3, 4
), live as (
  select g.queue,
    coalesce(sum(g.count) filter (where g.status in ('queued', 'failed') and g.is_due), 0) as waiting,
    coalesce(sum(g.count) filter (where g.status = 'queued' and not g.is_due), 0) as scheduled,
    coalesce(sum(g.count) filter (where g.status = 'running'), 0) as running,
    coalesce(sum(g.count) filter (where g.status = 'running' and g.locked_by = '00000000-0000-0000-0000-000000000000'), 0) as handed_off,
    coalesce(sum(g.count) filter (where g.status = 'failed'), 0) as failed,
    coalesce(sum(g.expired) filter (where g.status = 'running'), 0) as stuck,
    min(g.oldest) filter (where g.status in ('queued', 'failed') and g.is_due) as oldest,
    min(g.oldest_free) filter (where g.status in ('queued', 'failed') and g.is_due) as oldest_free
  from groups g group by g.queue
), finished as (
  select r.status, count(*) as count from tock.job_runs_finished r
  where $1::boolean and r.finished_at > tock.now() - interval '24 hours' and r.finished_at <= tock.now() and r.status <> 'dead'
  group by r.status
), dead as (
  select count(*) as count, count(*) filter (where r.errors -> -1 ->> 'code' = 'TOCK_BAD_ROW') as set_aside
  from tock.job_runs_finished r
  where r.finished_at > tock.now() - interval '24 hours' and r.finished_at <= tock.now() and r.status = 'dead'
), queues as (
  select coalesce(l.queue, q.name) as queue, coalesce(l.waiting, 0) as waiting, coalesce(l.running, 0) as running,
    coalesce(l.failed, 0) as failed, q.paused_at is not null as paused, q.relayed_to,
    exists (select from tock.workers w where q.name = any(w.queues) and w.seen_at
  between tock.now() - coalesce(w.heartbeat_ms, 15000) * interval '2.5 milliseconds'
    and tock.now() + coalesce(w.heartbeat_ms, 15000) * interval '2.5 milliseconds' and not w.draining) as named,
    exists (select from tock.workers w where w.seen_at
  between tock.now() - coalesce(w.heartbeat_ms, 15000) * interval '2.5 milliseconds'
    and tock.now() + coalesce(w.heartbeat_ms, 15000) * interval '2.5 milliseconds' and not w.draining
    and case when w.queues is null then coalesce(q.relayed_to, 'sql') = 'sql' else coalesce(l.queue, q.name) = any(w.queues) end) as is_claimed,
    coalesce(round(((extract(epoch from tock.now()) - extract(epoch from case when l.oldest_free >= '10000-01-01Z'::timestamptz then '9999-12-31T23:59:59Z' when l.oldest_free < '0001-01-01Z'::timestamptz then '0001-01-01Z'::timestamptz else l.oldest_free end)) * 1000 - tock.frozen_ms(l.oldest_free))::numeric), 0) as oldest_wait_ms
  from live l full join tock.job_queues q on q.name = l.queue
), blocking as (
  select r.blocked_on as key, count(*) as count, min(r.run_at) as oldest from tock.job_runs_live r
  -- Fair keys, of which there may be hundreds of thousands, sort after them: their runs wait for a turn.
  where r.blocked_on < '~' and not (r.blocked_on >= 'code:' and r.blocked_on < 'code;') group by 1 order by 2 desc, 1 limit 5
), holders as (
  select w.id, w.kind, w.host, w.pid, w.service, w.seen_at, coalesce(w.heartbeat_ms, 15000) as heartbeat_ms,
    w.seen_at not between tock.now() - coalesce(w.heartbeat_ms, 15000) * interval '2.5 milliseconds'
      and tock.now() + coalesce(w.heartbeat_ms, 15000) * interval '2.5 milliseconds' as is_silent,
    coalesce(l.running, 0) as running, l.leases_end_ms
  from tock.workers w left join (
    select g.locked_by, sum(g.count) as running, round(extract(epoch from max(g.leases_end) - tock.now()) * 1000) as leases_end_ms
    from groups g where g.status = 'running' group by g.locked_by) l on l.locked_by = w.id
), sets as materialized (
  -- Older than a deploy takes.
  select w.service, w.fingerprint, w.host || ' pid ' || w.pid as who from tock.workers w
  where w.fingerprint is not null and w.started_at < tock.now() - interval '10 minutes' and not w.draining and w.seen_at
  between tock.now() - coalesce(w.heartbeat_ms, 15000) * interval '2.5 milliseconds'
    and tock.now() + coalesce(w.heartbeat_ms, 15000) * interval '2.5 milliseconds'
  union
  select t.service, t.fingerprint, t.host || ' in ' || t.folder from tock.ticks t
  where t.kind <> 'daemon' and t.fingerprint <> '' and t.set_at < tock.now() - interval '10 minutes' and t.at > tock.now() - interval '3 minutes'
), split as (
  select s.service, array_agg(s.who order by s.who) filter (where g.fingerprint is not null) as in_force,
    array_agg(s.who order by s.who) filter (where g.fingerprint is null) as others
  from sets s left join tock.registrations g on g.service = s.service and g.fingerprint = s.fingerprint and g.is_current
  group by s.service having count(distinct s.fingerprint) > 1
), snapshot as (
  select a.pid, extract(epoch from clock_timestamp() - coalesce(a.xact_start, a.query_start)) * 1000 as age_ms
  from pg_stat_activity a
  where a.datname = current_database() and a.pid <> pg_backend_pid() and (a.backend_xmin is not null or a.backend_xid is not null)
  order by age(coalesce(a.backend_xmin, a.backend_xid)) desc, coalesce(a.xact_start, a.query_start) limit 1
)
select jsonb_build_object(
  'at', tock.now(),
  'isCopy', tock.is_copy(),
  'replicaLagMs', case when pg_is_in_recovery() then case
    when pg_last_wal_receive_lsn() = pg_last_wal_replay_lsn() then 0
    else greatest(0, coalesce(round(extract(epoch from clock_timestamp() - pg_last_xact_replay_timestamp()) * 1000), 0))
  end end::float8,
  'definitions', (select jsonb_build_object(
    'scheduled', count(*) filter (where next_at is not null and vanished_at is null),
    'due', count(*) filter (where next_at <= tock.now() and paused_at is null and broken_at is null and vanished_at is null),
    'paused', count(*) filter (where paused_at is not null),
    'broken', count(*) filter (where broken_at is not null),
    'ahead', count(*) filter (where cursor > tock.now() + interval '1 minute' and next_at is not null and vanished_at is null
      and not exists (select from tock.zones z where z.timezone = job_definitions.timezone and z.moved_at > job_definitions.cursor - interval '1 day')),
    'aheadMs', greatest(0, round(extract(epoch from max(cursor) filter (where next_at is not null and vanished_at is null) - tock.now()) * 1000)),
    'overdueMs', coalesce(round(((extract(epoch from tock.now()) - extract(epoch from case when min(next_at) filter (where next_at <= tock.now() and isfinite(next_at)
      and paused_at is null and broken_at is null and vanished_at is null) >= '10000-01-01Z'::timestamptz then '9999-12-31T23:59:59Z' when min(next_at) filter (where next_at <= tock.now() and isfinite(next_at)
      and paused_at is null and broken_at is null and vanished_at is null) < '0001-01-01Z'::timestamptz then '0001-01-01Z'::timestamptz else min(next_at) filter (where next_at <= tock.now() and isfinite(next_at)
      and paused_at is null and broken_at is null and vanished_at is null) end)) * 1000 - tock.frozen_ms(min(next_at) filter (where next_at <= tock.now() and isfinite(next_at)
      and paused_at is null and broken_at is null and vanished_at is null)))::numeric), 0)) from tock.job_definitions),
  'runs', (select jsonb_build_object(
    'waiting', coalesce(sum(waiting), 0), 'scheduled', coalesce(sum(scheduled), 0), 'running', coalesce(sum(running), 0),
    'handedOff', coalesce(sum(handed_off), 0), 'failed', coalesce(sum(failed), 0), 'stuck', coalesce(sum(stuck), 0)) from live),
  'frozen', (select jsonb_build_object('beganAt', f.began_at, 'until', f.until, 'rampMs', f.ramp_ms, 'note', f.note, 'by', f.operator)
    from tock.freezes f where (f.ended_at is null and (f.until > tock.now() or f.ramp_ms > 0))),
  'oldestWaitMs', coalesce((select round(((extract(epoch from tock.now()) - extract(epoch from case when min(oldest) >= '10000-01-01Z'::timestamptz then '9999-12-31T23:59:59Z' when min(oldest) < '0001-01-01Z'::timestamptz then '0001-01-01Z'::timestamptz else min(oldest) end)) * 1000 - tock.frozen_ms(min(oldest)))::numeric) from live), 0),
  'lastDay', jsonb_build_object('succeeded', 0, 'dead', 0, 'cancelled', 0, 'skipped', 0)
    || coalesce((select jsonb_object_agg(status, count) from finished), '{}')
    || (select jsonb_build_object('dead', count, 'setAside', set_aside) from dead),
  'workers', coalesce((select jsonb_agg(jsonb_build_object('id', id, 'kind', kind, 'host', host, 'pid', pid, 'service', service, 'seenAt', case when seen_at >= '10000-01-01Z'::timestamptz then '9999-12-31T23:59:59Z' when seen_at < '0001-01-01Z'::timestamptz then '0001-01-01Z'::timestamptz else seen_at end, 'silent', is_silent,
    'heartbeatMs', heartbeat_ms, 'running', running, 'leasesEndMs', leases_end_ms) order by host, pid) from holders), '[]'),
  'ticks', coalesce((select jsonb_agg(jsonb_build_object('host', host, 'folder', folder, 'kind', kind, 'service', service, 'firstAt', case when first_at >= '10000-01-01Z'::timestamptz then '9999-12-31T23:59:59Z' when first_at < '0001-01-01Z'::timestamptz then '0001-01-01Z'::timestamptz else first_at end,
    'at', case when at >= '10000-01-01Z'::timestamptz then '9999-12-31T23:59:59Z' when at < '0001-01-01Z'::timestamptz then '0001-01-01Z'::timestamptz else at end, 'count', tick_count, 'version', version, 'node', node, 'zoneData', zone_data, 'clockMs', clock_ms,
    'stoppedAt', case when stopped_at >= '10000-01-01Z'::timestamptz then '9999-12-31T23:59:59Z' when stopped_at < '0001-01-01Z'::timestamptz then '0001-01-01Z'::timestamptz else stopped_at end) order by at desc, host, folder)
    from (select * from tock.ticks order by at desc limit 100) t), '[]'),
  'splitServices', coalesce((select jsonb_agg(jsonb_build_object('service', s.service, 'inForce', coalesce(s.in_force, '{}'), 'others', coalesce(s.others, '{}'),
    'vanished', array(select d.name from tock.job_definitions d where d.service = s.service and d.origin = 'code' and d.vanished_at > tock.now() - interval '1 day'
      order by d.name limit 10)) order by s.service) from split s), '[]'),
  'queues', coalesce((select jsonb_agg(jsonb_build_object('queue', queue, 'waiting', waiting, 'running', running, 'failed', failed,
    'paused', paused, 'relayedTo', relayed_to, 'named', named, 'isClaimed', is_claimed, 'oldestWaitMs', oldest_wait_ms) order by queue) from queues), '[]'),
  'blockingKeys', coalesce((select jsonb_agg(jsonb_build_object('key', b.key, 'definition', d.name, 'runs', b.count,
    'waitMs', greatest(0, coalesce(round(((extract(epoch from tock.now()) - extract(epoch from case when b.oldest >= '10000-01-01Z'::timestamptz then '9999-12-31T23:59:59Z' when b.oldest < '0001-01-01Z'::timestamptz then '0001-01-01Z'::timestamptz else b.oldest end)) * 1000 - tock.frozen_ms(b.oldest))::numeric), 0))) order by b.count desc, b.key)
    from blocking b left join tock.job_definitions d on 'definition:' || d.id = b.key), '[]'),
  'awaitedJobs', coalesce((select jsonb_agg(to_jsonb(j) order by j.runs desc, j.job) from (
    select substr(a.key, 6) as job, least(w.runs, 1000) as runs, w.runs > 1000 as "isCapped",
      greatest(0, coalesce(round(((extract(epoch from tock.now()) - extract(epoch from case when w.oldest >= '10000-01-01Z'::timestamptz then '9999-12-31T23:59:59Z' when w.oldest < '0001-01-01Z'::timestamptz then '0001-01-01Z'::timestamptz else w.oldest end)) * 1000 - tock.frozen_ms(w.oldest))::numeric), 0)) as "waitMs",
      exists (select from tock.job_definitions d where d.name = substr(a.key, 6) and d.origin = 'code' and d.vanished_at is null) as "isKnown"
    from awaited a cross join lateral (
      select count(*) as runs, case when min(run_at) >= '10000-01-01Z'::timestamptz then '9999-12-31T23:59:59Z' when min(run_at) < '0001-01-01Z'::timestamptz then '0001-01-01Z'::timestamptz else min(run_at) end as oldest from (
        select r.run_at from tock.job_runs_live r where r.blocked_on = a.key order by r.priority, r.run_at, r.id limit 1001) r) w
    order by w.runs desc, a.key limit 100) j), '[]'),
  'overlooked', (with recursive queue_lanes as (
  (select queue, priority from tock.job_runs_live where blocked_on is null order by queue, priority limit 1)
  union all
  select n.queue, n.priority from queue_lanes p cross join lateral (
    select r.queue, r.priority from tock.job_runs_live r
    where r.blocked_on is null and (r.queue, r.priority) > (p.queue, p.priority) order by r.queue, r.priority limit 1) n
), long_due as materialized (
  select r.id, r.job, r.definition_id, r.queue, greatest(r.run_at, r.created_at) as since
  from queue_lanes p cross join lateral (
    select r.* from tock.job_runs_live r where r.queue = p.queue and r.priority = p.priority and r.blocked_on is null and r.run_at <= tock.now() and r.status in ('queued', 'failed') and r.run_at <= (tock.now() - interval '30000 milliseconds') and r.created_at <= (tock.now() - interval '30000 milliseconds') and r.unblocked_on is null and r.releases = 0 order by r.run_at, r.id limit 1) r left join tock.job_queues q on q.name = r.queue
  where r.blocked_on is null and r.run_at <= tock.now() and r.status in ('queued', 'failed') and r.run_at <= (tock.now() - interval '30000 milliseconds') and r.created_at <= (tock.now() - interval '30000 milliseconds') and r.unblocked_on is null and r.releases = 0 and r.slot_keys is null and (select a.slot_keys is null from tock.job_runs_live a
    where a.queue = r.queue and a.priority = r.priority and a.blocked_on is null and a.run_at <= tock.now() and a.status in ('queued', 'failed') order by a.run_at, a.id limit 1)
    and not exists (select from tock.freezes f where (f.ended_at is null and (f.until > tock.now() or f.ramp_ms > 0))) and tock.frozen_ms((tock.now() - interval '30000 milliseconds')) = 0 and q.relayed_to is null and not (q.concurrency is not null or q.rate_count is not null)
    and coalesce(q.updated_at <= (tock.now() - interval '30000 milliseconds'), true) and q.paused_at is null and coalesce(q.closed_until <= tock.now(), true) and (q.active_window is null or case when split_part(q.active_window, '-', 1) < split_part(q.active_window, '-', 2)
    then (tock.now() at time zone q.timezone)::time >= split_part(q.active_window, '-', 1)::time and (tock.now() at time zone q.timezone)::time < split_part(q.active_window, '-', 2)::time
    else (tock.now() at time zone q.timezone)::time >= split_part(q.active_window, '-', 1)::time or (tock.now() at time zone q.timezone)::time < split_part(q.active_window, '-', 2)::time end) and q.paused_at is null and coalesce(q.closed_until <= (tock.now() - interval '30000 milliseconds'), true) and (q.active_window is null or case when split_part(q.active_window, '-', 1) < split_part(q.active_window, '-', 2)
    then ((tock.now() - interval '30000 milliseconds') at time zone q.timezone)::time >= split_part(q.active_window, '-', 1)::time and ((tock.now() - interval '30000 milliseconds') at time zone q.timezone)::time < split_part(q.active_window, '-', 2)::time
    else ((tock.now() - interval '30000 milliseconds') at time zone q.timezone)::time >= split_part(q.active_window, '-', 1)::time or ((tock.now() - interval '30000 milliseconds') at time zone q.timezone)::time < split_part(q.active_window, '-', 2)::time end)
), held as materialized (
  select h.worker, count(*) as count from (
    select case when r.status = 'running' then nullif(r.locked_by, '00000000-0000-0000-0000-000000000000') end as worker from tock.job_runs_live r
    where r.fence > 0 and (r.status = 'running' and r.locked_by <> '00000000-0000-0000-0000-000000000000' or (r.started_at > (tock.now() - interval '30000 milliseconds')
    or (r.errors -> -1 ->> 'at') collate "C" > to_char((tock.now() - interval '30000 milliseconds') at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') collate "C"
    or exists (select from tock.job_waits w where w.run_id = r.id and w.created_at > (tock.now() - interval '30000 milliseconds'))))
    union all
    select f.locked_by from tock.job_runs_finished f where f.finished_at > (tock.now() - interval '30000 milliseconds')) h
  group by h.worker
), overlooked as materialized (
  select o.id, o.job, o.definition_id, o.queue, o.since, x.host, x.pid from long_due o cross join lateral (
    select w.host, w.pid from tock.workers w
    where w.kind = 'daemon' and w.started_at <= (tock.now() - interval '30000 milliseconds') and w.seen_at
  between tock.now() - coalesce(w.heartbeat_ms, 15000) * interval '2.5 milliseconds'
    and tock.now() + coalesce(w.heartbeat_ms, 15000) * interval '2.5 milliseconds' and not w.draining
    and case when w.queues is null then coalesce(null::text, 'sql') = 'sql' else o.queue = any(w.queues) end
      and w.seen_at >= o.since + interval '15000 milliseconds'
      and w.capacity > (select coalesce(sum(h.count), 0) from held h where h.worker = w.id or h.worker is null)
    order by w.host, w.pid, w.id limit 1) x
  order by o.since, o.id limit 5
)
  select coalesce(jsonb_agg(jsonb_build_object('id', o.id::text, 'job', o.job, 'definition', d.name, 'queue', o.queue,
    'since', case when o.since >= '10000-01-01Z'::timestamptz then '9999-12-31T23:59:59Z' when o.since < '0001-01-01Z'::timestamptz then '0001-01-01Z'::timestamptz else o.since end, 'worker', jsonb_build_object('host', o.host, 'pid', o.pid)) order by o.since, o.id), '[]') from overlooked o left join tock.job_definitions d on d.id = o.definition_id),
  'oldestSnapshot', (select jsonb_build_object('ageMs', round(age_ms), 'pid', pid) from snapshot),
  'partitions', jsonb_build_object('end', partitions.until, 'unit', partitions.unit,
    'runningOut', partitions.until < tock.now() + case partitions.unit when 'day' then interval '3 days' else interval '10 days' end),
  'deadRows', coalesce((select n_dead_tup from pg_stat_user_tables where relid = 'tock.job_runs_live'::regclass), 0)
) as status
from (select tock.partitions_end() as until, tock.partition_unit() as unit) partitions;

-- read-stopped-definitions
select * from (
  select d.name, case when d.broken_at is not null then coalesce(d.broken_reason, '') end as "brokenReason", d.pause_reason as "pauseReason"
  from tock.job_definitions d
  where d.vanished_at is null and (d.broken_at is not null or d.pause_reason like 'paused by itself %')
  order by hashtext(d.name || to_char(tock.now(), 'HH24MI')), d.name limit $1) s
order by s.name;

-- read-taken-occurrences
select o.definition_id::text as id, (extract(epoch from o.scheduled_for) * 1000)::float8 as at
from unnest($1::bigint[], $2::float8[]) as w(definition_id, at)
join tock.job_occurrences o on o.definition_id = w.definition_id and o.scheduled_for = to_timestamp(w.at / 1000);

-- read-totals
with progress as materialized (
  select p.final_until, p.counted_until, p.hours_until from tock.figures_progress p
), ended_runs as (
  select finished_at, job, queue, status, skip_reason, occurrence_count, run_at, started_at from tock.job_runs_finished r where r.finished_at >= $1::timestamptz and r.finished_at < $2::timestamptz and r.finished_at >= (select p.counted_until from progress p)
  union all
  select finished_at, job, queue, status, skip_reason, occurrence_count, run_at, started_at from tock.figures_retried r where r.finished_at >= $1::timestamptz and r.finished_at < $2::timestamptz and r.finished_at >= (select p.counted_until from progress p)
), measured_runs as (
  select date_bin('1 minute', r.finished_at, 'epoch') as at, r.job collate "C" as job, r.queue, r.status collate "C" as status,
    case when r.status <> 'skipped' then '' when r.skip_reason in ('overlap', 'catchup', 'deadline', 'window', 'chain', 'paused', 'edited', 'excepted') then r.skip_reason else 'other' end collate "C" as reason,
    r.occurrence_count, case when m.is_measured then least(greatest(extract(epoch from case when r.finished_at >= '10000-01-01Z'::timestamptz then '9999-12-31T23:59:59Z' when r.finished_at < '0001-01-01Z'::timestamptz then '0001-01-01Z'::timestamptz else r.finished_at end - case when r.started_at >= '10000-01-01Z'::timestamptz then '9999-12-31T23:59:59Z' when r.started_at < '0001-01-01Z'::timestamptz then '0001-01-01Z'::timestamptz else r.started_at end) * 1000000, 0), 1e14)::bigint end as duration_us,
    case when m.is_measured then least(greatest(extract(epoch from case when r.started_at >= '10000-01-01Z'::timestamptz then '9999-12-31T23:59:59Z' when r.started_at < '0001-01-01Z'::timestamptz then '0001-01-01Z'::timestamptz else r.started_at end - case when r.run_at >= '10000-01-01Z'::timestamptz then '9999-12-31T23:59:59Z' when r.run_at < '0001-01-01Z'::timestamptz then '0001-01-01Z'::timestamptz else r.run_at end) * 1000000, 0), 1e14)::bigint end as wait_us
  from ended_runs r cross join lateral (select r.started_at is not null and r.status in ('succeeded', 'dead') as is_measured) m
), cells as (
  select at, job, queue, status, reason, 25 - width_bucket(-duration_us, '{-50000000000,-20000000000,-10000000000,-5000000000,-2000000000,-1000000000,-500000000,-200000000,-100000000,-50000000,-20000000,-10000000,-5000000,-2000000,-1000000,-500000,-200000,-100000,-50000,-20000,-10000,-5000,-2000,-1000}'::bigint[]) as duration_bucket, 25 - width_bucket(-wait_us, '{-50000000000,-20000000000,-10000000000,-5000000000,-2000000000,-1000000000,-500000000,-200000000,-100000000,-50000000,-20000000,-10000000,-5000000,-2000000,-1000000,-500000,-200000,-100000,-50000,-20000,-10000,-5000,-2000,-1000}'::bigint[]) as wait_bucket,
    count(*) as run_count, sum(occurrence_count) as occurrence_count, sum(duration_us) as duration_us, sum(wait_us) as wait_us
  from measured_runs group by at, job, queue, status, reason, duration_bucket, wait_bucket
), uncounted as materialized (
  select at, job, queue, status, reason, sum(run_count)::bigint as run_count, sum(occurrence_count)::bigint as occurrence_count,
    coalesce(sum(duration_us), 0)::bigint as duration_us, coalesce(sum(wait_us), 0)::bigint as wait_us,
    case when count(duration_bucket) > 0 then array[coalesce(sum(run_count) filter (where duration_bucket = 1), 0), coalesce(sum(run_count) filter (where duration_bucket = 2), 0), coalesce(sum(run_count) filter (where duration_bucket = 3), 0), coalesce(sum(run_count) filter (where duration_bucket = 4), 0), coalesce(sum(run_count) filter (where duration_bucket = 5), 0), coalesce(sum(run_count) filter (where duration_bucket = 6), 0), coalesce(sum(run_count) filter (where duration_bucket = 7), 0), coalesce(sum(run_count) filter (where duration_bucket = 8), 0), coalesce(sum(run_count) filter (where duration_bucket = 9), 0), coalesce(sum(run_count) filter (where duration_bucket = 10), 0), coalesce(sum(run_count) filter (where duration_bucket = 11), 0), coalesce(sum(run_count) filter (where duration_bucket = 12), 0), coalesce(sum(run_count) filter (where duration_bucket = 13), 0), coalesce(sum(run_count) filter (where duration_bucket = 14), 0), coalesce(sum(run_count) filter (where duration_bucket = 15), 0), coalesce(sum(run_count) filter (where duration_bucket = 16), 0), coalesce(sum(run_count) filter (where duration_bucket = 17), 0), coalesce(sum(run_count) filter (where duration_bucket = 18), 0), coalesce(sum(run_count) filter (where duration_bucket = 19), 0), coalesce(sum(run_count) filter (where duration_bucket = 20), 0), coalesce(sum(run_count) filter (where duration_bucket = 21), 0), coalesce(sum(run_count) filter (where duration_bucket = 22), 0), coalesce(sum(run_count) filter (where duration_bucket = 23), 0), coalesce(sum(run_count) filter (where duration_bucket = 24), 0), coalesce(sum(run_count) filter (where duration_bucket = 25), 0)]::integer[] end as durations,
    case when count(wait_bucket) > 0 then array[coalesce(sum(run_count) filter (where wait_bucket = 1), 0), coalesce(sum(run_count) filter (where wait_bucket = 2), 0), coalesce(sum(run_count) filter (where wait_bucket = 3), 0), coalesce(sum(run_count) filter (where wait_bucket = 4), 0), coalesce(sum(run_count) filter (where wait_bucket = 5), 0), coalesce(sum(run_count) filter (where wait_bucket = 6), 0), coalesce(sum(run_count) filter (where wait_bucket = 7), 0), coalesce(sum(run_count) filter (where wait_bucket = 8), 0), coalesce(sum(run_count) filter (where wait_bucket = 9), 0), coalesce(sum(run_count) filter (where wait_bucket = 10), 0), coalesce(sum(run_count) filter (where wait_bucket = 11), 0), coalesce(sum(run_count) filter (where wait_bucket = 12), 0), coalesce(sum(run_count) filter (where wait_bucket = 13), 0), coalesce(sum(run_count) filter (where wait_bucket = 14), 0), coalesce(sum(run_count) filter (where wait_bucket = 15), 0), coalesce(sum(run_count) filter (where wait_bucket = 16), 0), coalesce(sum(run_count) filter (where wait_bucket = 17), 0), coalesce(sum(run_count) filter (where wait_bucket = 18), 0), coalesce(sum(run_count) filter (where wait_bucket = 19), 0), coalesce(sum(run_count) filter (where wait_bucket = 20), 0), coalesce(sum(run_count) filter (where wait_bucket = 21), 0), coalesce(sum(run_count) filter (where wait_bucket = 22), 0), coalesce(sum(run_count) filter (where wait_bucket = 23), 0), coalesce(sum(run_count) filter (where wait_bucket = 24), 0), coalesce(sum(run_count) filter (where wait_bucket = 25), 0)]::integer[] end as waits
  from cells group by at, job, queue, status, reason
), minutes as (
  select m.at < (select p.final_until from progress p) as is_final, job, queue, status, reason, run_count, occurrence_count, duration_us, wait_us, durations, waits from tock.figures_by_minute m
  where m.at >= coalesce($3::timestamptz, (select p.hours_until from progress p)) and m.at < (select p.counted_until from progress p)
  union all
  select false, job, queue, status, reason, run_count, occurrence_count, duration_us, wait_us, durations, waits from uncounted
), parts as (
  select is_final, job, queue, status, reason, sum(m.run_count)::bigint as run_count,
    sum(m.occurrence_count)::bigint as occurrence_count,
    sum(m.duration_us)::bigint as duration_us,
    sum(m.wait_us)::bigint as wait_us,
    case when count(m.durations) > 0 then array[sum(m.durations[1]), sum(m.durations[2]), sum(m.durations[3]), sum(m.durations[4]), sum(m.durations[5]), sum(m.durations[6]), sum(m.durations[7]), sum(m.durations[8]), sum(m.durations[9]), sum(m.durations[10]), sum(m.durations[11]), sum(m.durations[12]), sum(m.durations[13]), sum(m.durations[14]), sum(m.durations[15]), sum(m.durations[16]), sum(m.durations[17]), sum(m.durations[18]), sum(m.durations[19]), sum(m.durations[20]), sum(m.durations[21]), sum(m.durations[22]), sum(m.durations[23]), sum(m.durations[24]), sum(m.durations[25])]::bigint[] end as durations,
    case when count(m.waits) > 0 then array[sum(m.waits[1]), sum(m.waits[2]), sum(m.waits[3]), sum(m.waits[4]), sum(m.waits[5]), sum(m.waits[6]), sum(m.waits[7]), sum(m.waits[8]), sum(m.waits[9]), sum(m.waits[10]), sum(m.waits[11]), sum(m.waits[12]), sum(m.waits[13]), sum(m.waits[14]), sum(m.waits[15]), sum(m.waits[16]), sum(m.waits[17]), sum(m.waits[18]), sum(m.waits[19]), sum(m.waits[20]), sum(m.waits[21]), sum(m.waits[22]), sum(m.waits[23]), sum(m.waits[24]), sum(m.waits[25])]::bigint[] end as waits from minutes m group by is_final, job, queue, status, reason
  union all
  select true, job, queue, status, reason, run_count, occurrence_count, duration_us, wait_us, durations, waits from tock.figures_total where $3::timestamptz is null
), sums as (
  select is_final, job, queue, status, reason, sum(f.run_count)::bigint as run_count,
    sum(f.occurrence_count)::bigint as occurrence_count,
    sum(f.duration_us)::bigint as duration_us,
    sum(f.wait_us)::bigint as wait_us,
    case when count(f.durations) > 0 then array[sum(f.durations[1]), sum(f.durations[2]), sum(f.durations[3]), sum(f.durations[4]), sum(f.durations[5]), sum(f.durations[6]), sum(f.durations[7]), sum(f.durations[8]), sum(f.durations[9]), sum(f.durations[10]), sum(f.durations[11]), sum(f.durations[12]), sum(f.durations[13]), sum(f.durations[14]), sum(f.durations[15]), sum(f.durations[16]), sum(f.durations[17]), sum(f.durations[18]), sum(f.durations[19]), sum(f.durations[20]), sum(f.durations[21]), sum(f.durations[22]), sum(f.durations[23]), sum(f.durations[24]), sum(f.durations[25])]::bigint[] end as durations,
    case when count(f.waits) > 0 then array[sum(f.waits[1]), sum(f.waits[2]), sum(f.waits[3]), sum(f.waits[4]), sum(f.waits[5]), sum(f.waits[6]), sum(f.waits[7]), sum(f.waits[8]), sum(f.waits[9]), sum(f.waits[10]), sum(f.waits[11]), sum(f.waits[12]), sum(f.waits[13]), sum(f.waits[14]), sum(f.waits[15]), sum(f.waits[16]), sum(f.waits[17]), sum(f.waits[18]), sum(f.waits[19]), sum(f.waits[20]), sum(f.waits[21]), sum(f.waits[22]), sum(f.waits[23]), sum(f.waits[24]), sum(f.waits[25])]::bigint[] end as waits from parts f group by is_final, job, queue, status, reason
)
select (extract(epoch from p.final_until) * 1000)::float8 as "finalUntil", (extract(epoch from p.hours_until) * 1000)::float8 as "hoursUntil", s.is_final as "isFinal",
  s.job, s.queue, s.status, s.reason, s.run_count::float8 as runs, s.occurrence_count::float8 as occurrences,
  s.duration_us::text as "durationUs", s.wait_us::text as "waitUs", array_to_string(s.durations, ',') as durations, array_to_string(s.waits, ',') as waits
from progress p left join sums s on true;

-- read-troubled
with dead as materialized (
  select definition_id, count(*)::int as count, max(finished_at) as at, (array_agg(id order by finished_at desc))[1] as id from (
    select definition_id, finished_at, id from tock.job_runs_finished
    where status = 'dead' and finished_at > tock.now() - interval '24 hours' and finished_at <= tock.now() limit 10000) r
  where definition_id is not null group by definition_id
)
select t.*, count(*) over ()::int as total from (
select d.name, d.job, d.cron, d.every_ms::float8 as every_ms, d.phase_ms::float8 as phase_ms, d.anchor,
  d.at, d.after, d.timezone, case when isfinite(d.next_at) then extract(epoch from case when d.next_at >= '10000-01-01Z'::timestamptz then '9999-12-31T23:59:59Z' when d.next_at < '0001-01-01Z'::timestamptz then '0001-01-01Z'::timestamptz else d.next_at end) end as "nextAt", d.broken_reason as "brokenReason",
  extract(epoch from d.paused_at) as "pausedAt", d.pause_reason as "pauseReason", coalesce(dead.count, 0) as dead,
  extract(epoch from dead.at) as "lastDeadAt", dead.id::text as "lastDeadId",
  (select jsonb_build_object('name', e.error ->> 'name', 'message', left(e.error ->> 'message', 500), 'cause', case when e.error -> 'cause' is not null or e.error -> 'errors' is not null then (
    with recursive inner_errors (said, depth) as (
      select coalesce(e.error -> 'cause', e.error -> 'errors' -> 0), 1
      union all
      select coalesce(said -> 'cause', said -> 'errors' -> 0), depth + 1 from inner_errors where said is not null
    )
    select left(coalesce(nullif(said ->> 'message', ''), nullif(said ->> 'code', ''), said ->> 'name'), 500)
    from inner_errors where said is not null order by depth desc limit 1) end) from (select r.errors -> -1 as error
    from tock.job_runs_finished r where r.id = dead.id and r.finished_at = dead.at) e) as "lastError",
  case when (d.pause_id is not null and dead.count is null and d.broken_at is null) then count(*) over act else 1 end::int as together,
  (d.pause_id is not null and dead.count is null and d.broken_at is null) and row_number() over (act order by d.name) > 1 as "isStoodFor",
  row_number() over (order by d.broken_at is null, dead.count is null, d.paused_at is not null, dead.count desc, d.name) as place,
  case when d.paused_at is null and d.broken_at is null and isfinite(d.next_at) and d.next_at < tock.now()
    then (extract(epoch from tock.now() - d.next_at) * 1000)::float8 else 0 end as "overdueMs"
from tock.job_definitions d left join dead on dead.definition_id = d.id
where d.vanished_at is null and (dead.count is not null or d.broken_at is not null
  or (d.paused_at is not null and (d.next_at is not null or d.after is not null))
  or (d.next_at < tock.now() - $1 * interval '1 millisecond' and isfinite(d.next_at)))
window act as (partition by d.pause_id, (d.pause_id is not null and dead.count is null and d.broken_at is null))
) t where not t."isStoodFor" order by t.place limit $2;

-- read-unchanged-definitions
select d.id::text as id from tock.job_definitions d
where d.vanished_at is null and d.created_at <= $1::timestamptz
  and not exists (select from tock.definition_versions v where v.definition_id = d.id and v.written_at > $1::timestamptz);

-- read-undelivered-flips
select f.rule, f.condition as "when", f.subject, f.kind, to_char(f.at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') as at, to_char(f.since at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') as since, f.detail, f.run_id::text as "runId",
  v.timezone as zone, case when e.last is not null then jsonb_build_object('name', e.last ->> 'name', 'message', left(e.last ->> 'message', 500), 'cause', case when e.last -> 'cause' is not null or e.last -> 'errors' is not null then (
    with recursive inner_errors (said, depth) as (
      select coalesce(e.last -> 'cause', e.last -> 'errors' -> 0), 1
      union all
      select coalesce(said -> 'cause', said -> 'errors' -> 0), depth + 1 from inner_errors where said is not null
    )
    select left(coalesce(nullif(said ->> 'message', ''), nullif(said ->> 'code', ''), said ->> 'name'), 500)
    from inner_errors where said is not null order by depth desc limit 1) end) end as error
from tock.alert_deliveries d join tock.alert_flips f on f.id = d.flip_id
left join tock.job_definitions v on v.name = f.subject and f.condition not in ('waiting', 'silent')
left join lateral (
  select r.errors -> -1 as last from (
    (select r.errors from tock.job_runs r where r.id = f.run_id limit 1)
    union all
    (select r.errors from tock.job_runs r where f.run_id is null and r.definition_id = v.id and r.scheduled_for is not null
      order by r.scheduled_for desc limit 1)
  ) r limit 1
) e on true
where d.run_id = $1 and d.delivered_at is null order by f.id;

-- read-upkeep
select kind from tock.upkeep;

-- read-volume
-- From the planner's figures and the statistics: counting a million rows each night would cost too much.
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

-- read-waiting-queues
with recursive queue_lanes as (
  (select queue, priority from tock.job_runs_live where blocked_on is null order by queue, priority limit 1)
  union all
  select n.queue, n.priority from queue_lanes p cross join lateral (
    select r.queue, r.priority from tock.job_runs_live r
    where r.blocked_on is null and (r.queue, r.priority) > (p.queue, p.priority) order by r.queue, r.priority limit 1) n
)
select w.queue, (extract(epoch from tock.now()) * 1000)::float8 - (extract(epoch from min(w.run_at)) * 1000)::float8 - tock.frozen_ms(min(w.run_at)) as "waitedMs", bool_or(w.is_paused) as "isPaused"
from (select p.queue, w.run_at, q.paused_at is not null as is_paused
  from queue_lanes p left join tock.job_queues q on q.name = p.queue cross join lateral (
    select r.run_at from tock.job_runs_live r
    where r.blocked_on is null and r.queue = p.queue and r.priority = p.priority and r.run_at <= tock.now() - $1::float8 * interval '1 millisecond' and r.status in ('queued', 'failed')
    order by r.run_at, r.id limit 1
  ) w
  where p.queue <> 'tock:alerts' and ((extract(epoch from tock.now()) - extract(epoch from w.run_at)) * 1000)::float8 - tock.frozen_ms(w.run_at) >= $1::float8 and ($2::text[] is null or p.queue = any($2::text[])) and (q.paused_at is not null or q.paused_at is null and coalesce(q.closed_until <= tock.now(), true) and (q.active_window is null or case when split_part(q.active_window, '-', 1) < split_part(q.active_window, '-', 2)
    then (tock.now() at time zone q.timezone)::time >= split_part(q.active_window, '-', 1)::time and (tock.now() at time zone q.timezone)::time < split_part(q.active_window, '-', 2)::time
    else (tock.now() at time zone q.timezone)::time >= split_part(q.active_window, '-', 1)::time or (tock.now() at time zone q.timezone)::time < split_part(q.active_window, '-', 2)::time end)
    and (q.active_window is null or (((tock.now() at time zone q.timezone)::date + split_part(q.active_window, '-', 1)::time - case when (tock.now() at time zone q.timezone)::time < split_part(q.active_window, '-', 1)::time then interval '1 day' else interval '0' end) at time zone q.timezone) <= tock.now() - $1::float8 * interval '1 millisecond'))) w group by w.queue order by w.queue;

-- read-worker-load
with recursive queue_lanes as (
  (select queue, priority from tock.job_runs_live where blocked_on is null order by queue, priority limit 1)
  union all
  select n.queue, n.priority from queue_lanes p cross join lateral (
    select r.queue, r.priority from tock.job_runs_live r
    where r.blocked_on is null and (r.queue, r.priority) > (p.queue, p.priority) order by r.queue, r.priority limit 1) n
), running as materialized (
  select x.* from queue_lanes p cross join lateral (
    select r.id, r.job, r.definition_id, r.status, r.started_at, r.progress, r.locked_by, r.locked_until
    from tock.job_runs_live r where r.queue = p.queue and r.priority = p.priority and r.blocked_on is null
    order by r.run_at, r.id
    limit (select greatest(20, 10000 / greatest(count(*), 1)) from queue_lanes)) x
  where x.status = 'running'
)
select w.id, w.kind, w.host, w.pid, w.service, w.capacity, extract(epoch from case when w.started_at >= '10000-01-01Z'::timestamptz then '9999-12-31T23:59:59Z' when w.started_at < '0001-01-01Z'::timestamptz then '0001-01-01Z'::timestamptz else w.started_at end) as "startedAt", extract(epoch from case when w.seen_at >= '10000-01-01Z'::timestamptz then '9999-12-31T23:59:59Z' when w.seen_at < '0001-01-01Z'::timestamptz then '0001-01-01Z'::timestamptz else w.seen_at end) as "seenAt",
  coalesce(w.heartbeat_ms, 15000) as "heartbeatMs", w.draining as "isDraining",
  w.seen_at not between tock.now() - coalesce(w.heartbeat_ms, 15000) * interval '2.5 milliseconds'
    and tock.now() + coalesce(w.heartbeat_ms, 15000) * interval '2.5 milliseconds' as "isSilent",
  case when w.cpu is not null then jsonb_build_object('cpu', w.cpu, 'memoryBytes', w.memory_bytes, 'loopDelayMs', w.loop_delay_ms) end as load,
  (select count(*)::integer from running r where r.locked_by = w.id) as running,
  coalesce((select jsonb_agg(to_jsonb(l)) from (
    select r.id::text as id, r.job, d.name as definition, case when r.started_at >= '10000-01-01Z'::timestamptz then '9999-12-31T23:59:59Z' when r.started_at < '0001-01-01Z'::timestamptz then '0001-01-01Z'::timestamptz else r.started_at end as "startedAt",
      case jsonb_typeof(r.progress -> 'fraction') when 'number' then r.progress -> 'fraction' end as fraction
    from running r left join tock.job_definitions d on d.id = r.definition_id where r.locked_by = w.id
    order by r.started_at, r.id limit 6) l), '[]') as runs
from (select * from tock.workers order by host, started_at, id limit 200) w
order by w.host, w.started_at, w.id;

-- read-zone-names
select z.name from pg_timezone_names z;

-- read-zone-offsets
select z.timezone,
  array_agg(extract(epoch from (t.at at time zone z.timezone) - (t.at at time zone 'UTC'))::integer order by t.at) as offsets
from unnest($1::text[]) z(timezone)
cross join (
  select to_timestamp($2::float8 + i * $3::float8) as at from generate_series(0, $4::integer - 1) i
) t
group by z.timezone order by z.timezone;

-- read-zones
select z.timezone, z.zone_data as "zoneData", z.offsets from tock.zones z where z.timezone = any($1::text[]) order by z.timezone;

-- reap
with recursive queue_lanes as (
  (select queue, priority from tock.job_runs_live where blocked_on is null order by queue, priority limit 1)
  union all
  select n.queue, n.priority from queue_lanes p cross join lateral (
    select r.queue, r.priority from tock.job_runs_live r
    where r.blocked_on is null and (r.queue, r.priority) > (p.queue, p.priority) order by r.queue, r.priority limit 1) n
), expired as materialized (
  select e.* from queue_lanes p cross join lateral (
    select r.id, r.job, (r.attempts >= r.max_attempts or r.trigger = 'exec') as is_last from tock.job_runs_live r
    where r.blocked_on is null and r.queue = p.queue and r.priority = p.priority and r.run_at <= tock.now()
      and r.status in ('running') and (r.locked_until < tock.now() or r.locked_until is null)
    order by r.run_at, r.id
    limit $1
    for update skip locked
  ) e
  limit $1
), policies as materialized (
  select * from jsonb_to_recordset($2::jsonb) as p(job text, backoff text, base float8, max float8)
), asked as (
  delete from tock.job_runs_live r where r.id = any(array(select id from expired)) and (r.cancel_requested_at is not null or r.live_key is not null and not (r.attempts >= r.max_attempts or r.trigger = 'exec') and tock.successor_of(r.live_key) is not null) returning r.*
), withdrawn as (
  insert into tock.job_runs_finished (id, definition_id, run_at, priority, attempts, max_attempts, fence, releases, generation, occurrence_count, scheduled_for, interval_start, start_by, locked_by, created_at, started_at, job, queue, trigger, idempotency_key, payload, errors, progress, slot_keys, slot_limits, live_key, traceparent, last_traceparent, began_at, snoozes, has_waiters, has_parents, tags, finished_at, status, skip_reason)
  select id, definition_id, run_at, priority, attempts, max_attempts, fence, releases, generation, occurrence_count, scheduled_for, interval_start, start_by, locked_by, created_at, started_at, job, queue, trigger, idempotency_key, payload, errors, progress, slot_keys, slot_limits, live_key, traceparent, last_traceparent, began_at, snoozes, has_waiters, has_parents, tags, tock.now(), 'cancelled', case when cancel_requested_at is null then 'replaced by run ' || tock.successor_of(live_key) else skip_reason end
  from asked
  returning id
), again as (
  update tock.job_runs_live r
  set status = 'failed', locked_by = null, locked_until = null,
      run_at = tock.now() + least(coalesce(p.base, $3::float8) * case coalesce(p.backoff, $4)
    when 'fixed' then 1 when 'linear' then r.attempts else power(2, least(r.attempts, 40) - 1) end, coalesce(p.max, $5::float8)) * interval '1 millisecond',
      errors = (case when jsonb_array_length(r.errors) >= 50 then r.errors - 0 else r.errors end) || (jsonb_build_object(
  'at', to_char(tock.now() at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'), 'attempt', r.attempts, 'code', 'TOCK_LEASE_LOST', 'stack', null)
  || case when r.locked_by = '00000000-0000-0000-0000-000000000000' then jsonb_build_object('name', 'HandOffExpired', 'message',
    'it was handed off' || coalesce(' to ' || (select h.handed_to from tock.job_hand_offs h where h.run_id = r.id and h.fence = r.fence and r.locked_by = '00000000-0000-0000-0000-000000000000'), '') || ', and its lease ended before it was completed or extended')
  else jsonb_build_object('name', 'LeaseExpired', 'message', 'the worker ' || coalesce((select w.host || ' pid ' || w.pid from tock.workers w where w.id = r.locked_by), r.locked_by::text, '?')
    || ' stopped renewing its lease: it was killed, lost the database, or its event loop was blocked') end
  || jsonb_strip_nulls(jsonb_build_object('dueAt', to_char(coalesce((select h.due_at from tock.job_hand_offs h where h.run_id = r.id and h.fence = r.fence and r.locked_by = '00000000-0000-0000-0000-000000000000'), r.run_at) at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'), 'startedAt', to_char(r.started_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'))) || jsonb_strip_nulls(jsonb_build_object('worker', (select w.host || ' pid ' || w.pid from tock.workers w where w.id = r.locked_by), 'deploy', (select v.name from tock.deploys v where v.code = left(r.locked_by::text, 13))))),
      slot_keys = case when $6::boolean and r.errors -> -1 ->> 'code' = 'TOCK_LEASE_LOST'
        and r.errors -> -1 ->> 'name' is distinct from 'HandOffExpired' and r.locked_by is distinct from '00000000-0000-0000-0000-000000000000' and 'isolated' <> all(coalesce(r.slot_keys, '{}')) then array_append(r.slot_keys, 'isolated') else r.slot_keys end,
      slot_limits = case when $6::boolean and r.errors -> -1 ->> 'code' = 'TOCK_LEASE_LOST'
        and r.errors -> -1 ->> 'name' is distinct from 'HandOffExpired' and r.locked_by is distinct from '00000000-0000-0000-0000-000000000000' and 'isolated' <> all(coalesce(r.slot_keys, '{}')) then array_append(r.slot_limits, 4) else r.slot_limits end
  from expired left join policies p on p.job = expired.job
  where r.id = any(array(select id from expired where not is_last)) and r.id = expired.id and r.id <> all(array(select id from asked))
  returning r.id, r.definition_id, r.job, r.attempts, r.generation, r.keeps_changes
), alerted_failures as (
  insert into tock.alert_events (kind, count, run_id, definition_id, job)
  select 'failed', count(*)::integer, max(f.id), f.definition_id, f.job from again f
  where f.job <> 'tock:deliver-alert' and exists (select from tock.alert_clock c where c.checked_at > tock.now() - interval '7 days')
  group by f.definition_id, f.job
), changed as (
  insert into tock.job_changes (kind, run_id, job, definition_id, status, attempts, generation)
  select 'failed', c.id, c.job, c.definition_id, 'failed', c.attempts, c.generation
  from again c where c.keeps_changes order by c.id
), gone as (
  delete from tock.job_runs_live r
  where r.id = any(array(select id from expired where is_last)) and r.id <> all(array(select id from asked))
  returning r.*
), dead as (
  insert into tock.job_runs_finished (id, definition_id, run_at, priority, attempts, max_attempts, fence, releases, generation, occurrence_count, scheduled_for, interval_start, start_by, locked_by, created_at, started_at, job, queue, trigger, idempotency_key, payload, errors, progress, slot_keys, slot_limits, live_key, traceparent, last_traceparent, began_at, snoozes, has_waiters, has_parents, tags, finished_at, status)
  select id, definition_id, coalesce((select h.due_at from tock.job_hand_offs h where h.run_id = r.id and h.fence = r.fence and r.locked_by = '00000000-0000-0000-0000-000000000000'), r.run_at), priority, attempts, max_attempts, fence, releases, generation, occurrence_count, scheduled_for, interval_start, start_by, locked_by, created_at, started_at, job, queue, trigger, idempotency_key, payload, (case when jsonb_array_length(r.errors) >= 50 then r.errors - 0 else r.errors end) || (jsonb_build_object(
  'at', to_char(tock.now() at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'), 'attempt', r.attempts, 'code', 'TOCK_LEASE_LOST', 'stack', null)
  || case when r.locked_by = '00000000-0000-0000-0000-000000000000' then jsonb_build_object('name', 'HandOffExpired', 'message',
    'it was handed off' || coalesce(' to ' || (select h.handed_to from tock.job_hand_offs h where h.run_id = r.id and h.fence = r.fence and r.locked_by = '00000000-0000-0000-0000-000000000000'), '') || ', and its lease ended before it was completed or extended')
  else jsonb_build_object('name', 'LeaseExpired', 'message', 'the worker ' || coalesce((select w.host || ' pid ' || w.pid from tock.workers w where w.id = r.locked_by), r.locked_by::text, '?')
    || ' stopped renewing its lease: it was killed, lost the database, or its event loop was blocked') end
  || jsonb_strip_nulls(jsonb_build_object('dueAt', to_char(coalesce((select h.due_at from tock.job_hand_offs h where h.run_id = r.id and h.fence = r.fence and r.locked_by = '00000000-0000-0000-0000-000000000000'), r.run_at) at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'), 'startedAt', to_char(r.started_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'))) || jsonb_strip_nulls(jsonb_build_object('worker', (select w.host || ' pid ' || w.pid from tock.workers w where w.id = r.locked_by), 'deploy', (select v.name from tock.deploys v where v.code = left(r.locked_by::text, 13))))), progress, slot_keys, slot_limits, live_key, traceparent, last_traceparent, began_at, snoozes, has_waiters, has_parents, tags, tock.now(), 'dead'
  from gone r
  returning id
), ended as (
  select a.*, 'cancelled' as ended_as from asked a
  union all select g.*, 'dead' from gone g
), freed as (
  delete from tock.job_slots s where s.run_id = any(array(select m.id from expired m))
    and (not (s.concurrency_key like 'definition:%' or s.concurrency_key like '~!%') or s.run_id = any(array(select m.id from expired m where m.is_last or m.id in (select id from asked))))
  returning s.concurrency_key
), noted as (
  insert into tock.job_outbox (kind, run_id, run_ids, generation, definition_id, scheduled_for)
  select k.kind, e.id, null::bigint[], e.generation, e.definition_id, e.scheduled_for from ended e cross join lateral (
    select 'chain' as kind from tock.job_definitions d
    where d.id = e.definition_id and d.has_followers and e.scheduled_for is not null
    union all
    select 'dead' from tock.job_definitions d where e.ended_as = 'dead' and d.name = e.job and d.on_dead is not null
  ) k
  where e.definition_id is not null or e.ended_as = 'dead'
  union all
  select 'end', null, array_agg(e.id order by e.id), 1, null, null from ended e where e.has_waiters having count(*) > 0
  returning id
), alerted as (
  insert into tock.alert_events (kind, count, run_id, definition_id, job)
  select 'dead', count(*)::integer, max(e.id), e.definition_id, e.job from ended e
  where e.ended_as = 'dead' and e.job <> 'tock:deliver-alert' and exists (select from tock.alert_clock c where c.checked_at > tock.now() - interval '7 days')
  group by e.definition_id, e.job
  union all
  select 'succeeded', count(*)::integer, max(e.id), e.definition_id, e.job from ended e
  where e.ended_as = 'succeeded' and (select s.job from tock.alert_states s where s.job is not null order by s.job limit 1) is not null and e.job = any(array(select s.job from tock.alert_states s where s.job is not null order by s.job limit 1000))
  group by e.definition_id, e.job, case when e.definition_id is null and e.id = any(array(select s.run_id from tock.alert_states s where s.job is not null order by s.job limit 1000)) then e.id end
), removed as (
  -- A dead process cannot remove its own row. One that was only cut off inserts its row again.
  delete from tock.workers w where w.id = any(array(select w.id from (
    select id from tock.workers where seen_at < tock.now() - interval '10 minutes'
    order by hashtext(id::text || to_char(tock.now(), 'HH24MI')) limit 10) w
  where 0 = (select count(*) from (select from queue_lanes p cross join lateral (
    select from tock.job_runs_live r
    where r.blocked_on is null and r.queue = p.queue and r.priority = p.priority and r.run_at <= tock.now()
      and r.locked_by = w.id and r.status = 'running'
    order by r.run_at, r.id limit 1) h limit 1) held)))
)
select (select count(*) from again)::int as failed, (select count(*) from dead)::int as dead,
  (select count(*) from withdrawn)::int as cancelled, (select array_agg(distinct concurrency_key) from freed) as freed, exists (select from noted) as "outboxWritten",
  array(select id::text from dead) as dead_ids,
  -- As of the start of the statement, so without what this reaping adds.
  (exists (select from tock.job_slots) or (select blocked_on from tock.job_runs_live where blocked_on < '~'
    order by blocked_on, queue, priority, run_at, id limit 1) is not null) as has_limits, exists (select from tock.job_outbox) as has_outbox, exists (select from tock.job_hand_offs h where h.handed_off_at is not null and h.decided_at is not null and h.written_at is null) as has_decided;

-- reap-these
with recursive queue_lanes as (
  (select queue, priority from tock.job_runs_live where blocked_on is null order by queue, priority limit 1)
  union all
  select n.queue, n.priority from queue_lanes p cross join lateral (
    select r.queue, r.priority from tock.job_runs_live r
    where r.blocked_on is null and (r.queue, r.priority) > (p.queue, p.priority) order by r.queue, r.priority limit 1) n
), expired as materialized (
  select r.id, r.job, (r.attempts >= r.max_attempts or r.trigger = 'exec') as is_last from tock.job_runs_live r
  where r.id = any($1::bigint[]) and r.blocked_on is null and r.status in ('running')
    and (r.locked_until < tock.now() or r.locked_until is null)
  order by r.id limit $2
  for update skip locked
), policies as materialized (
  select * from jsonb_to_recordset($3::jsonb) as p(job text, backoff text, base float8, max float8)
), asked as (
  delete from tock.job_runs_live r where r.id = any(array(select id from expired)) and (r.cancel_requested_at is not null or r.live_key is not null and not (r.attempts >= r.max_attempts or r.trigger = 'exec') and tock.successor_of(r.live_key) is not null) returning r.*
), withdrawn as (
  insert into tock.job_runs_finished (id, definition_id, run_at, priority, attempts, max_attempts, fence, releases, generation, occurrence_count, scheduled_for, interval_start, start_by, locked_by, created_at, started_at, job, queue, trigger, idempotency_key, payload, errors, progress, slot_keys, slot_limits, live_key, traceparent, last_traceparent, began_at, snoozes, has_waiters, has_parents, tags, finished_at, status, skip_reason)
  select id, definition_id, run_at, priority, attempts, max_attempts, fence, releases, generation, occurrence_count, scheduled_for, interval_start, start_by, locked_by, created_at, started_at, job, queue, trigger, idempotency_key, payload, errors, progress, slot_keys, slot_limits, live_key, traceparent, last_traceparent, began_at, snoozes, has_waiters, has_parents, tags, tock.now(), 'cancelled', case when cancel_requested_at is null then 'replaced by run ' || tock.successor_of(live_key) else skip_reason end
  from asked
  returning id
), again as (
  update tock.job_runs_live r
  set status = 'failed', locked_by = null, locked_until = null,
      run_at = tock.now() + least(coalesce(p.base, $4::float8) * case coalesce(p.backoff, $5)
    when 'fixed' then 1 when 'linear' then r.attempts else power(2, least(r.attempts, 40) - 1) end, coalesce(p.max, $6::float8)) * interval '1 millisecond',
      errors = (case when jsonb_array_length(r.errors) >= 50 then r.errors - 0 else r.errors end) || (jsonb_build_object(
  'at', to_char(tock.now() at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'), 'attempt', r.attempts, 'code', 'TOCK_LEASE_LOST', 'stack', null)
  || case when r.locked_by = '00000000-0000-0000-0000-000000000000' then jsonb_build_object('name', 'HandOffExpired', 'message',
    'it was handed off' || coalesce(' to ' || (select h.handed_to from tock.job_hand_offs h where h.run_id = r.id and h.fence = r.fence and r.locked_by = '00000000-0000-0000-0000-000000000000'), '') || ', and its lease ended before it was completed or extended')
  else jsonb_build_object('name', 'LeaseExpired', 'message', 'the worker ' || coalesce((select w.host || ' pid ' || w.pid from tock.workers w where w.id = r.locked_by), r.locked_by::text, '?')
    || ' stopped renewing its lease: it was killed, lost the database, or its event loop was blocked') end
  || jsonb_strip_nulls(jsonb_build_object('dueAt', to_char(coalesce((select h.due_at from tock.job_hand_offs h where h.run_id = r.id and h.fence = r.fence and r.locked_by = '00000000-0000-0000-0000-000000000000'), r.run_at) at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'), 'startedAt', to_char(r.started_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'))) || jsonb_strip_nulls(jsonb_build_object('worker', (select w.host || ' pid ' || w.pid from tock.workers w where w.id = r.locked_by), 'deploy', (select v.name from tock.deploys v where v.code = left(r.locked_by::text, 13))))),
      slot_keys = case when $7::boolean and r.errors -> -1 ->> 'code' = 'TOCK_LEASE_LOST'
        and r.errors -> -1 ->> 'name' is distinct from 'HandOffExpired' and r.locked_by is distinct from '00000000-0000-0000-0000-000000000000' and 'isolated' <> all(coalesce(r.slot_keys, '{}')) then array_append(r.slot_keys, 'isolated') else r.slot_keys end,
      slot_limits = case when $7::boolean and r.errors -> -1 ->> 'code' = 'TOCK_LEASE_LOST'
        and r.errors -> -1 ->> 'name' is distinct from 'HandOffExpired' and r.locked_by is distinct from '00000000-0000-0000-0000-000000000000' and 'isolated' <> all(coalesce(r.slot_keys, '{}')) then array_append(r.slot_limits, 4) else r.slot_limits end
  from expired left join policies p on p.job = expired.job
  where r.id = any(array(select id from expired where not is_last)) and r.id = expired.id and r.id <> all(array(select id from asked))
  returning r.id, r.definition_id, r.job, r.attempts, r.generation, r.keeps_changes
), alerted_failures as (
  insert into tock.alert_events (kind, count, run_id, definition_id, job)
  select 'failed', count(*)::integer, max(f.id), f.definition_id, f.job from again f
  where f.job <> 'tock:deliver-alert' and exists (select from tock.alert_clock c where c.checked_at > tock.now() - interval '7 days')
  group by f.definition_id, f.job
), changed as (
  insert into tock.job_changes (kind, run_id, job, definition_id, status, attempts, generation)
  select 'failed', c.id, c.job, c.definition_id, 'failed', c.attempts, c.generation
  from again c where c.keeps_changes order by c.id
), gone as (
  delete from tock.job_runs_live r
  where r.id = any(array(select id from expired where is_last)) and r.id <> all(array(select id from asked))
  returning r.*
), dead as (
  insert into tock.job_runs_finished (id, definition_id, run_at, priority, attempts, max_attempts, fence, releases, generation, occurrence_count, scheduled_for, interval_start, start_by, locked_by, created_at, started_at, job, queue, trigger, idempotency_key, payload, errors, progress, slot_keys, slot_limits, live_key, traceparent, last_traceparent, began_at, snoozes, has_waiters, has_parents, tags, finished_at, status)
  select id, definition_id, coalesce((select h.due_at from tock.job_hand_offs h where h.run_id = r.id and h.fence = r.fence and r.locked_by = '00000000-0000-0000-0000-000000000000'), r.run_at), priority, attempts, max_attempts, fence, releases, generation, occurrence_count, scheduled_for, interval_start, start_by, locked_by, created_at, started_at, job, queue, trigger, idempotency_key, payload, (case when jsonb_array_length(r.errors) >= 50 then r.errors - 0 else r.errors end) || (jsonb_build_object(
  'at', to_char(tock.now() at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'), 'attempt', r.attempts, 'code', 'TOCK_LEASE_LOST', 'stack', null)
  || case when r.locked_by = '00000000-0000-0000-0000-000000000000' then jsonb_build_object('name', 'HandOffExpired', 'message',
    'it was handed off' || coalesce(' to ' || (select h.handed_to from tock.job_hand_offs h where h.run_id = r.id and h.fence = r.fence and r.locked_by = '00000000-0000-0000-0000-000000000000'), '') || ', and its lease ended before it was completed or extended')
  else jsonb_build_object('name', 'LeaseExpired', 'message', 'the worker ' || coalesce((select w.host || ' pid ' || w.pid from tock.workers w where w.id = r.locked_by), r.locked_by::text, '?')
    || ' stopped renewing its lease: it was killed, lost the database, or its event loop was blocked') end
  || jsonb_strip_nulls(jsonb_build_object('dueAt', to_char(coalesce((select h.due_at from tock.job_hand_offs h where h.run_id = r.id and h.fence = r.fence and r.locked_by = '00000000-0000-0000-0000-000000000000'), r.run_at) at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'), 'startedAt', to_char(r.started_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'))) || jsonb_strip_nulls(jsonb_build_object('worker', (select w.host || ' pid ' || w.pid from tock.workers w where w.id = r.locked_by), 'deploy', (select v.name from tock.deploys v where v.code = left(r.locked_by::text, 13))))), progress, slot_keys, slot_limits, live_key, traceparent, last_traceparent, began_at, snoozes, has_waiters, has_parents, tags, tock.now(), 'dead'
  from gone r
  returning id
), ended as (
  select a.*, 'cancelled' as ended_as from asked a
  union all select g.*, 'dead' from gone g
), freed as (
  delete from tock.job_slots s where s.run_id = any(array(select m.id from expired m))
    and (not (s.concurrency_key like 'definition:%' or s.concurrency_key like '~!%') or s.run_id = any(array(select m.id from expired m where m.is_last or m.id in (select id from asked))))
  returning s.concurrency_key
), noted as (
  insert into tock.job_outbox (kind, run_id, run_ids, generation, definition_id, scheduled_for)
  select k.kind, e.id, null::bigint[], e.generation, e.definition_id, e.scheduled_for from ended e cross join lateral (
    select 'chain' as kind from tock.job_definitions d
    where d.id = e.definition_id and d.has_followers and e.scheduled_for is not null
    union all
    select 'dead' from tock.job_definitions d where e.ended_as = 'dead' and d.name = e.job and d.on_dead is not null
  ) k
  where e.definition_id is not null or e.ended_as = 'dead'
  union all
  select 'end', null, array_agg(e.id order by e.id), 1, null, null from ended e where e.has_waiters having count(*) > 0
  returning id
), alerted as (
  insert into tock.alert_events (kind, count, run_id, definition_id, job)
  select 'dead', count(*)::integer, max(e.id), e.definition_id, e.job from ended e
  where e.ended_as = 'dead' and e.job <> 'tock:deliver-alert' and exists (select from tock.alert_clock c where c.checked_at > tock.now() - interval '7 days')
  group by e.definition_id, e.job
  union all
  select 'succeeded', count(*)::integer, max(e.id), e.definition_id, e.job from ended e
  where e.ended_as = 'succeeded' and (select s.job from tock.alert_states s where s.job is not null order by s.job limit 1) is not null and e.job = any(array(select s.job from tock.alert_states s where s.job is not null order by s.job limit 1000))
  group by e.definition_id, e.job, case when e.definition_id is null and e.id = any(array(select s.run_id from tock.alert_states s where s.job is not null order by s.job limit 1000)) then e.id end
), removed as (
  -- A dead process cannot remove its own row. One that was only cut off inserts its row again.
  delete from tock.workers w where w.id = any(array(select w.id from (
    select id from tock.workers where seen_at < tock.now() - interval '10 minutes'
    order by hashtext(id::text || to_char(tock.now(), 'HH24MI')) limit 10) w
  where 0 = (select count(*) from (select from queue_lanes p cross join lateral (
    select from tock.job_runs_live r
    where r.blocked_on is null and r.queue = p.queue and r.priority = p.priority and r.run_at <= tock.now()
      and r.locked_by = w.id and r.status = 'running'
    order by r.run_at, r.id limit 1) h limit 1) held)))
)
select (select count(*) from again)::int as failed, (select count(*) from dead)::int as dead,
  (select count(*) from withdrawn)::int as cancelled, (select array_agg(distinct concurrency_key) from freed) as freed, exists (select from noted) as "outboxWritten",
  array(select id::text from dead) as dead_ids,
  -- As of the start of the statement, so without what this reaping adds.
  (exists (select from tock.job_slots) or (select blocked_on from tock.job_runs_live where blocked_on < '~'
    order by blocked_on, queue, priority, run_at, id limit 1) is not null) as has_limits, exists (select from tock.job_outbox) as has_outbox, exists (select from tock.job_hand_offs h where h.handed_off_at is not null and h.decided_at is not null and h.written_at is null) as has_decided;

-- redirect-dead
with dead as materialized (
  select nextval('tock.job_runs_id_seq') as id, 'dead:' || r.id || ':' || e.generation as key, j.on_dead as job, jsonb_build_object(
    'run', r.id::text, 'job', r.job, 'definition', d.name, 'scheduledFor', to_char(r.scheduled_for at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"'),
    'payload', r.payload, 'errors', jsonb_path_query_array(r.errors, '$[last - 4 to last]')) as payload,
    r.last_traceparent as traceparent
  from unnest($1::bigint[], $2::integer[]) as e(run_id, generation)
  join tock.job_runs_finished r on r.id = e.run_id and r.status = 'dead'
  join tock.job_definitions j on j.name = r.job and j.on_dead is not null
  left join tock.job_definitions d on d.id = r.definition_id
), made as (
  insert into tock.job_runs_live (id, job, payload, idempotency_key, queue, priority, max_attempts, slot_keys, slot_limits, tags, keeps_changes, trigger, traceparent, status)
  select x.id, x.job, x.payload, x.key, coalesce(t.queue, 'default'), coalesce(t.priority, 0), coalesce(t.max_attempts, 10), f.keys, f.limits, t.tags, t.keeps_changes, 'chain', x.traceparent, 'queued'
  from dead x left join tock.job_definitions t on t.name = x.job cross join lateral (select tock.fair_slots(null, coalesce(t.queue, 'default'), x.job, x.payload) as keys offset 0) k
  cross join lateral (select k.keys, tock.fair_limits(k.keys, null) as limits) f
  returning id
)
select count(*)::integer as count from made;

-- refresh worker
update tock.workers set seen_at = tock.now(), cpu = $1, memory_bytes = $2, loop_delay_ms = $3
where id = $4 returning id;

-- release
with outcome as materialized (
  select * from unnest($1::bigint[], $2::jsonb[], $3::boolean[]) as o(id, error, is_suspect)
), held as materialized (
  select r.id from tock.job_runs_live r
  where r.id = any($1::bigint[]) and ($4::integer[])[width_bucket(r.id, $1::bigint[])] = r.fence and r.locked_by = $5 and r.status in ('running')
  order by r.id
  for update
), asked as (
  delete from tock.job_runs_live r where r.id = any(array(select id from held)) and (r.cancel_requested_at is not null or r.live_key is not null and true and tock.successor_of(r.live_key) is not null) returning r.*
), withdrawn as (
  insert into tock.job_runs_finished (id, definition_id, run_at, priority, attempts, max_attempts, fence, releases, generation, occurrence_count, scheduled_for, interval_start, start_by, locked_by, created_at, started_at, job, queue, trigger, idempotency_key, payload, errors, progress, slot_keys, slot_limits, live_key, traceparent, last_traceparent, began_at, snoozes, has_waiters, has_parents, tags, finished_at, status, skip_reason)
  select id, definition_id, run_at, priority, attempts, max_attempts, fence, releases, generation, occurrence_count, scheduled_for, interval_start, start_by, locked_by, created_at, started_at, job, queue, trigger, idempotency_key, payload, case when o.error is null then asked.errors
    else (case when jsonb_array_length(asked.errors) >= 50 then asked.errors - 0 else asked.errors end) || (jsonb_build_object('at', to_char(tock.now() at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')) || jsonb_strip_nulls(jsonb_build_object('dueAt', to_char(asked.run_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'), 'startedAt', to_char(asked.started_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'))) || o.error) end, progress, slot_keys, slot_limits, live_key, traceparent, last_traceparent, began_at, snoozes, has_waiters, has_parents, tags, tock.now(), 'cancelled', case when cancel_requested_at is null then 'replaced by run ' || tock.successor_of(live_key) else skip_reason end
  from asked join outcome o using (id)
  returning id
), given_back as (
  update tock.job_runs_live r set status = 'queued', locked_by = null, locked_until = null, releases = r.releases + 1,
      attempts = case when r.releases < 100 then r.attempts - 1 else least(r.attempts, r.max_attempts - 1) end,
      errors = case when o.error is null then r.errors
    else (case when jsonb_array_length(r.errors) >= 50 then r.errors - 0 else r.errors end) || (jsonb_build_object('at', to_char(tock.now() at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')) || jsonb_strip_nulls(jsonb_build_object('dueAt', to_char(r.run_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'), 'startedAt', to_char(r.started_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'))) || o.error) end, slot_keys = case when o.is_suspect and 'isolated' <> all(coalesce(r.slot_keys, '{}')) then array_append(r.slot_keys, 'isolated') else r.slot_keys end,
      slot_limits = case when o.is_suspect and 'isolated' <> all(coalesce(r.slot_keys, '{}')) then array_append(r.slot_limits, 4) else r.slot_limits end
  from held join outcome o using (id) where r.id = held.id and r.id <> all(array(select id from asked))
  returning r.id, r.definition_id, r.job, r.run_at
), freed as (
  delete from tock.job_slots s where s.run_id = any(array(select m.id from held m))
    and (not (s.concurrency_key like 'definition:%' or s.concurrency_key like '~!%') or s.run_id = any(array(select m.id from held m where m.id in (select id from asked))))
  returning s.concurrency_key
), noted as (
  insert into tock.job_outbox (kind, run_id, run_ids, generation, definition_id, scheduled_for)
  select k.kind, e.id, null::bigint[], e.generation, e.definition_id, e.scheduled_for from asked e cross join lateral (
    select 'chain' as kind from tock.job_definitions d
    where d.id = e.definition_id and d.has_followers and e.scheduled_for is not null
    union all
    select 'dead' from tock.job_definitions d where 'cancelled' = 'dead' and d.name = e.job and d.on_dead is not null
  ) k
  where e.definition_id is not null or 'cancelled' = 'dead'
  union all
  select 'end', null, array_agg(e.id order by e.id), 1, null, null from asked e where e.has_waiters having count(*) > 0
  returning id
)
select case when count(*) < cardinality($1::bigint[]) then coalesce(array_agg(id::text), '{}') end as ids, (select array_agg(distinct concurrency_key) from freed) as freed, exists (select from noted) as "outboxWritten" from (select id from given_back union all select id from withdrawn) moved;

-- release-savepoint
release savepoint tock_part;

-- remove worker
delete from tock.workers where id = $1;

-- remove-left-offers
with left_over as materialized (
  select o.queue, o.priority, o.id from tock.job_offers o left join tock.job_queues q on q.name = o.queue
  where (q.relayed_to is distinct from 'sql' or not (not exists (select from tock.freezes f where (f.ended_at is null and (f.until > tock.now() or f.ramp_ms > 0))) or o.queue = 'tock:alerts') or not (q.paused_at is null and coalesce(q.closed_until <= tock.now(), true) and (q.active_window is null or case when split_part(q.active_window, '-', 1) < split_part(q.active_window, '-', 2)
    then (tock.now() at time zone q.timezone)::time >= split_part(q.active_window, '-', 1)::time and (tock.now() at time zone q.timezone)::time < split_part(q.active_window, '-', 2)::time
    else (tock.now() at time zone q.timezone)::time >= split_part(q.active_window, '-', 1)::time or (tock.now() at time zone q.timezone)::time < split_part(q.active_window, '-', 2)::time end))) order by o.queue, o.priority, o.id limit $1 for update of o skip locked
), removed as materialized (
  delete from tock.job_offers o using left_over l where o.queue = l.queue and o.priority = l.priority and o.id = l.id
  returning o.run_id, o.fence, o.queue, o.priority
)
select r.id::text as id, r.fence, o.queue, o.priority, (extract(epoch from coalesce(h.due_at, tock.now())) * 1000)::float8 as due_ms
from removed o left join tock.job_hand_offs h on h.run_id = o.run_id and h.fence = o.fence
left join tock.job_runs_live r on r.id = o.run_id and r.fence = o.fence and r.status = 'running' and r.locked_by = '00000000-0000-0000-0000-000000000000'
  and r.locked_until = '9999-12-30T00:00:00Z';

-- remove-queue-scope
delete from tock.fair_scopes f where f.queue = $1 and f.job = '';

-- remove-stale-offers
delete from tock.job_offers o where (o.queue, o.priority, o.id) in (
  select s.queue, s.priority, s.id from tock.job_offers s where not exists (
    select from tock.job_runs_live r where r.id = s.run_id and r.fence = s.fence and r.status = 'running'
      and r.locked_by = '00000000-0000-0000-0000-000000000000' and r.locked_until = '9999-12-30T00:00:00Z')
  order by s.queue, s.priority, s.id limit 1000 for update of s skip locked);

-- rename-definition
with renamed as (
  update tock.job_definitions d set name = $1, job = $1
  where d.name = $2 and d.job = $2 and d.origin = 'code' and d.service = any($3::text[])
    and not exists (select from tock.job_definitions o where o.name = $1)
  returning d.id
), followers as (
  update tock.job_definitions f set after = jsonb_set(f.after, '{definitions}', (
    select jsonb_agg(case when p.name = to_jsonb($2::text) then to_jsonb($1::text) else p.name end order by p.place)
    from jsonb_array_elements(f.after -> 'definitions') with ordinality as p(name, place))), waits_for = jsonb_set(f.waits_for, '{definitions}', (
    select jsonb_agg(case when p.name = to_jsonb($2::text) then to_jsonb($1::text) else p.name end order by p.place)
    from jsonb_array_elements(f.waits_for -> 'definitions') with ordinality as p(name, place)))
  where f.origin = 'runtime' and (f.after -> 'definitions' ? $2::text or f.waits_for -> 'definitions' ? $2::text)
    and exists (select from renamed)
)
select id from renamed;

-- renew-leases
with mine as materialized (
  select r.id, r.cancel_requested_at is not null as is_asked from tock.job_runs_live r where r.id = any($1::bigint[]) and ($2::integer[])[width_bucket(r.id, $1::bigint[])] = r.fence and r.locked_by = $3 and r.status in ('running')
  order by r.id
), held as materialized (
  select r.id from tock.job_runs_live r where r.id = any($1::bigint[]) and ($2::integer[])[width_bucket(r.id, $1::bigint[])] = r.fence and r.locked_by = $3 and r.status in ('running')
  order by r.id
  for no key update skip locked
), renewed as (
  update tock.job_runs_live r set locked_until = tock.now() + $4 * interval '1 millisecond'
  from held where r.id = held.id
  returning r.id
)
select array(select id::text from mine) as mine, array(select id::text from mine where is_asked) as asked,
  array(select id::text from renewed) as renewed;

-- reserve effect
insert into tock.job_effects (key, run_id) values ($1, $2) on conflict do nothing returning key;

-- reset-figures
with hours as materialized (
  delete from tock.figures_by_hour h where h.at >= $1 returning h.*
), sums as (
  select job, queue, status, reason, sum(h.run_count)::bigint as run_count,
    sum(h.occurrence_count)::bigint as occurrence_count,
    sum(h.duration_us)::bigint as duration_us,
    sum(h.wait_us)::bigint as wait_us,
    case when count(h.durations) > 0 then array[sum(h.durations[1]), sum(h.durations[2]), sum(h.durations[3]), sum(h.durations[4]), sum(h.durations[5]), sum(h.durations[6]), sum(h.durations[7]), sum(h.durations[8]), sum(h.durations[9]), sum(h.durations[10]), sum(h.durations[11]), sum(h.durations[12]), sum(h.durations[13]), sum(h.durations[14]), sum(h.durations[15]), sum(h.durations[16]), sum(h.durations[17]), sum(h.durations[18]), sum(h.durations[19]), sum(h.durations[20]), sum(h.durations[21]), sum(h.durations[22]), sum(h.durations[23]), sum(h.durations[24]), sum(h.durations[25])]::bigint[] end as durations,
    case when count(h.waits) > 0 then array[sum(h.waits[1]), sum(h.waits[2]), sum(h.waits[3]), sum(h.waits[4]), sum(h.waits[5]), sum(h.waits[6]), sum(h.waits[7]), sum(h.waits[8]), sum(h.waits[9]), sum(h.waits[10]), sum(h.waits[11]), sum(h.waits[12]), sum(h.waits[13]), sum(h.waits[14]), sum(h.waits[15]), sum(h.waits[16]), sum(h.waits[17]), sum(h.waits[18]), sum(h.waits[19]), sum(h.waits[20]), sum(h.waits[21]), sum(h.waits[22]), sum(h.waits[23]), sum(h.waits[24]), sum(h.waits[25])]::bigint[] end as waits from hours h group by job, queue, status, reason
), less as (
  update tock.figures_total t set run_count = t.run_count - s.run_count, occurrence_count = t.occurrence_count - s.occurrence_count, duration_us = t.duration_us - s.duration_us, wait_us = t.wait_us - s.wait_us,
    durations = case when t.durations is not null then array[t.durations[1] - coalesce(s.durations[1], 0), t.durations[2] - coalesce(s.durations[2], 0), t.durations[3] - coalesce(s.durations[3], 0), t.durations[4] - coalesce(s.durations[4], 0), t.durations[5] - coalesce(s.durations[5], 0), t.durations[6] - coalesce(s.durations[6], 0), t.durations[7] - coalesce(s.durations[7], 0), t.durations[8] - coalesce(s.durations[8], 0), t.durations[9] - coalesce(s.durations[9], 0), t.durations[10] - coalesce(s.durations[10], 0), t.durations[11] - coalesce(s.durations[11], 0), t.durations[12] - coalesce(s.durations[12], 0), t.durations[13] - coalesce(s.durations[13], 0), t.durations[14] - coalesce(s.durations[14], 0), t.durations[15] - coalesce(s.durations[15], 0), t.durations[16] - coalesce(s.durations[16], 0), t.durations[17] - coalesce(s.durations[17], 0), t.durations[18] - coalesce(s.durations[18], 0), t.durations[19] - coalesce(s.durations[19], 0), t.durations[20] - coalesce(s.durations[20], 0), t.durations[21] - coalesce(s.durations[21], 0), t.durations[22] - coalesce(s.durations[22], 0), t.durations[23] - coalesce(s.durations[23], 0), t.durations[24] - coalesce(s.durations[24], 0), t.durations[25] - coalesce(s.durations[25], 0)]::bigint[] end,
    waits = case when t.waits is not null then array[t.waits[1] - coalesce(s.waits[1], 0), t.waits[2] - coalesce(s.waits[2], 0), t.waits[3] - coalesce(s.waits[3], 0), t.waits[4] - coalesce(s.waits[4], 0), t.waits[5] - coalesce(s.waits[5], 0), t.waits[6] - coalesce(s.waits[6], 0), t.waits[7] - coalesce(s.waits[7], 0), t.waits[8] - coalesce(s.waits[8], 0), t.waits[9] - coalesce(s.waits[9], 0), t.waits[10] - coalesce(s.waits[10], 0), t.waits[11] - coalesce(s.waits[11], 0), t.waits[12] - coalesce(s.waits[12], 0), t.waits[13] - coalesce(s.waits[13], 0), t.waits[14] - coalesce(s.waits[14], 0), t.waits[15] - coalesce(s.waits[15], 0), t.waits[16] - coalesce(s.waits[16], 0), t.waits[17] - coalesce(s.waits[17], 0), t.waits[18] - coalesce(s.waits[18], 0), t.waits[19] - coalesce(s.waits[19], 0), t.waits[20] - coalesce(s.waits[20], 0), t.waits[21] - coalesce(s.waits[21], 0), t.waits[22] - coalesce(s.waits[22], 0), t.waits[23] - coalesce(s.waits[23], 0), t.waits[24] - coalesce(s.waits[24], 0), t.waits[25] - coalesce(s.waits[25], 0)]::bigint[] end
  from sums s where (s.job, s.queue, s.status, s.reason) = (t.job, t.queue, t.status, t.reason)
)
update tock.figures_progress p set final_until = least(p.final_until, $2), counted_until = least(p.counted_until, $2),
  hours_until = least(p.hours_until, $1), watched_until = null, writers = '{}';

-- reset-key
delete from tock.key_settings s where s.key = $1 returning s.weight, s.slot_limit as limit, s.rate_count as "rateCount",
  s.rate_period_ms::float8 as "ratePeriodMs", s.rate_burst as "rateBurst";

-- resume-for-events
with taken as (
  delete from tock.job_outbox o where o.id = any(array(
    select f.id from tock.job_outbox f where f.kind = 'event' order by f.id limit (select $1::integer) for update skip locked))
  returning o.event_id
), candidate as materialized (
  select w.id, w.run_id from tock.job_events e cross join lateral (
    select w.id, w.run_id from tock.job_waits w
    where w.kind = 'event' and w.outcome is null and w.name = e.name and w.key = e.key and w.since <= e.created_at) w
  where e.id = any(array(select t.event_id from taken t))
), locked as materialized (
  select r.id from tock.job_runs_live r where r.id = any(array(select c.run_id from candidate c)) order by r.id for no key update
), over as materialized (
  select w.id, w.run_id, e.result, case when e.result is not null then 'event' end as outcome
  from tock.job_waits w left join lateral (select case when w.kind = 'event' then (select jsonb_build_object('id', e.id::text, 'payload', e.payload, 'emittedAt', to_char(e.created_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'))
    from tock.job_events e where e.name = w.name and e.key = w.key and e.created_at >= w.since order by e.id limit 1) end as result) e on true
  where w.id = any(array(select c.id from candidate c join locked on locked.id = c.run_id)) and exists (select from tock.job_runs_live r where r.id = w.run_id)
), ended as (
  update tock.job_waits w set outcome = o.outcome, result = o.result, ended_at = tock.now()
  from over o where w.id = o.id and w.id = any(array(select o.id from over o where o.outcome is not null)) and w.outcome is null
  returning w.id, w.run_id, w.outcome, w.result
), resumed as (
  update tock.job_runs_live r set run_at = case when r.status = 'queued' then least(r.run_at, tock.now()) else r.run_at end
  where r.id = any(array(select e.run_id from ended e where e.id <> all('{}'::bigint[])))
  returning r.queue, r.priority
), lanes as (
  select queue, priority, tock.wake(array[queue], 'queued:' || priority || ':' || queue)::text from resumed group by 1, 2
)
select (select count(*) from taken)::integer as taken, set_config('synchronous_commit', 'off', true) as commit,
  (select jsonb_agg(jsonb_build_object('queue', l.queue, 'priority', l.priority)) from lanes l) as lanes;

-- retry-runs
with target as materialized (
  select r.id from tock.job_runs_finished r where r.id = any($1::bigint[]) and r.status in ('dead', 'cancelled') and r.trigger <> 'exec'
  order by r.id for update
), gone as (
  delete from tock.job_runs_finished r
  where r.id = any(array(select t.id from target t)) and r.status in ('dead', 'cancelled') returning r.*
), retried as (
  insert into tock.figures_retried (run_id, generation, finished_at, job, queue, status, skip_reason, occurrence_count, run_at, started_at)
  select g.id, g.generation, g.finished_at, g.job, g.queue, g.status, g.skip_reason, g.occurrence_count, g.run_at, g.started_at
  from gone g where g.finished_at >= (select p.final_until from tock.figures_progress p)
  on conflict do nothing
), lasting as materialized (
  select w.id from tock.job_waits w
  where w.id = any(array(select a.wait_id from tock.job_awaited_runs a where a.run_id = any(array(select g.id from gone g)))) and w.outcome is null
  order by w.id for no key update
), awaited as (
  -- Waits that last are for its next end.
  update tock.job_awaited_runs a set status = null, output = null, error = null
  where a.run_id = any(array(select g.id from gone g)) and a.wait_id = any(array(select l.id from lasting l))
), joins as (
  -- A join that is retried: its members may have ended meanwhile.
  insert into tock.job_outbox (kind, run_ids)
  select 'end', array[min(a.run_id)] from tock.job_waits w join tock.job_awaited_runs a on a.wait_id = w.id
  where w.run_id = any(array(select g.id from gone g)) and w.kind = 'group' and w.outcome is null group by w.id
)
insert into tock.job_runs_live (id, definition_id, run_at, priority, attempts, max_attempts, fence, releases, generation,
  occurrence_count, scheduled_for, interval_start, created_at, job, queue, trigger, idempotency_key, payload, errors,
  slot_keys, slot_limits, live_key, traceparent, has_parents, tags, keeps_changes, has_waiters, status)
select id, definition_id,
  -- A join waits on, and so does a run of a flow.
  case when exists (select from tock.job_waits w where w.run_id = gone.id and w.kind = 'group' and w.outcome is null) then '9999-12-31'
    when $2::float8 is null then tock.now()
    else greatest(tock.now(), $3::timestamptz + ($4::integer + row_number() over (order by id) - 1) * $2::float8 * interval '1 millisecond') end,
  priority, attempts,
  attempts + coalesce($5::integer, (select d.max_attempts from tock.job_definitions d where d.name = gone.job), 1),
  fence + 1, releases, generation + 1, occurrence_count, scheduled_for, interval_start, created_at, job, queue, trigger,
  idempotency_key, payload, errors, slot_keys, slot_limits, live_key, traceparent, has_parents, tags,
  (select d.keeps_changes from tock.job_definitions d where d.name = gone.job),
  -- A wait for it may be begun now, unseen by this statement.
  true, 'queued'
from gone order by id
returning id::text as id, (select tock.notify('queued')) as notified;

-- rollback-to-savepoint
rollback to savepoint tock_part;

-- running-of-keys
select split_part(s.name, '/', 2) as job, regexp_replace(s.name, '^[^/]*/[^/]*/', '') as key, count(*)::integer as running from (
  select r.slot_keys[1] as name, r.status from tock.job_runs_live r
  where r.blocked_on is null and r.queue = $1 order by r.priority, r.run_at, r.id limit 10000) s
where s.status = 'running' and s.name like '~%' and regexp_replace(s.name, '^[^/]*/[^/]*/', '') = any($2::text[]) group by 1, 2;

-- savepoint
savepoint tock_part;

-- set-aside
with gone as (
  delete from tock.job_runs_live r
  where r.id = $1 and (r.status in ('queued', 'failed')
    or r.status in ('running')
      and (r.locked_by = $2::uuid and r.fence = $3::integer or (r.locked_until < tock.now() or r.locked_until is null)))
    and ($4::boolean or concat_ws(', ', case when r.attempts not between 0 and 999999999 then 'attempts ' || r.attempts end, case when r.max_attempts not between 1 and 999999999 then 'max_attempts ' || r.max_attempts end, case when r.fence not between 0 and 999999999 then 'fence ' || r.fence end, case when r.releases not between 0 and 999999999 then 'releases ' || r.releases end, case when r.generation not between 1 and 999999999 then 'generation ' || r.generation end, case when r.occurrence_count not between 1 and 999999999 then 'occurrence_count ' || r.occurrence_count end, case when not (r.run_at >= '0001-01-01Z'::timestamptz and r.run_at < '10000-01-01Z'::timestamptz) then 'run_at ' || r.run_at end, case when not (r.scheduled_for >= '0001-01-01Z'::timestamptz and r.scheduled_for < '10000-01-01Z'::timestamptz) then 'scheduled_for ' || r.scheduled_for end, case when not (r.interval_start >= '0001-01-01Z'::timestamptz and r.interval_start < '10000-01-01Z'::timestamptz) then 'interval_start ' || r.interval_start end, case when not (r.start_by >= '0001-01-01Z'::timestamptz and r.start_by < '10000-01-01Z'::timestamptz) then 'start_by ' || r.start_by end, case when not (r.created_at >= '0001-01-01Z'::timestamptz and r.created_at < '10000-01-01Z'::timestamptz) then 'created_at ' || r.created_at end, case when not (r.started_at >= '0001-01-01Z'::timestamptz and r.started_at < '10000-01-01Z'::timestamptz) then 'started_at ' || r.started_at end, case when not (r.queue ~ '^[A-Za-z0-9][A-Za-z0-9._:@-]*$' and octet_length(r.queue) <= 200) then 'queue ' || to_json(left(r.queue, 60)) end, case when not octet_length(r.idempotency_key) between 1 and 512 then 'an idempotency key of ' || octet_length(r.idempotency_key) || ' bytes' end, case when jsonb_typeof(r.errors) <> 'array' then 'errors ' || left(r.errors::text, 60) end, case when jsonb_typeof(r.progress) <> 'object' then 'progress ' || left(r.progress::text, 60) end, case when not (cardinality(r.slot_keys) = cardinality(r.slot_limits) and cardinality(r.slot_keys) <= 100
    and array_position(r.slot_keys, null) is null and array_position(r.slot_limits, null) is null and 1 <= all (r.slot_limits)) then 'slot_keys and slot_limits that do not belong together' end, case when (select max(octet_length(k)) from unnest(r.slot_keys) k) > 1000 then 'slot_keys of over 1000 bytes' end) <> '')
  returning r.*
), ended as (
  insert into tock.job_runs_finished (id, definition_id, run_at, priority, attempts, max_attempts, fence, releases, generation, occurrence_count, scheduled_for, interval_start, start_by, locked_by, created_at, started_at, job, queue, trigger, idempotency_key, payload, errors, progress, slot_keys, slot_limits, live_key, traceparent, last_traceparent, began_at, snoozes, has_waiters, has_parents, tags, status, finished_at)
  select r.id, r.definition_id, case when (r.run_at >= '0001-01-01Z'::timestamptz and r.run_at < '10000-01-01Z'::timestamptz) then r.run_at else tock.now() end, r.priority, case when r.attempts >= 1000000000 then 1000000 else greatest(r.attempts, 0) end, case when r.max_attempts >= 1000000000 then 1000000 else greatest(r.max_attempts, 1) end, case when r.fence >= 1000000000 then 1000000 else greatest(r.fence, 0) end, case when r.releases >= 1000000000 then 1000000 else greatest(r.releases, 0) end, case when r.generation >= 1000000000 then 1000000 else greatest(r.generation, 1) end, case when r.occurrence_count >= 1000000000 then 1000000 else greatest(r.occurrence_count, 1) end, case when (r.scheduled_for >= '0001-01-01Z'::timestamptz and r.scheduled_for < '10000-01-01Z'::timestamptz) then r.scheduled_for end, case when (r.interval_start >= '0001-01-01Z'::timestamptz and r.interval_start < '10000-01-01Z'::timestamptz) then r.interval_start end, case when (r.start_by >= '0001-01-01Z'::timestamptz and r.start_by < '10000-01-01Z'::timestamptz) then r.start_by end, r.locked_by, case when (r.created_at >= '0001-01-01Z'::timestamptz and r.created_at < '10000-01-01Z'::timestamptz) then r.created_at else tock.now() end, case when (r.started_at >= '0001-01-01Z'::timestamptz and r.started_at < '10000-01-01Z'::timestamptz) then r.started_at end, r.job, case when (r.queue ~ '^[A-Za-z0-9][A-Za-z0-9._:@-]*$' and octet_length(r.queue) <= 200) then r.queue else 'default' end, r.trigger, case when octet_length(r.idempotency_key) between 1 and 512 then r.idempotency_key end, r.payload, case when jsonb_typeof(r.errors) = 'array' then jsonb_path_query_array(r.errors, '$[last - 48 to last]') else '[]' end
    || jsonb_build_object(
  'at', to_char(tock.now() at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'), 'attempt', case when r.attempts >= 1000000000 then 1000000 else greatest(r.attempts, 0) end,
  'name', 'BadRow', 'code', 'TOCK_BAD_ROW', 'stack', null,
  'message', 'set aside: no statement can work with the row of this run: ' || concat_ws('; ', nullif(concat_ws(', ', case when r.attempts not between 0 and 999999999 then 'attempts ' || r.attempts end, case when r.max_attempts not between 1 and 999999999 then 'max_attempts ' || r.max_attempts end, case when r.fence not between 0 and 999999999 then 'fence ' || r.fence end, case when r.releases not between 0 and 999999999 then 'releases ' || r.releases end, case when r.generation not between 1 and 999999999 then 'generation ' || r.generation end, case when r.occurrence_count not between 1 and 999999999 then 'occurrence_count ' || r.occurrence_count end, case when not (r.run_at >= '0001-01-01Z'::timestamptz and r.run_at < '10000-01-01Z'::timestamptz) then 'run_at ' || r.run_at end, case when not (r.scheduled_for >= '0001-01-01Z'::timestamptz and r.scheduled_for < '10000-01-01Z'::timestamptz) then 'scheduled_for ' || r.scheduled_for end, case when not (r.interval_start >= '0001-01-01Z'::timestamptz and r.interval_start < '10000-01-01Z'::timestamptz) then 'interval_start ' || r.interval_start end, case when not (r.start_by >= '0001-01-01Z'::timestamptz and r.start_by < '10000-01-01Z'::timestamptz) then 'start_by ' || r.start_by end, case when not (r.created_at >= '0001-01-01Z'::timestamptz and r.created_at < '10000-01-01Z'::timestamptz) then 'created_at ' || r.created_at end, case when not (r.started_at >= '0001-01-01Z'::timestamptz and r.started_at < '10000-01-01Z'::timestamptz) then 'started_at ' || r.started_at end, case when not (r.queue ~ '^[A-Za-z0-9][A-Za-z0-9._:@-]*$' and octet_length(r.queue) <= 200) then 'queue ' || to_json(left(r.queue, 60)) end, case when not octet_length(r.idempotency_key) between 1 and 512 then 'an idempotency key of ' || octet_length(r.idempotency_key) || ' bytes' end, case when jsonb_typeof(r.errors) <> 'array' then 'errors ' || left(r.errors::text, 60) end, case when jsonb_typeof(r.progress) <> 'object' then 'progress ' || left(r.progress::text, 60) end, case when not (cardinality(r.slot_keys) = cardinality(r.slot_limits) and cardinality(r.slot_keys) <= 100
    and array_position(r.slot_keys, null) is null and array_position(r.slot_limits, null) is null and 1 <= all (r.slot_limits)) then 'slot_keys and slot_limits that do not belong together' end, case when (select max(octet_length(k)) from unnest(r.slot_keys) k) > 1000 then 'slot_keys of over 1000 bytes' end), ''), $5::text)), case when jsonb_typeof(r.progress) = 'object' then r.progress end, case when (cardinality(r.slot_keys) = cardinality(r.slot_limits) and cardinality(r.slot_keys) <= 100
    and array_position(r.slot_keys, null) is null and array_position(r.slot_limits, null) is null and 1 <= all (r.slot_limits)) then r.slot_keys end, case when (cardinality(r.slot_keys) = cardinality(r.slot_limits) and cardinality(r.slot_keys) <= 100
    and array_position(r.slot_keys, null) is null and array_position(r.slot_limits, null) is null and 1 <= all (r.slot_limits)) then r.slot_limits end, case when octet_length(r.live_key) between 1 and 512 then r.live_key end, r.traceparent, r.last_traceparent, r.began_at, r.snoozes, r.has_waiters, r.has_parents, r.tags, 'dead', tock.now()
  from gone r
  returning id, generation, definition_id, scheduled_for, job, has_waiters, errors
), freed as (
  delete from tock.job_slots s where s.run_id = any(array(select m.id from gone m))
  returning s.concurrency_key
), noted as (
  insert into tock.job_outbox (kind, run_id, run_ids, generation, definition_id, scheduled_for)
  select k.kind, e.id, null::bigint[], e.generation, e.definition_id, e.scheduled_for from ended e cross join lateral (
    select 'chain' as kind from tock.job_definitions d
    where d.id = e.definition_id and d.has_followers and e.scheduled_for is not null
    union all
    select 'dead' from tock.job_definitions d where 'dead' = 'dead' and d.name = e.job and d.on_dead is not null
  ) k
  where e.definition_id is not null or 'dead' = 'dead'
  union all
  select 'end', null, array_agg(e.id order by e.id), 1, null, null from ended e where e.has_waiters having count(*) > 0
  returning id
), alerted as (
  insert into tock.alert_events (kind, count, run_id, definition_id, job)
  select 'dead', count(*)::integer, max(e.id), e.definition_id, e.job from ended e
  where 'dead' = 'dead' and e.job <> 'tock:deliver-alert' and exists (select from tock.alert_clock c where c.checked_at > tock.now() - interval '7 days')
  group by e.definition_id, e.job
  union all
  select 'succeeded', count(*)::integer, max(e.id), e.definition_id, e.job from ended e
  where 'dead' = 'succeeded' and (select s.job from tock.alert_states s where s.job is not null order by s.job limit 1) is not null and e.job = any(array(select s.job from tock.alert_states s where s.job is not null order by s.job limit 1000))
  group by e.definition_id, e.job, case when e.definition_id is null and e.id = any(array(select s.run_id from tock.alert_states s where s.job is not null order by s.job limit 1000)) then e.id end
)
select (select errors -> -1 ->> 'message' from ended) as reason, (select array_agg(distinct concurrency_key) from freed) as freed, exists (select from noted) as "outboxWritten";

-- set-cursors-back
with u as materialized (
  select * from jsonb_to_recordset($1::jsonb) as u(id bigint, cursor timestamptz, next_at timestamptz)
), freed as (
  -- An occurrence that got a run under the wrong clock stays taken. A skipped one may come again.
  delete from tock.job_occurrences o using u, tock.job_runs_finished r
  where o.definition_id = u.id and o.scheduled_for > u.cursor and r.id = o.run_id and r.definition_id = u.id
    and r.scheduled_for > u.cursor and r.status = 'skipped' and r.created_at > tock.now()
)
update tock.job_definitions d
set cursor = u.cursor, next_at = u.next_at, resumed_at = least(d.resumed_at, tock.now())
from u where d.id = u.id
returning case when d.paused_at is null then tock.wake_for(d.next_at, null, 'soon')::text end as woken;

-- set-key
update tock.key_settings s set (weight, slot_limit, rate_count, rate_period_ms, rate_burst) =
  ($1::float8, $2::integer, $3::integer, $4::bigint, $5::integer)
where s.key = $6;

-- share-zones
select z.timezone, z.zone_data as "zoneData", z.offsets from tock.zones z where z.timezone = any($1::text[]) order by z.timezone for share;

-- spend-remaining-count
update tock.job_definitions set remaining_count = greatest(remaining_count - $1, 0) where id = $2;

-- spread-keys
with recursive keys as (
  (select r.blocked_on as key, 1 as number from tock.job_runs_live r where r.blocked_on > $1 and r.blocked_on >= '~' order by r.blocked_on limit 1)
  union all
  select n.key, k.number + 1 from keys k cross join lateral (
    select r.blocked_on as key from tock.job_runs_live r where r.blocked_on > k.key order by r.blocked_on limit 1) n
  where k.number < $2::integer
), part as materialized (
  select r.id, r.blocked_on, r.priority, r.run_at from keys k cross join lateral (
    select r.id, r.blocked_on, r.priority, r.run_at from tock.job_runs_live r where r.blocked_on = k.key and r.run_at <= $3::timestamptz and r.status in ('queued', 'failed') and r.queue <> 'tock:alerts' and not k.key like '~!%'
    for update skip locked) r
), ranked as materialized (
  select p.id, (row_number() over by_key - 1 + ((hashtextextended(p.blocked_on, 0) & 1048575) / 1048576.0)) / count(*) over (partition by p.blocked_on) as share from part p
  window by_key as (partition by p.blocked_on order by p.priority, p.run_at, p.id)
), moved as (
  update tock.job_runs_live r set run_at = ($3::timestamptz + $4::float8 * interval '1 millisecond') + ($5::float8 * k.share) * interval '1 millisecond' from ranked k where r.id = k.id and r.id = any(array(select id from ranked))
)
select (select count(*)::integer from part) as moved, (select max(k.key) from keys k) as last;

-- spread-lane
-- A definition's run is due before its next occurrence, which the overlap policy would else skip; a follower stays where it is,
-- before those that come later.
with part as materialized (
  select r.id, r.run_at, r.definition_id from tock.job_runs_live r
  where r.blocked_on is null and r.queue = $1 and r.priority = $2 and r.run_at <= $3::timestamptz and r.status in ('queued', 'failed') and r.queue <> 'tock:alerts'
    and (r.run_at, r.id) > ($4::timestamptz, $5::bigint)
  order by r.run_at, r.id limit $6 for update skip locked
), ranked as materialized (
  select p.id, row_number() over (order by p.run_at, p.id) - 1 as number,
    case when d.after is not null then 0 when d.next_at > $3::timestamptz
      then greatest(0, least($7::float8, extract(epoch from d.next_at - ($3::timestamptz + $8::float8 * interval '1 millisecond'))::float8 * 1000)) else $7::float8 end as ramp_ms
  from part p left join tock.job_definitions d on d.id = p.definition_id
), moved as (
  update tock.job_runs_live r
  set run_at = ($3::timestamptz + $8::float8 * interval '1 millisecond') + (k.ramp_ms * least(($9::float8 + k.number + ((hashtextextended($1::text || ' ' || $2::integer, 0) & 1048575) / 1048576.0)) / greatest($10::float8, 1), 1)) * interval '1 millisecond'
  from ranked k where r.id = k.id and r.id = any(array(select id from ranked))
)
select count(*)::integer as moved, to_jsonb(max(p.run_at)) #>> '{}' as at,
  (select l.id::text from part l order by l.run_at desc, l.id desc limit 1) as id from part p;

-- spread-lanes
with recursive queue_lanes as (
  (select queue, priority from tock.job_runs_live where blocked_on is null order by queue, priority limit 1)
  union all
  select n.queue, n.priority from queue_lanes p cross join lateral (
    select r.queue, r.priority from tock.job_runs_live r
    where r.blocked_on is null and (r.queue, r.priority) > (p.queue, p.priority) order by r.queue, r.priority limit 1) n
)
select p.queue, p.priority, (select count(*)::float8 from tock.job_runs_live r
  where r.blocked_on is null and r.queue = p.queue and r.priority = p.priority and r.run_at <= $1::timestamptz and r.status in ('queued', 'failed') and r.queue <> 'tock:alerts') as count
from queue_lanes p order by p.priority, p.queue;

-- start-alert-clock
insert into tock.alert_clock (is_only) values (true) on conflict do nothing returning (extract(epoch from tock.now()) * 1000)::float8 as now;

-- sum-up-hours
with hours as materialized (
  select date_bin('1 hour', m.at, 'epoch') as at, job, queue, status, reason, sum(m.run_count)::bigint as run_count,
    sum(m.occurrence_count)::bigint as occurrence_count,
    sum(m.duration_us)::bigint as duration_us,
    sum(m.wait_us)::bigint as wait_us,
    case when count(m.durations) > 0 then array[sum(m.durations[1]), sum(m.durations[2]), sum(m.durations[3]), sum(m.durations[4]), sum(m.durations[5]), sum(m.durations[6]), sum(m.durations[7]), sum(m.durations[8]), sum(m.durations[9]), sum(m.durations[10]), sum(m.durations[11]), sum(m.durations[12]), sum(m.durations[13]), sum(m.durations[14]), sum(m.durations[15]), sum(m.durations[16]), sum(m.durations[17]), sum(m.durations[18]), sum(m.durations[19]), sum(m.durations[20]), sum(m.durations[21]), sum(m.durations[22]), sum(m.durations[23]), sum(m.durations[24]), sum(m.durations[25])]::bigint[] end as durations,
    case when count(m.waits) > 0 then array[sum(m.waits[1]), sum(m.waits[2]), sum(m.waits[3]), sum(m.waits[4]), sum(m.waits[5]), sum(m.waits[6]), sum(m.waits[7]), sum(m.waits[8]), sum(m.waits[9]), sum(m.waits[10]), sum(m.waits[11]), sum(m.waits[12]), sum(m.waits[13]), sum(m.waits[14]), sum(m.waits[15]), sum(m.waits[16]), sum(m.waits[17]), sum(m.waits[18]), sum(m.waits[19]), sum(m.waits[20]), sum(m.waits[21]), sum(m.waits[22]), sum(m.waits[23]), sum(m.waits[24]), sum(m.waits[25])]::bigint[] end as waits
  from tock.figures_by_minute m where m.at >= $1 and m.at < $2 group by 1, job, queue, status, reason
), kept as (
  insert into tock.figures_by_hour as f (at, job, queue, status, reason, run_count, occurrence_count, duration_us, wait_us, durations, waits)
  select at, job, queue, status, reason, run_count, occurrence_count, duration_us, wait_us, durations::integer[], waits::integer[] from hours order by at, job, queue, status, reason
  on conflict (at, job, queue, status, reason) do update set run_count = excluded.run_count, occurrence_count = excluded.occurrence_count, duration_us = excluded.duration_us, wait_us = excluded.wait_us, durations = excluded.durations, waits = excluded.waits where excluded.run_count >= f.run_count
), added as (
  insert into tock.figures_total as t (last_at, job, queue, status, reason, run_count, occurrence_count, duration_us, wait_us, durations, waits)
  select max(h.at), job, queue, status, reason, sum(h.run_count)::bigint as run_count,
    sum(h.occurrence_count)::bigint as occurrence_count,
    sum(h.duration_us)::bigint as duration_us,
    sum(h.wait_us)::bigint as wait_us,
    case when count(h.durations) > 0 then array[sum(h.durations[1]), sum(h.durations[2]), sum(h.durations[3]), sum(h.durations[4]), sum(h.durations[5]), sum(h.durations[6]), sum(h.durations[7]), sum(h.durations[8]), sum(h.durations[9]), sum(h.durations[10]), sum(h.durations[11]), sum(h.durations[12]), sum(h.durations[13]), sum(h.durations[14]), sum(h.durations[15]), sum(h.durations[16]), sum(h.durations[17]), sum(h.durations[18]), sum(h.durations[19]), sum(h.durations[20]), sum(h.durations[21]), sum(h.durations[22]), sum(h.durations[23]), sum(h.durations[24]), sum(h.durations[25])]::bigint[] end as durations,
    case when count(h.waits) > 0 then array[sum(h.waits[1]), sum(h.waits[2]), sum(h.waits[3]), sum(h.waits[4]), sum(h.waits[5]), sum(h.waits[6]), sum(h.waits[7]), sum(h.waits[8]), sum(h.waits[9]), sum(h.waits[10]), sum(h.waits[11]), sum(h.waits[12]), sum(h.waits[13]), sum(h.waits[14]), sum(h.waits[15]), sum(h.waits[16]), sum(h.waits[17]), sum(h.waits[18]), sum(h.waits[19]), sum(h.waits[20]), sum(h.waits[21]), sum(h.waits[22]), sum(h.waits[23]), sum(h.waits[24]), sum(h.waits[25])]::bigint[] end as waits from hours h group by job, queue, status, reason order by job, queue, status, reason
  on conflict (job, queue, status, reason) do update set last_at = greatest(t.last_at, excluded.last_at),
    run_count = t.run_count + excluded.run_count, occurrence_count = t.occurrence_count + excluded.occurrence_count, duration_us = t.duration_us + excluded.duration_us, wait_us = t.wait_us + excluded.wait_us,
    durations = case when coalesce(t.durations, excluded.durations) is not null then array[coalesce(t.durations[1], 0) + coalesce(excluded.durations[1], 0), coalesce(t.durations[2], 0) + coalesce(excluded.durations[2], 0), coalesce(t.durations[3], 0) + coalesce(excluded.durations[3], 0), coalesce(t.durations[4], 0) + coalesce(excluded.durations[4], 0), coalesce(t.durations[5], 0) + coalesce(excluded.durations[5], 0), coalesce(t.durations[6], 0) + coalesce(excluded.durations[6], 0), coalesce(t.durations[7], 0) + coalesce(excluded.durations[7], 0), coalesce(t.durations[8], 0) + coalesce(excluded.durations[8], 0), coalesce(t.durations[9], 0) + coalesce(excluded.durations[9], 0), coalesce(t.durations[10], 0) + coalesce(excluded.durations[10], 0), coalesce(t.durations[11], 0) + coalesce(excluded.durations[11], 0), coalesce(t.durations[12], 0) + coalesce(excluded.durations[12], 0), coalesce(t.durations[13], 0) + coalesce(excluded.durations[13], 0), coalesce(t.durations[14], 0) + coalesce(excluded.durations[14], 0), coalesce(t.durations[15], 0) + coalesce(excluded.durations[15], 0), coalesce(t.durations[16], 0) + coalesce(excluded.durations[16], 0), coalesce(t.durations[17], 0) + coalesce(excluded.durations[17], 0), coalesce(t.durations[18], 0) + coalesce(excluded.durations[18], 0), coalesce(t.durations[19], 0) + coalesce(excluded.durations[19], 0), coalesce(t.durations[20], 0) + coalesce(excluded.durations[20], 0), coalesce(t.durations[21], 0) + coalesce(excluded.durations[21], 0), coalesce(t.durations[22], 0) + coalesce(excluded.durations[22], 0), coalesce(t.durations[23], 0) + coalesce(excluded.durations[23], 0), coalesce(t.durations[24], 0) + coalesce(excluded.durations[24], 0), coalesce(t.durations[25], 0) + coalesce(excluded.durations[25], 0)]::bigint[] end,
    waits = case when coalesce(t.waits, excluded.waits) is not null then array[coalesce(t.waits[1], 0) + coalesce(excluded.waits[1], 0), coalesce(t.waits[2], 0) + coalesce(excluded.waits[2], 0), coalesce(t.waits[3], 0) + coalesce(excluded.waits[3], 0), coalesce(t.waits[4], 0) + coalesce(excluded.waits[4], 0), coalesce(t.waits[5], 0) + coalesce(excluded.waits[5], 0), coalesce(t.waits[6], 0) + coalesce(excluded.waits[6], 0), coalesce(t.waits[7], 0) + coalesce(excluded.waits[7], 0), coalesce(t.waits[8], 0) + coalesce(excluded.waits[8], 0), coalesce(t.waits[9], 0) + coalesce(excluded.waits[9], 0), coalesce(t.waits[10], 0) + coalesce(excluded.waits[10], 0), coalesce(t.waits[11], 0) + coalesce(excluded.waits[11], 0), coalesce(t.waits[12], 0) + coalesce(excluded.waits[12], 0), coalesce(t.waits[13], 0) + coalesce(excluded.waits[13], 0), coalesce(t.waits[14], 0) + coalesce(excluded.waits[14], 0), coalesce(t.waits[15], 0) + coalesce(excluded.waits[15], 0), coalesce(t.waits[16], 0) + coalesce(excluded.waits[16], 0), coalesce(t.waits[17], 0) + coalesce(excluded.waits[17], 0), coalesce(t.waits[18], 0) + coalesce(excluded.waits[18], 0), coalesce(t.waits[19], 0) + coalesce(excluded.waits[19], 0), coalesce(t.waits[20], 0) + coalesce(excluded.waits[20], 0), coalesce(t.waits[21], 0) + coalesce(excluded.waits[21], 0), coalesce(t.waits[22], 0) + coalesce(excluded.waits[22], 0), coalesce(t.waits[23], 0) + coalesce(excluded.waits[23], 0), coalesce(t.waits[24], 0) + coalesce(excluded.waits[24], 0), coalesce(t.waits[25], 0) + coalesce(excluded.waits[25], 0)]::bigint[] end
), old_minutes as (
  delete from tock.figures_by_minute m where m.ctid = any(array(
    select o.ctid from tock.figures_by_minute o
    where o.at < least(tock.now() - interval '48 hours', $1) order by o.at
    limit (select 20000 + 2 * count(*) from tock.figures_by_minute n where n.at >= $1 and n.at < $2)))
), old_hours as (
  delete from tock.figures_by_hour h where h.ctid = any(array(
    select o.ctid from tock.figures_by_hour o where o.at < tock.now() - interval '13 months' order by o.at
    limit (select 20000 + 2 * count(*) from hours)))
), old_totals as (
  delete from tock.figures_total t where t.last_at < tock.now() - interval '13 months' and not exists (select from hours h where (h.job, h.queue, h.status, h.reason) = (t.job, t.queue, t.status, t.reason))
), moved as (
  update tock.figures_progress p set hours_until = $2
)
select count(distinct at)::integer as hours from hours;

-- supersede-runs
with target as materialized (
  select r.id from tock.job_runs_live r
  where r.definition_id = any($1::bigint[]) and r.status in ('queued', 'failed') and r.trigger = 'cron'
    and r.scheduled_for is not null and r.run_at > tock.now() and r.run_at < '9999-12-31' and not tock.has_begun(r.attempts, r.releases, r.generation, r.began_at)
  order by r.id for update skip locked
), gone as (
  delete from tock.job_runs_live r using target where r.id = target.id returning r.*
), ended as (
  insert into tock.job_runs_finished (id, definition_id, run_at, priority, attempts, max_attempts, fence, releases, generation, occurrence_count, scheduled_for, interval_start, start_by, locked_by, created_at, started_at, job, queue, trigger, idempotency_key, payload, errors, progress, slot_keys, slot_limits, live_key, traceparent, last_traceparent, began_at, snoozes, has_waiters, has_parents, tags, finished_at, status, skip_reason)
  select id, definition_id, run_at, priority, attempts, max_attempts, fence, releases, generation, occurrence_count, scheduled_for, interval_start, start_by, locked_by, created_at, started_at, job, queue, trigger, idempotency_key, payload, errors, progress, slot_keys, slot_limits, live_key, traceparent, last_traceparent, began_at, snoozes, has_waiters, has_parents, tags, tock.now(), 'skipped', 'edited'
  from gone
  returning id
), freed as (
  delete from tock.job_slots s where s.run_id = any(array(select m.id from gone m))
  returning s.concurrency_key
), noted as (
  insert into tock.job_outbox (kind, run_id, run_ids, generation, definition_id, scheduled_for)
  select k.kind, e.id, null::bigint[], e.generation, e.definition_id, e.scheduled_for from gone e cross join lateral (
    select 'chain' as kind from tock.job_definitions d
    where d.id = e.definition_id and d.has_followers and e.scheduled_for is not null
    union all
    select 'dead' from tock.job_definitions d where 'skipped' = 'dead' and d.name = e.job and d.on_dead is not null
  ) k
  where e.definition_id is not null or 'skipped' = 'dead'
  union all
  select 'end', null, array_agg(e.id order by e.id), 1, null, null from gone e where e.has_waiters having count(*) > 0
  returning id
)
select id from ended;

-- suspend
with outcome as materialized (
  select * from unnest($1::bigint[], $2::timestamptz[], $3::float8[], $4::text[], $5::bigint[]) as o(id, until, delay_ms, snoozed, wait_id)
), held as materialized (
  select r.id from tock.job_runs_live r
  where r.id = any($1::bigint[]) and ($6::integer[])[width_bucket(r.id, $1::bigint[])] = r.fence and r.locked_by = $7 and r.status in ('running')
  order by r.id
  for update
), asked as (
  delete from tock.job_runs_live r where r.id = any(array(select id from held)) and (r.cancel_requested_at is not null or r.live_key is not null and true and tock.successor_of(r.live_key) is not null) returning r.*
), withdrawn as (
  insert into tock.job_runs_finished (id, definition_id, run_at, priority, attempts, max_attempts, fence, releases, generation, occurrence_count, scheduled_for, interval_start, start_by, locked_by, created_at, started_at, job, queue, trigger, idempotency_key, payload, errors, progress, slot_keys, slot_limits, live_key, traceparent, last_traceparent, began_at, snoozes, has_waiters, has_parents, tags, finished_at, status, skip_reason)
  select id, definition_id, run_at, priority, attempts, max_attempts, fence, releases, generation, occurrence_count, scheduled_for, interval_start, start_by, locked_by, created_at, started_at, job, queue, trigger, idempotency_key, payload, errors, progress, slot_keys, slot_limits, live_key, traceparent, last_traceparent, began_at, snoozes, has_waiters, has_parents, tags, tock.now(), 'cancelled', case when cancel_requested_at is null then 'replaced by run ' || tock.successor_of(live_key) else skip_reason end
  from asked
  returning id
), given_back as (
  update tock.job_runs_live r set status = 'queued', locked_by = null, locked_until = null, attempts = r.attempts - 1,
      began_at = coalesce(r.began_at, r.started_at),
      snoozes = case when o.snoozed is null then r.snoozes else coalesce(r.snoozes, 0) + 1 end,
      run_at = case when o.wait_id is not null and tock.wait_is_over(o.wait_id) then tock.now()
        else greatest(least(o.until, tock.now() + o.delay_ms * interval '1 millisecond'), tock.now() + interval '1000 milliseconds') end
  from held join outcome o using (id) where r.id = held.id and r.id <> all(array(select id from asked))
  returning r.id, r.definition_id, r.job, r.run_at, r.attempts, r.generation, r.keeps_changes
), freed as (
  delete from tock.job_slots s where s.run_id = any(array(select m.id from held m))
    and (not (s.concurrency_key like 'definition:%' or s.concurrency_key like '~!%') or s.run_id = any(array(select m.id from held m where m.id in (select id from asked))))
  returning s.concurrency_key
), noted as (
  insert into tock.job_outbox (kind, run_id, run_ids, generation, definition_id, scheduled_for)
  select k.kind, e.id, null::bigint[], e.generation, e.definition_id, e.scheduled_for from asked e cross join lateral (
    select 'chain' as kind from tock.job_definitions d
    where d.id = e.definition_id and d.has_followers and e.scheduled_for is not null
    union all
    select 'dead' from tock.job_definitions d where 'cancelled' = 'dead' and d.name = e.job and d.on_dead is not null
  ) k
  where e.definition_id is not null or 'cancelled' = 'dead'
  union all
  select 'end', null, array_agg(e.id order by e.id), 1, null, null from asked e where e.has_waiters having count(*) > 0
  returning id
), snoozing as (
  insert into tock.job_waits as w (run_id, kind, name, until, reason)
  select g.id, 'snooze', '', g.run_at, o.snoozed from given_back g join outcome o using (id) where o.snoozed is not null order by g.id
  on conflict (run_id, kind, name, key) do update set created_at = excluded.created_at, until = excluded.until, reason = excluded.reason
), changed as (
  insert into tock.job_changes (kind, run_id, job, definition_id, status, attempts, generation)
  select 'waiting', c.id, c.job, c.definition_id, 'queued', c.attempts, c.generation
  from given_back c where c.keeps_changes order by c.id
)
select case when count(*) < cardinality($1::bigint[]) then coalesce(array_agg(id::text), '{}') end as ids, (select array_agg(distinct concurrency_key) from freed) as freed, exists (select from noted) as "outboxWritten" from (select id from given_back union all select id from withdrawn) moved;

-- table-sizes
select pg_relation_size(to_regclass('tock.job_runs_live'))::float8 as runs, pg_relation_size(to_regclass('tock.job_slots'))::float8 as slots;

-- take-alert-events
with taken as (
  delete from tock.alert_events e where e.id = any(array(select f.id from tock.alert_events f order by f.id limit $1 for update skip locked))
  returning e.*
)
select t.kind, t.count, t.run_id::text as "runId", t.definition_id::text as "definitionId", t.job, coalesce(d.name, t.job) as subject,
  (extract(epoch from t.at) * 1000)::float8 as at
from taken t left join tock.job_definitions d on d.id = t.definition_id
order by t.id;

-- take-exceptions
delete from tock.job_exceptions e where e.definition_id = $1::bigint;

-- take-outbox
delete from tock.job_outbox o where o.id in (
  select f.id from tock.job_outbox f order by f.id limit $1 for update skip locked)
returning o.kind, coalesce(o.run_id::text, '') as run_id, o.run_ids::text[], o.event_id::text, o.fair_keys, o.generation, o.definition_id::text, (extract(epoch from case when o.scheduled_for >= '10000-01-01Z'::timestamptz then '9999-12-31T23:59:59Z' when o.scheduled_for < '0001-01-01Z'::timestamptz then '0001-01-01Z'::timestamptz else o.scheduled_for end) * 1000)::float8 as scheduled_for,
  set_config('synchronous_commit', 'off', true) as commit;

-- take-reap-turn
select set_config('synchronous_commit', 'off', true) as "commit",
  case when last.last_value > now.ms and last.last_value <= now.ms + 3600000 then last.last_value - now.ms
    else 0 * setval('tock.reap_turn', now.ms + ceil($1::float8)::bigint) end::float8 as "waitMs", ((select r.blocked_on from tock.job_runs_live r where r.blocked_on >= 'code:' and r.blocked_on < 'code;' order by r.blocked_on limit 1) is not null) as "waitsForCode", (exists (select from tock.fair_scopes) or exists (select from tock.fair_keys)) as "hasFair"
from tock.reap_turn last, (select (extract(epoch from clock_timestamp()) * 1000)::bigint as ms) now;

-- thaw-freeze
update tock.freezes f set until = least(f.until, tock.now()), ramp_ms = $1::bigint,
  ended_at = case when $1::bigint = 0 then least(f.until, tock.now()) end
where f.ended_at is null;

-- unblock
with recursive first_queues as materialized (
  select k.key, n.*, (select r.queue from tock.job_runs_live r where r.blocked_on = k.key order by r.queue desc limit 1) as last_queue
  from unnest($1::text[]) as k(key) cross join lateral (
    select r.queue, r.slot_limits[array_position(r.slot_keys, k.key)] as slot_limit, r.priority, r.run_at, r.id
    from tock.job_runs_live r where r.blocked_on = k.key
    order by r.queue, r.priority, r.run_at, r.id limit 1) n
), further_queues as (
  select p.key, n.* from first_queues p cross join lateral (
    select r.queue, r.slot_limits[array_position(r.slot_keys, p.key)] as slot_limit, r.priority, r.run_at, r.id
    from tock.job_runs_live r where r.blocked_on = p.key and r.queue > p.queue
    order by r.queue, r.priority, r.run_at, r.id limit 1) n
  where case when p.queue < p.last_queue then 1 end = 1
  union all
  select p.key, n.* from further_queues p cross join lateral (
    select r.queue, r.slot_limits[array_position(r.slot_keys, p.key)] as slot_limit, r.priority, r.run_at, r.id
    from tock.job_runs_live r where r.blocked_on = p.key and r.queue > p.queue
    order by r.queue, r.priority, r.run_at, r.id limit 1) n
), blocked_queues as materialized (
  select p.key, p.queue, p.slot_limit, p.priority, p.run_at, p.id from first_queues p union all select p.key, p.queue, p.slot_limit, p.priority, p.run_at, p.id from further_queues p
), free as materialized (
  select p.*, p.slot_limit - (select count(*) from tock.job_slots s where s.concurrency_key = p.key) as slots from blocked_queues p
), wanted as materialized (
  select f.key, f.queue, f.slots - (select count(*) from (
    select from tock.job_runs_live r
    where f.key like 'job:%' and r.unblocked_on = f.key and r.queue = f.queue and r.blocked_on is null and r.run_at <= tock.now() and r.status in ('queued', 'failed') and f.key = any(r.slot_keys)
      and (r.priority, r.run_at, r.id) < (f.priority, f.run_at, f.id)
    order by r.priority desc, r.run_at desc, r.id desc limit f.slots) standing) as count
  from free f where f.slots > 0
), next as materialized (
  select n.id, w.key from wanted w cross join lateral (
    select r.id from tock.job_runs_live r
    where r.blocked_on = w.key and r.queue = w.queue
    order by r.priority, r.run_at, r.id limit w.count for update skip locked) n
  where w.count > 0 and w.key not like 'definition:%'
  union all
  select n.id, w.key from wanted w cross join lateral (
    select r.id, r.definition_id, r.scheduled_for from tock.job_runs_live r
    where r.blocked_on = w.key and r.queue = w.queue
    order by r.scheduled_for, r.id limit w.count for update skip locked) n
  where w.count > 0 and w.key like 'definition:%' and not coalesce((
    select true from tock.job_runs_live e
    where e.definition_id = n.definition_id and e.scheduled_for < n.scheduled_for
      and e.status in ('queued', 'failed') and e.run_at <= tock.now() and 'definition:' || n.definition_id = any(e.slot_keys) limit 1), false)
), unblocked as (
  update tock.job_runs_live r set blocked_on = null, unblocked_on = r.blocked_on where r.id = any(array(select id from next))
  returning r.queue, r.priority, r.run_at
)
select u.queue, u.priority, to_jsonb(min(u.run_at)) #>> '{}' as at, (select tock.notify('queued')) as notified
from unblocked u group by u.queue, u.priority order by u.priority, u.queue;

-- unmute-alerts
with soon as (update tock.alert_clock set check_at = '-infinity')
delete from tock.alert_mutes where name = $1 returning name;

-- use-alert-channel
update tock.alert_channels set run_id = $1, free_at = tock.now() + $2::float8 * interval '1 millisecond' where name = $3;

-- validate-bounds
select tock.validate_bounds();

-- wait-for-completion
with held as materialized (
  select r.id from tock.job_runs_live r where r.id = $1 for no key update
), lasting as (
  update tock.job_waits w set needs_success = false, cancels = null
  where w.run_id = any(array(select h.id from held h)) and w.kind = 'group' and w.outcome is null returning w.id
)
select a.run_id::text as id from tock.job_awaited_runs a where a.wait_id = any(array(select l.id from lasting l));

-- wait-for-ended-freeze
select extract(epoch from f.began_at) as "beganAt", extract(epoch from f.until) as until, f.ramp_ms::float8 as "rampMs", f.note, f.operator as "by", to_jsonb(tock.now()) #>> '{}' as now from tock.freezes f where f.ended_at is null and f.until <= tock.now() for update;

-- wake sleepers
select tock.wake(null, 'queued') as woken;

-- watch-writers
update tock.figures_progress set watched_until = $1, writers = array(select distinct w.virtualtransaction from (select l.virtualtransaction from pg_locks l
  where l.locktype = 'relation' and l.mode = 'RowExclusiveLock' and l.relation = 'tock.job_runs_finished'::regclass
    and l.database = (select d.oid from pg_database d where d.datname = current_database())) w)
  returning cardinality(writers) as count;

-- webhook-place
select k.position::float8 as position, extract(epoch from tock.now())::float8 * 1000 as now from tock.change_webhooks k where k.job = $1;

-- write-alert-changes
with wanted as materialized (
  select * from jsonb_to_recordset($1::jsonb) as c(rule text, condition text, subject text, version integer, status text, since float8, failures integer,
    job text, definition_id bigint, run_id bigint, last_at float8, notified_at float8, detail text, flip text, flip_since float8, at float8)
), locked as materialized (
  select s.rule, s.subject, s.version from tock.alert_states s join wanted w on w.rule = s.rule and w.subject = s.subject
  order by s.rule, s.subject for update of s
), updated as (
  update tock.alert_states s set status = w.status, since = to_timestamp(w.since / 1000), version = s.version + 1, failure_count = w.failures, job = w.job,
    definition_id = w.definition_id, run_id = w.run_id, last_at = to_timestamp(w.last_at / 1000), notified_at = to_timestamp(w.notified_at / 1000), detail = w.detail
  from wanted w join locked l on l.rule = w.rule and l.subject = w.subject and l.version = w.version
  where s.rule = w.rule and s.subject = w.subject
  returning s.rule, s.subject
), inserted as (
  insert into tock.alert_states (rule, subject, status, since, failure_count, job, definition_id, run_id, last_at, notified_at, detail)
  select w.rule, w.subject, w.status, to_timestamp(w.since / 1000), w.failures, w.job, w.definition_id, w.run_id, to_timestamp(w.last_at / 1000),
    to_timestamp(w.notified_at / 1000), w.detail from wanted w where w.version = 0 order by w.rule, w.subject
  on conflict do nothing
  returning rule, subject
), flipped as (
  insert into tock.alert_flips (rule, condition, subject, kind, at, since, detail, run_id)
  select w.rule, w.condition, w.subject, w.flip, to_timestamp(w.at / 1000), to_timestamp(w.flip_since / 1000), w.detail, w.run_id
  from wanted w join (select * from updated union all select * from inserted) won on won.rule = w.rule and won.subject = w.subject
  where w.flip is not null order by w.rule, w.subject
  returning id, rule, subject, kind
)
select id::text, rule, subject, kind from flipped order by flipped.id;

-- write-exception
with written as (
  insert into tock.job_exceptions as e (definition_id, scheduled_for, kind, due_at, note, operator)
  values ($1::bigint, $2::timestamptz, $3, $4::timestamptz, $5, coalesce($6::text, current_user))
  on conflict (definition_id, scheduled_for) do update set kind = excluded.kind, due_at = excluded.due_at, note = excluded.note,
    operator = excluded.operator, created_at = excluded.created_at
  returning e.operator, (extract(epoch from case when e.created_at >= '10000-01-01Z'::timestamptz then '9999-12-31T23:59:59Z' when e.created_at < '0001-01-01Z'::timestamptz then '0001-01-01Z'::timestamptz else e.created_at end) * 1000)::float8 as "madeAt"
), moved as (
  update tock.job_definitions d set next_at = $7::timestamptz,
    excepted_until = greatest(d.excepted_until, $2::timestamptz, $4::timestamptz)
  where d.id = $1::bigint returning case when d.paused_at is null then tock.wake_for(d.next_at, null, 'soon')::text end as woken
)
select w.operator, w."madeAt", (select count(woken) from moved) as woken from written w;

-- write-freeze
insert into tock.freezes as f (until, ramp_ms, note, operator)
values ($1, coalesce($2::bigint, 0), $3, coalesce($4::text, session_user))
on conflict ((true)) where ended_at is null
do update set until = excluded.until, ramp_ms = coalesce($2::bigint, f.ramp_ms), note = excluded.note, operator = excluded.operator
returning extract(epoch from f.began_at) as "beganAt", extract(epoch from f.until) as until, f.ramp_ms::float8 as "rampMs", f.note, f.operator as "by";

-- write-job-scopes
with gone as (
  delete from tock.fair_scopes f where f.queue = '' and f.job = any($1::text[])
)
insert into tock.fair_scopes (queue, job, path, slot_limit, rate_count, rate_period_ms, rate_burst, is_strict)
select '', s.name, s.path::jsonpath, s.slot_limit, s.rate_count, s.rate_period_ms, s.rate_burst, s.is_strict
from unnest($2::text[], $3::text[], $4::integer[], $5::integer[], $6::bigint[], $7::integer[],
  $8::boolean[]) as s(name, path, slot_limit, rate_count, rate_period_ms, rate_burst, is_strict)
order by s.name
on conflict (queue, job) do update set (path, slot_limit, rate_count, rate_period_ms, rate_burst, is_strict) =
  (excluded.path, excluded.slot_limit, excluded.rate_count, excluded.rate_period_ms, excluded.rate_burst, excluded.is_strict);

-- write-logs
with l as materialized (
  select * from unnest($1::bigint[], $2::integer[], $3::float8[], $4::text[], $5::text[],
    $6::bigint[], $7::bigint[]) as l(id, segment, elapsed, head, tail, cut_lines, cut_bytes)
), held as materialized (
  select r.id, r.fence, r.attempts from tock.job_runs_live r where r.id = any($1::bigint[]) and ($8::integer[])[width_bucket(r.id, $1::bigint[])] = r.fence and r.locked_by = $9 and r.status in ('running')
)
insert into tock.job_logs as k (run_id, fence, segment, attempt, began_at, cut_lines, cut_bytes, head, tail)
select h.id, h.fence, coalesce(l.segment, (select s.segment from tock.log_segments s where s.closed_at is null)),
  h.attempts, tock.now() - l.elapsed * interval '1 millisecond', l.cut_lines, l.cut_bytes, l.head, l.tail
from held h join l on l.id = h.id
order by h.id
on conflict (run_id, fence, segment) do update set cut_lines = excluded.cut_lines, cut_bytes = excluded.cut_bytes,
  head = case when excluded.head = '' then k.head else excluded.head end,
  tail = case when excluded.tail = '' then k.tail else excluded.tail end
returning k.run_id::text as id, k.segment;

-- write-logs-of-committed
with l as materialized (
  select * from unnest($1::bigint[], $2::integer[], $3::float8[], $4::text[], $5::text[],
    $6::bigint[], $7::bigint[]) as l(id, segment, elapsed, head, tail, cut_lines, cut_bytes)
), held as materialized (
  select r.id, r.fence, r.attempts from tock.job_runs_finished r where r.id = any($1::bigint[]) and ($8::integer[])[width_bucket(r.id, $1::bigint[])] = r.fence and r.locked_by = $9 and r.status = 'succeeded'
)
insert into tock.job_logs as k (run_id, fence, segment, attempt, began_at, cut_lines, cut_bytes, head, tail)
select h.id, h.fence, coalesce(l.segment, (select s.segment from tock.log_segments s where s.closed_at is null)),
  h.attempts, tock.now() - l.elapsed * interval '1 millisecond', l.cut_lines, l.cut_bytes, l.head, l.tail
from held h join l on l.id = h.id
order by h.id
on conflict (run_id, fence, segment) do update set cut_lines = excluded.cut_lines, cut_bytes = excluded.cut_bytes,
  head = case when excluded.head = '' then k.head else excluded.head end,
  tail = case when excluded.tail = '' then k.tail else excluded.tail end
returning k.run_id::text as id, k.segment;

-- write-progress
with p as materialized (select * from unnest($1::bigint[], $2::jsonb[]) as p(id, progress)), held as materialized (
  select r.id from tock.job_runs_live r
  where r.id = any($1::bigint[]) and ($3::integer[])[width_bucket(r.id, $1::bigint[])] = r.fence and r.locked_by = $4 and r.status in ('running')
  order by r.id
  for no key update
)
update tock.job_runs_live r set progress = p.progress from held join p using (id) where r.id = held.id;

-- write-queue-scope
insert into tock.fair_scopes (queue, job, path, slot_limit, rate_count, rate_period_ms, rate_burst, is_strict)
select s.name, '', s.path::jsonpath, s.slot_limit, s.rate_count, s.rate_period_ms, s.rate_burst, s.is_strict
from unnest($1::text[], $2::text[], $3::integer[], $4::integer[], $5::bigint[], $6::integer[],
  $7::boolean[]) as s(name, path, slot_limit, rate_count, rate_period_ms, rate_burst, is_strict)
order by s.name
on conflict (queue, job) do update set (path, slot_limit, rate_count, rate_period_ms, rate_burst, is_strict) =
  (excluded.path, excluded.slot_limit, excluded.rate_count, excluded.rate_period_ms, excluded.rate_burst, excluded.is_strict);

-- write-traceparents
with t as materialized (select * from unnest($1::bigint[], $2::text[]) as t(id, traceparent)), held as materialized (
  select r.id from tock.job_runs_live r
  where r.id = any($1::bigint[]) and ($3::integer[])[width_bucket(r.id, $1::bigint[])] = r.fence and r.locked_by = $4 and r.status in ('running')
  order by r.id
  for no key update
)
update tock.job_runs_live r set last_traceparent = t.traceparent from held join t using (id) where r.id = held.id;

-- write-zone
update tock.zones z set zone_data = $1, offsets = $2::jsonb, noted_at = tock.now(),
  previous_data = case when $3::bigint is null then z.previous_data else z.zone_data end,
  previous = case when $3::bigint is null then z.previous else z.offsets end,
  moved_count = coalesce($3::bigint, z.moved_count),
  moved_at = case when $3::bigint is null then z.moved_at else tock.now() end
where z.timezone = $4;
