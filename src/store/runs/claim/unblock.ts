// Unblocks runs once there are slots for them; and gives back slots that were left behind.
//
// An unblocked run holds no slot yet: it can be claimed, and admit.ts decides. So unblocking takes no lock on
// a key, and too much of it does no harm: what finds no slot is blocked again.
import type { Database, Session } from '../../connection/database.js';
import { statement } from '../../connection/statement.js';
import type { QueuePriority } from './claim.js';

/** Where runs were unblocked. */
export interface Unblocked extends QueuePriority {
  /** When the first of them was due, as JSON has it. */
  readonly at: string;
}

// The limit of a key is what the first run that waits for it says. Turns of a definition go by occurrence. Of
// a key for which no run waits, as most are, nothing more is read.
const UNBLOCK = statement<{ readonly keys: readonly string[] }, Unblocked>(
  'unblock',
  `
with keys as (
  select k.key, f.slot_limit - (select count(*) from tock.job_slots s where s.concurrency_key = k.key) as free
  from unnest(:keys::text[]) as k(key) cross join lateral (
    select r.slot_limits[array_position(r.slot_keys, k.key)] as slot_limit from tock.job_runs_live r
    where r.blocked_on = k.key order by r.priority, r.run_at, r.id limit 1) f
), next as materialized (
  select n.id from keys k cross join lateral (
    select r.id from tock.job_runs_live r where r.blocked_on = k.key and k.key not like 'definition:%'
    order by r.priority, r.run_at, r.id limit greatest(k.free, 0) for update skip locked) n
  union all
  select n.id from keys k cross join lateral (
    select r.id from tock.job_runs_live r where r.blocked_on = k.key and k.key like 'definition:%'
    order by r.scheduled_for, r.id limit greatest(k.free, 0) for update skip locked) n
), unblocked as (
  update tock.job_runs_live r set blocked_on = null where r.id = any(array(select id from next))
  returning r.queue, r.priority, r.run_at
)
select u.queue, u.priority, to_jsonb(min(u.run_at)) #>> '{}' as at, (select tock.notify('queued')) as notified
from unblocked u group by u.queue, u.priority order by u.priority, u.queue`,
);

/**
 * Unblocks runs under keys that may have free slots. Runs that are locked are skipped. Returns where those
 * lie that were unblocked.
 */
export async function unblockRuns(session: Session, keys: readonly string[]): Promise<readonly Unblocked[]> {
  return keys.length === 0 ? [] : await UNBLOCK.run(session, { keys });
}

// The slot of a run that has ended, or waits for its next attempt: its process died before it gave it back.
const FREE_LEFT_BEHIND = statement<object, unknown>(
  'free-left-behind-slots',
  `
delete from tock.job_slots s where not exists (
  select from tock.job_runs_live r
  where r.id = s.run_id and (r.status = 'running' or s.concurrency_key like 'definition:%'))`,
);

const BLOCKING_KEYS = statement<object, { readonly key: string }>(
  'blocking-keys',
  `
with recursive keys as (
  (select blocked_on as key from tock.job_runs_live where blocked_on is not null order by blocked_on limit 1)
  union all
  select (select r.blocked_on from tock.job_runs_live r where r.blocked_on > k.key order by r.blocked_on limit 1) from keys k
  where k.key is not null
)
select key from keys where key is not null limit 10000`,
);

/** Gives back slots that were left behind, and unblocks the runs that there are slots for. For the reaper. */
export async function fixSlots(database: Database): Promise<void> {
  await FREE_LEFT_BEHIND.run(database, {});
  const keys = await BLOCKING_KEYS.run(database, {});
  await unblockRuns(
    database,
    keys.map(row => row.key),
  );
}
