-- The whole ledger: what is planned (job_definitions), what is happening (job_runs_live), what has
-- happened (job_runs_finished), and what makes each of them unique (job_occurrences, job_keys).
--
-- Plain SQL for PostgreSQL 15 and later. Every object is named with the schema `tock`, which the migrator
-- makes first; it puts the configured schema in its place. Append-only: a migration that has been released is
-- never edited.

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
  on_dead               text,

  queue                 text not null default 'default',
  priority              integer not null default 0,
  max_attempts          integer not null default 10,

  cursor                timestamptz not null default tock.now(),
  next_at               timestamptz default '-infinity',
  version               integer not null default 1,
  fingerprint           text,
  has_followers         boolean not null default false,

  paused_at             timestamptz,
  pause_reason          text,
  resumed_at            timestamptz,
  broken_at             timestamptz,
  broken_reason         text,
  vanished_at           timestamptz,
  created_at            timestamptz not null default tock.now(),
  updated_at            timestamptz not null default tock.now(),

  constraint job_definitions_name_check check (name ~ '^[A-Za-z0-9][A-Za-z0-9._:@-]*$' and octet_length(name) <= 200),
  constraint job_definitions_job_check check (job ~ '^[A-Za-z0-9][A-Za-z0-9._:@-]*$' and octet_length(job) <= 200),
  constraint job_definitions_one_schedule check (num_nonnulls(cron, every_ms, at, after) <= 1),
  constraint job_definitions_queue_check check (queue ~ '^[A-Za-z0-9][A-Za-z0-9._:@-]*$' and octet_length(queue) <= 200),
  constraint job_definitions_every_check check (every_ms >= 1000),
  constraint job_definitions_durations_check check (
    every_ms <= 1000000000000 and phase_ms between 0 and 1000000000000 and catchup_window_ms between 0 and 1000000000000
    and start_deadline_ms between 0 and 1000000000000 and jitter_ms between 0 and 1000000000000),
  constraint job_definitions_times_check check (
    cursor >= '0001-01-01Z' and cursor < '10000-01-01Z' and at >= '0001-01-01Z' and at < '10000-01-01Z'
    and start_at >= '0001-01-01Z' and start_at < '10000-01-01Z' and end_at >= '0001-01-01Z' and end_at < '10000-01-01Z'
    and (next_at = '-infinity' or next_at >= '0001-01-01Z' and next_at < '10000-01-01Z')),
  constraint job_definitions_origin_check check (origin in ('code', 'runtime')),
  constraint job_definitions_dst_check check (dst in ('once', 'skip', 'literal')),
  constraint job_definitions_overlap_check check (overlap in ('skip', 'buffer_one', 'buffer_all', 'cancel_other', 'terminate_other', 'allow_all')),
  constraint job_definitions_catchup_check check (catchup in ('latest', 'all', 'none')),
  constraint job_definitions_outside_window_check check (outside_window in ('defer', 'skip')),
  constraint job_definitions_remaining_check check (remaining_count >= 0),
  constraint job_definitions_pause_on_failure_check check (pause_on_failure_count >= 1),
  constraint job_definitions_max_attempts_check check (max_attempts between 1 and 1000000)
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
comment on column tock.job_definitions.pause_on_failure_count is 'After so many dead runs in a row the definition is paused; null: never.';
comment on column tock.job_definitions.on_dead is 'Job that is enqueued for each dead run of the job of this name.';
comment on column tock.job_definitions.cursor is 'The last occurrence considered. Never falls, but by reset-cursor. Occurrences are computed from here, never from now.';
comment on column tock.job_definitions.next_at is 'The next occurrence after the cursor; null: none; -infinity: the next tick works it out.';
comment on column tock.job_definitions.version is 'Grows with each edit.';
comment on column tock.job_definitions.fingerprint is 'Hash of the definition as code states it: equal means nothing to register.';
comment on column tock.job_definitions.has_followers is 'Some definition waits for the outcomes of this one (after): they are told of in job_outbox.';
comment on column tock.job_definitions.resumed_at is 'Runs that ended before this do not count towards pause_on_failure_count.';
comment on column tock.job_definitions.broken_at is 'Since when the stored definition cannot be evaluated; it is left out until it is mended.';
comment on column tock.job_definitions.vanished_at is 'Since when code no longer has the definition. Its queued runs are kept; it gets no new ones.';

-- Due ones only: cost follows what is due, not what is defined. With the id, in the order in which they are locked:
-- at midnight a hundred thousand are due at once, and no batch may sort them all.
create index job_definitions_due on tock.job_definitions (next_at, id)
  where next_at is not null and paused_at is null and broken_at is null and vanished_at is null;
create index job_definitions_job on tock.job_definitions (job);
create index job_definitions_after on tock.job_definitions using gin ((after -> 'definitions')) where after is not null;

create table tock.registrations (
  fingerprint   text primary key,
  is_current    boolean not null,
  first_seen_at timestamptz not null default tock.now(),
  seen_at       timestamptz not null default tock.now()
);

comment on table tock.registrations is 'Each set of job definitions that some version of the code has brought, and the one in force. A version that was seen before does not win back from a newer one that is still alive.';

create unique index registrations_one_current on tock.registrations (is_current) where is_current;

-- Which database this is --------------------------------------------------------------------------------

-- A restored dump carries the schedules and the waiting runs of its original. Were both to tick, all would happen twice.
-- So the schema notes where it was made, and a copy finds that it is somewhere else.
create table tock.database_identity (
  is_only           boolean primary key default true,
  system_identifier bigint not null,
  database_oid      oid not null,
  table_oids        oid[] not null,
  noted_at          timestamptz not null default tock.now(),
  constraint database_identity_one_row check (is_only)
);

comment on table tock.database_identity is 'The database that this schema was made in, or has been adopted by. A dump that is restored elsewhere carries that of its original, and refuses to tick until it is adopted.';
comment on column tock.database_identity.system_identifier is 'Of the server, as pg_control_system() tells; pg_upgrade makes a new one.';
comment on column tock.database_identity.table_oids is 'Of some tables of the schema: pg_upgrade keeps them, a restored dump does not.';

