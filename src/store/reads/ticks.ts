// Who ticks, as people see it.
import type { LastTick } from '../../model/scheduler-view.js';
import type { Session } from '../connection/database.js';
import { db, readableInstant, runQuery } from '../connection/query.js';

/** The last tick of each host and checkout, the latest first. */
export async function readTicks(session: Session, limit = 100): Promise<LastTick[]> {
  const query = db
    .selectFrom('tock.ticks as t')
    .select(['t.host', 't.folder', 't.kind', 't.version', 't.node', 't.zone_data as zoneData'])
    .select(eb => [
      readableInstant(eb.ref('t.first_at')).as('firstAt'),
      readableInstant(eb.ref('t.at')).as('at'),
      readableInstant(eb.ref('t.stopped_at')).as('stoppedAt'),
      eb.cast<number>('t.tick_count', 'float8').as('count'),
      eb.cast<number>('t.clock_ms', 'float8').as('clockMs'),
    ])
    .orderBy('t.at', 'desc')
    .orderBy('t.host')
    .orderBy('t.folder')
    .limit(limit);
  return await runQuery(session, query);
}
