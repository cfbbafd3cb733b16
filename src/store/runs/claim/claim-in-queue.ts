// The claim in one queue and priority, as most backlogs are: at a third of the cost.
import type { Session } from '../../connection/database.js';
import { hidden, statement } from '../../connection/statement.js';
import type { Claim, ClaimOptions, ClaimPosition, QueuePriority } from './claim.js';
import { type ClaimedRow, claimedColumns, claimedRun, sortedAs, startLease } from './claimed-run.js';
import { type ClaimFloor, isClaimable } from './queue-priorities.js';
import { walkedMs } from './walk.js';

// Workers that drain one queue and priority together would each walk over what the others have claimed. So a
// claim that continues starts where any of them has come to: the front. It is a hint, kept in three
// sequences, which are read and set outside of transactions. A hash says whether they belong together, and to
// this queue and priority. A front that is too far ahead, left by a statement that failed or before the clock
// was set back, hides runs until the next claim from the beginning, as every position does.
//
// Claims that begin at the same time would still walk over the runs that the others are locking. So a claim
// may take the front's lock, and hold it until it is committed.

type Wanted = Pick<ClaimOptions, 'limit' | 'workerId' | 'leaseMs'> & QueuePriority;
interface After extends Wanted {
  readonly afterAt: string;
  readonly afterId: string;
}
interface FromFront extends After {
  readonly frontWaitMs: number;
}
/** One row of a claim carries, for all of them, the ids in their order and the `run_at` of the last. */
type Row = ClaimedRow & {
  readonly turns: string | null;
  readonly at: string | null;
  readonly walk_ms?: number | null;
};

interface Parts {
  /** CTEs before the one that finds runs. */
  readonly first?: string;
  readonly where: string;
  /** CTEs after `turns`, which a column of `turns` must read to be executed. */
  readonly last?: string;
  /** Whether it says how long it took to find the runs. */
  readonly isTimed?: boolean;
}

/** The most runs of one claim, as a number that the planner sees: so it knows that a claim is short. */
export const MAX_CLAIMED = 2000;

// The ids go to the update as an array: the planner answers a join by reading the whole table. So rows come
// back in any order. The time is written as JSON has it, whatever style of dates this session, or that of the
// next claim, has.
const claimWhere = ({ first = '', where, last = '', isTimed = false }: Parts) => `
with ${first}due as materialized (
  select d.id, d.run_at from (
    select r.id, r.run_at from tock.job_runs_live r
    where r.queue = ${hidden('queue', 'text')} and r.priority = ${hidden('priority', 'integer')}
      and ${isClaimable('r')} and r.slot_keys is null and ${where}
    order by r.run_at, r.id
    limit ${MAX_CLAIMED}
    for update of r skip locked
  ) d
  limit ${hidden('limit', 'integer')}
)${last}, turns as materialized (
  select array_agg(id)::text as ids, to_jsonb(max(run_at)) #>> '{}' as at, min(id) as carrier${last === '' ? '' : ', (select count(*) from front_moved)'}${isTimed ? `, ${walkedMs} as walk_ms` : ''} from due
)
update tock.job_runs_live r set ${startLease('r')}
where r.id = any(array(select id from due))
returning r.id, ${claimedColumns('r')},
  case when r.id = (select carrier from turns) then (select ids from turns) end as turns,
  case when r.id = (select carrier from turns) then (select at from turns) end as at${isTimed ? ',\n  (select walk_ms from turns) as walk_ms' : ''}`;

const CLAIM_AFTER = statement<After, Row>(
  'claim-after',
  claimWhere({
    where: `(r.run_at, r.id) > (${hidden('afterAt', 'timestamptz')}, ${hidden('afterId', 'bigint')})`,
  }),
  { prepared: true },
);

const frontHash = (at: string, id: string) =>
  `hashtextextended(:priority::integer || ' ' || ${at} || ' ' || ${id} || ' ' || :queue::text, 0)`;

