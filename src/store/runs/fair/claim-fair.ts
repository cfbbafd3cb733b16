// Claims runs of fair keys: which key is served next, and how many of its runs, see docs/adr/0070.
//
//   key   tag    weight   waiting              a claim of 4 takes        tags after it
//   17    10.0   1        200                  17: 2 runs                12.0
//   23    10.0   2        10                   23: 2 runs                11.0     is next
//
// Runs that also need a slot of their job get their turn only if none of them waits for such a slot: there
// they stand in the order in which they came, and those of a large key would pass the others.
//
// The rows of the keys are locked, and passed over where another claim has them: so rates hold over all
// hosts.
import type { Session } from '../../connection/database.js';
import { opaqueToPlanner, statement } from '../../connection/statement.js';
import { type Claim, type ClaimOptions, claimListed, type ListedRow } from '../claim/claim.js';
import { claimedColumns, namesOfClaimed, startLease } from '../claim/claimed-run.js';
import { isQueueLimited } from '../claim/queue-lanes.js';
import { firstStart, tokensSince } from '../claim/queue-tokens.js';
import { statuses } from '../transition.js';
import { isStrict, joinScope, rateBurst, rateStep, slotLimit, startTag, tagAgain } from './arrive.js';
import { isOpenHere, queueRoom, READY_SCOPES } from './ready.js';

type Parameters = Pick<ClaimOptions, 'limit' | 'workerId' | 'leaseMs' | 'queues'>;

interface Row extends Omit<ListedRow, 'id'> {
  /** Null: the row only carries the other columns. */
  readonly id: string | null;
  readonly has_more: boolean;
  readonly next_ms: number | null;
}

/** A key without a free slot is looked at again after this time, if nobody says sooner that one is free. */
const FULL_MS = 5000;

/** A key whose runs would only wait under another limit is looked at again after this time, if not sooner. */
const HELD_MS = 1000;

/** One whose order is strict, and whose run waits, is looked at again when it is due, or after this time. */
const STRICT_MS = 60_000;

/** A large claim takes several runs of a key in one turn, this part of all: so it writes few rows of keys. */
const TURNS = 32;

/** The most keys that a claim looks at in a queue: it reads the runs of each, and may not need them. */
const MOST_KEYS = 4 * TURNS;

/**
 * Whether nobody has claimed under a key since this statement began: the row that it has locked may be newer
 * than what it sees of the slots.
 */
const isAsSeen = (key: string) =>
  `exists (select from tock.fair_keys n where n.name = ${key}.name and n.tag = ${key}.tag and n.arrivals = ${key}.arrivals)`;

/**
 * Whether a run is due under the key for which it was chosen: it may have been replaced, or edited, since. So
 * written that it is found by its id, and not among all that are blocked.
 */
const isAsChosen = (run: string) =>
  `coalesce(${run}.blocked_on, '') = (select jsonb_object_agg(c.id, c.name) from chosen c) ->> ${run}.id::text and ${run}.run_at <= tock.now()`;

/** Other transactions have all runs that were chosen: to claim at once again would find the same. */
const IS_LOCKED_OUT = '(exists (select from chosen) and not exists (select from locked))';