-- Which database this is: its server, itself, and some tables of the schema. No row where the role may not ask which
-- server it is, as some hosted databases have it.
create function tock.this_database() returns table (system_identifier bigint, database_oid oid, table_oids oid[])
language plpgsql stable set search_path = pg_catalog
as $$
begin
  return query
    select c.system_identifier, d.oid, array['tock.job_definitions'::regclass::oid, 'tock.job_runs'::regclass::oid,
      'tock.job_keys'::regclass::oid, 'tock.workers'::regclass::oid]
    from pg_control_system() c, pg_database d where d.datname = current_database();
exception when insufficient_privilege then
  return;
end $$;

comment on function tock.this_database() is 'Which database this is; no row where that cannot be asked.';

-- pg_upgrade makes a new system identifier and keeps all OIDs. A dump that is restored elsewhere has new ones; so has
-- what logical replication fills. A copy of the whole server (a base backup, a disk snapshot) is the same in all, and
-- is not found out.
create function tock.is_copy() returns boolean
language sql stable security definer set search_path = pg_catalog, pg_temp
as $$
  select exists (
    select from tock.database_identity i, tock.this_database() t
    where i.database_oid <> t.database_oid or (i.system_identifier <> t.system_identifier and i.table_oids <> t.table_oids))
$$;

comment on function tock.is_copy() is 'Whether the schema was made in another database and has not been adopted by this one.';

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
  -- In byte order: the cheapest to compare. Claims go down each queue by itself.
  queue                text collate "C" not null default 'default',
  trigger              text not null default 'api',
  idempotency_key      text,
  live_key             text,
  slot_keys            text[],
  slot_limits          integer[],
  blocked_on           text,
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
comment on column tock.job_runs.releases is 'How often a worker gave the run back unfinished, in a drain or a crash of its process; such an attempt does not count.';
comment on column tock.job_runs.generation is 'Grows with an operator''s retry of a finished run.';
comment on column tock.job_runs.occurrence_count is 'How many occurrences the run stands for (catch-up), this one included.';
comment on column tock.job_runs.scheduled_for is 'The occurrence: nominal time, before jitter.';
comment on column tock.job_runs.interval_start is 'The occurrence before it: the run''s data interval is [interval_start, scheduled_for).';
comment on column tock.job_runs.start_by is 'Claimed later than this, the run is skipped (deadline).';
comment on column tock.job_runs.live_key is 'A key that is unique only among live runs.';
comment on column tock.job_runs.slot_keys is 'Concurrency keys: it runs only with a place in job_slots under each of them.';
comment on column tock.job_runs.slot_limits is 'How many places there are under each of slot_keys.';
comment on column tock.job_runs.blocked_on is 'The concurrency key that has no place for it now. Claims pass it over until a place is free.';
comment on column tock.job_runs.locked_by is 'The worker that holds the lease.';
comment on column tock.job_runs.locked_until is 'The lease: past this, any tick may take the run back.';
comment on column tock.job_runs.errors is 'One entry per failed attempt, or one that a crash of its process cut short: at, attempt, name, code, message, stack.';
comment on column tock.job_runs.skip_reason is 'Why an expected occurrence, or an operator''s choice, gave no execution.';

-- A batch claims neighbours, one after the other: each page must have room for a second version of every row of it. At
-- a fillfactor of 70 two thirds of them moved to other pages, with new entries in every index.
create table tock.job_runs_live partition of tock.job_runs for values in ('queued', 'running', 'failed')
  with (fillfactor = 45, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 1000,
        autovacuum_analyze_scale_factor = 0.05, autovacuum_vacuum_cost_delay = 0);
alter table tock.job_runs_live add primary key (id);
-- What a claim, a reaping or an outcome computes with, so that no row can make the statement fail that moves it together with
-- others. The bounds leave room to count on: nobody is claimed a billion times. On the live side only: each run was here
-- before it was finished, and there it is moved no more. The rule of names is held where runs are enqueued and defined: here,
-- with each insert and each claim, it would cost a tenth of both.
alter table tock.job_runs_live
  add constraint job_runs_live_times_check check (
    run_at >= '0001-01-01Z' and run_at < '10000-01-01Z' and created_at >= '0001-01-01Z' and created_at < '10000-01-01Z'
    and scheduled_for >= '0001-01-01Z' and scheduled_for < '10000-01-01Z'
    and interval_start >= '0001-01-01Z' and interval_start < '10000-01-01Z'
    and start_by >= '0001-01-01Z' and start_by < '10000-01-01Z' and started_at >= '0001-01-01Z' and started_at < '10000-01-01Z'
    and locked_until >= '0001-01-01Z' and locked_until < '10000-01-01Z'
    and cancel_requested_at >= '0001-01-01Z' and cancel_requested_at < '10000-01-01Z'),
  add constraint job_runs_live_counts_check check (
    attempts <= 1000000000 and max_attempts <= 1000000000 and fence between 0 and 1000000000
    and releases between 0 and 1000000000 and generation between 1 and 1000000000 and occurrence_count >= 1),
  add constraint job_runs_live_documents_check check (
    jsonb_typeof(errors) = 'array' and (progress is null or jsonb_typeof(progress) = 'object')),
  add constraint job_runs_live_slots_check check (
    (slot_keys is null) = (slot_limits is null)
    and (slot_keys is null or cardinality(slot_keys) = cardinality(slot_limits) and cardinality(slot_keys) <= 100
      and array_position(slot_keys, null) is null and array_position(slot_limits, null) is null and 1 <= all (slot_limits))),
  add constraint job_runs_live_texts_check check (
    octet_length(queue) between 1 and 200 and octet_length(job) between 1 and 200
    and octet_length(idempotency_key) between 1 and 512 and octet_length(live_key) between 1 and 512);
