-- The whole ledger: what is planned (job_definitions), what is happening (job_runs_live), what has
-- happened (job_runs_finished), and the keys that make each of them unique.
--
-- Plain SQL for PostgreSQL 15 and later. Every object is named with the schema `tock`, which the migrator
-- makes first; it puts the configured schema in its place. Append-only: a migration that has been released is never edited.

comment on schema tock is 'Tock, a scheduler: definitions are materialized into runs, runs are leased, executed and finalized.';

-- The clock ------------------------------------------------------------------------------------------

-- Every statement asks this function for the time, so that one place decides which clock is meant: the
-- database's. It is inlined by the planner. A test kit may replace it to make time stand still or leap.
create function tock.now() returns timestamptz
language sql stable parallel safe
as $$ select statement_timestamp() $$;

comment on function tock.now() is 'The only clock: the database''s, as of the start of the statement.';

-- Definitions ----------------------------------------------------------------------------------------

create table tock.job_definitions (
  id                    bigint generated always as identity primary key,
  name                  text not null unique,
  job                   text not null,
  payload               jsonb,
  origin                text not null default 'code',

  cron                  text,
  every_ms              bigint,
  phase_ms              bigint not null default 0,
  at                    timestamptz,
  after                 jsonb,
  timezone              text not null default 'UTC',
  dst                   text not null default 'once',
  start_at              timestamptz,
  end_at                timestamptz,
  exclude               jsonb not null default '[]',
  active_window         text,
  outside_window        text not null default 'defer',

  overlap               text not null default 'skip',
  catchup               text not null default 'latest',
  catchup_window_ms     bigint,
  start_deadline_ms     bigint,
  jitter_ms             bigint not null default 0,
  remaining_count       integer,
  pause_on_failure_count integer,

  queue                 text not null default 'default',
  priority              integer not null default 0,
  max_attempts          integer not null default 10,

  cursor                timestamptz not null default tock.now(),
  next_at               timestamptz default '-infinity',
  version               integer not null default 1,
  fingerprint           text,

  paused_at             timestamptz,
  pause_reason          text,
  broken_at             timestamptz,
  broken_reason         text,
  vanished_at           timestamptz,
  created_at            timestamptz not null default tock.now(),
  updated_at            timestamptz not null default tock.now(),

  constraint job_definitions_name_check check (name ~ '^[A-Za-z0-9][A-Za-z0-9._:@-]*$' and octet_length(name) <= 200),
  constraint job_definitions_job_check check (job ~ '^[A-Za-z0-9][A-Za-z0-9._:@-]*$' and octet_length(job) <= 200),
  constraint job_definitions_one_schedule check (num_nonnulls(cron, every_ms, at, after) <= 1),
  constraint job_definitions_every_check check (every_ms >= 1000),
  constraint job_definitions_origin_check check (origin in ('code', 'runtime')),
  constraint job_definitions_dst_check check (dst in ('once', 'skip', 'literal')),
  constraint job_definitions_overlap_check check (overlap in ('skip', 'buffer_one', 'buffer_all', 'cancel_other', 'terminate_other', 'allow_all')),
  constraint job_definitions_catchup_check check (catchup in ('latest', 'all', 'none')),
  constraint job_definitions_outside_window_check check (outside_window in ('defer', 'skip')),
  constraint job_definitions_remaining_check check (remaining_count >= 0),
  constraint job_definitions_max_attempts_check check (max_attempts >= 1)
);

