// Pauses whose end has come.
import type { Session } from '../../connection/database.js';
import { db, now, runQuery } from '../../connection/query.js';
import { lockDefinitions, type StoredDefinition } from '../stored-definition.js';

export async function readEndedQueuePauses(session: Session): Promise<string[]> {
  const query = db
    .selectFrom('tock.job_queues')
    .select('name')
    .where('paused_until', '<=', now)
    .orderBy('name');
  return (await runQuery(session, query)).map(({ name }) => name);
}

/** Locks some of the definitions whose pause is over, in the order of their ids. */
export async function lockEndedPauses(session: Session, limit: number): Promise<StoredDefinition[]> {
  const query = db
    .selectFrom('tock.job_definitions')
    .select('id')
    .where('paused_until', '<=', now)
    .orderBy('id')
    .limit(limit);
  const ids = (await runQuery(session, query)).map(({ id }) => id);
  return ids.length === 0 ? [] : await lockDefinitions(session, ids, eb => eb('d.paused_until', '<=', now));
}
