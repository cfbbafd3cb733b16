// The times of a day that exclusions leave, in seconds of the day: found by bits, not minute by minute.
import { type Bits60, bitFrom60, bitTo60, has60 } from './bits.js';
import { DAY_SECONDS } from './calendar.js';
import type { OpenMinutes } from './day-gates.js';

/** Whether the minute of a time is left. */
export function isOpenAt(open: OpenMinutes, time: number): boolean {
  return has60(hourOf(open, Math.floor(time / 3600)), Math.floor(time / 60) % 60);
}

/** The least time >= `time` of the grid that steps from it by `every` which is left, or Infinity. */
export function nextOnGrid(open: OpenMinutes, time: number, every: number): number {
  let at = time;
  while (at < DAY_SECONDS) {
    const left = nextOpen(open, at);
    if (left === at) return at;
    at += Math.ceil((left - at) / every) * every;
  }
  return Number.POSITIVE_INFINITY;
}

/** The greatest time <= `time` of the grid that steps back from it by `every` which is left, or -Infinity. */
export function previousOnGrid(open: OpenMinutes, time: number, every: number): number {
  let at = time;
  while (at >= 0) {
    const left = previousOpen(open, at);
    if (left === at) return at;
    at -= Math.ceil((at - left) / every) * every;
  }
  return Number.NEGATIVE_INFINITY;
}

/** The least second >= `time` whose minute is left, or Infinity. */
function nextOpen(open: OpenMinutes, time: number): number {
  const hour = Math.floor(time / 3600);
  const minute = Math.floor(time / 60) % 60;
  const found = bitFrom60(hourOf(open, hour), minute);
  if (found >= 0) return found === minute ? time : hour * 3600 + found * 60;
  for (let later = hour + 1; later < 24; later++) {
    const first = bitFrom60(hourOf(open, later), 0);
    if (first >= 0) return later * 3600 + first * 60;
  }
  return Number.POSITIVE_INFINITY;
}

/** The greatest second <= `time` whose minute is left, or -Infinity. */
function previousOpen(open: OpenMinutes, time: number): number {
  const hour = Math.floor(time / 3600);
  const minute = Math.floor(time / 60) % 60;
  const found = bitTo60(hourOf(open, hour), minute);
  if (found >= 0) return found === minute ? time : hour * 3600 + found * 60 + 59;
  for (let earlier = hour - 1; earlier >= 0; earlier--) {
    const last = bitTo60(hourOf(open, earlier), 59);
    if (last >= 0) return earlier * 3600 + last * 60 + 59;
  }
  return Number.NEGATIVE_INFINITY;
}

const NONE: Bits60 = { low: 0, high: 0 };
const hourOf = (open: OpenMinutes, hour: number): Bits60 => open[hour] ?? NONE;
