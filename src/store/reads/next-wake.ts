// For how long a process can send no statement and miss nothing: until the first thing that time alone makes due.
// By the database's clock. Locks nothing.
import { type AlertLimits, NEXT_ALERT } from '../alerts/conditions.js';
import type { Session } from '../connection/database.js';
import { statement } from '../connection/statement.js';
import { NOT_BEFORE } from '../definitions/freeze/frozen.js';
import type { Ticker } from '../definitions/ticks.js';
import { isQueueOpen, liesIn, opensAt, QUEUE_LANES } from '../runs/claim/queue-lanes.js';
import { IS_PLANNED, msFromNow, NEXT_OPENING } from './next-due.js';

/**
 * Whether a transaction that has written to Tock's tables has not ended. What it commits is due without
 * anybody having been told.
 */
const IS_WRITTEN = statement<object, { readonly isWritten: boolean }>(
  'is-written',
  `select exists (select from pg_locks l join pg_class c on c.oid = l.relation
    where l.locktype = 'relation' and l.mode = 'RowExclusiveLock' and l.pid <> pg_backend_pid()
      and l.database = (select d.oid from pg_database d where d.datname = current_database())
      and c.relnamespace = (select n.relnamespace from pg_class n where n.oid = 'tock.job_runs_live'::regclass)) as "isWritten"`,
);

/** Whose alerts are asked about; null: this process evaluates none. */
export interface WakeQuestion extends Pick<Ticker, 'host' | 'folder'> {
  readonly alerts: AlertLimits | null;
}

type Asked = Pick<Ticker, 'host' | 'folder'> & AlertLimits & { readonly asksAlerts: boolean };

const NEXT_WAKE = statement<Asked, { readonly ms: number | null }>(
  'next-wake',
  `
with ${QUEUE_LANES}
select ${msFromNow(`least(
    greatest((select min(next_at) from tock.job_definitions where ${IS_PLANNED}), ${NOT_BEFORE}),
    (select min(f.run_at) from queue_lanes p cross join lateral (
      select r.run_at from tock.job_runs_live r where r.blocked_on is null and ${liesIn('r', 'p')} and r.run_at > tock.now()
      order by r.run_at, r.id limit 1) f),
    (select min(l.locked_until) from queue_lanes p cross join lateral (
      select r.locked_until from tock.job_runs_live r where r.blocked_on is null and ${liesIn('r', 'p')}
        and r.run_at <= tock.now() and r.status = 'running') l),
    (select min(least(q.override_ends_at, q.paused_until)) from tock.job_queues q),
    (select min(${opensAt('q')}) from (select distinct queue from queue_lanes) p join tock.job_queues q on q.name = p.queue
      where q.active_window is not null and not (${isQueueOpen('q')})),
    (select min(d.paused_until) from tock.job_definitions d where d.paused_until is not null),
    ${NEXT_OPENING}, (select u.at from tock.upkeep u where u.kind = 'retention' and u.at > tock.now()),
    case when :asksAlerts::boolean then ${NEXT_ALERT} end)`)} as ms`,
);

const NO_LIMITS: AlertLimits = {
  waitMs: null,
  waitQueues: null,
  silentMs: null,
  asksDuration: false,
  asksLate: false,
};

/**
 * For how many milliseconds nothing becomes due, if nothing is due now and nobody commits anything: until the
 * next occurrence, the next run's time, the end of a lease, of a pause or a freeze, the next start that a rate
 * allows, the opening of a queue, the next check of alerts, the next turn to prune. In every queue, also of those that
 * this process leaves to others. Infinity: there is no such time. Zero while a transaction has written and has
 * not ended.
 */
export async function readNextWake(
  session: Session,
  { host, folder, alerts }: WakeQuestion,
): Promise<number> {
  // In a statement of its own, before: the next one sees all that was committed until then.
  if ((await IS_WRITTEN.first(session, {}))?.isWritten !== false) return 0;
  const asked = { host, folder, asksAlerts: alerts !== null, ...(alerts ?? NO_LIMITS) };
  return (await NEXT_WAKE.first(session, asked))?.ms ?? Number.POSITIVE_INFINITY;
}
