// Room: store/reads. What there is to do, and when something will be due next: how long a daemon sleeps, and
// whether a tick can leave.
// In: which queues; which definitions. Out: milliseconds, by the database's clock; whether there is nothing
// to do.
import type { Session } from '../connection/database.js';
import { msBetween } from '../connection/readable-instant.js';
import { statement } from '../connection/statement.js';
import { liesIn, openQueuePriorities, QUEUE_PRIORITIES } from '../runs/claim/queue-priorities.js';
import { NEEDS_REAPING } from '../runs/reapable.js';
import { statuses } from '../runs/transition.js';
import { IS_COPY } from '../schema/database-identity.js';

const IS_PLANNED = `next_at is not null and paused_at is null and broken_at is null and vanished_at is null`;
const msFromNow = (instant: string) => msBetween('tock.now()', instant);

interface Looked {
  readonly queues: readonly string[] | null;
  readonly checksReaping: boolean;
}

const NEXT_DUE = statement<Looked, NextDue>(
  'next-due',
  `
with ${QUEUE_PRIORITIES}, ${openQueuePriorities('1')}
select
  ${msFromNow(`(select min(next_at) from tock.job_definitions where ${IS_PLANNED})`)} as "occurrenceMs",
  ${msFromNow(`least((select min(f.run_at) from queue_priorities p cross join lateral (
    select r.run_at from tock.job_runs_live r where r.blocked_on is null and ${liesIn('r', 'p')}
      and r.run_at > tock.now() and r.status in (${statuses('claim')})
    order by r.run_at, r.id limit 1) f where :queues::text[] is null or p.queue = any(:queues)),
    (select min(q.rate_next_at) from tock.job_queues q where q.rate_count is not null and q.rate_next_at > tock.now()))`)} as "runMs",
  exists (select from open) as "isOverdue", case when :checksReaping::boolean then ${NEEDS_REAPING} else false end as "needsReaping"`,
  { prepared: true },
);

/** Milliseconds until the next occurrence, and until the next waiting run is due. */
export interface NextDue {
  /** Negative where it is overdue. Null: no occurrence is to come. */
  readonly occurrenceMs: number | null;
  /** Of those that are not due yet. Null: none. */
  readonly runMs: number | null;
  /** Runs are due and could be claimed now. */
  readonly isOverdue: boolean;
  /**
   * A reaping would find something to do: an expired lease, or what a process that died left undone. False if
   * not asked.
   */
  readonly needsReaping: boolean;
}

/**
 * Reads what is due next: one index look-up for the occurrences, and a few for each queue and priority. Locks
 * nothing.
 *
 * @param checksReaping whether to look for something to reap too: a few look-ups more, over all that is due
 */
export async function readNextDue(
  session: Session,
  queues: readonly string[] | null,
  checksReaping: boolean,
): Promise<NextDue> {
  const due = await NEXT_DUE.first(session, { queues, checksReaping });
  return due ?? { occurrenceMs: null, runMs: null, isOverdue: false, needsReaping: false };
}

// Something to do: also definitions of another version, a missing migration, a clock that was set back. The
// registration is written only when others would begin to take it for old, not with each of the ticks of
// several hosts.
const IS_IDLE = statement<IdleQuestion, { readonly isIdle: boolean }>(
  'is-idle',
  `
with ${QUEUE_PRIORITIES}, ${openQueuePriorities('1')}, seen as (
  update tock.registrations set seen_at = tock.now()
  where fingerprint = :fingerprint and is_current and seen_at < tock.now() - interval '30 seconds'
)
select not exists (select from unnest(:migrations::text[]) n(name) where n.name not in (select m.name from tock.migrations m))
  and exists (select from tock.registrations
    where fingerprint = :fingerprint and is_current and seen_at <= tock.now() + interval '1 minute')
  and not ${IS_COPY}
  and not exists (select from tock.job_definitions where next_at <= tock.now() and ${IS_PLANNED})
  and not exists (select from open) and not ${NEEDS_REAPING} as "isIdle"`,
);

/** What a tick would look for. */
export interface IdleQuestion {
  readonly queues: readonly string[] | null;
  /** Of the definitions in code. */
  readonly fingerprint: string;
  /** The migrations that must have been applied. */
  readonly migrations: readonly string[];
}

/**
 * Whether a tick would find nothing to do: nothing to migrate, register, reap, materialize or claim. One
 * statement, which locks nothing and may run under any isolation; it notes that the definitions were seen, as
 * registering does.
 */
export async function askWhetherIdle(session: Session, question: IdleQuestion): Promise<boolean> {
  return (await IS_IDLE.first(session, question))?.isIdle === true;
}
