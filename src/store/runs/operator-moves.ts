// Moves that need no lease: cancel, retry, and the withdrawal of an edited schedule's runs.
import { HANDED_OFF, TRANSITIONS } from '../../model/run/states.js';
import type { Session } from '../connection/database.js';
import { statement } from '../connection/statement.js';
import { epochMs } from '../connection/values/readable-instant.js';
import { EXEC_TRIGGER } from './exec/begin.js';
import { fairRunsCome } from './fair/slots.js';
import { endLease } from './hand-off/handed-off.js';
import {
  AFTER_WAITING,
  type AfterMove,
  freeSlots,
  hasBegun,
  insertFinished,
  insertRuns,
  noteRetried,
  statuses,
  writeOutbox,
} from './transition.js';
import { lacksInterval } from './waits/intervals.js';

/** What a successor keeps that never was a run. */
const OF_SUCCESSOR =
  'job payload run_at queue priority max_attempts trigger slot_keys slot_limits traceparent created_at live_key tags';

// A successor that was about to be a run, and is one by now, is missed: this statement does not see its run.
// Who waits for one cannot mark it, so each end is in the outbox.
const CANCEL = statement<
  { ids: string; reason: string | null; again: boolean },
  CancelledRuns & { readonly missed: readonly string[] }
>(
  'cancel-runs',
  `
with target as materialized (
  select r.id, r.status from tock.job_runs_live r
  where r.id = any(:ids::bigint[]) and (:again::boolean or r.cancel_requested_at is null)
  order by r.id for update
), asked as (
  update tock.job_runs_live r set cancel_requested_at = coalesce(r.cancel_requested_at, tock.now()), skip_reason = coalesce(:reason, r.skip_reason),
    ${endLease('r')}
  where r.id = any(array(select t.id from target t where t.status = 'running')) returning r.id, r.locked_by
), gone as (
  delete from tock.job_runs_live r where r.id = any(array(select t.id from target t where t.status in (${statuses('cancel')}))) returning r.*
), ended as (
  ${insertFinished('gone', { status: `'${TRANSITIONS.cancel.to}'`, skip_reason: ':reason' })} returning id
), successors as materialized (
  select s.run_id from tock.job_successors s where s.run_id = any(:ids::bigint[]) and (select count(*) from target) >= 0
  order by s.run_id for update
), dropped as (
  delete from tock.job_successors s where s.run_id = any(array(select f.run_id from successors f)) returning s.*
), never_runs as (
  ${insertRuns('job_runs_finished', 'dropped', {
    ...Object.fromEntries(OF_SUCCESSOR.split(' ').map(column => [column, column])),
    id: 'run_id',
    idempotency_key: 'live_key',
    status: `'${TRANSITIONS.cancel.to}'`,
    skip_reason: ':reason',
    finished_at: 'tock.now()',
  })} returning id
), ends as (
  select id, generation, definition_id, scheduled_for, job, has_waiters from gone
  union all
  select run_id, 1, null, null, job, true from dropped
), ${freeSlots('gone', 'true')}, ${writeOutbox('ends', `'${TRANSITIONS.cancel.to}'`)}
select ${AFTER_WAITING}, array(select id::text from (select id from ended union all select id from never_runs) c order by id) as cancelled, array(select id::text from asked order by id) as asked,
  array(select s.run_id::text from tock.job_successors s where s.run_id = any(:ids::bigint[])
    and s.run_id <> all(array(select d.run_id from dropped d)) order by s.run_id) as missed,
  -- A listening daemon is notified at once; other workers ask with their next heartbeat.
  (select count(tock.notify(case when locked_by = '${HANDED_OFF}' then 'reap' else 'cancel:' || id end)::text) from asked) as notified`,
);

/** What became of a batch of cancels; ids that are in neither list are not live. */
export interface CancelledRuns extends AfterMove {
  readonly cancelled: readonly string[];
  /** They are running: their holders are asked to stop. */
  readonly asked: readonly string[];
}

