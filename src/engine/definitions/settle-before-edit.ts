// What comes first when definitions are edited or removed.
import type { DefinitionColumns } from '../../model/planning/definition-columns.js';
import { occurs } from '../../model/planning/exceptions.js';
import { readNow } from '../../store/connection/clock.js';
import type { Session } from '../../store/connection/database.js';
import { type ExceptionsOf, readExceptions } from '../../store/definitions/occurrences/exceptions.js';
import type { StoredDefinition } from '../../store/definitions/stored-definition.js';
import { insertOccurrences } from '../../store/runs/materialize.js';
import type { Engine } from '../engine.js';
import { workingSchedule } from '../materialize/locked-definition.js';
import { materializeBeforeEdit } from '../materialize/materialize.js';
import { skippedRow } from '../materialize/occurrence-rows.js';
import { resumeLocked } from './pause.js';

/** Definitions as they are at an edit. */
interface Settled {
  readonly rows: readonly StoredDefinition[];
  /** The time of the edit, in epoch milliseconds: the old schedules hold up to it, the new ones after it. */
  readonly now: number;
}

/**
 * Ends pauses that are over, each at its own time, and then materializes what came due by the schedules as
 * they were. The caller holds the locks.
 * @returns the rows, of which those whose pause is over are no longer paused
 */
export async function settleBeforeEdit(
  session: Session,
  engine: Engine,
  rows: readonly StoredDefinition[],
): Promise<Settled> {
  const now = await readNow(session);
  const ending = rows.filter(row => row.paused_until_ms !== null && !row.is_vanished);
  const ended = ending.filter(row => (row.paused_until_ms ?? now) <= now);
  for (const row of ended) await resumeLocked(session, row, row.paused_until_ms);
  await materializeBeforeEdit(
    session,
    engine,
    rows.map(row => row.id),
    now,
  );
  const settled = rows.map(row =>
    ended.includes(row) ? { ...row, is_paused: false, paused_until_ms: null } : row,
  );
  return { rows: settled, now };
}

interface Edit {
  readonly row: StoredDefinition;
  /** What it becomes; null: it is removed. */
  readonly after: DefinitionColumns | null;
}

/**
 * Reads the exceptions that matter after the cursors. An occurrence whose own time has passed, and which was
 * moved to a time that is to come, is recorded as skipped where the edit takes it away: no version would make
 * its run. The caller holds the locks, and has materialized what came due before the edit.
 * @param now epoch milliseconds
 */
export async function exceptionsAtEdit(
  session: Session,
  edits: readonly Edit[],
  now: number,
): Promise<ExceptionsOf> {
  const exceptionsOf = await readExceptions(
    session,
    edits.map(({ row }) => row),
  );
  const lost = edits.flatMap(({ row, after }) => {
    const passed = exceptionsOf(row).filter(({ at, dueAt }) => at <= now && dueAt > now);
    const before = passed.length === 0 ? null : workingSchedule(row);
    if (before === null) return [];
    const later = after === null ? null : workingSchedule(after);
    return passed
      .filter(({ at }) => occurs(before, at) && (later === null || !occurs(later, at)))
      .map(({ at, kind }) => skippedRow(row.id, at, kind === 'skip' ? 'excepted' : 'edited'));
  });
  await insertOccurrences(session, lost);
  return exceptionsOf;
}
