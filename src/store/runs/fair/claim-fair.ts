// Claims runs of fair keys: which key is served next, and how many of its runs, see docs/adr/0070.
//
//   key   tag    weight   waiting              a claim of 4 takes        tags after it
//   17    10.0   1        200                  17: 2 runs                12.0
//   23    10.0   2        10                   23: 2 runs                11.0     is next
//
// Tags are compared within a queue, or a job that has a key of its own. These share the room, in any order.
//
// Runs that also need a slot of their job get their turn only if none of them waits for such a slot: there
// they stand in the order in which they came, and those of a large key would pass the others. Until then they
// are passed over, and so are runs that another transaction has locked.
//
// The rows of the keys are locked, and passed over where another claim has them: so rates hold over all
// hosts.
import type { Session } from '../../connection/database.js';
import { opaqueToPlanner, statement } from '../../connection/statement.js';
import { type Claim, type ClaimOptions, claimListed, type ListedRow } from '../claim/claim.js';
import { claimedColumns, namesOfClaimed, startLease } from '../claim/claimed-run.js';
import { isClaimable, isDue, isQueueLimited } from '../claim/queue-lanes.js';
import { firstStart, tokensSince } from '../claim/queue-tokens.js';
import { isStrict, joinScope, rateBurst, rateStep, slotLimit, startTag, tagAgain } from './arrive.js';
import { isOpenHere, queueRoom, READY_SCOPES } from './ready.js';

interface Parameters extends Required<Omit<ClaimOptions, 'afterQueue'>> {
  /** The fewest keys that it looks at in a queue, if so many are ready. */
  readonly keys: number;
}

interface Row extends Omit<ListedRow, 'id'> {
  /** Null: the row only carries the other columns. */
  readonly id: string | null;
  readonly has_more: boolean;
  readonly next_ms: number | null;
}

/** A key without a free slot is looked at again after this time, if nobody says sooner that one is free. */
const FULL_MS = 5000;

/** A key all of whose due runs were passed over is looked at again after this time, if not sooner. */
const PASSED_OVER_MS = 1000;

/** One whose order is strict, and whose run waits, is looked at again when it is due, or after this time. */
const STRICT_MS = 60_000;

/** A large claim takes several runs of a key in one turn, this part of all: so it writes few rows of keys. */
const TURNS = 32;

/** The most keys that a claim looks at in a queue: it may not need them. */
const MOST_KEYS = 4 * TURNS;

/** The most runs of a key that are passed over in one turn: those behind them wait. */
const MOST_PASSED_OVER = 100;

/**
 * Whether nobody has claimed under a key since this statement began: the row that it has locked may be newer
 * than what it sees of the slots.
 */
const isAsSeen = (key: string) =>
  `exists (select from tock.fair_keys n where n.name = ${key}.name and n.tag = ${key}.tag and n.arrivals = ${key}.arrivals)`;

/** Whether no other run of its queue waits for the slot that a run needs of its job, if it needs one. */
const isNotHeld = (run: string) => `case when ${run}.slot_keys[2] like 'job:%'
          then (select true from tock.job_runs_live o where o.blocked_on = ${run}.slot_keys[2] and o.queue = ${run}.queue order by o.priority limit 1) is null
            and (select true from tock.job_runs_live o where o.unblocked_on = ${run}.slot_keys[2] and o.queue = ${run}.queue and ${isClaimable('o')} order by o.priority limit 1) is null
          else true end`;

const LIMIT = opaqueToPlanner('limit', 'integer');
const KEYS = opaqueToPlanner('keys', 'integer');