comment on table tock.job_definitions is 'What is to be run and when: one row per definition; several may share one job. A job without a schedule has a row too: it holds the defaults of one-off runs.';
comment on column tock.job_definitions.name is 'Identity for people; unique. The id is the identity for keys and survives renames of everything else.';
comment on column tock.job_definitions.job is 'Name of the job module that executes the runs.';
comment on column tock.job_definitions.payload is 'Payload of the scheduled runs; null where code computes it.';
comment on column tock.job_definitions.origin is 'code: kept in step with the job modules; runtime: made by an operator or the app.';
comment on column tock.job_definitions.cron is 'Cron expression of five or six fields. At most one of cron, every_ms, at, after is set; none means one-off runs only.';
comment on column tock.job_definitions.every_ms is 'Fixed interval, aligned to the epoch plus phase_ms, never shifted by DST.';
comment on column tock.job_definitions.after is 'Chain: which definitions'' outcomes start this one.';
comment on column tock.job_definitions.dst is 'What happens to civil times in a gap or an overlap: once, skip, literal.';
comment on column tock.job_definitions.active_window is 'Local time window such as 23:00-06:00 in which runs may start.';
comment on column tock.job_definitions.overlap is 'What an occurrence does while an earlier run of the definition is live.';
comment on column tock.job_definitions.catchup is 'What happens to occurrences that were missed: the latest one, all, none.';
comment on column tock.job_definitions.catchup_window_ms is 'Missed occurrences older than this are skipped; null: no limit.';
comment on column tock.job_definitions.start_deadline_ms is 'A run that would start later than this after its occurrence is skipped.';
comment on column tock.job_definitions.jitter_ms is 'Upper bound of the fixed delay that spreads definitions with equal schedules.';
comment on column tock.job_definitions.remaining_count is 'How many scheduled runs are still to be made; null: no limit.';
comment on column tock.job_definitions.cursor is 'The last occurrence considered. Never falls. Occurrences are computed from here, never from now.';
comment on column tock.job_definitions.next_at is 'The next occurrence after the cursor; null: none; -infinity: the next tick works it out.';
comment on column tock.job_definitions.version is 'Grows with each edit.';
comment on column tock.job_definitions.fingerprint is 'Hash of the definition as code states it: equal means nothing to register.';
comment on column tock.job_definitions.broken_at is 'Since when the stored definition cannot be evaluated; it is left out until it is mended.';
comment on column tock.job_definitions.vanished_at is 'Since when code no longer has the definition. Its queued runs are kept; it gets no new ones.';

-- Due ones only: cost follows what is due, not what is defined. With the id, in the order in which they are locked:
-- at midnight a hundred thousand are due at once, and no batch may sort them all.
create index job_definitions_due on tock.job_definitions (next_at, id)
  where next_at is not null and paused_at is null and broken_at is null and vanished_at is null;
create index job_definitions_job on tock.job_definitions (job);

create table tock.registrations (
  fingerprint   text primary key,
  is_current    boolean not null,
  first_seen_at timestamptz not null default tock.now(),
  seen_at       timestamptz not null default tock.now()
);

comment on table tock.registrations is 'Each set of job definitions that some version of the code has brought, and the one in force. A version that was seen before does not win back from a newer one that is still alive.';

create unique index registrations_one_current on tock.registrations (is_current) where is_current;

-- Runs -----------------------------------------------------------------------------------------------

create sequence tock.job_runs_id_seq as bigint;

create table tock.job_runs (
  id                   bigint not null default nextval('tock.job_runs_id_seq'),
  definition_id        bigint,
  run_at               timestamptz not null default tock.now(),
  priority             integer not null default 0,
  attempts             integer not null default 0,
  max_attempts         integer not null default 10,
  fence                integer not null default 0,
  releases             integer not null default 0,
  generation           integer not null default 1,
  occurrence_count     integer not null default 1,
  scheduled_for        timestamptz,
  interval_start       timestamptz,
  start_by             timestamptz,
  locked_until         timestamptz,
  locked_by            uuid,
  created_at           timestamptz not null default tock.now(),
  started_at           timestamptz,
  finished_at          timestamptz,
  cancel_requested_at  timestamptz,
  status               text not null default 'queued',
  job                  text not null,
  queue                text not null default 'default',
  trigger              text not null default 'api',
  idempotency_key      text,
  payload              jsonb,
  progress             jsonb,
  output               jsonb,
  errors               jsonb not null default '[]',
  skip_reason          text,
  constraint job_runs_status_check check (status in ('queued', 'running', 'failed', 'succeeded', 'dead', 'cancelled', 'skipped')),
  constraint job_runs_trigger_check check (trigger in ('cron', 'manual', 'api', 'chain', 'backfill')),
  constraint job_runs_attempts_check check (attempts >= 0 and max_attempts >= 1)
) partition by list (status);

comment on table tock.job_runs is 'One row per run. The live states and the finished ones are different places: a finished run is moved, so that claims never walk over history.';
comment on column tock.job_runs.definition_id is 'The definition that planned it; null for one-off runs.';
comment on column tock.job_runs.run_at is 'Not before: the occurrence plus jitter, or the time of the next attempt.';
comment on column tock.job_runs.priority is 'Lower goes first.';
comment on column tock.job_runs.attempts is 'Counted at the claim, so that a run that kills its process ends dead too.';
comment on column tock.job_runs.fence is 'Grows with every claim and with an operator''s retry; a write that carries an older fence changes nothing.';
comment on column tock.job_runs.releases is 'How often a draining worker gave the run back unfinished; such an attempt does not count.';
comment on column tock.job_runs.generation is 'Grows with an operator''s retry of a finished run.';
comment on column tock.job_runs.occurrence_count is 'How many occurrences the run stands for (catch-up), this one included.';
comment on column tock.job_runs.scheduled_for is 'The occurrence: nominal time, before jitter.';
comment on column tock.job_runs.interval_start is 'The occurrence before it: the run''s data interval is [interval_start, scheduled_for).';
comment on column tock.job_runs.start_by is 'Claimed later than this, the run is skipped (deadline).';
comment on column tock.job_runs.locked_by is 'The worker that holds the lease.';
comment on column tock.job_runs.locked_until is 'The lease: past this, any tick may take the run back.';
comment on column tock.job_runs.errors is 'One entry per failed attempt: at, attempt, name, code, message, stack.';
comment on column tock.job_runs.skip_reason is 'Why an expected occurrence, or an operator''s choice, gave no execution.';

