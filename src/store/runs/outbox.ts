// Room: store. The outbox: runs that have ended and that others wait for.
// In: an open transaction. Out: what was taken out of it, the definitions that follow, the outcomes they wait for; and
// the runs that dead ones are redirected to.
import type { Chain } from '../../model/planning/chain.js';
import type { StoredColumns } from '../../model/planning/definition.js';
import type { RunStatus } from '../../model/run/states.js';
import type { Session } from '../connection/database.js';
import { readable } from '../connection/readable-instant.js';
import { STORED_COLUMNS } from '../definitions/stated-columns.js';

/** A run that has ended. `scheduled_for` in epoch milliseconds. */
export interface OutboxRow {
  readonly kind: 'chain' | 'dead';
  readonly run_id: string;
  /** Which end of the run it was. */
  readonly generation: number;
  readonly definition_id: string | null;
  readonly scheduled_for: number | null;
}

const TAKE = `
delete from tock.job_outbox o where o.id in (
  select f.id from tock.job_outbox f order by f.id limit $1 for update skip locked)
returning o.kind, o.run_id::text, o.generation, o.definition_id::text, (extract(epoch from ${readable('o.scheduled_for')}) * 1000)::float8 as scheduled_for`;

/** Takes rows out of the outbox; they come back if the transaction does not commit. */
export async function takeOutbox(session: Session, limit: number): Promise<OutboxRow[]> {
  return await session.run<OutboxRow>(TAKE, [limit]);
}

/** A definition that runs after others. */
export interface Follower extends StoredColumns {
  readonly id: string;
  readonly after: Chain;
  readonly cursor_ms: number;
  readonly is_paused: boolean;
  readonly live: number;
}

const FOLLOWERS = `
select d.id::text, ${STORED_COLUMNS}, (extract(epoch from d.cursor) * 1000)::float8 as cursor_ms, d.paused_at is not null as is_paused,
  (select count(*)::integer from tock.job_runs_live r where r.definition_id = d.id) as live
from tock.job_definitions d
where d.after is not null and d.vanished_at is null and d.broken_at is null
  and d.after -> 'definitions' ?| array(select p.name from tock.job_definitions p where p.id = any($1::bigint[]))
order by d.id
for update of d`;

/** The definitions that run after any of these, locked. */
export async function lockFollowers(session: Session, parentIds: readonly string[]): Promise<Follower[]> {
  return await session.run<Follower>(FOLLOWERS, [parentIds]);
}

/** How a parent's run of an occurrence stands. Instants in epoch milliseconds. */
export interface ParentRun {
  readonly name: string;
  readonly definition_id: string;
  readonly scheduled_for: number;
  readonly status: RunStatus;
  readonly interval_start: number | null;
  readonly occurrence_count: number;
}

// A skipped row, and a run that a backfill made of it since, may both be there: the run counts.
const PARENTS = `
select distinct on (r.definition_id, r.scheduled_for) d.name, r.definition_id::text, r.status, r.occurrence_count,
  (extract(epoch from r.scheduled_for) * 1000)::float8 as scheduled_for,
  (extract(epoch from ${readable('r.interval_start')}) * 1000)::float8 as interval_start
from tock.job_definitions d join tock.job_runs r on r.definition_id = d.id
where d.name = any($1::text[]) and r.scheduled_for = any($2::timestamptz[])
order by r.definition_id, r.scheduled_for, r.status = 'skipped', r.id desc`;

/** The parents' runs of these occurrences, as far as there are any. */
export async function readParentRuns(
  session: Session,
  names: readonly string[],
  occurrences: readonly number[],
): Promise<ParentRun[]> {
  return await session.run<ParentRun>(PARENTS, [names, occurrences.map(at => new Date(at).toISOString())]);
}

// Each end is in the outbox once, and taken out of it in the transaction of this statement: that makes it once. The key is
// for people and handlers.
const REDIRECT = `
with dead as materialized (
  select nextval('tock.job_runs_id_seq') as id, 'dead:' || r.id || ':' || e.generation as key, j.on_dead as job, jsonb_build_object(
    'run', r.id::text, 'job', r.job, 'definition', d.name, 'scheduledFor', to_char(r.scheduled_for at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"'),
    'payload', r.payload, 'errors', jsonb_path_query_array(r.errors, '$[last - 4 to last]')) as payload
  from unnest($1::bigint[], $2::integer[]) as e(run_id, generation)
  join tock.job_runs_finished r on r.id = e.run_id and r.status = 'dead'
  join tock.job_definitions j on j.name = r.job and j.on_dead is not null
  left join tock.job_definitions d on d.id = r.definition_id
), made as (
  insert into tock.job_runs_live (id, job, payload, idempotency_key, queue, priority, max_attempts, trigger, status)
  select x.id, x.job, x.payload, x.key, coalesce(t.queue, 'default'), coalesce(t.priority, 0), coalesce(t.max_attempts, 10), 'chain', 'queued'
  from dead x left join tock.job_definitions t on t.name = x.job
  returning id
)
select count(*)::integer as count from made`;

/** Enqueues what dead runs are redirected to, once for each end of a run. Returns how many. */
export async function redirectDead(
  session: Session,
  ends: readonly Pick<OutboxRow, 'run_id' | 'generation'>[],
): Promise<number> {
  if (ends.length === 0) return 0;
  const [row] = await session.run<{ count: number }>(REDIRECT, [
    ends.map(end => end.run_id),
    ends.map(end => end.generation),
  ]);
  return row?.count ?? 0;
}
