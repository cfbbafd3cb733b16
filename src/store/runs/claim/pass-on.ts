// Ends runs and passes their slots on: the same statement claims runs that are blocked on the same keys. So a
// key is not idle after each end until a claim and an admission have come.
//
//   worker A, holds run 1 and slot 1 of job:x        runs 2 and 3 are blocked on job:x
//   delete live 1; slot 1 of job:x: run 1 → run 2; run 2: running, leased to A
//   commit                                           no session ever saw the slot free
//
// No lock of the key is needed: a slot that is passed on was taken before and is taken after.
import type { Session } from '../../connection/database.js';
import { statement } from '../../connection/statement.js';
import { mayStart } from '../../definitions/freeze/frozen.js';
import { type Ends, endsOf, type Finalization, finish, finishing, MOVED_IDS, type Moved } from '../finish.js';
import { isDataError } from '../set-aside.js';
import { statuses, writeOutbox } from '../transition.js';
import {
  type ClaimedRow,
  type ClaimedRun,
  claimedColumns,
  claimedRun,
  nullsOfClaimed,
  startLease,
} from './claimed-run.js';
import { isQueueLimited, isQueueOpen, isServed } from './queue-lanes.js';
import { blockedQueues } from './waiting/blocked-queues.js';

/** Which runs may get the slots, and how many. */
export interface Recipients {
  readonly limit: number;
  readonly leaseMs: number;
  /** Only of these; null: all that are not relayed. */
  readonly queues: readonly string[] | null;
}

type Row = Moved & ClaimedRow;

/** Whether a run `r` may get a slot of the keys `k`. */
const IS_RECIPIENT = `r.slot_keys = array[k.key] and r.run_at <= tock.now() and r.status in (${statuses('claim')})
      and r.priority <= (select min(priority) from gone) and k.slot_limit >= k.highest
      and k.slot_limit >= (select count(*) from tock.job_slots s where s.concurrency_key = k.key)`;

// A recipient needs this slot only, is in an open queue without a limit, and is no less urgent than any run
// that ended. All slots of a key go to one queue: that of the first run that can start. A slot above a
// lowered limit is not passed on. A slot is deleted before it is inserted again, since the insert reads how
// many were deleted.
const PASS_ON = statement<Ends & Recipients, Row>(
  'finish-and-pass-on',
  `
with recursive ${finishing}, keys as materialized (
  select s.concurrency_key as key, array_agg(s.slot order by s.slot) as slots, max(s.slot) as highest
  from tock.job_slots s where s.run_id = any(array(select id from gone)) and s.concurrency_key like 'job:%' group by 1
), ${blockedQueues('keys k', ['slots', 'highest'])}, chosen as materialized (
  select distinct on (k.key) k.key, k.slots, k.highest, k.queue, k.slot_limit
  from blocked_queues k left join tock.job_queues q on q.name = k.queue cross join lateral (
    select r.priority, r.run_at, r.id from tock.job_runs_live r where r.blocked_on = k.key and r.queue = k.queue and ${IS_RECIPIENT}
    order by r.priority, r.run_at, r.id limit 1) f
  where ${mayStart('k.queue')} and ${isServed('k.queue', 'q')} and ${isQueueOpen('q')} and not ${isQueueLimited('q')}
  order by k.key, f.priority, f.run_at, f.id
), next as materialized (
  select n.id, n.fence, k.key, k.slots[row_number() over (partition by k.key order by n.priority, n.run_at, n.id)] as slot
  from chosen k cross join lateral (
    select r.id, r.fence, r.priority, r.run_at from tock.job_runs_live r
    where r.blocked_on = k.key and r.queue = k.queue and ${IS_RECIPIENT}
    order by r.priority, r.run_at, r.id
    limit cardinality(k.slots)
    for update of r skip locked) n
  limit :limit::integer
), freed as (
  delete from tock.job_slots s where s.run_id = any(array(select id from gone)) returning s.concurrency_key, s.slot
), passed as (
  insert into tock.job_slots (concurrency_key, slot, run_id, fence)
  select key, slot, id, fence + 1 from next where (select count(*) from freed) > 0 order by key, slot
), recipients as (
  update tock.job_runs_live r set blocked_on = null, ${startLease('r')} where r.id = any(array(select id from next))
  returning r.id, ${claimedColumns('r')}
), ${writeOutbox('ended', 'e.status')}
select null::text[] as ids, null::text[] as freed, null::boolean as "outboxWritten", s.* from recipients s
union all
select ${MOVED_IDS},
  (select array_agg(distinct concurrency_key) from freed where (concurrency_key, slot) not in (select key, slot from next)),
  exists (select from noted), null, ${nullsOfClaimed}
from ended`,
  { prepared: true },
);

/** Ends runs, and claims runs that were blocked on the keys of their slots. */
export async function finishAndPassOn(
  session: Session,
  sorted: readonly Finalization[],
  workerId: string,
  recipients: Recipients,
): Promise<{ readonly moved: Moved | undefined; readonly claimed: readonly ClaimedRun[] }> {
  try {
    const rows = await PASS_ON.run(session, { ...endsOf(sorted, workerId), ...recipients });
    const [moved] = rows.filter(row => row.id === null);
    return { moved, claimed: rows.filter(row => row.id !== null).map(claimedRun) };
  } catch (error) {
    // A recipient's row may be to blame, which must not hold up what has ended.
    if (!isDataError(error)) throw error;
    return { moved: await finish(session, sorted, workerId), claimed: [] };
  }
}