// Intervals are multiplied in floating point, which may have no exact count of microseconds for a time before
// 2000.
//
// The front must be read after its lock is taken: so the subquery refers to the lock, and OFFSET keeps the
// planner from moving it. The snapshot is older, but what others have claimed meanwhile lies behind the
// front.
const CLAIM_FROM_FRONT = statement<FromFront, Row>(
  'claim-from-front',
  claimWhere({
    first: `front_lock as materialized (
  select case when :frontWaitMs::integer > 0 and set_config('lock_timeout', (:frontWaitMs::integer)::text, true) is not null
    then pg_advisory_xact_lock(hashtextextended('tock.front:' || :priority::integer || ' ' || :queue::text, 0))::text end as held
), start as materialized (
  select s.at, s.id from (
    select :afterAt::timestamptz as at, :afterId::bigint as id
    union all
    select f.at, f.id from front_lock l, lateral (
      select timestamptz 'epoch' + t.last_value * interval '1 microsecond' as at, i.last_value as id
      from tock.claim_front_at t, tock.claim_front_id i, tock.claim_front_check c
      where c.last_value = ${frontHash('t.last_value', 'i.last_value')} and l.held is distinct from 'no'
      offset 0
    ) f
  ) s order by s.at desc, s.id desc limit 1
), `,
    where: '(r.run_at, r.id) > ((select at from start), (select id from start))',
    last: `, front as materialized (
  select (extract(epoch from d.run_at) * 1000000)::bigint as at, d.id from due d
  where d.run_at >= timestamptz '2000-01-01Z' order by d.run_at desc, d.id desc limit 1
), front_moved as materialized (
  select setval('tock.claim_front_at', f.at), setval('tock.claim_front_id', f.id),
    setval('tock.claim_front_check', ${frontHash('f.at', 'f.id')})
  from front f
)`,
  }),
  { prepared: true },
);

// The queue was not looked at: if it has no row of its own, it is open and has no limit.
const CLAIM_NOTIFIED = statement<Wanted & { readonly floorAt: string }, Row>(
  'claim-notified',
  claimWhere({
    where: `r.run_at >= ${hidden('floorAt', 'timestamptz')} and not exists (select from tock.job_queues q where q.name = :queue)`,
    isTimed: true,
  }),
  { prepared: true },
);

type ContinuedOptions = Pick<ClaimOptions, 'limit' | 'workerId' | 'leaseMs' | 'fromFront' | 'frontWaitMs'>;

/**
 * Claims due runs after a position, of a queue that has no limit.
 *
 * Locks the runs, and with `frontWaitMs` above 0 first the front of the queue and priority, by an advisory
 * lock of the transaction.
 *
 * @param fromFront starts where the claims of all workers have come to, if that is further on, and moves it
 * @throws 55P03 where another claim has held the front for longer than `frontWaitMs`
 */
export async function claimAfter(
  session: Session,
  { limit, workerId, leaseMs, fromFront = false, frontWaitMs = 0 }: ContinuedOptions,
  position: ClaimPosition,
): Promise<Claim> {
  const { queue, priority, at, id } = position;
  const after = { afterAt: at ?? '-infinity', afterId: id ?? '0' };
  const most = Math.min(limit, MAX_CLAIMED);
  const wanted = { limit: most, workerId, leaseMs, queue, priority, ...after };
  const rows = await (fromFront
    ? CLAIM_FROM_FRONT.run(session, { ...wanted, frontWaitMs })
    : CLAIM_AFTER.run(session, wanted));
  return claimOf(rows, most, position);
}

/**
 * Claims due runs of a queue and priority in which a notification says that there is a new one, from its
 * beginning, or from its floor.
 * Nothing where the queue has settings of its own, and nothing that needs a slot.
 */
export async function claimNotifiedRuns(
  session: Session,
  { limit, workerId, leaseMs }: ClaimOptions,
  { queue, priority }: QueuePriority,
  floor?: ClaimFloor,
): Promise<Claim> {
  const floorAt = floor?.at ?? '-infinity';
  const most = Math.min(limit, MAX_CLAIMED);
  const rows = await CLAIM_NOTIFIED.run(session, {
    limit: most,
    workerId,
    leaseMs,
    queue,
    priority,
    floorAt,
  });
  const unread = {
    queue,
    priority,
    at: null,
    id: null,
    hasMore: false,
    isLimited: false,
    needSlots: 'none' as const,
  };
  return claimOf(rows, most, unread);
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
    walkMs: carrier?.walk_ms ?? null,
  };
}