const CLAIM = statement<Parameters, Row>(
  'claim-fair',
  `
with recursive ${READY_SCOPES}, due as materialized (
  select k.* from tock.fair_keys k left join tock.job_queues q on q.name = k.queue
  where not k.is_ready and k.ready_at <= tock.now() and ${isOpenHere('k')}
  order by k.ready_at limit ${opaqueToPlanner('limit', 'integer')} for no key update of k skip locked
), open_scopes as materialized (
  select s.queue, s.job, ${isQueueLimited('q')} as is_limited, f.slot_limit, f.rate_count, f.rate_period_ms, f.rate_burst,
    least(${queueRoom('q')}, greatest(1, ceil(${opaqueToPlanner('limit', 'integer')}::float8 / count(*) over ())))::integer as room
  from (select queue, job from ready_scopes union select queue, job from due) s left join tock.job_queues q on q.name = s.queue
  ${joinScope('s')}
  where ${isOpenHere('s')}
), ready as materialized (
  select k.* from open_scopes s cross join lateral (
    select k.* from tock.fair_keys k where k.queue = s.queue and k.job = s.job and k.is_ready
    order by k.tag, k.name limit least(s.room, ${MOST_KEYS}) for no key update skip locked) k
), visited as materialized (
  select s.is_limited, s.room, k.is_ready as was_ready, k.name, k.queue, k.job, ${tagAgain('k', startTag('k.queue', 'k.job'))} as tag,
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
  select v.*, b.first_at, b.quantum, least(
    greatest(b.quantum, ceil(v.room * v.weight / sum(v.weight) over (partition by v.queue, v.job)))::integer,
    case when v.step is not null then ${tokensSince('b.first_at', 'v.step')} end,
    case when v.slot_limit is null then null when v.holder is not null then 1 when v.is_as_seen
      then greatest(0, v.slot_limit - (select count(*) from tock.job_slots s where s.concurrency_key = v.name))::integer else 0 end
  ) as quota
  from visited v cross join lateral (
    select greatest(1, floor(v.room * least(v.weight, 8) / ${TURNS})) as quantum,
      ${firstStart('v.rate_next_at', 'v.step', 'v.burst')} as first_at) b
), found as materialized (
  select a.*, r.id, a.is_limited or r.needs_admission or r.id is not distinct from a.holder as needs_admission,
    a.tag + floor((r.turn - 1)::float8 / a.quantum) * a.quantum / a.weight as at_tag, r.turn,
    r.other_key, count(r.id) over by_key as found, row_number() over by_key as number
  from allowed a left join lateral (
    select r.id, row_number() over () as turn, cardinality(r.slot_keys) > 1 as needs_admission, case when r.slot_keys[2] like 'job:%' then r.slot_keys[2] end as other_key from (
      select r.id, r.slot_keys from tock.job_runs_live r
      where r.blocked_on = a.name and r.queue = a.queue and r.run_at <= tock.now() and r.status in (${statuses('claim')})
        and coalesce(r.id = a.holder, true)
      order by r.priority, r.run_at, r.id limit a.quota) r) r on true
  window by_key as (partition by a.name)
), other_keys as materialized (
  select o.key, o.queue, (select true from tock.job_runs_live r where r.blocked_on = o.key and r.queue = o.queue limit 1) is null
    and (select true from tock.job_runs_live r where r.unblocked_on = o.key and r.queue = o.queue and r.blocked_on is null limit 1) is null as is_free
  from (select distinct other_key as key, queue from found where other_key is not null) o
), candidates as materialized (
  select f.id, f.name, f.turn, f.needs_admission, f.at_tag, f.other_key,
    coalesce(not o.is_free, false) as is_held,
    coalesce(f.is_limited and row_number() over (partition by f.queue, f.job order by f.at_tag, f.name, f.turn) > f.room, false) as is_late
  from found f left join other_keys o on o.key = f.other_key and o.queue = f.queue where f.id is not null
), held as materialized (
  select c.name, min(c.other_key) as other_key from candidates c where c.is_held group by c.name
), chosen as materialized (
  select c.id, c.name, c.turn, c.needs_admission, row_number() over (order by c.at_tag, c.name, c.turn) as place
  from candidates c where not c.is_held and not c.is_late order by place limit ${opaqueToPlanner('limit', 'integer')}
), locked as materialized (
  select r.id from tock.job_runs_live r where r.id = any(array(select c.id from chosen c)) and ${isAsChosen('r')} and r.status in (${statuses('claim')})
  for update of r skip locked
), taken as materialized (
  select array(select l.id from locked l) as ids
), counts as materialized (
  select * from (
    select f.*, count(*) filter (where f.id = any((select t.ids from taken t)::bigint[])) over by_key as taken,
      count(*) filter (where f.id = any((select t.ids from taken t)::bigint[]) and not f.needs_admission) over by_key as started
    from found f window by_key as (partition by f.name)) f
  where f.number = 1
), rests as materialized (
  select c.*, c.found < c.quota and c.taken = c.found as is_exhausted,
    case when c.step is not null then c.first_at + c.started * c.step * interval '1 millisecond' end as next_at,
    case when c.found < c.quota and c.taken = c.found then (
      select min(r.run_at) from tock.job_runs_live r where r.blocked_on = c.name and r.id <> all((select t.ids from taken t)::bigint[])) end as rest_at,
    c.slot_limit is not null and c.slot_limit <= c.taken + (select count(*) from tock.job_slots s where s.concurrency_key = c.name) as is_full,
    (select n.arrivals from tock.fair_keys n where n.name = c.name) = c.arrivals as has_seen_all,
    case when c.taken = 0 and c.found > 0 then (select h.other_key from held h where h.name = c.name) end as held_on
  from counts c
), decided as materialized (
  select r.*, r.is_exhausted and r.rest_at is null and r.has_seen_all as is_empty,
    case when r.holder is not null and r.found = 0 then case when r.has_seen_all then greatest(r.next_at, tock.now() + interval '${FULL_MS} milliseconds',
        case when not r.is_running then least(r.held_until, tock.now() + interval '${STRICT_MS} milliseconds') end) else r.next_at end
      when r.is_exhausted and r.has_seen_all then greatest(r.rest_at, r.next_at)
      when r.is_full and r.is_as_seen then greatest(tock.now() + interval '${FULL_MS} milliseconds', r.next_at)
      when r.held_on is not null then tock.now() + interval '${HELD_MS} milliseconds'
      else r.next_at end as again_at
  from rests r
), served as (
  update tock.fair_keys k set tag = d.tag + d.taken / d.weight, rate_next_at = coalesce(d.next_at, k.rate_next_at),
    is_ready = not d.is_empty and coalesce(d.again_at <= tock.now(), true),
    ready_at = case when not d.is_empty and d.again_at > tock.now() then d.again_at end, held_on = d.held_on
  from decided d where k.name = d.name and (d.taken > 0 or d.found < d.quota or d.quota = 0 or d.held_on is not null or not d.was_ready)
), free_slots as materialized (
  select d.name, array(select f.slot from generate_series(1, d.slot_limit) f(slot)
    where not exists (select from tock.job_slots s where s.concurrency_key = d.name and s.slot = f.slot) order by 1) as slots
  from decided d where d.slot_limit is not null and d.taken > 0
), slots as (
  insert into tock.job_slots (concurrency_key, slot, run_id, fence)
  select c.name, f.slots[row_number() over (partition by c.name order by c.turn)], c.id, r.fence + 1
  from chosen c join free_slots f on f.name = c.name join tock.job_runs_live r on r.id = c.id
  where not c.needs_admission and c.id = any((select t.ids from taken t)::bigint[]) order by 1, 2
), unblocked as (
  update tock.job_runs_live r set blocked_on = null, unblocked_on = r.blocked_on
  where r.id = any(array(select c.id from chosen c where c.needs_admission)) and r.id = any((select t.ids from taken t)::bigint[])
), claimed as (
  update tock.job_runs_live r set blocked_on = null, ${startLease('r')}
  where r.id = any((select t.ids from taken t)::bigint[]) and r.id <> all(array(select c.id from chosen c where c.needs_admission))
  returning r.id, ${claimedColumns('r')}
)
select c.id, c.needs_admission, ${namesOfClaimed('l')},
  (exists (select from decided x where not x.is_empty and coalesce(x.again_at <= tock.now(), true))
    or exists (select from visited v group by v.queue, v.job having count(*) >= least(max(v.room), ${MOST_KEYS}))
      and not exists (select from decided h where h.held_on is not null))
    and not ${IS_LOCKED_OUT} as has_more,
  (extract(epoch from least((select min(d.again_at) from decided d where not d.is_empty and d.again_at > tock.now()),
    (select min(k.ready_at) from tock.fair_keys k where not k.is_ready and k.ready_at > tock.now())) - tock.now()) * 1000)::float8 as next_ms
from (values (1)) one left join chosen c on c.id = any((select t.ids from taken t)::bigint[]) left join claimed l on l.id = c.id order by c.place`,
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
export async function claimFair(
  session: Session,
  { limit, workerId, leaseMs, queues }: Parameters,
): Promise<FairClaim> {
  const rows = await CLAIM.run(session, { limit, workerId, leaseMs, queues });
  const [first] = rows;
  const listed = rows.filter((row): row is Row & ListedRow => row.id !== null);
  return { ...claimListed(listed), hasMore: first?.has_more === true, nextMs: first?.next_ms ?? null };
}
