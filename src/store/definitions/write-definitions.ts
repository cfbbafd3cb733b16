// Writes to definitions: by code, by an operator, or because one is broken. The caller holds the locks,
// unless a function says otherwise.
import { sql } from 'kysely';
import { COLUMNS, type DefinitionColumns } from '../../model/planning/definition-columns.js';
import type { Session } from '../connection/database.js';
import { db, isAnyOf, now, runQuery } from '../connection/query.js';
import { statement } from '../connection/statement.js';
import type { Origin } from '../schema/tables.js';
import { wakeIfDueSoon } from './wake-if-due-soon.js';

/** A row to be written. */
export interface WrittenDefinition extends DefinitionColumns {
  readonly fingerprint: string;
  /** What `remaining_count` began with. */
  readonly remaining_stated: number | null;
  /** ISO text. */
  readonly cursor: string;
  /** The next occurrence after the cursor, as ISO text; null: none. */
  readonly next_at: string | null;
}

const WRITTEN_COLUMNS = [...COLUMNS, 'fingerprint', 'remaining_stated', 'cursor', 'next_at'] as const;

const insertRows = (rows: readonly WrittenDefinition[], origin: Origin, service = '') =>
  db
    .insertInto('tock.job_definitions')
    .columns([...WRITTEN_COLUMNS, 'origin', 'service'])
    .expression(
      db
        // One parameter, however many definitions there are; text, since some drivers make JSON of JSON.
        .selectFrom(
          sql<WrittenDefinition>`jsonb_populate_recordset(null::tock.job_definitions, ${JSON.stringify(rows)}::text::jsonb)`.as(
            'n',
          ),
        )
        .select(WRITTEN_COLUMNS)
        .select([sql<Origin>`${origin}::text`.as('origin'), sql<string>`${service}::text`.as('service')])
        .orderBy('n.name'),
    );

const woken = (row: 'd' | 'job_definitions') =>
  sql<string | null>`${sql.raw(wakeIfDueSoon(row))}`.as('woken');

/**
 * Updates definitions by name, each to its next version, and inserts new ones.
 * @param service whose code defines them. Default: whose it is stays
 */
export async function upsertDefinitions(
  session: Session,
  origin: Origin,
  rows: readonly WrittenDefinition[],
  service?: string,
): Promise<void> {
  const whose = origin === 'runtime' ? '' : service;
  const query = insertRows(rows, origin, whose).onConflict(conflict =>
    conflict.column('name').doUpdateSet(eb => ({
      ...Object.fromEntries(WRITTEN_COLUMNS.map(column => [column, eb.ref(`excluded.${column}`)])),
      origin,
      ...(whose === undefined ? {} : { service: whose }),
      version: eb('tock.job_definitions.version', '+', 1),
      vanished_at: null,
      broken_at: null,
      broken_reason: null,
      updated_at: now,
    })),
  );
  await runQuery(session, query.returning(woken('job_definitions')));
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
 * Inserts definitions made at run time, except those whose name is taken; returns the inserted names. Needs
 * no lock: if another transaction is inserting the same name, it waits for that commit.
 */
export async function insertDefinitions(
  session: Session,
  rows: readonly WrittenDefinition[],
): Promise<Set<string>> {
  const query = insertRows(rows, 'runtime')
    .onConflict(conflict => conflict.column('name').doNothing())
    .returning(['name', woken('job_definitions')]);
  const inserted = new Set((await runQuery(session, query)).map(({ name }) => name));
  await watchExpectations(
    session,
    rows.filter(row => inserted.has(row.name)),
  );
  return inserted;
}

const update = db.updateTable('tock.job_definitions as d');

const renamedIn = (column: string) => `jsonb_set(${column}, '{definitions}', (
    select jsonb_agg(case when p.name = to_jsonb(:from::text) then to_jsonb(:to::text) else p.name end order by p.place)
    from jsonb_array_elements(${column} -> 'definitions') with ordinality as p(name, place)))`;

/** A job's own definition, and the job's new name. */
export interface RenamedDefinition {
  readonly id: string;
  readonly from: string;
  readonly to: string;
}

// What was made at run time and runs after it goes on to do so.
const RENAME = statement<RenamedDefinition, unknown>(
  'rename-definition',
  `
with renamed as (
  update tock.job_definitions d set name = :to, job = :to where d.id = :id::bigint
)
update tock.job_definitions f set after = ${renamedIn('f.after')}, waits_for = ${renamedIn('f.waits_for')}
where f.origin = 'runtime' and (f.after -> 'definitions' ? :from::text or f.waits_for -> 'definitions' ? :from::text)`,
);

/** It keeps its id, and so its cursor, its pause and its runs. */
export async function renameDefinition(session: Session, renamed: RenamedDefinition): Promise<void> {
  await RENAME.run(session, renamed);
}

const HAND_OVER = statement<
  { readonly service: string; readonly ids: readonly string[]; readonly queues: readonly string[] },
  never
>(
  'hand-definitions-over',
  `update tock.job_definitions d set service = :service, queue = u.queue
from unnest(:ids::bigint[], :queues::text[]) u(id, queue) where d.id = u.id`,
);

/**
 * These are the service's from now on, in these queues: default ones may be its own. They keep their version,
 * and all that is theirs.
 */
export async function handToService(
  session: Session,
  service: string,
  definitions: readonly { readonly id: string; readonly queue: string }[],
): Promise<void> {
  const ids = definitions.map(({ id }) => id);
  await HAND_OVER.run(session, { service, ids, queues: definitions.map(({ queue }) => queue) });
}

/** Marks definitions that code no longer has, with their cursors at an instant at least, in epoch ms. */
export async function markVanished(session: Session, ids: readonly string[], cursor: number): Promise<void> {
  const query = update
    .set({ vanished_at: now, updated_at: now, cursor: laterCursor(cursor) })
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
      service: '',
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

/**
 * If it is paused already, the pause keeps its start, and a new note replaces the old one. It is a pause of
 * its own from now on: resuming those that were paused together leaves it.
 */
export async function markPaused(
  session: Session,
  id: string,
  { note, until }: { readonly note: string | null; readonly until: Date | null },
): Promise<void> {
  const query = update
    .set(eb => ({
      paused_at: eb.fn.coalesce('d.paused_at', now),
      paused_until: until?.toISOString() ?? null,
      pause_id: null,
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
      paused_until: null,
      pause_reason: null,
      pause_id: null,
      resumed_at: now,
      cursor: laterCursor(cursor),
      next_at: next === null ? null : new Date(next).toISOString(),
    })
    .where('d.id', '=', id)
    .returning(woken('d'));
  await runQuery(session, query);
}

/** Ends the pause of a definition that is made again under its old name. */
export async function clearPause(session: Session, id: string): Promise<void> {
  const query = update
    .set({ paused_at: null, paused_until: null, pause_reason: null, pause_id: null })
    .where('d.id', '=', id)
    .returning(woken('d'));
  await runQuery(session, query);
}

/** A cursor never falls. */
const laterCursor = (ms: number) =>
  sql<Date>`greatest(${sql.ref('d.cursor')}, ${new Date(ms).toISOString()}::timestamptz)`;
