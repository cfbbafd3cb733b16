// Calendars: made, edited and removed by an operator or the app. An edit of a calendar is an edit of the
// definitions that name it, in one transaction, except that it withdraws no run: it changes the future only.
import type {
  CalendarEdit,
  CalendarOptions,
  CalendarRecord,
  ChangedOccurrences,
} from '../../model/calendar/calendar.js';
import { checkCalendarName, readCalendarDates } from '../../model/calendar/calendar.js';
import { calendarsLacking, withDates } from '../../model/calendar/calendar-entries.js';
import { changedOccurrences } from '../../model/calendar/changed-occurrences.js';
import { TockError } from '../../model/errors.js';
import { quote } from '../../model/names.js';
import { statedOf } from '../../model/planning/definition-columns.js';
import { readNow } from '../../store/connection/clock.js';
import type { Session } from '../../store/connection/database.js';
import {
  type CalendarRow,
  deleteCalendar,
  listCalendars,
  lockCalendar,
  readCalendar,
  writeCalendar,
} from '../../store/definitions/calendars/calendar-rows.js';
import {
  lockDefinitionsOfCalendar,
  readDefinitionsOfCalendar,
  type StoredDefinition,
} from '../../store/definitions/stored-definition.js';
import { upsertDefinitions } from '../../store/definitions/write-definitions.js';
import { lookAgain } from '../../store/runs/waits/intervals.js';
import { audit } from '../audit.js';
import { markUndated, writtenRow } from '../definitions/register.js';
import { exceptionsAtEdit, settleBeforeEdit } from '../definitions/settle-before-edit.js';
import type { Engine } from '../engine.js';
import { learnZonesOf } from '../materialize/learn-zones.js';
import { recordSpan, storedFingerprint, workingSchedule } from '../materialize/locked-definition.js';

const YEAR_MS = 366 * 86_400_000;

export async function calendars(engine: Engine): Promise<CalendarRecord[]> {
  return await listCalendars(engine.database);
}

/** @throws TockError TOCK_NOT_FOUND */
export async function calendar(engine: Engine, name: string): Promise<CalendarRecord> {
  const [record] = await listCalendars(engine.database, checkCalendarName(name));
  if (record) return record;
  throw missing(name);
}

/** See `CalendarMethods.set`. */
export async function setCalendar(
  engine: Engine,
  name: string,
  { dates: given, dryRun = false }: CalendarOptions,
): Promise<CalendarEdit> {
  checkCalendarName(name);
  const dates = readCalendarDates(given);
  if (dryRun) {
    const before = await readCalendar(engine.database, name);
    const users = await readDefinitionsOfCalendar(engine.database, name);
    return editOf(before ?? emptyCalendar(name), dates, users, await readNow(engine.database));
  }
  const edit = await engine.database.transaction(session => writeEdit(session, engine, name, dates));
  if (edit.change !== 'unchanged')
    engine.logger.info(
      { event: `calendar.${edit.change}`, calendar: name, version: edit.version, dates: dates.length },
      `calendar ${name} ${edit.change}`,
    );
  return edit;
}

async function writeEdit(
  session: Session,
  engine: Engine,
  name: string,
  dates: readonly string[],
): Promise<CalendarEdit> {
  const before = (await lockCalendar(session, name, { isMade: true })) ?? emptyCalendar(name);
  const found = await lockDefinitionsOfCalendar(session, name);
  const wouldBe = editOf(before, dates, found, await readNow(session));
  // A definition that was registered while the calendar was being made has no dates of it yet.
  const isHeld = found.every(row => calendarsLacking(row.exclude).every(lacking => lacking !== name));
  if (wouldBe.change === 'unchanged' && isHeld) return wouldBe;
  const { rows: users, now } = await settleBeforeEdit(session, engine, found);
  await learnZonesOf(session, users);
  for (const row of users)
    if (row.is_paused) await recordSpan(session, row, Math.max(now, row.cursor_ms), 'paused');
  const edit = editOf(before, dates, users, now);
  const edits = users.map(row => ({ row, after: columnsWith(row, name, dates) }));
  const exceptionsOf = await exceptionsAtEdit(session, edits, now);
  for (const origin of ['code', 'runtime'] as const) {
    const rows = edits
      .filter(({ row }) => row.origin === origin)
      .map(({ row, after: columns }) => {
        const fingerprint = row.fingerprint ?? storedFingerprint(row);
        const stated = { ...columns, remaining_count: row.remaining_stated };
        const cursor = Math.max(now, row.cursor_ms);
        return writtenRow({ columns: stated, fingerprint }, cursor, row, exceptionsOf(row));
      });
    if (rows.length > 0) await upsertDefinitions(session, origin, rows);
  }
  // What waits for them may have been waiting for the calendar.
  if (users.length > 0) await lookAgain.run(session, { written: users.map(({ name: user }) => user).sort() });
  // Another calendar may be missing still.
  await markUndated(
    session,
    engine,
    edits.map(({ after }) => after),
  );
  await writeCalendar(session, name, dates);
  const { change, version, addedDates, removedDates, definitions } = edit;
  await audit(session, engine, {
    action: 'calendars.set',
    targets: [name],
    details: {
      change,
      version,
      added_count: addedDates.length,
      removed_count: removedDates.length,
      added: [...addedDates],
      removed: [...removedDates],
      definitions: definitions.length,
      occurrences: sum(definitions),
    },
  });
  return edit;
}