-- Columns that a claim changes are in no index, not even in a predicate: the claim stays a HOT update. Claims go down
-- each queue and priority by itself, so that a queue that is paused, full or outside its window costs nothing, and a
-- flood in one does not starve the others.
create index job_runs_live_claim on tock.job_runs_live (queue, priority, run_at, id) where blocked_on is null;
create index job_runs_live_blocked on tock.job_runs_live (blocked_on, priority, run_at, id) where blocked_on is not null;
create unique index job_runs_live_key on tock.job_runs_live (live_key) where live_key is not null;
create index job_runs_live_definition on tock.job_runs_live (definition_id, scheduled_for) where definition_id is not null;

comment on table tock.job_runs_live is 'Runs that wait, are running, or wait for their next attempt.';

create table tock.job_runs_finished partition of tock.job_runs for values in ('succeeded', 'dead', 'cancelled', 'skipped')
  partition by range (finished_at);
alter table tock.job_runs_finished add primary key (id, finished_at);
create index job_runs_finished_definition on tock.job_runs_finished (definition_id, scheduled_for) where definition_id is not null;
create index job_runs_finished_dead on tock.job_runs_finished (finished_at) where status = 'dead';
create index job_runs_finished_at on tock.job_runs_finished using brin (finished_at);
create table tock.job_runs_finished_default partition of tock.job_runs_finished default;

comment on table tock.job_runs_finished is 'Runs that have ended, by the month or the day of their end: retention detaches a partition, and drops it.';

-- What makes things unique ----------------------------------------------------------------------------

create table tock.job_keys (
  idempotency_key text primary key,
  run_id          bigint not null,
  created_at      timestamptz not null default tock.now(),
  constraint job_keys_length_check check (octet_length(idempotency_key) between 1 and 512)
);

comment on table tock.job_keys is 'Every idempotency key that a caller has used, and its run. Outlives the run.';

-- Tock's own identities are not among the callers' keys: no key that somebody chooses can be taken for an occurrence.
create table tock.job_occurrences (
  definition_id bigint not null,
  scheduled_for timestamptz not null,
  run_id        bigint not null,
  created_at    timestamptz not null default tock.now(),
  primary key (definition_id, scheduled_for)
);

comment on table tock.job_occurrences is 'Every occurrence that was ever materialized, and its run. Outlives the run, so that an occurrence cannot come twice, not even after retention.';

create table tock.job_effects (
  key        text primary key,
  run_id     bigint not null,
  result     jsonb,
  created_at timestamptz not null default tock.now(),
  constraint job_effects_length_check check (octet_length(key) between 1 and 1024)
);

comment on table tock.job_effects is 'The ledger of effects that must happen once: the row and the effect are committed together.';

-- What follows from a run that has ended -------------------------------------------------------------

-- Written in the transaction in which a run ends, and emptied after it by whoever is there: the one who ended the
-- run, or the next tick. So a crash in between loses nothing, and two parents that end at once are both seen.
create table tock.job_outbox (
  id            bigint generated always as identity primary key,
  kind          text not null,
  run_id        bigint not null,
  generation    integer not null default 1,
  definition_id bigint,
  scheduled_for timestamptz,
  created_at    timestamptz not null default tock.now(),
  constraint job_outbox_kind_check check (kind in ('chain', 'dead'))
);

comment on table tock.job_outbox is 'Runs that have ended and that others wait for: what follows from them is still to be made.';
comment on column tock.job_outbox.generation is 'Which end of the run it was: with the run, the identity of what follows.';
comment on column tock.job_outbox.kind is 'chain: definitions wait for this one''s occurrence; dead: its job has an onDead.';

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
  constraint job_queues_name_check check (name ~ '^[A-Za-z0-9][A-Za-z0-9._:@-]*$' and octet_length(name) <= 200),
  constraint job_queues_concurrency_check check (concurrency between 0 and 1000000),
  constraint job_queues_rate_check check ((rate_count is null) = (rate_period_ms is null)
    and rate_count between 1 and 1000000 and rate_period_ms between 1 and 1000000000000),
  constraint job_queues_rate_next_check check (rate_next_at >= '0001-01-01Z' and rate_next_at < '10000-01-01Z'),
  constraint job_queues_window_check check (active_window ~ '^([01][0-9]|2[0-3]):[0-5][0-9]-(([01][0-9]|2[0-3]):[0-5][0-9]|24:00)$')
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
comment on column tock.job_slots.concurrency_key is 'definition:<id> keeps its place until the run has ended; queue:<name>, job:<name>:<key> and isolated only while it is running.';

-- Places are given back by run.
create index job_slots_run on tock.job_slots (run_id);

create table tock.workers (
  id         uuid primary key,
  kind       text not null,
  host       text not null,
  pid        integer not null,
  capacity   integer not null,
  started_at timestamptz not null default tock.now(),
  seen_at    timestamptz not null default tock.now(),
  heartbeat_ms integer,
  draining   boolean not null default false,
  constraint workers_kind_check check (kind in ('tick', 'daemon', 'library', 'manual'))
);

comment on table tock.workers is 'Processes that execute runs, with a fresh id each, and when each was last heard of.';
comment on column tock.workers.heartbeat_ms is 'How often it says that it lives. Silent for two and a half times as long, it is taken for dead before its leases expire.';

-- Enqueue from SQL -------------------------------------------------------------------------------------

-- NOTIFY takes a lock at the commit that all who notify share. Where very many transactions enqueue at once, it can be
-- turned off for a database or a role, and polling finds the runs: alter database app set pg_tock.notify = off.
create function tock.notify(payload text) returns void
language plpgsql volatile
as $$
begin
  if current_setting('pg_tock.notify', true) is distinct from 'off' then
    perform pg_catalog.pg_notify('tock', payload);
  end if;
end $$;

comment on function tock.notify(text) is 'Wakes the daemons that listen, unless pg_tock.notify is off.';

-- Runs are enqueued through the functions below, by SQL and by the library alike, and never by an insert of the caller's own: a
-- role that enqueues has the right to execute them and no right on any table. They run with the owner's rights, so that what
-- they have no parameter for cannot be chosen: a fence, attempts, a lease, an occurrence, another job's places.

