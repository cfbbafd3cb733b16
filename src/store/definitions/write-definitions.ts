// Writes to definitions: by code, by an operator, or because one is broken. The caller holds the locks,
// unless a function says otherwise.
import { sql } from 'kysely';
import type { DefinitionColumns } from '../../model/planning/definition.js';
import type { Session } from '../connection/database.js';
import { db, firstRow, isAnyOf, now, runQuery } from '../connection/query.js';
import type { Origin } from '../schema/tables.js';
import { STATED_COLUMNS } from './stated-columns.js';

/** Instants as ISO text. */
export interface WrittenDefinition extends DefinitionColumns {
  readonly fingerprint: string;
  readonly cursor: string;
  /** The next occurrence after the cursor; null: none. */
  readonly next_at: string | null;
}

const WRITTEN_COLUMNS = [...STATED_COLUMNS, 'fingerprint', 'cursor', 'next_at'] as const;

const insertRows = (rows: readonly WrittenDefinition[], origin: Origin) =>
  db
    .insertInto('tock.job_definitions')
    .columns([...WRITTEN_COLUMNS, 'origin'])
    .expression(
      db
        // One parameter, however many definitions there are.
        .selectFrom(
          sql<WrittenDefinition>`jsonb_populate_recordset(null::tock.job_definitions, ${JSON.stringify(rows)}::jsonb)`.as(
            'n',
          ),
        )
        .select(WRITTEN_COLUMNS)
        .select(sql<Origin>`${origin}::text`.as('origin'))
        .orderBy('n.name'),
    );

/** Updates definitions by name, each to its next version, and inserts new ones. */
export async function upsertDefinitions(
  session: Session,
  origin: Origin,
  rows: readonly WrittenDefinition[],
): Promise<void> {
  const query = insertRows(rows, origin).onConflict(conflict =>
    conflict.column('name').doUpdateSet(eb => ({
      ...Object.fromEntries(WRITTEN_COLUMNS.map(column => [column, eb.ref(`excluded.${column}`)])),
      origin,
      version: eb('tock.job_definitions.version', '+', 1),
      vanished_at: null,
      broken_at: null,
      broken_reason: null,
      updated_at: now,
    })),
  );
  await runQuery(session, query);
  await watchExpectations(session, rows);
}

/** The next evaluation of alerts computes by when a success is expected. */
async function watchExpectations(session: Session, rows: readonly WrittenDefinition[]): Promise<void> {
  const names = rows.filter(row => row.expect_within_ms !== null).map(row => row.name);
  if (names.length === 0) return;
  const query = db
    .insertInto('tock.alert_watches')
    .columns(['definition_id'])
    .expression(
      db
        .selectFrom('tock.job_definitions as d')
        .select('d.id')
        .where(eb => isAnyOf(eb.ref('d.name'), names, 'text'))
        .orderBy('d.id'),
    )
    .onConflict(conflict =>
      conflict.column('definition_id').doUpdateSet({ check_at: sql<Date>`'-infinity'` }),
    );
  await runQuery(session, query);
}

/**
 * Inserts a definition made at run time, unless its name is taken. Needs no lock: it waits for the commit of
 * any other transaction that is inserting it.
 */
export async function insertDefinition(session: Session, row: WrittenDefinition): Promise<boolean> {
  const query = insertRows([row], 'runtime')
    .onConflict(conflict => conflict.column('name').doNothing())
    .returning('id');
  const isInserted = (await firstRow(session, query)) !== undefined;
  if (isInserted) await watchExpectations(session, [row]);
  return isInserted;
}

const update = db.updateTable('tock.job_definitions as d');

/** Marks definitions that code no longer has. */
export async function markVanished(session: Session, ids: readonly string[]): Promise<void> {
  const query = update
    .set({ vanished_at: now, updated_at: now })
    .where(eb => isAnyOf(eb.ref('d.id'), ids, 'bigint'));
  await runQuery(session, query);
}

/**
 * Hides a definition that was made at run time, or has vanished from code, with its cursor at `now` at least.
 * @param cursor epoch ms
 */
export async function markRemoved(session: Session, id: string, cursor: number): Promise<void> {
  const query = update
    .set(eb => ({
      // Lists leave out what was made at run time and is gone; code that has it again takes it back.
      origin: 'runtime',
      vanished_at: now,
      updated_at: now,
      version: eb('d.version', '+', 1),
      cursor: laterCursor(cursor),
      next_at: null,
    }))
    .where('d.id', '=', id);
  await runQuery(session, query);
}

/** Marks definitions whose schedules cannot be evaluated. */
export async function markBroken(session: Session, names: readonly string[], reason: string): Promise<void> {
  const query = update
    .set({ broken_at: now, broken_reason: reason })
    .where(eb => isAnyOf(eb.ref('d.name'), names, 'text'));
  await runQuery(session, query);
}

/** If it is paused already, the pause keeps its start, and a new note replaces the old one. */
export async function markPaused(session: Session, id: string, note: string | null): Promise<void> {
  const query = update
    .set(eb => ({
      paused_at: eb.fn.coalesce('d.paused_at', now),
      ...(note === null ? {} : { pause_reason: note }),
    }))
    .where('d.id', '=', id);
  await runQuery(session, query);
}

/** Ends a pause. Times in epoch milliseconds; `next` null: there is no next occurrence. */
export async function markResumed(
  session: Session,
  id: string,
  { cursor, next }: { readonly cursor: number; readonly next: number | null },
): Promise<void> {
  const query = update
    .set({
      paused_at: null,
      pause_reason: null,
      resumed_at: now,
      cursor: laterCursor(cursor),
      next_at: next === null ? null : new Date(next).toISOString(),
    })
    .where('d.id', '=', id);
  await runQuery(session, query);
}

/** Ends the pause of a definition that is made again under its old name. */
export async function clearPause(session: Session, id: string): Promise<void> {
  await runQuery(session, update.set({ paused_at: null, pause_reason: null }).where('d.id', '=', id));
}

/** A cursor never falls. */
const laterCursor = (ms: number) =>
  sql<Date>`greatest(${sql.ref('d.cursor')}, ${new Date(ms).toISOString()}::timestamptz)`;
