// Unblocks runs once there are slots for them; and gives back slots that were left behind.
//
// An unblocked run holds no slot yet: it can be claimed, and admit.ts decides. So unblocking takes no lock on
// a key, and too much of it does no harm: what finds no slot is blocked again.
//
// Each queue for itself gets as many unblocked runs as there are free slots, because only some queues may be
// able to start one now (limit 1; the slot has just become free):
//
//   queue night, paused, or served by no worker     queue day
//   run 1 is unblocked, and waits for the queue
//                                                   run 5 is unblocked, claimed, and takes the slot
//   once it is open: run 1 is claimed, and blocked  run 5 ends: run 6 is unblocked; run 2 is not, for run 1
//                                                   still stands for the queue night
import type { Database, Session } from '../../connection/database.js';
import { statement } from '../../connection/statement.js';
import type { QueuePriority } from './claim.js';
import { isClaimable } from './queue-priorities.js';
import { blockedPlaces } from './waiting/blocked-places.js';
import { isPreceded } from './waiting/turns.js';

/** Where runs were unblocked. */
export interface Unblocked extends QueuePriority {
  /** When the first of them was due, as JSON has it. */
  readonly at: string;
}

// The limit of a key is what the first run of a queue that waits for it says. Of `standing`, only runs that
// go before that one count; and only under a job's key, since of other keys' runs a worker may know the one
// job and not the other.
const UNBLOCK = statement<{ readonly keys: readonly string[] }, Unblocked>(
  'unblock',
  `
with recursive ${blockedPlaces('unnest(:keys::text[]) as k(key)')}, free as materialized (
  select p.*, p.slot_limit - (select count(*) from tock.job_slots s where s.concurrency_key = p.key) as slots from places p
), wanted as materialized (
  select f.key, f.queue, f.slots - (select count(*) from (
    select from tock.job_runs_live r
    where f.key like 'job:%' and r.unblocked_on = f.key and r.queue = f.queue and ${isClaimable('r')} and f.key = any(r.slot_keys)
      and (r.priority, r.run_at, r.id) < (f.priority, f.run_at, f.id)
    order by r.priority desc, r.run_at desc, r.id desc limit f.slots) standing) as count
  from free f where f.slots > 0
), next as materialized (
  select n.id, w.key from wanted w cross join lateral (
    select r.id from tock.job_runs_live r
    where r.blocked_on = w.key and r.queue = w.queue
    order by r.priority, r.run_at, r.id limit w.count for update skip locked) n
  where w.count > 0 and w.key not like 'definition:%'
  union all
  select n.id, w.key from wanted w cross join lateral (
    select r.id, r.definition_id, r.scheduled_for from tock.job_runs_live r
    where r.blocked_on = w.key and r.queue = w.queue
    order by r.scheduled_for, r.id limit w.count for update skip locked) n
  where w.count > 0 and w.key like 'definition:%' and not ${isPreceded('n')}
), unblocked as (
  update tock.job_runs_live r set blocked_on = null, unblocked_on = r.blocked_on where r.id = any(array(select id from next))
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

const BLOCKING_KEYS = statement<{ readonly after: string; readonly limit: number }, { readonly key: string }>(
  'blocking-keys',
  `
with recursive keys as (
  (select blocked_on as key from tock.job_runs_live where blocked_on > :after order by blocked_on limit 1)
  union all
  select (select r.blocked_on from tock.job_runs_live r where r.blocked_on > k.key order by r.blocked_on limit 1) from keys k
  where k.key is not null
)
select key from keys where key is not null limit :limit`,
);

/** Of how many keys one statement is told. */
const KEYS_AT_ONCE = 10_000;

/**
 * Gives back slots that were left behind, and unblocks the runs that there are slots for, under every key
 * for which runs wait. For the reaper. Returns where runs were unblocked.
 */
export async function fixSlots(database: Database, keysAtOnce = KEYS_AT_ONCE): Promise<readonly Unblocked[]> {
  await FREE_LEFT_BEHIND.run(database, {});
  const unblocked: Unblocked[] = [];
  for (let after: string | undefined = ''; after !== undefined; ) {
    const rows: readonly { readonly key: string }[] = await BLOCKING_KEYS.run(database, {
      after,
      limit: keysAtOnce,
    });
    const keys = rows.map(row => row.key);
    unblocked.push(...(await unblockRuns(database, keys)));
    after = keys.length < keysAtOnce ? undefined : keys.at(-1);
  }
  return unblocked;
}
