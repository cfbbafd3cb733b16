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
