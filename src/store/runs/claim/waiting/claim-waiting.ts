// Claims runs that wait for code which has their job.
//
//   worker A, of older code              run 1 of a new job            worker B, knows the job
//   claims it                            running, fence 1
//   gives it back, uncounted             queued, blocked on code:job
//     and notifies
//                                        passed over by all claims     claims it by what it is blocked on
//                                        running, fence 2
//
// They are claimed, not unblocked first: otherwise A would claim them again, and where all of B's handlers
// are busy when they are unblocked, B would never get one.
import { codeKey, jobOfCodeKey } from '../../../../model/run/limits.js';
import type { Session } from '../../../connection/database.js';
import { statement } from '../../../connection/statement.js';
import { statuses } from '../../transition.js';
import type { Claim, ClaimOptions } from '../claim.js';
import { claimListed, type ListedRow } from '../claim-rows.js';
import { claimedColumns, namesOfClaimed, startLease } from '../claimed-run.js';
import { isQueueLimited, isQueueOpen, isServed } from '../queue-priorities.js';

/** Whether it is the key of a job: they are a range, as ';' is the character after ':'. */
export const isOfCode = (column: string) => `${column} >= 'code:' and ${column} < 'code;'`;

/** Whether some run waits for code. */
export const WAITS_FOR_CODE = `((select r.blocked_on from tock.job_runs_live r where ${isOfCode('r.blocked_on')} order by r.blocked_on limit 1) is not null)`;

/** Jobs that are looked at, of which runs wait. */
const MAX_JOBS = 1000;

/** CTE `awaited`: the keys that runs wait for, found by a loose index scan. */
export const AWAITED_KEYS = `recursive awaited as (
  (select r.blocked_on as key, 1 as place from tock.job_runs_live r where ${isOfCode('r.blocked_on')} order by r.blocked_on limit 1)
  union all
  select n.key, a.place + 1 from awaited a cross join lateral (
    select r.blocked_on as key from tock.job_runs_live r where r.blocked_on > a.key and ${isOfCode('r.blocked_on')}
    order by r.blocked_on limit 1) n
  where a.place < ${MAX_JOBS}
)`;

const READ_AWAITED = statement<object, { readonly key: string }>(
  'awaited-jobs',
  `
with ${AWAITED_KEYS}
select key from awaited`,
);

/** The jobs of the runs that wait for code. */
export async function readAwaitedJobs(session: Session): Promise<string[]> {
  return (await READ_AWAITED.run(session, {})).map(({ key }) => jobOfCodeKey(key) ?? key);
}

type Parameters = Pick<ClaimOptions, 'limit' | 'workerId' | 'leaseMs' | 'queues'> & {
  readonly keys: readonly string[];
};

// Those of each job by their index, in the order of the claims.
const CLAIM_WAITING = statement<Parameters, ListedRow>(
  'claim-waiting',
  `
with due as materialized (
  select d.id, d.is_limited, d.priority, d.run_at from unnest(:keys::text[]) as k(key) cross join lateral (
    select r.id, r.priority, r.run_at, r.slot_keys is not null or ${isQueueLimited('q')} as is_limited
    from tock.job_runs_live r left join tock.job_queues q on q.name = r.queue
    where r.blocked_on = k.key and r.run_at <= tock.now() and r.status in (${statuses('claim')})
      and ${isServed('r.queue', 'q')} and ${isQueueOpen('q')}
    order by r.priority, r.run_at, r.id limit :limit::integer
    for update of r skip locked) d
  order by d.priority, d.run_at, d.id limit :limit::integer
), unblocked as (
  update tock.job_runs_live r set blocked_on = null where r.id = any(array(select id from due where is_limited))
), claimed as (
  update tock.job_runs_live r set blocked_on = null, ${startLease('r')}
  where r.id = any(array(select id from due where not is_limited))
  returning r.id, ${claimedColumns('r')}
)
select due.id, due.is_limited, ${namesOfClaimed('c')}
from due left join claimed c on c.id = due.id order by due.priority, due.run_at, due.id`,
);

/**
 * Claims due runs that wait for code with these jobs, and starts their leases. Those that need a slot become
 * claimable, and are only named. Runs that are locked are skipped.
 */
export async function claimWaitingRuns(
  session: Session,
  jobs: readonly string[],
  { limit, workerId, leaseMs, queues }: Pick<ClaimOptions, 'limit' | 'workerId' | 'leaseMs' | 'queues'>,
): Promise<Claim> {
  const rows = await CLAIM_WAITING.run(session, {
    keys: jobs.map(codeKey),
    limit,
    workerId,
    leaseMs,
    queues,
  });
  return { ...claimListed(rows), hasMore: rows.length >= limit };
}
