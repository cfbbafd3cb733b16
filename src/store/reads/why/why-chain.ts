// What the tables hold about an occurrence of a chain: the runs of its parents. Reads only.
import { sql } from 'kysely';
import type { RunStatus } from '../../../model/run/states.js';
import type { Session } from '../../connection/database.js';
import { db, epochMs, firstRow, isAnyOf, isSet, readableInstant, runQuery } from '../../connection/query.js';

/** A definition that another one runs after, and its run of one occurrence. */
export interface ChainParent {
  readonly name: string;
  readonly exists: boolean;
  /** Null if there is no run. */
  readonly id: string | null;
  readonly status: RunStatus | null;
  /** Null if it was not skipped. */
  readonly isSkippedFor: string | null;
  readonly finishedAt: Date | null;
}

/** The parents' runs of an occurrence, sorted by name. */
export async function readChainParents(
  session: Session,
  names: readonly string[],
  at: Date,
): Promise<ChainParent[]> {
  const query = db
    .selectFrom(sql<{ name: string }>`unnest(${names}::text[])`.as<'n'>(sql`n(name)`))
    .leftJoin('tock.job_definitions as d', join =>
      join.onRef('d.name', '=', 'n.name').on('d.vanished_at', 'is', null),
    )
    .leftJoinLateral(
      // As for the chain itself: of a skipped row and a run, the run counts.
      eb =>
        eb
          .selectFrom('tock.job_runs as r')
          .select(['r.id', 'r.status', 'r.skip_reason', 'r.finished_at'])
          .whereRef('r.definition_id', '=', 'd.id')
          .where('r.scheduled_for', '=', at)
          .orderBy(({ eb: order }) => order('r.status', '=', 'skipped'))
          .orderBy('r.id', 'desc')
          .limit(1)
          .as('r'),
      join => join.onTrue(),
    )
    .select(eb => [
      'n.name',
      isSet(eb.ref('d.id')).as('exists'),
      'r.id',
      'r.status',
      eb.case().when('r.status', '=', 'skipped').then(eb.ref('r.skip_reason')).end().as('isSkippedFor'),
      readableInstant(eb.ref('r.finished_at')).as('finishedAt'),
    ])
    .orderBy('n.name');
  return await runQuery(session, query);
}

/** Instants in a span at which a chained definition, or a parent, has a run. Epoch milliseconds. */
export async function readChainTimes(
  session: Session,
  definitionId: string,
  names: readonly string[],
  { from, to }: { readonly from: number; readonly to: number },
  limit: number,
): Promise<number[]> {
  const parents = db
    .selectFrom('tock.job_definitions as d')
    .select('d.id')
    .where(eb => isAnyOf(eb.ref('d.name'), names, 'text'));
  const query = db
    .selectFrom('tock.job_runs as r')
    .select(eb => epochMs(eb.ref('r.scheduled_for').$notNull()).as('at'))
    .distinct()
    .where(eb => eb.or([eb('r.definition_id', '=', definitionId), eb('r.definition_id', 'in', parents)]))
    .where('r.scheduled_for', '>=', new Date(from))
    .where('r.scheduled_for', '<', new Date(to))
    .orderBy('at')
    .limit(limit);
  return (await runQuery(session, query)).map(row => row.at);
}

/** Whether what follows from runs of an occurrence is still to be made. */
export async function isFollowUpPending(
  session: Session,
  names: readonly string[],
  at: Date,
): Promise<boolean> {
  const query = db
    .selectFrom('tock.job_outbox as o')
    .innerJoin('tock.job_definitions as d', 'd.id', 'o.definition_id')
    .select('o.id')
    .where('o.kind', '=', 'chain')
    .where('o.scheduled_for', '=', at)
    .where(eb => isAnyOf(eb.ref('d.name'), names, 'text'))
    .limit(1);
  return (await firstRow(session, query)) !== undefined;
}
