// The claim in one queue and priority, as most backlogs are: at a third of the cost.
import type { Session } from '../../connection/database.js';
import { statement } from '../../connection/statement.js';
import type { Claim, ClaimOptions, ClaimPosition, QueuePriority } from './claim.js';
import { type ClaimedRow, claimedColumns, claimedRun, sortedAs, startLease } from './claimed-run.js';
import { isClaimable } from './queue-priorities.js';

type Wanted = Pick<ClaimOptions, 'limit' | 'workerId' | 'leaseMs'> & QueuePriority;
/** One row of a claim carries, for all of them, the ids in their order and the `run_at` of the last. */
type Row = ClaimedRow & { readonly turns: string | null; readonly at: string | null };

// The ids go to the update as an array: the planner answers a join by reading the whole table. So rows come
// back in any order. The time is written as JSON has it, whatever style of dates this session, or that of the
// next claim, has.
const claimWhere = (where: string) => `
with due as materialized (
  select r.id, r.run_at from tock.job_runs_live r
  where r.queue = :queue and r.priority = :priority and ${isClaimable('r')} and r.slot_keys is null and ${where}
  order by r.run_at, r.id
  limit :limit::integer
  for update of r skip locked
), turns as materialized (
  select array_agg(id)::text as ids, to_jsonb(max(run_at)) #>> '{}' as at, min(id) as carrier from due
)
update tock.job_runs_live r set ${startLease('r')}
where r.id = any(array(select id from due))
returning r.id, ${claimedColumns('r')},
  case when r.id = (select carrier from turns) then (select ids from turns) end as turns,
  case when r.id = (select carrier from turns) then (select at from turns) end as at`;

const CLAIM_AFTER = statement<Wanted & { readonly afterAt: string; readonly afterId: string }, Row>(
  'claim-after',
  claimWhere('(r.run_at, r.id) > (:afterAt::timestamptz, :afterId::bigint)'),
  {
    prepared: true,
  },
);

// The queue was not looked at: if it has no row of its own, it is open and has no limit.
const CLAIM_NOTIFIED = statement<Wanted, Row>(
  'claim-notified',
  claimWhere('not exists (select from tock.job_queues q where q.name = :queue)'),
  { prepared: true },
);

/** Claims due runs after a position, of a queue that has no limit. */
export async function claimAfter(
  session: Session,
  { limit, workerId, leaseMs }: Pick<ClaimOptions, 'limit' | 'workerId' | 'leaseMs'>,
  position: ClaimPosition,
): Promise<Claim> {
  const { queue, priority, at, id } = position;
  const after = { afterAt: at ?? '-infinity', afterId: id ?? '0' };
  const rows = await CLAIM_AFTER.run(session, { limit, workerId, leaseMs, queue, priority, ...after });
  return claimOf(rows, limit, position);
}

/**
 * Claims due runs of a queue and priority in which a notification says that there is a new one, from its
 * beginning.
 * Nothing where the queue has settings of its own, and nothing that needs a slot.
 */
export async function claimNotifiedRuns(
  session: Session,
  { limit, workerId, leaseMs }: ClaimOptions,
  { queue, priority }: QueuePriority,
): Promise<Claim> {
  const rows = await CLAIM_NOTIFIED.run(session, { limit, workerId, leaseMs, queue, priority });
  const unread = { queue, priority, at: null, id: null, hasMore: false, isLimited: false, isPlain: true };
  return claimOf(rows, limit, unread);
}

function claimOf(rows: readonly Row[], limit: number, position: ClaimPosition): Claim {
  const carrier = rows.find(row => row.turns !== null);
  const ids = carrier?.turns?.slice(1, -1).split(',') ?? [];
  const hasMore = rows.length >= limit;
  return {
    runs: sortedAs(rows.map(claimedRun), ids),
    limited: [],
    positions: carrier ? [{ ...position, at: carrier.at, id: ids.at(-1) ?? null, hasMore }] : [],
    hasMore,
  };
}