create table tock.job_runs_live partition of tock.job_runs for values in ('queued', 'running', 'failed')
  with (fillfactor = 70, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 1000,
        autovacuum_analyze_scale_factor = 0.05, autovacuum_vacuum_cost_delay = 0);
alter table tock.job_runs_live add primary key (id);
-- Columns that a claim changes are in no index, not even in a predicate: the claim stays a HOT update.
create index job_runs_live_claim on tock.job_runs_live (priority, run_at, id);
create index job_runs_live_definition on tock.job_runs_live (definition_id, scheduled_for) where definition_id is not null;

comment on table tock.job_runs_live is 'Runs that wait, are running, or wait for their next attempt.';

create table tock.job_runs_finished partition of tock.job_runs for values in ('succeeded', 'dead', 'cancelled', 'skipped')
  partition by range (finished_at);
alter table tock.job_runs_finished add primary key (id, finished_at);
create index job_runs_finished_definition on tock.job_runs_finished (definition_id, scheduled_for) where definition_id is not null;
create index job_runs_finished_dead on tock.job_runs_finished (finished_at) where status = 'dead';
create index job_runs_finished_at on tock.job_runs_finished using brin (finished_at);
create table tock.job_runs_finished_default partition of tock.job_runs_finished default;

comment on table tock.job_runs_finished is 'Runs that have ended, by month of their end: retention drops a partition.';

-- Makes the month partitions from the current month to `ahead` months later. Rows that the default
-- partition caught are moved. Returns how many partitions were made. Safe to repeat and to race.
create function tock.create_partitions(ahead integer default 3) returns integer
language plpgsql set search_path = pg_catalog
as $$
declare
  first_day timestamp;
  low timestamptz;
  high timestamptz;
  child text;
  made integer := 0;
begin
  perform pg_advisory_xact_lock(hashtextextended('tock.create_partitions', 0));
  for step in 0..ahead loop
    -- In UTC, whatever the session's zone is.
    first_day := date_trunc('month', tock.now() at time zone 'UTC') + make_interval(months => step);
    child := 'job_runs_finished_' || to_char(first_day, 'YYYY_MM');
    low := first_day at time zone 'UTC';
    high := (first_day + interval '1 month') at time zone 'UTC';
    continue when to_regclass('tock.' || child) is not null;
    execute format('create table tock.%I (like tock.job_runs_finished including defaults including constraints)', child);
    execute format(
      'with moved as (delete from tock.job_runs_finished_default where finished_at >= %1$L and finished_at < %2$L returning *) insert into tock.%3$I select * from moved',
      low, high, child);
    execute format('alter table tock.job_runs_finished attach partition tock.%I for values from (%L) to (%L)',
      child, low, high);
    made := made + 1;
  end loop;
  return made;
end $$;

comment on function tock.create_partitions(integer) is 'Makes the month partitions of the finished runs ahead of time.';

-- What makes things unique ----------------------------------------------------------------------------

create table tock.job_keys (
  idempotency_key text primary key,
  run_id          bigint not null,
  created_at      timestamptz not null default tock.now(),
  constraint job_keys_length_check check (octet_length(idempotency_key) between 1 and 512)
);

comment on table tock.job_keys is 'Every idempotency key ever used and its run. Outlives the run, so that an occurrence cannot come twice, not even after retention.';

create table tock.job_effects (
  key        text primary key,
  run_id     bigint not null,
  result     jsonb,
  created_at timestamptz not null default tock.now(),
  constraint job_effects_length_check check (octet_length(key) between 1 and 1024)
);

comment on table tock.job_effects is 'The ledger of effects that must happen once: the row and the effect are committed together.';

-- Queues, slots, workers -------------------------------------------------------------------------------

