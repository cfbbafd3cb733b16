// The claim: one statement that takes due runs and starts their leases.
//
// Workers never wait for each other, and no run is claimed twice (limit 2; runs 1 to 4 are due):
//
//   worker A                                 worker B
//   lock the first 2 due: runs 1 and 2
//                                            lock the first 2 due, skipping those locked: runs 3 and 4
//   update: running, fence + 1, lease        update: running, fence + 1, lease
//   commit                                   commit
//
// A claim takes the most urgent priority first. Within a priority, each queue gives its share, so that a
// flood in one queue does not starve the others. A queue that gives its whole share may have more: then the
// claim takes no run of a later priority. In each queue lane, a claim reads due runs in the order of
// `run_at`, from the watermark on. So it reads neither ended runs again nor future runs.
import { codeKey } from '../../../model/run/limits.js';
import type { Session } from '../../connection/database.js';
import { opaqueToPlanner, statement } from '../../connection/statement.js';
import { mayStart } from '../../definitions/freeze/frozen.js';
import {
  type ClaimedRow,
  type ClaimedRun,
  claimedColumns,
  claimedRun,
  namesOfClaimed,
  nullsOfClaimed,
  sortedAs,
  startLease,
} from './claimed-run.js';
import {
  isAfterWatermark,
  isClaimable,
  isDue,
  isLeft,
  isQueueLimited,
  isQueueOpen,
  isServed,
  liesIn,
  openQueueLanes,
  QUEUE_LANES,
  QUEUE_LANES_WITH_WATERMARKS,
  WATERMARKS,
  type Watermark,
  type WatermarkParameters,
  watermarkParameters,
} from './queue-lanes.js';

export interface ClaimOptions {
  readonly limit: number;
  readonly workerId: string;
  readonly leaseMs: number;
  /** Only these; null: all that are not relayed. */
  readonly queues: readonly string[] | null;
  /** Of the worker, which leaves the default queues of other services to their workers. Default: ''. */
  readonly ownService?: string;
  /** Within a priority, queues whose names come after this one are first. Default: by name. */
  readonly afterQueue?: string;
}

interface Wanted {
  readonly limit: number;
  readonly workerId: string;
  readonly leaseMs: number;
}

/**
 * Claims from the set `open`. The CTEs that lock are MATERIALIZED: the planner may otherwise run them more
 * than once, and lock more rows than LIMIT says. No join has two sides that grow with the number of runs or
 * queues: the planner expects few, and would compare all with all. So the claimed runs come back in any
 * order, and one row lists the order in which they are to start, and what each lane gave. The rows of `found`
 * are in the order of its nested loop.
 *
 * @param order of the queues within a priority
 */
const claimFrom = (open: string, order: string) => `
with ${open}, shares as materialized (
  select o.*, least(o.room, ceil(:limit::integer::numeric / o.siblings)::integer) as share,
    (row_number() over (order by o.priority, ${order}))::integer as lane
  from open o order by o.priority, ${order}
), found as materialized (
  select d.id, d.run_at, d.needs_admission, o.lane, o.priority, o.share
  from shares o cross join lateral (
    select r.id, r.run_at, o.is_limited or r.slot_keys is not null as needs_admission from tock.job_runs_live r
    where ${liesIn('r', 'o')} and ${isClaimable('r')} and ${isAfterWatermark('r', 'o')}
    order by r.run_at, r.id
    limit o.share
    for update of r skip locked
  ) d
  limit :limit::integer
), taken as materialized (
  select f.priority, f.lane, f.share, count(*) as count, max(f.run_at) as at, bool_or(f.needs_admission) as needs_admission from found f group by f.priority, f.lane, f.share
), due as materialized (
  select f.id, f.needs_admission from found f
  where f.priority <= coalesce((select min(t.priority) from taken t where t.count >= t.share), f.priority)
), claimed as (
  update tock.job_runs_live r set ${startLease('r')}
  where r.id = any(array(select id from due where not needs_admission))
  returning r.id, ${claimedColumns('r')}
)
select c.id, ${namesOfClaimed('c')}, null::text as ids, null::text as needs_admission, null::json as lanes, null::json as taken from claimed c
union all
select null, ${nullsOfClaimed}, array_agg(d.id)::text, (array_agg(d.id) filter (where d.needs_admission))::text,
  (select json_agg(json_build_array(s.queue, s.priority, s.is_limited) order by s.lane) from shares s),
  (select json_agg(json_build_array(t.lane, t.count, t.count >= t.share, t.at, t.needs_admission) order by t.lane) from taken t)
from due d having count(*) > 0`;

/** Queues after the one that was served last come first. So each has its turn, however few runs are taken. */
const IN_TURN = `o.queue <= :afterQueue collate "C", o.queue`;

