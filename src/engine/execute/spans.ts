// Writes the spans of attempts that end, if something may follow from their runs: it is linked to them.
import { knownJob } from '../../model/job/registry.js';
import type { Session } from '../../store/connection/database.js';
import { writeTraceparents } from '../../store/runs/leases.js';
import type { Engine } from '../engine.js';
import type { ActiveRun } from './active-run.js';

/** Under their leases: before the outcome, or in the transaction of a handler that commits its own. */
export async function writeSpans(
  session: Session,
  { registry }: Engine,
  workerId: string,
  actives: readonly ActiveRun[],
): Promise<void> {
  const traced = actives.flatMap(active => {
    const { run, span } = active;
    if (!span?.traceparent || active.isLost || active.isCommitted) return [];
    const mayBeFollowed = run.definition !== null || knownJob(registry, run.job)?.onDead !== undefined;
    return mayBeFollowed ? [{ id: run.id, fence: run.fence, traceparent: span.traceparent }] : [];
  });
  if (traced.length > 0) await writeTraceparents(session, traced, workerId);
}
