// Room: store. The claim: one statement that takes due runs and starts their leases.
// In: how many, by whom, for how long. Out: what executing them needs; and those that need a place under a limit
// first, which admit-runs.ts claims.
import { TRANSITIONS } from '../model/states.js';
import type { Session } from './database.js';
import { statuses } from './transition.js';

/** A run that the worker has claimed: what executing it needs. Times in epoch milliseconds. */
export interface ClaimedRun {
  readonly id: string;
  readonly fence: number;
  readonly job: string;
  /** Name of the definition; null for a one-off run. */
  readonly definition: string | null;
  readonly attempts: number;
  readonly max_attempts: number;
  readonly payload: unknown;
  readonly scheduled_for: number | null;
  readonly interval_start: number | null;
  readonly occurrence_count: number;
  readonly idempotency_key: string | null;
  readonly trigger: string;
  /** The concurrency keys under which it holds places. */
  readonly slot_keys: readonly string[] | null;
  /** Claimed for the first time, and its start deadline has passed: to be skipped, not executed. */
  readonly is_late: boolean;
  /** The hours in which its definition's runs may start; null: all. `now` is the database's. */
  readonly window: {
    readonly hours: string;
    readonly timezone: string;
    readonly outside: string;
    readonly now: number;
  } | null;
}

const EPOCH_MS = (column: string) => `(extract(epoch from ${column}) * 1000)::float8`;

/** The moves of a claim, over `r`, by worker $2 for $3 milliseconds. */
export const START_LEASE = `status = '${TRANSITIONS.claim.to}', attempts = r.attempts + 1, fence = r.fence + 1, locked_by = $2,
    locked_until = tock.now() + $3 * interval '1 millisecond', started_at = tock.now()`;

export const CLAIMED = `r.id, r.fence, r.job, r.attempts, r.max_attempts, r.payload, r.occurrence_count,
  r.idempotency_key, r.trigger, r.slot_keys, ${EPOCH_MS('r.scheduled_for')} as scheduled_for,
  ${EPOCH_MS('r.interval_start')} as interval_start, coalesce(r.fence = 1 and r.start_by < tock.now(), false) as is_late,
  case when r.definition_id is not null then (select d.name from tock.job_definitions d where d.id = r.definition_id) end as definition,
  case when r.definition_id is not null then (
    select jsonb_build_object('hours', d.active_window, 'timezone', d.timezone, 'outside', d.outside_window, 'now', floor(${EPOCH_MS('tock.now()')}))
    from tock.job_definitions d where d.id = r.definition_id and d.active_window is not null) end as window`;

// The distinct queues and priorities by a loose index scan: there are few of them, whatever the number of runs.
// Source: the PostgreSQL wiki, "Loose indexscan".
export const LANES = `recursive lanes as (
  (select queue, priority from tock.job_runs_live where blocked_on is null order by queue, priority limit 1)
  union all
  select n.queue, n.priority from lanes l cross join lateral (
    select r.queue, r.priority from tock.job_runs_live r
    where r.blocked_on is null and (r.queue, r.priority) > (l.queue, l.priority) order by r.queue, r.priority limit 1) n
)`;

const TIME_OF_DAY = `(tock.now() at time zone q.timezone)::time`;
/** Whether a queue lets runs start now, as far as that is not a matter of numbers; over `q`, which may be null. */
export const QUEUE_IS_OPEN = `q.paused_at is null and (q.active_window is null or case
    when split_part(q.active_window, '-', 1) < split_part(q.active_window, '-', 2)
      then ${TIME_OF_DAY} >= split_part(q.active_window, '-', 1)::time and ${TIME_OF_DAY} < split_part(q.active_window, '-', 2)::time
    else ${TIME_OF_DAY} >= split_part(q.active_window, '-', 1)::time or ${TIME_OF_DAY} < split_part(q.active_window, '-', 2)::time end)`;
/** Whether a queue has a limit of its own; over `q`. */
export const QUEUE_IS_LIMITED = `(q.concurrency is not null or q.rate_count is not null)`;
/** How many places a queue with a concurrency has left; null where it has none. */
const QUEUE_ROOM = `q.concurrency - (select count(*) from tock.job_slots s where s.concurrency_key = 'queue:' || q.name)`;

