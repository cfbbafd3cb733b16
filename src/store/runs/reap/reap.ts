// Takes back runs whose lease has expired: to be tried again while attempts are left, otherwise dead.
//
//   reaper A                                 reaper B                        worker W, frozen, holds runs 1
//   and 2
//   has the lock of reaping, locks 1 and 2
//                                            has no lock: leaves it to A
//   1: failed, run_at + backoff
//   2: no attempt left: dead
//   commit                                                                   wakes up, and writes under its
//                                                                            fence:
//                                                                            1 has no holder, 2 is gone: no
//                                                                            row
//
// In batches, so that no statement locks many rows. The order of the locks does not matter, since none is
// waited for. One process at a time, because each reaping reads all due runs.
import { CODE_LENGTH } from '../../../model/deploys/deploys.js';
import { HANDED_OFF, TRANSITIONS } from '../../../model/run/states.js';
import type { Session } from '../../connection/database.js';
import { statement } from '../../connection/statement.js';
import { noteFailures } from '../alert-events.js';
import { noteChanges } from '../changes.js';
import { QUEUE_LANES } from '../claim/queue-lanes.js';
import { WAITS_FOR_CODE } from '../claim/waiting/claim-waiting.js';
import { EXEC_TRIGGER } from '../exec/begin.js';
import { HAS_FAIR } from '../fair/ready.js';
import { dueAt, HAS_DECIDED, receiver } from '../hand-off/handed-off.js';
import { HAS_OFFERS, RELAYS_TO_SQL } from '../hand-off/offers.js';
import {
  AFTER_MOVE,
  type AfterMove,
  appendError,
  attemptTimes,
  ERROR_TIME,
  freeSlots,
  IS_LEFT,
  insertFinished,
  KEEP_BEGUN,
  setSuspect,
  statuses,
  withdrawReplaced,
  writeOutbox,
} from '../transition.js';
import { GONE_WORKERS, HAS_ENDED, HAS_LIMITS, HAS_OUTBOX, isExpired, isLeaseExpired } from './reapable.js';

// No worker can repeat what a process of `tock exec` was to do.
const IS_LAST = `(r.attempts >= r.max_attempts or r.trigger = '${EXEC_TRIGGER}')`;

const EXPIRED = `
  select e.* from queue_lanes p cross join lateral (
    select r.id, r.job, ${IS_LAST} as is_last from tock.job_runs_live r
    where ${isExpired('r', 'p')}
    order by r.run_at, r.id
    limit :limit
    for update skip locked
  ) e
  limit :limit`;

const EXPIRED_OF_THESE = `
  select r.id, r.job, ${IS_LAST} as is_last from tock.job_runs_live r
  where r.id = any(:ids::bigint[]) and r.blocked_on is null and r.status in (${statuses('reapToFailed')})
    and ${isLeaseExpired('r')}
  order by r.id limit :limit
  for update skip locked`;

const WORKER = `(select w.host || ' pid ' || w.pid from tock.workers w where w.id = r.locked_by)`;
const WORKERS_DEPLOY = `(select v.name from tock.deploys v where v.code = left(r.locked_by::text, ${CODE_LENGTH}))`;
const LEASE_ERROR = `(jsonb_build_object(
  'at', ${ERROR_TIME}, 'attempt', r.attempts, 'code', 'TOCK_LEASE_LOST', 'stack', null)
  || case when r.locked_by = '${HANDED_OFF}' then jsonb_build_object('name', 'HandOffExpired', 'message',
    'it was handed off' || ${receiver('r')} || ', and its lease ended before it was completed or extended')
  else jsonb_build_object('name', 'LeaseExpired', 'message', 'the worker ' || coalesce(${WORKER}, r.locked_by::text, '?')
    || ' stopped renewing its lease: it was killed, lost the database, or its event loop was blocked') end
  || ${attemptTimes('r', dueAt('r'))} || jsonb_strip_nulls(jsonb_build_object('worker', ${WORKER}, 'deploy', ${WORKERS_DEPLOY})))`;

