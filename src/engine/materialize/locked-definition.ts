// What an edit, a pause or a removal does with a stored definition.

import { withoutDates } from '../../model/calendar/calendar-entries.js';
import { TockError } from '../../model/errors.js';
import { quote } from '../../model/names.js';
import { fingerprintOf, scheduleOfColumns } from '../../model/planning/definition.js';
import { statedOf } from '../../model/planning/definition-columns.js';
import {
  type Exception,
  movedIn,
  nextDue,
  skippedIn,
  withoutExcepted,
} from '../../model/planning/exceptions.js';
import { MAX_COUNTED } from '../../model/planning/plan-occurrences.js';
import type { SkipReason } from '../../model/run/states.js';
import { type CompiledSchedule, compileSchedule } from '../../model/schedule/compile.js';
import type { Session } from '../../store/connection/database.js';
import type { PlanningColumns } from '../../store/definitions/declared-columns.js';
import { readExceptions } from '../../store/definitions/occurrences/exceptions.js';
import type { StoredDefinition } from '../../store/definitions/stored-definition.js';
import { type DefinitionRecord, listDefinitions } from '../../store/reads/runs.js';
import { insertOccurrences } from '../../store/runs/materialize.js';
import { insertSkippedSpan, type SkippedSpan } from '../../store/runs/occurrences/skipped-span.js';
import { skippedRow } from './occurrence-rows.js';

export type { SkippedSpan } from '../../store/runs/occurrences/skipped-span.js';

/** The row, where there is one that was not removed. @throws TockError TOCK_NOT_FOUND */
export function requireDefinition(row: StoredDefinition | null, name: string): StoredDefinition {
  if (row && !(row.is_vanished && row.origin === 'runtime')) return row;
  throw new TockError(
    'TOCK_NOT_FOUND',
    `there is no definition ${quote(name)} (tock jobs lists them; one that is new in code is registered by the next tick)`,
  );
}

/** The definition as people see it, removed or not. @throws TockError TOCK_NOT_FOUND */
export async function readRecord(session: Session, name: string): Promise<DefinitionRecord> {
  const [record] = await listDefinitions(session, { name, removed: true });
  if (record) return record;
  throw new TockError('TOCK_NOT_FOUND', `the definition ${quote(name)} was deleted meanwhile`);
}

/** The columns as they are now: a hash of them is equal to that of an edit which changes nothing. */
export function storedFingerprint(row: StoredDefinition): string {
  return fingerprintOf({ ...statedOf(row), exclude: withoutDates(row.exclude) });
}

/**
 * The compiled schedule; null where there is none. @throws TockError TOCK_BAD_SCHEDULE for one that is broken
 */
export function scheduleOf(row: PlanningColumns): CompiledSchedule | null {
  const spec = scheduleOfColumns(row);
  return spec === null ? null : compileSchedule(spec, row.name);
}

/** As {@link scheduleOf}, but null for a definition that cannot be evaluated: it expects nothing. */
export function workingSchedule(row: PlanningColumns): CompiledSchedule | null {
  try {
    return scheduleOf(row);
  } catch {
    return null;
  }
}

/** When it is due after an instant; null: never, or it cannot be evaluated. */
export function nextDueOf(
  row: PlanningColumns,
  exceptions: readonly Exception[],
  after: number,
): number | null {
  const schedule = row.remaining_count === 0 ? null : workingSchedule(row);
  return schedule === null ? null : nextDue(schedule, exceptions, after);
}

/** The occurrences after the cursor, up to `now`, without those that have an exception; null: none. */
function spanUpTo(row: StoredDefinition, exceptions: readonly Exception[], now: number): SkippedSpan | null {
  const all = workingSchedule(row);
  const schedule = all === null ? null : withoutExcepted(all, exceptions);
  const first = schedule?.next(row.cursor_ms) ?? null;
  if (schedule === null || first === null || first > now || row.remaining_count === 0) return null;
  const most = Math.min(row.remaining_count ?? MAX_COUNTED, MAX_COUNTED);
  let count = 0;
  for (let at: number | null = first; at !== null && at <= now && count < most; at = schedule.next(at))
    count++;
  return { count, first: new Date(first), last: new Date(schedule.previous(now + 1) ?? first) };
}

/**
 * Records the occurrences after the cursor, up to `now`, as one skipped row, and those with an exception in a
 * row each. The caller holds the lock, and moves the cursor to `now` in the same transaction, after this.
 */
export async function recordSpan(
  session: Session,
  row: StoredDefinition,
  now: number,
  reason: SkipReason,
): Promise<SkippedSpan | null> {
  const exceptions = (await readExceptions(session, [row]))(row);
  const span = spanUpTo(row, exceptions, now);
  if (span) await insertSkippedSpan(session, row.id, span, reason);
  const schedule = exceptions.length === 0 || row.remaining_count === 0 ? null : workingSchedule(row);
  if (schedule === null) return span;
  const decided = { after: row.cursor_ms, to: now };
  const moved = movedIn(schedule, exceptions, decided);
  await insertOccurrences(session, [
    ...skippedIn(schedule, exceptions, decided).map(at => skippedRow(row.id, at, 'excepted')),
    ...moved.map(({ at }) => skippedRow(row.id, at, reason)),
  ]);
  return span;
}