/**
 * Cancels runs that are not running at once, and successors; asks the holders of running ones to stop. One
 * that is handed over loses its lease: the next reaping cancels it. Those that were asked before keep the
 * reason of that.
 */
export async function cancelRuns(
  session: Session,
  ids: readonly string[],
  reason: string | null,
  { again = false } = {},
): Promise<CancelledRuns> {
  const all = {
    cancelled: [] as string[],
    asked: [] as string[],
    freed: [] as string[],
    outboxWritten: false,
  };
  for (let left = ids; left.length > 0; ) {
    const row = await CANCEL.first(session, { ids: `{${left.join()}}`, reason, again });
    all.cancelled.push(...(row?.cancelled ?? []));
    all.asked.push(...(row?.asked ?? []));
    all.freed.push(...(row?.freed ?? []));
    all.outboxWritten ||= row?.outboxWritten === true;
    left = row?.missed ?? [];
  }
  return all;
}

/** What became of a cancel: null if the run is not live. */
export interface Cancelled extends AfterMove {
  readonly result: 'cancelled' | 'asked' | null;
}

/** Cancels one run, or asks its holder again: see {@link cancelRuns}. */
export async function cancelRun(session: Session, id: string, reason: string | null): Promise<Cancelled> {
  const { cancelled, asked, freed, outboxWritten } = await cancelRuns(session, [id], reason, { again: true });
  const result = cancelled.length > 0 ? 'cancelled' : asked.length > 0 ? 'asked' : null;
  return { result, freed, outboxWritten };
}

/** A run of an occurrence that is not yet due. Instants in epoch milliseconds. */
export interface EarlyRun {
  readonly id: string;
  readonly definitionId: string;
  readonly scheduledFor: number;
  readonly runAt: number;
}

/** What waits for others was due. */
const IS_EARLY = `r.status in (${statuses('supersede')}) and r.trigger = 'cron'
    and r.scheduled_for is not null and r.run_at > tock.now() and r.run_at < '9999-12-31' and not ${hasBegun('r')}`;

/** Queued runs of definitions that are not yet due: by their jitter, or by a window. */
export const readEarlyRuns = statement<{ definitionIds: readonly string[] }, EarlyRun>(
  'read-early-runs',
  `
select r.id::text, r.definition_id::text as "definitionId", ${epochMs('r.scheduled_for')} as "scheduledFor", ${epochMs('r.run_at')} as "runAt"
from tock.job_runs_live r where r.definition_id = any(:definitionIds::bigint[]) and ${IS_EARLY} order by r.id`,
);

const SUPERSEDE = statement<{ ids: readonly string[] }, { id: string }>(
  'supersede-runs',
  `
with target as materialized (
  select r.id from tock.job_runs_live r where r.id = any(:ids::bigint[]) and ${IS_EARLY}
  order by r.id for update skip locked
), gone as (
  delete from tock.job_runs_live r using target where r.id = target.id returning r.*
), ended as (
  ${insertFinished('gone', { status: `'${TRANSITIONS.supersede.to}'`, skip_reason: `'edited'` })}
  returning id
), ${freeSlots('gone', 'true')}, ${writeOutbox('gone', `'${TRANSITIONS.supersede.to}'`)}
select id from ended`,
);

/** Withdraws queued runs that are not yet due; each leaves a skipped row. */
export async function supersedeRuns(session: Session, runs: readonly EarlyRun[]): Promise<void> {
  if (runs.length > 0) await SUPERSEDE.run(session, { ids: runs.map(({ id }) => id) });
}

/** At which pace runs start that are retried together: one each `stepMs`, counted from an instant. */
export interface RetryPace {
  /** ISO text. */
  readonly from: string;
  readonly stepMs: number;
  /** How many came before these. */
  readonly offset: number;
}

interface RetryParams {
  readonly ids: string;
  readonly attempts: number | null;
  readonly from: string | null;
  readonly stepMs: number | null;
  readonly offset: number | null;
}