-- The rule of names, which src/model/names.ts holds in code. Inlined; true, or an error.
create function tock.refuse_name(name text, what text) returns boolean
language plpgsql immutable
as $$
begin
  raise exception '% cannot be the name of a %', coalesce(quote_literal(left(name, 60)), 'null'), what
    using errcode = 'invalid_parameter_value',
      hint = 'Use letters, digits and . _ : @ -, beginning with a letter or digit, at most 200 bytes, and no name that every object of JavaScript has.';
end $$;

create function tock.demand_name(name text, what text) returns boolean
language sql immutable
as $$
  select case when name ~ '^[A-Za-z0-9][A-Za-z0-9._:@-]*$' and octet_length(name) <= 200
    -- What every object of JavaScript has.
    and name <> all ('{constructor,hasOwnProperty,isPrototypeOf,propertyIsEnumerable,toLocaleString,toString,valueOf}')
    then true else tock.refuse_name(name, what) end
$$;

comment on function tock.demand_name(text, text) is 'True for what may be the name of a job, a definition or a queue; an error for all else.';

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
language plpgsql security definer set search_path = pg_catalog, pg_temp
as $$
declare
  new_id bigint;
  kept_id bigint;
  defaults record;
begin
  perform tock.demand_name(enqueue.job, 'job'), tock.demand_name(coalesce(enqueue.queue, 'default'), 'queue');
  if enqueue.payload is not null and octet_length(enqueue.payload::text) > 1048576 then
    raise exception 'payload of % bytes is over the limit of 1 MiB', octet_length(enqueue.payload::text)
      using errcode = 'program_limit_exceeded', hint = 'Store the data in a table and pass its id.';
  end if;
  -- Handlers read it as JavaScript does.
  if jsonb_path_exists(enqueue.payload, '$.** ? (@.type() == "number" && (@ > 9007199254740991 || @ < -9007199254740991))') then
    raise exception 'the payload holds a number over 2^53, which would lose digits'
      using errcode = 'invalid_parameter_value', hint = 'Pass it as text.';
  end if;
  if enqueue.idempotency_key is not null and octet_length(enqueue.idempotency_key) not between 1 and 512 then
    raise exception 'idempotency key must have between 1 and 512 bytes'
      using errcode = 'invalid_parameter_value';
  end if;
  if enqueue.run_at < '0001-01-01Z' or enqueue.run_at >= '10000-01-01Z' then
    raise exception 'run_at must be between the years 0001 and 9999'
      using errcode = 'invalid_parameter_value', hint = 'Leave it out for a run that is due now.';
  end if;
  if enqueue.max_attempts not between 1 and 1000000 then
    raise exception 'max_attempts must be between 1 and 1000000' using errcode = 'invalid_parameter_value';
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
    perform tock.notify('queued');
  end if;
  return new_id;
end $$;

comment on function tock.enqueue(text, jsonb, text, timestamptz, text, integer, integer) is 'Enqueues one run in the caller''s transaction and returns its id; a key that was used before returns the run that has it.';

-- For the library: one run without a key, as most transactions enqueue. A plain insert, and who listens is notified where
-- it is. Null: now.
create function tock.enqueue_one(
  job text, payload jsonb, run_at timestamptz, delay_ms float8, queue text, priority integer, max_attempts integer, trigger text
) returns bigint
language plpgsql security definer set search_path = pg_catalog, pg_temp
as $$
declare
  made record;
begin
  insert into tock.job_runs_live as r (job, payload, run_at, queue, priority, max_attempts, trigger, status)
  select
    enqueue_one.job, enqueue_one.payload,
    coalesce(enqueue_one.run_at, tock.now() + enqueue_one.delay_ms * interval '1 millisecond', tock.now()),
    enqueue_one.queue, enqueue_one.priority, enqueue_one.max_attempts, enqueue_one.trigger, 'queued'
  where tock.demand_name(enqueue_one.job, 'job') and tock.demand_name(enqueue_one.queue, 'queue')
  returning r.id, r.run_at <= tock.now() as is_due into made;
  if made.is_due then
    perform tock.notify('queued:' || enqueue_one.priority || ':' || enqueue_one.queue);
  end if;
  return made.id;
end $$;

comment on function tock.enqueue_one(text, jsonb, timestamptz, float8, text, integer, integer, text) is 'The library''s: enqueues one run without a key, or a place that it needs, in the caller''s transaction.';

-- For the library: many runs. One statement, however many rows. It gets segments: a shape, the payloads of the rows that have
-- it, and their keys. JSON has no line breaks but those that somebody put there for people, so that a break parts payloads,
-- and an empty line segments: parting text is the cheapest that a server can do, parsing one large document is not.
-- Segment by segment, line by line, each row gets its id: the ids grow with the rows. The keys go in sorted, so that two
-- batches never wait in a circle. Names are checked once for each shape.
-- The planner takes unnest(string_to_array()) for ten rows, and string_to_table() for a thousand: a thousand segments of
-- a thousand rows would cost enough for a server with JIT to compile the statement, each time it comes. The parameters
-- are behind a select, so that it does not count the rows either: for a few it would plan anew each time.
-- Returns all ids, and of those that have no run of their own, `id:the run that has the key`; without a run where it cannot be
-- seen.
create function tock.enqueue_many(payload_lines text, shape_lines text)
returns table (ids text, refused text, woken text)
language plpgsql security definer set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
begin
  return query
