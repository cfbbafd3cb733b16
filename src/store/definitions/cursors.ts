// Cursors that are ahead of the database's clock, because it was wrong and was set back.
import { sql } from 'kysely';
import type { DefinitionColumns } from '../../model/planning/definition-columns.js';
import type { Session } from '../connection/database.js';
import { db, epochMs, firstRow, isAnyOf, isSet, now, runQuery } from '../connection/query.js';
import { statement } from '../connection/statement.js';
import { DECLARED } from './declared-columns.js';
import type { MayBeExcepted } from './occurrences/exceptions.js';
import type { StoredDefinition } from './stored-definition.js';
import { wakeIfDueSoon } from './wake-if-due-soon.js';
import { isAheadByZone } from './zones/zones.js';

export type AheadDefinition = DefinitionColumns & Pick<StoredDefinition, 'cursor_ms'> & MayBeExcepted;

export interface AheadFilter {
  /** Only these; null: all. */
  readonly names: readonly string[] | null;
  readonly afterId: string;
  readonly limit: number;
  /** Locked until the transaction ends. */
  readonly isLocked: boolean;
}

/** In the order of their ids. */
export async function readAhead(
  session: Session,
  { names, afterId, limit, isLocked }: AheadFilter,
): Promise<AheadDefinition[]> {
  const query = db
    .selectFrom('tock.job_definitions as d')
    .select('d.id')
    .select(DECLARED)
    // Also what the cursor has passed: it is to come again.
    .select(eb => [
      epochMs(eb.ref('d.cursor')).as('cursor_ms'),
      isSet(eb.ref('d.excepted_until')).as('is_excepted'),
    ])
    .where('d.cursor', '>', now)
    .where(sql<boolean>`not ${sql.raw(isAheadByZone('d'))}`)
    .where('d.id', '>', afterId)
    .where(eb => eb.and(names === null ? [] : [isAnyOf(eb.ref('d.name'), names, 'text')]))
    .orderBy('d.id')
    .limit(limit)
    .$if(isLocked, definitions => definitions.forUpdate());
  return await runQuery(session, query);
}

const READ_PLACES = statement<{ ids: readonly string[] }, { id: string; place_ms: number }>(
  'read-cursor-places',
  `
-- The last occurrence that was considered while the clock was right, and no earlier than the last edit and
-- the end of the last pause. Whatever the wrong clock wrote has a time after now. The real time of such an edit
-- is unknown, so the cursor goes to now.
select d.id::text, floor(extract(epoch from case
    when greatest(d.updated_at, d.resumed_at) > tock.now() then tock.now()
    else greatest(d.updated_at, d.resumed_at, (
      select max(r.scheduled_for) from tock.job_runs r
      where r.definition_id = d.id and r.scheduled_for <= tock.now() and r.created_at <= tock.now()))
  end) * 1000)::float8 as place_ms
from tock.job_definitions d where d.id = any(:ids::bigint[])`,
);

/** By id: where the cursor belongs, in epoch milliseconds. */
export async function readPlaces(session: Session, ids: readonly string[]): Promise<Map<string, number>> {
  const rows = await READ_PLACES.run(session, { ids });
  return new Map(rows.map(row => [row.id, row.place_ms]));
}

export interface CursorPlace {
  readonly id: string;
  /** ISO text. */
  readonly cursor: string;
  readonly next_at: string | null;
}

const SET_BACK = statement<{ places: string }, unknown>(
  'set-cursors-back',
  `
with u as materialized (
  select * from jsonb_to_recordset(:places::jsonb) as u(id bigint, cursor timestamptz, next_at timestamptz)
), freed as (
  -- An occurrence that got a run under the wrong clock stays taken. A skipped one may come again.
  delete from tock.job_occurrences o using u, tock.job_runs_finished r
  where o.definition_id = u.id and o.scheduled_for > u.cursor and r.id = o.run_id and r.definition_id = u.id
    and r.scheduled_for > u.cursor and r.status = 'skipped' and r.created_at > tock.now()
)
update tock.job_definitions d
set cursor = u.cursor, next_at = u.next_at, resumed_at = least(d.resumed_at, tock.now())
from u where d.id = u.id
returning ${wakeIfDueSoon('d')} as woken`,
);

/** The only statement by which a cursor falls. The caller holds the locks. */
export async function setCursorsBack(session: Session, places: readonly CursorPlace[]): Promise<void> {
  await SET_BACK.run(session, { places: JSON.stringify(places) });
}

/** How many definitions get no runs until the clock has caught up, and how long that takes at most. */
export async function countAhead(session: Session): Promise<{ definitions: number; aheadMs: number }> {
  const query = db
    .selectFrom('tock.job_definitions as d')
    .select(eb => [
      eb.cast<number>(eb.fn.countAll(), 'integer').as('definitions'),
      sql<number>`coalesce(extract(epoch from max(${eb.ref('d.cursor')}) - tock.now()) * 1000, 0)::float8`.as(
        'aheadMs',
      ),
    ])
    .where('d.cursor', '>', now)
    .where(sql<boolean>`not ${sql.raw(isAheadByZone('d'))}`)
    .where('d.next_at', 'is not', null)
    .where('d.vanished_at', 'is', null);
  return (await firstRow(session, query)) ?? { definitions: 0, aheadMs: 0 };
}
