// Changes of runs, by position; see job_changes in the schema.
import type { Change } from '../../../model/changes/change.js';
import { type ChangesHead, cursorAt } from '../../../model/changes/cursor.js';
import type { Session } from '../../connection/database.js';
import { sqlState } from '../../connection/errors.js';
import { statement } from '../../connection/statement.js';
import { instant } from '../../connection/values/readable-instant.js';

const HEAD = 'h.origin, h.position::float8 as position, h.kept_after::float8 as "keptAfter"';

const READ_HEAD = statement<object, ChangesHead>('changes-head', `select ${HEAD} from tock.changes_head h`);

/** Positions that one page walks over, so that a page for a rare job is short too. */
export const WALKED = 5000;

interface PageQuestion {
  readonly after: number;
  readonly limit: number;
  /** Null: of all. */
  readonly jobs: readonly string[] | null;
  readonly run: string | null;
}

interface PageRow extends ChangesHead, Omit<Change, 'cursor'> {
  /** Null: there is no change, and what says what it is means nothing. */
  readonly place: number | null;
}

const READ_PAGE = statement<PageQuestion, PageRow>(
  'changes-page',
  `
select ${HEAD}, c.* from tock.changes_head h left join lateral (
  select c.position::float8 as place, c.kind, c.run_id::text as "runId", c.job, d.name as definition, c.status, c.attempts, c.generation,
    ${instant('c.at')} as at
  from tock.job_changes c left join tock.job_definitions d on d.id = c.definition_id
  where c.position > :after::bigint and c.position <= :after::bigint + ${WALKED}
    and (:jobs::text[] is null or c.job = any(:jobs::text[])) and (:run::bigint is null or c.run_id = :run::bigint)
  order by c.position limit :limit) c on true
order by c.place`,
);

const NUMBER = statement<object, { readonly last: number }>(
  'number-changes',
  'select tock.number_changes()::float8 as last',
);

export interface PlacedChange {
  readonly position: number;
  readonly change: Change;
}

export interface ChangesPage {
  readonly head: ChangesHead;
  readonly changes: readonly PlacedChange[];
  /** Up to here, all have been looked at. */
  readonly end: number;
}

/** @throws Error if the schema lacks the row */
export async function readChangesHead(session: Session): Promise<ChangesHead> {
  return required(await READ_HEAD.first(session, {}));
}

/** The changes that follow on a position, by one statement: what was deleted by then, `head` says. */
export async function readChangesPage(session: Session, question: PageQuestion): Promise<ChangesPage> {
  const rows = await READ_PAGE.run(session, question);
  const { origin, position, keptAfter } = required(rows[0]);
  const changes = rows.flatMap(({ place, origin: _o, position: _p, keptAfter: _k, ...change }) =>
    place === null ? [] : [{ position: place, change: { cursor: cursorAt(origin, place), ...change } }],
  );
  const isFull = changes.length === question.limit;
  const end = isFull ? (changes.at(-1)?.position ?? 0) : Math.min(position, question.after + WALKED);
  return { head: { origin, position, keptAfter }, changes, end };
}

/**
 * Gives positions to what has been committed, and returns the last one. Locks one row if there is anything. A
 * role that may not do that, such as a reader's, gets what others have numbered.
 */
export async function numberChanges(session: Session): Promise<number> {
  try {
    return required(await NUMBER.first(session, {})).last;
  } catch (error) {
    if (sqlState(error) !== '42501') throw error;
    return (await readChangesHead(session)).position;
  }
}

/** What `tock.number_changes` numbers at most: a statement that takes too long would never get on. */
const NUMBERED_AT_ONCE = 10_000;

/** The same, until all is numbered that was committed before the call. */
export async function numberAllChanges(session: Session): Promise<number> {
  for (let before = (await readChangesHead(session)).position; ; ) {
    const last = await numberChanges(session);
    if (last - before < NUMBERED_AT_ONCE) return last;
    before = last;
  }
}

const DELETE_OLD = statement<{ readonly before: number; readonly limit: number }, { readonly count: number }>(
  'delete-old-changes',
  `
with young as materialized (
  select coalesce((select c.position from tock.job_changes c where c.position is not null and c.at between to_timestamp(:before::float8 / 1000) and tock.now()
    order by c.position limit 1), h.position + 1) as first
  from tock.changes_head h
), gone as (
  delete from tock.job_changes c where c.position = any(array(
    select o.position from tock.job_changes o where o.position < (select y.first from young y) order by o.position limit :limit))
  returning c.position
), noted as (
  update tock.changes_head h set kept_after = g.last from (select max(position) as last from gone) g where g.last > h.kept_after
)
select count(*)::integer as count from gone`,
);

/**
 * Deletes the oldest changes, in their order, up to the first one that is not older than an instant (epoch
 * milliseconds); and notes, in the same statement, how far. One from the future, of a clock that was wrong,
 * goes with its neighbours. Returns how many.
 */
export async function deleteOldChanges(session: Session, before: number, limit: number): Promise<number> {
  return (await DELETE_OLD.first(session, { before, limit }))?.count ?? 0;
}

function required<Row>(row: Row | undefined): Row {
  if (row === undefined) throw new Error('tock.changes_head has no row');
  return row;
}
