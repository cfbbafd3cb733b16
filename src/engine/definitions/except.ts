// Skips or moves one occurrence of a definition, and takes that back. One transaction each, under the lock of
// the definition, which a tick holds while it materializes: who comes second sees what the first has done.
import type { Details } from '../../model/audit.js';
import { TockError } from '../../model/errors.js';
import { instantAsked, occurrenceAsked } from '../../model/explain/asked-occurrence.js';
import { openTimetable, type Timetable } from '../../model/explain/instant.js';
import { instantText } from '../../model/explain/local-clock.js';
import { quote, storableNote } from '../../model/names.js';
import type { Action } from '../../model/operator.js';
import { chainWords } from '../../model/planning/chain.js';
import { scheduleOfColumns } from '../../model/planning/definition.js';
import type { ExceptionChange, ExceptionRecord } from '../../model/planning/exception-record.js';
import {
  type Exception,
  type ExceptionKind,
  MAX_EXCEPTIONS,
  nextDue,
  occurs,
} from '../../model/planning/exceptions.js';
import { windowIn } from '../../model/planning/window.js';
import { utcText } from '../../model/schedule/instant-text.js';
import { readNow } from '../../store/connection/clock.js';
import type { Session } from '../../store/connection/database.js';
import {
  deleteException,
  readExceptions,
  readExceptionsIn,
  writeException,
} from '../../store/definitions/occurrences/exceptions.js';
import {
  lockDefinition,
  readDefinition,
  type StoredDefinition,
} from '../../store/definitions/stored-definition.js';
import { audit } from '../audit.js';
import type { Engine } from '../engine.js';
import { learnZonesOf } from '../materialize/learn-zones.js';
import { requireDefinition } from '../materialize/locked-definition.js';
import { requireFuture, requireOpen } from './occurrence-fate.js';

/** Options of `schedules.skip` and `schedules.move`. */
export interface ExceptionOptions {
  /** Why; shown with the occurrence, at most 500 characters. */
  readonly note?: string;
}

interface Asked {
  readonly name: string;
  readonly at: Date | string;
  /** Undefined: it is skipped. */
  readonly to?: Date | string;
  readonly note: string | null;
}

/** Skips an occurrence that has not come yet: it becomes a skipped row (`excepted`) at its time. */
export async function skipOccurrence(
  engine: Engine,
  name: string,
  at: Date | string,
  { note }: ExceptionOptions = {},
): Promise<ExceptionChange> {
  return await except(engine, { name, at, note: storableNote(note) });
}

/** Moves an occurrence that has not come yet to another time. Until then it can be moved again. */
export async function moveOccurrence(
  engine: Engine,
  name: string,
  from: Date | string,
  to: Date | string,
  { note }: ExceptionOptions = {},
): Promise<ExceptionChange> {
  return await except(engine, { name, at: from, to, note: storableNote(note) });
}

async function except(engine: Engine, asked: Asked): Promise<ExceptionChange> {
  const { name, note } = asked;
  const change = await engine.database.transaction(async session => {
    const locked = await lockExceptable(session, name);
    const { row, table, now, exceptions } = locked;
    const excepted = exceptions.map(each => each.at);
    const at = occurrenceAsked(table, name, asked.at, now, excepted);
    const before = await readOne(session, row.id, at);
    await requireOpen(session, { ...locked, at, before });
    const to = asked.to === undefined ? null : instantAsked(table.zone, asked.to, now);
    if (to !== null) requireTarget(locked, at, to);
    const kind: ExceptionKind = to === null ? 'skip' : 'move';
    // What had been moved, and whose own time is over, is recorded at the time to which it was moved.
    const dueAt = to ?? (at > Math.max(now, row.cursor_ms) ? at : (before?.dueAt ?? at));
    const is = { row, table, now };
    const isSame = before?.kind === kind && before.dueAt === dueAt && (note === null || note === before.note);
    const replaced = before === null ? null : recordOf(is, before);
    if (before !== null && isSame)
      return { ...recordOf(is, before), isChanged: false, replaced, isPaused: row.is_paused };
    if (before === null && exceptions.length >= MAX_EXCEPTIONS) throw tooMany(name);
    const operator = engine.operator?.name ?? engine.appName;
    const nextAt = nextAfter(row, table, [
      ...exceptions.filter(each => each.at !== at),
      { at, kind, dueAt, note, operator: operator ?? '', madeAt: now },
    ]);
    const made = await writeException(session, row.id, { at, kind, dueAt, note, operator }, nextAt);
    const details = { ...detailsOf(made), was: before === null ? undefined : wasText(before) };
    await audit(session, engine, { action: ACTIONS[kind], targets: [name], details });
    return { ...recordOf(is, made), isChanged: true, replaced, isPaused: row.is_paused };
  });
  if (change.isChanged) log(engine, change, change.kind === 'skip' ? 'skipped' : 'moved');
  return change;
}

const ACTIONS = { skip: 'schedules.skip', move: 'schedules.move' } as const satisfies Record<string, Action>;

/** Takes back a skip, or a move, before its time: the occurrence is as the schedule says again. */
export async function restoreOccurrence(
  engine: Engine,
  name: string,
  at: Date | string,
): Promise<ExceptionRecord> {
  const record = await engine.database.transaction(async session => {
    const locked = await lockExceptable(session, name);
    const { row, table, now, exceptions } = locked;
    const excepted = exceptions.map(each => each.at);
    const asked = occurrenceAsked(table, name, at, now, excepted);
    const before = await readOne(session, row.id, asked);
    if (before === null)
      throw new TockError(
        'TOCK_NOT_FOUND',
        `the occurrence ${instantText(asked, table.zone)} of ${quote(name)} is neither skipped nor moved`,
      );
    await requireOpen(session, { ...locked, at: asked, before });
    requireFuture(locked, before);
    const left = exceptions.filter(each => each.at !== asked);
    await deleteException(session, row.id, asked, nextAfter(row, table, left));
    const details = detailsOf(before);
    await audit(session, engine, { action: 'schedules.restore', targets: [name], details });
    return recordOf({ row, table, now }, before);
  });
  log(engine, record, 'restored');
  return record;
}

