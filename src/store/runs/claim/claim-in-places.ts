// Claims in places that are named, of plain runs only: a third of the cost. The claimed rows come back in any
// order, and one of them carries what is known of all.
import type { Session } from '../../connection/database.js';
import { hidden, statement } from '../../connection/statement.js';
import type { Claim, ClaimOptions } from './claim.js';
import { claimInOrder, type PlainRow } from './claim-rows.js';
import { claimedColumns, startLease } from './claimed-run.js';
import {
  isAbove,
  isClaimable,
  isQueueLimited,
  isQueueOpen,
  isServed,
  liesIn,
  WATERMARKS,
  type Watermark,
  type WatermarkParameters,
  watermarkParameters,
} from './queue-priorities.js';

type Wanted = Pick<ClaimOptions, 'limit' | 'workerId' | 'leaseMs' | 'queues'>;

/** The most runs of one claim, as a number that the planner sees: so it knows that a claim is short. */
export const MAX_CLAIMED = 2000;

/** Whether claims of plain runs pass over this queue. */
const isClosed = (name: string) => `exists (select from tock.job_queues q where q.name = ${name}
      and (${isQueueLimited('q')} or not (${isQueueOpen('q')} and ${isServed(name, 'q')})))`;

// The ids go to the update as an array: the planner answers a join by reading the whole table.
const claimDue = `update tock.job_runs_live r set ${startLease('r')}
where r.id = any(array(select id from due))
returning r.id, ${claimedColumns('r')},
  case when r.id = (select carrier from carried) then (select ids from carried) end as ids,
  case when r.id = (select carrier from carried) then (select taken from carried) end as taken`;

const CLAIM_IN_PLACE = statement<Wanted & Watermark, PlainRow>(
  'claim-in-place',
  `
with due as materialized (
  select d.id, d.run_at from (
    select r.id, r.run_at from tock.job_runs_live r
    where r.queue = ${hidden('queue', 'text')} and r.priority = ${hidden('priority', 'integer')}
      and ${isClaimable('r')} and r.slot_keys is null
      and (r.run_at, r.id) > (${hidden('at', 'timestamptz')}, ${hidden('id', 'bigint')}) and not ${isClosed(':queue')}
    order by r.run_at, r.id
    limit ${MAX_CLAIMED}
    for update of r skip locked
  ) d
  limit ${hidden('limit', 'integer')}
), carried as materialized (
  select array_agg(id)::text as ids, min(id) as carrier,
    json_build_array(json_build_array(1, count(*), count(*) >= :limit, max(run_at))) as taken from due
)
${claimDue}`,
  { prepared: true },
);

// The order of `found` is that of its nested loop.
const CLAIM_IN_PLACES = statement<Wanted & WatermarkParameters, PlainRow>(
  'claim-in-places',
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
    where ${liesIn('r', 'o')} and ${isClaimable('r')} and r.slot_keys is null and ${isAbove('r', 'o')}
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
 * Claims due runs above these watermarks only, and starts their leases: nothing that needs a slot, and
 * nothing of a queue that is closed or has a limit. The places of a priority, which follow each other, give
 * about equally many, the first ones first. Runs that are locked are skipped.
 */
export async function claimInPlaces(
  session: Session,
  { limit: asked, workerId, leaseMs, queues }: ClaimOptions,
  watermarks: readonly Watermark[],
): Promise<Claim> {
  const limit = Math.min(asked, MAX_CLAIMED);
  const wanted = { limit, workerId, leaseMs, queues };
  const [first, second] = watermarks;
  const rows =
    first !== undefined && second === undefined
      ? await CLAIM_IN_PLACE.run(session, { ...wanted, ...first })
      : await CLAIM_IN_PLACES.run(session, { ...wanted, ...watermarkParameters(watermarks) });
  return claimInOrder(rows, limit, watermarks);
}
