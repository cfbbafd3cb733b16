// The audit: every changing action of an operator leaves a row, written in the action's own transaction.
import type { AuditEntry } from '../model/audit.js';
import { writeAudit } from '../store/audit/write-audit.js';
import type { Session } from '../store/connection/database.js';
import type { Engine } from './engine.js';

/**
 * Records what the engine's operator has just changed in this transaction, which commits or rolls back both.
 * Many targets make one row, with their count. Nothing is written if nothing was changed (`count` 0): then
 * null, otherwise the row's id.
 */
export async function audit(session: Session, engine: Engine, entry: AuditEntry): Promise<string | null> {
  if ((entry.count ?? entry.targets.length) === 0) return null;
  const { operator, appName } = engine;
  return await writeAudit(session, { name: operator?.name ?? appName, via: operator?.via ?? 'api' }, entry);
}
