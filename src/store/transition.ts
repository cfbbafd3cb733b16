// Room: store. The moves of states.ts as statements. Each is one statement, fenced, and sorted by id.
// In: a session, and runs by id and fence. Out: the ids that really moved; the others' lease is lost.
//
// How the fence works: a claim raises it, and every write of the holder names the fence it was given and the
// worker's own id. A worker that slept past its lease names an old fence and changes nothing.
// The fence is compared as text in an array, `(id || ':' || fence) = any(…)`: through a join with unnest the
// same batch took twice as long.
import type { Outcome } from '../model/decide.js';
import { TRANSITIONS, type TransitionName } from '../model/states.js';
import type { Session } from './database.js';

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
  /** The start deadline has passed: to be skipped, not executed. */
  readonly is_late: boolean;
}

/** A run and the fence its holder was given. */
export interface Held {
  readonly id: string;
  readonly fence: number;
}

function statuses(name: TransitionName): string {
  return TRANSITIONS[name].from.map(status => `'${status}'`).join(', ');
}

const EPOCH_MS = (column: string) => `(extract(epoch from ${column}) * 1000)::float8`;

const CLAIMED = `r.id, r.fence, r.job, r.attempts, r.max_attempts, r.payload, r.occurrence_count,
  r.idempotency_key, r.trigger, ${EPOCH_MS('r.scheduled_for')} as scheduled_for,
  ${EPOCH_MS('r.interval_start')} as interval_start, coalesce(r.start_by < tock.now(), false) as is_late,
  case when r.definition_id is not null then (select d.name from tock.job_definitions d where d.id = r.definition_id) end as definition`;