create table tock.job_queues (
  name           text primary key,
  concurrency    integer,
  rate_count     integer,
  rate_period_ms bigint,
  rate_next_at   timestamptz,
  active_window  text,
  timezone       text not null default 'UTC',
  paused_at      timestamptz,
  pause_reason   text,
  created_at     timestamptz not null default tock.now(),
  updated_at     timestamptz not null default tock.now(),
  constraint job_queues_concurrency_check check (concurrency >= 0),
  constraint job_queues_rate_check check ((rate_count is null) = (rate_period_ms is null) and rate_count >= 1 and rate_period_ms >= 1)
);

comment on table tock.job_queues is 'Limits of a queue over all hosts. A queue without a row has none.';

create table tock.job_slots (
  concurrency_key text not null,
  slot            integer not null,
  run_id          bigint not null,
  fence           integer not null,
  primary key (concurrency_key, slot)
);

comment on table tock.job_slots is 'Places taken under a concurrency limit: the primary key is the limit.';

create table tock.workers (
  id         uuid primary key,
  kind       text not null,
  host       text not null,
  pid        integer not null,
  capacity   integer not null,
  started_at timestamptz not null default tock.now(),
  seen_at    timestamptz not null default tock.now(),
  draining   boolean not null default false,
  constraint workers_kind_check check (kind in ('tick', 'daemon', 'library', 'manual'))
);

comment on table tock.workers is 'Processes that execute runs, with a fresh id each, and when each was last heard of.';

-- Enqueue from SQL -------------------------------------------------------------------------------------

-- Enqueues one run inside the caller's transaction and returns its id. With a key that was used before,
-- nothing is enqueued and the id of the run that has it is returned. Null options take the defaults that
-- the job's definition holds.
create function tock.enqueue(
  job             text,
  payload         jsonb default '{}',
  idempotency_key text default null,
  run_at          timestamptz default null,
  queue           text default null,
  priority        integer default null,
  max_attempts    integer default null
) returns bigint
language plpgsql set search_path = pg_catalog
as $$
declare
  new_id bigint;
  kept_id bigint;
  defaults record;
begin
  if enqueue.job is null or enqueue.job !~ '^[A-Za-z0-9][A-Za-z0-9._:@-]*$' or octet_length(enqueue.job) > 200 then
    raise exception 'not a job name: %', left(coalesce(enqueue.job, 'null'), 100)
      using errcode = 'invalid_parameter_value', hint = 'Letters, digits and . _ : @ - are allowed, at most 200 bytes.';
  end if;
  if enqueue.payload is not null and octet_length(enqueue.payload::text) > 1048576 then
    raise exception 'payload of % bytes is over the limit of 1 MiB', octet_length(enqueue.payload::text)
      using errcode = 'program_limit_exceeded', hint = 'Store the data in a table and pass its id.';
  end if;
  if enqueue.idempotency_key is not null and octet_length(enqueue.idempotency_key) not between 1 and 512 then
    raise exception 'idempotency key must have between 1 and 512 bytes'
      using errcode = 'invalid_parameter_value';
  end if;
  if not isfinite(enqueue.run_at) then
    raise exception 'run_at must be finite' using errcode = 'invalid_parameter_value';
  end if;
  if enqueue.max_attempts < 1 then
    raise exception 'max_attempts must be at least 1' using errcode = 'invalid_parameter_value';
  end if;

  new_id := nextval('tock.job_runs_id_seq');
  if enqueue.idempotency_key is not null then
    insert into tock.job_keys (idempotency_key, run_id) values (enqueue.idempotency_key, new_id)
    on conflict do nothing;
    if not found then
      select k.run_id into kept_id from tock.job_keys k where k.idempotency_key = enqueue.idempotency_key;
      return kept_id;
    end if;
  end if;

  select d.queue, d.priority, d.max_attempts into defaults from tock.job_definitions d where d.name = enqueue.job;
  insert into tock.job_runs_live (id, job, payload, idempotency_key, run_at, queue, priority, max_attempts, trigger, status)
  values (
    new_id, enqueue.job, coalesce(enqueue.payload, '{}'), enqueue.idempotency_key, coalesce(enqueue.run_at, tock.now()),
    coalesce(enqueue.queue, defaults.queue, 'default'), coalesce(enqueue.priority, defaults.priority, 0),
    coalesce(enqueue.max_attempts, defaults.max_attempts, 10), 'api', 'queued');
  if enqueue.run_at is null or enqueue.run_at <= tock.now() then
    perform pg_notify('tock', 'queued');
  end if;
  return new_id;
end $$;

comment on function tock.enqueue(text, jsonb, text, timestamptz, text, integer, integer) is 'Enqueues one run in the caller''s transaction and returns its id; a key that was used before returns the run that has it.';

revoke execute on function tock.create_partitions(integer) from public;
