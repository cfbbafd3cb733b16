// The days of a set, by months: bit n stands for the day n + 1.
import { bits } from '../bits.js';
import { dayOf, monthLength, monthOf, packedDate, weekdayOf, yearOf } from '../calendar.js';

/**
 * The days of a month that are in a set, as bits.
 * @param month 1-12 @param length 28-31 @param firstWeekday 0 is Sunday @param first its first day, as a day
 * number
 */
export type DaysOf = (month: number, length: number, firstWeekday: number, first: number) => number;

/** Months that are remembered: a search goes from one to the next. */
const CACHED_MONTHS = 64;

/** The same set, where asking again costs nothing. */
export function remembered(days: DaysOf): DaysOf {
  const known = new Map<number, number>();
  return (month, length, firstWeekday, first) => {
    let found = known.get(first);
    if (found !== undefined) return found;
    found = days(month, length, firstWeekday, first);
    if (known.size >= CACHED_MONTHS) known.clear();
    known.set(first, found);
    return found;
  };
}

/** Whether a day, given as a day number, is in a set. */
export function includesDay(days: DaysOf, day: number): boolean {
  const packed = packedDate(day);
  const date = dayOf(packed);
  const first = day - date + 1;
  const length = monthLength(yearOf(packed), monthOf(packed));
  return ((days(monthOf(packed), length, weekdayOf(first), first) >>> (date - 1)) & 1) === 1;
}

/** Every n-th day from `start` on, as day numbers; none before it. */
export function steppedDays(start: number, step: number): DaysOf {
  return (_month, length, _firstWeekday, first) => {
    const found: number[] = [];
    const from = first <= start ? start : start + Math.ceil((first - start) / step) * step;
    for (let day = from; day < first + length; day += step) found.push(day - first);
    return bits(found);
  };
}

/**
 * The n-th days of each month that are left, counted from its beginning, or for a negative n from its end: -1
 * is the last. A month that has too few has none.
 */
export function countedDays(places: readonly number[], isLeft: (day: number) => boolean): DaysOf {
  return (_month, length, _firstWeekday, first) => {
    const left: number[] = [];
    for (let date = 0; date < length; date++) if (isLeft(first + date)) left.push(date);
    return bits(places.flatMap(place => left.at(place > 0 ? place - 1 : place) ?? []));
  };
}
