// Room: store. Cursors that are ahead of the database's clock, because it was wrong for a while and was set back.
// In: names of definitions. Out: which are ahead, and where they belong; cursors set back.
import type { StoredColumns } from '../../model/planning/definition.js';
import type { Session } from '../connection/database.js';
import { STORED_COLUMNS } from './stated-columns.js';

/** A definition whose cursor is ahead. Times in epoch milliseconds. */
export interface AheadDefinition extends StoredColumns {
  readonly id: string;
  readonly cursor_ms: number;
}

const READ_AHEAD = `
select d.id::text, ${STORED_COLUMNS}, (extract(epoch from d.cursor) * 1000)::float8 as cursor_ms
from tock.job_definitions d
where d.cursor > tock.now() and d.id > $1::bigint and ($2::text[] is null or d.name = any($2))
order by d.id limit $3`;

/**
 * Definitions whose cursor is ahead, in the order of their ids.
 *
 * @param names only these; null: all
 * @param isLocked whether their rows are locked until the transaction ends
 */
export async function readAhead(
  session: Session,
  names: readonly string[] | null,
  afterId: string,
  limit: number,
  isLocked: boolean,
): Promise<AheadDefinition[]> {
  return await session.run(`${READ_AHEAD}${isLocked ? ' for update' : ''}`, [afterId, names, limit]);
}

// The last occurrence that was considered while the clock was right, and no earlier than the last edit and the end of
// the last pause. What was written by the wrong clock is dated later than now. Where an edit was, nobody knows when
// it really happened: then from now on.
const READ_PLACES = `
select d.id::text, floor(extract(epoch from case
    when greatest(d.updated_at, d.resumed_at) > tock.now() then tock.now()
    else greatest(d.updated_at, d.resumed_at, (
      select max(r.scheduled_for) from tock.job_runs r
      where r.definition_id = d.id and r.scheduled_for <= tock.now() and r.created_at <= tock.now()))
  end) * 1000)::float8 as place_ms
from tock.job_definitions d where d.id = any($1::bigint[])`;

/** By id: where the cursor belongs, in epoch milliseconds. */
export async function readPlaces(session: Session, ids: readonly string[]): Promise<Map<string, number>> {
  const rows = await session.run<{ id: string; place_ms: number }>(READ_PLACES, [ids]);
  return new Map(rows.map(row => [row.id, row.place_ms]));
}

// An occurrence that the wrong clock made a run of keeps its row of job_occurrences, and does not come again. One that it skipped may.
const SET_BACK = `
with u as materialized (
  select * from jsonb_to_recordset($1::jsonb) as u(id bigint, cursor timestamptz, next_at timestamptz)
), freed as (
  delete from tock.job_occurrences o using u, tock.job_runs_finished r
  where o.definition_id = u.id and o.scheduled_for > u.cursor and r.id = o.run_id and r.definition_id = u.id
    and r.scheduled_for > u.cursor and r.status = 'skipped' and r.created_at > tock.now()
)
update tock.job_definitions d
set cursor = u.cursor, next_at = u.next_at, resumed_at = least(d.resumed_at, tock.now())
from u where d.id = u.id`;

export interface CursorPlace {
  readonly id: string;
  /** ISO text. */
  readonly cursor: string;
  readonly next_at: string | null;
}

/** Sets cursors back; the caller holds the locks. The only statement by which a cursor falls. */
export async function setCursorsBack(session: Session, places: readonly CursorPlace[]): Promise<void> {
  await session.run(SET_BACK, [JSON.stringify(places)]);
}

const COUNT_AHEAD = `
select count(*)::integer as definitions, coalesce(extract(epoch from max(cursor) - tock.now()) * 1000, 0)::float8 as "aheadMs"
from tock.job_definitions where cursor > tock.now() and next_at is not null and vanished_at is null`;

/** Those of the names that no definition has. */
export async function readUnknown(session: Session, names: readonly string[]): Promise<string[]> {
  const rows = await session.run<{ name: string }>(
    `select n.name from unnest($1::text[]) as n(name)
     where not exists (select from tock.job_definitions d where d.name = n.name) order by 1`,
    [names],
  );
  return rows.map(row => row.name);
}

/** How many definitions get no runs until the clock has caught up, and for how long at most. */
export async function countAhead(session: Session): Promise<{ definitions: number; aheadMs: number }> {
  const [row] = await session.run<{ definitions: number; aheadMs: number }>(COUNT_AHEAD);
  return row ?? { definitions: 0, aheadMs: 0 };
}
