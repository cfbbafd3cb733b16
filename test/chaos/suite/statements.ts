// All SQL of it, and the words by which the proxy knows a statement of Tock's.
// In: the schema as the migrations make it. Out: statements. Who changes the schema looks here, and in ../history.ts.
import type { Reply } from './plan.js';

/** By what the text of a statement is known, whose reply is to be lost; null: any. */
export const REPLY_TO: Readonly<Record<Reply, string | null>> = {
  commit: 'commit',
  finalize: 'insert into tock.job_runs_finished',
  claim: 'attempts = r.attempts + 1',
  heartbeat: 'set locked_until',
  effect: 'tock.job_effects',
  enqueue: 'enqueue',
  any: null,
};

/** Ends a share of the connections of workers and clients. */
export const FAREWELL = `select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database()
  and application_name ~ '^(daemon|tick|client|other|newsagent)' and random() < $1`;

/** The handlers' own tables, without keys: what is there twice is to be seen. */
export const TABLES = [
  'create table public.once_effects (key text)',
  'create table public.transaction_effects (run_id bigint)',
  'create table public.step_values (run_id bigint, value integer)',
  'create table public.packed_effects (run_id bigint, fence integer, size integer)',
  'create table public.messages (run_id bigint, fence integer, attempt integer)',
];

export const ENQUEUE = `select tock.enqueue($1, $2, $3, queue => $4)::text as id`;
export const ENQUEUE_GROUP = `select tock.enqueue_group($1, $2, $3, on_end => $4, idempotency_key => $5)::text as id`;

/** What was sent to the other side: each is taken once, or lost. */
export const TAKE_MESSAGES = 'delete from public.messages returning run_id::text as "runId", fence, attempt';
export const COMPLETE = 'select tock.complete($1, $2) as held';
export const FAIL = `select tock.fail($1, $2, 'by lot', retry => $3) as held`;
export const EXTEND = `select tock.extend($1, $2, '6 s') as held`;

/** Whether every schedule has been considered up to an instant ($1). */
export const ALL_PLANNED = `select count(*) filter (where cursor >= $1) = count(*) as yes, count(*)::int as schedules
  from tock.job_definitions where cron is not null or every_ms is not null`;
export const NOW = 'select tock.now()::text as now';
/** How much has ended, and what is left of anything. */
export const FINISHED_COUNT = 'select count(*)::int as count from tock.job_runs_finished';
export const REMAINS = `select (select count(*) from tock.job_runs_live)::int as live,
  (select count(*) from tock.job_slots)::int as slots, (select count(*) from tock.job_outbox)::int as outbox`;
/**
 * Soon enough to wait for it. Older code that takes back a run whose job it does not know lets it wait by the default
 * backoff: 10 s, 20 s, 40 s … A run that waits for an event or for others is due at the end of time.
 */
export const IS_ANY_LATER = `select exists (select from tock.job_runs_live where status in ('queued', 'failed') and run_at > tock.now()
    and run_at < tock.now() + interval '30 seconds') as yes`;
export const STILL_LIVE = `select 'run ' || id || ' of ' || job || ' is ' || status || ', due at ' || run_at || coalesce(', blocked on ' || blocked_on, '')
    || coalesce(', and holds ' || (select string_agg(s.concurrency_key, ' and ') from tock.job_slots s where s.run_id = r.id), '') as text
  from tock.job_runs_live r order by exists (select from tock.job_slots s where s.run_id = r.id) desc, id limit 10`;

/** A run that waits for nothing but a worker, not for the turn of its key either; and which workers have how much room. */
export interface ReadyRow {
  readonly id: string;
  readonly job: string;
  readonly queue: string;
  /** For people. */
  readonly state: string;
  readonly rooms: readonly { readonly pid: number; readonly room: number }[];
}

export const READY = `with held as (select concurrency_key as key, count(*)::int as count from tock.job_slots group by 1),
  rooms as (select w.pid, w.capacity - count(r.id)::int as room from tock.workers w
    left join tock.job_runs_live r on r.locked_by = w.id and r.status = 'running'
    where w.kind = 'daemon' and not w.draining and w.seen_at > tock.now() - w.heartbeat_ms * interval '2.5 milliseconds' group by w.id)
select r.id::text, r.job, r.queue, coalesce('blocked on ' || r.blocked_on, 'not blocked') as state,
  (select json_agg(rooms) from rooms) as rooms
from tock.job_runs_live r left join tock.job_queues q on q.name = r.queue left join held h on h.key = 'queue:' || r.queue
where r.status in ('queued', 'failed') and r.run_at <= tock.now() and exists (select from rooms where room > 0)
  and (r.blocked_on is null or r.blocked_on = any(r.slot_keys) or r.blocked_on in ('queue:' || r.queue, 'code:' || r.job))
  and not exists (select from unnest(r.slot_keys) key where key like '~%') and q.paused_at is null and q.rate_count is null and q.active_window is null and q.relayed_to is null
  and (q.concurrency is null or coalesce(h.count, 0) < q.concurrency)
  and not exists (select from unnest(r.slot_keys, r.slot_limits) s(key, slots) join held using (key) where held.count >= s.slots)`;