const CLAIM = statement<
  Wanted & WatermarkParameters & Required<Pick<ClaimOptions, 'queues' | 'ownService' | 'afterQueue'>>,
  ClaimRow
>('claim', claimFrom(`${QUEUE_LANES_WITH_WATERMARKS}, ${openQueueLanes(':limit::integer', true)}`, IN_TURN), {
  prepared: true,
});

/**
 * Claims due runs in one statement and starts their leases. Runs that need admission are only named; they
 * count towards `limit`. Runs that another claim has locked are skipped, not waited for.
 * @param watermarks where the claim starts in these lanes. It reads other lanes, and those of queues with a
 * limit, from their first run on
 */
export async function claimFreeRuns(
  session: Session,
  { limit, workerId, leaseMs, queues, ownService = '', afterQueue = '' }: ClaimOptions,
  watermarks: readonly Watermark[] = [],
): Promise<Claim> {
  const wanted = { limit, workerId, leaseMs, queues, ownService, afterQueue };
  return claimOf(await CLAIM.run(session, { ...wanted, ...watermarkParameters(watermarks) }), limit);
}

type One = Omit<Wanted, 'limit'> & { readonly id: string; readonly codes: readonly string[] | null };

const CLAIM_ONE = statement<One, ListedRow>(
  'claim-one',
  `
with due as materialized (
  select r.id, r.blocked_on, r.slot_keys is not null or ${isQueueLimited('q')} as needs_admission
  from tock.job_runs_live r left join tock.job_queues q on q.name = r.queue
  where r.id = :id and (r.blocked_on is null or r.blocked_on = any(:codes::text[])) and ${isDue('r')}
    and ${isQueueOpen('q')} and (:codes::text[] is not null or ${mayStart('r.queue')})
  for update of r skip locked
), unblocked as (
  update tock.job_runs_live r set blocked_on = null from due where r.id = due.id and due.needs_admission and due.blocked_on is not null
), claimed as (
  update tock.job_runs_live r set blocked_on = null, ${startLease('r')} from due where r.id = due.id and not due.needs_admission
  returning r.id, ${claimedColumns('r')}
)
select due.id, due.needs_admission, ${namesOfClaimed('c')}
from due left join claimed c on c.id = due.id`,
);

/**
 * Claims one run by its id, if it is due and its queue is open. Skips a run that is held or locked.
 * @param byHand for a person who executes it here, whose code has these jobs: also while everything is
 * frozen, and where the run waits for code that has its job
 */
export async function claimFreeRun(
  session: Session,
  id: string,
  { workerId, leaseMs }: Pick<ClaimOptions, 'workerId' | 'leaseMs'>,
  byHand: { readonly jobs: readonly string[] } | null = null,
): Promise<Claim> {
  const codes = byHand?.jobs.map(codeKey) ?? null;
  return claimListed(await CLAIM_ONE.run(session, { id, workerId, leaseMs, codes }));
}

const CLAIMABLE = statement<
  Required<Pick<ClaimOptions, 'limit' | 'queues' | 'ownService'>>,
  { readonly id: string }
>(
  'claimable-ids',
  `
with ${QUEUE_LANES}, ${openQueueLanes(':limit::integer')}
select d.id::text as id from open o cross join lateral (
  select r.id, r.run_at from tock.job_runs_live r
  where ${liesIn('r', 'o')} and ${isClaimable('r')}
  order by r.run_at, r.id limit :limit) d
order by o.priority, d.run_at, d.id limit :limit`,
);

/** Ids of runs that could be claimed now, in the order in which a claim takes them. Locks nothing. */
export async function readClaimable(
  session: Session,
  { limit, queues, ownService = '' }: Pick<ClaimOptions, 'limit' | 'queues' | 'ownService'>,
): Promise<string[]> {
  return (await CLAIMABLE.run(session, { limit, queues, ownService })).map(row => row.id);
}

// What a claim returns: its runs, and what each queue lane gave.

/** One priority of a queue: its runs are claimed in the order of `run_at`. */
export interface QueueLane {
  readonly queue: string;
  readonly priority: number;
}

/** What a claim found in a queue lane. */
export interface ClaimedLane extends QueueLane {
  /** `run_at`, as JSON has it, and id of the last run that the claim took. Null: it took none. */
  readonly at: string | null;
  readonly id: string | null;
  /** It gave as many runs as the claim asked for, or was not visited because other lanes gave enough. */
  readonly hasMore: boolean;
  /** Its queue has a limit, which each claim must read again. */
  readonly isLimited: boolean;
  /** Some of the runs that it gave need admission. */
  readonly needsAdmission: boolean;
}

