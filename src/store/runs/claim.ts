// Room: store. The claim: one statement that takes due runs and starts their leases.
// In: how many, by whom, for how long. Out: what executing them needs; and those that need a place under a limit
// first, which admit-runs.ts claims.
import { TRANSITIONS } from '../../model/run/states.js';
import type { Session } from '../connection/database.js';
import { PREPARED } from '../connection/prepared.js';
import { CLAIMED, type ClaimedRow, type ClaimedRun, claimedRun, inTurn } from './claimed-run.js';
import { statuses } from './transition.js';

/** The moves of a claim, over `r`, by worker $2 for $3 milliseconds. */
export const START_LEASE = `status = '${TRANSITIONS.claim.to}', attempts = r.attempts + 1, fence = r.fence + 1, locked_by = $2,
    locked_until = tock.now() + $3 * interval '1 millisecond', started_at = tock.now()`;

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
const QUEUE_IS_LIMITED = `(q.concurrency is not null or q.rate_count is not null)`;
/**
 * Whether a queue's next start lies further ahead than a rate ever puts it, over `q`: the clock was set back since, and it
 * does not count. A rate puts it one start's share of the period ahead; a minute more is for a clock that is corrected
 * by little.
 */
export const RATE_IS_VOID = `q.rate_next_at > tock.now() + least(q.rate_period_ms, q.rate_period_ms / q.rate_count + 60000) * interval '1 millisecond'`;
/** How many places a queue with a concurrency has left; null where it has none. */
const QUEUE_ROOM = `q.concurrency - (select count(*) from tock.job_slots s where s.concurrency_key = 'queue:' || q.name)`;

/** The queues and priorities from which runs can be claimed now, each with how many at most. Named by their parameters: how many runs, and only which queues. */
export const OPEN_LANES = (limit: string, queues: string) => `open as materialized (
  select l.queue, l.priority, ${QUEUE_IS_LIMITED} as is_limited,
    least(${limit}::integer, ${QUEUE_ROOM}) as room, count(*) over (partition by l.priority) as siblings
  from lanes l left join tock.job_queues q on q.name = l.queue
  where (${queues}::text[] is null or l.queue = any(${queues})) and ${QUEUE_IS_OPEN}
    and (q.concurrency is null or ${QUEUE_ROOM} > 0) and (q.rate_next_at is null or q.rate_count is null or q.rate_next_at <= tock.now() or ${RATE_IS_VOID})
    and exists (select from tock.job_runs_live r where r.blocked_on is null and r.queue = l.queue and r.priority = l.priority
      and r.run_at <= tock.now() and r.status in (${statuses('claim')}))
)`;

/**
 * The same for queues and priorities that an earlier claim has found, and that have no limit: they go on where it left
 * off. Whether a queue was paused since is not asked, for so long as a claim may go on (see engine/claim/claim-cursor.ts).
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
  where r.id = any(array(select id from due where not is_limited))
  returning ${CLAIMED}
)
select c.*, due.is_limited, due.id,
  case when due.place = 1 then (
    select jsonb_agg(jsonb_build_object('queue', o.queue, 'priority', o.priority, 'at', l.run_at, 'id', l.id::text, 'hasMore', coalesce(m.has_more, false), 'isLimited', o.is_limited))
    from shares o left join lefts m on m.queue = o.queue and m.priority = o.priority
    left join lateral (select d.run_at, d.id from due d where d.queue = o.queue and d.priority = o.priority
      order by d.run_at desc, d.id desc limit 1) l on true) end as lanes
from due left join claimed c on c.id = due.id order by due.place`;

const FROM_START = `${LANES}, ${OPEN_LANES('$1', '$4')}`;
const CLAIM = claimFrom(FROM_START, '');
const CLAIM_KNOWN = claimFrom(FROM_START, 'and r.job = any($5::text[])');
const CLAIM_ON = claimFrom(KNOWN_LANES, 'and (r.run_at, r.id) > (o.after_at, o.after_id)');

// The same where all that is due lies in one queue and priority and needs no place under a limit, as most backlogs do:
// a third of the cost. What needs a place is left for the next claim from the beginning. The update asks for the ids
// as an array, since the planner takes a join for a reason to read the whole table; so the rows come in the order of
// their ids, and one of them brings along whose turn it is. The time as JSON has it, whatever style of dates the
// session, and the next claim's session, has.
const claimLaneWhere = (more: string) => `
with due as materialized (
  select r.id, r.run_at from tock.job_runs_live r
  where r.blocked_on is null and r.queue = $4 and r.priority = $5 and r.run_at <= tock.now()
    and r.status in (${statuses('claim')}) and r.slot_keys is null and ${more}
  order by r.run_at, r.id
  limit $1::integer
  for update of r skip locked
), turns as materialized (
  select array_agg(id)::text as ids, to_jsonb(max(run_at)) #>> '{}' as at, min(id) as told_by from due
)
update tock.job_runs_live r set ${START_LEASE}
where r.id = any(array(select id from due))
returning ${CLAIMED}, case when r.id = (select told_by from turns) then (select ids from turns) end as turns,
  case when r.id = (select told_by from turns) then (select at from turns) end as at`;

const CLAIM_LANE = claimLaneWhere('(r.run_at, r.id) > ($6::timestamptz, $7::bigint)');
// What is known of a queue that nobody has looked at: without a row of its own it is open and has no limit.
const CLAIM_TOLD = claimLaneWhere('not exists (select from tock.job_queues q where q.name = $4)');

/** A queue and priority. */
export interface LaneName {
  readonly queue: string;
  readonly priority: number;
}

