// Room: store. Moves that nobody's lease is needed for: cancel, retry, and the withdrawal of an edited schedule's runs.
// In: a run's id, or definitions. Out: whether anything moved.
import { TRANSITIONS } from '../../model/run/states.js';
import type { Session } from '../connection/database.js';
import {
  AFTER_MOVE,
  type AfterMove,
  freeSlots,
  insertFinished,
  statuses,
  writeOutbox,
} from './transition.js';

const CANCEL = `
with target as materialized (
  select r.id, r.status from tock.job_runs_live r where r.id = $1 for update
), asked as (
  update tock.job_runs_live r set cancel_requested_at = coalesce(r.cancel_requested_at, tock.now()), skip_reason = coalesce($2, r.skip_reason)
  from target t where r.id = t.id and t.status = 'running' returning r.id
), gone as (
  delete from tock.job_runs_live r using target t where r.id = t.id and t.status in (${statuses('cancel')}) returning r.*
), ended as (
  ${insertFinished('gone', { status: `'${TRANSITIONS.cancel.to}'`, skip_reason: '$2' })} returning id
), ${freeSlots('gone', 'true')}, ${writeOutbox('gone', `'${TRANSITIONS.cancel.to}'`)}
select ${AFTER_MOVE}, case when exists (select from ended) then 'cancelled' when exists (select from asked) then 'asked' end as result,
  -- A daemon that listens hears it at once; all others at their next heartbeat.
  (select tock.notify('cancel:' || id)::text from asked) as notified`;

/** What became of a cancel: null where the run is not live. */
export interface Cancelled extends AfterMove {
  readonly result: 'cancelled' | 'asked' | null;
}

/** Cancels a run that is not running at once; asks the holder of a running one to stop. */
export async function cancelRun(session: Session, id: string, reason: string | null): Promise<Cancelled> {
  const [row] = await session.run<Cancelled>(CANCEL, [id, reason]);
  return row ?? { result: null, freed: null, outboxWritten: false };
}

const SUPERSEDE = `
with target as materialized (
  select r.id from tock.job_runs_live r
  where r.definition_id = any($1::bigint[]) and r.status in (${statuses('supersede')}) and r.trigger = 'cron'
    and r.scheduled_for is not null and r.run_at > tock.now() and r.attempts = 0
  order by r.id for update skip locked
), gone as (
  delete from tock.job_runs_live r using target where r.id = target.id returning r.*
), ended as (
  ${insertFinished('gone', { status: `'${TRANSITIONS.supersede.to}'`, skip_reason: `'edited'` })}
  returning id
), ${freeSlots('gone', 'true')}, ${writeOutbox('gone', `'${TRANSITIONS.supersede.to}'`)}
select id from ended`;

/** Withdraws queued runs of an edited definition that are not yet due; each leaves a skipped row. */
export async function supersedeRuns(session: Session, definitionIds: readonly string[]): Promise<number> {
  const rows = await session.run<{ id: string }>(SUPERSEDE, [definitionIds]);
  return rows.length;
}

const RETRY = `
with gone as (
  delete from tock.job_runs_finished r where r.id = $1 and r.status in (${statuses('retry')}) returning r.*
)
insert into tock.job_runs_live (id, definition_id, run_at, priority, attempts, max_attempts, fence, releases, generation,
  occurrence_count, scheduled_for, interval_start, created_at, job, queue, trigger, idempotency_key, payload, errors,
  slot_keys, slot_limits, live_key, status)
select id, definition_id, tock.now(), priority, attempts,
  attempts + coalesce($2::int, (select d.max_attempts from tock.job_definitions d where d.name = gone.job), 1),
  fence + 1, releases, generation + 1, occurrence_count, scheduled_for, interval_start, created_at, job, queue, trigger,
  idempotency_key, payload, errors, slot_keys, slot_limits, live_key, '${TRANSITIONS.retry.to}'
from gone
returning id`;

/**
 * Puts a dead or cancelled run back into the queue, due now: a new generation with `attempts` more attempts
 * (default: as many as its job's definition gives). The fence grows, so that no older holder can write.
 */
export async function retryRun(session: Session, id: string, attempts: number | null): Promise<boolean> {
  const rows = await session.run<{ id: string }>(RETRY, [id, attempts]);
  return rows.length > 0;
}
