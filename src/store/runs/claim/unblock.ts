// Unblocks runs once there are slots for them, and frees slots that ended runs still hold.
//
// An unblocked run holds no slot yet: it can be claimed, and admit.ts decides. So unblocking takes no lock on
// a key, and to unblock too many runs does no harm: a run that finds no slot is blocked again.
//
// In each queue as many runs are unblocked as there are free slots, because perhaps only some queues can
// start a run now (limit 1; the slot has just become free):
//
//   queue night, paused, or served by no worker     queue day
//   run 1 is unblocked, and waits for the queue
//                                                   run 5 is unblocked, claimed, and takes the slot
//   once it is open: run 1 is claimed, and blocked  run 5 ends: run 6 is unblocked; run 2 is not, for run 1
//                                                   still stands for the queue night
import type { Database, Session } from '../../connection/database.js';
import { isUnstorable } from '../../connection/errors.js';
import { statement } from '../../connection/statement.js';
import { FAIR, fairKeysArrive, isFair } from '../fair/arrive.js';
import { isKept } from '../transition.js';
import type { QueueLane } from './claim.js';
import { isClaimable } from './queue-lanes.js';
import { blockedQueues } from './waiting/blocked-queues.js';
import { isPreceded } from './waiting/turns.js';

/** A lane in which runs were unblocked. */
export interface Unblocked extends QueueLane {
  /** When the first of them was due, as JSON has it. */
  readonly at: string;
}

// A key's limit in a queue is that of the first run that waits there. Of the runs that were unblocked before
// and have not started (`standing`), those that come before that run count; and only under a job's key, since
// a worker may know the job of one run under another key and not that of the next.
const UNBLOCK = statement<{ readonly keys: readonly string[] }, Unblocked>(
  'unblock',
  `
with recursive ${blockedQueues('unnest(:keys::text[]) as k(key)')}, free as materialized (
  select p.*, p.slot_limit - (select count(*) from tock.job_slots s where s.concurrency_key = p.key) as slots from blocked_queues p
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
  where w.key not like 'definition:%'
  union all
  select n.id, w.key from wanted w cross join lateral (
    select r.id, r.definition_id, r.scheduled_for from tock.job_runs_live r
    where r.blocked_on = w.key and r.queue = w.queue
    order by r.scheduled_for, r.id limit w.count for update skip locked) n
  where w.key like 'definition:%' and not ${isPreceded('n')}
), unblocked as (
  update tock.job_runs_live r set blocked_on = null, unblocked_on = r.blocked_on where r.id = any(array(select id from next))
  returning r.queue, r.priority, r.run_at
)
select u.queue, u.priority, to_jsonb(min(u.run_at)) #>> '{}' as at, (select tock.notify('queued')) as notified
from unblocked u group by u.queue, u.priority order by u.priority, u.queue`,
);

/** Unblocks runs under keys that may have free slots. Skips runs that are locked. Returns their lanes. */
export async function unblockRuns(session: Session, all: readonly string[]): Promise<readonly Unblocked[]> {
  const keys = all.filter(key => !isFair(key));
  return keys.length === 0 ? [] : await UNBLOCK.run(session, { keys });
}

// Slots of runs that have ended, or that wait for their next attempt: the process died before it freed them.
const FREE_STALE_SLOTS = statement<object, { readonly key: string }>(
  'free-stale-slots',
  `
delete from tock.job_slots s where not exists (
  select from tock.job_runs_live r
  where r.id = s.run_id and (r.status = 'running' or ${isKept('s.concurrency_key')}))
returning s.concurrency_key as key`,
);

const BLOCKING_KEYS = statement<{ readonly after: string; readonly limit: number }, { readonly key: string }>(
  'blocking-keys',
  `
with recursive keys as (
  (select blocked_on as key from tock.job_runs_live where blocked_on > :after and blocked_on < '${FAIR}' order by blocked_on limit 1)
  union all
  select (select r.blocked_on from tock.job_runs_live r where r.blocked_on > k.key and r.blocked_on < '${FAIR}' order by r.blocked_on limit 1) from keys k
  where k.key is not null
)
select key from keys where key is not null limit :limit`,
);

/** The most keys of one statement. */
const KEYS_AT_ONCE = 10_000;

/** What PostgreSQL refuses to unblock under a key, such as a row that a constraint does not allow. */
type OnRefused = (key: string, error: unknown) => void;

const refuse: OnRefused = (_key, error) => {
  throw error;
};

/** Unblocks runs under these keys; where that is refused, under each half of them. */
async function unblockApart(
  database: Database,
  keys: readonly string[],
  onRefused: OnRefused,
): Promise<readonly Unblocked[]> {
  try {
    return await unblockRuns(database, keys);
  } catch (error) {
    if (!isUnstorable(error)) throw error;
    const [only, ...others] = keys;
    if (only === undefined || others.length === 0) {
      onRefused(only ?? '', error);
      return [];
    }
    const half = Math.ceil(keys.length / 2);
    return [
      ...(await unblockApart(database, keys.slice(0, half), onRefused)),
      ...(await unblockApart(database, keys.slice(half), onRefused)),
    ];
  }
}

/**
 * For the reaper: frees slots that ended runs still hold, and unblocks the runs that there are slots for,
 * under every key for which runs wait. Returns the lanes of these runs.
 * @param options onRefused: called for each key whose runs PostgreSQL refuses to unblock; those of the others
 * are unblocked. Default: throws
 */
export async function fixSlots(
  database: Database,
  { onRefused = refuse, keysAtOnce = KEYS_AT_ONCE }: { onRefused?: OnRefused; keysAtOnce?: number } = {},
): Promise<readonly Unblocked[]> {
  const freed = await FREE_STALE_SLOTS.run(database, {});
  await fairKeysArrive(database, freed.map(({ key }) => key).filter(isFair));
  const unblocked: Unblocked[] = [];
  for (let after: string | undefined = ''; after !== undefined; ) {
    const rows: readonly { readonly key: string }[] = await BLOCKING_KEYS.run(database, {
      after,
      limit: keysAtOnce,
    });
    const keys = rows.map(row => row.key);
    unblocked.push(...(await unblockApart(database, keys, onRefused)));
    after = keys.length < keysAtOnce ? undefined : keys.at(-1);
  }
  return unblocked;
}
