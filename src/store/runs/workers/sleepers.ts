// The rows of `sleepers`: listening daemons that may be asleep. While there are any, enqueueing sends a
// NOTIFY.
//
//   app                                     daemon
//   enqueue: run 1, xid 7
//   sees no sleeper: no NOTIFY
//                                           insertSleeper, commits
//                                           newTransactionId: 9
//                                           haveAllEndedBefore(9): no, 7 is under way. Polls: finds nothing
//   commits
//                                           haveAllEndedBefore(9): yes. Polls: finds run 1
//
// A transaction that gets its id later sees the row: enqueueing reads the table after its insert, with a new
// snapshot.
import { statement } from '../../connection/statement.js';

interface Sleeper {
  readonly id: string;
  /** What it claims from; null: all queues. */
  readonly queues: readonly string[] | null;
}

/** Announces that a daemon may be asleep. Returns no row if the daemon has no row in `workers`. */
export const insertSleeper = statement<Sleeper, { readonly id: string }>(
  'insert sleeper',
  `insert into tock.sleepers (worker_id, queues) select id, :queues::text[] from tock.workers where id = :id
on conflict (worker_id) do update set queues = excluded.queues returning worker_id as id`,
);

/** Wakes daemons that may be asleep: there are runs that another worker has left. */
export const wakeSleepers = statement<object, unknown>(
  'wake sleepers',
  `select tock.wake(null, 'queued') as woken`,
);

/** Announces that a daemon finds runs without being woken. */
export const deleteSleeper = statement<{ id: string }, never>(
  'delete sleeper',
  'delete from tock.sleepers where worker_id = :id',
);

/** A new transaction id: all that were given out before are lower. */
export const newTransactionId = statement<object, { readonly id: string }>(
  'new transaction id',
  'select pg_current_xact_id()::text as id',
);

/** Whether all transactions with a lower id have ended. What they committed is seen by the next statement. */
export const haveAllEndedBefore = statement<{ id: string }, { readonly haveEnded: boolean }>(
  'have all ended before',
  'select pg_snapshot_xmin(pg_current_snapshot()) >= :id::text::xid8 as "haveEnded"',
);

/** Whether a transaction, of any database, waits for the lock that NOTIFY takes at the commit. */
export const isNotifyLockAwaited = statement<object, { readonly isAwaited: boolean }>(
  'is notify lock awaited',
  `select exists (select from pg_locks
    where locktype = 'object' and database = 0 and classid = 'pg_database'::regclass and objid = 0 and not granted) as "isAwaited"`,
);