const RETRY = statement<RetryParams, { id: string }>(
  'retry-runs',
  `
with target as materialized (
  select r.id from tock.job_runs_finished r where r.id = any(:ids::bigint[]) and r.status in (${statuses('retry')}) and r.trigger <> '${EXEC_TRIGGER}'
  order by r.id for update
), gone as (
  delete from tock.job_runs_finished r
  where r.id = any(array(select t.id from target t)) and r.status in (${statuses('retry')}) returning r.*
), ${noteRetried('gone')}, lasting as materialized (
  select w.id from tock.job_waits w
  where w.id = any(array(select a.wait_id from tock.job_awaited_runs a where a.run_id = any(array(select g.id from gone g)))) and w.outcome is null
  order by w.id for no key update
), awaited as (
  -- Waits that last are for its next end.
  update tock.job_awaited_runs a set status = null, output = null, error = null
  where a.run_id = any(array(select g.id from gone g)) and a.wait_id = any(array(select l.id from lasting l))
), joins as (
  -- A join that is retried: its members may have ended meanwhile.
  insert into tock.job_outbox (kind, run_ids)
  select 'end', array[min(a.run_id)] from tock.job_waits w join tock.job_awaited_runs a on a.wait_id = w.id
  where w.run_id = any(array(select g.id from gone g)) and w.kind = 'group' and w.outcome is null group by w.id
), lacking as (
  insert into tock.job_outbox (kind, definition_id)
  select distinct 'interval', g.definition_id from gone g where ${lacksInterval('g')} order by g.definition_id
), made as (
insert into tock.job_runs_live (id, definition_id, run_at, priority, attempts, max_attempts, fence, releases, generation,
  occurrence_count, scheduled_for, interval_start, created_at, job, queue, trigger, idempotency_key, payload, errors,
  slot_keys, slot_limits, blocked_on, live_key, traceparent, has_parents, tags, keeps_changes, has_waiters, status)
select id, definition_id,
  -- A join waits on, and so does a run of a flow, or one that lacks its data interval.
  case when exists (select from tock.job_waits w where w.run_id = gone.id and w.kind = 'group' and w.outcome is null)
      or ${lacksInterval('gone')} then '9999-12-31'
    when :stepMs::float8 is null then tock.now()
    else greatest(tock.now(), :from::timestamptz + (:offset::integer + row_number() over (order by id) - 1) * :stepMs::float8 * interval '1 millisecond') end,
  priority, attempts,
  attempts + coalesce(:attempts::integer, (select d.max_attempts from tock.job_definitions d where d.name = gone.job), 1),
  fence + 1, releases, generation + 1, occurrence_count, scheduled_for, interval_start, created_at, job, queue, trigger,
  idempotency_key, payload, errors, slot_keys, slot_limits, tock.fair_key_in(slot_keys), live_key, traceparent, has_parents, tags,
  (select d.keeps_changes from tock.job_definitions d where d.name = gone.job),
  -- A wait for it may be begun now, unseen by this statement.
  true, '${TRANSITIONS.retry.to}'
from gone order by id
returning id, blocked_on
), ${fairRunsCome('made')}
select id::text as id, (select tock.notify('queued')) as notified, (select count(*) from come) as come from made order by made.id`,
);

/**
 * Puts dead or cancelled runs back into the queue, due now or at a pace: each is a new generation with
 * `attempts` more attempts (default: as many as its job's definition gives). The fence grows, so that no
 * older holder can write. Those of `tock exec` are left: no worker can execute them. Returns the ids of
 * those that were dead or cancelled.
 */
export async function retryRuns(
  session: Session,
  ids: readonly string[],
  attempts: number | null,
  pace: RetryPace | null = null,
): Promise<string[]> {
  const { from, stepMs, offset } = pace ?? { from: null, stepMs: null, offset: null };
  const params = { ids: `{${ids.join()}}`, attempts, from, stepMs, offset };
  return (await RETRY.run(session, params)).map(row => row.id);
}

/** Retries one run; false if it is neither dead nor cancelled. */
export async function retryRun(
  session: Session,
  id: string,
  attempts: number | null,
  pace: RetryPace | null = null,
): Promise<boolean> {
  return (await retryRuns(session, [id], attempts, pace)).length > 0;
}