with input as materialized (
  select nextval('tock.job_runs_id_seq') as id, l.payload, l.key, s.job, s.queue, s.priority, s.max_attempts, s.trigger, s.slot, s.slot_limit,
    coalesce(s.at, tock.now() + s.delay_ms * interval '1 millisecond', tock.now()) as run_at
  from rows from (unnest(string_to_array((select payload_lines), chr(10) || chr(10))), unnest(string_to_array((select shape_lines), chr(10)))) as g(payloads, shape),
    jsonb_to_record(g.shape::jsonb) as s(
      job text, at timestamptz, delay_ms float8, queue text, priority integer, max_attempts integer, trigger text, slot text, slot_limit integer, keys jsonb),
    rows from (unnest(string_to_array(g.payloads, chr(10))), jsonb_array_elements_text(s.keys)) as l(payload, key)
  where tock.demand_name(s.job, 'job') and tock.demand_name(s.queue, 'queue')
), keyed as (
  insert into tock.job_keys (idempotency_key, run_id) select key, id from input where key is not null order by key, id
  on conflict do nothing
  returning run_id
), made as (
  insert into tock.job_runs_live (id, job, payload, idempotency_key, run_at, queue, priority, max_attempts, trigger, slot_keys, slot_limits, status)
  select i.id, i.job, i.payload::jsonb, i.key, i.run_at, i.queue, i.priority, i.max_attempts, i.trigger,
    case when i.slot_limit is not null then array['job:' || i.job || coalesce(':' || i.slot, '')] end,
    case when i.slot_limit is not null then array[i.slot_limit] end, 'queued'
  from input i left join keyed k on k.run_id = i.id
  where i.key is null or k.run_id is not null
  order by i.id
  returning run_at
)
select (select string_agg(id::text, ',' order by id) from input) as ids,
  case when count(*) < (select count(*) from input) then (
    -- One by one, not a join: for that the planner reads all keys there ever were.
    select string_agg(i.id || ':' || coalesce((select old.run_id::text from tock.job_keys old where old.idempotency_key = i.key), ''), ',')
    from input i left join keyed k on k.run_id = i.id
    where i.key is not null and k.run_id is null) end as refused,
  -- At most once per statement, and only if something can start now.
  case when min(run_at) <= tock.now() then tock.notify('queued')::text end as woken
from made;
end $$;

comment on function tock.enqueue_many(text, text) is 'The library''s: enqueues many runs in the caller''s transaction.';

-- For the library: many runs, some of which have a key that is unique only while its run is live. One statement, however many
-- rows, of any kind. The keys go in sorted, so that two batches never wait in a circle. A key that is already there, or twice
-- in the batch, gives the id of the run that has it; null where somebody else used it at this very moment. Of several rows
-- with one key that is unique while live, the first counts, or the last where it replaces.
create function tock.enqueue_live(run_list text)
returns table (place integer, made boolean, replaced boolean, id text, woken text)
language plpgsql security definer set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
begin
  return query
with input as materialized (
  select nextval('tock.job_runs_id_seq') as id, i.*, coalesce(i.at, tock.now() + i.delay_ms * interval '1 millisecond', tock.now()) as run_at,
    case when i.slot_limit is not null then array['job:' || i.job || coalesce(':' || i.slot, '')] end as slot_keys,
    case when i.slot_limit is not null then array[i.slot_limit] end as slot_limits
  from jsonb_to_recordset(run_list::jsonb) as i(
    place integer, job text, payload jsonb, key text, is_live boolean, replaces boolean, most_ms float8, at timestamptz,
    delay_ms float8, queue text, priority integer, max_attempts integer, trigger text, slot text, slot_limit integer)
  where tock.demand_name(i.job, 'job') and tock.demand_name(i.queue, 'queue')
  order by i.place
), keyed as (
  insert into tock.job_keys (idempotency_key, run_id) select key, id from input where key is not null and not is_live order by key, place
  on conflict do nothing
  returning idempotency_key, run_id
), made as (
  insert into tock.job_runs_live (id, job, payload, idempotency_key, run_at, queue, priority, max_attempts, trigger, slot_keys, slot_limits, status)
  select i.id, i.job, i.payload, i.key, i.run_at, i.queue, i.priority, i.max_attempts, i.trigger, i.slot_keys, i.slot_limits, 'queued'
  from input i left join keyed k on k.run_id = i.id
  where i.key is null or k.run_id is not null
  order by i.id
  returning id, run_at
), chosen as materialized (
  select distinct on (key) * from input where is_live order by key, case when replaces then -place else place end
), replacing as materialized (
  -- By key, to be found without a search through all rows for each.
  select jsonb_object_agg(key, most_ms) as bounds from chosen where replaces
), live as (
  insert into tock.job_runs_live as r (id, job, payload, idempotency_key, live_key, run_at, queue, priority, max_attempts, trigger, slot_keys, slot_limits, status)
  select id, job, payload, key, key, run_at, queue, priority, max_attempts, trigger, slot_keys, slot_limits, 'queued'
  from chosen order by key
  on conflict (live_key) where live_key is not null do update
  set payload = excluded.payload, priority = excluded.priority, slot_keys = excluded.slot_keys, slot_limits = excluded.slot_limits,
    blocked_on = null, run_at = least(excluded.run_at,
      r.created_at + ((select bounds from replacing) ->> excluded.live_key)::float8 * interval '1 millisecond')
  where r.status = 'queued' and r.attempts = 0 and r.job = excluded.job and (select bounds from replacing) -> excluded.live_key is not null
  returning r.id, r.live_key, r.run_at
), woken as (
  -- At most once per statement, and only if something can start now.
  select tock.notify('queued') from (
    select from (select run_at from made union all select run_at from live) m where m.run_at <= tock.now() limit 1) due
)
select i.place, m.id is not null or coalesce(l.id = i.id, false) as made, l.id is not null and not exists (select from input n where n.id = l.id) as replaced,
  coalesce(m.id, l.id, k.run_id, old.run_id, there.id)::text as id, (select count(*) from woken)::text as woken
from input i
left join made m on m.id = i.id
left join live l on i.is_live and l.live_key = i.key
left join keyed k on not i.is_live and k.idempotency_key = i.key
left join tock.job_keys old on not i.is_live and old.idempotency_key = i.key
left join tock.job_runs_live there on i.is_live and there.live_key = i.key
order by i.place;
end $$;

comment on function tock.enqueue_live(text) is 'The library''s: enqueues runs in the caller''s transaction some of whose keys are unique only while their run is live.';

-- For the library: which runs have these keys; a call of its own sees what the one before wrote, and what was committed while
-- that waited. Planned anew each time, for tables as they are: they grow from nothing faster than their statistics.
create function tock.find_keys(key_list text, live_key_list text)
returns table (key text, id text, live boolean)
language plpgsql security definer set search_path = pg_catalog, pg_temp set plan_cache_mode = force_custom_plan
as $$
#variable_conflict use_column
begin
  return query
