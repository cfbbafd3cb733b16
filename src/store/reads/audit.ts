// The audit as people see it, newest first, a page at a time.
import { type ExpressionBuilder, sql } from 'kysely';
import type { AuditRecord, Details } from '../../model/audit.js';
import { actionsNamed, type Via } from '../../model/operator.js';
import type { Session } from '../connection/database.js';
import { db, isAnyOf, readableInstant, runQuery } from '../connection/query.js';
import type { Schema } from '../schema/tables.js';

/** Which rows `audit.list` gives. */
export interface AuditFilter {
  readonly operator?: string;
  /** An action such as `runs.retry`, or all of a group such as `runs`. */
  readonly action?: string;
  readonly via?: Via;
  /**
   * The name of a definition or queue, or the id of a run; of many that one transaction changed, one of the
   * first 100.
   */
  readonly target?: string;
  /** Inclusive. */
  readonly since?: Date;
  /** Exclusive. */
  readonly until?: Date;
  /** Default 50, at most 1000. */
  readonly limit?: number;
  /** Only rows with an id below this: the next page. */
  readonly before?: string;
}

/** Newest first. Walks the ids downward, so that a page costs the same at any depth. */
export async function listAudit(
  session: Session,
  { operator, action, via, target, since, until, limit = 50, before }: AuditFilter = {},
): Promise<AuditRecord[]> {
  const named = action === undefined ? [] : actionsNamed(action);
  const actions = named.length === 0 && action !== undefined ? [action] : named;
  const query = db
    .selectFrom('tock.audit as a')
    .select(['a.id', 'a.operator', 'a.via', 'a.action', 'a.targets'])
    .select(eb => [
      countOfParts(eb).as('count'),
      readableInstant(eb.ref('a.created_at')).as('at'),
      eb.ref('a.details').$castTo<Details>().as('details'),
      'a.database_role as databaseRole',
    ])
    .where(eb =>
      eb.and([
        eb('a.part_of', 'is', null),
        ...(operator === undefined ? [] : [eb('a.operator', '=', operator)]),
        ...(action === undefined ? [] : [isAnyOf(eb.ref('a.action'), actions, 'text')]),
        ...(via === undefined ? [] : [eb('a.via', '=', via)]),
        ...(target === undefined ? [] : [sql<boolean>`${eb.ref('a.id')} = any(${idsOf(target)})`]),
        ...(since === undefined ? [] : [eb('a.created_at', '>=', since)]),
        ...(until === undefined ? [] : [eb('a.created_at', '<', until)]),
        ...(before === undefined ? [] : [eb('a.id', '<', before)]),
      ]),
    )
    .orderBy('a.id', 'desc')
    .limit(Math.min(limit, 1000));
  return await runQuery(session, query);
}

/** Found by their own index: walking down the ids would read the whole table for a target that is rare. */
const idsOf = (target: string) =>
  sql<
    string[]
  >`array(select coalesce(t.part_of, t.id) from tock.audit t where t.targets @> array[${target}::text])`;

/** Of an action that took several transactions, the sum of all. */
function countOfParts(eb: ExpressionBuilder<Schema & { a: Schema['tock.audit'] }, 'a'>) {
  const parts = eb
    .selectFrom('tock.audit as p')
    .select(part => part.fn.sum<string>('p.count').as('count'))
    .whereRef('p.part_of', '=', 'a.id');
  return sql<number>`(${eb.ref('a.count')} + coalesce(${parts}, 0))::float8`;
}
