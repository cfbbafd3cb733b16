// The schedules of pg-boss: reads them, removes them, and puts them back as they were.
import { sql } from 'kysely';
import { TockError } from '../../model/errors.js';
import { quote } from '../../model/names.js';
import type { Database, Session } from '../../store/connection/database.js';
import { firstRow, runQuery } from '../../store/connection/query.js';

/** A row as JSON: versions differ in their columns. */
type Row = Readonly<Record<string, unknown>>;

export interface BossRow {
  readonly schedule: Row;
  /** Null: its version has no table of queues. */
  readonly queue: Row | null;
}

interface Facts {
  readonly database: string;
  readonly has_schema: boolean;
  readonly has_schedule: boolean;
  readonly has_queue: boolean;
}

async function factsOf(session: Session, schema: string): Promise<Facts> {
  const facts = await firstRow(
    session,
    sql<Facts>`
      select current_database() as database, to_regnamespace(quote_ident(${schema})) is not null as has_schema,
        to_regclass(quote_ident(${schema}) || '.schedule') is not null as has_schedule,
        to_regclass(quote_ident(${schema}) || '.queue') is not null as has_queue`,
  );
  if (facts === undefined) throw new Error('the database has not answered');
  return facts;
}

/** @throws TockError TOCK_NOT_FOUND if the database has no such schema, or it is not that of pg-boss */
export async function readPgBoss(
  session: Session,
  schema: string,
): Promise<{ readonly database: string; readonly rows: BossRow[] }> {
  const facts = await factsOf(session, schema);
  if (!facts.has_schema)
    throw new TockError(
      'TOCK_NOT_FOUND',
      `the database ${facts.database} has no schema ${quote(schema)}: name the one of pg-boss with --schema, or its database with --database URL`,
    );
  if (!facts.has_schedule)
    throw new TockError(
      'TOCK_NOT_FOUND',
      `the schema ${quote(schema)} in the database ${facts.database} has no table schedule: it is not that of pg-boss`,
    );
  const queue = facts.has_queue
    ? sql`(select to_jsonb(q) from ${sql.table(`${schema}.queue`)} q where q.name = s.name)`
    : sql`null`;
  const rows = await runQuery(
    session,
    sql<BossRow>`
      select to_jsonb(s) as schedule, ${queue} as queue from ${sql.table(`${schema}.schedule`)} s
      order by s.name, to_jsonb(s) ->> 'key'`,
  );
  return { database: facts.database, rows };
}

/** Which row: of a queue, with a key; empty: without. */
export interface BossKey {
  readonly name: string;
  readonly key: string;
}

/**
 * Removes schedules in one transaction. Resolves to the rows that were there, as
 * JSON texts, so that no number is rounded.
 * @param keep called with these rows before the commit
 */
export async function removeBossSchedules(
  database: Database,
  schema: string,
  keys: readonly BossKey[],
  keep: (rows: readonly string[]) => Promise<void>,
): Promise<string[]> {
  const work = async (session: Session): Promise<string[]> => {
    const removed = await runQuery(
      session,
      sql<{ row: string }>`
        delete from ${sql.table(`${schema}.schedule`)} s
        using unnest(${keys.map(({ name }) => name)}::text[], ${keys.map(({ key }) => key)}::text[]) k (name, key)
        where s.name = k.name and coalesce(to_jsonb(s) ->> 'key', '') = k.key
        returning to_jsonb(s)::text as row`,
    );
    const rows = removed.map(({ row }) => row);
    await keep(rows);
    return rows;
  };
  // Never repeated: `keep` writes a file.
  return await database.transaction(work, { retries: 0 });
}

/** Puts rows back, but leaves those that are there again. Resolves to how many were put back. */
export async function restoreBossSchedules(
  session: Session,
  schema: string,
  rows: readonly string[],
): Promise<number> {
  const table = sql.table(`${schema}.schedule`);
  const restored = await runQuery(
    session,
    sql`
      insert into ${table} select (jsonb_populate_record(null::${table}, r::jsonb)).*
      from unnest(${rows}::text[]) r
      on conflict do nothing returning 1 as one`,
  );
  return restored.length;
}
