// The segments of the logs of runs: how the open one is closed, and how a closed one goes.
import { sql } from 'kysely';
import type { LogSegment } from '../../model/planning/retention.js';
import type { Session } from '../connection/database.js';
import { db, epochMs, firstRow, now, runQuery } from '../connection/query.js';
import { endVacuum, markDetached, readOid } from './detach.js';
import { tableOf } from './partitions.js';

/** The table of a segment. */
export const segmentTable = (segment: number): string => `job_logs_${segment}`;

/** The oldest first; the last one is open. */
export async function readSegments(session: Session): Promise<LogSegment[]> {
  const query = db
    .selectFrom('tock.log_segments as s')
    .select('s.segment')
    .select(eb => [
      epochMs(eb.ref('s.opened_at')).as('openedAt'),
      // Null stays null.
      epochMs(eb.ref('s.closed_at').$castTo<Date>()).$castTo<number | null>().as('closedAt'),
    ])
    .orderBy('s.segment');
  return await runQuery(session, query);
}

export async function hasLogs(session: Session, segment: number): Promise<boolean> {
  const query = sql<{
    isUsed: boolean;
  }>`select exists (select from ${tableOf(segmentTable(segment))}) as "isUsed"`;
  return (await firstRow(session, query))?.isUsed === true;
}

/**
 * Closes the open segment and opens the next, in the session's transaction. Attempts that have begun to log
 * go on where they began. Blocks no session: without a default partition, attaching takes no lock that
 * conflicts with writers.
 */
export async function openNextSegment(session: Session, open: number): Promise<void> {
  const table = segmentTable(open + 1);
  await runQuery(
    session,
    sql`create table ${tableOf(table)} (like tock.job_logs including defaults including constraints including indexes)`,
  );
  await runQuery(
    session,
    sql`alter table tock.job_logs attach partition ${tableOf(table)} for values in (${sql.lit(open + 1)})`,
  );
  await runQuery(
    session,
    db.updateTable('tock.log_segments').set({ closed_at: now }).where('segment', '=', open),
  );
  await runQuery(session, db.insertInto('tock.log_segments').values({ segment: open + 1 }));
}

/**
 * Detaches a closed segment, in the session's transaction; it is left under the name by which retention drops
 * what it has detached. Locks `job_logs` exclusively, for a moment.
 */
export async function detachSegment(session: Session, segment: number): Promise<void> {
  const table = segmentTable(segment);
  await endVacuum(session, [table]);
  await runQuery(session, sql`lock table only tock.job_logs in access exclusive mode`);
  await runQuery(session, sql`alter table tock.job_logs detach partition ${tableOf(table)}`);
  await markDetached(session, table, await readOid(session, table));
  await runQuery(session, db.deleteFrom('tock.log_segments').where('segment', '=', segment));
}
