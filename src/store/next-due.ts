// Room: store. When something will be due next: what a daemon sleeps by.
// In: nothing. Out: milliseconds, by the database's clock.

import { PRIORITIES } from './claim-runs.js';
import type { Session } from './database.js';
import { statuses } from './transition.js';

const NEXT_DUE = `
with ${PRIORITIES}
select
  (extract(epoch from (select min(next_at) from tock.job_definitions where next_at is not null and paused_at is null
    and broken_at is null and vanished_at is null) - tock.now()) * 1000)::float8 as "occurrenceMs",
  (extract(epoch from (select min(f.run_at) from priorities p cross join lateral (
    select r.run_at from tock.job_runs_live r where r.priority = p.priority and r.status in (${statuses('claim')})
    order by r.run_at, r.id limit 1) f) - tock.now()) * 1000)::float8 as "runMs"`;

/** Milliseconds until the next occurrence and until the next run is due, negative where it is overdue. */
export interface NextDue {
  /** Null: no occurrence is to come. */
  readonly occurrenceMs: number | null;
  /** Null: no run waits. */
  readonly runMs: number | null;
}

/** Looks ahead. Two index look-ups, and one per priority. */
export async function readNextDue(session: Session): Promise<NextDue> {
  const [due] = await session.run<NextDue>(NEXT_DUE);
  return due ?? { occurrenceMs: null, runMs: null };
}
