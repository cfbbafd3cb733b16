// Room: store. The claim: one statement that takes due runs and starts their leases.
// In: how many, by whom, for how long. Out: what executing them needs; and those that need a place under a limit
// first, which admit-runs.ts claims.
import { TRANSITIONS } from '../model/states.js';
import type { Session } from './database.js';
import { PREPARED } from './prepared.js';
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

const CLAIMED = `r.id, r.fence, r.job, r.attempts, r.max_attempts, r.payload, r.occurrence_count,
  r.idempotency_key, r.trigger, r.slot_keys, ${EPOCH_MS('r.scheduled_for')} as scheduled_for,
  ${EPOCH_MS('r.interval_start')} as interval_start, coalesce(r.fence = 1 and r.start_by < tock.now(), false) as is_late,
  r.definition_id`;

/** What the definition adds to a claimed run, over `d`, which may be null. */
const OF_DEFINITION = `d.name as definition, case when d.active_window is not null then jsonb_build_object(
    'hours', d.active_window, 'timezone', d.timezone, 'outside', d.outside_window, 'now', floor(${EPOCH_MS('tock.now()')})) end as "window"`;

/** The end of a statement whose last set is an update that claims: it returns the runs in full. */
export const claimingSet = (update: string) => `claimed as (${update} returning ${CLAIMED})
select c.*, ${OF_DEFINITION} from claimed c left join tock.job_definitions d on d.id = c.definition_id`;

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

/**
 * The same for queues and priorities that an earlier claim has found, and that have no limit: they go on where it left
 * off. Whether a queue was paused since is not asked, for so long as a claim may go on (see engine/scan.ts).
 */
const KNOWN_LANES = `open as materialized (
  select l.*, false as is_limited, $1::integer as room, count(*) over (partition by l.priority) as siblings
  from unnest($4::text[], $5::integer[], $6::timestamptz[], $7::bigint[]) as l(queue, priority, after_at, after_id)
)`;

// Down the priorities; in each, every queue gives its share, so that a flood in one does not starve the others. Where
// one gives its whole share there may be more of it, and nothing of a later priority is taken with this claim. In
// each queue and priority the due runs are walked in order, so that a million future runs of a higher priority are
// not walked over. MATERIALIZED, because the planner may otherwise run the locking part more than once and lock more
// rows than LIMIT says.
//
// `after` is where an earlier claim left off: what lies before has been claimed, and mostly ended since. Its index
// entries are dead, and as long as anybody holds an old snapshot no vacuum takes them away: to walk over them with
// each claim made a claim slower with each run that had ended.
const TAKEN = `c.fence, c.job, c.attempts, c.max_attempts, c.payload, c.occurrence_count, c.idempotency_key, c.trigger, c.slot_keys,
  c.scheduled_for, c.interval_start, c.is_late`;
const claimFrom = (lanes: string, after: string) => `
with ${lanes}, shares as materialized (
  select o.*, least(o.room, ceil($1::integer::numeric / o.siblings)::integer) as share from open o order by o.priority, o.queue
), found as materialized (
  select d.id, d.run_at, o.queue, o.priority, d.is_limited, o.share
  from shares o cross join lateral (
    select r.id, r.run_at, o.is_limited or r.slot_keys is not null as is_limited from tock.job_runs_live r
    where r.blocked_on is null and r.queue = o.queue and r.priority = o.priority and r.run_at <= tock.now()
      and r.status in (${statuses('claim')}) ${after}
    order by r.run_at, r.id
    limit o.share
    for update of r skip locked
  ) d
  limit $1::integer
), lefts as (
  select queue, priority, count(*) >= min(share) as has_more from found group by queue, priority
), due as materialized (
  select f.*, row_number() over () as place from found f
  where not exists (select from lefts l where l.has_more and l.priority < f.priority)
), claimed as (
  update tock.job_runs_live r set ${START_LEASE}
  from due where r.id = due.id and not due.is_limited
  returning ${CLAIMED}
)
select due.is_limited, due.id, ${TAKEN}, ${OF_DEFINITION},
  case when due.place = 1 then (
    select jsonb_agg(jsonb_build_object('queue', o.queue, 'priority', o.priority, 'at', l.run_at, 'id', l.id::text, 'hasMore', coalesce(m.has_more, false), 'isLimited', o.is_limited))
    from shares o left join lefts m on m.queue = o.queue and m.priority = o.priority
    left join lateral (select d.run_at, d.id from due d where d.queue = o.queue and d.priority = o.priority
      order by d.run_at desc, d.id desc limit 1) l on true) end as lanes
from due left join claimed c on c.id = due.id left join tock.job_definitions d on d.id = c.definition_id`;

const CLAIM = claimFrom(`${LANES}, ${OPEN_LANES('$1', '$4')}`, '');
const CLAIM_ON = claimFrom(KNOWN_LANES, 'and (r.run_at, r.id) > (o.after_at, o.after_id)');

/** A queue and priority, and the last run that was claimed from it: its `run_at` as text, in full, and its id. */
export interface Lane {
  readonly queue: string;
  readonly priority: number;
  readonly at: string | null;
  readonly id: string | null;
  /** It gave all that it was asked for. */
  readonly hasMore: boolean;
  /** Its queue has a limit: it is looked at anew with each claim. */
  readonly isLimited: boolean;
}

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
  /** The queues and priorities that were looked at, and where this claim left off in each. */
  readonly lanes: readonly Lane[];
  /** There may be more that is due. */
  readonly hasMore: boolean;
}

type ClaimRow = ClaimedRun & { readonly is_limited: boolean; readonly lanes: readonly Lane[] | null };

/**
 * Claims due runs in one statement and starts their leases; with those that need a place first, `limit` at most. Runs
 * that another claim has locked are passed over, never waited for.
 *
 * @param lanes where an earlier claim left off: only what comes after is looked at. Null: everything
 */
export async function claimFreeRuns(
  session: Session,
  { limit, workerId, leaseMs, queues }: ClaimOptions,
  lanes: readonly Lane[] | null = null,
): Promise<Claim> {
  const shared = [limit, workerId, leaseMs];
  const rows =
    lanes === null
      ? await session.run<ClaimRow>(CLAIM, [...shared, queues], PREPARED)
      : await session.run<ClaimRow>(
          CLAIM_ON,
          [
            ...shared,
            lanes.map(lane => lane.queue),
            lanes.map(lane => lane.priority),
            lanes.map(lane => lane.at ?? '-infinity'),
            lanes.map(lane => lane.id ?? '0'),
          ],
          PREPARED,
        );
  return claimOf(rows);
}

function claimOf(rows: readonly ClaimRow[]): Claim {
  const lanes = rows[0]?.lanes ?? [];
  const limited = rows.filter(row => row.is_limited).map(row => row.id);
  const runs = limited.length === 0 ? rows : rows.filter(row => !row.is_limited);
  return { runs, limited, lanes, hasMore: lanes.some(lane => lane.hasMore) };
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
select due.is_limited, due.id, ${TAKEN}, ${OF_DEFINITION}, null as lanes
from due left join claimed c on c.id = due.id left join tock.job_definitions d on d.id = c.definition_id`;

/** Claims one named run, if it is due, nobody else has it and its queue is open. */
export async function claimFreeRun(
  session: Session,
  id: string,
  { workerId, leaseMs }: Pick<ClaimOptions, 'workerId' | 'leaseMs'>,
): Promise<Claim> {
  return claimOf(await session.run<ClaimRow>(CLAIM_ONE, [id, workerId, leaseMs]));
}