// The distinct priorities are walked by a loose index scan (there are few), and under each one the due runs, so
// that a million future runs of a higher priority are not walked over. MATERIALIZED, because the planner may
// otherwise run the locking part more than once and lock more rows than LIMIT says.
// Source of the loose scan: the PostgreSQL wiki, "Loose indexscan".
const CLAIM = `
with recursive priorities as (
  (select priority from tock.job_runs_live order by priority limit 1)
  union all
  select (select n.priority from tock.job_runs_live n where n.priority > p.priority order by n.priority limit 1)
  from priorities p where p.priority is not null
), due as materialized (
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
    locked_until = tock.now() + $3 * interval '1 millisecond', started_at = tock.now(), cancel_requested_at = null
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
    locked_until = tock.now() + $3 * interval '1 millisecond', started_at = tock.now(), cancel_requested_at = null
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

/** The rows of a batch that its holder still holds, locked in the order of their ids. */
const HELD = (name: TransitionName) => `held as materialized (
  select r.id from tock.job_runs_live r
  where r.id = any($1::bigint[]) and (r.id || ':' || r.fence) = any($2::text[]) and r.locked_by = $3
    and r.status in (${statuses(name)})
  order by r.id
  for update
)`;

const RENEW = `
with ${HELD('succeed')}
update tock.job_runs_live r set locked_until = tock.now() + $4 * interval '1 millisecond'
from held where r.id = held.id
returning r.id, r.cancel_requested_at is not null as cancel_requested`;

/** Renews the leases of a worker's runs: one statement per beat. What is missing from the answer is lost. */
export async function renewLeases(
  session: Session,
  held: readonly Held[],
  workerId: string,
  leaseMs: number,
): Promise<{ id: string; cancel_requested: boolean }[]> {
  return await session.run(RENEW, [...fenced(held), workerId, leaseMs]);
}

const PROGRESS = `
with p as materialized (select * from unnest($1::bigint[], $4::jsonb[]) as p(id, progress)), ${HELD('succeed')}
update tock.job_runs_live r set progress = p.progress from held join p using (id) where r.id = held.id`;

/** Writes the progress of running runs. */
export async function writeProgress(
  session: Session,
  entries: readonly (Held & { readonly progress: unknown })[],
  workerId: string,
): Promise<void> {
  await session.run(PROGRESS, [
    ...fenced(entries),
    workerId,
    entries.map(each => JSON.stringify(each.progress)),
  ]);
}

/** Columns that a finished run keeps as they were. */
const KEPT = `definition_id, run_at, priority, attempts, max_attempts, fence, releases, generation, occurrence_count,
  scheduled_for, interval_start, start_by, locked_by, created_at, started_at, job, queue, trigger, idempotency_key,
  payload, progress`;
/** The last errors are kept; a run with thousands of attempts must not grow without bound. */
const APPENDED_ERRORS = (errors: string, entry: string) => `case when ${entry} is null then ${errors}
  else (case when jsonb_array_length(${errors}) >= 50 then ${errors} - 1 else ${errors} end) || ${entry} end`;
/** The time of the failure is the database's. */
const DATED = (entry: string) =>
  `(jsonb_build_object('at', to_char(tock.now() at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')) || ${entry})`;

// DELETE and INSERT, not an UPDATE of the partition key: a row that an UPDATE moves makes a concurrent locker
// fail ("tuple to be locked was already moved to another partition"), a deleted one is skipped.
const FINISH = `
with outcome as materialized (
  select * from unnest($1::bigint[], $4::text[], $5::jsonb[], $6::jsonb[], $7::text[]) as o(id, status, output, error, skip_reason)
), ${HELD('succeed')}, gone as (
  delete from tock.job_runs_live r using held where r.id = held.id returning r.*
)
insert into tock.job_runs_finished (id, ${KEPT}, status, finished_at, output, errors, skip_reason)
select id, ${KEPT}, o.status, tock.now(), o.output, ${APPENDED_ERRORS('gone.errors', DATED('o.error'))}, o.skip_reason
from gone join outcome o using (id)
returning id`;

const FAIL = `
with outcome as materialized (
  select * from unnest($1::bigint[], $4::jsonb[], $5::float8[]) as o(id, error, delay_ms)
), ${HELD('fail')}
update tock.job_runs_live r
set status = '${TRANSITIONS.fail.to}', run_at = tock.now() + o.delay_ms * interval '1 millisecond',
    locked_by = null, locked_until = null, errors = ${APPENDED_ERRORS('r.errors', DATED('o.error'))}
from held join outcome o using (id) where r.id = held.id
returning r.id`;

// The attempt is given back, at most a hundred times: a run that is always caught by a drain must end some day.
const RELEASE = `
with ${HELD('release')}
update tock.job_runs_live r
set status = '${TRANSITIONS.release.to}', locked_by = null, locked_until = null, releases = r.releases + 1,
    attempts = case when r.releases < 100 then r.attempts - 1 else least(r.attempts, r.max_attempts - 1) end
from held where r.id = held.id
returning r.id`;

/** An outcome and the run it is for. */
export type Finalization = Held & { readonly outcome: Outcome };

/**
 * Carries out the outcomes of a batch of attempts: three statements at most, however large the batch.
 * Returns the ids that moved. A run that is missing was taken away: its lease had expired.
 */
export async function finalizeRuns(
  session: Session,
  batch: readonly Finalization[],
  workerId: string,
): Promise<Set<string>> {
  const failed = batch.filter(each => each.outcome.transition === 'fail');
  const released = batch.filter(each => each.outcome.transition === 'release');
  const finished = batch.filter(
    each => each.outcome.transition !== 'fail' && each.outcome.transition !== 'release',
  );
  const moved = new Set<string>();
  if (finished.length > 0) for (const { id } of await finish(session, finished, workerId)) moved.add(id);
  if (failed.length > 0) {
    const rows = await session.run<{ id: string }>(FAIL, [
      ...fenced(failed),
      workerId,
      failed.map(each => json(each.outcome.error)),
      failed.map(each => each.outcome.delayMs),
    ]);
    for (const { id } of rows) moved.add(id);
  }
  if (released.length > 0) {
    for (const { id } of await session.run<{ id: string }>(RELEASE, [...fenced(released), workerId]))
      moved.add(id);
  }
  return moved;
}

async function finish(
  session: Session,
  batch: readonly Finalization[],
  workerId: string,
): Promise<{ id: string }[]> {
  return await session.run(FINISH, [
    ...fenced(batch),
    workerId,
    batch.map(each => TRANSITIONS[each.outcome.transition].to),
    batch.map(each => json(each.outcome.output)),
    batch.map(each => json(each.outcome.error)),
    batch.map(each => each.outcome.skipReason),
  ]);
}

function fenced(held: readonly Held[]): [string[], string[]] {
  return [held.map(each => each.id), held.map(each => `${each.id}:${each.fence}`)];
}

function json(value: unknown): string | null {
  return value === null || value === undefined ? null : JSON.stringify(value);
}

const SETTLED = `
select id from tock.job_runs_finished
where id = any($1::bigint[]) and (id || ':' || fence) = any($2::text[]) and locked_by = $3`;

/**
 * Which of these runs ended by this very attempt. For the case that a finalize was sent and its reply was lost:
 * the state is read back, never guessed.
 */
export async function readSettled(
  session: Session,
  held: readonly Held[],
  workerId: string,
): Promise<Set<string>> {
  const rows = await session.run<{ id: string }>(SETTLED, [...fenced(held), workerId]);
  return new Set(rows.map(row => row.id));
}

// Expired leases: back to the queue with a backoff while attempts are left, else dead. In batches, so that no
// statement holds many rows; SKIP LOCKED, so that several reapers share the work.
const EXPIRED = `expired as materialized (
  select r.id, r.attempts >= r.max_attempts as is_last from tock.job_runs_live r
  where r.status in (${statuses('reapToFailed')}) and (r.locked_until < tock.now() or r.locked_until is null)
  order by r.id
  limit $1
  for update skip locked
)`;
const LEASE_ERROR = `jsonb_build_object(
  'at', to_char(tock.now() at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'), 'attempt', r.attempts,
  'name', 'LeaseExpired', 'code', 'TOCK_LEASE_LOST', 'stack', null,
  'message', 'the worker ' || coalesce((select w.host || ' pid ' || w.pid from tock.workers w where w.id = r.locked_by), r.locked_by::text, '?')
    || ' stopped renewing its lease: it was killed, lost the database, or its event loop was blocked')`;
const REAP = `
with ${EXPIRED}, again as (
  update tock.job_runs_live r
  set status = '${TRANSITIONS.reapToFailed.to}', locked_by = null, locked_until = null,
      run_at = tock.now() + least(power(2, least(r.attempts, 12) - 1) * $2::float8, $3::float8) * interval '1 millisecond',
      errors = ${APPENDED_ERRORS('r.errors', LEASE_ERROR)}
  from expired where r.id = expired.id and not expired.is_last
  returning r.id
), gone as (
  delete from tock.job_runs_live r using expired where r.id = expired.id and expired.is_last returning r.*
), dead as (
  insert into tock.job_runs_finished (id, ${KEPT}, status, finished_at, errors)
  select id, ${KEPT}, '${TRANSITIONS.reapToDead.to}', tock.now(), ${APPENDED_ERRORS('r.errors', LEASE_ERROR)} from gone r
  returning id
)
select (select count(*) from again)::int as failed, (select count(*) from dead)::int as dead`;

/** Takes back runs whose lease has expired, at most `limit`; with how many are to be tried again and how many are dead. */
export async function reapRuns(
  session: Session,
  options: { readonly limit: number; readonly backoffMs: number; readonly maxBackoffMs: number },
): Promise<{ failed: number; dead: number }> {
  const [row] = await session.run<{ failed: number; dead: number }>(REAP, [
    options.limit,
    options.backoffMs,
    options.maxBackoffMs,
  ]);
  return row ?? { failed: 0, dead: 0 };
}

const CANCEL = `
with target as materialized (
  select r.id, r.status from tock.job_runs_live r where r.id = $1 for update
), asked as (
  update tock.job_runs_live r set cancel_requested_at = coalesce(r.cancel_requested_at, tock.now())
  from target t where r.id = t.id and t.status = 'running' returning r.id
), gone as (
  delete from tock.job_runs_live r using target t where r.id = t.id and t.status in (${statuses('cancel')}) returning r.*
), ended as (
  insert into tock.job_runs_finished (id, ${KEPT}, status, finished_at, errors, skip_reason)
  select id, ${KEPT}, '${TRANSITIONS.cancel.to}', tock.now(), errors, $2 from gone returning id
)
select case when exists (select from ended) then 'cancelled' when exists (select from asked) then 'asked' end as result`;

/** Cancels a run that is not running at once; asks the holder of a running one to stop. Null: it is not live. */
export async function cancelRun(
  session: Session,
  id: string,
  reason: string | null,
): Promise<'cancelled' | 'asked' | null> {
  const [row] = await session.run<{ result: 'cancelled' | 'asked' | null }>(CANCEL, [id, reason]);
  return row?.result ?? null;
}

const SUPERSEDE = `
with target as materialized (
  select r.id from tock.job_runs_live r
  where r.definition_id = any($1::bigint[]) and r.status in (${statuses('supersede')}) and r.trigger = 'cron'
    and r.scheduled_for is not null and r.run_at > tock.now() and r.attempts = 0
  order by r.id for update skip locked
), gone as (
  delete from tock.job_runs_live r using target where r.id = target.id returning r.*
)
insert into tock.job_runs_finished (id, ${KEPT}, status, finished_at, errors, skip_reason)
select id, ${KEPT}, '${TRANSITIONS.supersede.to}', tock.now(), errors, 'edited' from gone
returning id`;

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
  occurrence_count, scheduled_for, interval_start, created_at, job, queue, trigger, idempotency_key, payload, errors, status)
select id, definition_id, tock.now(), priority, attempts,
  attempts + coalesce($2::int, (select d.max_attempts from tock.job_definitions d where d.name = gone.job), 1),
  fence + 1, releases, generation + 1, occurrence_count, scheduled_for, interval_start, created_at, job, queue, trigger,
  idempotency_key, payload, errors, '${TRANSITIONS.retry.to}'
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
