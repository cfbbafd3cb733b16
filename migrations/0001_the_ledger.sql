-- The ledger. Tables come in the order in which the data meets them: a definition gives occurrences, an occurrence
-- becomes a run, a run is claimed under the limits of its queue, executed with its effects, and finished; the outbox
-- holds what follows from it. Then the functions that enqueue, and retention.
--
-- Plain SQL for PostgreSQL 15 and later. Every object is named with the schema `tock`; the migrator puts the
-- configured schema in its place. From the first release on, a migration that was released is never edited.

comment on schema tock is 'Tock, a scheduler: definitions are materialized into runs, runs are leased, executed and finalized.';

-- The clock ------------------------------------------------------------------------------------------

-- Every statement takes the time from here. The planner inlines it. A test may replace it to set the time.
create function tock.now() returns timestamptz
language sql stable parallel safe
as $$ select statement_timestamp() $$;

comment on function tock.now() is 'The only clock: the time of the database, as of the start of the statement.';

-- Bounds of payloads, however they come in: programs walk them recursively. What is small is not deep either, and `#>` gives
-- it uncompressed, so that its size says so.
create domain tock.payload as jsonb
  constraint payload_nested_at_most_200_levels
  check (pg_column_size(value #> '{}') < 1600 or not jsonb_path_exists(value, 'strict $.**{201}'))
  -- The library's own limit is lower, and counts no spaces.
  constraint payload_of_at_most_32_mib_as_text
  check (pg_column_size(value #> '{}') < 1048576 or octet_length(value::text) <= 33554432);

-- Tags of runs. An index has them, so that longer ones would make the statement fail that ends a run.
create domain tock.run_tags as text[]
  constraint tags_are_at_most_10_of_64_bytes
  check (cardinality(value) between 1 and 10 and array_position(value, null) is null and octet_length(array_to_string(value, '')) <= 640);

-- Definitions ----------------------------------------------------------------------------------------

create table tock.job_definitions (
  id                    bigint generated always as identity primary key,
  name                  text not null unique,
  job                   text not null,
  payload               tock.payload,
  origin                text not null default 'code',
  service               text not null default '',

  cron                  text,
  every_ms              bigint,
  phase_ms              bigint not null default 0,
  anchor                text,
  at                    text,
  after                 jsonb,
  waits_for             jsonb,
  timezone              text not null default 'UTC',
  dst                   text not null default 'once',
  start_at              timestamptz,
  end_at                timestamptz,
  exclude               jsonb not null default '[]',
  shift                 text,
  active_window         text,
  outside_window        text not null default 'defer',

  overlap               text not null default 'skip',
  catchup               text not null default 'latest',
  catchup_window_ms     bigint,
  start_deadline_ms     bigint,
  jitter_ms             bigint not null default 0,
  remaining_count       integer,
  remaining_stated      integer,
  pause_on_failure_count integer,
  expect_within_ms      bigint,
  max_duration_ms       bigint,
  on_dead               text,
  keeps_changes         boolean,

  queue                 text not null default 'default',
  priority              integer not null default 0,
  max_attempts          integer not null default 10,
  tags                  tock.run_tags,

  cursor                timestamptz not null default tock.now(),
  next_at               timestamptz default '-infinity',
  version               integer not null default 1,
  fingerprint           text,
  has_followers         boolean not null default false,
  excepted_until        timestamptz,

  paused_at             timestamptz,
  paused_until          timestamptz,
  pause_reason          text,
  pause_id              bigint,
  resumed_at            timestamptz,
  broken_at             timestamptz,
  broken_reason         text,
  vanished_at           timestamptz,
  created_at            timestamptz not null default tock.now(),
  updated_at            timestamptz not null default tock.now(),

  constraint job_definitions_name_check check (name ~ '^[A-Za-z0-9][A-Za-z0-9._:@-]*$' and octet_length(name) <= 200),
  constraint job_definitions_job_check check (job ~ '^[A-Za-z0-9][A-Za-z0-9._:@-]*$' and octet_length(job) <= 200),
  constraint job_definitions_one_schedule check (num_nonnulls(cron, every_ms, at, after) <= 1),
  constraint job_definitions_waits_for_check check (waits_for is null or num_nonnulls(cron, every_ms) = 1),
  constraint job_definitions_queue_check check (queue ~ '^[A-Za-z0-9][A-Za-z0-9._:@-]*$' and octet_length(queue) <= 200),
  constraint job_definitions_every_check check (every_ms >= 1000),
  constraint job_definitions_durations_check check (
    every_ms <= 1000000000000 and phase_ms between 0 and 1000000000000 and catchup_window_ms between 0 and 1000000000000
    and start_deadline_ms between 0 and 1000000000000 and jitter_ms between 0 and 1000000000000),
  constraint job_definitions_times_check check (
    cursor >= '0001-01-01Z' and cursor < '10000-01-01Z'
    and start_at >= '0001-01-01Z' and start_at < '10000-01-01Z' and end_at >= '0001-01-01Z' and end_at < '10000-01-01Z'
    and (next_at = '-infinity' or next_at >= '0001-01-01Z' and next_at < '10000-01-01Z')),
  constraint job_definitions_at_check check (at ~ '^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{1,9}Z|Z)?$'),
  constraint job_definitions_origin_check check (origin in ('code', 'runtime')),
  constraint job_definitions_service_check check (service = '' or origin = 'code'),
  constraint job_definitions_dst_check check (dst in ('once', 'skip', 'literal')),
  constraint job_definitions_shift_check check (shift in ('next', 'previous')),
  constraint job_definitions_anchor_check check (anchor is null or every_ms is not null and every_ms % 86400000 = 0 and octet_length(anchor) <= 19),
  constraint job_definitions_overlap_check check (overlap in ('skip', 'buffer_one', 'buffer_all', 'cancel_other', 'terminate_other', 'allow_all')),
  constraint job_definitions_catchup_check check (catchup in ('latest', 'all', 'none')),
  constraint job_definitions_outside_window_check check (outside_window in ('defer', 'skip')),
  constraint job_definitions_pause_check check (paused_until < '10000-01-01Z' and paused_at is not null or paused_until is null),
  constraint job_definitions_remaining_check check (remaining_count >= 0),
  constraint job_definitions_pause_on_failure_check check (pause_on_failure_count >= 1),
  constraint job_definitions_expectations_check check (expect_within_ms between 1000 and 1000000000000 and max_duration_ms between 1000 and 1000000000000),
  constraint job_definitions_max_attempts_check check (max_attempts between 1 and 1000000)
);

comment on table tock.job_definitions is 'What is to be run and when. Several definitions may share a job. A job without a schedule has a row too, with the defaults of its one-off runs.';
comment on column tock.job_definitions.name is 'Unique name, for people. Keys refer to the id.';
comment on column tock.job_definitions.job is 'The job that executes the runs.';
comment on column tock.job_definitions.payload is 'Payload of the scheduled runs; null where code computes it.';
comment on column tock.job_definitions.origin is 'code: registered from the job modules; runtime: made by an operator or the app.';
comment on column tock.job_definitions.service is 'Whose code defines it; empty: that of the service without a name, or made at run time.';
comment on column tock.job_definitions.cron is 'Cron expression of five or six fields. At most one of cron, every_ms, at, after is set; none means one-off runs only.';
comment on column tock.job_definitions.every_ms is 'Fixed interval, aligned to the epoch plus phase_ms, never shifted by DST; beside an anchor, of days at its local time.';
comment on column tock.job_definitions.anchor is 'With every_ms: the local time, as text, from which whole days are counted. Null: aligned to the epoch.';
comment on column tock.job_definitions.at is 'One time: 2027-11-12T08:00:00.000Z, an instant, or 2027-11-12T08:00:00, a local time in timezone.';
comment on column tock.job_definitions.after is 'Chain: which definitions'' outcomes start this one.';
comment on column tock.job_definitions.waits_for is 'Beside cron or every_ms: which definitions'' occurrences in its data interval each run waits for.';
comment on column tock.job_definitions.dst is 'What happens to civil times in a gap or an overlap: once, skip, literal.';
comment on column tock.job_definitions.shift is 'Where occurrences on an excluded day go: next, previous; null: they are left out.';
comment on column tock.job_definitions.active_window is 'Local time window such as 23:00-06:00 in which runs may start.';
comment on column tock.job_definitions.overlap is 'What an occurrence does while an earlier run of the definition is live.';
comment on column tock.job_definitions.catchup is 'What happens to occurrences that were missed: the latest one, all, none.';
comment on column tock.job_definitions.catchup_window_ms is 'Missed occurrences older than this are skipped; null: no limit.';
comment on column tock.job_definitions.start_deadline_ms is 'A run that would start later than this after its occurrence is skipped.';
comment on column tock.job_definitions.jitter_ms is 'Upper bound of the fixed delay that spreads definitions with equal schedules.';
comment on column tock.job_definitions.remaining_count is 'How many scheduled runs are still to be made; null: no limit.';
comment on column tock.job_definitions.remaining_stated is 'What remaining_count began with: stating the same again does not begin anew.';
comment on column tock.job_definitions.pause_on_failure_count is 'After this many dead runs in a row the definition is paused; null: never.';
comment on column tock.job_definitions.tags is 'Tags of its runs; of a job''s own definition, those that its one-off runs have too.';
comment on column tock.job_definitions.expect_within_ms is 'Alerts expect a success this long after each occurrence; null: they expect none.';
comment on column tock.job_definitions.max_duration_ms is 'Attempts that take longer raise an alert; null: none do.';
comment on column tock.job_definitions.on_dead is 'Job that is enqueued for each dead run of the job of this name.';
comment on column tock.job_definitions.keeps_changes is 'Of a job''s own definition: what becomes of the job''s runs is kept in job_changes. Null: not; also of each schedule made at run time.';
comment on column tock.job_definitions.cursor is 'The last occurrence considered. Occurrences are computed from here, never from now. Only `tock reset-cursor` moves it back.';
comment on column tock.job_definitions.next_at is 'The next occurrence after the cursor; null: none; -infinity: the next tick computes it.';
comment on column tock.job_definitions.version is 'Grows with each edit.';
comment on column tock.job_definitions.fingerprint is 'Hash of the definition as code states it: equal means nothing to register.';
comment on column tock.job_definitions.has_followers is 'Some definition runs after this one, or waits for its occurrences: its outcomes are written to job_outbox.';
comment on column tock.job_definitions.excepted_until is 'Once the cursor has reached this, no exception of it matters any more; null: it has none.';
comment on column tock.job_definitions.paused_until is 'When the pause ends by itself; null: it holds until somebody resumes the definition.';
comment on column tock.job_definitions.pause_id is 'The act that paused it together with others: the first row of it in tock.audit. Null: it is paused by itself or on its own.';
comment on column tock.job_definitions.resumed_at is 'Runs that ended before this do not count towards pause_on_failure_count.';
comment on column tock.job_definitions.broken_at is 'Since when the stored definition cannot be evaluated. It gets no runs until it is fixed.';
comment on column tock.job_definitions.vanished_at is 'Since when the code no longer has the definition. Its queued runs are kept; it gets no new ones.';

-- Partial, so that the cost depends on what is due, not on what is defined. The id gives the locking order: at midnight
-- a hundred thousand may be due at once, and no batch may have to sort them.
create index job_definitions_due on tock.job_definitions (next_at, id)
  where next_at is not null and paused_at is null and broken_at is null and vanished_at is null;
create index job_definitions_job on tock.job_definitions (job);
-- Those that stand still, for alerts: few at any time.
create index job_definitions_stopped on tock.job_definitions (name)
  where vanished_at is null and (broken_at is not null or pause_reason like 'paused by itself %');
-- For resuming what one act has paused.
create index job_definitions_pause_ends on tock.job_definitions (paused_until) where paused_until is not null;
create index job_definitions_paused_together on tock.job_definitions (pause_id, name) where pause_id is not null;
create index job_definitions_after on tock.job_definitions using gin ((after -> 'definitions')) where after is not null;
create index job_definitions_waits_for on tock.job_definitions using gin ((waits_for -> 'definitions')) where waits_for is not null;

-- Versions of definitions ------------------------------------------------------------------------

-- What was in force from which cursor on, so that `tock prove` can compute each occurrence again. Triggers, since
-- definitions are written in many ways. What ticks write (cursor, next_at, remaining_count) is not among their columns.
create table tock.definition_versions (
  definition_id bigint not null,
  number        integer not null,
  change        text not null,
  version       integer not null,
  since         timestamptz not null,
  left_count    integer,
  stop          text,
  void_until    bigint,
  stated        jsonb not null,
  written_at    timestamptz not null default tock.now(),
  primary key (definition_id, number)
);

comment on table tock.definition_versions is 'Each version of a definition, and each of its pauses: what decides its occurrences after `since`, until the next one.';
comment on column tock.definition_versions.number is 'Counts within the definition.';
comment on column tock.definition_versions.change is 'Why the one before it ended: edit, rename, pause, resume, broken, vanished, return, removal, reset-cursor; made for the first.';
comment on column tock.definition_versions.version is 'That of the definition; a pause, for one, does not change it.';
comment on column tock.definition_versions.since is 'The cursor at which it began: occurrences after it are its own.';
comment on column tock.definition_versions.left_count is 'What remaining_count of the one before it was in the end.';
comment on column tock.definition_versions.stop is 'Why it makes no runs: broken, vanished, paused. Null: it makes runs.';
comment on column tock.definition_versions.void_until is 'After a reset of the cursor: skipped rows up to this id, of occurrences after since, no longer count.';
comment on column tock.definition_versions.stated is 'The columns of the definition from which occurrences are computed, without nulls.';

create function tock.why_stopped(definition tock.job_definitions) returns text
language sql immutable set search_path = pg_catalog, pg_temp
as $$
  select case when definition.broken_at is not null then 'broken' when definition.vanished_at is not null then 'vanished'
    when definition.paused_at is not null then 'paused' end
$$;

comment on function tock.why_stopped(tock.job_definitions) is 'Why a definition makes no runs; null where it makes runs.';

-- All but what has no part in which occurrences there are: a column that is added is kept by itself.
create function tock.stated_of(definition tock.job_definitions) returns jsonb
language sql stable set search_path = pg_catalog, pg_temp
as $$
  select jsonb_strip_nulls(to_jsonb(definition) - '{id,job,payload,origin,service,waits_for,overlap,catchup,catchup_window_ms,start_deadline_ms,jitter_ms,
    remaining_stated,pause_on_failure_count,expect_within_ms,max_duration_ms,on_dead,keeps_changes,queue,priority,max_attempts,tags,cursor,next_at,version,fingerprint,
    has_followers,excepted_until,paused_at,paused_until,pause_reason,pause_id,resumed_at,broken_at,broken_reason,vanished_at,created_at,updated_at}'::text[])
$$;

comment on function tock.stated_of(tock.job_definitions) is 'What decides the occurrences of a definition.';

create function tock.keep_first_versions() returns trigger
language plpgsql security definer set search_path = pg_catalog, pg_temp
as $$
begin
  insert into tock.definition_versions (definition_id, number, change, version, since, stop, stated)
  select m.id, coalesce((select max(v.number) from tock.definition_versions v where v.definition_id = m.id), 0) + 1, 'made', m.version,
    m.cursor, tock.why_stopped(m), tock.stated_of(m)
  from made m;
  return null;
end $$;

comment on function tock.keep_first_versions() is 'Keeps the first version of each definition that is made.';

create function tock.keep_version() returns trigger
language plpgsql security definer set search_path = pg_catalog, pg_temp
as $$
begin
  insert into tock.definition_versions (definition_id, number, change, version, since, left_count, stop, void_until, stated)
  select new.id, coalesce(max(v.number), 0) + 1, case
      when new.cursor < old.cursor then 'reset-cursor'
      when new.vanished_at is not null and new.version > old.version then 'removal'
      when old.vanished_at is null and new.vanished_at is not null then 'vanished'
      when old.vanished_at is not null and new.vanished_at is null then 'return'
      when new.version > old.version then 'edit'
      when old.broken_at is null and new.broken_at is not null then 'broken'
      when old.paused_at is null and new.paused_at is not null then 'pause'
      when old.paused_at is not null and new.paused_at is null then 'resume'
      when old.name <> new.name then 'rename'
      else 'edit' end,
    new.version, new.cursor, old.remaining_count, tock.why_stopped(new),
    case when new.cursor < old.cursor then (select s.last_value from tock.job_runs_id_seq s) end, tock.stated_of(new)
  from tock.definition_versions v where v.definition_id = new.id;
  return null;
end $$;

comment on function tock.keep_version() is 'Keeps the version of a definition that begins.';

create trigger keep_first_versions after insert on tock.job_definitions referencing new table as made
  for each statement execute function tock.keep_first_versions();

create trigger keep_version after update of version, name, paused_at, broken_at, vanished_at, resumed_at on tock.job_definitions
  for each row when (old.version <> new.version or old.name <> new.name or new.cursor < old.cursor
    or (old.paused_at is null) <> (new.paused_at is null) or (old.broken_at is null) <> (new.broken_at is null)
    or (old.vanished_at is null) <> (new.vanished_at is null))
  execute function tock.keep_version();

revoke execute on function tock.keep_first_versions, tock.keep_version from public;

-- The offsets by which stored instants were computed, so that hosts with different zone data agree, and so that an update of
-- the data finds out which instants move.
create table tock.zones (
  timezone      text primary key,
  zone_data     text collate "C" not null,
  offsets       jsonb not null,
  previous_data text collate "C",
  previous      jsonb,
  moved_count   bigint,
  moved_at      timestamptz,
  noted_at      timestamptz not null default tock.now()
);

comment on table tock.zones is 'A time zone of definitions, and its offsets: the newest that any host has had.';
comment on column tock.zones.zone_data is 'The release of the time zone data that they are from, such as 2025c.';
comment on column tock.zones.offsets is 'The years from and to, the first offset, and the changes as pairs of epoch and offset, in seconds.';
comment on column tock.zones.previous_data is 'The release before the last change of them; null: they have not changed.';
comment on column tock.zones.previous is 'The offsets before their last change.';
comment on column tock.zones.moved_count is 'How many definitions the last change has moved.';

create table tock.registrations (
  service       text not null default '',
  fingerprint   text not null,
  is_current    boolean not null,
  first_seen_at timestamptz not null default tock.now(),
  seen_at       timestamptz not null default tock.now(),
  in_force_at   timestamptz not null default tock.now(),
  queues        text[] not null default '{}',
  fair_jobs     text[] not null default '{}',
  primary key (service, fingerprint),
  constraint registrations_service_check check (service = '' or service ~ '^[A-Za-z0-9][A-Za-z0-9._:@-]*$' and octet_length(service) <= 100)
);

comment on table tock.registrations is 'Each set of definitions that a version of the code has registered, and the one in force of each service. While a newer version is alive, an older one does not register its definitions again.';
comment on column tock.registrations.service is 'Whose definitions they are; empty: of the service without a name.';
comment on column tock.registrations.in_force_at is 'When it was put in force last.';
comment on column tock.registrations.queues is 'The queues that it states.';
comment on column tock.registrations.fair_jobs is 'The names under which its jobs say of their runs that they share the workers by a key.';

create unique index registrations_one_current on tock.registrations (service) where is_current;

-- Occurrences and keys: what is materialized or enqueued once -------------------------------------

-- Apart from job_keys, so that no key of a caller can stand for an occurrence.
create table tock.job_occurrences (
  definition_id bigint not null,
  scheduled_for timestamptz not null,
  run_id        bigint not null,
  created_at    timestamptz not null default tock.now(),
  primary key (definition_id, scheduled_for)
);

comment on table tock.job_occurrences is 'Every occurrence that was ever materialized, and its run. Outlives the run, so that no occurrence is materialized twice.';

-- Nothing marks an exception as done: it is to come while the definition's cursor has not reached `due_at`, as an occurrence
-- is. Written under the definition's lock only.
create table tock.job_exceptions (
  definition_id bigint not null,
  scheduled_for timestamptz not null,
  kind          text not null,
  due_at        timestamptz not null,
  note          text,
  operator      text not null default current_user,
  created_at    timestamptz not null default tock.now(),
  primary key (definition_id, scheduled_for),
  constraint job_exceptions_kind_check check (kind in ('skip', 'move')),
  constraint job_exceptions_times_check check (
    scheduled_for >= '0001-01-01Z' and scheduled_for < '10000-01-01Z' and due_at >= '0001-01-01Z' and due_at < '10000-01-01Z')
);

comment on table tock.job_exceptions is 'An occurrence that an operator has skipped, or moved to another time.';
comment on column tock.job_exceptions.scheduled_for is 'The occurrence, which keeps its name: its run, or its skipped row, is under this instant in job_occurrences.';
comment on column tock.job_exceptions.due_at is 'When it is decided. move: when its run is due. skip: when its skipped row is due, which is the occurrence itself unless it had been moved before.';
comment on column tock.job_exceptions.operator is 'Who made it, as in tock.audit.';

create table tock.job_keys (
  idempotency_key text primary key,
  run_id          bigint not null,
  created_at      timestamptz not null default tock.now(),
  constraint job_keys_length_check check (octet_length(idempotency_key) between 1 and 512)
);

comment on table tock.job_keys is 'Every idempotency key that a caller has used, and its run. Outlives the run.';

-- Runs -----------------------------------------------------------------------------------------------

create sequence tock.job_runs_id_seq as bigint;

-- Until when no daemon reaps but the one whose turn it is, in milliseconds since 1970. Only a hint: a sequence, because it
-- is read and set outside of transactions, and leaves no dead rows. Logged, although nothing is lost with it: where a
-- standby of PostgreSQL 15 is promoted, an unlogged sequence may be unreadable ("bad magic number in sequence").
create sequence tock.reap_turn as bigint minvalue -9223372036854775808 start 0;

-- Bounds of everything that statements compute with, so that no single run can make a statement over many fail. They are
-- domains, not checks of the table: PostgreSQL reads each check of a table anew for each statement that writes to it, which
-- was most of what a statement with a single run cost. It reads a domain once in a session, and an update checks only the
-- columns that it assigns. Names are checked in full where runs are enqueued and defined. Which statuses there are, the
-- partitions say. A column that a later migration adds has a plain type: with a domain, all of history would be written anew.
create domain tock.instant as timestamptz
  constraint instant_in_years_1_to_9999 check (value >= '0001-01-01Z' and value < '10000-01-01Z');
create domain tock.count_from_0 as integer constraint count_in_0_to_1000000000 check (value between 0 and 1000000000);
create domain tock.count_from_1 as integer constraint count_in_1_to_1000000000 check (value between 1 and 1000000000);
create domain tock.short_name as text constraint name_of_1_to_200_bytes check (octet_length(value) between 1 and 200);
create domain tock.run_key as text constraint key_of_1_to_512_bytes check (octet_length(value) between 1 and 512);
create domain tock.run_trigger as text
  constraint trigger_is_known check (value in ('cron', 'manual', 'api', 'chain', 'backfill', 'exec'));
create domain tock.slot_keys as text[]
  constraint slot_keys_are_at_most_100 check (cardinality(value) <= 100 and array_position(value, null) is null);
create domain tock.slot_limits as integer[]
  constraint slot_limits_from_1 check (array_position(value, null) is null and 1 <= all (value));
create domain tock.error_list as jsonb constraint errors_are_an_array check (jsonb_typeof(value) = 'array');
create domain tock.progress_object as jsonb constraint progress_is_an_object check (jsonb_typeof(value) = 'object');

create table tock.job_runs (
  id                   bigint not null default nextval('tock.job_runs_id_seq'),
  definition_id        bigint,
  run_at               tock.instant not null default tock.now(),
  priority             integer not null default 0,
  attempts             tock.count_from_0 not null default 0,
  max_attempts         tock.count_from_1 not null default 10,
  fence                tock.count_from_0 not null default 0,
  releases             tock.count_from_0 not null default 0,
  generation           tock.count_from_1 not null default 1,
  occurrence_count     tock.count_from_1 not null default 1,
  scheduled_for        tock.instant,
  interval_start       tock.instant,
  start_by             tock.instant,
  locked_until         tock.instant,
  locked_by            uuid,
  created_at           tock.instant not null default tock.now(),
  started_at           tock.instant,
  finished_at          timestamptz,
  cancel_requested_at  tock.instant,
  status               text not null default 'queued',
  job                  tock.short_name not null,
  -- In byte order: the cheapest to compare. Claims go down each queue by itself.
  queue                tock.short_name collate "C" not null default 'default',
  trigger              tock.run_trigger not null default 'api',
  idempotency_key      tock.run_key,
  live_key             tock.run_key,
  slot_keys            tock.slot_keys,
  slot_limits          tock.slot_limits,
  -- In byte order: the keys of one kind are a range of the index.
  blocked_on           text collate "C",
  unblocked_on         text collate "C",
  payload              tock.payload,
  progress             tock.progress_object,
  output               jsonb,
  errors               tock.error_list not null default '[]',
  skip_reason          text,
  traceparent          text,
  last_traceparent     text,
  is_awaited           boolean,
  began_at             tock.instant,
  snoozes              integer,
  has_waiters          boolean,
  has_parents          boolean,
  tags                 tock.run_tags,
  keeps_changes        boolean
) partition by list (status);

comment on table tock.job_runs is 'One row per run. Live and finished runs are separate partitions: a run that ends is moved, so that claims never read history.';
comment on column tock.job_runs.definition_id is 'The definition that planned it; null for one-off runs.';
comment on column tock.job_runs.run_at is 'Not before: the occurrence plus jitter, or the time of the next attempt.';
comment on column tock.job_runs.priority is 'Lower goes first.';
comment on column tock.job_runs.attempts is 'Counted at the claim, so that a run that kills its process ends dead as well.';
comment on column tock.job_runs.fence is 'Grows with every claim and with an operator''s retry; a write with an older fence changes nothing.';
comment on column tock.job_runs.releases is 'How often a worker released the run unfinished, in a drain or a crash of its process. Such attempts do not count.';
comment on column tock.job_runs.generation is 'Grows with an operator''s retry of a finished run.';
comment on column tock.job_runs.occurrence_count is 'How many occurrences the run stands for (catch-up), this one included.';
comment on column tock.job_runs.scheduled_for is 'The occurrence: nominal time, before jitter.';
comment on column tock.job_runs.interval_start is 'The occurrence before it: the run''s data interval is [interval_start, scheduled_for).';
comment on column tock.job_runs.start_by is 'Claimed later than this, the run is skipped (deadline).';
comment on column tock.job_runs.live_key is 'A key that is unique only among live runs.';
comment on column tock.job_runs.slot_keys is 'Concurrency keys. The run needs a slot under each of them.';
comment on column tock.job_runs.slot_limits is 'How many slots there were under each of slot_keys when it was enqueued: of a job, job_limits says how many there are.';
comment on column tock.job_runs.blocked_on is 'The concurrency key without a free slot, or code:<job> where a worker did not know the job. Claims pass the run over until there is a slot, or a worker that knows the job takes it.';
comment on column tock.job_runs.unblocked_on is 'The concurrency key under which it was unblocked last. As long as it waits, no other is unblocked in its place.';
comment on column tock.job_runs.locked_by is 'The worker that holds the lease.';
comment on column tock.job_runs.locked_until is 'The end of the lease. After it, any tick may take the run back.';
comment on column tock.job_runs.errors is 'One entry per failed or crashed attempt: at, attempt, name, code, message, stack, cause; and when it was due and began, and its worker.';
comment on column tock.job_runs.skip_reason is 'Why the run was not executed.';
comment on column tock.job_runs.traceparent is 'The span of the call that enqueued it, in the form of W3C Trace Context; each attempt is linked to it. Null: not traced.';
comment on column tock.job_runs.last_traceparent is 'The span of its last attempt, if that was traced and something may follow from the run.';
comment on column tock.job_runs.began_at is 'When it was first started; written when an attempt ends and the run goes on, and null in all other runs.';
comment on column tock.job_runs.snoozes is 'How often its handler has thrown Snooze. Such attempts do not count.';
comment on column tock.job_runs.has_waiters is 'Other runs wait for its end, which is written to job_outbox.';
comment on column tock.job_runs.has_parents is 'It follows runs of a flow, and its handler gets what became of them.';
comment on column tock.job_runs.tags is 'Words by which people find it; null: none.';
comment on column tock.job_runs.keeps_changes is 'What becomes of the live run is kept in job_changes. Null: not; also of each run that has ended.';
comment on column tock.job_runs.is_awaited is 'Somebody waits for the end of the live run, and is notified of it.';

-- A batch claims neighbouring rows, so each page needs room for a second version of every row. At a fillfactor of 70,
-- two thirds of the updated rows went to other pages, with new entries in every index.
create table tock.job_runs_live partition of tock.job_runs for values in ('queued', 'running', 'failed')
  with (fillfactor = 45, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 1000,
        autovacuum_analyze_scale_factor = 0.05, autovacuum_vacuum_cost_delay = 0);
alter table tock.job_runs_live add primary key (id);
-- The other bounds are those of the columns' types. This one needs two columns.
alter table tock.job_runs_live
  add constraint job_runs_live_slots_check check (cardinality(slot_keys) is not distinct from cardinality(slot_limits));
-- No index mentions a column that a claim changes, so that the claim is a HOT update. Claims read each queue and priority
-- separately: a queue that is paused, full or outside its window costs nothing, and a busy one does not starve others.
create index job_runs_live_claim on tock.job_runs_live (queue, priority, run_at, id) where blocked_on is null;
-- By queue: a queue that is closed does not hold up the others that wait for the same key.
create index job_runs_live_blocked on tock.job_runs_live (blocked_on, queue, priority, run_at, id) where blocked_on is not null;
create index job_runs_live_unblocked on tock.job_runs_live (unblocked_on, queue, priority, run_at, id)
  where unblocked_on is not null and blocked_on is null;
create unique index job_runs_live_key on tock.job_runs_live (live_key) where live_key is not null;
create index job_runs_live_definition on tock.job_runs_live (definition_id, scheduled_for) where definition_id is not null;

comment on table tock.job_runs_live is 'Runs that wait, are running, or wait for their next attempt.';

create table tock.job_runs_finished partition of tock.job_runs for values in ('succeeded', 'dead', 'cancelled', 'skipped')
  partition by range (finished_at);
alter table tock.job_runs_finished add primary key (id, finished_at);
create index job_runs_finished_definition on tock.job_runs_finished (definition_id, scheduled_for) where definition_id is not null;
-- For what waits for the occurrences of an interval: which skipped spans reach into it.
create index job_runs_finished_spans on tock.job_runs_finished (definition_id, scheduled_for)
  where status = 'skipped' and occurrence_count > 1;
create index job_runs_finished_dead on tock.job_runs_finished (finished_at) where status = 'dead';
-- Not BRIN: small rows go into what large ones left free in old pages, and soon each range of pages has an end of today.
create index job_runs_finished_at on tock.job_runs_finished (finished_at);
-- For people who look for runs, newest first: those of a job, also a rare one, and those that did not succeed. Jobs in byte
-- order: each run that ends is put in its place there, and other orders take several times as long to compare.
create index job_runs_finished_job on tock.job_runs_finished (job collate "C", id);
create index job_runs_finished_unsuccessful on tock.job_runs_finished (status, id) where status in ('dead', 'cancelled', 'skipped');
-- Costs nothing for runs without tags.
create index job_runs_finished_tags on tock.job_runs_finished using gin (tags) where tags is not null;
-- For people who look for the runs of a deploy, by the ids of its workers; what it costs a run that ends is not measurable.
-- Several ranges of ids each: those of one deploy begin alike. The other has only runs of which an attempt has failed.
create index job_runs_finished_worker on tock.job_runs_finished using brin (locked_by uuid_minmax_multi_ops)
  with (pages_per_range = 32, autosummarize = on);
create index job_runs_finished_failed_in on tock.job_runs_finished using gin (jsonb_path_query_array(errors, '$[*].deploy'))
  where errors <> '[]';
create table tock.job_runs_finished_default partition of tock.job_runs_finished default;

comment on table tock.job_runs_finished is 'Runs that have ended, in partitions by month or day of their end. Retention drops whole partitions.';

-- Queues and slots: what a claim must respect -----------------------------------------------------

create table tock.job_queues (
  name             text primary key,
  concurrency      integer,
  rate_count       integer,
  rate_period_ms   bigint,
  rate_next_at     timestamptz,
  active_window    text,
  timezone         text not null default 'UTC',
  paused_at        timestamptz,
  paused_until     timestamptz,
  pause_reason     text,
  closed_until     timestamptz,
  relayed_to       text,
  in_code          jsonb,
  overrides        jsonb not null default '{}',
  override_ends_at timestamptz,
  created_at       timestamptz not null default tock.now(),
  updated_at       timestamptz not null default tock.now(),
  constraint job_queues_name_check check (name ~ '^[A-Za-z0-9][A-Za-z0-9._:@-]*$' and octet_length(name) <= 200),
  constraint job_queues_concurrency_check check (concurrency between 0 and 1000000),
  constraint job_queues_rate_check check ((rate_count is null) = (rate_period_ms is null)
    and rate_count between 1 and 1000000 and rate_period_ms between 1 and 1000000000000),
  constraint job_queues_rate_next_check check (rate_next_at >= '0001-01-01Z' and rate_next_at < '10000-01-01Z'),
  constraint job_queues_pause_check check (paused_until < '10000-01-01Z' and paused_at is not null or paused_until is null),
  constraint job_queues_closed_check check (closed_until < '10000-01-01Z'),
  constraint job_queues_code_check check (jsonb_typeof(in_code) = 'object' and jsonb_typeof(overrides) = 'object'),
  constraint job_queues_override_check check (override_ends_at < '10000-01-01Z'),
  constraint job_queues_relay_check check (relayed_to ~ '^[A-Za-z0-9][A-Za-z0-9._:@-]*$' and octet_length(relayed_to) <= 100),
  constraint job_queues_window_check check (active_window ~ '^([01][0-9]|2[0-3]):[0-5][0-9]-(([01][0-9]|2[0-3]):[0-5][0-9]|24:00)$')
);

comment on table tock.job_queues is 'Limits and pauses of queues, over all hosts. A queue without a row has none.';
comment on column tock.job_queues.in_code is 'What the code in force states of it; the other columns are what holds. Null: it is not in code.';
comment on column tock.job_queues.overrides is 'What an operator has set on top of the code: by its name, who did and until when.';
comment on column tock.job_queues.override_ends_at is 'When the first of them ends; then what code states holds again. Null: none ends by itself.';
comment on column tock.job_queues.paused_until is 'When the pause ends by itself; null: it holds until somebody resumes the queue.';
comment on column tock.job_queues.closed_until is 'A handler has closed it until then: none of its runs is claimed.';
comment on column tock.job_queues.relayed_to is 'The broker to which its runs are handed off. Only a worker that names the queue claims from it. Null: workers execute its runs.';

-- A claim reads whether a row is open. Without one, that is a look into an empty index.
create table tock.freezes (
  id       bigint generated always as identity primary key,
  began_at timestamptz not null default tock.now(),
  until    timestamptz not null,
  ramp_ms  bigint not null default 0,
  note     text not null,
  operator text not null default session_user,
  ended_at timestamptz,
  constraint freezes_until_check check (until < '10000-01-01Z'),
  constraint freezes_ramp_check check (ramp_ms between 0 and 86400000),
  constraint freezes_note_check check (octet_length(note) between 1 and 4000)
);
create unique index freezes_one_open on tock.freezes ((true)) where ended_at is null;

comment on table tock.freezes is 'Spans in which nothing starts on any host, by `tock freeze`. At most one is open.';
comment on column tock.freezes.until is 'When it ends by itself, or ended by `tock thaw`. With a ramp it goes on until what waits is spread.';
comment on column tock.freezes.ramp_ms is 'Over how long what waits starts once it has ended; 0: at once.';
comment on column tock.freezes.operator is 'Who froze, or changed it last, as their program named them; by default the role.';
comment on column tock.freezes.ended_at is 'When it was over; null: it is open. Written by thawing, and by the reaping after its end.';

-- In plpgsql, so that the planner takes it for cheap: statements ask it of few rows.
create function tock.frozen_ms(since timestamptz) returns float8
language plpgsql stable strict
as $$
begin
  return coalesce((
    select sum(greatest(0, extract(epoch from least(s.over_at, tock.now())) - extract(epoch from greatest(s.began_at, frozen_ms.since)))) * 1000
    from (
      select f.began_at, case when f.ended_at is not null then f.ended_at + f.ramp_ms * interval '1 millisecond'
        when f.ramp_ms > 0 then tock.now() else f.until end as over_at
      from tock.freezes f
    ) s
    where s.over_at > frozen_ms.since and isfinite(frozen_ms.since)), 0);
end
$$;

comment on function tock.frozen_ms(timestamptz) is 'For how many milliseconds, from an instant until now, everything was frozen, or what waited was being spread over a ramp.';

create table tock.job_calendars (
  name       text primary key,
  dates      jsonb not null default '[]',
  version    integer not null default 0,
  created_at timestamptz not null default tock.now(),
  updated_at timestamptz not null default tock.now(),
  constraint job_calendars_name_check check (name ~ '^[A-Za-z][A-Za-z0-9._:@-]*$' and octet_length(name) <= 200),
  constraint job_calendars_dates_check check (jsonb_typeof(dates) = 'array')
);

comment on table tock.job_calendars is 'Named sets of dates. The definitions that name one hold its dates in their own rows (exclude), and are edited with it.';
comment on column tock.job_calendars.dates is 'Local dates as YYYY-MM-DD, in their order; each definition reads them in its own zone.';
comment on column tock.job_calendars.version is 'Grows with each edit.';

create table tock.job_slots (
  concurrency_key text not null,
  slot            integer not null,
  run_id          bigint not null,
  fence           integer not null,
  primary key (concurrency_key, slot)
);

comment on table tock.job_slots is 'Slots that are held under concurrency limits. The primary key enforces the limit.';
comment on column tock.job_slots.concurrency_key is 'definition:<id> and a strict key, ~!<queue>/<job>/<key>, are held until the run has ended; queue:<name>, job:<name>/<key>, ~<queue>/<job>/<key> and isolated only while it is running.';

-- Slots are freed by run.
create index job_slots_run on tock.job_slots (run_id);

-- Fair shares: keys that share the workers ---------------------------------------------------------

create table tock.fair_scopes (
  queue          text collate "C" not null default '',
  job            text collate "C" not null default '',
  path           jsonpath not null,
  slot_limit     integer,
  rate_count     integer,
  rate_period_ms bigint,
  rate_burst     integer,
  is_strict      boolean not null default false,
  primary key (queue, job),
  constraint fair_scopes_of_check check ((queue = '') <> (job = '')),
  constraint fair_scopes_limit_check check (slot_limit between 1 and 10000 and (slot_limit = 1 or not is_strict)),
  constraint fair_scopes_rate_check check ((rate_count is null) = (rate_period_ms is null) and (rate_count is null) = (rate_burst is null)
    and rate_count between 1 and 1000000 and rate_period_ms between 1 and 1000000000000 and rate_burst between 1 and 1000000
    and rate_burst * rate_period_ms <= rate_count * 1000000000000)
);

comment on table tock.fair_scopes is 'Queues, and jobs, whose runs share the workers by a key in their payload.';
comment on column tock.fair_scopes.path is 'Where the key is in the payload. A run without one has no key: it waits for nobody.';
comment on column tock.fair_scopes.slot_limit is 'The most runs of each key at once.';
comment on column tock.fair_scopes.rate_burst is 'How many starts a key may save up.';
comment on column tock.fair_scopes.is_strict is 'A run of a key starts once the run before it has ended, over all its attempts.';

create table tock.job_limits (
  job        text collate "C" primary key,
  slot_limit integer,
  constraint job_limits_limit_check check (slot_limit between 1 and 10000)
);

comment on table tock.job_limits is 'How many runs of each job may be at work at once, as the code in force says: also those that were enqueued under another limit.';
comment on column tock.job_limits.slot_limit is 'Null: the job has no limit any more.';

create table tock.key_settings (
  key            text collate "C" primary key,
  weight         float8 not null default 1,
  slot_limit     integer,
  rate_count     integer,
  rate_period_ms bigint,
  rate_burst     integer,
  constraint key_settings_weight_check check (weight between 0.001 and 1000),
  constraint key_settings_limit_check check (slot_limit between 1 and 10000),
  constraint key_settings_rate_check check ((rate_count is null) = (rate_period_ms is null) and (rate_count is null) = (rate_burst is null)
    and rate_count between 1 and 1000000 and rate_period_ms between 1 and 1000000000000 and rate_burst between 1 and 1000000
    and rate_burst * rate_period_ms <= rate_count * 1000000000000)
);

comment on table tock.key_settings is 'What an operator has set for single keys, in place of what their jobs and queues say.';

-- A key that has runs, or whose tag its peers have not reached yet. `tag` grows by 1 / weight with each run that starts: the
-- least is served first. Written by claims, so the pages have room.
create table tock.fair_keys (
  name         text collate "C" primary key,
  queue        text collate "C" not null,
  job          text collate "C" not null,
  key          text collate "C" not null,
  tag          float8 not null default 0,
  arrivals     bigint not null default 1,
  is_ready     boolean not null default true,
  ready_at     timestamptz,
  rate_next_at timestamptz,
  closed_until timestamptz,
  held_on      text collate "C"
) with (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 1000, autovacuum_vacuum_cost_delay = 0);

create index fair_keys_ready on tock.fair_keys (queue, job, tag, name) where is_ready;
create index fair_keys_waiting on tock.fair_keys (ready_at) where not is_ready and ready_at is not null;
create index fair_keys_resting on tock.fair_keys (queue, job, tag) where not is_ready;
create index fair_keys_held on tock.fair_keys (held_on) where held_on is not null;
create index fair_keys_key on tock.fair_keys (key);
create index fair_keys_closed on tock.fair_keys (closed_until) where closed_until is not null;

comment on table tock.fair_keys is 'Keys that have waiting runs, and keys whose tag the others have not reached yet.';
comment on column tock.fair_keys.name is 'What its runs are blocked on: ~queue/job/key, and ~!queue/job/key where the order is strict. The job is empty where the whole queue is shared.';
comment on column tock.fair_keys.tag is 'Grows by 1 / weight with each run that starts. The key with the least tag is served next.';
comment on column tock.fair_keys.arrivals is 'Grows whenever runs of it have come. Who has not seen the last of them does not take it for empty.';
comment on column tock.fair_keys.held_on is 'Another limit under which its next run would wait: when a slot of it is free, the key is ready.';
comment on column tock.fair_keys.ready_at is 'Not ready before: its next run is due, its rate allows a start, or it is open again. Null: it is ready, or has no runs.';

-- What the runs of a queue and job are blocked on, by their payload; null: they have no key. The names sort after all other keys.
create function tock.fair_key(queue text, job text, payload jsonb) returns text
language sql stable set search_path = pg_catalog, pg_temp
as $$
  select case when s.is_strict then '~!' else '~' end || fair_key.queue || '/' || s.job || '/' || left(v.value, 300)
  from (select f.job, f.path, f.is_strict from tock.fair_scopes f
    where (f.queue = '' and f.job = fair_key.job) or (f.queue = fair_key.queue and f.job = '') order by f.queue limit 1) s
  cross join lateral (select jsonb_path_query_first(coalesce(fair_key.payload, '{}'), s.path, '{}', true) #>> '{}' as value) v
  where v.value <> ''
$$;

comment on function tock.fair_key(text, text, jsonb) is 'The fair key of a run of this queue, job and payload; null: it has none.';

-- A run's slot keys with its fair key before them, and their limits: under a fair key the limit is that of the key, not of the run.
create function tock.fair_slots(slot_keys text[], queue text, job text, payload jsonb) returns text[]
language sql stable set search_path = pg_catalog, pg_temp
as $$
  select case when exists (select from tock.fair_scopes)
    then nullif(array_remove(array[tock.fair_key(queue, job, payload)], null) || coalesce(slot_keys, '{}'), '{}') else slot_keys end
$$;

create function tock.fair_limits(slot_keys text[], slot_limits integer[]) returns integer[]
language sql immutable set search_path = pg_catalog, pg_temp
as $$ select case when slot_keys[1] like '~%' and cardinality(slot_keys) > coalesce(cardinality(slot_limits), 0) then array_prepend(1, slot_limits) else slot_limits end $$;

create function tock.fair_key_in(slot_keys text[]) returns text
language sql immutable parallel safe
as $$ select case when slot_keys[1] like '~%' then slot_keys[1] end $$;

comment on function tock.fair_key_in(text[]) is 'The fair key among the concurrency keys of a run, on which a new run is blocked; null: it has none.';
comment on function tock.fair_slots(text[], text, text, jsonb) is 'The concurrency keys of a new run: its fair key, if it has one, and those of its job.';
comment on function tock.fair_limits(text[], integer[]) is 'The limits of these keys.';

-- Runs that wait for these fair keys were inserted: once that is committed, the keys are ready.
create function tock.fair_runs_come(names text[]) returns void
language plpgsql volatile set search_path = pg_catalog, pg_temp
as $$
begin
  insert into tock.job_outbox (kind, fair_keys) values ('fair', names);
  perform tock.notify('fair');
end $$;

comment on function tock.fair_runs_come(text[]) is 'For what enqueues: notes that runs of these fair keys have come.';

-- Workers -----------------------------------------------------------------------------------------

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
  queues     text[],
  process    text,
  service    text not null default '',
  fingerprint text,
  cpu        double precision,
  memory_bytes bigint,
  loop_delay_ms double precision,
  constraint workers_kind_check check (kind in ('tick', 'daemon', 'library', 'manual', 'relay'))
);

comment on table tock.workers is 'Processes that execute runs, each under a new id, and when each was last seen.';
comment on column tock.workers.heartbeat_ms is 'How often it renews its leases. After two and a half times as long without a sign it counts as dead.';
comment on column tock.workers.service is 'Whose jobs it executes; empty: of the service without a name.';
comment on column tock.workers.fingerprint is 'Of the set of definitions that it brings; null: it brings none.';
comment on column tock.workers.cpu is 'Cores that its process used between its last two heartbeats; null: there was none yet.';
comment on column tock.workers.memory_bytes is 'Resident memory of its process at the last heartbeat.';
comment on column tock.workers.loop_delay_ms is 'By how much a timer of its process was late between its last two heartbeats, at most.';
comment on column tock.workers.process is 'Identifies the process beyond its pid: boot, namespaces of pids and of time, and when it began. Null where the system does not say.';
comment on column tock.workers.queues is 'The queues that it claims from; null: all that are not relayed.';

-- Which version of the app executed an attempt. The ids of a deploy's workers begin with its code, and each run keeps the
-- id of its last worker: neither runs nor workers have a column for it.
create table tock.deploys (
  name          text primary key,
  code          text not null unique,
  first_seen_at timestamptz,
  marked_at     timestamptz,
  marked_by     text,
  note          text,
  constraint deploys_name_check check (octet_length(name) between 1 and 100 and name !~ '[[:space:][:cntrl:]]'),
  constraint deploys_code_check check (code ~ '^[0-9a-f]{8}-[0-9a-f]{4}$'),
  constraint deploys_seen_check check (num_nonnulls(first_seen_at, marked_at) >= 1)
);

comment on table tock.deploys is 'Versions of the app: those that a worker had (TOCK_DEPLOY), and those that an operator has marked.';
comment on column tock.deploys.code is 'What the ids of its workers begin with: the first 48 bits of the SHA-256 of its name.';
comment on column tock.deploys.first_seen_at is 'When the first worker of it was there; null: none was.';

-- A daemon has a row from before it first sleeps, and none while it is busy and needs no NOTIFY. So a row that was left
-- behind costs a needless notification, and none is missing for a daemon that could sleep.
create table tock.sleepers (
  worker_id uuid primary key references tock.workers on delete cascade,
  queues    text[]
);

comment on table tock.sleepers is 'Daemons that may be asleep: enqueueing for one of them sends a notification.';
comment on column tock.sleepers.queues is 'The queues that it claims from; null: all.';

-- Ticks: who wakes the scheduler, so that silence is seen -----------------------------------------

-- A row is updated once a minute at most, and HOT: each page has room for the new versions.
create table tock.ticks (
  host       text not null,
  folder     text not null,
  kind       text not null,
  service    text not null default '',
  fingerprint text,
  set_at     timestamptz not null default tock.now(),
  first_at   timestamptz not null default tock.now(),
  at         timestamptz not null default tock.now(),
  tick_count bigint not null default 1,
  version    text not null,
  node       text not null,
  zone_data  text not null,
  clock_ms   bigint not null,
  stopped_at timestamptz,
  asleep_until timestamptz,
  silences   tstzmultirange,
  primary key (host, folder, kind, service),
  constraint ticks_kind_check check (kind in ('tick', 'daemon', 'library'))
) with (fillfactor = 50);

comment on table tock.ticks is 'The last tick, or beat of a daemon, of each host and checkout. Noted at most once in half a minute.';
comment on column tock.ticks.folder is 'The checkout: the folder of the project.';
comment on column tock.ticks.fingerprint is 'Of the set of definitions that it brings.';
comment on column tock.ticks.set_at is 'Since when it brings that set.';
comment on column tock.ticks.tick_count is 'How many ticks were noted. A host that has ticked a few times only is not missed when it stops.';
comment on column tock.ticks.version is 'Of Tock.';
comment on column tock.ticks.zone_data is 'Of Node''s time zone data, such as 2025c.';
comment on column tock.ticks.clock_ms is 'The host''s clock minus that of the database, in milliseconds.';
comment on column tock.ticks.silences is 'When it did not tick for longer than usual, of the last week; null: never yet. In what all rows have in common, nothing ticked.';
comment on column tock.ticks.asleep_until is 'Until when it sends no statement (--idle): neither it nor its definitions are missed before. Null: it is awake.';
comment on column tock.ticks.stopped_at is 'When a daemon was stopped in order; it is not missed.';

-- Effects -----------------------------------------------------------------------------------------

create table tock.job_effects (
  key        text primary key,
  run_id     bigint not null,
  result     jsonb,
  created_at timestamptz not null default tock.now(),
  constraint job_effects_length_check check (octet_length(key) between 1 and 1024)
);

-- For people who look at a run.
create index job_effects_run on tock.job_effects (run_id);

comment on table tock.job_effects is 'The ledger of effects that must happen once: the row and the effect are committed together.';

-- Waits: what a run waits for whose handler has ended ----------------------------------------------

-- Runs may wait for an event. It is matched with their waits once its transaction has committed.
create table tock.job_events (
  id         bigint generated always as identity primary key,
  name       tock.short_name not null,
  key        text not null default '',
  payload    tock.payload,
  created_at tock.instant not null default tock.now(),
  constraint job_events_key_check check (octet_length(key) <= 512)
);

create index job_events_name on tock.job_events (name, key, id);

comment on table tock.job_events is 'Events that were emitted by tock.emit. Runs wait for them by ctx.waitFor. An event is not used up.';

-- The run is queued, and due when its wait is over; its handler is then called again from its top. A row stays as long as its
-- run, so that a wait that is over is not waited for again.
create table tock.job_waits (
  id         bigint generated always as identity primary key,
  run_id     bigint not null,
  kind       text not null,
  name       text not null,
  key        text not null default '',
  created_at tock.instant not null default tock.now(),
  until      tock.instant,
  since      tock.instant,
  needs_success boolean,
  cancels    boolean,
  reason     text,
  outcome    text,
  result     jsonb,
  ended_at   tock.instant,
  unique (run_id, kind, name, key),
  constraint job_waits_name_check check (octet_length(name) <= 1024 and octet_length(key) <= 512),
  constraint job_waits_kind_check check (kind in ('snooze', 'sleep', 'event', 'runs', 'group')),
  constraint job_waits_outcome_check check ((outcome is null) = (ended_at is null)),
  constraint job_waits_outcomes_check check (outcome in ('time', 'timeout', 'event', 'ended'))
);

create index job_waits_event on tock.job_waits (name, key) where kind = 'event' and outcome is null;

comment on table tock.job_waits is 'What runs wait for whose handlers have ended to wait, and what they have waited for.';
comment on column tock.job_waits.name is 'Its name in the handler, or that of the event; empty for a Snooze, of which a run has one row.';
comment on column tock.job_waits.key is 'The key of the event.';
comment on column tock.job_waits.until is 'When the run goes on; null: not at a time.';
comment on column tock.job_waits.since is 'Events that were emitted before do not count.';
comment on column tock.job_waits.needs_success is 'Of a group, and of a run of a flow: it is over once all of its runs have succeeded.';
comment on column tock.job_waits.cancels is 'Of a run of a flow: one of its runs that does not succeed cancels the run that waits.';
comment on column tock.job_waits.outcome is 'Why the wait is over: its time has come, its timeout is over, there was an event, or its runs have ended. Null: it lasts.';
comment on column tock.job_waits.result is 'The event: id, payload, emittedAt.';

-- Volatile, so that it sees what was committed while its statement waited for the lock of the run.
create function tock.wait_is_over(wait_id bigint) returns boolean
language sql volatile
as $$ select exists (select from tock.job_waits w where w.id = wait_is_over.wait_id and w.outcome is not null) $$;

comment on function tock.wait_is_over(bigint) is 'Whether a wait has ended by now, and not only when the statement began.';

-- The runs that a wait of the kind `runs` or `group` is for, in order. How each has ended is copied here, so that it may be pruned
-- before the last one ends.
create table tock.job_awaited_runs (
  wait_id  bigint not null references tock.job_waits on delete cascade,
  position integer not null,
  run_id   bigint not null,
  status   text,
  output   jsonb,
  error    text,
  name     text,
  primary key (wait_id, position)
) with (fillfactor = 45);

create index job_awaited_runs_run on tock.job_awaited_runs (run_id);

comment on index tock.job_awaited_runs_run is 'No index mentions how a run has ended: noting it is a HOT update, for which the pages have room.';

comment on table tock.job_awaited_runs is 'Which runs a wait is for, and how each has ended.';
comment on column tock.job_awaited_runs.status is 'The state in which the run has ended, or pruned; null: it has not ended, or that is not noted yet.';
comment on column tock.job_awaited_runs.error is 'Why it did not succeed.';
comment on column tock.job_awaited_runs.name is 'Of a parent in a flow: under which name its child has it.';

-- From the last one backwards, since it mostly ends last: so that not all of a large group are read for each batch of ends. By a
-- cursor, which is planned for its first row; for LIMIT the planner would sort them. Stable: it sees what its statement sees.
create function tock.has_live_runs(wait_id bigint) returns boolean
language plpgsql stable
as $$
declare
  live cursor for select 1 from tock.job_awaited_runs a
    where a.wait_id = has_live_runs.wait_id and a.status is null
      and (exists (select from tock.job_runs_live l where l.id = a.run_id) or exists (select from tock.job_successors s where s.run_id = a.run_id))
    order by a.position desc;
begin
  for one in live loop
    return true;
  end loop;
  return false;
end $$;

comment on function tock.has_live_runs(bigint) is 'Whether some run that a wait is for is still to end.';

-- The outbox: what follows from ended runs --------------------------------------------------------

-- Written in the transaction that ends a run, and processed after its commit by the same worker, or by the next tick. So
-- a crash in between loses nothing, and two parents that end at once are both seen.
create table tock.job_outbox (
  id            bigint generated always as identity primary key,
  kind          text not null,
  run_id        bigint,
  event_id      bigint,
  fair_keys     text[] collate "C",
  run_ids       bigint[],
  generation    integer not null default 1,
  definition_id bigint,
  scheduled_for timestamptz,
  created_at    timestamptz not null default tock.now(),
  constraint job_outbox_kind_check check (kind in ('chain', 'dead', 'end', 'wait', 'interval', 'event', 'fair')),
  constraint job_outbox_of_check check ((kind = 'event') = (event_id is not null) and (kind in ('end', 'wait')) = (run_ids is not null)
    and (kind = 'fair') = (fair_keys is not null) and (kind in ('chain', 'dead')) = (run_id is not null))
);

comment on table tock.job_outbox is 'Ended runs whose followers are still to be made, and ended runs and events for which runs may wait.';
comment on column tock.job_outbox.generation is 'Which end of the run it was, since a dead run may be retried. With the run id it identifies the follower.';
comment on column tock.job_outbox.kind is 'chain: definitions run after it; dead: its job has an onDead; end: runs wait for these; wait: runs have begun to wait for these, which they do not know; interval: runs of the definition wait for occurrences of others; event: runs may wait for it; fair: runs of a fair key have come.';
comment on column tock.job_outbox.run_ids is 'The runs that one statement has ended and that others wait for; or that others have begun to wait for.';

-- Successors: what was enqueued to replace a run that has begun --------------------------------------

-- A run that has begun keeps its payload, since the results of its steps belong to it. What is enqueued meanwhile under its
-- live key, to replace it, waits here, the last of several, and becomes a run when that one ends: not a moment later, so
-- that the key has no gap, and not before, so that it has one live run.
--
--   caller                                          worker, holds run 1 under the live key k
--   locks run 1 for key share: k has begun
--   successor of k: run 2
--                                                   ends run 1: waits for the caller
--   commits
--                                                   run 1 is deleted; start_successor finds run 2, makes it
--                                                   commits
--
-- Were run 1 deleted first, the caller would wait for that, find no run under k, and make one. Heartbeats do not wait:
-- FOR KEY SHARE conflicts with a delete and with FOR UPDATE only. Whoever locks both locks the run first. Nobody but an
-- operator takes a row out, other than to make it a run; so retention has nothing to do here.
create table tock.job_successors (
  live_key    tock.run_key primary key,
  run_id      bigint not null unique,
  job         tock.short_name not null,
  payload     tock.payload,
  run_at      tock.instant not null,
  queue       tock.short_name not null,
  priority    integer not null,
  max_attempts tock.count_from_1 not null,
  trigger     tock.run_trigger not null,
  slot_keys   tock.slot_keys,
  slot_limits tock.slot_limits,
  traceparent text,
  created_at  tock.instant not null default tock.now(),
  tags        tock.run_tags,
  keeps_changes boolean
);

comment on table tock.job_successors is 'What becomes a run when the live run of its key ends: the last that was enqueued to replace it after it had begun.';
comment on column tock.job_successors.run_id is 'The id that its run will have. Its caller was given it.';
comment on column tock.job_successors.created_at is 'When the first of the calls came whose payloads it has replaced.';

-- Every way in which a run ends deletes it from the live runs, so none can forget its successor. For runs without a live
-- key the condition is all that this costs.
create function tock.start_successor() returns trigger
language plpgsql security definer set search_path = pg_catalog, pg_temp
as $$
declare
  next tock.job_successors;
  due constant timestamptz := tock.now();
begin
  delete from tock.job_successors s where s.live_key = old.live_key returning s.* into next;
  if found then
    next.run_at := greatest(next.run_at, due);
    insert into tock.job_runs_live (id, job, payload, idempotency_key, live_key, run_at, queue, priority, max_attempts, trigger, slot_keys, slot_limits,
      blocked_on, traceparent, created_at, tags, keeps_changes, has_waiters, status)
    values (next.run_id, next.job, next.payload, next.live_key, next.live_key, next.run_at, next.queue, next.priority, next.max_attempts, next.trigger,
      next.slot_keys, next.slot_limits, tock.fair_key_in(next.slot_keys), next.traceparent, next.created_at, next.tags, next.keeps_changes,
      -- A wait for it may be begun now, unseen from here.
      true, 'queued');
    perform tock.wake_for_run(next.run_at, next.queue, next.slot_keys);
  end if;
  return null;
end $$;

comment on function tock.start_successor() is 'Makes a run of what waits for the end of the run that is deleted.';

create trigger start_successor after delete on tock.job_runs_live for each row when (old.live_key is not null)
  execute function tock.start_successor();

-- Volatile, so that it sees what was committed while its statement waited for the lock of the run.
create function tock.successor_of(live_key text) returns bigint
language sql volatile
as $$ select s.run_id from tock.job_successors s where s.live_key = successor_of.live_key $$;

comment on function tock.successor_of(text) is 'The run that starts when the live run of this key ends; null: none.';

-- Who waits for a run marks it first, and then looks whether it has ended. So either that look finds the end, or the end
-- finds the mark: the version of the row that is deleted is the latest. What nobody waits for notifies nobody.
create function tock.tell_of_end() returns trigger
language plpgsql set search_path = pg_catalog, pg_temp
as $$
begin
  perform tock.notify('ended:' || old.id);
  return null;
end $$;

comment on function tock.tell_of_end() is 'Notifies those that wait for the run that has ended.';

create trigger tell_of_end after delete on tock.job_runs_live for each row when (old.is_awaited)
  execute function tock.tell_of_end();

revoke execute on function tock.start_successor, tock.tell_of_end from public;

-- Changes: what has become of runs, for those who follow it -------------------------------------------

-- Readers go by position. A change gets its position after its transaction has committed, from whoever reads next, one at a
-- time. So positions come into sight in their order and without a gap, whatever transactions are open, and one that stays
-- open holds up its own changes only.
--
--   worker A                        worker B                     reader
--   run 1 ends: a change
--                                   run 2 ends: a change
--                                   commits
--                                                                numbers what it sees: run 2 is 1; reads after 0
--   commits
--                                                                numbers what it sees: run 1 is 2; reads after 1
create table tock.job_changes (
  id            bigint generated always as identity primary key,
  position      bigint unique,
  kind          text not null,
  run_id        bigint not null,
  job           text not null,
  definition_id bigint,
  status        text not null,
  attempts      integer not null,
  generation    integer not null,
  at            timestamptz not null default tock.now(),
  constraint job_changes_kind_check check (kind in ('ended', 'failed', 'waiting'))
);
create index job_changes_new on tock.job_changes (id) where position is null;

comment on table tock.job_changes is 'What has become of runs whose job has `changes`, for seven days. Written in the statement that changes the run.';
comment on column tock.job_changes.position is 'By which readers go, without a gap; null until its transaction has committed and somebody reads.';
comment on column tock.job_changes.kind is 'ended: in the state `status`; failed: an attempt, and another follows; waiting: its handler has ended to wait.';

-- Who numbers holds the lock of the row.
create table tock.changes_head (
  is_only    boolean primary key default true,
  origin     text not null default substr(md5(random()::text || clock_timestamp()::text), 1, 8),
  position   bigint not null default 0,
  kept_after bigint not null default 0,
  given_in   xid8,
  constraint changes_head_one_row check (is_only)
);
insert into tock.changes_head default values;

comment on table tock.changes_head is 'How far the changes of runs are numbered; one row.';
comment on column tock.changes_head.origin is 'Stands in each cursor: that of another database is refused. `tock adopt` makes a new one.';
comment on column tock.changes_head.position is 'The last position that was given.';
comment on column tock.changes_head.given_in is 'The transaction that has given the last positions: it may still undo them, so it reads none of them.';
comment on column tock.changes_head.kept_after is 'Changes up to this position have been deleted.';

create table tock.change_webhooks (
  job      text primary key,
  position bigint not null
) with (fillfactor = 50);

comment on table tock.change_webhooks is 'How far the webhooks of jobs have come. A job whose name is new here begins at the last position, or where an alias of it is.';
comment on column tock.change_webhooks.position is 'Changes of the job up to this one were taken by its receiver, or are not for it.';

create function tock.note_end() returns trigger
language plpgsql security definer set search_path = pg_catalog, pg_temp
as $$
begin
  -- The trigger comes after the whole statement, which has moved the run. The time keeps to the newest partitions.
  insert into tock.job_changes (kind, run_id, job, definition_id, status, attempts, generation)
  select 'ended', f.id, f.job, f.definition_id, f.status, f.attempts, f.generation
  from tock.job_runs_finished f
  where f.id = old.id and f.finished_at > tock.now() - interval '1 day';
  return null;
end $$;

comment on function tock.note_end() is 'Keeps the change that a run has ended.';

-- Every way in which a run ends deletes it from the live runs. For runs of jobs that do not ask, the condition is all that
-- this costs.
create trigger note_end after delete on tock.job_runs_live for each row when (old.keeps_changes)
  execute function tock.note_end();

create function tock.tell_of_changes() returns trigger
language plpgsql set search_path = pg_catalog, pg_temp
as $$
begin
  perform tock.notify('changes');
  return null;
end $$;

comment on function tock.tell_of_changes() is 'Notifies those that follow changes.';

-- For each row: a statement without a change must not notify. Notifications of one transaction that are alike are one.
create trigger tell_of_changes after insert on tock.job_changes for each row execute function tock.tell_of_changes();

-- With the owner's rights, so that readers need not write. Gives the last position. Does not wait long for another that
-- numbers, whose transaction may stay open: what has been numbered is there to read all the same.
create function tock.number_changes() returns bigint
language plpgsql security definer set search_path = pg_catalog, pg_temp set lock_timeout = '1s'
as $$
declare
  last bigint;
begin
  if not (pg_is_in_recovery() or current_setting('transaction_read_only') = 'on')
    and exists (select from tock.job_changes c where c.position is null) and not tock.is_copy() then
    begin
      select h.position into last from tock.changes_head h for update;
    exception when lock_not_available then
    end;
  end if;
  if last is null then
    return (select h.position from tock.changes_head h);
  end if;
  -- A statement of its own: it sees what was numbered while it waited for the lock.
  with numbered as (
    update tock.job_changes c set position = last + n.place
    from (select f.id, row_number() over (order by f.id) as place from (
      select u.id from tock.job_changes u where u.position is null order by u.id limit 10000) f) n
    where c.id = n.id and c.position is null
    returning c.position
  )
  select last + count(*) into last from numbered;
  update tock.changes_head h set position = last, given_in = pg_current_xact_id() where h.position < last;
  return last;
end $$;

comment on function tock.number_changes() is 'Gives positions to the changes whose transactions have committed, and returns the last one.';

create function tock.changes(after text default null, jobs text[] default null, count integer default 1000)
returns table (cursor text, kind text, run_id bigint, job text, definition_id bigint, status text, attempts integer, at timestamptz)
language plpgsql stable set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
declare
  head tock.changes_head;
  place bigint;
begin
  if changes.count is null or changes.count not between 1 and 10000 then
    raise exception 'count must be between 1 and 10000' using errcode = 'invalid_parameter_value';
  end if;
  select h.* into head from tock.changes_head h;
  if head.given_in = pg_current_xact_id_if_assigned() then
    raise exception 'this transaction has called tock.number_changes, which it may still undo: commit that first, then read'
      using errcode = 'object_not_in_prerequisite_state';
  end if;
  place := case when changes.after is null then head.kept_after
    when changes.after ~ '^[0-9a-f]{8}-[0-9]{1,18}$' then substr(changes.after, 10)::bigint end;
  if place is null or place > head.position or left(changes.after, 8) <> head.origin then
    raise exception 'the cursor % is none of this database: begin with null, from the oldest change that is kept', quote_literal(left(changes.after, 60))
      using errcode = 'invalid_parameter_value';
  end if;
  return query
  select head.origin || '-' || c.position, c.kind, c.run_id, c.job, c.definition_id, c.status, c.attempts, c.at
  from tock.job_changes c
  where c.position > place and c.position <= head.position and (changes.jobs is null or c.job = any(changes.jobs))
  order by c.position limit changes.count;
  -- Asked last: what was deleted meanwhile is missed too.
  if changes.after is not null and exists (select from tock.changes_head h where h.kept_after > place) then
    raise exception 'changes after the cursor % have been deleted: read the runs themselves, then begin with null, from the oldest change that is kept', changes.after
      using errcode = 'object_not_in_prerequisite_state';
  end if;
end $$;

comment on function tock.changes(text, text[], integer) is 'The numbered changes after a cursor, oldest first, of these jobs; null: from the oldest that is kept. Without a gap: what is committed later comes later.';

create function tock.changes_cursor() returns text
language sql stable set search_path = pg_catalog, pg_temp
as $$ select h.origin || '-' || h.position from tock.changes_head h $$;

comment on function tock.changes_cursor() is 'The cursor of the last numbered change: where to go on, if changes after the one before were none or few.';

revoke execute on function tock.note_end, tock.tell_of_changes, tock.number_changes, tock.changes, tock.changes_cursor from public;

-- Runs that are handed off ----------------------------------------------------------------------

-- A handler may end while its run goes on elsewhere. The row is kept after its end, so that what comes too late is seen
-- and counted. A decision waits here until a tick or a daemon writes it, by the statements for all outcomes.
create table tock.job_hand_offs (
  run_id         bigint not null,
  fence          integer not null,
  created_at     timestamptz not null default tock.now(),
  handed_off_at timestamptz,
  handed_to      text,
  worker_id      uuid,
  due_at         timestamptz,
  lease_until    timestamptz,
  decided_at     timestamptz,
  decision       text,
  output         jsonb,
  error          jsonb,
  retry_at       timestamptz,
  written_at     timestamptz,
  refused_count  integer not null default 0,
  refused_at     timestamptz,
  primary key (run_id, fence),
  constraint job_hand_offs_decision_check check (decision in ('succeeded', 'failed', 'dead')),
  constraint job_hand_offs_decided_check check ((decided_at is null) = (decision is null))
);
-- Few at any time. Each tick asks whether there are any.
create index job_hand_offs_decided on tock.job_hand_offs (run_id, fence)
  where handed_off_at is not null and decided_at is not null and written_at is null;
-- For the figures of the last day; next to nothing to keep, since rows are added in the order of time.
create index job_hand_offs_created on tock.job_hand_offs using brin (created_at) with (pages_per_range = 16);

comment on table tock.job_hand_offs is 'Attempts that were handed off to another system, and what it has decided. Such a run is running, locked by the id of zeros.';
comment on column tock.job_hand_offs.handed_off_at is 'Null: not yet, or never. The other side may be quicker than the handler.';
comment on column tock.job_hand_offs.handed_to is 'For people: who is to complete it.';
comment on column tock.job_hand_offs.worker_id is 'The worker that has handed it over.';
comment on column tock.job_hand_offs.due_at is 'When the run was due. While it is handed off, its run_at is the end of its lease.';
comment on column tock.job_hand_offs.lease_until is 'The end of the lease, as the handler or tock.extend has set it.';
comment on column tock.job_hand_offs.decision is 'failed: it is tried again while attempts are left; dead: it is not.';
comment on column tock.job_hand_offs.output is 'Until it is written: then the run has it. Likewise error.';
comment on column tock.job_hand_offs.refused_count is 'Calls that came too late and changed nothing.';

-- The logs of runs ----------------------------------------------------------------------------------

-- Retention drops logs by segments: it closes the open one after a while, and drops closed ones as a whole. A partition by
-- time would have to be there before the first line of its time; the open segment always is.
create table tock.log_segments (
  segment   integer primary key,
  opened_at timestamptz not null default tock.now(),
  closed_at timestamptz
);
create unique index log_segments_one_open on tock.log_segments ((true)) where closed_at is null;
insert into tock.log_segments (segment) values (1);

comment on table tock.log_segments is 'The partitions of job_logs. Attempts that begin to log write to the one that is not closed.';

create table tock.job_logs (
  run_id    bigint not null,
  fence     integer not null,
  segment   integer not null,
  attempt   integer not null,
  began_at  timestamptz not null,
  cut_lines bigint not null,
  cut_bytes bigint not null,
  head      text not null,
  tail      text not null,
  primary key (run_id, fence, segment)
) partition by list (segment);
create table tock.job_logs_1 partition of tock.job_logs for values in (1);

comment on table tock.job_logs is 'What the handlers of runs have logged, one row per attempt that logged anything.';
comment on column tock.job_logs.fence is 'That of the attempt: an attempt writes to no row but its own.';
comment on column tock.job_logs.segment is 'The one that was open when the attempt began to log.';
comment on column tock.job_logs.began_at is 'When its first line was logged. Lines count their milliseconds from here.';
comment on column tock.job_logs.head is 'The first lines, each a JSON array: milliseconds, level (d, i, w, e), text, fields if there are any.';
comment on column tock.job_logs.tail is 'The last lines, where head has no room for all. cut_lines and cut_bytes are what lies between.';
-- Alerts: what went wrong, what is wrong, and who was notified -------------------------------------

-- Written in the statement that ends an attempt, so that a crash loses none, and only where alerts are evaluated.
create table tock.alert_events (
  id            bigint generated always as identity primary key,
  kind          text not null,
  count         integer not null default 1,
  run_id        bigint not null,
  definition_id bigint,
  job           text not null,
  at            timestamptz not null default tock.now(),
  constraint alert_events_kind_check check (kind in ('failed', 'dead', 'succeeded'))
);

comment on table tock.alert_events is 'Failed attempts, dead runs, and successes of what had failed, until the next evaluation of alerts takes them.';
comment on column tock.alert_events.count is 'How many the statement had of this definition, or of one-off runs of this job; run_id is the last of them.';

create table tock.alert_watches (
  definition_id bigint primary key,
  check_at      timestamptz not null default '-infinity'
);
create index alert_watches_due on tock.alert_watches (check_at, definition_id);

comment on table tock.alert_watches is 'When to look whether a definition with expect_within_ms is late: no earlier than it can be.';

create table tock.alert_states (
  rule          text not null,
  subject       text not null,
  status        text not null,
  since         timestamptz not null,
  version       integer not null default 1,
  failure_count integer not null default 0,
  job           text,
  definition_id bigint,
  run_id        bigint,
  last_at       timestamptz not null,
  notified_at   timestamptz,
  detail        text not null,
  primary key (rule, subject),
  constraint alert_states_status_check check (status in ('up', 'down'))
);
create index alert_states_open on tock.alert_states (job) where job is not null;
create index alert_states_down on tock.alert_states (rule, subject) where status = 'down';

comment on table tock.alert_states is 'The state of each alert. It flips by compare-and-set of its version; the winner writes the flip.';
comment on column tock.alert_states.subject is 'Name of a definition, job or queue, or a host and its folder.';
comment on column tock.alert_states.job is 'Successes of this job are written to alert_events; null: none.';
comment on column tock.alert_states.notified_at is 'When channels were last notified that this is down; null: it is up, or no channel was notified.';

create table tock.alert_flips (
  id        bigint generated always as identity primary key,
  rule      text not null,
  condition text not null,
  subject   text not null,
  kind      text not null,
  at        timestamptz not null,
  since     timestamptz not null,
  detail    text not null,
  run_id    bigint,
  constraint alert_flips_kind_check check (kind in ('down', 'up', 'reminder'))
);
create index alert_flips_at on tock.alert_flips (at);
create index alert_flips_subject on tock.alert_flips (rule, subject, id);

comment on table tock.alert_flips is 'Each time that an alert went down, was repeated, or recovered; kept for 90 days.';

create table tock.alert_deliveries (
  flip_id      bigint not null references tock.alert_flips on delete cascade,
  channel      text not null,
  run_id       bigint not null,
  delivered_at timestamptz,
  answer       text,
  primary key (flip_id, channel)
);
create index alert_deliveries_run on tock.alert_deliveries (run_id);

comment on table tock.alert_deliveries is 'Which channel is notified of a flip, by which run, and what the receiver answered.';

create table tock.alert_channels (
  name    text primary key,
  run_id  bigint,
  free_at timestamptz not null default '-infinity'
);

comment on table tock.alert_channels is 'Each channel gets one message a minute: the latest run that delivers to it, and when the next may begin.';

create table tock.alert_mutes (
  name       text primary key,
  until      timestamptz not null,
  note       text,
  muted_by   text not null default session_user,
  created_at timestamptz not null default tock.now()
);

comment on table tock.alert_mutes is 'Rules and subjects that send no notifications until a time.';
comment on column tock.alert_mutes.muted_by is 'The operator who wrote it last.';

create table tock.alert_clock (
  is_only    boolean primary key default true,
  checked_at timestamptz not null default '-infinity',
  check_at   timestamptz not null default '-infinity',
  constraint alert_clock_one_row check (is_only)
);

comment on table tock.alert_clock is 'When alerts were last evaluated, and are to be next. No row: no alerts are configured.';

-- Enqueueing --------------------------------------------------------------------------------------

-- NOTIFY takes a lock at commit that all notifying transactions share. It can be turned off for a database or a role;
-- polling finds the runs: alter database app set pg_tock.notify = off.
create function tock.notify(payload text) returns void
language plpgsql volatile
as $$
begin
  if current_setting('pg_tock.notify', true) is distinct from 'off' then
    perform pg_catalog.pg_notify('tock', payload);
  end if;
end $$;

comment on function tock.notify(text) is 'Wakes listening daemons, unless pg_tock.notify is off.';

-- Called after the runs are inserted. A daemon that falls asleep inserts its row, and then polls until all transactions
-- have ended that had an id at that moment. So it finds the runs of those that did not see its row, if each read the table
-- after it had its id, with a snapshot taken then: under REPEATABLE READ the snapshot may be older, and all are notified.
create function tock.wake(queues text[], payload text) returns void
language plpgsql volatile
as $$
begin
  if current_setting('pg_tock.notify', true) is distinct from 'off'
    and (current_setting('transaction_isolation') not in ('read committed', 'read uncommitted')
      or exists (select from tock.sleepers s where s.queues is null or wake.queues is null or s.queues && wake.queues)) then
    perform pg_catalog.pg_notify('tock', payload);
  end if;
end $$;

comment on function tock.wake(text[], text) is 'Wakes listening daemons, if one that claims from any of the queues may be asleep. Null: from all queues.';

-- A daemon that sleeps polls every five seconds. What is due before its next poll wakes it to poll now, so that it knows when
-- to claim. One second more is for the poll itself.
create function tock.next_poll_at() returns timestamptz
language sql stable parallel safe
as $$ select tock.now() + interval '6 seconds' $$;

comment on function tock.next_poll_at() is 'A run that is due by then wakes sleeping daemons when it is enqueued; a later one is found by their next poll.';

-- `due_payload` is for a run that is due now. One that is due soon has the payload `soon`, so that daemons need not hurry.
create function tock.wake_for(run_at timestamptz, queues text[], due_payload text default 'queued') returns void
language plpgsql volatile
as $$
begin
  if wake_for.run_at <= tock.next_poll_at() then
    perform tock.wake(wake_for.queues, case when wake_for.run_at <= tock.now() then due_payload else 'soon' end);
  end if;
end $$;

comment on function tock.wake_for(timestamptz, text[], text) is 'Wakes listening daemons for a new run, if it is due before their next poll and one that claims from any of the queues may be asleep.';

create function tock.wake_for_run(run_at timestamptz, queue text, slot_keys text[]) returns void
language plpgsql volatile
as $$
begin
  if tock.fair_key_in(slot_keys) is null then
    perform tock.wake_for(wake_for_run.run_at, array[queue]);
  else
    perform tock.fair_runs_come(slot_keys[1:1]);
  end if;
end $$;

comment on function tock.wake_for_run(timestamptz, text, text[]) is 'Wakes who may claim a new run: for its fair key, if it has one.';

-- SQL and the library enqueue through the functions below, never by an insert of their own. They run with the owner's
-- rights: a role that enqueues needs EXECUTE on them and no right on any table, and cannot choose what they have no
-- parameter for, such as a fence, attempts, a lease, an occurrence or another job's slots.

-- The rule for names; src/model/names.ts has the same.
create function tock.refuse_name(name text, what text) returns boolean
language plpgsql immutable
as $$
begin
  raise exception '% cannot be the name of % %', coalesce(quote_literal(left(name, 60)), 'null'), case when what ~ '^[aeiou]' then 'an' else 'a' end, what
    using errcode = 'invalid_parameter_value',
      hint = 'Use letters, digits and . _ : @ -, beginning with a letter or digit, at most 200 bytes, and no name that every object of JavaScript has.';
end $$;

create function tock.require_name(name text, what text) returns boolean
language sql immutable
as $$
  select case when name ~ '^[A-Za-z0-9][A-Za-z0-9._:@-]*$' and octet_length(name) <= 200
    -- Properties of every JavaScript object.
    and name <> all ('{constructor,hasOwnProperty,isPrototypeOf,propertyIsEnumerable,toLocaleString,toString,valueOf}')
    then true else tock.refuse_name(name, what) end
$$;

comment on function tock.require_name(text, text) is 'True for a valid name of a job, a definition or a queue; else an error.';

-- What is no valid traceparent is left out: no run is refused for want of a trace.
create function tock.valid_traceparent(traceparent text) returns text
language sql immutable
as $$
  select case when traceparent ~ '^00-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}$' then traceparent end
$$;

comment on function tock.valid_traceparent(text) is 'The same text, or null if it is no traceparent of W3C Trace Context.';

-- What a caller may say of how its run came about: `api`; and `manual`, if its role could write the row itself. The role is that of
-- the session, which `set role` does not change. The other triggers are those of runs that Tock makes.
create function tock.require_trigger(trigger text) returns boolean
language plpgsql stable
as $$
begin
  if trigger = 'api' then
    return true;
  end if;
  if trigger is distinct from 'manual' then
    raise exception 'a run that is enqueued has the trigger api or manual, not %', coalesce(quote_literal(left(trigger, 60)), 'null')
      using errcode = 'invalid_parameter_value';
  end if;
  if not has_table_privilege(session_user, 'tock.job_runs_live', 'insert') then
    raise exception 'permission denied for the trigger manual, which is for roles that may insert into job_runs_live'
      using errcode = 'insufficient_privilege';
  end if;
  return true;
end $$;

create function tock.require_payload(payload jsonb) returns boolean
language plpgsql immutable
as $$
begin
  if octet_length(payload::text) > 1048576 then
    raise exception 'payload of % bytes is over the limit of 1 MiB', octet_length(payload::text)
      using errcode = 'program_limit_exceeded', hint = 'Store the data in a table and pass its id.';
  end if;
  if jsonb_path_exists(payload, 'strict $.**{201}') then
    raise exception 'the payload is nested deeper than 200 levels'
      using errcode = 'program_limit_exceeded', hint = 'Store the data in a table and pass its id.';
  end if;
  -- Handlers read it as JavaScript does.
  if jsonb_path_exists(payload, '$.** ? (@.type() == "number" && (@ > 9007199254740991 || @ < -9007199254740991))') then
    raise exception 'the payload holds a number over 2^53, which would lose digits'
      using errcode = 'invalid_parameter_value', hint = 'Pass it as text.';
  end if;
  return true;
end $$;

comment on function tock.require_payload(jsonb) is 'True for a payload that handlers can read, or null; else an error.';

-- The rule for tags; src/model/run/tags.ts has the same. Those that are there twice count once.
create function tock.require_tags(tags text[]) returns text[]
language plpgsql immutable
as $$
declare
  distinct_tags constant text[] := array(select t.tag from unnest(tags) with ordinality t(tag, place) group by t.tag order by min(t.place));
begin
  if exists (select from unnest(distinct_tags) t(tag) where t.tag is null or octet_length(t.tag) not between 1 and 64 or t.tag ~ '[[:space:][:cntrl:],]') then
    raise exception 'a tag must have between 1 and 64 bytes, without blanks and commas' using errcode = 'invalid_parameter_value';
  end if;
  if cardinality(distinct_tags) > 10 then
    raise exception 'a run can have 10 tags, not %', cardinality(distinct_tags)
      using errcode = 'invalid_parameter_value', hint = 'Those of its job count too.';
  end if;
  return nullif(distinct_tags, '{}');
end $$;

comment on function tock.require_tags(text[]) is 'Valid tags of a run, each once; null for none; else an error.';

-- Null options take the defaults of the job's definition. Tags are added to those of the definition.
create function tock.enqueue(
  job             text,
  payload         jsonb default '{}',
  idempotency_key text default null,
  run_at          timestamptz default null,
  queue           text default null,
  priority        integer default null,
  max_attempts    integer default null,
  traceparent     text default null,
  unique_live     boolean default false,
  replace         boolean default false,
  debounce        interval default null,
  tags            text[] default null
) returns bigint
language plpgsql security definer set search_path = pg_catalog, pg_temp
as $$
declare
  is_live constant boolean := coalesce(enqueue.unique_live, false) or enqueue.debounce is not null;
  due constant timestamptz := coalesce(enqueue.run_at, tock.now() + enqueue.debounce, tock.now());
  new_id bigint;
  kept_id bigint;
  defaults record;
  new_queue text;
  keys text[];
  new_tags text[];
begin
  perform tock.require_name(enqueue.job, 'job'), tock.require_name(coalesce(enqueue.queue, 'default'), 'queue'), tock.require_payload(enqueue.payload);
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
  if enqueue.priority < -2147483647 then
    raise exception 'priority must be between -2147483647 and 2147483647; lower goes first' using errcode = 'invalid_parameter_value';
  end if;
  if is_live and enqueue.idempotency_key is null then
    raise exception 'unique_live and debounce need an idempotency key: what must not be there twice' using errcode = 'invalid_parameter_value';
  end if;
  if enqueue.replace and not is_live then
    raise exception 'replace needs unique_live: a key that is used up for good keeps its run as it was' using errcode = 'invalid_parameter_value';
  end if;
  if enqueue.debounce is not null and enqueue.run_at is not null then
    raise exception 'debounce says when; leave run_at out' using errcode = 'invalid_parameter_value';
  end if;
  if enqueue.debounce < interval '0' or enqueue.debounce > interval '1000 days' then
    raise exception 'debounce must be between 0 and 1000 days' using errcode = 'invalid_parameter_value';
  end if;

  new_id := nextval('tock.job_runs_id_seq');
  if enqueue.idempotency_key is not null and not is_live then
    insert into tock.job_keys (idempotency_key, run_id) values (enqueue.idempotency_key, new_id)
    on conflict do nothing;
    if not found then
      select k.run_id into kept_id from tock.job_keys k where k.idempotency_key = enqueue.idempotency_key;
      return kept_id;
    end if;
  end if;

  select d.queue, d.priority, d.max_attempts, d.tags, d.keeps_changes into defaults from tock.job_definitions d where d.name = enqueue.job;
  new_queue := coalesce(enqueue.queue, defaults.queue, 'default');
  if enqueue.tags is not null or defaults.tags is not null then
    new_tags := tock.require_tags(defaults.tags || enqueue.tags);
  end if;
  keys := tock.fair_slots(null, new_queue, enqueue.job, enqueue.payload);
  if is_live then
    return (tock.enqueue_newest(row(enqueue.idempotency_key, new_id, enqueue.job, coalesce(enqueue.payload, '{}'), due, new_queue,
      coalesce(enqueue.priority, defaults.priority, 0), coalesce(enqueue.max_attempts, defaults.max_attempts, 10), 'api', keys, tock.fair_limits(keys, null),
      tock.valid_traceparent(enqueue.traceparent), tock.now(), new_tags, defaults.keeps_changes)::tock.job_successors,
      coalesce(enqueue.replace, false) or enqueue.debounce is not null, 10000 * extract(epoch from enqueue.debounce)::float8)).id;
  end if;
  insert into tock.job_runs_live (id, job, payload, idempotency_key, run_at, queue, priority, max_attempts, trigger, traceparent, tags, keeps_changes, slot_keys, slot_limits,
    blocked_on, status)
  values (
    new_id, enqueue.job, coalesce(enqueue.payload, '{}'), enqueue.idempotency_key, due,
    new_queue, coalesce(enqueue.priority, defaults.priority, 0),
    coalesce(enqueue.max_attempts, defaults.max_attempts, 10), 'api', tock.valid_traceparent(enqueue.traceparent), new_tags, defaults.keeps_changes, keys, tock.fair_limits(keys, null),
    keys[1], 'queued');
  perform tock.wake_for_run(due, new_queue, keys);
  return new_id;
end $$;

comment on function tock.enqueue(text, jsonb, text, timestamptz, text, integer, integer, text, boolean, boolean, interval, text[]) is 'Enqueues one run in the caller''s transaction and returns its id. With a key that was used before it enqueues nothing and returns the id of the run that has the key. With unique_live the key is free again when its run has ended; with replace or debounce, what is enqueued last under it is executed last.';

-- For the library: one run without a key, the most frequent case. A plain insert and a notification. Null run_at: now.
create function tock.enqueue_one(
  job text, payload jsonb, run_at timestamptz, delay_ms float8, queue text, priority integer, max_attempts integer, trigger text,
  traceparent text default null, tags text[] default null
) returns bigint
language plpgsql security definer set search_path = pg_catalog, pg_temp
as $$
declare
  made record;
  keys constant text[] := case when exists (select from tock.fair_scopes)
    then tock.fair_slots(null, enqueue_one.queue, enqueue_one.job, enqueue_one.payload) end;
begin
  insert into tock.job_runs_live as r (job, payload, run_at, queue, priority, max_attempts, trigger, traceparent, tags, slot_keys, slot_limits, blocked_on, status)
  select
    enqueue_one.job, enqueue_one.payload,
    coalesce(enqueue_one.run_at, tock.now() + enqueue_one.delay_ms * interval '1 millisecond', tock.now()),
    enqueue_one.queue, enqueue_one.priority, enqueue_one.max_attempts, enqueue_one.trigger,
    tock.valid_traceparent(enqueue_one.traceparent), case when enqueue_one.tags is not null then tock.require_tags(enqueue_one.tags) end,
    keys, case when keys is not null then array[1] end, keys[1], 'queued'
  where tock.require_name(enqueue_one.job, 'job') and tock.require_name(enqueue_one.queue, 'queue')
    and (enqueue_one.trigger = 'api' or tock.require_trigger(enqueue_one.trigger))
  returning r.id, r.run_at into made;
  if keys is null then
    perform tock.wake_for(made.run_at, array[enqueue_one.queue], 'queued:' || enqueue_one.priority || ':' || enqueue_one.queue);
  else
    perform tock.fair_runs_come(keys[1:1]);
  end if;
  return made.id;
end $$;

comment on function tock.enqueue_one(text, jsonb, timestamptz, float8, text, integer, integer, text, text, text[]) is 'For the library: enqueues one run that has no key and needs no slot, in the caller''s transaction.';

-- For the library: many runs in one statement.
--
-- Rows come in segments that share a shape (job, queue, priority and so on). `shape_lines` has a shape per line, as JSON;
-- `payload_lines` has a payload per line, and an empty line between segments. Splitting text is the cheapest thing that a
-- server can do; parsing one large document is not. Ids grow in the order of the rows. Keys are inserted sorted, so that
-- two batches never deadlock. Names are checked once per shape.
--
-- The planner expects ten rows of unnest(string_to_array()), but a thousand of string_to_table(): then it would expect a
-- million rows and compile the statement (JIT) each time. The parameters are behind a select, so that it cannot count the
-- rows and plan anew for each number of them.
--
-- Returns all ids; for each key that was used before, `id:run that has the key`, where that run can be seen.
create function tock.enqueue_many(payload_lines text, shape_lines text)
returns table (ids text, refused text, woken text)
language plpgsql security definer set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
begin
  return query
-- As tock.fair_slots does it, which would be called for each run.
with shapes as materialized (
  select g.payloads, s.*, case when s.slot_limit is not null then array['job:' || s.job || coalesce('/' || s.slot, '')] end as slot_keys, f.path, f.prefix
  from rows from (unnest(string_to_array((select payload_lines), chr(10) || chr(10))), unnest(string_to_array((select shape_lines), chr(10)))) as g(payloads, shape),
    jsonb_to_record(g.shape::jsonb) as s(
      job text, at timestamptz, delay_ms float8, queue text, priority integer, max_attempts integer, trigger text, slot text, slot_limit integer, traceparent text, has_waiters boolean, tags text[], keeps_changes boolean, keys jsonb)
  left join lateral (
    select c.path, case when c.is_strict then '~!' else '~' end || s.queue || '/' || c.job || '/' as prefix from tock.fair_scopes c
    where (c.queue = '' and c.job = s.job) or (c.queue = s.queue and c.job = '') order by c.queue limit 1) f on true
), input as materialized (
  select nextval('tock.job_runs_id_seq') as id, l.payload, l.key, s.job, s.queue, s.priority, s.max_attempts, s.trigger, s.slot_limit, s.traceparent, s.has_waiters, s.tags, s.keeps_changes,
    case when s.path is null then s.slot_keys
      else nullif(array_remove(array[s.prefix || left(nullif(jsonb_path_query_first(l.payload::jsonb, s.path, '{}', true) #>> '{}', ''), 300)], null)
        || coalesce(s.slot_keys, '{}'), '{}') end as slot_keys,
    coalesce(s.at, tock.now() + s.delay_ms * interval '1 millisecond', tock.now()) as run_at
  from shapes s, rows from (unnest(string_to_array(s.payloads, chr(10))), jsonb_array_elements_text(s.keys)) as l(payload, key)
  where tock.require_name(s.job, 'job') and tock.require_name(s.queue, 'queue')
    and (s.trigger = 'api' or tock.require_trigger(s.trigger))
), keyed as (
  insert into tock.job_keys (idempotency_key, run_id) select key, id from input where key is not null order by key, id
  on conflict do nothing
  returning run_id
), made as (
  insert into tock.job_runs_live (id, job, payload, idempotency_key, run_at, queue, priority, max_attempts, trigger, slot_keys, slot_limits, blocked_on,
    traceparent, has_waiters, tags, keeps_changes, status)
  select i.id, i.job, i.payload::jsonb, i.key, i.run_at, i.queue, i.priority, i.max_attempts, i.trigger, i.slot_keys,
    case when i.slot_keys[1] like '~%' then array_prepend(1, case when i.slot_limit is not null then array[i.slot_limit] end)
      when i.slot_limit is not null then array[i.slot_limit] end,
    tock.fair_key_in(i.slot_keys), tock.valid_traceparent(i.traceparent),
    i.has_waiters, case when i.tags is not null then tock.require_tags(i.tags) end, i.keeps_changes, 'queued'
  from input i left join keyed k on k.run_id = i.id
  where i.key is null or k.run_id is not null
  order by i.id
  returning run_at, blocked_on
)
select (select string_agg(id::text, ',' order by id) from input) as ids,
  case when count(*) < (select count(*) from input) then (
    -- Looked up one by one: for a join the planner would read all keys.
    select string_agg(i.id || ':' || coalesce((select old.run_id::text from tock.job_keys old where old.idempotency_key = i.key), ''), ',')
    from input i left join keyed k on k.run_id = i.id
    where i.key is not null and k.run_id is null) end as refused,
  -- Once per statement.
  tock.wake_for(min(run_at) filter (where blocked_on is null), case when count(*) <= 100 then array(select distinct i.queue from input i) end)::text
    || case when count(blocked_on) > 0 then tock.fair_runs_come(array_agg(distinct blocked_on) filter (where blocked_on is not null))::text end as woken
from made;
end $$;

comment on function tock.enqueue_many(text, text) is 'For the library: enqueues many runs in the caller''s transaction.';

-- Whether a handler may have been called for the run: then nothing replaces it unseen. A run that was given back may have begun.
create function tock.has_begun(attempts integer, releases integer, generation integer, began_at timestamptz) returns boolean
language sql immutable parallel safe
as $$ select attempts > 0 or releases > 0 or generation > 1 or began_at is not null $$;

-- Whether a later call may give a run its payload.
create function tock.is_replaceable(status text, attempts integer, releases integer, generation integer, began_at timestamptz) returns boolean
language sql immutable parallel safe
as $$ select status = 'queued' and not tock.has_begun(attempts, releases, generation, began_at) $$;

-- For the functions that enqueue: makes sure that this is what its live key executes last, where it replaces. In place of the
-- run that waits under the key; or as its successor, if that has begun, or is another job's. One that has begun and waits for
-- another attempt ends here, which starts its successor.
create function tock.enqueue_newest(next tock.job_successors, replaces boolean, max_ms float8, out id bigint, out made boolean, out replaced boolean)
language plpgsql set search_path = pg_catalog, pg_temp
as $$
declare
  run record;
  due timestamptz;
begin
  -- Again, if the run has moved on since it was read. Without what it has locked meanwhile: a lock of the run that is kept while
  -- it waits for other callers is a deadlock, since the first of them waits for the run.
  loop
    begin
      select r.id, r.job, r.status, r.run_at, tock.is_replaceable(r.status, r.attempts, r.releases, r.generation, r.began_at) as is_replaceable into run
      from tock.job_runs_live r where r.live_key = next.live_key;
      if not found then
        insert into tock.job_runs_live as r (id, job, payload, idempotency_key, live_key, run_at, queue, priority, max_attempts, trigger, slot_keys, slot_limits,
          blocked_on, traceparent, tags, keeps_changes, status)
        values (next.run_id, next.job, next.payload, next.live_key, next.live_key, next.run_at, next.queue, next.priority, next.max_attempts, next.trigger,
          next.slot_keys, next.slot_limits, tock.fair_key_in(next.slot_keys), next.traceparent, next.tags, next.keeps_changes, 'queued')
        on conflict (live_key) where live_key is not null do nothing
        returning r.id, true, false into enqueue_newest.id, made, replaced;
        due := next.run_at;
      elsif not replaces then
        select run.id, false, false into enqueue_newest.id, made, replaced;
      elsif run.status = 'running' or run.job <> next.job then
        -- Callers one by one: of several that share the run, none could end it, and its end would wait for all to come.
        perform pg_advisory_xact_lock(hashtextextended('tock.live_key:' || next.live_key, 0));
        perform from tock.job_runs_live r where r.id = run.id and (r.status = 'running' or r.job <> next.job) for key share;
        if found then
          insert into tock.job_successors as s select next.*
          on conflict (live_key) do update set (job, payload, run_at, queue, priority, max_attempts, trigger, slot_keys, slot_limits, traceparent, tags, keeps_changes) =
            (excluded.job, excluded.payload, least(excluded.run_at, s.created_at + max_ms * interval '1 millisecond'), excluded.queue, excluded.priority,
             excluded.max_attempts, excluded.trigger, excluded.slot_keys, excluded.slot_limits, excluded.traceparent, excluded.tags, excluded.keeps_changes)
          returning s.run_id, s.run_id = next.run_id, s.run_id <> next.run_id into enqueue_newest.id, made, replaced;
        end if;
      elsif run.is_replaceable then
        update tock.job_runs_live r
        set payload = next.payload, priority = next.priority, queue = next.queue, max_attempts = next.max_attempts,
          slot_keys = next.slot_keys, slot_limits = next.slot_limits, traceparent = next.traceparent, tags = next.tags,
          blocked_on = tock.fair_key_in(next.slot_keys), unblocked_on = null, run_at = least(next.run_at, r.created_at + max_ms * interval '1 millisecond')
        where r.id = run.id and r.job = next.job and tock.is_replaceable(r.status, r.attempts, r.releases, r.generation, r.began_at)
        returning r.id, false, true, case when r.blocked_on is not null or r.run_at < run.run_at then r.run_at end into enqueue_newest.id, made, replaced, due;
      else
        -- No definition follows it: runs under live keys have none. start_successor makes the new run.
        with gone as (
          delete from tock.job_runs_live r where r.id = run.id and r.status in ('queued', 'failed') returning r.*
        ), waiting as (
          insert into tock.job_successors as s select next.* from gone
          on conflict (live_key) do update set (job, payload, run_at, queue, priority, max_attempts, trigger, slot_keys, slot_limits, traceparent, tags, keeps_changes) =
            (excluded.job, excluded.payload, excluded.run_at, excluded.queue, excluded.priority, excluded.max_attempts, excluded.trigger, excluded.slot_keys,
             excluded.slot_limits, excluded.traceparent, excluded.tags, excluded.keeps_changes)
          returning s.run_id
        ), ended as (
          insert into tock.job_runs_finished (id, definition_id, run_at, priority, attempts, max_attempts, fence, releases, generation, occurrence_count,
            scheduled_for, interval_start, start_by, locked_by, created_at, started_at, job, queue, trigger, idempotency_key, payload, errors, progress,
            slot_keys, slot_limits, live_key, traceparent, last_traceparent, began_at, snoozes, has_waiters, tags, skip_reason, status, finished_at)
          select g.id, g.definition_id, g.run_at, g.priority, g.attempts, g.max_attempts, g.fence, g.releases, g.generation, g.occurrence_count,
            g.scheduled_for, g.interval_start, g.start_by, g.locked_by, g.created_at, g.started_at, g.job, g.queue, g.trigger, g.idempotency_key, g.payload,
            g.errors, g.progress, g.slot_keys, g.slot_limits, g.live_key, g.traceparent, g.last_traceparent, g.began_at, g.snoozes, g.has_waiters, g.tags, 'replaced by run ' || w.run_id, 'cancelled', tock.now()
          from gone g cross join waiting w
          returning 1
        ), noted as (
          insert into tock.job_outbox (kind, run_ids) select 'end', array[g.id] from gone g where g.has_waiters
          returning tock.notify('outbox')
        ), freed as (
          delete from tock.job_slots s where s.run_id = any(array(select g.id from gone g)) returning s.concurrency_key
        ), woken as (
          -- It may have held up a key whose order is strict.
          select tock.fair_runs_come(array_agg(f.concurrency_key)) from freed f where f.concurrency_key like '~%' having count(*) > 0
        )
        select w.run_id, true, true into enqueue_newest.id, made, replaced from waiting w where (select count(*) from woken) >= 0;
      end if;
      exit when enqueue_newest.id is not null;
      raise exception using errcode = 'TK001', message = 'the run has moved on';
    exception when sqlstate 'TK001' then
    end;
  end loop;
  if due is not null then
    perform tock.wake_for_run(due, next.queue, next.slot_keys);
  end if;
end $$;

comment on function tock.enqueue_newest(tock.job_successors, boolean, float8) is 'For the functions that enqueue: enqueues a run under its live key. Where it replaces, what is enqueued last is executed last.';

-- For the library: many runs in one statement, some with a key that is unique only among live runs. Keys are inserted
-- sorted, so that two batches never deadlock. For a key that is taken, or twice in the batch, it returns the run that has
-- it; null where another transaction took it at the same moment. Of several rows with one live key the first counts, or
-- the last where it replaces: that is executed last, whatever state the run of the key is in.
create function tock.enqueue_live(run_list text)
returns table (place integer, made boolean, replaced boolean, id text, woken text)
language plpgsql security definer set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
begin
  return query
with input as materialized (
  select nextval('tock.job_runs_id_seq') as id, i.*, case when i.tags is not null then tock.require_tags(i.tags) end as own_tags, coalesce(i.at, tock.now() + i.delay_ms * interval '1 millisecond', tock.now()) as run_at,
    f.slot_keys, tock.fair_limits(f.slot_keys, case when i.slot_limit is not null then array[i.slot_limit] end) as slot_limits
  from jsonb_to_recordset(run_list::jsonb) as i(
    place integer, job text, payload jsonb, key text, is_live boolean, replaces boolean, max_ms float8, at timestamptz,
    delay_ms float8, queue text, priority integer, max_attempts integer, trigger text, slot text, slot_limit integer, traceparent text, tags text[], keeps_changes boolean)
  -- Called once for each row.
  cross join lateral (select tock.fair_slots(case when i.slot_limit is not null then array['job:' || i.job || coalesce('/' || i.slot, '')] end,
    i.queue, i.job, i.payload) as slot_keys offset 0) f
  where tock.require_name(i.job, 'job') and tock.require_name(i.queue, 'queue')
    and (i.trigger = 'api' or tock.require_trigger(i.trigger))
  order by i.place
), keyed as (
  insert into tock.job_keys (idempotency_key, run_id) select key, id from input where key is not null and not is_live order by key, place
  on conflict do nothing
  returning idempotency_key, run_id
), made as (
  insert into tock.job_runs_live (id, job, payload, idempotency_key, run_at, queue, priority, max_attempts, trigger, slot_keys, slot_limits, blocked_on, traceparent, tags, keeps_changes, status)
  select i.id, i.job, i.payload, i.key, i.run_at, i.queue, i.priority, i.max_attempts, i.trigger, i.slot_keys, i.slot_limits, tock.fair_key_in(i.slot_keys), tock.valid_traceparent(i.traceparent), i.own_tags, i.keeps_changes, 'queued'
  from input i left join keyed k on k.run_id = i.id
  where i.key is null or k.run_id is not null
  order by i.id
  returning id, run_at, blocked_on
), chosen as materialized (
  select distinct on (key) * from input where is_live order by key, case when replaces then -place else place end
), replacing as materialized (
  -- One object by key, so that each row finds its bound without a search.
  select jsonb_object_agg(key, max_ms) as bounds from chosen where replaces
), untried as materialized (
  -- Under these keys there are runs that cannot be replaced. An insert would find them, but lock them for long.
  select c.*, c.replaces and coalesce((
    select not (tock.is_replaceable(r.status, r.attempts, r.releases, r.generation, r.began_at) and r.job = c.job) from tock.job_runs_live r where r.live_key = c.key), false) as is_late
  from chosen c order by key
), live as (
  insert into tock.job_runs_live as r (id, job, payload, idempotency_key, live_key, run_at, queue, priority, max_attempts, trigger, slot_keys, slot_limits, blocked_on, traceparent, tags, keeps_changes, status)
  select id, job, payload, key, key, run_at, queue, priority, max_attempts, trigger, slot_keys, slot_limits, tock.fair_key_in(slot_keys), tock.valid_traceparent(traceparent), own_tags, keeps_changes, 'queued'
  from untried where not is_late order by key
  on conflict (live_key) where live_key is not null do update
  set payload = excluded.payload, priority = excluded.priority, queue = excluded.queue, max_attempts = excluded.max_attempts,
    slot_keys = excluded.slot_keys, slot_limits = excluded.slot_limits, traceparent = excluded.traceparent, tags = excluded.tags,
    blocked_on = excluded.blocked_on, unblocked_on = null, run_at = least(excluded.run_at,
      r.created_at + ((select bounds from replacing) ->> excluded.live_key)::float8 * interval '1 millisecond')
  where tock.is_replaceable(r.status, r.attempts, r.releases, r.generation, r.began_at) and r.job = excluded.job and (select bounds from replacing) -> excluded.live_key is not null
  returning r.id, r.live_key, r.run_at, r.blocked_on
), placed as materialized (
  select coalesce(jsonb_object_agg(live_key, true), '{}') as keys from live
), newest as materialized (
  select c.id as of, c.key, n.* from (select * from untried where replaces and not (select keys from placed) ? key order by key) c
  cross join lateral tock.enqueue_newest(row(c.key, c.id, c.job, c.payload, c.run_at, c.queue, c.priority, c.max_attempts, c.trigger, c.slot_keys, c.slot_limits,
    tock.valid_traceparent(c.traceparent), tock.now(), c.own_tags, c.keeps_changes)::tock.job_successors, true, c.max_ms) n
), woken as (
  -- Once per statement. A run that was replaced, and is due no sooner than before, wakes none: daemons poll when it would have
  -- been due.
  select tock.wake_for(min(w.run_at) filter (where w.blocked_on is null), case when (select count(*) from input) <= 100 then array(select distinct i.queue from input i) end),
    case when count(w.blocked_on) > 0 then tock.fair_runs_come(array_agg(distinct w.blocked_on) filter (where w.blocked_on is not null)) end from (
    select run_at, blocked_on from made
    union all
    select run_at, blocked_on from live l where l.blocked_on is not null or l.run_at < coalesce((
      select old.run_at from tock.job_runs_live old where old.id = l.id and old.blocked_on is null), 'infinity')) w
)
select i.place, m.id is not null or coalesce(l.id = i.id, false) or coalesce(n.made and n.of = i.id, false) as made,
  l.id is not null and not exists (select from input own where own.id = l.id) or coalesce(n.replaced and n.of = i.id, false) as replaced,
  coalesce(m.id, l.id, n.id, k.run_id, old.run_id, there.id)::text as id, (select count(*) from woken)::text as woken
from input i
left join made m on m.id = i.id
left join live l on i.is_live and l.live_key = i.key
left join newest n on i.is_live and n.key = i.key
left join keyed k on not i.is_live and k.idempotency_key = i.key
left join tock.job_keys old on not i.is_live and old.idempotency_key = i.key
left join tock.job_runs_live there on i.is_live and there.live_key = i.key
order by i.place;
end $$;

comment on function tock.enqueue_live(text) is 'For the library: enqueues runs in the caller''s transaction, some with keys that are unique only among live runs.';

-- Groups and flows ---------------------------------------------------------------------------------

-- What waits for other runs is a run from the start. All are made in one transaction: nobody sees it, or the end of what it
-- waits for, before the wait is there. Only `others` are older. They are marked after the commit, with the outbox: their locks
-- would hold up the heartbeats and outcomes of their workers for as long as the caller's transaction lasts.
create function tock.join_runs(joins bigint[], policies text[], waiting bigint[], awaited bigint[], names text[] default null, others bigint[] default '{}')
returns bigint[]
language plpgsql security definer set search_path = pg_catalog, pg_temp
as $$
declare
  unknown constant bigint[] := array(select distinct o.id from unnest(others) as o(id)
    where not exists (select from tock.job_runs r where r.id = o.id) and not exists (select from tock.job_successors s where s.run_id = o.id));
  at_once constant bigint[] := array(select unnest(joins) except select unnest(waiting));
  joined bigint;
begin
  if cardinality(unknown) > 0 then
    return unknown;
  end if;
  update tock.job_runs_live r
  set run_at = case when r.id = any(at_once) then tock.now() else r.run_at end, has_parents = case when names is not null then true end
  where r.id = any(joins) and r.status = 'queued' and r.run_at = '9999-12-31' and not exists (select from tock.job_waits w where w.run_id = r.id);
  get diagnostics joined = row_count;
  if joined <> cardinality(joins) then
    raise exception 'not all of these runs are new, and due at 9999-12-31, as what waits for others must be: %', joins[1:10]
      using errcode = 'invalid_parameter_value';
  end if;
  with made as (
    insert into tock.job_waits (run_id, kind, name, needs_success, cancels, outcome, ended_at)
    select j.id, 'group', '', j.policy <> 'run', case when j.policy = 'cancel' then true end,
      case when j.id = any(at_once) then 'ended' end, case when j.id = any(at_once) then tock.now() end
    from unnest(joins, policies) as j(id, policy)
    returning id, run_id
  )
  insert into tock.job_awaited_runs (wait_id, position, run_id, name)
  select m.id, a.position, a.run_id, a.name
  from unnest(waiting, awaited, names) with ordinality as a(waiting_id, run_id, name, position) join made m on m.run_id = a.waiting_id;
  update tock.job_runs_live r set has_waiters = true
  where r.id = any(awaited) and not exists (select from unnest(others) as o(id) where o.id = r.id) and r.has_waiters is null;
  if cardinality(others) > 0 then
    insert into tock.job_outbox (kind, run_ids) values ('wait', others);
    perform tock.notify('reap');
  end if;
  if cardinality(at_once) > 0 then
    perform tock.wake(null, 'queued');
    perform tock.fair_runs_come(array_agg(distinct r.blocked_on)) from tock.job_runs_live r
    where r.id = any(at_once) and r.blocked_on like '~%' having count(*) > 0;
  end if;
  return '{}';
end $$;

comment on function tock.join_runs(bigint[], text[], bigint[], bigint[], text[], bigint[]) is 'For what enqueues groups and flows: makes new runs wait for others. policies: what becomes of each where one of its runs does not succeed: wait, cancel, run. Returns the ids in others of which there is no run; then nothing was done.';

create function tock.enqueue_group(
  runs jsonb, then_job text, then_payload jsonb default '{}', on_end text default 'success', idempotency_key text default null, depth integer default 1
) returns bigint
language plpgsql security definer set search_path = pg_catalog, pg_temp
as $$
declare
  join_id bigint;
  member jsonb;
  members bigint[] := '{}';
  member_id bigint;
begin
  if jsonb_typeof(runs) is distinct from 'array' or jsonb_array_length(runs) > 100000 then
    raise exception 'runs must be an array of at most 100000 objects with job and payload' using errcode = 'invalid_parameter_value';
  end if;
  if on_end is null or on_end not in ('success', 'completion') then
    raise exception 'on_end must be success or completion' using errcode = 'invalid_parameter_value';
  end if;
  join_id := tock.enqueue(then_job, then_payload, enqueue_group.idempotency_key, '9999-12-31');
  -- A run that is new has the id that this session was given last.
  if join_id is distinct from currval('tock.job_runs_id_seq') then
    if not exists (select from tock.job_waits w where w.run_id = join_id and w.kind = 'group'
      and not exists (select from tock.job_awaited_runs a where a.wait_id = w.id and a.name is not null)) then
      raise exception 'the key % was used by run %, which is not the join of a group', enqueue_group.idempotency_key, join_id
        using errcode = 'unique_violation';
    end if;
    return join_id;
  end if;
  if depth > 32 then
    raise exception 'groups are nested deeper than 32 levels' using errcode = 'invalid_parameter_value';
  end if;
  for member in select r.value from jsonb_array_elements(runs) r(value) loop
    if member ? 'runs' then
      if member - array['runs', 'then', 'on'] <> '{}' or jsonb_typeof(member -> 'then') is distinct from 'object' then
        raise exception 'a group as a member has runs, then and on, and no other field' using errcode = 'invalid_parameter_value';
      end if;
      members := members || tock.enqueue_group(member -> 'runs', member #>> '{then,job}', coalesce(member #> '{then,payload}', '{}'),
        coalesce(member ->> 'on', 'success'), depth => enqueue_group.depth + 1);
      continue;
    end if;
    member_id := tock.enqueue(member ->> 'job', member -> 'payload', member ->> 'key', (member ->> 'run_at')::timestamptz, member ->> 'queue',
      (member ->> 'priority')::integer, (member ->> 'max_attempts')::integer,
      tags => case when member ? 'tags' then array(select jsonb_array_elements_text(member -> 'tags')) end);
    if member_id is distinct from currval('tock.job_runs_id_seq') then
      raise exception 'the key % of a member was used by run %: members of a group are new runs', member ->> 'key', member_id
        using errcode = 'unique_violation';
    end if;
    members := members || member_id;
  end loop;
  perform tock.join_runs(array[join_id], array[case on_end when 'success' then 'wait' else 'run' end],
    array_fill(join_id, array[cardinality(members)]), members);
  return join_id;
end $$;

comment on function tock.enqueue_group(jsonb, text, jsonb, text, text, integer) is 'Enqueues runs, objects with job, payload, key, run_at, queue, priority, max_attempts and tags, or with runs, then and on for a group as a member; and one that runs when all have succeeded, or ended (on_end: completion). Returns the id of that one; with a key that was used before, of the group that has it, and enqueues nothing.';

-- Events -----------------------------------------------------------------------------------------

-- What waits for the event is looked for after this transaction's commit: a wait that begins meanwhile looks for events once
-- it is committed itself. So one of the two finds the other.
--
--   caller                                   worker, its handler waits
--   inserts the event, writes the outbox
--                                            inserts the wait, commits; looks: there is no event
--   commits
--   outbox: the event meets the wait, whose run is due now
create function tock.emit(name text, key text default '', payload jsonb default null) returns bigint
language plpgsql security definer set search_path = pg_catalog, pg_temp
as $$
declare
  new_id bigint;
begin
  perform tock.require_name(emit.name, 'event'), tock.require_payload(emit.payload);
  if octet_length(emit.key) > 512 then
    raise exception 'the key of an event must have at most 512 bytes' using errcode = 'invalid_parameter_value';
  end if;
  insert into tock.job_events (name, key, payload) values (emit.name, coalesce(emit.key, ''), emit.payload) returning id into new_id;
  insert into tock.job_outbox (kind, event_id) values ('event', new_id);
  perform tock.notify('outbox');
  return new_id;
end $$;

comment on function tock.emit(text, text, jsonb) is 'Emits an event in the caller''s transaction, and returns its id. Runs that wait for it by ctx.waitFor go on once the transaction has committed.';

-- For the library: what the definitions of jobs say of runs that another service executes.
create function tock.job_defaults(names text[])
returns table (name text, queue text, priority integer, attempts integer, tags text[], changes boolean)
language sql stable security definer set search_path = pg_catalog, pg_temp
as $$
  select d.name, d.queue, d.priority, d.max_attempts, d.tags::text[], d.keeps_changes is true
  from tock.job_definitions d where d.name = any(names) and d.origin = 'code' and d.vanished_at is null
$$;

comment on function tock.job_defaults(text[]) is 'For the library: queue, priority, attempts and tags of the jobs of these names that a service has registered.';

revoke execute on function tock.emit, tock.join_runs, tock.job_defaults, tock.enqueue_group, tock.enqueue, tock.enqueue_one, tock.enqueue_many, tock.enqueue_newest, tock.enqueue_live, tock.require_name, tock.refuse_name,
  tock.require_payload, tock.valid_traceparent, tock.require_trigger, tock.require_tags
  from public;

-- Completing what was handed off ------------------------------------------------------------------

-- Another system names a run and the fence under which it was handed off. All functions lock the run first:
-- a reaping, a cancel, a hand-over or its end comes before or after, never between. They return false, and
-- change nothing, where the run is not under this fence any more, or is decided already. They run with the owner's rights:
-- a role that completes runs needs EXECUTE on them and no right on any table.

-- Whether the run is under this fence, its lease lasts and nothing is decided. What is offered to workers that speak SQL, and
-- not claimed, has no lease. Locks the run until the transaction ends.
-- `handed_off` is false while the handler that is about to hand it over still executes. The end of such a run waits for the
-- lock, its heartbeats do not: FOR KEY SHARE conflicts with a delete and with FOR UPDATE only.
create function tock.lock_handed_off(run bigint, fence integer, out held boolean, out handed_off boolean)
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  nobody constant uuid := '00000000-0000-0000-0000-000000000000';
begin
  select r.locked_by = nobody into handed_off from tock.job_runs_live r where r.id = lock_handed_off.run;
  if handed_off then
    select true into held from tock.job_runs_live r
    where r.id = lock_handed_off.run and r.fence = lock_handed_off.fence and r.status = 'running' and r.trigger <> 'exec'
      and r.locked_until >= tock.now() and r.locked_until < '9999-12-30Z'
    for update;
  else
    -- Callers one by one; it may be handed off meanwhile.
    perform pg_advisory_xact_lock(hashtextextended('tock.hand_off:' || lock_handed_off.run, 0));
    select true, r.locked_by = nobody into held, handed_off from tock.job_runs_live r
    where r.id = lock_handed_off.run and r.fence = lock_handed_off.fence and r.status = 'running' and r.trigger <> 'exec'
      and r.locked_until >= tock.now() and r.locked_until < '9999-12-30Z'
    for key share;
  end if;
  if held and not exists (
    select from tock.job_hand_offs h
    where h.run_id = lock_handed_off.run and h.fence = lock_handed_off.fence and h.decided_at is not null
  ) then
    return;
  end if;
  held := false;
  update tock.job_hand_offs h set refused_count = h.refused_count + 1, refused_at = tock.now()
  where h.run_id = lock_handed_off.run and h.fence = lock_handed_off.fence;
end $$;

comment on function tock.lock_handed_off(bigint, integer) is 'For the functions that complete what was handed off. Counts a call that comes too late.';

create function tock.decide(run bigint, fence integer, decision text, output jsonb, error jsonb, retry_at timestamptz) returns boolean
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  state record;
begin
  select l.held, l.handed_off into state from tock.lock_handed_off(decide.run, decide.fence) l;
  if not state.held then
    return false;
  end if;
  -- Retention may have removed the row of a hand-over that was prolonged for very long.
  insert into tock.job_hand_offs as h (run_id, fence, handed_off_at, decided_at, decision, output, error, retry_at)
  values (decide.run, decide.fence, case when state.handed_off then tock.now() end, tock.now(), decide.decision, decide.output, decide.error,
    decide.retry_at)
  on conflict on constraint job_hand_offs_pkey do update
  set handed_off_at = coalesce(h.handed_off_at, excluded.handed_off_at), decided_at = excluded.decided_at, decision = excluded.decision,
    output = excluded.output, error = excluded.error, retry_at = excluded.retry_at;
  if state.handed_off then
    -- Nothing takes it back now: a tick or a daemon writes what was decided.
    update tock.job_runs_live r set locked_until = '9999-12-31Z', run_at = coalesce(h.due_at, r.run_at)
    from tock.job_hand_offs h
    where r.id = decide.run and h.run_id = decide.run and h.fence = decide.fence;
    perform tock.wake(null, 'reap');
  end if;
  return true;
end $$;

comment on function tock.decide(bigint, integer, text, jsonb, jsonb, timestamptz) is 'For tock.complete and tock.fail: keeps what becomes of a run that is handed off.';

create function tock.complete(run bigint, fence integer, result jsonb default null) returns boolean
language plpgsql security definer set search_path = pg_catalog, pg_temp
as $$
begin
  -- With jsonb's blanks: what has 1 MiB without them has half as much again at most.
  if octet_length(complete.result::text) > 1572864 then
    raise exception 'result of % bytes is over the limit of 1 MiB', octet_length(complete.result::text)
      using errcode = 'program_limit_exceeded', hint = 'Store the data in a table and pass its id.';
  end if;
  if jsonb_path_exists(complete.result, 'strict $.**{201}') then
    raise exception 'the result is nested deeper than 200 levels'
      using errcode = 'program_limit_exceeded', hint = 'Store the data in a table and pass its id.';
  end if;
  -- People and handlers read it as JavaScript does.
  if jsonb_path_exists(complete.result, '$.** ? (@.type() == "number" && (@ > 9007199254740991 || @ < -9007199254740991))') then
    raise exception 'the result holds a number over 2^53, which would lose digits'
      using errcode = 'invalid_parameter_value', hint = 'Pass it as text.';
  end if;
  return tock.decide(complete.run, complete.fence, 'succeeded', complete.result, null, null);
end $$;

comment on function tock.complete(bigint, integer, jsonb) is 'Completes a run that was handed off, in the caller''s transaction: it has succeeded, with this result. False: it is too late, or the fence is another; nothing was changed.';

create function tock.fail(
  run bigint, fence integer, message text, retry boolean default true, retry_at timestamptz default null, details jsonb default null
) returns boolean
language plpgsql security definer set search_path = pg_catalog, pg_temp
as $$
begin
  if coalesce(fail.message, '') = '' then
    raise exception 'message is missing' using errcode = 'invalid_parameter_value', hint = 'Say why the run has failed.';
  end if;
  if fail.details is not null and jsonb_typeof(fail.details) <> 'object' then
    raise exception 'details must be an object' using errcode = 'invalid_parameter_value', hint = 'Such as {"name": "CardRefused", "code": "E7"}.';
  end if;
  if fail.retry_at is not null and (fail.retry is not true or fail.retry_at > tock.now() + interval '30 years' or fail.retry_at < '0001-01-01Z') then
    raise exception 'retry_at must be within 30 years, and is only for a run that is retried'
      using errcode = 'invalid_parameter_value', hint = 'Leave it out: the job''s backoff says when.';
  end if;
  return tock.decide(fail.run, fail.fence, case when fail.retry is false then 'dead' else 'failed' end, null,
    -- What is longer is not kept anyway.
    jsonb_build_object('message', left(fail.message, 8000), 'name', left(fail.details ->> 'name', 200), 'code', left(fail.details ->> 'code', 200),
      'stack', left(fail.details ->> 'stack', 16000)),
    fail.retry_at);
end $$;

comment on function tock.fail(bigint, integer, text, boolean, timestamptz, jsonb) is 'Ends the attempt of a run that was handed off as failed, in the caller''s transaction: it is tried again by its job''s backoff, or at retry_at, while attempts are left; with retry false it is dead. False: too late; nothing was changed.';

create function tock.extend(run bigint, fence integer, lease interval) returns boolean
language plpgsql security definer set search_path = pg_catalog, pg_temp
as $$
declare
  state record;
  lease_end constant timestamptz := tock.now() + extend.lease;
begin
  if extend.lease is null or lease_end < tock.now() + interval '1 second' or lease_end > tock.now() + interval '366 days' then
    raise exception 'the lease must be between 1 second and 366 days' using errcode = 'invalid_parameter_value';
  end if;
  select l.held, l.handed_off into state from tock.lock_handed_off(extend.run, extend.fence) l;
  if not state.held then
    return false;
  end if;
  insert into tock.job_hand_offs as h (run_id, fence, lease_until) values (extend.run, extend.fence, lease_end)
  on conflict on constraint job_hand_offs_pkey do update set lease_until = greatest(h.lease_until, excluded.lease_until);
  if state.handed_off then
    update tock.job_runs_live r set locked_until = h.lease_until, run_at = h.lease_until
    from tock.job_hand_offs h
    where r.id = extend.run and h.run_id = extend.run and h.fence = extend.fence;
  end if;
  return true;
end $$;

comment on function tock.extend(bigint, integer, interval) is 'Prolongs the lease of a run that was handed off: it ends this long from now at the earliest. False: too late; nothing was changed.';

create function tock.progress(run bigint, fence integer, fraction float8, note text default null) returns boolean
language plpgsql security definer set search_path = pg_catalog, pg_temp
as $$
declare
  state record;
begin
  if progress.fraction is null or progress.fraction = 'NaN' then
    raise exception 'the fraction must be a number from 0 to 1' using errcode = 'invalid_parameter_value';
  end if;
  select l.held, l.handed_off into state from tock.lock_handed_off(progress.run, progress.fence) l;
  if not state.held then
    return false;
  end if;
  -- Until it is handed off, its handler reports.
  if state.handed_off then
    update tock.job_runs_live r set progress = jsonb_build_object(
      'fraction', least(1, greatest(0, progress.fraction)), 'stage', left(progress.note, 200),
      'events', case when jsonb_typeof(r.progress -> 'events') = 'number' then (r.progress -> 'events')::numeric + 1 else 1 end)
    where r.id = progress.run;
  end if;
  return true;
end $$;

comment on function tock.progress(bigint, integer, float8, text) is 'Records how far a run is that was handed off: a fraction of 0 to 1, and a word for the stage. False: too late; nothing was changed.';

revoke execute on function tock.lock_handed_off, tock.decide, tock.complete, tock.fail, tock.extend, tock.progress from public;

-- Offers to workers that speak SQL ------------------------------------------------------------------

-- A queue that is relayed to `sql`: ticks and daemons claim its runs, with all limits, and offer each here, in the statement that
-- hands it off. An offer has no lease: its run is locked by the id of zeros until 9999-12-30, so neither a reaping nor an answer
-- changes it. `tock.claim` gives it to a worker, with a lease; from then on it is like any other run that is handed off.
--
--   daemon                                worker A                              worker B
--   claims run 1 under fence 1
--   locks it, offers 1.1, commits
--                                         claim: locks the offer, deletes it;
--                                         locks run 1, starts its lease
--                                                                               claim: skips the locked offer
--                                         commits
create table tock.job_offers (
  id         bigint generated always as identity,
  queue      text collate "C" not null,
  priority   integer not null,
  run_id     bigint not null,
  fence      integer not null,
  payload    jsonb,
  created_at timestamptz not null default tock.now(),
  primary key (queue, priority, id)
) with (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 1000, autovacuum_vacuum_cost_delay = 0);

comment on table tock.job_offers is 'Runs that are offered to workers that speak SQL, in the order in which tock.claim gives them out.';
comment on column tock.job_offers.fence is 'That of the attempt. A run that has another is not given out.';
comment on column tock.job_offers.payload is 'As code has computed it; null: the run has it.';

create table tock.queue_roles (
  queue text collate "C" not null,
  role  text collate "C" not null,
  primary key (queue, role),
  constraint queue_roles_queue_check check (queue ~ '^[A-Za-z0-9][A-Za-z0-9._:@-]*$' and octet_length(queue) <= 200)
);

comment on table tock.queue_roles is 'From which queues a role, and its members, may claim by tock.claim. The owner writes it.';

create function tock.worker_of(queue text) returns boolean
language sql stable security definer set search_path = pg_catalog, pg_temp
as $$
  select pg_has_role(session_user, current_user, 'MEMBER') or exists (
    select from tock.queue_roles q join pg_roles p on p.rolname = q.role
    where q.queue = worker_of.queue and pg_has_role(session_user, p.oid, 'MEMBER'))
$$;

comment on function tock.worker_of(text) is 'Whether the role of this session may claim runs of the queue: it, or a role of which it is a member, is in queue_roles, or is the owner.';

-- NOTIFY takes a lock that all who notify share, so once for a batch.
create function tock.tell_of_offers(queues text[]) returns void
language plpgsql volatile
set search_path = pg_catalog, pg_temp
as $$
begin
  if current_setting('pg_tock.notify', true) is distinct from 'off' then
    perform pg_notify('tock_offers', q.name) from (select distinct unnest(queues) as name order by 1) q;
  end if;
end $$;

comment on function tock.tell_of_offers(text[]) is 'Notifies workers that speak SQL, on the channel tock_offers, unless pg_tock.notify is off.';

create function tock.claim(queue text, count integer default 1, lease interval default '1 minute')
returns table (run_id bigint, fence integer, job text, payload jsonb, attempt integer, locked_until timestamptz)
language plpgsql security definer set search_path = pg_catalog, pg_temp
as $$
declare
  nobody constant uuid := '00000000-0000-0000-0000-000000000000';
  offered_until constant timestamptz := '9999-12-30Z';
  lease_end timestamptz;
  state record;
  given integer := 0;
  found_count integer;
begin
  perform tock.require_name(claim.queue, 'queue');
  if claim.count is null or claim.count not between 1 and 1000 then
    raise exception 'count must be from 1 to 1000, and is %', coalesce(claim.count::text, 'null')
      using errcode = 'invalid_parameter_value', hint = 'Claim as many runs as you can begin at once.';
  end if;
  if claim.lease is null or claim.lease < interval '1 second' or claim.lease > interval '366 days' then
    raise exception 'the lease must be between 1 second and 366 days'
      using errcode = 'invalid_parameter_value', hint = 'Take a minute, and prolong it by extend while you work.';
  end if;
  if not tock.worker_of(claim.queue) then
    raise exception 'role % may not claim from queue %', session_user, claim.queue
      using errcode = 'insufficient_privilege',
        hint = format('As the owner of the schema: insert into tock.queue_roles (queue, role) values (%L, %L);', claim.queue, session_user);
  end if;
  if tock.is_copy() then
    raise exception 'this database is a copy of another, whose runs are not to be executed twice'
      using errcode = 'object_not_in_prerequisite_state', hint = 'Run: tock adopt';
  end if;
  select q.relayed_to = 'sql' as is_relayed,
    q.paused_at is null and coalesce(q.closed_until <= tock.now(), true) and not exists (
      select from tock.freezes f where f.ended_at is null and (f.until > tock.now() or f.ramp_ms > 0)) as is_open
  into state from tock.job_queues q where q.name = claim.queue;
  if state.is_relayed is not true then
    raise exception 'queue % is not relayed to SQL', claim.queue
      using errcode = 'object_not_in_prerequisite_state', hint = format('Run: tock queue set %s --relay sql', claim.queue);
  end if;
  if not state.is_open then
    return;
  end if;
  lease_end := tock.now() + claim.lease;
  loop
    return query
    with chosen as materialized (
      select o.priority, o.id from tock.job_offers o where o.queue = claim.queue
      order by o.priority, o.id limit claim.count - given for update skip locked
    ), taken as materialized (
      delete from tock.job_offers o using chosen c where o.queue = claim.queue and o.priority = c.priority and o.id = c.id
      returning o.priority, o.id, o.run_id, o.fence, o.payload
    ), held as materialized (
      -- An offer whose run was cancelled, or has another fence by now, is dropped.
      select r.id from tock.job_runs_live r join taken t on t.run_id = r.id and t.fence = r.fence
      where r.id = any(array(select t.run_id from taken t)) and r.status = 'running' and r.locked_by = nobody
        and r.locked_until = offered_until and r.cancel_requested_at is null
      order by r.id for update of r
    ), leased as (
      update tock.job_runs_live r set locked_until = lease_end, run_at = lease_end, started_at = tock.now()
      from held where r.id = held.id
      returning r.id, r.fence, r.job, r.payload, r.attempts
    ), noted as (
      update tock.job_hand_offs h set lease_until = lease_end, handed_off_at = tock.now()
      from leased l where h.run_id = l.id and h.fence = l.fence
    )
    select l.id::bigint, l.fence::integer, l.job::text, coalesce(t.payload, l.payload)::jsonb, l.attempts::integer, lease_end
    from leased l join taken t on t.run_id = l.id and t.fence = l.fence order by t.priority, t.id;
    get diagnostics found_count = row_count;
    given := given + found_count;
    exit when given >= claim.count;
    perform from tock.job_offers o where o.queue = claim.queue order by o.priority, o.id limit 1 for update skip locked;
    exit when not found;
  end loop;
  -- Daemons put in more before it runs out.
  if given > 0 and (select count(*) from (select from tock.job_offers o where o.queue = claim.queue limit 500) few) < 500 then
    perform tock.wake(array[claim.queue], 'queued');
  end if;
end $$;

comment on function tock.claim(text, integer, interval) is 'Gives out runs that are offered in a queue which is relayed to sql, the most urgent first, and starts their leases. Locks them until the transaction ends: commit at once. Who has them answers by tock.complete, tock.fail, tock.extend and tock.progress.';

revoke execute on function tock.worker_of, tock.tell_of_offers, tock.claim from public;

-- Partitions of the finished runs, and retention ------------------------------------------------------
--
-- Partitions are of months or of days. Retention detaches them and drops them; runs that are kept longer are copied first.

-- Independent of the session's time zone and date style.
create function tock.finished_partitions()
returns table (oid oid, name text, low timestamptz, high timestamptz, is_kept boolean)
language sql stable
set search_path = pg_catalog, pg_temp set timezone = 'UTC' set datestyle = 'ISO'
as $$
  select c.oid, c.relname::text, span[1]::timestamptz, span[2]::timestamptz, c.relname ~ '_kept$'
  from pg_inherits i
  join pg_class c on c.oid = i.inhrelid
  cross join lateral regexp_match(pg_get_expr(c.relpartbound, c.oid), 'FROM \(''([^'']+)''\) TO \(''([^'']+)''\)') as span
  where i.inhparent = 'tock.job_runs_finished'::regclass
  order by 3 nulls first
$$;

comment on function tock.finished_partitions() is 'The partitions of the finished runs and their spans, oldest first; null for the default partition. is_kept: holds the runs that outlive a dropped partition.';

create function tock.partitions_end() returns timestamptz
language sql stable set search_path = pg_catalog, pg_temp set jit = off
as $$
  with spans as materialized (select p.low, p.high from tock.finished_partitions() p where p.high > tock.now())
  select min(e.at) from (select tock.now() as at union all select s.high from spans s) e
  where not exists (select from spans s where s.low <= e.at and s.high > e.at)
$$;

comment on function tock.partitions_end() is 'From when on no partition covers the runs that end, so that they go to the default partition.';

create function tock.partition_unit() returns text
language sql stable set search_path = pg_catalog, pg_temp
as $$
  select coalesce((
    select 'day' from (
      select p.high - p.low as length from tock.finished_partitions() p where p.low is not null and not p.is_kept
      order by p.low desc limit 1
    ) latest where latest.length <= interval '1 day'), 'month')
$$;

comment on function tock.partition_unit() is 'The span of the latest partition of the finished runs: month or day.';

-- `giving_way`: monthly partitions that count as gone, so that their days are missing. In a month with daily partitions
-- the other days are missing; else the month is.
create function tock.missing_partitions(ahead integer, unit text, giving_way text[])
returns table (name text, low timestamptz, high timestamptz)
language sql stable
set search_path = pg_catalog, pg_temp set timezone = 'UTC' set jit = off
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

comment on function tock.missing_partitions(integer, text, text[]) is 'The partitions that are missing, from the current month or day on.';

-- Makes autovacuum leave the default partition. It leaves when another session waits for longer than deadlock_timeout
-- (1 s); this lock waits without blocking others.
create function tock.interrupt_autovacuum() returns void
language plpgsql set search_path = pg_catalog, pg_temp
as $$
begin
  perform set_config('lock_timeout', '2s', true);
  lock table only tock.job_runs_finished_default in share update exclusive mode;
  perform set_config('lock_timeout', '500ms', true);
end $$;

-- Attaches new partitions. Without `bounds`, rows of their spans are moved out of the default partition, which must be
-- small; with them, the default partition satisfies that check (tock.create_partitions). Locks are held briefly.
create function tock.attach_partitions(names text[], lows timestamptz[], highs timestamptz[], giving_way text[], bounds jsonb) returns integer
language plpgsql set search_path = pg_catalog, pg_temp
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
  -- Created with their indexes before anything is locked.
  for i in 1 .. coalesce(cardinality(names), 0) loop
    execute format('create table tock.%I (like tock.job_runs_finished including defaults including constraints including indexes)', names[i]);
  end loop;

  perform tock.interrupt_autovacuum();
  -- The parent first, as all others lock it. From here on, all others wait.
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

-- Adds a check to the default partition; its comment holds the bounds as JSON. Returns false where no check would help.
create function tock.add_bounds(unit text, names text[], lows timestamptz[], highs timestamptz[], giving_way text[]) returns boolean
language plpgsql set search_path = pg_catalog, pg_temp
as $$
declare
  one constant interval := ('1 ' || unit)::interval;
  soon constant timestamptz := tock.now() + interval '1 day';
  covered constant timestamptz := tock.partitions_end();
  -- Runs that end within a day would go to the default partition.
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
  -- Reads the whole partition, without blocking others.
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
  perform tock.interrupt_autovacuum();
  execute format('alter table tock.job_runs_finished_default add constraint job_runs_finished_default_bounds check (%s) not valid', allowed);
  execute format('comment on constraint job_runs_finished_default_bounds on tock.job_runs_finished_default is %L', bounds);
  return true;
end $$;

-- Makes partitions ahead of time: the current month and `ahead` months more (default 3), or today and `ahead` days more
-- (default 14). The default unit is that of the latest partition. Where the unit changes from months to days:
--   - a month that has begun keeps its partition, and days begin after it;
--   - one that has not begun and is empty is replaced by its days, all in this transaction;
--   - in a month that has days, the missing days are made.
--
-- To attach a partition, PostgreSQL reads the whole default partition under an exclusive lock, unless a valid check proves
-- that it holds no row of that span. So, where the default partition is not small, it takes three short transactions:
--   1. this function adds the check as NOT VALID, and returns `validate`;
--   2. tock.validate_bounds() validates it, without blocking others;
--   3. this function attaches what the check allows, and drops the check.
-- Where all rows of the default partition lie in a free span, the check bounds them: the default partition becomes the
-- partition of that span as it is, and an empty one replaces it. Otherwise the check keeps the coming spans free.
--
-- While the check exists, a run that ends outside of it cannot be written, so it always covers a day from now. After a
-- crash, the next call continues, or drops the check and returns `again`.
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
  -- Few enough rows to be read and moved while the locks are held.
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
    -- The check was made for months: it would not let the days be attached that replace one.
    select from tock.finished_partitions() p, unnest(names, lows) s(name, low)
    where p.name = any(giving_way) and s.low >= p.low and s.low < p.high and not bounds -> 'clear' ? s.name
  )) then
    -- In a transaction of its own, since the parent must be locked before its partitions.
    perform tock.interrupt_autovacuum();
    alter table tock.job_runs_finished_default drop constraint job_runs_finished_default_bounds;
    next_step := 'again';
  elsif names = '{}' then
    null;
  elsif is_valid or is_small then
    made := tock.attach_partitions(names, lows, highs, giving_way, bounds);
    -- The check may have covered only some of them.
    if bounds ? 'clear' and made > 0 then
      next_step := 'again';
    end if;
  elsif is_valid is not null or tock.add_bounds(unit, names, lows, highs, giving_way) then
    next_step := 'validate';
  end if;
end $$;

comment on function tock.create_partitions(integer, text) is 'Makes partitions of the finished runs ahead of time. Returns how many, and the next step: validate (call tock.validate_bounds, then this again), again (call this again), or null (done).';

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
    perform tock.interrupt_autovacuum();
    alter table tock.job_runs_finished_default drop constraint job_runs_finished_default_bounds;
    return false;
  end;
end $$;

comment on function tock.validate_bounds() is 'Second step of tock.create_partitions. Drops the check where the default partition does not satisfy it.';

-- One month or day, past or coming.
create function tock.make_partition(first_day timestamp, unit text) returns integer
language plpgsql
set search_path = pg_catalog, pg_temp set timezone = 'UTC' set datestyle = 'ISO' set lock_timeout = '500ms'
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

comment on function tock.make_partition(timestamp, text) is 'Makes the partition of one month or day of the finished runs, unless a part of that span has one.';

-- While retention copies the runs that stay out of a partition, a trigger records which runs change, so that the copy can
-- be corrected when it replaces the partition.
create table tock.retention_changes (
  source oid not null,
  run_id bigint not null
);
-- Without a key, logical replication would refuse deletes.
alter table tock.retention_changes replica identity full;

comment on table tock.retention_changes is 'Runs that changed in a partition since retention began to copy from it. Emptied when the partition is dropped.';
comment on column tock.retention_changes.source is 'The partition.';

-- With the owner's rights, so that a role that retries a dead run needs none on this table.
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

comment on function tock.note_retention_change() is 'Trigger of a partition that retention copies from: records which runs change.';

-- create_partitions and validate_bounds run with the owner's rights: a worker's role may be granted both.
revoke execute on function tock.make_partition(timestamp, text), tock.attach_partitions(text[], timestamptz[], timestamptz[], text[], jsonb),
  tock.add_bounds(text, text[], timestamptz[], timestamptz[], text[]), tock.interrupt_autovacuum(), tock.create_partitions(integer, text), tock.validate_bounds(),
  tock.note_retention_change() from public;

-- Operators: who did what ------------------------------------------------------------------------

-- The name is what a program says. A worker's role may insert, but not choose the time or the role.
create table tock.audit (
  id            bigint generated always as identity primary key,
  created_at    timestamptz not null default tock.now(),
  database_role text not null default session_user,
  operator      text not null default session_user,
  via           text not null,
  action        text not null,
  targets       text[] not null default '{}',
  count         integer not null,
  details       jsonb not null default '{}',
  part_of       bigint,
  constraint audit_operator_check check (octet_length(operator) between 1 and 800),
  constraint audit_via_check check (via in ('page', 'cli', 'api', 'agent', 'alert')),
  constraint audit_action_check check (octet_length(action) between 1 and 200),
  constraint audit_count_check check (count >= 1),
  constraint audit_details_check check (jsonb_typeof(details) = 'object')
);

comment on table tock.audit is 'Who did what. Each row is written in the transaction of the action; only retention removes rows.';
comment on column tock.audit.operator is 'Who acted, as their program named them; by default the role.';
comment on column tock.audit.via is 'page: the dashboard; cli: the command line; api: the library; agent: tock mcp; alert: a rule.';
comment on column tock.audit.action is 'The method of a Tock: runs.retry, queues.pause and so on';
comment on column tock.audit.targets is 'Names of definitions or queues, ids of runs; the first 100.';
comment on column tock.audit.count is 'How many targets were changed.';
comment on column tock.audit.details is 'What was changed, the filter, the reason. No payloads.';

comment on column tock.audit.part_of is 'The first row of the same action, which took several transactions. Null: this is the first.';

create index audit_part_of on tock.audit (part_of) where part_of is not null;
create index audit_created_at on tock.audit (created_at);
create index audit_operator on tock.audit (operator, id);
create index audit_action on tock.audit (action, id);
create index audit_targets on tock.audit using gin (targets);

-- Figures: ended runs, counted by minute and by hour ----------------------------------------------

-- An end is counted once, also where the run is retried later and ends again. `duration_us` and `durations` are of runs that
-- succeeded or are dead and had begun; element n of an array counts those in bucket n (src/model/metrics/buckets.ts).
create table tock.figures_by_minute (
  at               timestamptz not null,
  job              text collate "C" not null,
  queue            text collate "C" not null,
  status           text collate "C" not null,
  reason           text collate "C" not null,
  run_count        bigint not null,
  occurrence_count bigint not null,
  duration_us      bigint not null,
  wait_us          bigint not null,
  durations        integer[],
  waits            integer[],
  primary key (at, job, queue, status, reason)
);

comment on table tock.figures_by_minute is 'How many runs ended in each minute, and how long they took. Kept for two days.';
comment on column tock.figures_by_minute.reason is 'Why occurrences were skipped; empty for other states.';
comment on column tock.figures_by_minute.occurrence_count is 'How many occurrences the runs stand for.';
comment on column tock.figures_by_minute.duration_us is 'From the start of the last attempt to the end of the run, summed, in microseconds.';
comment on column tock.figures_by_minute.wait_us is 'From when the last attempt was due to its start, summed, in microseconds.';

create table tock.figures_by_hour (like tock.figures_by_minute including indexes);

comment on table tock.figures_by_hour is 'The same by hour, from minutes to which nothing can be added. Kept for 13 months.';

-- Updated once an hour: there is room for the new versions.
create table tock.figures_total (
  job              text collate "C" not null,
  queue            text collate "C" not null,
  status           text collate "C" not null,
  reason           text collate "C" not null,
  last_at          timestamptz not null,
  run_count        bigint not null,
  occurrence_count bigint not null,
  duration_us      bigint not null,
  wait_us          bigint not null,
  durations        bigint[],
  waits            bigint[],
  primary key (job, queue, status, reason)
) with (fillfactor = 50);

comment on table tock.figures_total is 'The sum of all hours, also of those that are no longer kept: the base of counters that never fall.';
comment on column tock.figures_total.last_at is 'The last hour that added to it. A row goes 13 months after that.';

create table tock.figures_progress (
  is_only       boolean primary key default true,
  final_until   timestamptz not null,
  counted_until timestamptz not null,
  hours_until   timestamptz not null,
  watched_until timestamptz,
  writers       text[] not null default '{}',
  constraint figures_progress_one_row check (is_only)
) with (fillfactor = 20);

comment on table tock.figures_progress is 'How far ended runs are counted; one row. Who counts holds its lock.';
comment on column tock.figures_progress.final_until is 'Minutes before this are counted for good.';
comment on column tock.figures_progress.counted_until is 'Minutes before this are counted, though a transaction that is still open may add to them. Later runs are read as they are.';
comment on column tock.figures_progress.hours_until is 'Hours before this are summed up.';
comment on column tock.figures_progress.watched_until is 'Minutes before this become final once all of `writers` have ended.';
comment on column tock.figures_progress.writers is 'Virtual transactions that were writing finished runs, or waiting to, when watched_until was set.';

insert into tock.figures_progress (final_until, counted_until, hours_until)
select date_bin('1 minute', tock.now(), 'epoch'), date_bin('1 minute', tock.now(), 'epoch'), date_bin('1 hour', tock.now(), 'epoch');

-- A retry takes a run out of the history. Its end is noted here, until the end's minute is final.
create table tock.figures_retried (
  run_id           bigint not null,
  generation       integer not null,
  finished_at      timestamptz not null,
  -- The types of a run, so that a union of both is read as one.
  job              tock.short_name not null,
  queue            tock.short_name collate "C" not null,
  status           text not null,
  skip_reason      text,
  occurrence_count tock.count_from_1 not null,
  run_at           tock.instant not null,
  started_at       tock.instant,
  primary key (run_id, generation)
);

comment on table tock.figures_retried is 'Ends of runs that were retried before their minute was counted for good.';

-- Maintenance -------------------------------------------------------------------------------------

create table tock.upkeep (
  kind text primary key,
  at   timestamptz not null default tock.now()
);
insert into tock.upkeep (kind, at) values ('partitions', tock.now()), ('retention', tock.now() + interval '22 hours'), ('pruned', tock.now());

comment on table tock.upkeep is 'When maintenance was last done, by one of all processes.';
comment on column tock.upkeep.kind is 'partitions: makes those that are missing, once an hour. retention: when somebody is to prune next. pruned: when all that was old was gone. keeps ...: when a process last ticked that keeps this, in milliseconds, or false. pruned-runs, pruned-keys: up to when retention has deleted.';

-- The identity of the database --------------------------------------------------------------------

-- A restored dump carries the schedules and the queued runs of its original. If both ticked, everything would happen
-- twice. So the schema records where it was made, and a copy sees that it is somewhere else.
create table tock.database_identity (
  system_identifier bigint not null,
  database_oid      oid not null,
  is_nested         boolean not null,
  written_by        xid not null,
  noted_at          timestamptz not null default tock.now(),
  primary key (system_identifier, database_oid, is_nested)
);

comment on table tock.database_identity is 'The database in which this schema was made or adopted, in two rows. A dump that is restored elsewhere carries the identity of its original, and does not tick until `tock adopt`.';
comment on column tock.database_identity.system_identifier is 'Of the server, from pg_control_system(); pg_upgrade makes a new one.';
comment on column tock.database_identity.is_nested is 'Whether the row was written in a subtransaction, which has a number of its own.';
comment on column tock.database_identity.written_by is 'The xmin of the row that was not: pg_upgrade keeps it.';

-- No row where the role may not read the server's identifier, as on some hosted databases.
create function tock.this_database() returns table (system_identifier bigint, database_oid oid)
language plpgsql stable set search_path = pg_catalog, pg_temp
as $$
begin
  return query select c.system_identifier, d.oid from pg_control_system() c, pg_database d where d.datname = current_database();
exception when insufficient_privilege then
  return;
end $$;

comment on function tock.this_database() is 'The identity of this database; no row where it cannot be read.';

create function tock.note_identity() returns void
language plpgsql set search_path = pg_catalog, pg_temp
as $$
begin
  delete from tock.database_identity;
  insert into tock.database_identity (system_identifier, database_oid, is_nested, written_by)
  select t.system_identifier, t.database_oid, false, '0' from tock.this_database() t;
  update tock.database_identity set written_by = xmin;
  begin
    insert into tock.database_identity (system_identifier, database_oid, is_nested, written_by)
    select i.system_identifier, i.database_oid, true, i.written_by from tock.database_identity i;
  exception when others then
    -- Only a block with a handler is a subtransaction.
    raise;
  end;
end $$;

comment on function tock.note_identity() is 'Makes the schema this database''s own.';

-- pg_upgrade makes a new system identifier and keeps the xmin of every row. A restored dump and a subscriber of logical
-- replication write both rows in one transaction, so that both have one xmin. Whatever it is, one row then contradicts
-- written_by, also where servers that were set up alike give the same numbers to the same steps. A copy of the whole
-- server (a base backup, a disk snapshot) has the same identity and is not detected.
create function tock.is_copy() returns boolean
language sql stable security definer set search_path = pg_catalog, pg_temp
as $$
  select exists (
    select from tock.database_identity i, tock.this_database() t
    where i.database_oid <> t.database_oid
      or (i.system_identifier <> t.system_identifier and (i.xmin = i.written_by) = i.is_nested))
$$;

comment on function tock.is_copy() is 'Whether the schema was made in another database and was not adopted by this one.';

-- What the schema holds, so that what somebody changed later is seen ------------------------------

-- Without partitions that come and go, and tock.now(), which a test may replace. By settings of its own: those of a
-- session change how a default, a check or a name is written.
create function tock.schema_objects() returns table (object text, definition text)
language sql stable set search_path = pg_catalog, pg_temp set quote_all_identifiers = off
  set datestyle = 'ISO, MDY' set intervalstyle = postgres set timezone = 'UTC' set bytea_output = hex set extra_float_digits = 1
as $$
  with kept as (
    select c.oid, c.relname from pg_class c left join pg_inherits i on i.inhrelid = c.oid left join pg_class p on p.oid = i.inhparent
    where c.relnamespace = to_regnamespace('tock') and c.relkind in ('r', 'p') and (not c.relispartition or p.relname = 'job_runs')
  )
  select 'column ' || k.relname || '.' || a.attname,
    concat_ws(' ', format_type(a.atttypid, a.atttypmod), case when a.attnotnull then 'not null' end, pg_get_expr(d.adbin, d.adrelid))
  from kept k join pg_attribute a on a.attrelid = k.oid and a.attnum > 0 and not a.attisdropped
  left join pg_attrdef d on d.adrelid = k.oid and d.adnum = a.attnum
  union all
  select 'index ' || c.relname || ' of ' || k.relname, pg_get_indexdef(c.oid)
  from kept k join pg_index i on i.indrelid = k.oid and i.indisvalid join pg_class c on c.oid = i.indexrelid
  union all
  select 'constraint ' || o.conname || ' of ' || k.relname, pg_get_constraintdef(o.oid)
  from kept k join pg_constraint o on o.conrelid = k.oid and o.contype in ('c', 'f')
  union all
  select 'trigger ' || t.tgname || ' of ' || k.relname, concat_ws(' ', pg_get_triggerdef(t.oid), t.tgenabled)
  from kept k join pg_trigger t on t.tgrelid = k.oid and not t.tgisinternal
  union all
  select 'function ' || p.proname || '(' || pg_get_function_identity_arguments(p.oid) || ')',
    concat_ws(' ', p.prosrc, p.provolatile, p.prosecdef, array_to_string(p.proconfig, ' '))
  from pg_proc p where p.pronamespace = to_regnamespace('tock') and p.proname <> 'now'
$$;

comment on function tock.schema_objects() is 'Columns, indexes, constraints, triggers and functions of the schema, and what each is.';

create function tock.note_objects() returns void
language sql set search_path = pg_catalog, pg_temp
as $$
  update tock.migrations m set objects = case when m.name = (select max(l.name) from tock.migrations l) then jsonb_build_object(
    'server', current_setting('server_version_num')::integer / 10000,
    'objects', (select jsonb_object_agg(o.object, md5(o.definition)) from tock.schema_objects() o)) end
$$;

comment on function tock.note_objects() is 'Notes what the schema holds, beside its last migration.';