const CLAIM = statement<Parameters, Row>(
  'claim-fair',
  `
with recursive ${READY_SCOPES}, due as materialized (
  select k.* from tock.fair_keys k left join tock.job_queues q on q.name = k.queue
  where not k.is_ready and k.ready_at <= tock.now() and ${isOpenHere('k')}
  order by k.ready_at limit greatest(${LIMIT}, ${KEYS}) for no key update of k skip locked
), open_scopes as materialized (
  select s.queue, s.job, row_number() over (order by random())::integer as scope, f.slot_limit, f.rate_count, f.rate_period_ms, f.rate_burst,
    ${isQueueLimited('q')} as is_limited, least(${queueRoom('q')}, greatest(1, ceil(${LIMIT}::float8 / count(*) over ())))::integer as room
  from (select queue, job from ready_scopes union select queue, job from due) s left join tock.job_queues q on q.name = s.queue
  ${joinScope('s')}
  where ${isOpenHere('s')}
), ready as materialized (
  select k.* from open_scopes s cross join lateral (
    select k.* from tock.fair_keys k where k.queue = s.queue and k.job = s.job and k.is_ready
    order by k.tag, k.name limit least(greatest(s.room, ${KEYS}), ${MOST_KEYS}) for no key update skip locked) k
), visited as materialized (
  select s.scope, s.is_limited, s.room, k.is_ready as was_ready, k.name, k.queue, k.job, ${tagAgain('k', startTag('k.queue', 'k.job'))} as tag,
    k.arrivals, k.rate_next_at, coalesce(o.weight, 1) as weight, ${slotLimit('k.name', 's')} as slot_limit,
    case when ${slotLimit('k.name', 's')} is not null then ${isAsSeen('k')} else true end as is_as_seen,
    h.id as holder, h.status = 'running' as is_running, h.run_at as held_until,
    ${rateStep('s')} as step, ${rateBurst('s')} as burst
  from (select * from ready union all select * from due) k join open_scopes s on s.queue = k.queue and s.job = k.job
  left join tock.key_settings o on o.key = k.key
  left join lateral (select h.id, h.status, h.run_at from (
      select s.run_id from tock.job_slots s where s.concurrency_key = k.name
      union all
      select u.id from tock.job_runs_live u where u.unblocked_on = k.name and u.blocked_on is null and u.status <> 'running'
    ) first join tock.job_runs_live h on h.id = first.run_id where ${isStrict('k.name')} limit 1) h on true
), allowed as materialized (
  select v.*, row_number() over (order by v.scope, v.tag, v.name) as place, b.first_at, b.quantum, least(
    greatest(b.quantum, ceil(v.room * v.weight / sum(v.weight) over (partition by v.scope)))::integer,
    case when v.step is not null then ${tokensSince('b.first_at', 'v.step')} end,
    case when v.slot_limit is null then null when v.holder is not null then 1 when v.is_as_seen
      then greatest(0, v.slot_limit - (select count(*) from tock.job_slots s where s.concurrency_key = v.name))::integer else 0 end
  ) as quota
  from visited v cross join lateral (
    select greatest(1, floor(v.room * least(v.weight, 8) / ${TURNS})) as quantum,
      ${firstStart('v.rate_next_at', 'v.step', 'v.burst')} as first_at) b
  order by place
), found as materialized (
  select f.* from open_scopes s cross join lateral (
    select a.scope, a.place, a.name, a.tag, a.quantum, a.weight, a.is_limited or cardinality(r.slot_keys) > 1 or r.id is not distinct from a.holder as needs_admission, r.*
    from allowed a cross join lateral (
      select r.* from (
        select c.id, c.queue, c.slot_keys from tock.job_runs_live c
        where c.blocked_on = a.name and c.queue = a.queue and ${isDue('c')} and coalesce(c.id = a.holder, true)
        order by c.priority, c.run_at, c.id limit a.quota + ${MOST_PASSED_OVER}) c
      cross join lateral (
        select r.id, r.priority, r.run_at, r.fence, r.slot_keys from tock.job_runs_live r
        where r.id = c.id and coalesce(r.blocked_on, '') = a.name and ${isDue('r')} for update of r skip locked) r
      where ${isNotHeld('c')} limit a.quota) r
    where a.scope = s.scope limit s.room) f
  limit ${LIMIT}
), taken as materialized (
  select f.*, f.tag + floor((f.turn - 1)::float8 / f.quantum) * f.quantum / f.weight as at_tag
  from (select f.*, row_number() over (partition by f.place order by f.priority, f.run_at, f.id) as turn from found f) f
), taken_ids as materialized (
  select array(select t.id from taken t) as ids
), ends as materialized (
  select t.scope, count(*) as taken, max(t.place) as place from taken t group by t.scope
), counts as materialized (
  select a.*, coalesce(t.taken, 0) as taken, coalesce(t.started, 0) as started, coalesce(a.place <= b.place, true) as is_reached,
    coalesce(a.place < b.place, true) and coalesce(t.taken, 0) < a.quota as is_exhausted
  from allowed a left join (
    select t.place, count(*) as taken, count(*) filter (where not t.needs_admission) as started from taken t group by t.place) t on t.place = a.place
  left join ends e on e.scope = a.scope
  cross join lateral (select least(case when e.taken >= a.room then e.place end,
    case when (select sum(e.taken) from ends e) >= ${LIMIT} then (select max(e.place) from ends e) end) as place) b
), rests as materialized (
  select c.*, l.other_key,
    case when c.is_reached and c.step is not null then c.first_at + c.started * c.step * interval '1 millisecond' end as next_at,
    case when l.run_at > tock.now() then (
      select min(r.run_at) from tock.job_runs_live r where r.blocked_on = c.name and r.queue = c.queue and r.id <> all((select t.ids from taken_ids t)::bigint[]))
      else l.run_at end as rest_at,
    c.is_reached and c.slot_limit is not null and c.slot_limit <= c.taken + (select count(*) from tock.job_slots s where s.concurrency_key = c.name) as is_full,
    (select n.arrivals from tock.fair_keys n where n.name = c.name) = c.arrivals as has_seen_all
  from counts c left join lateral (
    select r.run_at, case when r.slot_keys[2] like 'job:%' then r.slot_keys[2] end as other_key from tock.job_runs_live r
    where c.is_exhausted and r.blocked_on = c.name and r.queue = c.queue and r.id <> all((select t.ids from taken_ids t)::bigint[])
    order by r.priority, r.run_at, r.id limit 1) l on true
), again as materialized (
  select r.*, r.is_exhausted and r.rest_at is null and r.has_seen_all as is_empty,
    case when r.is_exhausted and r.rest_at <= tock.now() and r.has_seen_all then r.other_key end as held_on,
    case when r.holder is not null and r.is_exhausted then case when r.has_seen_all then greatest(r.next_at, tock.now() + interval '${FULL_MS} milliseconds',
        case when not r.is_running then least(r.held_until, tock.now() + interval '${STRICT_MS} milliseconds') end) else r.next_at end
      when r.is_exhausted and r.has_seen_all then greatest(r.next_at,
        case when r.rest_at <= tock.now() then tock.now() + interval '${PASSED_OVER_MS} milliseconds' else r.rest_at end)
      when r.is_full and r.is_as_seen then greatest(tock.now() + interval '${FULL_MS} milliseconds', r.next_at)
      else r.next_at end as again_at
  from rests r
), decided as materialized (
  select a.*, not a.is_empty and coalesce(a.again_at <= tock.now(), true) as is_ready from again a
), served as (
  update tock.fair_keys k set tag = d.tag + d.taken / d.weight, rate_next_at = coalesce(d.next_at, k.rate_next_at),
    is_ready = d.is_ready, ready_at = case when not d.is_empty and not d.is_ready then d.again_at end, held_on = d.held_on
  from decided d where k.name = d.name and (d.taken > 0 or not d.is_ready or not d.was_ready)
), free_slots as materialized (
  select d.name, array(select f.slot from generate_series(1, d.slot_limit) f(slot)
    where not exists (select from tock.job_slots s where s.concurrency_key = d.name and s.slot = f.slot) order by 1) as slots
  from decided d where d.slot_limit is not null and d.taken > 0
), slots as (
  insert into tock.job_slots (concurrency_key, slot, run_id, fence)
  select t.name, f.slots[row_number() over (partition by t.name order by t.turn)], t.id, t.fence + 1
  from taken t join free_slots f on f.name = t.name where not t.needs_admission order by 1, 2
), unblocked as (
  update tock.job_runs_live r set blocked_on = null, unblocked_on = r.blocked_on
  where r.id = any(array(select t.id from taken t where t.needs_admission))
), claimed as (
  update tock.job_runs_live r set blocked_on = null, ${startLease('r')}
  where r.id = any(array(select t.id from taken t where not t.needs_admission))
  returning r.id, ${claimedColumns('r')}
)
select t.id, t.needs_admission, ${namesOfClaimed('l')},
  exists (select from decided d where d.is_ready) or (select count(*) from due) >= greatest(${LIMIT}, ${KEYS})
    or exists (select from visited v group by v.scope having count(*) >= least(greatest(max(v.room), ${KEYS}), ${MOST_KEYS})) as has_more,
  (extract(epoch from least((select min(d.again_at) from decided d where not d.is_empty and not d.is_ready),
    (select min(k.ready_at) from tock.fair_keys k where not k.is_ready and k.ready_at > tock.now())) - tock.now()) * 1000)::float8 as next_ms
from (values (1)) one left join taken t on true left join claimed l on l.id = t.id
order by row_number() over (partition by t.scope order by t.at_tag, t.name, t.turn), t.scope`,
  { prepared: true },
);

export interface FairClaim extends Claim {
  /** When a key may be served again that may not now, in milliseconds; null: none waits for a time. */
  readonly nextMs: number | null;
}

/**
 * Claims due runs of fair keys and starts their leases. Runs that need admission are unblocked and only
 * named. Keys and runs that are locked are passed over.
 */
export async function claimFair(session: Session, options: ClaimOptions): Promise<FairClaim> {
  const claim = await claimOf(session, options, 1);
  const isVain = claim.runs.length + claim.needsAdmission.length === 0;
  // There may be thousands of keys that nothing of can start now.
  return isVain && claim.hasMore ? await claimOf(session, options, MOST_KEYS) : claim;
}

async function claimOf(
  session: Session,
  { limit, workerId, leaseMs, queues, ownService = '' }: ClaimOptions,
  keys: number,
): Promise<FairClaim> {
  const rows = await CLAIM.run(session, { limit, workerId, leaseMs, queues, ownService, keys });
  const [first] = rows;
  const listed = rows.filter((row): row is Row & ListedRow => row.id !== null);
  return { ...claimListed(listed), hasMore: first?.has_more === true, nextMs: first?.next_ms ?? null };
}
