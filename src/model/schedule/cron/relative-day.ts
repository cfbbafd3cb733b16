// Days of a month that depend on the month: `L`, `L-3`, `15W`, `LW`, `L-3W`; and on what a schedule leaves
// out: `3B`, `LB`.

const RELATIVE = /^(?:L(?:-(\d+))?|(\d+))(W)?$/;

/** Whether an entry of the day of month, as `checkEntry` returns it, depends on the month. */
export const isRelativeDay = (entry: string): boolean =>
  !isBusinessDay(entry) && (entry.startsWith('L') || entry.endsWith('W'));

/** Whether an entry of the day of month counts business days. */
export const isBusinessDay = (entry: string): boolean => entry.endsWith('B');

/** The place of a business day in its month: 3 for `3B`, -1 for `LB`, the last, and -3 for `L-2B`. */
export function businessDayPlace(entry: string): number {
  const [, back, place] = /^(?:L(?:-(\d+))?|(\d+))B$/.exec(entry) ?? [];
  return place === undefined ? -1 - Number(back ?? 0) : Number(place);
}

/**
 * The day that an entry means in a month, 1-31; 0 if the month lacks it: `31W` in April. `W` is the nearest
 * of Monday to Friday within the month: of a Saturday the Friday before, of a Sunday the Monday after, and at
 * the month's ends the other side.
 * @param length 28-31 @param firstWeekday 0 is Sunday
 */
export function relativeDay(entry: string, length: number, firstWeekday: number): number {
  const [, back = '0', date, nearest] = RELATIVE.exec(entry) ?? [];
  const day = date === undefined ? length - Number(back) : Number(date);
  if (day < 1 || day > length) return 0;
  const weekday = (firstWeekday + day - 1) % 7;
  if (nearest === undefined || (weekday !== 0 && weekday !== 6)) return day;
  if (weekday === 6) return day === 1 ? 3 : day - 1;
  return day === length ? day - 2 : day + 1;
}
