// The caller's own transaction as a session, whatever its library makes of types. Parameters go as text. A
// row of a SELECT comes as one JSON text, in which columns are read by their names: `*_at` is the epoch of an
// instant, `*_ms` a number, `id` a text.
//
//   caller               Tock, through the caller's client
//   begin
//   insert a tenant
//                        savepoint, writes, release; or, after an error, back to the savepoint
//   commit or rollback
import { TockError } from '../../../model/errors.js';
import type { QueryClient } from '../../../model/job/enqueue-options.js';
import type { Session } from '../database.js';
import { serverAnswer } from '../errors.js';
import { readEpoch } from '../values/own-types.js';

/** @param rewrite puts the configured schema into a statement */
export function clientSession(client: QueryClient, rewrite: (text: string) => string): Session {
  return {
    async run<Row>(text: string, values: readonly unknown[] = []) {
      const parameters = values.map(textOf);
      // Other statements give ids and counts at most, of which each library makes texts or numbers.
      if (!/^\s*select\b/i.test(text)) return (await client.query(rewrite(text), parameters)).rows as Row[];
      const { rows } = await client.query(
        rewrite(`select row_to_json(selected)::text as json from (${text}) selected`),
        parameters,
      );
      return rows.map(({ json }) => rowOf(json as string)) as Row[];
    },
  };
}

/**
 * Runs a part of the caller's transaction, all or nothing: after an error the caller may go on.
 * @throws TockError TOCK_BAD_OPTION where no transaction is open
 */
export async function inCallersTransaction<T>(
  session: Session,
  part: (session: Session) => Promise<T>,
): Promise<T> {
  try {
    await session.run('savepoint tock_call');
  } catch (error) {
    if (serverAnswer(error)?.state !== '25P01') throw error;
    throw new TockError(
      'TOCK_BAD_OPTION',
      'client has no open transaction: begin one, and pass its client, not the database object or a pool',
      { cause: error },
    );
  }
  try {
    const value = await part(session);
    await session.run('release savepoint tock_call');
    return value;
  } catch (error) {
    await undo(session);
    throw error;
  }
}

async function undo(session: Session): Promise<void> {
  try {
    await session.run('rollback to savepoint tock_call');
    await session.run('release savepoint tock_call');
  } catch {
    // The connection is lost, and the transaction with it: the caller gets the error that came first.
  }
}

/** As PostgreSQL reads it. */
function textOf(value: unknown): string | null {
  if (value === null || value === undefined) return null;
  if (value instanceof Date) return value.toISOString();
  if (Array.isArray(value)) return `{${value.map(elementOf).join()}}`;
  if (typeof value === 'string') return value;
  // JSON has no infinity.
  return typeof value === 'number' ? String(value) : JSON.stringify(value);
}

function elementOf(value: unknown): string {
  const text = textOf(value);
  return text === null ? 'NULL' : `"${text.replaceAll(/["\\]/g, '\\$&')}"`;
}

function rowOf(json: string): Record<string, unknown> {
  const row = JSON.parse(json) as Record<string, unknown>;
  return Object.fromEntries(Object.entries(row).map(([name, value]) => [name, columnOf(name, value)]));
}

function columnOf(name: string, value: unknown): unknown {
  if (value === null) return null;
  // That of a definition is text: see at-text.ts.
  if (name === 'at' && typeof value === 'string' && /^\d{4}-/.test(value)) return value;
  if (/^at$|_at$|At$|^cursor$/.test(name)) return instantOf(value);
  if (/_ms$|Ms$/.test(name)) return Number(value);
  return typeof value === 'number' && /^id$|_id$|Id$/.test(name) ? String(value) : value;
}

/** Epochs are numbers, and texts if they are infinite. */
const instantOf = (value: unknown) => readEpoch(typeof value === 'number' ? value.toFixed(6) : String(value));
