// Rows of the audit as a table.

import { auditSentence } from '../../answers/audit-words.js';
import type { AuditRecord } from '../../model/audit.js';
import { cleanLine } from '../terminal.js';
import { type Cell, type Column, drawTable } from './table.js';
import { hostZone, localStamp } from './time-text.js';

const columns = (): readonly Column[] => [
  { title: `at (${hostZone()})` },
  { title: 'who', flexible: true },
  { title: 'via' },
  { title: 'what', flexible: true },
];

export async function drawAudit(records: readonly AuditRecord[]): Promise<string> {
  const rows = records.map((record): Cell[] => [
    localStamp(record.at),
    whoText(record),
    record.via,
    cleanLine(auditSentence(record)),
  ]);
  return await drawTable(columns(), rows);
}

/** The name, and the database's role where it says more. */
function whoText({ operator, databaseRole }: AuditRecord): string {
  return operator === databaseRole ? operator : `${operator} as ${databaseRole}`;
}
