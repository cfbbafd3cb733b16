// The claim that continues in several queues and priorities where no run needs a slot.
import type { Session } from '../../connection/database.js';
import { statement } from '../../connection/statement.js';
import type { Claim, ClaimOptions, ClaimPosition } from './claim.js';
import { type ClaimedRow, claimedColumns, claimedRun, sortedAs, startLease } from './claimed-run.js';
import { isClaimable, liesIn } from './queue-priorities.js';

interface Params extends Pick<ClaimOptions, 'limit' | 'workerId' | 'leaseMs'> {
  readonly names: readonly string[];
  readonly priorities: readonly number[];
  readonly times: readonly string[];
  readonly ids: readonly string[];
}

/** One row of a claim carries, for all of them, the ids in their order and what each place gave. */
type Row = ClaimedRow & { readonly turns: string | null; readonly places: readonly Place[] | null };
/** `turn`: from 1, among the positions. `at`: of its last run, as JSON has it. */
type Place = readonly [turn: number, count: number, isFull: boolean, at: string];

// As claim-in-queue.ts does, rows come back in any order, and one carries what is known of all. The order of
// `found` is that of its nested loop.
export const CLAIM_PLAIN_ON = statement<Params, Row>(
  'claim-plain-on',
  `
with open as materialized (
  select p.*, ceil(:limit::integer::numeric / count(*) over (partition by p.priority))::integer as share
  from unnest(:names::text[], :priorities::integer[], :times::timestamptz[], :ids::bigint[])
    with ordinality as p(queue, priority, after_at, after_id, turn)
  order by p.priority, p.turn
), found as materialized (
  select d.id, d.run_at, o.turn, o.priority, o.share
  from open o cross join lateral (
    select r.id, r.run_at from tock.job_runs_live r
    where ${liesIn('r', 'o')} and ${isClaimable('r')} and r.slot_keys is null and (r.run_at, r.id) > (o.after_at, o.after_id)
    order by r.run_at, r.id
    limit o.share
    for update of r skip locked
  ) d
  limit :limit::integer
), taken as materialized (
  select f.priority, f.turn, count(*) as count, count(*) >= f.share as is_full, max(f.run_at) as at
  from found f group by f.priority, f.turn, f.share
), due as materialized (
  select f.id from found f
  where f.priority <= coalesce((select min(t.priority) from taken t where t.is_full), f.priority)
), carried as materialized (
  select array_agg(d.id)::text as turns, min(d.id) as carrier, (
    select json_agg(json_build_array(t.turn, t.count, t.is_full, t.at) order by t.priority, t.turn) from taken t) as places
  from due d
)
update tock.job_runs_live r set ${startLease('r')}
where r.id = any(array(select id from due))
returning r.id, ${claimedColumns('r')},
  case when r.id = (select carrier from carried) then (select turns from carried) end as turns,
  case when r.id = (select carrier from carried) then (select places from carried) end as places`,
  { prepared: true },
);

/**
 * Claims due runs after each of these positions, none of which has a limit; those of a priority give about
 * equally many. Nothing that needs a slot.
 */
export async function claimAfterEach(
  session: Session,
  { limit, workerId, leaseMs }: Pick<ClaimOptions, 'limit' | 'workerId' | 'leaseMs'>,
  positions: readonly ClaimPosition[],
): Promise<Claim> {
  const rows = await CLAIM_PLAIN_ON.run(session, {
    limit,
    workerId,
    leaseMs,
    names: positions.map(each => each.queue),
    priorities: positions.map(each => each.priority),
    times: positions.map(each => each.at ?? '-infinity'),
    ids: positions.map(each => each.id ?? '0'),
  });
  const carrier = rows.find(row => row.turns !== null);
  const ids = carrier?.turns?.slice(1, -1).split(',') ?? [];
  const after = positionsAfter(positions, carrier?.places ?? [], ids, limit);
  return {
    runs: sortedAs(rows.map(claimedRun), ids),
    limited: [],
    positions: after,
    hasMore: after.some(position => position.hasMore),
    walkMs: null,
  };
}

function positionsAfter(
  positions: readonly ClaimPosition[],
  places: readonly Place[],
  ids: readonly string[],
  limit: number,
): ClaimPosition[] {
  const taken = new Map<number, Pick<ClaimPosition, 'at' | 'id' | 'hasMore'>>();
  let end = 0;
  for (const [turn, count, isFull, at] of places) {
    if (end === ids.length) break;
    end += count;
    taken.set(turn, { at, id: ids[end - 1] ?? null, hasMore: isFull });
  }
  // With enough runs the claim went no further: the last place may have more, and others of its priority were
  // not looked at.
  const last = ids.length >= limit ? [...taken.keys()].at(-1) : undefined;
  const lastPriority = last === undefined ? undefined : positions[last - 1]?.priority;
  return [...positions]
    .map((position, index) => ({ position, turn: index + 1 }))
    .sort((a, b) => a.position.priority - b.position.priority || a.turn - b.turn)
    .map(({ position, turn }) => {
      const isUnread = last !== undefined && turn > last && position.priority === lastPriority;
      const { at, id, hasMore } = taken.get(turn) ?? { at: null, id: null, hasMore: isUnread };
      return { ...position, at, id, hasMore: hasMore || turn === last };
    });
}
