// Entries of `exclude` that name a calendar. A stored definition holds the calendar's dates in them, so that
// its row alone says when it occurs; an edit of the calendar is an edit of the definitions that name it.

/** An entry of `exclude`: all dates of a calendar, such as public holidays. */
export interface CalendarEntry {
  /** As `tock calendar add` names it. */
  readonly calendar: string;
  /**
   * The calendar's dates, `'YYYY-MM-DD'`. Of a definition Tock reads them from the calendar, and overwrites
   * what is given; `occurrencesBetween` and its like need them.
   */
  readonly dates?: readonly string[];
}

export const isCalendarEntry = (entry: unknown): entry is CalendarEntry =>
  typeof entry === 'object' && entry !== null && 'calendar' in entry;

/** The calendars that `exclude` names, each once. */
export function calendarsNamed(exclude: unknown): string[] {
  if (!Array.isArray(exclude)) return [];
  return [...new Set(exclude.filter(isCalendarEntry).map(entry => entry.calendar))];
}

/** Those of them whose dates are not known. */
export function calendarsLacking(exclude: unknown): string[] {
  if (!Array.isArray(exclude)) return [];
  return calendarsNamed(exclude.filter(entry => isCalendarEntry(entry) && entry.dates === undefined));
}

/**
 * The same entries, those that name calendars with their dates. What is no list is given back as it is.
 * @param datesOf undefined: the calendar is not known, and its entry gets no dates
 */
export function withDates<Exclude>(
  exclude: Exclude,
  datesOf: (calendar: string) => readonly string[] | undefined,
): Exclude {
  if (!Array.isArray(exclude) || !exclude.some(isCalendarEntry)) return exclude;
  return exclude.map((entry: unknown) => {
    if (!isCalendarEntry(entry)) return entry;
    const { dates: _dates, ...rest } = entry;
    const dates = datesOf(entry.calendar);
    return dates === undefined ? rest : { ...rest, dates };
  }) as Exclude;
}

/** What is stated: the names alone. */
export const withoutDates = <Exclude>(exclude: Exclude): Exclude => withDates(exclude, () => undefined);

/** A schedule in code with the dates of the calendars that there are. */
export function withCalendarDates<Spec extends { readonly exclude?: unknown }>(
  spec: Spec,
  calendars: readonly { readonly name: string; readonly dates: readonly string[] }[],
): Spec {
  const dates = new Map(calendars.map(each => [each.name, each.dates]));
  return spec.exclude === undefined
    ? spec
    : { ...spec, exclude: withDates(spec.exclude, name => dates.get(name)) };
}
