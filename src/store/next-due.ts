// Room: store. When something will be due next: what a daemon sleeps by.
// In: which queues. Out: milliseconds, by the database's clock.

import { LANES, OPEN_LANES } from './claim-runs.js';
import { PREPARED, type Session } from './database.js';
import { statuses } from './transition.js';

const MS_FROM_NOW = (instant: string) => `(extract(epoch from ${instant} - tock.now()) * 1000)::float8`;
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
  exists (select from open) as "isOverdue"`;

/** Milliseconds until the next occurrence and until the next run that waits will be due. */
export interface NextDue {
  /** Negative where it is overdue. Null: no occurrence is to come. */
  readonly occurrenceMs: number | null;
  /** Of those that are not due yet. Null: none. */
  readonly runMs: number | null;
  /** Runs are due and could be claimed now. */
  readonly isOverdue: boolean;
}

/** Looks ahead. One index look-up for the occurrences, and a few for each queue and priority. */
export async function readNextDue(session: Session, queues: readonly string[] | null): Promise<NextDue> {
  const [due] = await session.run<NextDue>(NEXT_DUE, [queues], PREPARED);
  return due ?? { occurrenceMs: null, runMs: null, isOverdue: false };
}
