-- Limits over all hosts (places under a key, queues with concurrency, rate and window), chains, keys that are
-- unique only while their run is live, and what becomes of dead runs.

-- Claims go down each queue and priority by itself, so that a queue that is paused, full or outside its window
-- costs nothing, and a flood in one does not starve the others. In byte order: the cheapest to compare.
alter table tock.job_runs alter column queue type text collate "C";

alter table tock.job_runs
  add column slot_keys   text[],
  add column slot_limits integer[],
  add column blocked_on  text,
  add column live_key    text;

comment on column tock.job_runs.slot_keys is 'Concurrency keys: it runs only with a place in job_slots under each of them.';
comment on column tock.job_runs.slot_limits is 'How many places there are under each of slot_keys.';
comment on column tock.job_runs.blocked_on is 'The concurrency key that has no place for it now. Claims pass it over until a place is free.';
comment on column tock.job_runs.live_key is 'A key that is unique only among live runs.';

drop index tock.job_runs_live_claim;
create index job_runs_live_claim on tock.job_runs_live (queue, priority, run_at, id) where blocked_on is null;
-- A batch claims neighbours, one after the other: each page must have room for a second version of every row of it. At
-- 70 two thirds of them moved to other pages, with new entries in every index.
alter table tock.job_runs_live set (fillfactor = 45);
create index job_runs_live_blocked on tock.job_runs_live (blocked_on, priority, run_at, id) where blocked_on is not null;
create unique index job_runs_live_key on tock.job_runs_live (live_key) where live_key is not null;

-- Places are given back by run.
create index job_slots_run on tock.job_slots (run_id);
comment on column tock.job_slots.concurrency_key is 'definition:<id> keeps its place until the run has ended; queue:<name> and job:<name>:<key> only while it is running.';

alter table tock.job_definitions
  add column resumed_at    timestamptz,
  add column has_followers boolean not null default false,
  add column on_dead       text;

comment on column tock.job_definitions.resumed_at is 'Runs that ended before this do not count towards pause_on_failure_count.';
comment on column tock.job_definitions.pause_on_failure_count is 'After so many dead runs in a row the definition is paused; null: never.';
comment on column tock.job_definitions.has_followers is 'Some definition waits for the outcomes of this one (after): they are told of in job_outbox.';
comment on column tock.job_definitions.on_dead is 'Job that is enqueued for each dead run of the job of this name.';

create index job_definitions_after on tock.job_definitions using gin ((after -> 'definitions')) where after is not null;

-- Written in the transaction in which a run ends, and emptied after it by whoever is there: the one who ended the
-- run, or the next tick. So a crash in between loses nothing, and two parents that end at once are both seen.
create table tock.job_outbox (
  id            bigint generated always as identity primary key,
  kind          text not null,
  run_id        bigint not null,
  definition_id bigint,
  scheduled_for timestamptz,
  created_at    timestamptz not null default tock.now(),
  constraint job_outbox_kind_check check (kind in ('chain', 'dead'))
);

comment on table tock.job_outbox is 'Runs that have ended and that others wait for: what follows from them is still to be made.';
comment on column tock.job_outbox.kind is 'chain: definitions wait for this one''s occurrence; dead: its job has an onDead.';

-- Workers ----------------------------------------------------------------------------------------------

alter table tock.workers add column heartbeat_ms integer;
comment on column tock.workers.heartbeat_ms is 'How often it says that it lives. Silent for two and a half times as long, it is taken for dead before its leases expire.';

-- Waking who listens ----------------------------------------------------------------------------------

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

-- As before, but for the last step.
create or replace function tock.enqueue(
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
    perform tock.notify('queued');
  end if;
  return new_id;
end $$;

