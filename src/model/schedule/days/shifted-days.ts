// Days that move to the next, or the previous, day that is left. Only days move: the time of day stays, and
// the zone maps it to an instant afterwards, so that gaps and overlaps are those of the day it has moved to.
//
//   named      Thu  Fri  ·    ·    ·          the days of the schedule
//   left       Thu   ·   ·    ·   Mon         without exclusions
//   next       Thu            └──►Mon
//
// Which days there are depends on the named and the left days alone: nothing is remembered.
import { type DaysOf, includesDay, remembered } from './month-days.js';

/** Where an excluded day's occurrences go. */
export type Shift = 'next' | 'previous';

export const SHIFTS: readonly Shift[] = ['next', 'previous'];

/** A day that has no day left within this many days has no occurrence. */
export const MAX_SHIFT_DAYS = 31;

export interface DayShift {
  /** The days on which something happens: those that are left, and on which others fall. */
  readonly days: DaysOf;
  /**
   * The day to which a named day moves, or itself if it is left; null: none within {@link MAX_SHIFT_DAYS}.
   */
  readonly targetOf: (day: number) => number | null;
  /** The days that have moved to a day, ascending; without the day itself. */
  readonly sourcesOf: (day: number) => number[];
}

/** @param named the days of the schedule, before exclusions. @param isLeft whether a day is not excluded */
export function shiftDays(shift: Shift, named: DaysOf, isLeft: (day: number) => boolean): DayShift {
  const ahead = shift === 'next' ? 1 : -1;
  return {
    days: remembered((_month, length, _firstWeekday, first) => {
      const last = first + length - 1;
      // Against the direction of the shift, so that the target of a day is the day that was left last.
      const [from, to] = ahead === 1 ? [last, first - MAX_SHIFT_DAYS] : [first, last + MAX_SHIFT_DAYS];
      let mask = 0;
      let left: number | null = null;
      for (let day = from; day !== to - ahead; day -= ahead) {
        if (isLeft(day)) left = day;
        const isNear =
          left !== null && left >= first && left <= last && (left - day) * ahead <= MAX_SHIFT_DAYS;
        if (isNear && left !== null && includesDay(named, day)) mask |= 1 << (left - first);
      }
      return mask;
    }),
    targetOf(day) {
      for (let distance = 0; distance <= MAX_SHIFT_DAYS; distance++)
        if (isLeft(day + distance * ahead)) return day + distance * ahead;
      return null;
    },
    sourcesOf(day) {
      const found: number[] = [];
      for (let distance = 1; distance <= MAX_SHIFT_DAYS && !isLeft(day - distance * ahead); distance++)
        if (includesDay(named, day - distance * ahead)) found.push(day - distance * ahead);
      return found.sort((a, b) => a - b);
    },
  };
}