/** A queue and priority, and the last run that was claimed from it: its `run_at` as text, in full, and its id. */
export interface Lane extends LaneName {
  readonly at: string | null;
  readonly id: string | null;
  /** It gave all that it was asked for. */
  readonly hasMore: boolean;
  /** Its queue has a limit: it is looked at anew with each claim. */
  readonly isLimited: boolean;
  /** Nothing that the claim saw of it needs a place under a limit. */
  readonly isPlain: boolean;
}

export interface ClaimOptions {
  readonly limit: number;
  readonly workerId: string;
  readonly leaseMs: number;
  /** Only these; null: all. */
  readonly queues: readonly string[] | null;
  /** Only runs of these jobs; null: of all. Then the claim begins at the beginning. */
  readonly jobs?: readonly string[] | null;
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

type LaneRow = Omit<Lane, 'isPlain'>;
type ClaimRow = ClaimedRow & { readonly is_limited: boolean; readonly lanes: readonly LaneRow[] | null };
type TurnRow = ClaimedRow & { readonly turns: string | null; readonly at: string | null };

/**
 * Claims due runs in one statement and starts their leases; with those that need a place first, `limit` at most. Runs
 * that another claim has locked are passed over, never waited for.
 *
 * @param lanes where an earlier claim left off: only what comes after is looked at. Null: everything
 */
export async function claimFreeRuns(
  session: Session,
  options: ClaimOptions,
  lanes: readonly Lane[] | null = null,
): Promise<Claim> {
  const shared = [options.limit, options.workerId, options.leaseMs];
  if (options.jobs) return claimOf(await session.run(CLAIM_KNOWN, [...shared, options.queues, options.jobs]));
  if (lanes === null) return claimOf(await session.run(CLAIM, [...shared, options.queues], PREPARED));
  const [lane] = lanes;
  if (lane?.isPlain && lanes.length === 1) return await claimLane(session, options, lane);
  return claimOf(
    await session.run(
      CLAIM_ON,
      [
        ...shared,
        lanes.map(each => each.queue),
        lanes.map(each => each.priority),
        lanes.map(each => each.at ?? '-infinity'),
        lanes.map(each => each.id ?? '0'),
      ],
      PREPARED,
    ),
  );
}

function claimOf(rows: readonly ClaimRow[]): Claim {
  const limited = rows.filter(row => row.is_limited).map(row => row.id);
  const lanes = (rows[0]?.lanes ?? []).map(lane => ({
    ...lane,
    isPlain: limited.length === 0 && !lane.isLimited,
  }));
  const runs = limited.length === 0 ? rows : rows.filter(row => !row.is_limited);
  return { runs: runs.map(claimedRun), limited, lanes, hasMore: lanes.some(lane => lane.hasMore) };
}

/**
 * Claims due runs of one queue and priority that somebody has told of, from its beginning, without a look at
 * everything else. Nothing where the queue has settings of its own, and nothing that needs a place.
 */
export async function claimToldRuns(
  session: Session,
  { limit, workerId, leaseMs }: ClaimOptions,
  { queue, priority }: LaneName,
): Promise<Claim> {
  const values = [limit, workerId, leaseMs, queue, priority];
  const rows = await session.run<TurnRow>(CLAIM_TOLD, values, PREPARED);
  const told = { queue, priority, at: null, id: null, hasMore: false, isLimited: false, isPlain: true };
  return laneClaim(rows, limit, told);
}

async function claimLane(
  session: Session,
  { limit, workerId, leaseMs }: ClaimOptions,
  lane: Lane,
): Promise<Claim> {
  const { queue, priority } = lane;
  const values = [limit, workerId, leaseMs, queue, priority, lane.at ?? '-infinity', lane.id ?? '0'];
  return laneClaim(await session.run<TurnRow>(CLAIM_LANE, values, PREPARED), limit, lane);
}

function laneClaim(rows: readonly TurnRow[], limit: number, lane: Lane): Claim {
  const told = rows.find(row => row.turns !== null);
  const turns = told?.turns?.slice(1, -1).split(',') ?? [];
  const hasMore = rows.length >= limit;
  return {
    runs: inTurn(rows.map(claimedRun), turns),
    limited: [],
    lanes: told ? [{ ...lane, at: told.at, id: turns.at(-1) ?? null, hasMore }] : [],
    hasMore,
  };
}

const CLAIM_ONE = `
with due as materialized (
  select r.id, r.slot_keys is not null or ${QUEUE_IS_LIMITED} as is_limited
  from tock.job_runs_live r left join tock.job_queues q on q.name = r.queue
  where r.id = $1 and r.run_at <= tock.now() and r.status in (${statuses('claim')}) and r.blocked_on is null and ${QUEUE_IS_OPEN}
  for update of r skip locked
), claimed as (
  update tock.job_runs_live r set ${START_LEASE} from due where r.id = due.id and not due.is_limited
  returning ${CLAIMED}
)
select c.*, due.is_limited, due.id, null as lanes from due left join claimed c on c.id = due.id`;

/** Claims one named run, if it is due, nobody else has it and its queue is open. */
export async function claimFreeRun(
  session: Session,
  id: string,
  { workerId, leaseMs }: Pick<ClaimOptions, 'workerId' | 'leaseMs'>,
): Promise<Claim> {
  return claimOf(await session.run(CLAIM_ONE, [id, workerId, leaseMs]));
}