/** The exceptions of a definition that are still to come. @throws TockError TOCK_NOT_FOUND */
export async function listExceptions({ database }: Engine, name: string): Promise<ExceptionRecord[]> {
  const row = requireDefinition(await readDefinition(database, name), name);
  const exceptions = (await readExceptions(database, [row]))(row);
  if (exceptions.length === 0) return [];
  const table = timetableOf(row);
  const now = await readNow(database);
  return exceptions.map(each => recordOf({ row, table, now }, each));
}

/** A definition whose row is locked. */
export interface Locked {
  readonly row: StoredDefinition;
  readonly table: Timetable;
  /** Epoch milliseconds, read after the lock. */
  readonly now: number;
  /** Those that matter after the cursor. */
  readonly exceptions: readonly Exception[];
}

async function lockExceptable(session: Session, name: string): Promise<Locked> {
  const row = requireDefinition(await lockDefinition(session, name), name);
  requireSchedule(row);
  await learnZonesOf(session, [row]);
  const table = timetableOf(row);
  const exceptions = (await readExceptions(session, [row]))(row);
  return { row, table, exceptions, now: await readNow(session) };
}

async function readOne(session: Session, id: string, at: number): Promise<Exception | null> {
  return (await readExceptionsIn(session, id, { from: at, to: at + 1 }))[0] ?? null;
}

function requireSchedule(row: StoredDefinition): void {
  const refuse = (why: string) => new TockError('TOCK_BAD_STATE', `${quote(row.name)} ${why}`);
  if (row.is_vanished) throw refuse('is no longer in code, so it makes no runs anyway');
  if (row.after)
    throw refuse(
      `has no times of its own: it runs ${chainWords(row.after)}; skip or move the occurrence there, and it follows`,
    );
  if (scheduleOfColumns(row) === null)
    throw refuse(`has no schedule, and so no occurrences (tock run ${row.name} runs it)`);
  if (row.remaining_count === 0) throw refuse('has made all the runs that it was to make (remaining)');
}

function timetableOf(row: StoredDefinition): Timetable {
  const spec = scheduleOfColumns(row);
  try {
    return openTimetable(spec ?? { at: new Date(0), timezone: row.timezone }, row.name);
  } catch (error) {
    throw new TockError(
      'TOCK_BAD_STATE',
      `the schedule of ${quote(row.name)} cannot be read: ${error instanceof Error ? error.message : 'it is broken'}`,
      { cause: error },
    );
  }
}

function requireTarget({ row, table, now }: Locked, at: number, to: number): void {
  const text = instantText(to, table.zone);
  if (to === at)
    throw new TockError(
      'TOCK_BAD_TIME',
      `${text} is the time at which it occurs; to take back a skip or a move: tock move ${row.name} ${utcText(at)} --undo`,
    );
  if (to <= Math.max(now, row.cursor_ms))
    throw new TockError(
      'TOCK_BAD_TIME',
      `${text} has passed (the database has ${instantText(now, table.zone)}); write a later time, or run it now: tock run ${row.name}`,
    );
  const { active_window: hours, timezone } = row;
  if (hours === null || windowIn(hours, timezone).isOpen(to)) return;
  throw new TockError(
    'TOCK_BAD_TIME',
    `${text} is outside the window ${hours} (${timezone}) of ${quote(row.name)}; write a time within it`,
  );
}

const tooMany = (name: string) =>
  new TockError(
    'TOCK_BAD_STATE',
    `${quote(name)} has ${MAX_EXCEPTIONS} exceptions that are still to come; exclude times in its schedule instead`,
  );

/** When the definition is due next, from its cursor. */
function nextAfter(
  { cursor_ms: cursor }: StoredDefinition,
  { compiled }: Timetable,
  exceptions: readonly Exception[],
) {
  return nextDue(compiled, exceptions, cursor);
}

const detailsOf = ({ at, kind, dueAt, note }: Exception): Details => ({
  occurrence: utcText(at),
  to: kind === 'move' ? utcText(dueAt) : undefined,
  note: note ?? undefined,
});

const wasText = ({ kind, dueAt }: Exception) => (kind === 'skip' ? 'skipped' : `moved to ${utcText(dueAt)}`);

function recordOf(
  { row, table, now }: Pick<Locked, 'row' | 'table' | 'now'>,
  { at, kind, dueAt, note, operator, madeAt }: Exception,
): ExceptionRecord {
  return {
    definition: row.name,
    timezone: row.timezone,
    kind,
    occurrence: new Date(at),
    movedTo: kind === 'move' ? new Date(dueAt) : null,
    note,
    operator,
    madeAt: new Date(madeAt),
    isDue: dueAt <= Math.max(now, row.cursor_ms),
    hasEffect: occurs(table.compiled, at),
  };
}

function log(
  { logger }: Engine,
  { definition, occurrence, movedTo, note }: ExceptionRecord,
  event: 'skipped' | 'moved' | 'restored',
): void {
  const scheduled_for = occurrence.toISOString();
  logger.info(
    { event: `occurrence.${event}`, definition, scheduled_for, moved_to: movedTo?.toISOString(), note },
    `occurrence ${scheduled_for} of ${definition} is ${event}`,
  );
}