const columnsWith = (row: StoredDefinition, name: string, dates: readonly string[]) => ({
  ...statedOf(row),
  exclude: dated(row, name, dates),
});

/** The exclusions with other dates of one calendar. */
const dated = ({ exclude }: StoredDefinition, name: string, dates: readonly string[]) => {
  const stored = new Map(
    exclude.flatMap(entry =>
      typeof entry === 'object' && 'calendar' in entry ? [[entry.calendar, entry.dates] as const] : [],
    ),
  );
  return withDates(exclude, calendar => (calendar === name ? dates : stored.get(calendar)));
};

const emptyCalendar = (name: string): CalendarRow => ({ name, dates: [], version: 0 });

function editOf(
  before: CalendarRow,
  dates: readonly string[],
  users: readonly StoredDefinition[],
  now: number,
): CalendarEdit {
  const { name, version } = before;
  const [old, next] = [new Set(before.dates), new Set(dates)];
  const addedDates = dates.filter(date => !old.has(date));
  const removedDates = before.dates.filter(date => !next.has(date));
  const facts = { name, dates, addedDates, removedDates };
  if (version > 0 && addedDates.length + removedDates.length === 0)
    return { ...facts, version, change: 'unchanged', definitions: [] };
  const span = { from: now, to: now + YEAR_MS };
  const changed = users.map((row): ChangedOccurrences => {
    const after = workingSchedule({ ...row, exclude: dated(row, name, dates) });
    return { definition: row.name, ...changedOccurrences(workingSchedule(row), after, span) };
  });
  const definitions = changed
    .filter(({ removed, added, isComplete }) => removed + added > 0 || !isComplete)
    .sort((a, b) => (a.definition < b.definition ? -1 : 1));
  return { ...facts, version: version + 1, change: version === 0 ? 'made' : 'edited', definitions };
}

const sum = (definitions: readonly ChangedOccurrences[]): number =>
  definitions.reduce((total, { removed, added }) => total + removed + added, 0);

/**
 * Removes a calendar that no definition names.
 * @throws TockError TOCK_NOT_FOUND; TOCK_BAD_STATE with the definitions that name it
 */
export async function removeCalendar(engine: Engine, name: string): Promise<void> {
  checkCalendarName(name);
  await engine.database.transaction(async session => {
    const row = await lockCalendar(session, name);
    if (row === null) throw missing(name);
    const users = await readDefinitionsOfCalendar(session, name);
    if (users.length > 0) throw inUse(name, users.map(user => user.name).sort());
    await deleteCalendar(session, name);
    const details = { version: row.version, dates: row.dates.length };
    await audit(session, engine, { action: 'calendars.remove', targets: [name], details });
  });
  engine.logger.info({ event: 'calendar.removed', calendar: name }, `calendar ${name} removed`);
}

const missing = (name: string): TockError =>
  new TockError('TOCK_NOT_FOUND', `there is no calendar ${quote(name)} (tock calendar lists them)`);

const MOST_NAMED = 10;

function inUse(name: string, users: readonly string[]): TockError {
  const more = users.length > MOST_NAMED ? ` and ${users.length - MOST_NAMED} more` : '';
  return new TockError(
    'TOCK_BAD_STATE',
    `the calendar ${quote(name)} is named by ${users.slice(0, MOST_NAMED).join(', ')}${more}; take it out of their exclude first`,
  );
}