select idempotency_key as key, run_id::text as id, false as live from tock.job_keys
where idempotency_key in (select jsonb_array_elements_text(key_list::jsonb))
union all
select live_key, id::text, true from tock.job_runs_live
where live_key in (select jsonb_array_elements_text(live_key_list::jsonb));
end $$;

comment on function tock.find_keys(text, text) is 'The library''s: which runs have these idempotency keys, and which live runs those that are unique while live.';

revoke execute on function tock.enqueue, tock.enqueue_one, tock.enqueue_many, tock.enqueue_live, tock.find_keys, tock.demand_name, tock.refuse_name
  from public;

-- Partitions of the finished runs, and retention ------------------------------------------------------
--
-- Retention goes by detaching: partitions of months or of days, and what lets runs that are kept longer stay in sight
-- while the partition they were in goes.

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

create function tock.partitions_end() returns timestamptz
language sql stable set search_path = pg_catalog set jit = off
as $$
  with spans as materialized (select p.low, p.high from tock.finished_partitions() p where p.high > tock.now())
  select min(e.at) from (select tock.now() as at union all select s.high from spans s) e
  where not exists (select from spans s where s.low <= e.at and s.high > e.at)
$$;

comment on function tock.partitions_end() is 'From when on runs that end go to the default partition, for want of another: now, or later.';

create function tock.partition_unit() returns text
language sql stable set search_path = pg_catalog
as $$
  select coalesce((
    select 'day' from (
      select p.high - p.low as length from tock.finished_partitions() p where p.low is not null and not p.is_kept
      order by p.low desc limit 1
    ) latest where latest.length <= interval '1 day'), 'month')
$$;

comment on function tock.partition_unit() is 'What the latest partition of the finished runs holds: a month or a day.';

-- `giving_way` are months that are taken for gone, and whose days are missing then. Of a month that has days, the days
-- that are not there are missing; else the month is.
create function tock.missing_partitions(ahead integer, unit text, giving_way text[])
returns table (name text, low timestamptz, high timestamptz)
language sql stable
set search_path = pg_catalog set timezone = 'UTC' set jit = off
as $$
  with clock as materialized (
    select date_trunc('day', tock.now()) as today
  ), parts as materialized (
    select p.low, p.high, p.name = any(giving_way) as gives_way from tock.finished_partitions() p where p.low is not null
  ), months as materialized (
    select m.low, m.low + interval '1 month' as high,
      exists (select from parts p where not p.gives_way and p.low < m.low + interval '1 month' and p.high > m.low) as has_parts
    from clock c, generate_series(date_trunc('month', c.today), date_trunc('month', c.today) + ahead * interval '1 month', interval '1 month') m(low)
    where unit = 'month'
  ), days (low) as materialized (
    select generate_series(c.today, c.today + ahead * interval '1 day', interval '1 day') from clock c where unit = 'day'
    union select generate_series(p.low, p.high - interval '1 day', interval '1 day') from parts p where p.gives_way
    union select generate_series(greatest(m.low, c.today), m.high - interval '1 day', interval '1 day') from clock c, months m where m.has_parts
  )
  select 'job_runs_finished_' || to_char(m.low, 'YYYY_MM'), m.low, m.high from months m where not m.has_parts
  union all
  select 'job_runs_finished_' || to_char(d.low, 'YYYY_MM_DD'), d.low, d.low + interval '1 day' from days d
  where not exists (select from parts p where not p.gives_way and p.low < d.low + interval '1 day' and p.high > d.low)
  order by 2
$$;

comment on function tock.missing_partitions(integer, text, text[]) is 'The coming partitions that are not there: of the current month and those ahead, or of today and the days ahead.';

-- Has autovacuum end its work on the default partition: it does so for whoever waits longer than deadlock_timeout (1 s),
-- which is too long to wait in everybody's way. With this lock nobody else waits.
create function tock.push_vacuum_aside() returns void
language plpgsql set search_path = pg_catalog
as $$
begin
  perform set_config('lock_timeout', '2s', true);
  lock table only tock.job_runs_finished_default in share update exclusive mode;
  perform set_config('lock_timeout', '500ms', true);
end $$;

-- Attaches new partitions. Without bounds, what the default partition holds of their spans is moved into them, so it must
-- be small; with bounds it is as these say (tock.create_partitions). Nothing that takes long is done under the locks.
create function tock.attach_partitions(names text[], lows timestamptz[], highs timestamptz[], giving_way text[], bounds jsonb) returns integer
language plpgsql set search_path = pg_catalog
as $$
declare
  holder text := 'job_runs_finished_default';
  becomes constant text := bounds ->> 'becomes';
  is_used boolean;
