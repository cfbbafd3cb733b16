// Writes a row of the audit, in the transaction of the action.
import { type AuditEntry, detailsText, MAX_TARGETS } from '../../model/audit.js';
import type { Via } from '../../model/operator.js';
import type { Session } from '../connection/database.js';
import { db, firstRow } from '../connection/query.js';

export interface Actor {
  /** Null: the role of the database. */
  readonly name: string | null;
  readonly via: Via;
}

/** Returns the row's id. Needs the rights to insert these columns and to read the table. */
export async function writeAudit(
  session: Session,
  { name, via }: Actor,
  { action, targets, count = targets.length, details = {}, partOf = null }: AuditEntry,
): Promise<string> {
  const inserted = db.insertInto('tock.audit').values({
    ...(name === null ? {} : { operator: name }),
    via,
    action,
    targets: targets.slice(0, MAX_TARGETS),
    count,
    details: detailsText(details),
    part_of: partOf,
  });
  const row = await firstRow(session, inserted.returning('id'));
  if (!row) throw new Error('the audit was not written');
  return row.id;
}
