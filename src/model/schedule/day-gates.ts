// What exclusions leave of a schedule's days. A month's answer depends on the month, its length and the
// weekday of its first day, so it is computed once for each of these 91 kinds and not for each month or day.
import type { Bits60 } from './bits.js';
import { dayOf, monthLength, monthOf, packedDate, weekdayOf, yearOf } from './calendar.js';
import { type CronFields, dayMask } from './cron/cron-fields.js';
import type { Exclusions } from './exclusions.js';

/** The minutes of a day that are left, by hour. */
export type OpenMinutes = readonly Bits60[];

/** `open`: nothing of the day is excluded; `closed`: no time of the schedule is left; else what is left. */
export type DayGate = 'open' | 'closed' | OpenMinutes;

/** The days of a kind of month, as bits. @param length 28-31 @param firstWeekday 0 is Sunday */
export type MonthDays = (month: number, length: number, firstWeekday: number) => number;

export interface DayGates {
  /** The gate of a day, given as a day number. Days with equal minutes left have the same object. */
  readonly gateOf: (day: number) => DayGate;
  /** The days that the excluded sets do not close. An excluded date may be among them. */
  readonly openDays: MonthDays;
  /** What the sets leave of each day of a kind of month, from its first day on. */
  readonly gatesOf: (month: number, length: number, firstWeekday: number) => readonly DayGate[];
}

/** What the sets leave of a kind of month: days that are not closed, and the gates of its dates. */
interface Month {
  readonly open: number;
  readonly gates: readonly DayGate[];
}

const lengthMask = (length: number): number => -1 >>> (32 - length);

const ALWAYS_OPEN: DayGates = {
  gateOf: () => 'open',
  openDays: (_, length) => lengthMask(length),
  gatesOf: () => [],
};

/** The gates of a schedule with these hours and minutes. */
export function createDayGates(
  exclusions: Exclusions | null,
  times: Pick<CronFields, 'hours' | 'minutes'>,
): DayGates {
  if (exclusions === null) return ALWAYS_OPEN;
  const { dates, sets } = exclusions;
  if (sets.length === 0) return { ...ALWAYS_OPEN, gateOf: day => (dates.has(day) ? 'closed' : 'open') };
  const months = new Map<number, Month>();
  const bySets = new Map<string, DayGate>();

  const monthOfKind = (month: number, length: number, firstWeekday: number): Month => {
    const key = monthKey(month, length, firstWeekday);
    const known = months.get(key);
    if (known !== undefined) return known;
    const masks = sets.map(set =>
      ((set.months >>> month) & 1) === 1 ? dayMask(set, length, firstWeekday) : 0,
    );
    const made = readMonth(masks, length, active => {
      const name = active.join();
      const gate = bySets.get(name) ?? gateOf(times, sets, active);
      bySets.set(name, gate);
      return gate;
    });
    months.set(key, made);
    return made;
  };

  return {
    gateOf(day) {
      if (dates.has(day)) return 'closed';
      const packed = packedDate(day);
      const date = dayOf(packed);
      const length = monthLength(yearOf(packed), monthOf(packed));
      return monthOfKind(monthOf(packed), length, weekdayOf(day - date + 1)).gates[date - 1] ?? 'open';
    },
    openDays: (month, length, firstWeekday) => monthOfKind(month, length, firstWeekday).open,
    gatesOf: (month, length, firstWeekday) => monthOfKind(month, length, firstWeekday).gates,
  };
}

/** One number for each kind of month: only February has two lengths. */
export function monthKey(month: number, length: number, firstWeekday: number): number {
  return (month * 2 + (length === 29 ? 1 : 0)) * 7 + firstWeekday;
}

/** @param masks the days on which each set excludes times @param gateOf of a day, by its active sets */
function readMonth(
  masks: readonly number[],
  length: number,
  gateOf: (active: readonly number[]) => DayGate,
): Month {
  let open = lengthMask(length);
  const gates: DayGate[] = [];
  for (let date = 1; date <= length; date++) {
    const active: number[] = [];
    for (let index = 0; index < masks.length; index++)
      if ((((masks[index] ?? 0) >>> (date - 1)) & 1) === 1) active.push(index);
    const gate = active.length === 0 ? 'open' : gateOf(active);
    if (gate === 'closed') open &= ~(1 << (date - 1));
    gates.push(gate);
  }
  return { open, gates };
}

function gateOf(
  { hours, minutes }: Pick<CronFields, 'hours' | 'minutes'>,
  sets: readonly CronFields[],
  active: readonly number[],
): DayGate {
  let isClosed = true;
  const gate = Array.from({ length: 24 }, (_, hour): Bits60 => {
    if (((hours >>> hour) & 1) === 0) return NONE;
    let { low, high } = minutes;
    for (const index of active) {
      const set = sets[index];
      if (set === undefined || ((set.hours >>> hour) & 1) === 0) continue;
      low &= ~set.minutes.low;
      high &= ~set.minutes.high;
    }
    if (low !== 0 || high !== 0) isClosed = false;
    return { low, high };
  });
  return isClosed ? 'closed' : gate;
}

const NONE: Bits60 = { low: 0, high: 0 };
