// Room: store. What there is to do, and when something will be due next: what a daemon sleeps by, and what tells a tick
// that it can leave.
// In: which queues; which definitions. Out: milliseconds, by the database's clock; whether all is done.

import type { Session } from '../connection/database.js';
import { PREPARED } from '../connection/prepared.js';
import { msBetween } from '../connection/readable-instant.js';
import { LANES, OPEN_LANES } from '../runs/claim.js';
import { HAS_REMAINS } from '../runs/reap.js';
import { statuses } from '../runs/transition.js';
import { IS_COPY } from '../schema/database-identity.js';

const MS_FROM_NOW = (instant: string) => msBetween('tock.now()', instant);
const NEXT_DUE = `
with ${LANES}, ${OPEN_LANES('1', '$1')}
select
  ${MS_FROM_NOW(`(select min(next_at) from tock.job_definitions where next_at is not null and paused_at is null
    and broken_at is null and vanished_at is null)`)} as "occurrenceMs",
  ${MS_FROM_NOW(`least((select min(f.run_at) from lanes l cross join lateral (
    select r.run_at from tock.job_runs_live r where r.blocked_on is null and r.queue = l.queue and r.priority = l.priority
      and r.run_at > tock.now() and r.status in (${statuses('claim')})
    order by r.run_at, r.id limit 1) f where $1::text[] is null or l.queue = any($1)),
    (select min(q.rate_next_at) from tock.job_queues q where q.rate_count is not null and q.rate_next_at > tock.now()))`)} as "runMs",
  exists (select from open) as "isOverdue", case when $2::boolean then ${HAS_REMAINS} else false end as "hasRemains"`;

/** Milliseconds until the next occurrence and until the next run that waits will be due. */
export interface NextDue {
  /** Negative where it is overdue. Null: no occurrence is to come. */
  readonly occurrenceMs: number | null;
  /** Of those that are not due yet. Null: none. */
  readonly runMs: number | null;
  /** Runs are due and could be claimed now. */
  readonly isOverdue: boolean;
  /** A reaping would find something to do: an expired lease, or what a process that died left undone. False if not asked. */
  readonly hasRemains: boolean;
}

/**
 * Looks ahead. One index look-up for the occurrences, and a few for each queue and priority.
 *
 * @param asksForRemains whether there is anything to be reaped: a few look-ups more, and over all that is due
 */
export async function readNextDue(
  session: Session,
  queues: readonly string[] | null,
  asksForRemains: boolean,
): Promise<NextDue> {
  const [due] = await session.run<NextDue>(NEXT_DUE, [queues, asksForRemains], PREPARED);
  return due ?? { occurrenceMs: null, runMs: null, isOverdue: false, hasRemains: false };
}

// Another version's definitions, a migration that is missing, or a clock that was set back are something to do. The row is written when others
// would begin to take it for old: not with each of the ticks of several hosts.
const IS_IDLE = `
with ${LANES}, ${OPEN_LANES('1', '$1')}, seen as (
  update tock.registrations set seen_at = tock.now()
  where fingerprint = $2 and is_current and seen_at < tock.now() - interval '30 seconds'
)
select not exists (select from unnest($3::text[]) n(name) where n.name not in (select m.name from tock.migrations m))
  and exists (select from tock.registrations where fingerprint = $2 and is_current and seen_at <= tock.now() + interval '1 minute') and not ${IS_COPY}
  and not exists (select from tock.job_definitions where next_at <= tock.now() and next_at is not null and paused_at is null
    and broken_at is null and vanished_at is null)
  and not exists (select from open) and not ${HAS_REMAINS} as "isIdle"`;

/** What a tick would look for. */
export interface IdleQuestion {
  readonly queues: readonly string[] | null;
  /** Of the definitions in code. */
  readonly fingerprint: string;
  /** The migrations that must have been applied. */
  readonly migrations: readonly string[];
}

/**
 * Whether a tick would find nothing to do: nothing to migrate, register, reap, materialize or claim. One statement,
 * which locks nothing and may run under any isolation; it notes that the definitions were seen, as registering does.
 */
export async function askWhetherIdle(session: Session, question: IdleQuestion): Promise<boolean> {
  const { queues, fingerprint, migrations } = question;
  const [row] = await session.run<{ isIdle: boolean }>(IS_IDLE, [queues, fingerprint, migrations]);
  return row?.isIdle === true;
}