export const CHILDREN = `select id::text, payload ->> 'parent' as parent from tock.job_runs where job = 'kid' order by id`;
/** How many attempts were made in batches of several runs, and in how large ones at most. */
export const PACKED = `select count(*)::int as attempts, (count(*) filter (where size > 1))::int as together,
  coalesce(max(size), 0) as most from public.packed_effects`;
export const RUNS_BY_WISH = `select id::text, (payload ->> 'n')::int as n from tock.job_runs where payload ? 'n' order by id`;
export const STATUSES =
  'select status, count(*)::int as count from tock.job_runs group by status order by status';

/** What must have no row, in the end; each row says what is wrong. */
export const CONTRADICTIONS: readonly string[] = [
  `select 'I9 run ' || r.id || ' of ' || r.job || ' has succeeded, and its effect is not there' as text
     from tock.job_runs_finished r where r.job in ('once', 'isolated') and r.status = 'succeeded'
     and not exists (select from public.once_effects e where e.key = 'effect:' || r.id)`,
  `select 'I9 the step of run ' || run_id || ' gave ' || count(distinct value) || ' values' as text
     from public.step_values group by run_id having count(distinct value) > 1`,
  `select 'I9 the step of run ' || r.id || ' is kept as ' || coalesce(e.result::text, 'nothing') || ', and it succeeded with ' || r.output as text
     from tock.job_runs_finished r left join tock.job_effects e on e.key = 'step:' || r.id || ':number'
     where r.job = 'step' and r.status = 'succeeded' and e.result is distinct from r.output`,
  `select 'batch: run ' || r.id || ' of packed has succeeded under fence ' || r.fence || ' with ' || coalesce(r.output::text, 'nothing') as text
     from tock.job_runs_finished r where r.job = 'packed' and r.status = 'succeeded'
     and r.output is distinct from jsonb_build_object('run', r.id::text, 'fence', r.fence)`,
  `select 'batch: run ' || r.id || ' of packed has succeeded under fence ' || r.fence || ', and its effect is not there' as text
     from tock.job_runs_finished r where r.job = 'packed' and r.status = 'succeeded'
     and not exists (select from public.packed_effects e where e.run_id = r.id and e.fence = r.fence)`,
  `select 'batch: run ' || r.id || ' of ' || r.job || ' has the error of another attempt: ' || (e ->> 'message') as text
     from tock.job_runs r cross join jsonb_array_elements(r.errors) e where r.job in ('batched', 'packed') and e ->> 'message' like '% fails by lot'
     and e ->> 'message' not like 'run ' || r.id || ' under %: attempt ' || (e ->> 'attempt') || ' fails by lot'`,
  `select 'chain: run ' || r.id || ' of ' || r.job || ' at ' || r.scheduled_for || ' has ' || count(f.id) || ' followers' as text
     from tock.job_runs_finished r left join tock.job_runs f on f.job = 'follower' and f.scheduled_for = r.scheduled_for and f.status <> 'skipped'
     where r.job = 'fourths' group by r.id, r.job, r.scheduled_for, r.status
     having count(f.id) <> case when r.status = 'succeeded' then 1 else 0 end`,
  `select 'chain: run ' || r.id || ' of ' || r.job || ' is ' || r.status || ' and has ' || count(m.id) || ' mourners' as text
     from tock.job_runs_finished r left join tock.job_runs m on m.job = 'mourner' and m.payload ->> 'run' = r.id::text
     where r.job = 'doomed' group by r.id, r.job, r.status
     having count(m.id) <> case when r.status = 'dead' then 1 else 0 end`,
  `select 'code: run ' || r.id || ' of ' || r.job || ' has lost an attempt to a worker without the job' as text
     from tock.job_runs r where jsonb_path_exists(r.errors, '$[*] ? (@.code == "TOCK_UNKNOWN_JOB")')`,
  `select 'code: run ' || r.id || ' of ' || r.job || ' still waits for code' as text
     from tock.job_runs_live r where r.blocked_on like 'code:%'`,
];
