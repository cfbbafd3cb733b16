// Gives definitions that are to be written the dates of the calendars that they name.
import { calendarsNamed, withDates } from '../../model/calendar/calendar-entries.js';
import { TockError } from '../../model/errors.js';
import { quote } from '../../model/names.js';
import type { DescribedDefinition } from '../../model/planning/definition.js';
import type { Session } from '../../store/connection/database.js';
import { shareCalendars } from '../../store/definitions/calendars/calendar-rows.js';

/** Definitions with the dates of their calendars, and the calendars that are not there. */
interface Dated<Definition> {
  readonly dated: readonly Definition[];
  readonly unknown: readonly string[];
}

/**
 * Keeps the calendars as they are until the transaction ends: called before definitions are locked, as an
 * edit of a calendar locks it first. No statement where no calendar is named.
 */
export async function withCalendars<Definition extends DescribedDefinition>(
  session: Session,
  definitions: readonly Definition[],
): Promise<Dated<Definition>> {
  const names = [...new Set(definitions.flatMap(({ columns }) => calendarsNamed(columns.exclude)))].sort();
  if (names.length === 0) return { dated: definitions, unknown: [] };
  const known = await shareCalendars(session, names);
  const dated = definitions.map(each => {
    const exclude = withDates(each.columns.exclude, name => known.get(name));
    return exclude === each.columns.exclude ? each : { ...each, columns: { ...each.columns, exclude } };
  });
  return { dated, unknown: names.filter(name => !known.has(name)) };
}

/** @param names at least one */
export function unknownCalendars(names: readonly string[]): TockError {
  const [first = ''] = names;
  return new TockError(
    'TOCK_NOT_FOUND',
    `exclude names ${names.length === 1 ? 'the calendar' : 'the calendars'} ${names.map(quote).join(', ')}, which ${names.length === 1 ? 'does' : 'do'} not exist; make it first: tock calendar add ${first} --dates 2027-01-01 (tock calendar lists those that there are)`,
  );
}