// Grows like the job's own wait, without jitter; for a job that is not known here, like the default.
const BACKOFF_MS = `least(coalesce(p.base, :backoffMs::float8) * case coalesce(p.backoff, :backoff)
    when 'fixed' then 1 when 'linear' then r.attempts else power(2, least(r.attempts, 40) - 1) end, coalesce(p.max, :maxBackoffMs::float8))`;

// Only the second time in a row: the first time, it may have been among thousands that were only claimed. A
// run that was handed off ended no process.
const IS_SUSPECT = `:canIsolate::boolean and r.errors -> -1 ->> 'code' = 'TOCK_LEASE_LOST'
        and r.errors -> -1 ->> 'name' is distinct from 'HandOffExpired' and r.locked_by is distinct from '${HANDED_OFF}'`;

const reap = (expired: string) => `
with ${QUEUE_LANES}, expired as materialized (${expired}
), policies as materialized (
  select * from jsonb_to_recordset(:policies::jsonb) as p(job text, backoff text, base float8, max float8)
), ${withdrawReplaced('expired', { waits: `not ${IS_LAST}` })}, again as (
  update tock.job_runs_live r
  set status = '${TRANSITIONS.reapToFailed.to}', locked_by = null, locked_until = null, ${KEEP_BEGUN},
      run_at = tock.now() + ${BACKOFF_MS} * interval '1 millisecond',
      errors = ${appendError('r.errors', LEASE_ERROR)},
      ${setSuspect(IS_SUSPECT)}
  from expired left join policies p on p.job = expired.job
  where r.id = any(array(select id from expired where not is_last)) and r.id = expired.id and ${IS_LEFT}
  returning r.id, r.definition_id, r.job, r.attempts, r.generation, r.keeps_changes
), ${noteFailures('again', 'alerted_failures')}, ${noteChanges('again', 'failed')}, gone as (
  delete from tock.job_runs_live r
  where r.id = any(array(select id from expired where is_last)) and ${IS_LEFT}
  returning r.*
), dead as (
  ${insertFinished('gone r', {
    status: `'${TRANSITIONS.reapToDead.to}'`,
    errors: appendError('r.errors', LEASE_ERROR),
    run_at: dueAt('r'),
  })}
  returning id
), ended as (
  select a.*, '${TRANSITIONS.reapToCancelled.to}' as ended_as from asked a
  union all select g.*, '${TRANSITIONS.reapToDead.to}' from gone g
), ${freeSlots('expired', 'm.is_last or m.id in (select id from asked)')}, ${writeOutbox('ended', 'e.ended_as')}, removed as (
  -- A dead process cannot remove its own row. One that was only cut off inserts its row again.
  delete from tock.workers w where w.id = any(array(${GONE_WORKERS}))
)
select (select count(*) from again)::int as failed, (select count(*) from dead)::int as dead,
  (select count(*) from withdrawn)::int as cancelled, ${AFTER_MOVE},
  array(select id::text from dead) as dead_ids`;

interface ReapParams {
  readonly limit: number;
  readonly backoff: StoredBackoff['backoff'];
  readonly backoffMs: number;
  readonly maxBackoffMs: number;
  /** JSON. */
  readonly policies: string;
  readonly canIsolate: boolean;
}

const REAP = statement<ReapParams, ReapedBatch>('reap', reap(EXPIRED));
const REAP_THESE = statement<ReapParams & { readonly ids: readonly string[] }, ReapedBatch>(
  'reap-these',
  reap(EXPIRED_OF_THESE),
);

/** What a reaping finds besides expired leases, before it begins. */
export interface Found {
  /** Some run holds a slot under a limit, or waits for one. False where another process reaps. */
  readonly hasLimits: boolean;
  /** The outbox has rows. False where another process reaps. */
  readonly hasOutbox: boolean;
  /** Runs were handed off, and what becomes of them was decided. False where another process reaps. */
  readonly hasDecided: boolean;
  /** Runs wait for code that has their jobs: the other process may not have it. */
  readonly waitsForCode: boolean;
  /** There are fair keys. */
  readonly hasFair: boolean;
  /** Something that an operator has made has come to its end: see `endAll`. */
  readonly hasEnded: boolean;
  /** Runs are offered to workers that speak SQL. */
  readonly hasOffers: boolean;
  /** There are queues that are relayed to sql. */
  readonly relaysToSql: boolean;
}

