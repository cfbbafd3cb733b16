// What graphile-worker knows of its crontab: which items it has executed, and when last.
import { sql } from 'kysely';
import { TockError } from '../../model/errors.js';
import { quote } from '../../model/names.js';
import type { Session } from '../../store/connection/database.js';
import { firstRow, runQuery } from '../../store/connection/query.js';
import type { KnownCrontab } from './translate.js';

interface Facts {
  readonly database: string;
  readonly has_known: boolean;
}

/** @throws TockError TOCK_NOT_FOUND if the schema is not that of graphile-worker */
export async function readKnownCrontabs(session: Session, schema: string): Promise<KnownCrontab[]> {
  const facts = await firstRow(
    session,
    sql<Facts>`
      select current_database() as database,
        to_regclass(quote_ident(${schema}) || '._private_known_crontabs') is not null as has_known`,
  );
  if (!facts?.has_known)
    throw new TockError(
      'TOCK_NOT_FOUND',
      `the database ${facts?.database ?? ''} has no ${quote(schema)} of graphile-worker (0.16 or later): name its schema with --schema, or its database with --database URL; without both, only the crontab is read`,
    );
  const rows = await runQuery(
    session,
    sql<{ identifier: string; last_execution: Date | null }>`
      select k.identifier, extract(epoch from k.last_execution) as last_execution from ${sql.table(`${schema}._private_known_crontabs`)} k
      order by k.identifier`,
  );
  return rows.map(({ identifier, last_execution: lastExecution }) => ({ identifier, lastExecution }));
}
