// Moves that need no lease: cancel, retry, and the withdrawal of an edited schedule's runs.
import { TRANSITIONS } from '../../model/run/states.js';
import type { Session } from '../connection/database.js';
import { statement } from '../connection/statement.js';
import {
  AFTER_MOVE,
  type AfterMove,
  freeSlots,
  insertFinished,
  statuses,
  writeOutbox,
} from './transition.js';

const CANCEL = statement<{ id: string; reason: string | null }, Cancelled>(
  'cancel-run',
  `
with target as materialized (
  select r.id, r.status from tock.job_runs_live r where r.id = :id for update
), asked as (
  update tock.job_runs_live r set cancel_requested_at = coalesce(r.cancel_requested_at, tock.now()), skip_reason = coalesce(:reason, r.skip_reason)
  from target t where r.id = t.id and t.status = 'running' returning r.id
), gone as (
  delete from tock.job_runs_live r using target t where r.id = t.id and t.status in (${statuses('cancel')}) returning r.*
), ended as (
  ${insertFinished('gone', { status: `'${TRANSITIONS.cancel.to}'`, skip_reason: ':reason' })} returning id
), ${freeSlots('gone', 'true')}, ${writeOutbox('gone', `'${TRANSITIONS.cancel.to}'`)}
select ${AFTER_MOVE}, case when exists (select from ended) then 'cancelled' when exists (select from asked) then 'asked' end as result,
  -- A listening daemon is notified at once; other workers ask with their next heartbeat.
  (select tock.notify('cancel:' || id)::text from asked) as notified`,
);

/** What became of a cancel: null if the run is not live. */
export interface Cancelled extends AfterMove {
  readonly result: 'cancelled' | 'asked' | null;
}

/** Cancels a run that is not running at once; asks the holder of a running one to stop. */
export async function cancelRun(session: Session, id: string, reason: string | null): Promise<Cancelled> {
  return (await CANCEL.first(session, { id, reason })) ?? { result: null, freed: null, outboxWritten: false };
}

const SUPERSEDE = statement<{ definitionIds: readonly string[] }, { id: string }>(
  'supersede-runs',
  `
with target as materialized (
  select r.id from tock.job_runs_live r
  where r.definition_id = any(:definitionIds::bigint[]) and r.status in (${statuses('supersede')}) and r.trigger = 'cron'
    and r.scheduled_for is not null and r.run_at > tock.now() and r.attempts = 0
  order by r.id for update skip locked
), gone as (
  delete from tock.job_runs_live r using target where r.id = target.id returning r.*
), ended as (
  ${insertFinished('gone', { status: `'${TRANSITIONS.supersede.to}'`, skip_reason: `'edited'` })}
  returning id
), ${freeSlots('gone', 'true')}, ${writeOutbox('gone', `'${TRANSITIONS.supersede.to}'`)}
select id from ended`,
);

/** Withdraws an edited definition's queued runs that are not yet due; each leaves a skipped row. */
export async function supersedeRuns(session: Session, definitionIds: readonly string[]): Promise<number> {
  return (await SUPERSEDE.run(session, { definitionIds })).length;
}

const RETRY = statement<{ id: string; attempts: number | null }, { id: string }>(
  'retry-run',
  `
with gone as (
  delete from tock.job_runs_finished r where r.id = :id and r.status in (${statuses('retry')}) returning r.*
)
insert into tock.job_runs_live (id, definition_id, run_at, priority, attempts, max_attempts, fence, releases, generation,
  occurrence_count, scheduled_for, interval_start, created_at, job, queue, trigger, idempotency_key, payload, errors,
  slot_keys, slot_limits, live_key, traceparent, status)
select id, definition_id, tock.now(), priority, attempts,
  attempts + coalesce(:attempts::integer, (select d.max_attempts from tock.job_definitions d where d.name = gone.job), 1),
  fence + 1, releases, generation + 1, occurrence_count, scheduled_for, interval_start, created_at, job, queue, trigger,
  idempotency_key, payload, errors, slot_keys, slot_limits, live_key, traceparent, '${TRANSITIONS.retry.to}'
from gone
returning id`,
);

/**
 * Puts a dead or cancelled run back into the queue, due now: a new generation with `attempts` more attempts
 * (default: as many as its job's definition gives). The fence grows, so that no older holder can write.
 */
export async function retryRun(session: Session, id: string, attempts: number | null): Promise<boolean> {
  return (await RETRY.first(session, { id, attempts })) !== undefined;
}
