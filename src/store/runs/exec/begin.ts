// Begins a run of `tock exec`: it is born running, leased to the process that executes its command, and waits
// in no state in which another worker could claim it.
//
//   host A, 12:00                          host B, 12:00               host A, 12:01
//   key exec:backup/12:00 is free: takes
//   it; run 1 is running, under the live
//   key exec:backup
//                                          the key is run 1's:
//                                          executes nothing
//                                                                      run 1 is live: run 2 is skipped
//
// The key is the minute of the database's clock that is nearest: cron starts hosts whose clocks differ a
// little before and after the full minute.
import { TRANSITIONS, type Trigger } from '../../../model/run/states.js';
import type { Session } from '../../connection/database.js';
import { statement } from '../../connection/statement.js';
import { isLeaseExpired } from '../reap/reapable.js';
import { insertRuns, statuses } from '../transition.js';

/** The trigger of its runs: the reaper does not repeat them, and they cannot be retried. */
export const EXEC_TRIGGER: Trigger = 'exec';
/** A queue that only shows them together. Its runs are never queued. */
const EXEC_QUEUE = 'exec';

const liveKey = (name: string) => `'exec:' || ${name}`;

export interface ExecLook {
  /** The idempotency key of this call. */
  readonly key: string;
  /** In epoch milliseconds. */
  readonly minute: number;
  readonly isTaken: boolean;
  /** The live run of this name; null: there is none. */
  readonly liveId: string | null;
  /** Runs of this name whose process is gone. */
  readonly expired: readonly string[];
}

const LOOK = statement<{ readonly name: string; readonly key: string | null }, ExecLook>(
  'exec-look',
  `
with clock as materialized (
  select date_trunc('minute', tock.now() + interval '30 seconds', 'UTC') as minute
), wanted as materialized (
  -- No name has a slash.
  select c.minute, ${liveKey(':name::text')} || '/' ||
    coalesce(:key::text, to_char(c.minute at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI"Z"')) as key from clock c
)
select w.key, (extract(epoch from w.minute) * 1000)::float8 as minute,
  exists (select from tock.job_keys k where k.idempotency_key = w.key) as "isTaken",
  (select r.id::text from tock.job_runs_live r where r.live_key = ${liveKey(':name::text')}) as "liveId",
  array(select r.id::text from tock.job_runs_live r
    where r.blocked_on is null and r.queue = '${EXEC_QUEUE}' and r.priority = 0 and r.run_at <= tock.now() and r.job = :name
      and r.trigger = '${EXEC_TRIGGER}' and r.status in (${statuses('reapToDead')}) and ${isLeaseExpired('r')}
    order by r.run_at, r.id limit 100) as expired
from wanted w`,
);

/** What holds now. Locks nothing. @param key in place of the minute */
export async function lookForExec(session: Session, name: string, key: string | null): Promise<ExecLook> {
  const found = await LOOK.first(session, { name, key });
  if (!found) throw new Error('the statement gave no row');
  return found;
}

export interface NewExec {
  readonly name: string;
  /** Whole, as in {@link ExecLook}. */
  readonly key: string;
  readonly workerId: string;
  readonly leaseMs: number;
  readonly maxAttempts: number;
  /** Begins also while another run of the name is live. */
  readonly mayOverlap: boolean;
  /** JSON. */
  readonly payload: string;
}

interface Begun {
  /** Null: another run has the key. */
  readonly id: string | null;
  /** False: it was skipped, because another run of its name is live. */
  readonly isBegun: boolean;
}

const NEW_RUN = {
  id: 't.run_id',
  job: ':name::text',
  queue: `'${EXEC_QUEUE}'`,
  trigger: `'${EXEC_TRIGGER}'`,
  max_attempts: ':maxAttempts::integer',
  idempotency_key: 't.idempotency_key',
  payload: ':payload::jsonb',
  run_at: 'tock.now()',
  created_at: 'tock.now()',
};

const BEGIN = statement<NewExec, Begun>(
  'exec-begin',
  `
with taken as (
  insert into tock.job_keys (idempotency_key, run_id) values (:key::text, nextval('tock.job_runs_id_seq'))
  on conflict do nothing
  returning idempotency_key, run_id
), begun as (
  ${insertRuns('job_runs_live', 'taken t', {
    ...NEW_RUN,
    status: `'${TRANSITIONS.claim.to}'`,
    attempts: '1',
    fence: '1',
    started_at: 'tock.now()',
    locked_by: ':workerId',
    locked_until: `tock.now() + :leaseMs * interval '1 millisecond'`,
    live_key: `case when :mayOverlap::boolean then null else ${liveKey(':name::text')} end`,
  })}
  on conflict (live_key) where live_key is not null do nothing
  returning id
), skipped as (
  ${insertRuns('job_runs_finished', 'taken t where t.run_id not in (select b.id from begun b)', {
    ...NEW_RUN,
    status: `'skipped'`,
    skip_reason: `'overlap'`,
    finished_at: 'tock.now()',
  })}
  returning id
)
select (select t.run_id::text from taken t) as id, exists (select from begun) as "isBegun",
  (select count(*) from skipped) as skipped`,
);

/** Begins a run under its key, or leaves a skipped one; or neither, where another run has the key. */
export async function beginExecRun(session: Session, run: NewExec): Promise<Begun> {
  return (await BEGIN.first(session, run)) ?? { id: null, isBegun: false };
}

/** The run that has a key. */
export interface KeyHolder {
  readonly id: string;
  /** Null: it was pruned. */
  readonly status: string | null;
}

const HOLDER = statement<{ readonly key: string }, KeyHolder>(
  'exec-key-holder',
  `
select k.run_id::text as id, r.status from tock.job_keys k left join tock.job_runs r on r.id = k.run_id
where k.idempotency_key = :key`,
);

export async function readKeyHolder(session: Session, key: string): Promise<KeyHolder | undefined> {
  return await HOLDER.first(session, { key });
}

const EXEC_RUNS = statement<{ readonly ids: readonly string[] }, { readonly id: string }>(
  'exec-runs-among',
  `
select r.id::text as id from tock.job_runs_finished r
where r.id = any(:ids::bigint[]) and r.trigger = '${EXEC_TRIGGER}' and r.status in (${statuses('retry')})
order by r.id`,
);

/** Those of the runs that a retry leaves as they are. */
export async function readExecRuns(session: Session, ids: readonly string[]): Promise<string[]> {
  return (await EXEC_RUNS.run(session, { ids })).map(row => row.id);
}

const IS_EXEC_NAME = statement<{ readonly name: string }, { readonly found: boolean }>(
  'is-exec-name',
  `
select exists (select from tock.job_runs_live r where r.live_key = ${liveKey(':name::text')}) or coalesce(
  (select r.trigger from tock.job_runs_finished r where r.job = :name order by r.id desc limit 1) = '${EXEC_TRIGGER}', false) as found`,
);

/** Whether the newest run of this name is one of `tock exec`. */
export async function isExecName(session: Session, name: string): Promise<boolean> {
  return (await IS_EXEC_NAME.first(session, { name }))?.found === true;
}