export interface Claim {
  readonly runs: readonly ClaimedRun[];
  /** Ids of due runs that need a slot under a limit: named, not claimed. */
  readonly needsAdmission: readonly string[];
  readonly lanes: readonly ClaimedLane[];
  /** There may be more that is due. */
  readonly hasMore: boolean;
}

/** A lane that a claim could visit. */
export type LaneRow = readonly [queue: string, priority: number, isLimited: boolean];
/** What a lane gave. `lane`: its number, from 1. `at`: `run_at` of its last run, as JSON has it. */
export type Taken = readonly [
  lane: number,
  count: number,
  isFull: boolean,
  at: string,
  needsAdmission?: boolean,
];

/** The row without an id describes the claim; each other row is a claimed run. */
export type ClaimRow = Omit<ClaimedRow, 'id'> & {
  readonly id: string | null;
  /** Ids of all runs that were found, in the order of the claim, as PostgreSQL writes an array. */
  readonly ids: string | null;
  /** Those of them that need admission; null: none. */
  readonly needs_admission: string | null;
  /** In the order of the visits. */
  readonly lanes: readonly LaneRow[] | null;
  readonly taken: readonly Taken[] | null;
};

const NOTHING: Claim = { runs: [], needsAdmission: [], lanes: [], hasMore: false };

/** Reads the rows of a claim of at most `limit` runs. */
export function claimOf(rows: readonly ClaimRow[], limit: number): Claim {
  const first = rows.find(row => row.id === null);
  if (first === undefined) return NOTHING;
  const ids = idsOf(first.ids);
  const runs = rows.filter((row): row is ClaimRow & ClaimedRow => row.id !== null).map(claimedRun);
  const lanes = lanesAfter(first, ids, limit);
  const hasMore = lanes.some(lane => lane.hasMore);
  return { runs: sortedAs(runs, ids), needsAdmission: idsOf(first.needs_admission), lanes, hasMore };
}

/** A run of a claim of plain runs. One of the rows carries the last two columns, which describe the claim. */
export type PlainRow = ClaimedRow & { readonly ids: string | null; readonly taken: readonly Taken[] | null };

/** Reads the rows of a claim in these lanes, in this order. */
export function claimInOrder(rows: readonly PlainRow[], limit: number, inLanes: readonly QueueLane[]): Claim {
  const carrier = rows.find(row => row.ids !== null);
  const ids = idsOf(carrier?.ids ?? null);
  const rowOf = ({ queue, priority }: QueueLane): LaneRow => [queue, priority, false];
  const lanes = lanesAfter({ lanes: inLanes.map(rowOf), taken: carrier?.taken ?? [] }, ids, limit);
  const hasMore = lanes.some(lane => lane.hasMore);
  return { runs: sortedAs(rows.map(claimedRun), ids), needsAdmission: [], lanes, hasMore };
}

const idsOf = (array: string | null) => array?.slice(1, -1).split(',') ?? [];

function lanesAfter(
  { lanes, taken }: Pick<ClaimRow, 'lanes' | 'taken'>,
  ids: readonly string[],
  limit: number,
): ClaimedLane[] {
  const gave = new Map<number, Omit<ClaimedLane, keyof QueueLane | 'isLimited'>>();
  let count = 0;
  let last = 0;
  // Where a lane may have more, runs of later priorities were found and not claimed.
  for (const [lane, each, isFull, at, needsAdmission = false] of taken ?? []) {
    if (count === ids.length) break;
    count += each;
    last = lane;
    gave.set(lane, { at, id: ids[count - 1] ?? null, hasMore: isFull, needsAdmission });
  }
  // A claim that has enough runs stops: the last lane may have more, and the lanes of its priority that come
  // later were not visited.
  const isCut = ids.length >= limit;
  const lastPriority = lanes?.[last - 1]?.[1];
  const nothing = { at: null, id: null, hasMore: false, needsAdmission: false };
  return (lanes ?? []).map(([queue, priority, isLimited], index) => {
    const lane = index + 1;
    const found = gave.get(lane) ?? nothing;
    const isUnvisited = isCut && lane > last && priority === lastPriority;
    const hasMore = found.hasMore || isUnvisited || (isCut && lane === last);
    return { queue, priority, isLimited, ...found, hasMore };
  });
}

/** A run of a claim that lists its runs, and no lanes. */
export type ListedRow = ClaimedRow & { readonly needs_admission: boolean };

/** Reads the rows of such a claim. They are in the order in which the runs are to start. */
export function claimListed(rows: readonly ListedRow[]): Claim {
  const runs = rows.filter(row => !row.needs_admission).map(claimedRun);
  const needsAdmission = rows.filter(row => row.needs_admission).map(row => row.id);
  return { ...NOTHING, runs, needsAdmission };
}

