// What starts when a run has ended: the last that was enqueued to replace it while it was running.
import { type RawBuilder, sql } from 'kysely';
import type { Session } from '../../connection/database.js';
import { db, firstRow } from '../../connection/query.js';

/** A column of a query of runs `r`: the id of the run that starts when this one has ended. */
export const SUCCESSOR: RawBuilder<string | null> = sql`(${db
  .selectFrom('tock.job_successors as s')
  .select('s.run_id')
  .where('s.live_key', '=', sql.ref<string>('r.live_key'))
  .where(sql.ref('r.status'), 'in', ['queued', 'running', 'failed'])})`;

/** What is no run yet, and the run for whose end it waits. */
export interface PendingRun {
  readonly id: string;
  readonly job: string;
  readonly follows: string;
}

/** Null if no successor of this id waits. */
export async function readPendingRun(session: Session, id: string): Promise<PendingRun | null> {
  if (!/^\d{1,18}$/.test(id)) return null;
  const query = db
    .selectFrom('tock.job_successors as s')
    .innerJoin('tock.job_runs_live as r', 'r.live_key', 's.live_key')
    .select(['s.run_id as id', 's.job', 'r.id as follows'])
    .where('s.run_id', '=', id);
  return (await firstRow(session, query)) ?? null;
}

/** Why no run has an id that a caller was given. */
export const pendingText = ({ id, follows }: PendingRun) =>
  `run ${id} starts when run ${follows} has ended, which has the same key`;
