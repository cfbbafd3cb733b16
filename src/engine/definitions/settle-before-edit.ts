// What comes first when definitions are edited, removed, or vanish.
import type { DefinitionColumns } from '../../model/planning/definition-columns.js';
import { occurs } from '../../model/planning/exceptions.js';
import { windowOf } from '../../model/planning/window.js';
import { readNow } from '../../store/connection/clock.js';
import type { Session } from '../../store/connection/database.js';
import {
  type ExceptionsOf,
  forgetComing,
  readExceptions,
} from '../../store/definitions/occurrences/exceptions.js';
import { lockDefinitionsNamed, type StoredDefinition } from '../../store/definitions/stored-definition.js';
import { clearPause } from '../../store/definitions/write-definitions.js';
import { insertOccurrences } from '../../store/runs/materialize.js';
import { type EarlyRun, readEarlyRuns, supersedeRuns } from '../../store/runs/operator-moves.js';
import type { Engine } from '../engine.js';
import { recordSpan, workingSchedule } from '../materialize/locked-definition.js';
import { materializeBeforeEdit } from '../materialize/materialize.js';
import { skippedRow } from '../materialize/occurrence-rows.js';
import { resumeLocked } from './pause.js';

/** Definitions as they are at an edit. */
interface Settled {
  /** In the order in which they were asked for. */
  readonly rows: readonly StoredDefinition[];
  /** The time of the edit, in epoch milliseconds: the old schedules hold up to it, the new ones after it. */
  readonly now: number;
}

/**
 * Ends pauses that are over, each at its own time, and then materializes what came due by the schedules as
 * they were. The caller holds the locks.
 * @param since the edit is of that time, in epoch milliseconds; null, or later than now: of now
 */
export async function settleBeforeEdit(
  session: Session,
  engine: Engine,
  rows: readonly StoredDefinition[],
  since: number | null = null,
): Promise<Settled> {
  const clock = await readNow(session);
  const now = Math.min(since ?? clock, clock);
  if (rows.length === 0) return { rows, now };
  for (const row of rows)
    if (row.paused_until_ms !== null && row.paused_until_ms <= now && !row.is_vanished)
      await resumeLocked(session, row, row.paused_until_ms);
  const ids = rows.map(row => row.id);
  await materializeBeforeEdit(session, engine, ids, now);
  const settled = await lockDefinitionsNamed(
    session,
    rows.map(row => row.name),
  );
  const byId = new Map(settled.map(row => [row.id, row]));
  return { rows: rows.map(row => byId.get(row.id) ?? row), now };
}

/** A removed definition that is made again begins without its pause, and without its exceptions. */
export async function beginAgain(session: Session, rows: readonly StoredDefinition[]): Promise<void> {
  await forgetComing(session, rows);
  for (const row of rows) if (row.is_paused) await clearPause(session, row.id);
}

/**
 * Records what a definition that is about to go has made no run of. The caller holds the lock, and moves the
 * cursor to `now` in the same transaction, after this.
 * @param now epoch milliseconds
 */
export async function recordGone(session: Session, row: StoredDefinition, now: number): Promise<void> {
  await recordSpan(session, row, now, row.is_paused ? 'paused' : 'edited');
  await exceptionsAtEdit(session, [{ row, after: null }], now);
}

export interface Edit {
  readonly row: StoredDefinition;
  /** What it becomes; null: it is removed. */
  readonly after: DefinitionColumns | null;
}

/**
 * Reads the exceptions that matter after the cursors. An occurrence whose own time has passed, and which was
 * moved, is recorded as skipped where no version would make its run: the edit takes it away, or its new time
 * has passed while the definition was broken. The caller holds the locks, and has materialized what came due
 * before the edit.
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
    const passed = exceptionsOf(row).filter(
      ({ at, dueAt }) => at <= now && (dueAt > now || (at <= row.cursor_ms && dueAt > row.cursor_ms)),
    );
    const before = passed.length === 0 ? null : workingSchedule(row);
    if (before === null) return [];
    const later = after === null ? null : workingSchedule(after);
    return passed
      .filter(({ at, dueAt }) => occurs(before, at) && (dueAt <= now || later === null || !occurs(later, at)))
      .map(({ at, kind }) => skippedRow(row.id, at, kind === 'skip' ? 'excepted' : 'edited'));
  });
  await insertOccurrences(session, lost);
  return exceptionsOf;
}

/**
 * Withdraws queued runs that are not yet due, and that the definition as it becomes would not make: of none
 * of its occurrences, or out of its window. The others stay as they were made, so that no deploy loses one.
 * The caller holds the locks.
 */
export async function withdrawAtEdit(session: Session, edits: readonly Edit[]): Promise<void> {
  if (edits.length === 0) return;
  const early = await readEarlyRuns.run(session, { definitionIds: edits.map(({ row }) => row.id) });
  if (early.length === 0) return;
  const stay = new Map(edits.map(edit => [edit.row.id, staysAfter(edit)]));
  await supersedeRuns(
    session,
    early.filter(run => !stay.get(run.definitionId)?.(run)),
  );
}

function staysAfter({ row, after }: Edit): ((run: EarlyRun) => boolean) | null {
  if (after === null) return null;
  const schedule = workingSchedule(after);
  const window = windowOf(after);
  return ({ scheduledFor, runAt }) =>
    (after.after === null ? schedule !== null && occurs(schedule, scheduledFor) : row.after !== null) &&
    (window === null || window.isOpen(runAt));
}