// Claims plain runs in lanes that are named, at a third of the cost of a claim everywhere. The claimed rows
// come back in any order, and one of them carries what describes the claim.

type WantedInLanes = Required<Omit<ClaimOptions, 'afterQueue'>>;

/** The most runs of one claim. The planner sees this number, so it expects few rows. */
export const MAX_CLAIMED = 2000;

/** Whether a claim of plain runs skips this queue. */
const isClosed = (
  name: string,
) => `(not ${mayStart(name)} or ${isLeft(name)} or exists (select from tock.job_queues q where q.name = ${name}
      and (${isQueueLimited('q')} or not (${isQueueOpen('q')} and ${isServed(name, 'q')}))))`;

// The ids go to the update as an array: the planner answers a join by reading the whole table.
const claimDue = `update tock.job_runs_live r set ${startLease('r')}
where r.id = any(array(select id from due))
returning r.id, ${claimedColumns('r')},
  case when r.id = (select carrier from carried) then (select ids from carried) end as ids,
  case when r.id = (select carrier from carried) then (select taken from carried) end as taken`;

const CLAIM_IN_LANE = statement<WantedInLanes & Watermark, PlainRow>(
  'claim-in-lane',
  `
with due as materialized (
  select d.id, d.run_at from (
    select r.id, r.run_at from tock.job_runs_live r
    where r.queue = ${opaqueToPlanner('queue', 'text')} and r.priority = ${opaqueToPlanner('priority', 'integer')}
      and ${isClaimable('r')} and r.slot_keys is null
      and (r.run_at, r.id) > (${opaqueToPlanner('at', 'timestamptz')}, ${opaqueToPlanner('id', 'bigint')}) and not ${isClosed(':queue')}
    order by r.run_at, r.id
    limit ${MAX_CLAIMED}
    for update of r skip locked
  ) d
  limit ${opaqueToPlanner('limit', 'integer')}
), carried as materialized (
  select array_agg(id)::text as ids, min(id) as carrier,
    json_build_array(json_build_array(1, count(*), count(*) >= :limit, max(run_at))) as taken from due
)
${claimDue}`,
  { prepared: true },
);

// The rows of `found` are in the order of its nested loop.
const CLAIM_IN_LANES = statement<WantedInLanes & WatermarkParameters, PlainRow>(
  'claim-in-lanes',
  `
with open as materialized (
  select m.*, ceil(:limit::integer::numeric / count(*) over (partition by m.priority))::integer as share
  from ${WATERMARKS}
  where not ${isClosed('m.queue')}
  order by m.priority, m.turn
), found as materialized (
  select d.id, d.run_at, o.turn, o.priority, o.share
  from open o cross join lateral (
    select r.id, r.run_at from tock.job_runs_live r
    where ${liesIn('r', 'o')} and ${isClaimable('r')} and r.slot_keys is null and ${isAfterWatermark('r', 'o')}
    order by r.run_at, r.id
    limit o.share
    for update of r skip locked
  ) d
  limit :limit::integer
), taken as materialized (
  select f.priority, f.turn, f.share, count(*) as count, max(f.run_at) as at from found f group by f.priority, f.turn, f.share
), due as materialized (
  select f.id from found f
  where f.priority <= coalesce((select min(t.priority) from taken t where t.count >= t.share), f.priority)
), carried as materialized (
  select array_agg(d.id)::text as ids, min(d.id) as carrier,
    (select json_agg(json_build_array(t.turn, t.count, t.count >= t.share, t.at) order by t.priority, t.turn) from taken t) as taken
  from due d
)
${claimDue}`,
  { prepared: true },
);

/**
 * Claims due runs after these watermarks, and starts their leases. Takes neither runs that need admission nor
 * runs of a queue that is closed or has a limit. The lanes of one priority must follow each other; each gives
 * about as many runs as the others. Runs that are locked are skipped.
 */
export async function claimInLanes(
  session: Session,
  { limit: wantedRuns, workerId, leaseMs, queues, ownService = '' }: ClaimOptions,
  watermarks: readonly Watermark[],
): Promise<Claim> {
  const limit = Math.min(wantedRuns, MAX_CLAIMED);
  const wanted = { limit, workerId, leaseMs, queues, ownService };
  const [first, second] = watermarks;
  const rows =
    first !== undefined && second === undefined
      ? await CLAIM_IN_LANE.run(session, { ...wanted, ...first })
      : await CLAIM_IN_LANES.run(session, { ...wanted, ...watermarkParameters(watermarks) });
  return claimInOrder(rows, limit, watermarks);
}
