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
// Priorities are walked downwards. Within one, each queue gives its share, so that a flood in one queue
// does not starve the others. A queue that gives its whole share may have more: then no later priority is
// taken with this claim. Within a queue and priority, due runs are walked in the order of `run_at`, from
// the watermark on: ended runs are not walked again, and future runs are never looked at.
import type { Session } from '../../connection/database.js';
import { statement } from '../../connection/statement.js';
import { type Claim, type ClaimRow, claimListed, claimOf, type ListedRow } from './claim-rows.js';
import { claimedColumns, namesOfClaimed, nullsOfClaimed, startLease } from './claimed-run.js';
import {
  isAbove,
  isClaimable,
  isQueueLimited,
  isQueueOpen,
  liesIn,
  openQueuePriorities,
  QUEUE_PRIORITIES,
  QUEUE_PRIORITIES_ABOVE,
  type Watermark,
  type WatermarkParameters,
  watermarkParameters,
} from './queue-priorities.js';

export type { Claim, ClaimedPlace, QueuePriority } from './claim-rows.js';

export interface ClaimOptions {
  readonly limit: number;
  readonly workerId: string;
  readonly leaseMs: number;
  /** Only these; null: all that are not relayed. */
  readonly queues: readonly string[] | null;
  /** Of the queues of one priority, those whose names come after this one are first. Default: none. */
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
 * order, and one row says in which they are to start, and what each place gave. The order of `found` is
 * that of its nested loop.
 *
 * @param order of the queues within a priority
 */
const claimFrom = (open: string, order: string) => `
with ${open}, shares as materialized (
  select o.*, least(o.room, ceil(:limit::integer::numeric / o.siblings)::integer) as share,
    (row_number() over (order by o.priority, ${order}))::integer as place
  from open o order by o.priority, ${order}
), found as materialized (
  select d.id, d.run_at, d.is_limited, o.place, o.priority, o.share
  from shares o cross join lateral (
    select r.id, r.run_at, o.is_limited or r.slot_keys is not null as is_limited from tock.job_runs_live r
    where ${liesIn('r', 'o')} and ${isClaimable('r')} and ${isAbove('r', 'o')}
    order by r.run_at, r.id
    limit o.share
    for update of r skip locked
  ) d
  limit :limit::integer
), taken as materialized (
  select f.priority, f.place, f.share, count(*) as count, max(f.run_at) as at, bool_or(f.is_limited) as needs_slots from found f group by f.priority, f.place, f.share
), due as materialized (
  select f.id, f.is_limited from found f
  where f.priority <= coalesce((select min(t.priority) from taken t where t.count >= t.share), f.priority)
), claimed as (
  update tock.job_runs_live r set ${startLease('r')}
  where r.id = any(array(select id from due where not is_limited))
  returning r.id, ${claimedColumns('r')}
)
select c.id, ${namesOfClaimed('c')}, null::text as ids, null::text as limited, null::json as places, null::json as taken from claimed c
union all
select null, ${nullsOfClaimed}, array_agg(d.id)::text, (array_agg(d.id) filter (where d.is_limited))::text,
  (select json_agg(json_build_array(s.queue, s.priority, s.is_limited) order by s.place) from shares s),
  (select json_agg(json_build_array(t.place, t.count, t.count >= t.share, t.at, t.needs_slots) order by t.place) from taken t)
from due d having count(*) > 0`;

/** Queues after the one that was served last come first, so that each has its turn, however few are taken. */
const IN_TURN = `o.queue <= :afterQueue collate "C", o.queue`;

const CLAIM = statement<
  Wanted & WatermarkParameters & Required<Pick<ClaimOptions, 'queues' | 'afterQueue'>>,
  ClaimRow
>('claim', claimFrom(`${QUEUE_PRIORITIES_ABOVE}, ${openQueuePriorities(':limit::integer', true)}`, IN_TURN), {
  prepared: true,
});

/**
 * Claims due runs in one statement and starts their leases; those that need a slot are only named, and count
 * towards `limit`. Runs that another claim has locked are never waited for: they are skipped.
 * @param watermarks from where it starts in these places; in others, and where a queue has a limit, it starts
 * at the beginning
 */
export async function claimFreeRuns(
  session: Session,
  { limit, workerId, leaseMs, queues, afterQueue = '' }: ClaimOptions,
  watermarks: readonly Watermark[] = [],
): Promise<Claim> {
  const wanted = { limit, workerId, leaseMs, queues, afterQueue };
  return claimOf(await CLAIM.run(session, { ...wanted, ...watermarkParameters(watermarks) }), limit);
}

const CLAIM_ONE = statement<Omit<Wanted, 'limit'> & { readonly id: string }, ListedRow>(
  'claim-one',
  `
with due as materialized (
  select r.id, r.slot_keys is not null or ${isQueueLimited('q')} as is_limited
  from tock.job_runs_live r left join tock.job_queues q on q.name = r.queue
  where r.id = :id and ${isClaimable('r')} and ${isQueueOpen('q')}
  for update of r skip locked
), claimed as (
  update tock.job_runs_live r set ${startLease('r')} from due where r.id = due.id and not due.is_limited
  returning r.id, ${claimedColumns('r')}
)
select due.id, due.is_limited, ${namesOfClaimed('c')}
from due left join claimed c on c.id = due.id`,
);

/** Claims one run by its id, if it is due and its queue is open. Skips it where it is held or locked. */
export async function claimFreeRun(
  session: Session,
  id: string,
  { workerId, leaseMs }: Pick<ClaimOptions, 'workerId' | 'leaseMs'>,
): Promise<Claim> {
  return claimListed(await CLAIM_ONE.run(session, { id, workerId, leaseMs }));
}

const CLAIMABLE = statement<Pick<ClaimOptions, 'limit' | 'queues'>, { readonly id: string }>(
  'claimable-ids',
  `
with ${QUEUE_PRIORITIES}, ${openQueuePriorities(':limit::integer')}
select d.id::text as id from open o cross join lateral (
  select r.id, r.run_at from tock.job_runs_live r
  where ${liesIn('r', 'o')} and ${isClaimable('r')}
  order by r.run_at, r.id limit :limit) d
order by o.priority, d.run_at, d.id limit :limit`,
);

/** Ids of runs that could be claimed now, in the order in which they would be. Locks nothing. */
export async function readClaimable(
  session: Session,
  wanted: Pick<ClaimOptions, 'limit' | 'queues'>,
): Promise<string[]> {
  return (await CLAIMABLE.run(session, wanted)).map(row => row.id);
}
