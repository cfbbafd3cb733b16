// Whether the occurrence of a run was skipped or moved by an operator, in words.
import { exceptionWords } from '../../model/planning/exception-record.js';
import type { RunRecord } from '../../model/run/run-record.js';
import type { Session } from '../../store/connection/database.js';
import { readExceptionOfRun } from '../../store/definitions/occurrences/exceptions.js';
import { findZoneOrUtc } from '../schedules/zones.js';

/** `moved from 09:00 to 11:00 by anna: bank holiday`; null: it is as scheduled. */
export async function exceptionOf(session: Session, run: RunRecord): Promise<string | null> {
  const { definition, scheduledFor, trigger } = run;
  if (definition === null || scheduledFor === null || trigger === 'chain') return null;
  const exception = await readExceptionOfRun(session, definition, scheduledFor);
  return exception === null ? null : exceptionWords(exception, findZoneOrUtc(exception.timezone));
}
