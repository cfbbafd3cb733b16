// Room: store. Takes back runs whose lease has expired.
// In: how many at most, and the backoff. Out: how many are to be tried again and how many are dead.
import { TRANSITIONS } from '../../model/run/states.js';
import type { Session } from '../connection/database.js';
import { LANES } from './claim.js';
import {
  AFTERMATH,
  type Aftermath,
  APPENDED_ERRORS,
  FREED,
  KEPT,
  SUSPECTED,
  statuses,
  TOLD,
  WITHDRAW_ASKED,
} from './transition.js';

// Expired leases: back to the queue with a backoff while attempts are left, else dead. In batches, so that no
// statement holds many rows; SKIP LOCKED, so that several reapers share the work, and none waits in whatever order.
//
// There is no index on leases, for the claim's sake (it stays a HOT update). But what is leased was due: so this goes
// down each queue and priority to what is due, and a million future runs are not looked at.
const IS_EXPIRED = `r.blocked_on is null and r.queue = l.queue and r.priority = l.priority and r.run_at <= tock.now()
      and r.status in (${statuses('reapToFailed')}) and (r.locked_until < tock.now() or r.locked_until is null)`;
const EXPIRED = `expired as materialized (
  select e.* from lanes l cross join lateral (
    select r.id, r.job, r.attempts >= r.max_attempts as is_last from tock.job_runs_live r
    where ${IS_EXPIRED}
    order by r.run_at, r.id
    limit $1
    for update skip locked
  ) e
  limit $1
)`;
/** The same of the runs with these ids, $6. */
const EXPIRED_THESE = `expired as materialized (
  select r.id, r.job, r.attempts >= r.max_attempts as is_last from tock.job_runs_live r
  where r.id = any($6::bigint[]) and r.blocked_on is null and r.status in (${statuses('reapToFailed')})
    and (r.locked_until < tock.now() or r.locked_until is null)
  order by r.id limit $1
  for update skip locked
)`;
const LEASE_ERROR = `jsonb_build_object(
  'at', to_char(tock.now() at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'), 'attempt', r.attempts,
  'name', 'LeaseExpired', 'code', 'TOCK_LEASE_LOST', 'stack', null,
  'message', 'the worker ' || coalesce((select w.host || ' pid ' || w.pid from tock.workers w where w.id = r.locked_by), r.locked_by::text, '?')
    || ' stopped renewing its lease: it was killed, lost the database, or its event loop was blocked')`;
// The job's own growth of the wait, without its jitter; for a job that is not known here, the default.
const BACKOFF = `least(coalesce((p.base)::float8, $2) * case p.backoff
    when 'fixed' then 1 when 'linear' then r.attempts else power(2, least(r.attempts, 40) - 1) end, coalesce((p.max)::float8, $3))`;
// Workers that were not seen for so long, and hold nothing. Counted, not "not exists": that the planner answers for all
// workers at once. Few at a time, and by what is due: `workers` is small and never analyzed, so that the planner expects
// hundreds of rows; with a scan of the live runs for each, a server with JIT compiled the whole statement, each time.
const GONE = `select w.id from (
    select id from tock.workers where seen_at < tock.now() - interval '10 minutes' order by seen_at limit 10) w
  where 0 = (select count(*) from (select from lanes l cross join lateral (
    select from tock.job_runs_live r
    where r.blocked_on is null and r.queue = l.queue and r.priority = l.priority and r.run_at <= tock.now()
      and r.locked_by = w.id and r.status = 'running'
    order by r.run_at, r.id limit 1) h limit 1) held)`;
const HAS_LIMITS = `(exists (select from tock.job_slots) or (select blocked_on from tock.job_runs_live where blocked_on is not null
    order by blocked_on, priority, run_at, id limit 1) is not null)`;
const HAS_OUTBOX = `exists (select from tock.job_outbox)`;
/** Whether a reaping would find anything to do, as an SQL condition; over {@link LANES}. */
export const HAS_REMAINS = `(exists (select from lanes l cross join lateral (select from tock.job_runs_live r where ${IS_EXPIRED}
    order by r.run_at, r.id limit 1) e)
  or exists (${GONE}) or ${HAS_LIMITS} or ${HAS_OUTBOX})`;
