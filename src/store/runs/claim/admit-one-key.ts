// Claims runs that need one slot, under one key that many runs share: a job's concurrency. This takes one
// statement, where admit.ts needs a transaction of six.
//
// The statement sees the slots as they were when it began:
//
//   a slot that was freed since      it is not given; the run is blocked, and unblocked after the commit
//   a slot that was taken since      the primary key refuses it; the run is blocked
//   a slot above a lowered limit,    the claim that took it has the older limit, and might as well have
//   taken since                      taken it a moment later
//
// A key with one slot needs no lock: its first run takes the slot if it is free. For a key with several
// slots, two admissions at once would choose the same ones. So the statement takes the advisory lock of such
// a key, as admit.ts does for every key, but never waits for it: admit.ts decides about a key that is locked.
// The statement waits only for a slot that another admission has taken and not committed yet.
import type { Session } from '../../connection/database.js';
import { statement } from '../../connection/statement.js';
import { mayStart } from '../../definitions/freeze/frozen.js';
import { limitUnder } from '../../definitions/job-limits.js';
import { FAIR } from '../fair/arrive.js';
import {
  type ClaimedRow,
  type ClaimedRun,
  claimedColumns,
  claimedRun,
  namesOfClaimed,
  nullsOfClaimed,
  startLease,
} from './claimed-run.js';
import { isClaimable, isQueueLimited, isQueueOpen } from './queue-lanes.js';

interface Wanted {
  readonly ids: readonly string[];
  readonly workerId: string;
  readonly leaseMs: number;
  /** Default: false. */
  readonly byHand?: boolean;
}

type Row = ClaimedRow & {
  readonly priority: number;
  readonly due_at: number;
  /** Null for a run that was claimed. */
  readonly queue: string;
  /** Null for a run that was claimed. */
  readonly key: string;
  /** Whether this statement has claimed or blocked it. */
  readonly is_decided: boolean;
  readonly is_claimed: boolean;
};

/** In seconds since 1970, to the microsecond. */
export const dueAt = (run: string) => `extract(epoch from ${run}.run_at)::float8`;

/** Whether a run may start, unless by hand: there may be a freeze since a claim has named it. */
export const mayBeAdmitted = (run: string) => `(:byHand::boolean or ${mayStart(`${run}.queue`)})`;

// Window functions instead of joins: where the planner expects few rows, it joins two sets of thousands in a
// loop. The facts about a key are computed for the first of its runs, and copied to the others. The hours of
// a queue are read only for its own runs: those of another queue may be impossible to read.
const ADMIT = statement<Required<Wanted>, Row>(
  'admit-one-key',
  `
with candidates as materialized (
  select r.id, r.queue, r.priority, r.run_at, r.fence, r.slot_keys[1] as key, ${limitUnder('r.slot_keys[1]', 'r.slot_limits[1]')} as slot_limit,
    coalesce(cardinality(r.slot_keys) = 1 and r.slot_keys[1] not like 'definition:%' and r.slot_keys[1] not like '${FAIR}%'
      and r.queue not in (select q.name from tock.job_queues q where ${isQueueLimited('q')}), false) as is_simple
  from tock.job_runs_live r
  where r.id = any(:ids::bigint[]) and ${isClaimable('r')} and ${mayBeAdmitted('r')}
    and (r.queue not in (select q.name from tock.job_queues q where q.paused_at is not null or q.closed_until is not null or q.active_window is not null)
      or (select ${isQueueOpen('q')} from tock.job_queues q where q.name = r.queue))
  order by r.priority, r.run_at, r.id
  for update skip locked
), ranked as materialized (
  select c.*, row_number() over by_key as rank, count(*) over by_key as wanted, max(slot_limit) over by_key as key_limit
  from candidates c where is_simple
  window by_key as (partition by key order by priority, run_at, id rows between unbounded preceding and unbounded following)
), locked as materialized (
  select p.*,
    case when rank = 1 then pg_try_advisory_xact_lock(hashtextextended('tock.slots:' || key, 0)) end as locks,
    case when rank = 1 then array(select s.slot from tock.job_slots s where s.concurrency_key = p.key) end as slots
  from ranked p where key_limit > 1
), turns as materialized (
  select l.*, first_value(locks) over by_key as is_locked,
    first_value(cardinality(slots)) over by_key as taken,
    first_value(case when rank = 1 and cardinality(slots) between 1 and key_limit - 1 then array(
      select f.slot from generate_series(1, least(key_limit, cardinality(slots) + wanted)) f(slot)
      where f.slot <> all(slots) order by 1) end) over by_key as free
  from locked l window by_key as (partition by key order by rank)
), taken as (
  insert into tock.job_slots (concurrency_key, slot, run_id, fence)
  select key, 1, id, fence + 1 from ranked p where key_limit <= 1 and rank = 1 and slot_limit = 1
    and (select count(*) from tock.job_slots s where s.concurrency_key = p.key) = 0
  union all
  select key, case when taken = 0 then rank else free[rank] end, id, fence + 1 from turns
  where is_locked and taken + rank <= slot_limit
  order by 1, 2
  on conflict do nothing
  returning run_id
), claimed as (
  update tock.job_runs_live r set ${startLease('r')} where r.id = any(array(select run_id from taken))
  returning r.id, r.priority, r.run_at, ${claimedColumns('r')}
), others as (
  select id, queue, priority, run_at, key, false as is_decided from candidates where not is_simple
  union all
  select id, queue, priority, run_at, key, true from ranked where key_limit <= 1 and id not in (select run_id from taken)
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

/** A run that found no slot. */
export interface BlockedRun {
  readonly id: string;
  readonly key: string;
  readonly queue: string;
  readonly priority: number;
  /** In seconds since 1970. */
  readonly due_at: number;
}

/** What became of the runs. A run that was locked or cannot be claimed is in none of the lists. */
export interface AdmittedUnderOneKey {
  readonly admitted: readonly ClaimedRun[];
  readonly blocked: readonly BlockedRun[];
  /** Ids of runs that need more than one slot, or whose key another admission has locked. */
  readonly undecided: readonly string[];
}

/**
 * Of the runs that need one slot under a job's key, claims those for which there is a slot; blocks the
 * others.
 *
 * Locks: the runs' rows and the advisory locks of keys that have several slots, skipping those that are
 * locked; the slots, sorted, waiting for those that another admission has not committed yet.
 */
export async function admitUnderOneKey(session: Session, wanted: Wanted): Promise<AdmittedUnderOneKey> {
  const rows = (await ADMIT.run(session, { byHand: false, ...wanted })).toSorted(byTurn);
  return {
    admitted: rows.filter(row => row.is_claimed).map(claimedRun),
    blocked: rows.filter(row => row.is_decided && !row.is_claimed),
    undecided: rows.filter(row => !row.is_decided).map(row => row.id),
  };
}

const byTurn = (a: Row, b: Row) =>
  a.priority - b.priority || a.due_at - b.due_at || Number(a.id) - Number(b.id);
