// What exclusions leave of a schedule's day. A day's answer depends on its month, its date, its weekday and
// the length of its month, so it is computed once for each of these and not for each day.
import { dayOf, monthLength, monthOf, packedDate, weekdayOf, yearOf } from './calendar.js';
import { type CronFields, dayMask } from './cron-fields.js';
import type { Exclusions } from './exclusions.js';

/** The minutes of a day that are left: of each hour, 0-29 in `low` and 30-59 in `high`. */
export interface OpenMinutes {
  readonly low: Int32Array;
  readonly high: Int32Array;
}

/** `open`: nothing of the day is excluded; `closed`: no time of the schedule is left; else what is left. */
export type DayGate = 'open' | 'closed' | OpenMinutes;

/** The gate of a day, given as a day number. Days with equal minutes left have the same object. */
export type DayGates = (day: number) => DayGate;

const ALWAYS_OPEN: DayGates = () => 'open';

/** The gates of a schedule with these hours and minutes. */
export function createDayGates(
  exclusions: Exclusions | null,
  times: Pick<CronFields, 'hours' | 'minutes'>,
): DayGates {
  if (exclusions === null) return ALWAYS_OPEN;
  const { dates, sets } = exclusions;
  if (sets.length === 0) return day => (dates.has(day) ? 'closed' : 'open');
  const byDate = new Map<number, DayGate>();
  const bySets = new Map<string, DayGate>();
  return day => {
    if (dates.has(day)) return 'closed';
    const packed = packedDate(day);
    const length = monthLength(yearOf(packed), monthOf(packed));
    // Month and date are the low 9 bits.
    const key = ((packed & 511) * 7 + weekdayOf(day)) * 4 + length - 28;
    const known = byDate.get(key);
    if (known !== undefined) return known;
    const active = sets.flatMap((set, index) => (matchesDay(set, day, packed, length) ? [index] : []));
    const name = active.join();
    const gate =
      bySets.get(name) ??
      gateOf(
        times,
        active.flatMap(index => sets[index] ?? []),
      );
    bySets.set(name, gate);
    byDate.set(key, gate);
    return gate;
  };
}

/** Whether the minute of `time`, in seconds of the day, is left. */
export function isOpenAt({ low, high }: OpenMinutes, time: number): boolean {
  const hour = Math.floor(time / 3600);
  const minute = Math.floor(time / 60) % 60;
  return minute < 30
    ? (((low[hour] ?? 0) >>> minute) & 1) === 1
    : (((high[hour] ?? 0) >>> (minute - 30)) & 1) === 1;
}

function matchesDay(set: CronFields, day: number, packed: number, length: number): boolean {
  const date = dayOf(packed);
  if (((set.months >>> monthOf(packed)) & 1) === 0) return false;
  return ((dayMask(set, length, weekdayOf(day - date + 1)) >>> (date - 1)) & 1) === 1;
}

function gateOf(
  { hours, minutes }: Pick<CronFields, 'hours' | 'minutes'>,
  sets: readonly CronFields[],
): DayGate {
  if (sets.length === 0) return 'open';
  const gate: OpenMinutes = { low: new Int32Array(24), high: new Int32Array(24) };
  let isClosed = true;
  for (let hour = 0; hour < 24; hour++) {
    if (((hours >>> hour) & 1) === 0) continue;
    let { low, high } = minutes;
    for (const set of sets) {
      if (((set.hours >>> hour) & 1) === 0) continue;
      low &= ~set.minutes.low;
      high &= ~set.minutes.high;
    }
    gate.low[hour] = low;
    gate.high[hour] = high;
    if (low !== 0 || high !== 0) isClosed = false;
  }
  return isClosed ? 'closed' : gate;
}