const reaping = (expired: string) => `
with ${LANES}, ${expired}, policies as materialized (
  select * from jsonb_to_recordset($4::jsonb) as p(job text, backoff text, base float8, max float8)
), ${WITHDRAW_ASKED('expired')}, again as (
  update tock.job_runs_live r
  set status = '${TRANSITIONS.reapToFailed.to}', locked_by = null, locked_until = null,
      run_at = tock.now() + ${BACKOFF} * interval '1 millisecond',
      errors = ${APPENDED_ERRORS('r.errors', LEASE_ERROR)},
      -- Twice in a row: not the first time, when thousands that had only been claimed may have gone with a process.
      ${SUSPECTED(`$5::boolean and r.errors -> -1 ->> 'code' = 'TOCK_LEASE_LOST'`)}
  from expired left join policies p on p.job = expired.job
  where r.id = any(array(select id from expired where not is_last)) and r.id = expired.id and r.cancel_requested_at is null
  returning r.id
), gone as (
  delete from tock.job_runs_live r where r.id = any(array(select id from expired where is_last)) and r.cancel_requested_at is null returning r.*
), dead as (
  insert into tock.job_runs_finished (id, ${KEPT}, status, finished_at, errors)
  select id, ${KEPT}, '${TRANSITIONS.reapToDead.to}', tock.now(), ${APPENDED_ERRORS('r.errors', LEASE_ERROR)} from gone r
  returning id
), ended as (
  select a.*, '${TRANSITIONS.reapToCancelled.to}' as ended_as from asked a
  union all select g.*, '${TRANSITIONS.reapToDead.to}' from gone g
), ${FREED('expired', 'm.is_last or m.id in (select id from asked)')}, ${TOLD('ended', 'e.ended_as')}, forgotten as (
  -- A process that is gone has no other way to leave. One that was only cut off makes itself known again.
  delete from tock.workers w where w.id = any(array(${GONE}))
)
select (select count(*) from again)::int as failed, (select count(*) from dead)::int as dead,
  (select count(*) from withdrawn)::int as cancelled, ${AFTERMATH},
  array(select id::text from dead) as dead_ids,
  -- As of the beginning of the statement: what was left undone before.
  ${HAS_LIMITS} as has_limits, ${HAS_OUTBOX} as has_outbox`;
const REAP = reaping(EXPIRED);
const REAP_THESE = reaping(EXPIRED_THESE);

const EXPIRED_IDS = `
with ${LANES}
select e.id::text as id from lanes l cross join lateral (
  select r.id from tock.job_runs_live r where ${IS_EXPIRED} order by r.run_at, r.id limit $1) e
limit $1`;

/** Ids of runs whose lease has expired. Locks nothing. */
export async function readExpired(session: Session, limit: number): Promise<string[]> {
  const rows = await session.run<{ id: string }>(EXPIRED_IDS, [limit]);
  return rows.map(row => row.id);
}

/** How many are to be tried again, are dead, or ended as an operator had asked. */
export interface ReapedRuns {
  readonly failed: number;
  readonly dead: number;
  readonly cancelled: number;
}

export interface ReapedBatch extends ReapedRuns, Aftermath {
  readonly dead_ids: readonly string[];
  /** Some run holds a place under a limit, or waits for one. */
  readonly has_limits: boolean;
  readonly has_outbox: boolean;
}

/** How a job's runs wait after a failure; durations in milliseconds. */
export interface StoredBackoff {
  readonly job: string;
  readonly backoff: 'fixed' | 'linear' | 'exponential';
  readonly base: number;
  readonly max: number;
}

export interface ReapOptions {
  readonly limit: number;
  readonly backoffMs: number;
  readonly maxBackoffMs: number;
  readonly policies: readonly StoredBackoff[];
  /** Whether handlers can get processes of their own here. Default false. */
  readonly canIsolate?: boolean;
  /** Only these; left out: all. */
  readonly ids?: readonly string[];
}

/**
 * Takes back runs whose lease has expired, at most `limit`; with how many are to be tried again and how many are dead.
 *
 * @param session of a transaction: the statement is not to be compiled. The planner takes the few queues and priorities
 *   for a hundred, and a plan over a large backlog for one that is worth it, each time
 */
export async function reapRuns(session: Session, options: ReapOptions): Promise<ReapedBatch> {
  const { limit, backoffMs, maxBackoffMs, policies, canIsolate = false, ids } = options;
  await session.run('set local jit = off');
  const values = [limit, backoffMs, maxBackoffMs, JSON.stringify(policies), canIsolate];
  const [row] =
    ids === undefined
      ? await session.run<ReapedBatch>(REAP, values)
      : await session.run<ReapedBatch>(REAP_THESE, [...values, ids]);
  if (!row) throw new Error('the reaping statement gave no row');
  return row;
}