/** The queues and priorities from which runs can be claimed now, each with how many at most. Named by their parameters: how many runs, and only which queues. */
export const OPEN_LANES = (limit: string, queues: string) => `open as materialized (
  select l.queue, l.priority, coalesce(${QUEUE_IS_LIMITED}, false) as is_limited,
    least(${limit}::integer, ${QUEUE_ROOM}) as room, count(*) over (partition by l.priority) as siblings
  from lanes l left join tock.job_queues q on q.name = l.queue
  where (${queues}::text[] is null or l.queue = any(${queues})) and ${QUEUE_IS_OPEN}
    and (q.concurrency is null or ${QUEUE_ROOM} > 0) and (q.rate_next_at is null or q.rate_count is null or q.rate_next_at <= tock.now())
    and exists (select from tock.job_runs_live r where r.blocked_on is null and r.queue = l.queue and r.priority = l.priority
      and r.run_at <= tock.now() and r.status in (${statuses('claim')}))
)`;

// Down the priorities; in each, every queue gives its share, so that a flood in one does not starve the others. In
// each queue and priority the due runs are walked in order, so that a million future runs of a higher priority are
// not walked over. MATERIALIZED, because the planner may otherwise run the locking part more than once and lock more
// rows than LIMIT says.
const CLAIM = `
with ${LANES}, ${OPEN_LANES('$1', '$4')}, due as materialized (
  select d.id, d.is_limited from (select * from open order by priority, queue) o cross join lateral (
    select r.id, o.is_limited or r.slot_keys is not null as is_limited from tock.job_runs_live r
    where r.blocked_on is null and r.queue = o.queue and r.priority = o.priority and r.run_at <= tock.now()
      and r.status in (${statuses('claim')})
    order by r.run_at, r.id
    limit least(o.room, ceil($1::integer::numeric / o.siblings)::integer)
    for update of r skip locked
  ) d
  limit $1::integer
), claimed as (
  update tock.job_runs_live r set ${START_LEASE}
  from due where r.id = due.id and not due.is_limited
  returning ${CLAIMED}
)
select due.is_limited, due.id, c.fence, c.job, c.attempts, c.max_attempts, c.payload, c.occurrence_count, c.idempotency_key,
  c.trigger, c.slot_keys, c.scheduled_for, c.interval_start, c.is_late, c.definition, c."window"
from due left join claimed c on c.id = due.id`;

export interface ClaimOptions {
  readonly limit: number;
  readonly workerId: string;
  readonly leaseMs: number;
  /** Only these; null: all. */
  readonly queues: readonly string[] | null;
}

export interface Claim {
  readonly runs: readonly ClaimedRun[];
  /** Ids of due runs that need a place under a limit; not claimed, not locked. */
  readonly limited: readonly string[];
}

/**
 * Claims due runs in one statement and starts their leases; with those that need a place first, `limit` at most. Runs that another claim has locked
 * are passed over, never waited for.
 */
export async function claimFreeRuns(session: Session, options: ClaimOptions): Promise<Claim> {
  const { limit, workerId, leaseMs, queues } = options;
  const rows = await session.run<ClaimedRun & { is_limited: boolean }>(CLAIM, [
    limit,
    workerId,
    leaseMs,
    queues,
  ]);
  return {
    runs: rows.filter(row => !row.is_limited),
    limited: rows.filter(row => row.is_limited).map(row => row.id),
  };
}

const CLAIM_ONE = `
with due as materialized (
  select r.id, r.slot_keys is not null or coalesce(${QUEUE_IS_LIMITED}, false) as is_limited
  from tock.job_runs_live r left join tock.job_queues q on q.name = r.queue
  where r.id = $1 and r.run_at <= tock.now() and r.status in (${statuses('claim')}) and r.blocked_on is null and ${QUEUE_IS_OPEN}
  for update of r skip locked
), claimed as (
  update tock.job_runs_live r set ${START_LEASE} from due where r.id = due.id and not due.is_limited
  returning ${CLAIMED}
)
select due.is_limited, due.id, c.fence, c.job, c.attempts, c.max_attempts, c.payload, c.occurrence_count, c.idempotency_key,
  c.trigger, c.slot_keys, c.scheduled_for, c.interval_start, c.is_late, c.definition, c."window"
from due left join claimed c on c.id = due.id`;

/** Claims one named run, if it is due, nobody else has it and its queue is open. */
export async function claimFreeRun(
  session: Session,
  id: string,
  { workerId, leaseMs }: Pick<ClaimOptions, 'workerId' | 'leaseMs'>,
): Promise<Claim> {
  const rows = await session.run<ClaimedRun & { is_limited: boolean }>(CLAIM_ONE, [id, workerId, leaseMs]);
  return {
    runs: rows.filter(row => !row.is_limited),
    limited: rows.filter(row => row.is_limited).map(row => row.id),
  };
}
