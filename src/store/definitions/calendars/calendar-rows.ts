// The rows of calendars. A transaction that writes a definition has locked the calendars that it names
// before, so that no edit of these misses the definition.

import { sql } from 'kysely';
import type { CalendarRecord } from '../../../model/calendar/calendar.js';
import type { Session } from '../../connection/database.js';
import { db, firstRow, isAnyOf, now, readableInstant, runQuery } from '../../connection/query.js';
import { statement } from '../../connection/statement.js';

/** A calendar's row: `version` 0 for one that is being made. */
export type CalendarRow = Pick<CalendarRecord, 'name' | 'dates' | 'version'>;

const ROWS = db
  .selectFrom('tock.job_calendars as c')
  .select(['c.name', sql<readonly string[]>`c.dates`.as('dates'), 'c.version']);

/** Locks a calendar until the transaction ends. @param isMade makes its row where there is none */
export async function lockCalendar(
  session: Session,
  name: string,
  { isMade = false } = {},
): Promise<CalendarRow | null> {
  if (isMade) {
    const inserted = db.insertInto('tock.job_calendars').values({ name });
    await runQuery(
      session,
      inserted.onConflict(conflict => conflict.column('name').doNothing()),
    );
  }
  return (await firstRow(session, ROWS.where('c.name', '=', name).forUpdate())) ?? null;
}

/** Takes no lock. */
export async function readCalendar(session: Session, name: string): Promise<CalendarRow | null> {
  return (await firstRow(session, ROWS.where('c.name', '=', name))) ?? null;
}

/** Keeps calendars as they are until the transaction ends; those that are not there are left out. */
export async function shareCalendars(
  session: Session,
  names: readonly string[],
): Promise<ReadonlyMap<string, readonly string[]>> {
  const query = ROWS.where(eb => isAnyOf(eb.ref('c.name'), names, 'text'))
    .orderBy('c.name')
    .forShare();
  return new Map((await runQuery(session, query)).map(({ name, dates }) => [name, dates]));
}

/** Writes other dates as the next version. The caller holds the lock. */
export async function writeCalendar(session: Session, name: string, dates: readonly string[]): Promise<void> {
  const query = db
    .updateTable('tock.job_calendars')
    .set(eb => ({ dates: JSON.stringify(dates), version: eb('version', '+', 1), updated_at: now }))
    .where('name', '=', name);
  await runQuery(session, query);
}

/** Deletes a calendar. The caller holds the lock. */
export async function deleteCalendar(session: Session, name: string): Promise<void> {
  await runQuery(session, db.deleteFrom('tock.job_calendars').where('name', '=', name));
}

const READ_USES = statement<object, { readonly calendar: string; readonly definition: string }>(
  'read-calendar-uses',
  `
select distinct e.entry ->> 'calendar' as calendar, d.name as definition
from tock.job_definitions d cross join lateral jsonb_array_elements(d.exclude) as e(entry)
where d.vanished_at is null and d.exclude @> '[{}]' and e.entry ? 'calendar'
order by 1, 2`,
);

/** All calendars, or one, with the definitions that name them, by name. */
export async function listCalendars(session: Session, name?: string): Promise<CalendarRecord[]> {
  const query = ROWS.select(eb => readableInstant(eb.ref('c.updated_at')).as('updatedAt'))
    .$if(name !== undefined, calendars => calendars.where('c.name', '=', name ?? ''))
    .orderBy('c.name');
  const rows = await runQuery(session, query);
  if (rows.length === 0) return [];
  const uses = await READ_USES.run(session, {});
  return rows.map(row => ({
    ...row,
    definitions: uses.filter(({ calendar }) => calendar === row.name).map(({ definition }) => definition),
  }));
}
