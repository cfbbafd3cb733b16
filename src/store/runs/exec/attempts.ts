// The attempts of a run of `tock exec`. The process that executes them keeps the lease in between, so the run
// stays running: another worker could do nothing with it.
import type { Session } from '../../connection/database.js';
import { statement } from '../../connection/statement.js';
import { noteFailures } from '../alert-events.js';
import {
  appendOutcomeError,
  type FencedBatch,
  fencedBatch,
  type Held,
  json,
  lockHeld,
} from '../transition.js';

const FAILED = statement<FencedBatch & { readonly error: string | null }, { readonly count: number }>(
  'exec-attempt-failed',
  `
with ${lockHeld('succeed')}, noted as (
  update tock.job_runs_live r set errors = ${appendOutcomeError('r', ':error::jsonb')}
  from held where r.id = held.id
  returning r.id, r.definition_id, r.job
), ${noteFailures('noted')}
select count(*)::integer as count from noted`,
);

/** Notes the error of an attempt that another follows. False: the lease is lost. */
export async function noteFailedAttempt(
  session: Session,
  held: Held,
  workerId: string,
  error: unknown,
): Promise<boolean> {
  const noted = await FAILED.first(session, { ...fencedBatch([held], workerId), error: json(error) });
  return noted !== undefined && noted.count > 0;
}

const NEXT = statement<FencedBatch & { readonly leaseMs: number }, { readonly fence: number }>(
  'exec-next-attempt',
  `
with ${lockHeld('succeed')}
update tock.job_runs_live r set attempts = r.attempts + 1, fence = r.fence + 1, run_at = tock.now(), started_at = tock.now(),
  locked_until = tock.now() + :leaseMs * interval '1 millisecond', progress = null
from held where r.id = held.id
returning r.fence`,
);

/** Counts the next attempt; returns its fence. Null: the lease is lost. */
export async function beginNextAttempt(
  session: Session,
  held: Held,
  workerId: string,
  leaseMs: number,
): Promise<number | null> {
  return (await NEXT.first(session, { ...fencedBatch([held], workerId), leaseMs }))?.fence ?? null;
}
