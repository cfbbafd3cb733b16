// Deploys that were seen or marked, and how a run's deploy is read.
import { type RawBuilder, sql } from 'kysely';
import { CODE_LENGTH, type DeployRecord } from '../../../model/deploys/deploys.js';
import type { Session } from '../../connection/database.js';
import { db, readableInstant, runQuery } from '../../connection/query.js';

/** A column of a query of runs `r`: the deploy of the worker that it is, or was last, executed by. */
export const DEPLOY: RawBuilder<string | null> = sql`(${db
  .selectFrom('tock.deploys as v')
  .select('v.name')
  .where('v.code', '=', sql<string>`left(r.locked_by::text, ${sql.lit(CODE_LENGTH)})`)})`;

const AT = sql<Date>`coalesce(v.marked_at, v.first_seen_at)`;

const DEPLOYS = db
  .selectFrom('tock.deploys as v')
  .select(eb => [
    'v.name',
    readableInstant(AT).as('at'),
    readableInstant(eb.ref('v.first_seen_at')).as('firstSeenAt'),
    readableInstant(eb.ref('v.marked_at')).as('markedAt'),
    'v.marked_by as markedBy',
    'v.note',
  ])
  .orderBy(AT, 'desc')
  .orderBy('v.name');

/** The latest first. @param from only those of this time or later */
export async function listDeploys(
  session: Session,
  { limit = 50, from }: { readonly limit?: number | undefined; readonly from?: Date } = {},
): Promise<DeployRecord[]> {
  const within = from === undefined ? DEPLOYS : DEPLOYS.where(AT, '>=', from);
  return await runQuery(session, within.limit(Math.min(limit, 1000)));
}

export async function readDeploy(session: Session, name: string): Promise<DeployRecord | null> {
  return (await runQuery(session, DEPLOYS.where('v.name', '=', name)))[0] ?? null;
}