// The planner takes the few queue lanes for a hundred, and this plan for one that is worth
// compiling. A process that is frozen between its statements would keep the others from reaping: the server
// ends its session.
const BEGIN_REAPING = statement<object, Found & { readonly isMine: boolean }>(
  'begin-reaping',
  `select is_mine as "isMine", is_mine and ${HAS_LIMITS} as "hasLimits", is_mine and ${HAS_OUTBOX} as "hasOutbox", is_mine and ${HAS_DECIDED} as "hasDecided",
  ${WAITS_FOR_CODE} as "waitsForCode", ${HAS_FAIR} as "hasFair", ${HAS_ENDED} as "hasEnded", ${HAS_OFFERS} as "hasOffers", ${RELAYS_TO_SQL} as "relaysToSql",
  set_config('jit', 'off', true) as jit,
  set_config('idle_in_transaction_session_timeout', '10s', true) as "atMostIdle"
from (select pg_try_advisory_xact_lock(hashtextextended('tock.reap', 0)) as is_mine offset 0) one`,
);

/**
 * Begins a reaping: until the transaction ends it has the advisory lock of reaping, unless another process
 * has it (`isMine`); JIT is turned off, and the server ends the session if it is idle for ten seconds.
 */
export async function beginReaping(session: Session): Promise<Found & { readonly isMine: boolean }> {
  const begun = await BEGIN_REAPING.first(session, {});
  if (!begun) throw new Error('the statement that begins a reaping gave no row');
  return begun;
}

const EXPIRED_IDS = statement<{ readonly limit: number }, { readonly id: string }>(
  'expired-ids',
  `
with ${QUEUE_LANES}
select e.id::text as id from queue_lanes p cross join lateral (
  select r.id from tock.job_runs_live r where ${isExpired('r', 'p')} order by r.run_at, r.id limit :limit) e
limit :limit`,
);

/** Locks nothing. */
export async function readExpired(session: Session, limit: number): Promise<string[]> {
  return (await EXPIRED_IDS.run(session, { limit })).map(row => row.id);
}

/** How many are to be tried again, are dead, or were cancelled as an operator had asked. */
export interface ReapedRuns {
  readonly failed: number;
  readonly dead: number;
  readonly cancelled: number;
}

export interface ReapedBatch extends ReapedRuns, AfterMove {
  readonly dead_ids: readonly string[];
}

/** A job's backoff; durations in milliseconds. */
export interface StoredBackoff {
  readonly job: string;
  readonly backoff: 'fixed' | 'linear' | 'exponential';
  readonly base: number;
  readonly max: number;
}

export interface ReapOptions {
  readonly limit: number;
  /** Of jobs that `policies` do not name. */
  readonly backoff: StoredBackoff['backoff'];
  readonly backoffMs: number;
  readonly maxBackoffMs: number;
  readonly policies: readonly StoredBackoff[];
  /** Whether handlers can get their own processes here. */
  readonly canIsolate: boolean;
  /** Only these; undefined: all. */
  readonly ids?: readonly string[];
}

/** What a process has reaped that leaves it to another. */
export const NONE_REAPED: ReapedBatch = {
  failed: 0,
  dead: 0,
  cancelled: 0,
  dead_ids: [],
  freed: null,
  outboxWritten: false,
};

/**
 * Takes back at most `limit` runs whose lease has expired. Skips locked rows. Also removes workers that have
 * been silent for ten minutes and hold nothing.
 * @param session of a transaction that {@link beginReaping} has begun
 */
export async function reapRuns(session: Session, options: ReapOptions): Promise<ReapedBatch> {
  const { policies, ids, ...rest } = options;
  const params = { ...rest, policies: JSON.stringify(policies) };
  const row =
    ids === undefined
      ? await REAP.first(session, params)
      : await REAP_THESE.first(session, { ...params, ids });
  if (!row) throw new Error('the reaping statement gave no row');
  return row;
}