begin
  select array_agg(s.name), array_agg(s.low), array_agg(s.high) into names, lows, highs
  from unnest(names, lows, highs) s(name, low, high)
  where bounds is null
    or s.low >= (bounds ->> 'high')::timestamptz or s.high <= (bounds ->> 'low')::timestamptz
    or bounds -> 'clear' ? s.name;
  -- With their indexes, before anything is locked.
  for i in 1 .. coalesce(cardinality(names), 0) loop
    execute format('create table tock.%I (like tock.job_runs_finished including defaults including constraints including indexes)', names[i]);
  end loop;

  perform tock.push_vacuum_aside();
  -- The parent first, as all others take them. From here on all wait for us.
  lock table only tock.job_runs_finished in access exclusive mode;
  perform set_config('lock_timeout', '200ms', true);
  lock table only tock.job_runs_finished_default in access exclusive mode;
  for i in 1 .. cardinality(giving_way) loop
    execute format('alter table tock.job_runs_finished detach partition tock.%I', giving_way[i]);
    execute format('select exists (select from tock.%I)', giving_way[i]) into is_used;
    if is_used then
      raise exception 'a run has ended in % meanwhile', giving_way[i] using errcode = 'serialization_failure';
    end if;
    execute format('drop table tock.%I', giving_way[i]);
  end loop;

  if becomes is not null then
    holder := becomes;
    alter table tock.job_runs_finished detach partition tock.job_runs_finished_default;
    execute format('alter table tock.job_runs_finished_default rename to %I', becomes);
    create table tock.job_runs_finished_default (like tock.job_runs_finished including defaults including constraints including indexes);
    execute format('alter table tock.job_runs_finished attach partition tock.%I for values from (%L) to (%L)', becomes, bounds ->> 'low', bounds ->> 'high');
    alter table tock.job_runs_finished attach partition tock.job_runs_finished_default default;
  end if;
  for i in 1 .. coalesce(cardinality(names), 0) loop
    if bounds is null then
      execute format('with moved as (delete from tock.job_runs_finished_default where finished_at >= %L and finished_at < %L returning *)
        insert into tock.%I select * from moved', lows[i], highs[i], names[i]);
    end if;
    execute format('alter table tock.job_runs_finished attach partition tock.%I for values from (%L) to (%L)', names[i], lows[i], highs[i]);
  end loop;
  if bounds is not null then
    execute format('alter table tock.%I drop constraint job_runs_finished_default_bounds', holder);
  end if;
  return coalesce(cardinality(names), 0);
end $$;

-- Puts a check on the default partition; what for is said in its comment. Returns false where no check would help.
create function tock.add_bounds(unit text, names text[], lows timestamptz[], highs timestamptz[], giving_way text[]) returns boolean
language plpgsql set search_path = pg_catalog
as $$
declare
  one constant interval := ('1 ' || unit)::interval;
  soon constant timestamptz := tock.now() + interval '1 day';
  covered constant timestamptz := tock.partitions_end();
  -- What ends within a day goes to the default partition.
  is_lapse constant boolean := covered < soon;
  first_at timestamptz;
  last_at timestamptz;
  low_at timestamptz;
  high_at timestamptz;
  clear text[] := '{}';
  is_used boolean;
  bounds jsonb;
  allowed text;
begin
  -- Reads all of it, and is in nobody's way.
  select min(r.finished_at), max(r.finished_at) into first_at, last_at from tock.job_runs_finished_default r;
  if is_lapse then
    first_at := least(first_at, covered);
    last_at := greatest(last_at, covered);
  end if;
  select greatest(date_trunc(unit, first_at), max(p.high) filter (where p.high <= first_at)),
    least(date_trunc(unit, case when is_lapse then soon else last_at end) + one, min(p.low) filter (where p.low > last_at))
  into low_at, high_at from tock.finished_partitions() p where p.name <> all(giving_way);

  if last_at < high_at and (is_lapse or last_at < tock.now()) and not exists (
    select from tock.finished_partitions() p where p.low < high_at and p.high > low_at
  ) then
    allowed := format('finished_at >= %L and finished_at < %L and status in (''succeeded'', ''dead'', ''cancelled'', ''skipped'') and status is not null', low_at, high_at);
    bounds := jsonb_build_object('low', low_at, 'high', high_at, 'becomes', 'job_runs_finished_' || case
      when low_at + one = high_at then to_char(low_at, case unit when 'day' then 'YYYY_MM_DD' else 'YYYY_MM' end)
      else to_char(low_at, 'YYYY_MM_DD') || '_to_' || to_char(high_at, 'YYYY_MM_DD') end);
  else
    for i in 1 .. cardinality(names) loop
      continue when lows[i] < soon;
      select exists (select from tock.job_runs_finished_default r where r.finished_at >= lows[i] and r.finished_at < highs[i]) into is_used;
      continue when is_used;
      clear := clear || names[i];
      allowed := concat_ws(' and ', allowed, format('(finished_at < %L or finished_at >= %L)', lows[i], highs[i]));
    end loop;
    bounds := jsonb_build_object('clear', clear);
  end if;
  if allowed is null then
    return false;
  end if;
  bounds := bounds || jsonb_build_object('until', tock.now() + interval '12 hours');
  perform tock.push_vacuum_aside();
  execute format('alter table tock.job_runs_finished_default add constraint job_runs_finished_default_bounds check (%s) not valid', allowed);
  execute format('comment on constraint job_runs_finished_default_bounds on tock.job_runs_finished_default is %L', bounds);
  return true;
end $$;

-- Makes the coming partitions: those of the current month and `ahead` months more (3), or of today and `ahead` days more
-- (14). Where no unit is given, it is that of the latest partition. Months and days live together:
--   - a month that has begun keeps its partition, and days begin after it;
--   - one that has not begun, and is empty, gives way to its days, all at once, in this transaction;
--   - of a month that has days, the days that are missing are made.
--
-- Attaching a partition, PostgreSQL reads the whole default partition under an exclusive lock, which all who end runs may
-- wait for, unless a valid check says that nothing of that span is in it. So where it holds more than a little, it takes
-- three short transactions:
--   1. this function puts a check on it that is not valid yet, and returns `validate`;
--   2. tock.validate_bounds() reads it all, in nobody's way, and makes the check valid;
--   3. this function attaches what the check allows, and takes the check off.
-- Where what the default partition holds lies between two others, or ends now, the check bounds it: it becomes the
-- partition of its span, as it is, and an empty one takes its place. Where it holds runs of other times as well, it
-- stays, and the check keeps the coming spans clear.
--
-- While the check is there, a run that ends outside of it cannot be written: so a day from now is always inside. Whoever
-- calls next after a crash goes on with it, or takes it off and returns `again`.
create function tock.create_partitions(ahead integer default null, unit text default null, out made integer, out next_step text)
language plpgsql security definer
set search_path = pg_catalog, pg_temp set timezone = 'UTC' set datestyle = 'ISO' set jit = off set lock_timeout = '500ms'
as $$
declare
  giving_way text[] := '{}';
  names text[];
  lows timestamptz[];
  highs timestamptz[];
  bounds jsonb;
  is_valid boolean;
  -- A few thousand runs are read, and moved, while the locks are held.
  is_small boolean;
  is_used boolean;
  month record;
begin
  made := 0;
  unit := coalesce(unit, tock.partition_unit());
  ahead := coalesce(ahead, case unit when 'day' then 14 else 3 end);
  if unit not in ('month', 'day') then
    raise exception 'partitions are of a month or a day, not of %', unit using errcode = 'invalid_parameter_value';
  end if;
  if ahead not between 0 and 400 then
    raise exception 'from 0 to 400 partitions can be made ahead, not %', ahead using errcode = 'invalid_parameter_value';
  end if;
  perform pg_advisory_xact_lock(hashtextextended('tock.create_partitions', 0));

  for month in
    select p.name from tock.finished_partitions() p
    where unit = 'day' and p.low > tock.now() + interval '1 day' and p.low <= date_trunc('day', tock.now()) + ahead * interval '1 day'
      and p.high - p.low > interval '1 day'
  loop
    execute format('select exists (select from tock.%I)', month.name) into is_used;
    if not is_used then
      giving_way := giving_way || month.name;
    end if;
  end loop;
  select coalesce(array_agg(m.name), '{}'), array_agg(m.low), array_agg(m.high) into names, lows, highs
  from tock.missing_partitions(ahead, unit, giving_way) m;
  select obj_description(c.oid, 'pg_constraint')::jsonb, c.convalidated into bounds, is_valid from pg_constraint c
  where c.conrelid = 'tock.job_runs_finished_default'::regclass and c.conname = 'job_runs_finished_default_bounds';
  is_small := pg_table_size('tock.job_runs_finished_default') <= 2 * 1024 * 1024;

  if is_valid is not null and (is_small or names = '{}' or bounds is null or (bounds ->> 'until')::timestamptz < tock.now() or exists (
    select from tock.finished_partitions() p
    where p.low < (bounds ->> 'high')::timestamptz and p.high > (bounds ->> 'low')::timestamptz
  ) or exists (
    -- Made for months: the days of one that gives way would not be attached.
    select from tock.finished_partitions() p, unnest(names, lows) s(name, low)
    where p.name = any(giving_way) and s.low >= p.low and s.low < p.high and not bounds -> 'clear' ? s.name
  )) then
    -- In a transaction of its own: who has locked a partition may not ask for its parent.
    perform tock.push_vacuum_aside();
    alter table tock.job_runs_finished_default drop constraint job_runs_finished_default_bounds;
    next_step := 'again';
  elsif names = '{}' then
    null;
  elsif is_valid or is_small then
    made := tock.attach_partitions(names, lows, highs, giving_way, bounds);
    -- The check may have been made for others.
    if bounds ? 'clear' and made > 0 then
      next_step := 'again';
    end if;
  elsif is_valid is not null or tock.add_bounds(unit, names, lows, highs, giving_way) then
    next_step := 'validate';
  end if;
end $$;

comment on function tock.create_partitions(integer, text) is 'Makes the partitions of the finished runs ahead of time, of months or of days. Returns how many, and what must follow before it is called once more: validate (tock.validate_bounds), or again (nothing).';

create function tock.validate_bounds() returns boolean
language plpgsql security definer
set search_path = pg_catalog, pg_temp set lock_timeout = '2s'
as $$
begin
  perform pg_advisory_xact_lock(hashtextextended('tock.create_partitions', 0));
  if not exists (
    select from pg_constraint c where c.conrelid = 'tock.job_runs_finished_default'::regclass
      and c.conname = 'job_runs_finished_default_bounds' and not c.convalidated
  ) then
    return false;
  end if;
  begin
    alter table tock.job_runs_finished_default validate constraint job_runs_finished_default_bounds;
    return true;
  exception when check_violation then
    perform tock.push_vacuum_aside();
    alter table tock.job_runs_finished_default drop constraint job_runs_finished_default_bounds;
    return false;
  end;
end $$;

comment on function tock.validate_bounds() is 'Second step of tock.create_partitions. Where the default partition is not as its check says, the check is taken off.';

-- For one month or day that is over, or that is to come.
create function tock.make_partition(first_day timestamp, unit text) returns integer
language plpgsql
set search_path = pg_catalog set timezone = 'UTC' set datestyle = 'ISO' set lock_timeout = '500ms'
as $$
declare
  low_at constant timestamptz := first_day;
  high_at constant timestamptz := first_day + ('1 ' || unit)::interval;
begin
  perform pg_advisory_xact_lock(hashtextextended('tock.create_partitions', 0));
  if exists (select from tock.finished_partitions() p where p.low < high_at and p.high > low_at) then
    return 0;
  end if;
  if pg_table_size('tock.job_runs_finished_default') > 2 * 1024 * 1024 then
    raise exception 'the default partition is too large to be read while it is locked'
      using errcode = 'object_not_in_prerequisite_state', hint = 'tock migrate and tock prune make the coming partitions beside it.';
  end if;
  return tock.attach_partitions(
    array['job_runs_finished_' || to_char(first_day, case unit when 'day' then 'YYYY_MM_DD' else 'YYYY_MM' end)],
    array[low_at], array[high_at], '{}', null);
end $$;

comment on function tock.make_partition(timestamp, text) is 'Makes the partition of a month or a day of the finished runs, unless a part of it is there.';

create table tock.upkeep (
  kind text primary key,
  at   timestamptz not null default tock.now()
);
insert into tock.upkeep (kind) values ('partitions');

comment on table tock.upkeep is 'When ticks and daemons last looked whether something is to be kept up, beside the runs: of all processes one does, once an hour.';
comment on column tock.upkeep.kind is 'partitions: whether the coming ones are there.';

-- While the runs that stay are copied out of a partition, what changes in it is noted, so that the copy can be put right
-- in the moment in which it takes the partition's place.
create table tock.retention_changes (
  source oid not null,
  run_id bigint not null
);
-- It has no key, and logical replication refuses to delete what has none.
alter table tock.retention_changes replica identity full;

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

-- create_partitions and validate_bounds run with the owner's rights: a worker's role may be granted both.
revoke execute on function tock.make_partition(timestamp, text), tock.attach_partitions(text[], timestamptz[], timestamptz[], text[], jsonb),
  tock.add_bounds(text, text[], timestamptz[], timestamptz[], text[]), tock.push_vacuum_aside(), tock.create_partitions(integer, text), tock.validate_bounds(),
  tock.note_retention_change() from public;
