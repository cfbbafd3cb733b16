// Claims runs that wait for code which has their job.
//
//   worker A, of older code              run 1 of a new job            worker B, knows the job
//   claims it                            running, fence 1
//   gives it back, uncounted             queued, blocked on code:job
//     and notifies
//                                        passed over by all claims     claims it by what it is blocked on
//                                        running, fence 2
//
// B claims such runs while they are blocked. If they were unblocked first, A would claim them again, and a B
// whose handlers are all busy at that moment would never get one.
import { codeKey, jobOfCodeKey } from '../../../../model/run/limits.js';
import type { Session } from '../../../connection/database.js';
import { statement } from '../../../connection/statement.js';
import { mayStart } from '../../../definitions/freeze/frozen.js';
import { statuses } from '../../transition.js';
import { type Claim, type ClaimOptions, claimListed, type ListedRow } from '../claim.js';
import { claimedColumns, namesOfClaimed, startLease } from '../claimed-run.js';
import { isQueueLimited, isQueueOpen, isServed } from '../queue-lanes.js';

/** Whether a key is that of a job: these keys are a range, as ';' is the character after ':'. */
export const isOfCode = (column: string) => `${column} >= 'code:' and ${column} < 'code;'`;

/** Whether some run waits for code. */
export const WAITS_FOR_CODE = `((select r.blocked_on from tock.job_runs_live r where ${isOfCode('r.blocked_on')} order by r.blocked_on limit 1) is not null)`;

/** At most so many jobs are read at once, of which runs wait. */
const MAX_JOBS = 1000;

/** CTE `awaited`: the keys after one that runs wait for, found by a loose index scan. */
const awaitedKeysAfter = (after: string) => `recursive awaited as (
  (select r.blocked_on as key, 1 as number from tock.job_runs_live r where r.blocked_on > ${after} and ${isOfCode('r.blocked_on')} order by r.blocked_on limit 1)
  union all
  select n.key, a.number + 1 from awaited a cross join lateral (
    select r.blocked_on as key from tock.job_runs_live r where r.blocked_on > a.key and ${isOfCode('r.blocked_on')}
    order by r.blocked_on limit 1) n
  where a.number < ${MAX_JOBS}
)`;

/** The same, the first of all. */
export const AWAITED_KEYS = awaitedKeysAfter(`''`);

const READ_AWAITED = statement<{ readonly after: string }, { readonly key: string }>(
  'awaited-jobs',
  `
with ${awaitedKeysAfter(':after')}
select key from awaited`,
);

/** Jobs for which runs wait, some of many. */
export interface AwaitedJobs {
  readonly jobs: readonly string[];
  /** The last of them, where more may follow; null: these are the last. */
  readonly next: string | null;
}

/** The jobs after one, by name, of the runs that wait for code. @param after null: from the first on */
export async function readAwaitedJobs(session: Session, after: string | null = null): Promise<AwaitedJobs> {
  const rows = await READ_AWAITED.run(session, { after: after === null ? '' : codeKey(after) });
  const jobs = rows.map(({ key }) => jobOfCodeKey(key) ?? key);
  return { jobs, next: rows.length < MAX_JOBS ? null : (jobs.at(-1) ?? null) };
}

type Wanted = Pick<ClaimOptions, 'limit' | 'queues'>;
type Parameters = Wanted & Pick<ClaimOptions, 'workerId' | 'leaseMs'> & { readonly keys: readonly string[] };

/**
 * The runs of each job are read by the index on `blocked_on`, in the order in which a claim takes them.
 */
const waiting = (lock = '') => `
  select d.id, d.needs_admission, d.priority, d.run_at from unnest(:keys::text[]) as k(key) cross join lateral (
    select r.id, r.priority, r.run_at, r.slot_keys is not null or ${isQueueLimited('q')} as needs_admission
    from tock.job_runs_live r left join tock.job_queues q on q.name = r.queue
    where r.blocked_on = k.key and r.run_at <= tock.now() and r.status in (${statuses('claim')})
      and ${mayStart('r.queue')} and ${isServed('r.queue', 'q')} and ${isQueueOpen('q')}
    order by r.priority, r.run_at, r.id limit :limit::integer${lock}) d
  order by d.priority, d.run_at, d.id limit :limit::integer`;

const WAITING = statement<Wanted & Pick<Parameters, 'keys'>, { readonly id: string }>(
  'waiting-ids',
  `select w.id::text as id from (${waiting()}) w order by w.priority, w.run_at, w.id`,
);

/** Ids of due runs that wait for code with these jobs, in the order of {@link claimWaitingRuns}. */
export async function readWaitingRuns(
  session: Session,
  jobs: readonly string[],
  { limit, queues }: Wanted,
): Promise<string[]> {
  return (await WAITING.run(session, { keys: jobs.map(codeKey), limit, queues })).map(row => row.id);
}

const CLAIM_WAITING = statement<Parameters, ListedRow>(
  'claim-waiting',
  `
with due as materialized (${waiting(' for update of r skip locked')}
), unblocked as (
  update tock.job_runs_live r set blocked_on = null where r.id = any(array(select id from due where needs_admission))
), claimed as (
  update tock.job_runs_live r set blocked_on = null, ${startLease('r')}
  where r.id = any(array(select id from due where not needs_admission))
  returning r.id, ${claimedColumns('r')}
)
select due.id, due.needs_admission, ${namesOfClaimed('c')}
from due left join claimed c on c.id = due.id order by due.priority, due.run_at, due.id`,
);

/**
 * Claims due runs that wait for code with these jobs, and starts their leases. Runs that need admission are
 * unblocked and only named. Runs that are locked are skipped.
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
