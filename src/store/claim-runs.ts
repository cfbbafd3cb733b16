// Room: store. The claim: one statement that takes due runs and starts their leases.
// In: how many, by whom, for how long. Out: what executing them needs.
import { TRANSITIONS } from '../model/states.js';
import type { Session } from './database.js';
import { statuses } from './transition.js';

/** A run that the worker has claimed: what executing it needs. Times in epoch milliseconds. */
export interface ClaimedRun {
  readonly id: string;
  readonly fence: number;
  readonly job: string;
  /** Name of the definition; null for a one-off run. */
  readonly definition: string | null;
  readonly attempts: number;
  readonly max_attempts: number;
  readonly payload: unknown;
  readonly scheduled_for: number | null;
  readonly interval_start: number | null;
  readonly occurrence_count: number;
  readonly idempotency_key: string | null;
  readonly trigger: string;
  /** Claimed for the first time, and its start deadline has passed: to be skipped, not executed. */
  readonly is_late: boolean;
}

const EPOCH_MS = (column: string) => `(extract(epoch from ${column}) * 1000)::float8`;

const CLAIMED = `r.id, r.fence, r.job, r.attempts, r.max_attempts, r.payload, r.occurrence_count,
  r.idempotency_key, r.trigger, ${EPOCH_MS('r.scheduled_for')} as scheduled_for,
  ${EPOCH_MS('r.interval_start')} as interval_start, coalesce(r.fence = 1 and r.start_by < tock.now(), false) as is_late,
  case when r.definition_id is not null then (select d.name from tock.job_definitions d where d.id = r.definition_id) end as definition`;

// The distinct priorities by a loose index scan: there are few of them, whatever the number of runs.
// Source: the PostgreSQL wiki, "Loose indexscan".
export const PRIORITIES = `recursive priorities as (
  (select priority from tock.job_runs_live order by priority limit 1)
  union all
  select (select n.priority from tock.job_runs_live n where n.priority > p.priority order by n.priority limit 1)
  from priorities p where p.priority is not null
)`;

// Under each priority the due runs are walked, so
// that a million future runs of a higher priority are not walked over. MATERIALIZED, because the planner may
// otherwise run the locking part more than once and lock more rows than LIMIT says.
const CLAIM = `
with ${PRIORITIES}, due as materialized (
  select d.id from priorities p cross join lateral (
    select r.id from tock.job_runs_live r
    where r.priority = p.priority and r.run_at <= tock.now() and r.status in (${statuses('claim')})
      and ($4::text[] is null or r.queue = any($4))
      and not exists (select from tock.job_queues q where q.name = r.queue and q.paused_at is not null)
    order by r.run_at, r.id
    limit $1
    for update of r skip locked
  ) d
  where p.priority is not null
  limit $1
)
update tock.job_runs_live r
set status = '${TRANSITIONS.claim.to}', attempts = r.attempts + 1, fence = r.fence + 1, locked_by = $2,
    locked_until = tock.now() + $3 * interval '1 millisecond', started_at = tock.now()
from due where r.id = due.id
returning ${CLAIMED}`;

/**
 * Claims up to `limit` due runs in one statement and starts their leases. Runs that another claim has locked
 * are passed over, never waited for.
 *
 * @param queues only these; null: all
 */
export async function claimRuns(
  session: Session,
  options: {
    readonly limit: number;
    readonly workerId: string;
    readonly leaseMs: number;
    readonly queues: readonly string[] | null;
  },
): Promise<ClaimedRun[]> {
  return await session.run<ClaimedRun>(CLAIM, [
    options.limit,
    options.workerId,
    options.leaseMs,
    options.queues,
  ]);
}

const CLAIM_ONE = `
update tock.job_runs_live r
set status = '${TRANSITIONS.claim.to}', attempts = r.attempts + 1, fence = r.fence + 1, locked_by = $2,
    locked_until = tock.now() + $3 * interval '1 millisecond', started_at = tock.now()
where r.id = (
  select c.id from tock.job_runs_live c
  where c.id = $1 and c.run_at <= tock.now() and c.status in (${statuses('claim')})
  for update skip locked
)
returning ${CLAIMED}`;

/** Claims one named run, if it is due and nobody else has it. */
export async function claimRun(
  session: Session,
  id: string,
  workerId: string,
  leaseMs: number,
): Promise<ClaimedRun | null> {
  const [run] = await session.run<ClaimedRun>(CLAIM_ONE, [id, workerId, leaseMs]);
  return run ?? null;
}
