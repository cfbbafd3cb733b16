-- Retention by detaching: partitions of months or of days, and what lets runs that are kept longer stay in sight while
-- the partition they were in goes.

comment on table tock.job_runs_finished is 'Runs that have ended, by the month or the day of their end: retention detaches a partition, and drops it.';

-- The partitions of the finished runs, with the span of time of each, whatever the session's zone and style of dates are.
create function tock.finished_partitions()
returns table (oid oid, name text, low timestamptz, high timestamptz, is_kept boolean)
language sql stable
set search_path = pg_catalog set timezone = 'UTC' set datestyle = 'ISO'
as $$
  select c.oid, c.relname::text, span[1]::timestamptz, span[2]::timestamptz, c.relname ~ '_kept$'
  from pg_inherits i
  join pg_class c on c.oid = i.inhrelid
  cross join lateral regexp_match(pg_get_expr(c.relpartbound, c.oid), 'FROM \(''([^'']+)''\) TO \(''([^'']+)''\)') as span
  where i.inhparent = 'tock.job_runs_finished'::regclass
  order by 3 nulls first
$$;

comment on function tock.finished_partitions() is 'The partitions of the finished runs and their spans, oldest first; of the default one the span is null. Kept: what is left of a partition that was forgotten.';

-- Makes one partition, of a month or a day, unless one that is there has any part of it. Rows that the default
-- partition caught are moved. Returns how many it made: 1 or 0.
create function tock.make_partition(first_day timestamp, unit text) returns integer
language plpgsql set search_path = pg_catalog
as $$
declare
  child text := 'job_runs_finished_' || to_char(first_day, case unit when 'day' then 'YYYY_MM_DD' else 'YYYY_MM' end);
  -- In UTC, whatever the session's zone is.
  from_at timestamptz := first_day at time zone 'UTC';
  to_at timestamptz := (first_day + ('1 ' || unit)::interval) at time zone 'UTC';
begin
  if exists (select from tock.finished_partitions() p where p.low < to_at and p.high > from_at) then
    return 0;
  end if;
  execute format('create table tock.%I (like tock.job_runs_finished including defaults including constraints)', child);
  execute format(
    'with moved as (delete from tock.job_runs_finished_default where finished_at >= %1$L and finished_at < %2$L returning *) insert into tock.%3$I select * from moved',
    from_at, to_at, child);
  execute format('alter table tock.job_runs_finished attach partition tock.%I for values from (%L) to (%L)', child, from_at, to_at);
  return 1;
end $$;

comment on function tock.make_partition(timestamp, text) is 'Makes the partition of a month or a day of the finished runs, unless a part of it is there.';

-- Makes partitions ahead of time: those of the current month and `ahead` months more, or of today and `ahead` days
-- more. Months and days live together:
--   - a month that has begun keeps its partition, and days begin after it;
--   - one that has not begun, and is empty, gives way to its days, all at once, in this transaction;
--   - of a month that has days, the days that are missing are made.
-- Returns how many were made. Safe to repeat and to race.
create function tock.create_partitions(ahead integer, unit text) returns integer
language plpgsql set search_path = pg_catalog
as $$
declare
  today timestamp := date_trunc('day', tock.now() at time zone 'UTC');
  first_day timestamp;
  next_month timestamp;
  month record;
  is_used boolean;
  made integer := 0;
begin
  if unit is null or unit not in ('month', 'day') then
    raise exception 'partitions are of a month or a day, not of %', coalesce(unit, 'null') using errcode = 'invalid_parameter_value';
  end if;
  perform pg_advisory_xact_lock(hashtextextended('tock.create_partitions', 0));
  for step in 0..ahead loop
    first_day := date_trunc(unit, today) + step * ('1 ' || unit)::interval;
    next_month := date_trunc('month', first_day) + interval '1 month';
    if unit = 'day' then
      select p.name, p.low into month from tock.finished_partitions() p
      where p.low > tock.now() and p.low <= first_day at time zone 'UTC' and p.high > first_day at time zone 'UTC'
        and p.high - p.low > interval '1 day';
      if found then
        -- The parent first, as all others take them.
        lock table only tock.job_runs_finished in access exclusive mode;
        execute format('select exists (select from tock.%I)', month.name) into is_used;
        if not is_used then
          execute format('alter table tock.job_runs_finished detach partition tock.%I', month.name);
          execute format('drop table tock.%I', month.name);
          first_day := month.low at time zone 'UTC';
          while first_day < next_month loop
            made := made + tock.make_partition(first_day, 'day');
            first_day := first_day + interval '1 day';
          end loop;
        end if;
      end if;
      -- A day that is there already makes none.
      made := made + tock.make_partition(today + step * interval '1 day', 'day');
    elsif exists (
      select from tock.finished_partitions() p
      where p.low < next_month at time zone 'UTC' and p.high > first_day at time zone 'UTC'
    ) then
      first_day := greatest(first_day, today);
      while first_day < next_month loop
        made := made + tock.make_partition(first_day, 'day');
        first_day := first_day + interval '1 day';
      end loop;
    else
      made := made + tock.make_partition(first_day, 'month');
    end if;
  end loop;
  return made;
end $$;

comment on function tock.create_partitions(integer, text) is 'Makes the partitions of the finished runs ahead of time, of months or of days.';

create or replace function tock.create_partitions(ahead integer default 3) returns integer
language sql set search_path = pg_catalog
as $$ select tock.create_partitions(ahead, 'month') $$;

comment on function tock.create_partitions(integer) is 'Makes the month partitions of the finished runs ahead of time.';

-- While the runs that stay are copied out of a partition, what changes in it is noted, so that the copy can be put right
-- in the moment in which it takes the partition's place.
create table tock.retention_changes (
  source oid not null,
  run_id bigint not null
);

comment on table tock.retention_changes is 'Runs that changed in a partition since retention began to copy what stays of it. Emptied when the partition goes.';
comment on column tock.retention_changes.source is 'The partition.';

-- With the owner's rights: who retries a dead run needs none on the notes.
create function tock.note_retention_change() returns trigger
language plpgsql security definer set search_path = pg_catalog, pg_temp
as $$
begin
  if tg_op <> 'INSERT' then
    insert into tock.retention_changes (source, run_id) values (tg_relid, old.id);
  end if;
  if tg_op <> 'DELETE' then
    insert into tock.retention_changes (source, run_id) values (tg_relid, new.id);
  end if;
  return null;
end $$;

comment on function tock.note_retention_change() is 'Trigger of a partition that retention is copying from: notes which runs changed.';

revoke execute on function tock.make_partition(timestamp, text), tock.create_partitions(integer, text), tock.note_retention_change() from public;
