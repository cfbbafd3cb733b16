// Claims plain runs in lanes that are named, at a third of the cost of a claim everywhere. The claimed rows
// come back in any order, and one of them carries what describes the claim.
import type { Session } from '../../connection/database.js';
import { opaqueToPlanner, statement } from '../../connection/statement.js';
import { mayStart } from '../../definitions/freeze/frozen.js';
import type { Claim, ClaimOptions } from './claim.js';
import { claimInOrder, type PlainRow } from './claim-rows.js';
import { claimedColumns, startLease } from './claimed-run.js';
import {
  isAfterWatermark,
  isClaimable,
  isQueueLimited,
  isQueueOpen,
  isServed,
  liesIn,
  WATERMARKS,
  type Watermark,
  type WatermarkParameters,
  watermarkParameters,
} from './queue-lanes.js';

type Wanted = Pick<ClaimOptions, 'limit' | 'workerId' | 'leaseMs' | 'queues'>;

/** The most runs of one claim. The planner sees this number, so it expects few rows. */
export const MAX_CLAIMED = 2000;

/** Whether a claim of plain runs skips this queue. */
const isClosed = (
  name: string,
) => `(not ${mayStart(name)} or exists (select from tock.job_queues q where q.name = ${name}
      and (${isQueueLimited('q')} or not (${isQueueOpen('q')} and ${isServed(name, 'q')}))))`;

// The ids go to the update as an array: the planner answers a join by reading the whole table.
const claimDue = `update tock.job_runs_live r set ${startLease('r')}
where r.id = any(array(select id from due))
returning r.id, ${claimedColumns('r')},
  case when r.id = (select carrier from carried) then (select ids from carried) end as ids,
  case when r.id = (select carrier from carried) then (select taken from carried) end as taken`;

const CLAIM_IN_LANE = statement<Wanted & Watermark, PlainRow>(
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
const CLAIM_IN_LANES = statement<Wanted & WatermarkParameters, PlainRow>(
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
  { limit: wantedRuns, workerId, leaseMs, queues }: ClaimOptions,
  watermarks: readonly Watermark[],
): Promise<Claim> {
  const limit = Math.min(wantedRuns, MAX_CLAIMED);
  const wanted = { limit, workerId, leaseMs, queues };
  const [first, second] = watermarks;
  const rows =
    first !== undefined && second === undefined
      ? await CLAIM_IN_LANE.run(session, { ...wanted, ...first })
      : await CLAIM_IN_LANES.run(session, { ...wanted, ...watermarkParameters(watermarks) });
  return claimInOrder(rows, limit, watermarks);
}
