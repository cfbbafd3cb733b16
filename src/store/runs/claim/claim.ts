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
// Priorities are walked downwards. Within one, each queue gives its share, so that a flood in one queue does
// not starve the others. A queue that gives its whole share may have more: then no later priority is taken
// with this claim.
// Within a queue and priority, due runs are walked in the order of `run_at`: future runs are never looked at.
//
// A claim can go on where the last one left off. Index entries of runs that have ended stay as long as
// a session holds an old snapshot, and walking over them with each claim would make it slower with each run
// that ends.
import type { Session } from '../../connection/database.js';
import { statement } from '../../connection/statement.js';
import { choosePositions } from './chosen-positions.js';
import { claimAfter } from './claim-in-queue.js';
import { claimAfterEach } from './claim-in-queues.js';
import { type ClaimRow, claimOf } from './claim-rows.js';
import { type ClaimedRun, claimedColumns, namesOfClaimed, startLease } from './claimed-run.js';
import { nameLimitedRuns } from './name-limited.js';
import {
  type ClaimFloor,
  type FloorParameters,
  floorParameters,
  isAboveFloor,
  isClaimable,
  isQueueLimited,
  isQueueOpen,
  liesIn,
  openQueuePriorities,
  QUEUE_PRIORITIES,
  QUEUE_PRIORITIES_ABOVE,
} from './queue-priorities.js';
import { walkedMs } from './walk.js';

/** A queue and one of the priorities that its runs have. */
export interface QueuePriority {
  readonly queue: string;
  readonly priority: number;
}

/**
 * Where a claim left off in a queue and priority: after the run with this `run_at`, as text in full, and id.
 * Both are null where it took nothing.
 */
export interface ClaimPosition extends QueuePriority {
  readonly at: string | null;
  readonly id: string | null;
  /** It gave all that it was asked for, or was not looked at because others had given enough. */
  readonly hasMore: boolean;
  /** Its queue has a limit, which each claim must read again. */
  readonly isLimited: boolean;
  /** Which of the runs that the claim saw there need a slot under a limit. */
  readonly needSlots: 'none' | 'some' | 'all';
}

export interface ClaimOptions {
  readonly limit: number;
  readonly workerId: string;
  readonly leaseMs: number;
  /** Only these; null: all that are not relayed. */
  readonly queues: readonly string[] | null;
  /** Of the queues of one priority, those whose names come after this one are first. Default: none. */
  readonly afterQueue?: string;
  /**
   * Whether a claim that continues in one queue and priority may start where those of other workers have come
   * to. Default false.
   */
  readonly fromFront?: boolean;
  /** For how many milliseconds at most it then waits for the front's lock. Default 0: it takes none. */
  readonly frontWaitMs?: number;
  /** A claim from the beginning looks above these only. Default: none. */
  readonly floors?: readonly ClaimFloor[];
}

export interface Claim {
  readonly runs: readonly ClaimedRun[];
  /** Ids of due runs that need a slot under a limit; neither claimed nor locked. */
  readonly limited: readonly string[];
  /** The queues and priorities that were looked at. */
  readonly positions: readonly ClaimPosition[];
  /** Positions in which it was not to look, because there were too many: as they were. Default: none. */
  readonly unasked?: readonly ClaimPosition[];
  /** There may be more that is due. */
  readonly hasMore: boolean;
  /**
   * For how long the server looked for due runs, in milliseconds. Null: it found none, or the claim says
   * nothing of walks, as one that continues.
   */
  readonly walkMs: number | null;
}

interface Wanted {
  readonly limit: number;
  readonly workerId: string;
  readonly leaseMs: number;
}

/**
 * Claims from the set `open`. The CTEs that lock are MATERIALIZED: the planner may otherwise run them more
 * than once, and lock more rows than LIMIT says. No join has two sides that grow with the number of queues:
 * the planner expects few, and would compare all with all.
 *
 * @param where a further condition on runs `r` of the queues and priorities `o`
 * @param order of the queues within a priority
 * @param isTimed whether the first row says how long it took to find the runs
 */
const claimFrom = (
  open: string,
  {
    where = '',
    order,
    isTimed = false,
  }: { readonly where?: string; readonly order: string; readonly isTimed?: boolean },
) => `
with ${open}, shares as materialized (
  select o.*, least(o.room, ceil(:limit::integer::numeric / o.siblings)::integer) as share,
    (row_number() over (order by o.priority, ${order}))::integer as place
  from open o order by o.priority, ${order}
), found as materialized (
  select d.id, d.run_at, o.place, o.priority, d.is_limited, o.share
  from shares o cross join lateral (
    select r.id, r.run_at, o.is_limited or r.slot_keys is not null as is_limited from tock.job_runs_live r
    where ${liesIn('r', 'o')} and ${isClaimable('r')} ${where}
    order by r.run_at, r.id
    limit o.share
    for update of r skip locked
  ) d
  limit :limit::integer
), due as materialized (
  select f.*, row_number() over () as turn, lead(f.place) over () is distinct from f.place as is_last from found f
  where f.priority <= coalesce((select min(w.priority) from (
    select f.priority from found f group by f.priority, f.place, f.share having count(*) >= f.share) w), f.priority)
), ${isTimed ? `walk as materialized (select ${walkedMs} as ms, count(*) as runs from due), ` : ''}claimed as (
  update tock.job_runs_live r set ${startLease('r')}
  where r.id = any(array(select id from due where not is_limited))${isTimed ? ' and (select w.runs from walk w) > 0' : ''}
  returning r.id, ${claimedColumns('r')}
)
select due.id, due.is_limited, ${namesOfClaimed('c')}, due.place,${isTimed ? ' case when due.turn = 1 then (select w.ms from walk w) end as walk_ms,' : ''}
  case when due.is_last then to_jsonb(due.run_at) #>> '{}' end as at,
  case when due.turn = 1 then (
    select jsonb_agg(jsonb_build_array(o.queue, o.priority, o.share, o.is_limited) order by o.place) from shares o) end as places
from due left join claimed c on c.id = due.id order by due.turn`;

