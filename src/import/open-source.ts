// A connection to the database of another scheduler. It need not have Tock's schema.
import { sql } from 'kysely';
import { systemClock } from '../environment/system-clock.js';
import { type Database, openDatabase, type Session } from '../store/connection/database.js';
import { firstRow } from '../store/connection/query.js';

/** Works on one connection, and closes it. */
export async function withSource<T>(
  connectionString: string,
  work: (database: Database) => Promise<T>,
): Promise<T> {
  const database = openDatabase({ clock: systemClock, connectionString, connections: 1 });
  try {
    return await work(database);
  } finally {
    await database.close();
  }
}

/** The name of the database, by which a saved switch knows it again. */
export async function databaseName(session: Session): Promise<string> {
  const row = await firstRow(session, sql<{ name: string }>`select current_database() as name`);
  return row?.name ?? '';
}
