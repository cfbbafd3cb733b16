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
import { statement } from '../../connection/statement.js';
import { mayStart } from '../../definitions/freeze/frozen.js';
import { type Claim, type ClaimRow, claimListed, claimOf, type ListedRow } from './claim-rows.js';
import { claimedColumns, namesOfClaimed, nullsOfClaimed, startLease } from './claimed-run.js';
import {
  isAfterWatermark,
  isClaimable,
  isDue,
  isQueueLimited,
  isQueueOpen,
  liesIn,
  openQueueLanes,
  QUEUE_LANES,
  QUEUE_LANES_WITH_WATERMARKS,
  type Watermark,
  type WatermarkParameters,
  watermarkParameters,
} from './queue-lanes.js';

export type { Claim, ClaimedLane, QueueLane } from './claim-rows.js';

export interface ClaimOptions {
  readonly limit: number;
  readonly workerId: string;
  readonly leaseMs: number;
  /** Only these; null: all that are not relayed. */
  readonly queues: readonly string[] | null;
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
  Wanted & WatermarkParameters & Required<Pick<ClaimOptions, 'queues' | 'afterQueue'>>,
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
  { limit, workerId, leaseMs, queues, afterQueue = '' }: ClaimOptions,
  watermarks: readonly Watermark[] = [],
): Promise<Claim> {
  const wanted = { limit, workerId, leaseMs, queues, afterQueue };
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

const CLAIMABLE = statement<Pick<ClaimOptions, 'limit' | 'queues'>, { readonly id: string }>(
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
  wanted: Pick<ClaimOptions, 'limit' | 'queues'>,
): Promise<string[]> {
  return (await CLAIMABLE.run(session, wanted)).map(row => row.id);
}