const OPEN = `${QUEUE_PRIORITIES}, ${openQueuePriorities(':limit::integer')}`;
const OPEN_ABOVE = `${QUEUE_PRIORITIES_ABOVE}, ${openQueuePriorities(':limit::integer', true)}`;
/** Queues after the one that was served last come first, so that each has its turn, however few are taken. */
const IN_TURN = `o.queue <= :afterQueue collate "C", o.queue`;

interface Turn {
  readonly afterQueue: string;
}

type Unpositioned = Wanted & Turn & Pick<ClaimOptions, 'queues'>;

const CLAIM = statement<Unpositioned, ClaimRow>('claim', claimFrom(OPEN, { order: IN_TURN, isTimed: true }), {
  prepared: true,
});

const CLAIM_ABOVE = statement<Unpositioned & FloorParameters, ClaimRow>(
  'claim-above',
  claimFrom(OPEN_ABOVE, { where: `and ${isAboveFloor('r', 'o')}`, order: IN_TURN, isTimed: true }),
  { prepared: true },
);

type Positioned = Wanted &
  Record<'names' | 'times' | 'ids', readonly string[]> & { readonly priorities: readonly number[] };

// Whether a queue was paused since is not asked, for as long as a claim may go on: see
// engine/claim/claim-cursor.ts.
const claimAt = (name: string, which: '>' | '<=') => {
  const where = `and (r.run_at, r.id) ${which} (o.after_at, o.after_id)`;
  const open = `open as materialized (
  select p.*, false as is_limited, :limit::integer as room, count(*) over (partition by p.priority) as siblings
  from unnest(:names::text[], :priorities::integer[], :times::timestamptz[], :ids::bigint[])
    with ordinality as p(queue, priority, after_at, after_id, turn)
)`;
  return statement<Positioned, ClaimRow>(name, claimFrom(open, { where, order: 'o.turn' }), {
    prepared: true,
  });
};
const CLAIM_ON = claimAt('claim-on', '>');
// Beyond the positions it would lock the runs that others claim meanwhile, and their outcomes would wait.
const CLAIM_BEHIND = claimAt('claim-behind', '<=');

/**
 * Claims due runs in one statement and starts their leases; those that need a slot are only named, and count
 * towards `limit`. Runs that another claim has locked are never waited for: they are skipped, or only named.
 * @throws 55P03 where another claim has held the front for `frontWaitMs`
 * @param positions where an earlier claim left off: only what comes after them is looked at, queues of a
 * priority in the order given. Null: everything above the floors
 */
export async function claimFreeRuns(
  session: Session,
  options: ClaimOptions,
  positions: readonly ClaimPosition[] | null = null,
): Promise<Claim> {
  const { limit, workerId, leaseMs, queues, afterQueue = '', floors = [] } = options;
  const wanted = { limit, workerId, leaseMs };
  if (positions === null) {
    const unpositioned = { ...wanted, queues, afterQueue };
    const rows =
      floors.length === 0
        ? await CLAIM.run(session, unpositioned)
        : await CLAIM_ABOVE.run(session, { ...unpositioned, ...floorParameters(floors) });
    return claimOf(rows, limit);
  }
  const [position] = positions;
  if (position?.needSlots === 'none' && positions.length === 1)
    return await claimAfter(session, options, position);
  const named =
    position?.needSlots === 'all' && positions.length === 1
      ? await nameLimitedRuns(session, limit, position)
      : null;
  if (named !== null) return named;
  const { asked, unasked } = choosePositions(positions);
  const claim = asked.every(each => each.needSlots === 'none')
    ? await claimAfterEach(session, wanted, asked)
    : claimOf(await CLAIM_ON.run(session, { ...wanted, ...parametersOf(asked) }), limit);
  return unasked.length === 0 ? claim : { ...claim, unasked, hasMore: true };
}

/**
 * Claims due runs that were left behind these positions: given back, enqueued by a transaction that was
 * committed late, or passed over because they need a slot.
 */
export async function claimRunsBehind(
  session: Session,
  { limit, workerId, leaseMs }: ClaimOptions,
  positions: readonly ClaimPosition[],
): Promise<Claim> {
  const wanted = { limit, workerId, leaseMs };
  return claimOf(await CLAIM_BEHIND.run(session, { ...wanted, ...parametersOf(positions) }), limit);
}

const parametersOf = (positions: readonly ClaimPosition[]) => ({
  names: positions.map(each => each.queue),
  priorities: positions.map(each => each.priority),
  times: positions.map(each => each.at ?? '-infinity'),
  ids: positions.map(each => each.id ?? '0'),
});

const CLAIM_ONE = statement<Omit<Wanted, 'limit'> & { readonly id: string }, ClaimRow>(
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
select due.id, due.is_limited, ${namesOfClaimed('c')}, null as place, null as at, null as places
from due left join claimed c on c.id = due.id`,
);

/** Claims one run by its id, if it is due and its queue is open. Skips it where it is held or locked. */
export async function claimFreeRun(
  session: Session,
  id: string,
  { workerId, leaseMs }: Pick<ClaimOptions, 'workerId' | 'leaseMs'>,
): Promise<Claim> {
  return claimOf(await CLAIM_ONE.run(session, { id, workerId, leaseMs }), 1);
}

const CLAIMABLE = statement<Pick<ClaimOptions, 'limit' | 'queues'>, { readonly id: string }>(
  'claimable-ids',
  `
with ${OPEN}
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
