// Runs that have ended, the last to end first, a page at a time.
//
// An index has finished runs by the time of their ends, and the figures say how long a span must be for a
// page of a rare job: their counts are walked backwards, minute by minute, then hour by hour.
import { sql } from 'kysely';
import { TockError } from '../../../model/errors.js';
import type { ReadRunMatch } from '../../../model/run/match/run-match.js';
import type { Session } from '../../connection/database.js';
import { db, firstRow, isAnyOf } from '../../connection/query.js';
import { type ListedRun, readFirstEnded } from './first-runs.js';
import type { EndedBounds, Resolved } from './run-conditions.js';

export interface EndedWanted {
  readonly match: ReadRunMatch;
  readonly resolved: Resolved;
  /** The id of the run after which to begin. */
  readonly before?: string | undefined;
  readonly limit: number;
  /** How many are read at once; more than `limit` where many are not wanted. */
  readonly readAtOnce: number;
  /** What is not wanted of what was read. */
  readonly isWanted: (run: ListedRun) => boolean;
}

/** Where a span has fewer than are wanted, the next one is this many times as long. */
const GROWTH = 8;
const MAX_READS = 100;

/**
 * @throws TockError TOCK_BAD_OPTION if `before` has not ended, or is gone: it was retried or pruned since
 */
export async function readEnded(
  session: Session,
  { match, resolved, before, limit, readAtOnce, isWanted }: EndedWanted,
): Promise<ListedRun[]> {
  const found: ListedRun[] = [];
  const take = async (bounds: EndedBounds) => {
    const wanted = { match, resolved, bounds: { ended: bounds }, order: 'desc', limit: readAtOnce } as const;
    const rows = await readFirstEnded(session, wanted);
    found.push(...rows.map(({ run }) => run).filter(isWanted));
    return rows;
  };
  let start = before === undefined ? null : await placeOf(session, before);
  let size = readAtOnce;
  for (let read = 0; read < MAX_READS; read++) {
    const from = await startOfSpan(session, match, start?.at ?? null, size);
    const rows = await take({ from, before: start });
    if (found.length >= limit || (from === null && rows.length < readAtOnce)) break;
    const last = rows.at(-1);
    if (rows.length === readAtOnce && last !== undefined) start = { at: last.at, id: last.run.id };
    else {
      start = { at: from ?? '-infinity', id: '0' };
      size *= GROWTH;
    }
  }
  return found.slice(0, limit);
}

/** Where the last run of a page stands in the order, to the microsecond. */
async function placeOf(session: Session, id: string): Promise<NonNullable<EndedBounds['before']>> {
  const query = db
    .selectFrom('tock.job_runs_finished as r' as 'tock.job_runs as r')
    .select(eb => sql<string>`${eb.ref('r.finished_at')}::text`.as('at'))
    .where('r.id', '=', id);
  const row = await firstRow(session, query);
  if (row !== undefined) return { at: row.at, id };
  throw new TockError(
    'TOCK_BAD_OPTION',
    `the list in the order of the ends cannot go on after run ${id}: it has not ended, or was retried or pruned since; begin anew`,
  );
}

/** Since when at least `size` runs have ended before a time, as far as they are counted; null: since ever. */
async function startOfSpan(
  session: Session,
  match: ReadRunMatch,
  before: string | null,
  size: number,
): Promise<string | null> {
  for (const table of ['tock.figures_by_minute', 'tock.figures_by_hour'] as const) {
    const counted = db
      .selectFrom(`${table} as f` as 'tock.figures_by_minute as f')
      .select(eb => [
        'f.at',
        // Row by row, so that it ends as soon as there are enough.
        sql<number>`sum(${eb.ref('f.run_count')}) over (order by ${eb.ref('f.at')} desc rows unbounded preceding)`.as(
          'total',
        ),
      ])
      .$if(before !== null, query =>
        query.where(eb => sql<boolean>`${eb.ref('f.at')} < ${before}::timestamptz`),
      )
      .$if(match.from !== undefined, query =>
        query.where(eb => sql<boolean>`${eb.ref('f.at')} >= ${match.from}`),
      )
      .$if(match.to !== undefined, query => query.where(eb => sql<boolean>`${eb.ref('f.at')} < ${match.to}`))
      .$if(match.job !== undefined, query =>
        query.where(eb => sql<boolean>`${eb.ref('f.job')} = ${match.job}`),
      )
      .$if(match.queue !== undefined, query =>
        query.where(eb => sql<boolean>`${eb.ref('f.queue')} = ${match.queue}`),
      )
      .$if(match.status !== null, query =>
        query.where(eb => isAnyOf(eb.ref('f.status'), match.status ?? [], 'text')),
      );
    const query = db
      .selectFrom(counted.as('s'))
      .select(eb => sql<string>`${eb.ref('s.at')}::text`.as('at'))
      .where('s.total', '>=', size)
      .limit(1);
    const row = await firstRow(session, query);
    if (row !== undefined) return row.at;
  }
  return null;
}
