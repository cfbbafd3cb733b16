// Claims runs that need one slot, under one key that many runs share: a job's concurrency. One statement,
// where admit.ts needs a transaction of six.
//
// The slots that it sees may be from just before it:
//
//   a slot that was freed since      it is not given; the run is blocked, and unblocked after the commit
//   a slot that was taken since      the primary key refuses it; the run is blocked
//   a slot above a lowered limit,    the claim that took it has the older limit, and might as well have
//   taken since                      taken it a moment later
//
// A key with one slot needs no lock: its first run takes the slot if it is free. Where a key has several, two
// admissions at once would choose the same ones. So the statement holds the advisory lock of such a key, as
// admit.ts does of every key, but never waits for one: a key that is locked is left to admit.ts. It waits for
// a slot only that another admission has taken and not committed yet.
import type { Session } from '../../connection/database.js';
import { statement } from '../../connection/statement.js';
import {
  type ClaimedRow,
  type ClaimedRun,
  claimedColumns,
  claimedRun,
  namesOfClaimed,
  nullsOfClaimed,
  startLease,
} from './claimed-run.js';
import { isClaimable, isQueueLimited, isQueueOpen } from './queue-priorities.js';

interface Wanted {
  readonly ids: readonly string[];
  readonly workerId: string;
  readonly leaseMs: number;
}

type Row = ClaimedRow & {
  readonly priority: number;
  readonly due_at: number;
  /** Null for a run that was claimed. */
  readonly queue: string;
  /** Null for a run that was claimed. */
  readonly key: string;
  /** Whether it was claimed or blocked here. */
  readonly is_decided: boolean;
  readonly is_claimed: boolean;
};

/** To the microsecond. */
export const dueAt = (run: string) => `extract(epoch from ${run}.run_at)::float8`;

// Window functions instead of joins: where the planner expects few rows it joins two sets of thousands in a
// loop. What is known of a key is computed for the first of its runs only, and passed on to the others. The
// hours of a queue are asked only for its own runs: those of another may be impossible to read.
const ADMIT = statement<Wanted, Row>(
  'admit-one-key',
  `
with candidates as materialized (
  select r.id, r.queue, r.priority, r.run_at, r.fence, r.slot_keys[1] as key, r.slot_limits[1] as slot_limit,
    coalesce(cardinality(r.slot_keys) = 1 and r.slot_keys[1] not like 'definition:%'
      and r.queue not in (select q.name from tock.job_queues q where ${isQueueLimited('q')}), false) as is_simple
  from tock.job_runs_live r
  where r.id = any(:ids::bigint[]) and ${isClaimable('r')}
    and (r.queue not in (select q.name from tock.job_queues q where q.paused_at is not null or q.active_window is not null)
      or (select ${isQueueOpen('q')} from tock.job_queues q where q.name = r.queue))
  order by r.priority, r.run_at, r.id
  for update skip locked
), placed as materialized (
  select c.*, row_number() over by_key as place, count(*) over by_key as wanted, max(slot_limit) over by_key as key_limit
  from candidates c where is_simple
  window by_key as (partition by key order by priority, run_at, id rows between unbounded preceding and unbounded following)
), looked as materialized (
  select p.*,
    case when place = 1 then pg_try_advisory_xact_lock(hashtextextended('tock.slots:' || key, 0)) end as locks,
    case when place = 1 then array(select s.slot from tock.job_slots s where s.concurrency_key = p.key) end as slots
  from placed p where key_limit > 1
), turns as materialized (
  select l.*, first_value(locks) over by_key as is_locked,
    first_value(cardinality(slots)) over by_key as taken,
    first_value(coalesce((select max(slot) from unnest(slots) slot), 0)) over by_key as highest,
    first_value(case when place = 1 and cardinality(slots) between 1 and key_limit - 1 then array(
      select f.slot from generate_series(1, least(key_limit, cardinality(slots) + wanted)) f(slot)
      where f.slot <> all(slots) order by 1) end) over by_key as free
  from looked l window by_key as (partition by key order by place)
), taken as (
  insert into tock.job_slots (concurrency_key, slot, run_id, fence)
  select key, 1, id, fence + 1 from placed p where key_limit <= 1 and place = 1 and slot_limit = 1
    and (select count(*) from tock.job_slots s where s.concurrency_key = p.key) = 0
  union all
  select key, case when taken = 0 then place else free[place] end, id, fence + 1 from turns
  where is_locked and taken + place <= slot_limit and highest <= slot_limit
  order by 1, 2
  on conflict do nothing
  returning run_id
), claimed as (
  update tock.job_runs_live r set ${startLease('r')} where r.id = any(array(select run_id from taken))
  returning r.id, r.priority, r.run_at, ${claimedColumns('r')}
), others as (
  select id, queue, priority, run_at, key, false as is_decided from candidates where not is_simple
  union all
  select id, queue, priority, run_at, key, true from placed where key_limit <= 1 and id not in (select run_id from taken)
  union all
  select id, queue, priority, run_at, key, is_locked from turns where id not in (select run_id from taken)
), blocked as (
  update tock.job_runs_live r set blocked_on = r.slot_keys[1]
  where r.id = any(array(select id from others where is_decided))
)
select id, null as queue, priority, ${dueAt('c')} as due_at, null as key, true as is_decided, true as is_claimed, ${namesOfClaimed('c')}
from claimed c
union all
select id, queue, priority, ${dueAt('o')}, key, is_decided, false, ${nullsOfClaimed} from others o`,
  { prepared: true },
);

/** A run that found no slot, and where it lies. */
export interface BlockedRun {
  readonly id: string;
  readonly key: string;
  readonly queue: string;
  readonly priority: number;
  /** In seconds since 1970. */
  readonly due_at: number;
}

/** What became of the runs. Those that were locked or cannot be claimed are in none of the lists. */
export interface AdmittedUnderOneKey {
  readonly admitted: readonly ClaimedRun[];
  readonly blocked: readonly BlockedRun[];
  /** Ids of those that need more than one slot, or whose key another admission has locked. */
  readonly undecided: readonly string[];
}

/**
 * Claims those of the runs that need one slot under a job's key, for which there is one; blocks the others.
 *
 * Locks: the runs' rows and the advisory locks of keys that have several slots, skipping those that are
 * locked; the slots, sorted, waiting for those that another admission has not committed yet.
 */
export async function admitUnderOneKey(session: Session, wanted: Wanted): Promise<AdmittedUnderOneKey> {
  const rows = (await ADMIT.run(session, wanted)).toSorted(byTurn);
  return {
    admitted: rows.filter(row => row.is_claimed).map(claimedRun),
    blocked: rows.filter(row => row.is_decided && !row.is_claimed),
    undecided: rows.filter(row => !row.is_decided).map(row => row.id),
  };
}

const byTurn = (a: Row, b: Row) =>
  a.priority - b.priority || a.due_at - b.due_at || Number(a.id) - Number(b.id);
