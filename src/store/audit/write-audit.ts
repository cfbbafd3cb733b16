// Writes a row of the audit, in the transaction of the action.
import { type AuditEntry, detailsText, MAX_TARGETS } from '../../model/audit.js';
import type { Via } from '../../model/operator.js';
import type { Session } from '../connection/database.js';
import { db, runQuery } from '../connection/query.js';

export interface Actor {
  /** Null: the role of the database. */
  readonly name: string | null;
  readonly via: Via;
}

/** Needs the right to insert those columns, and no other. */
export async function writeAudit(
  session: Session,
  { name, via }: Actor,
  { action, targets, count = targets.length, details = {} }: AuditEntry,
): Promise<void> {
  const query = db.insertInto('tock.audit').values({
    ...(name === null ? {} : { operator: name }),
    via,
    action,
    targets: targets.slice(0, MAX_TARGETS),
    count,
    details: detailsText(details),
  });
  await runQuery(session, query);
}
