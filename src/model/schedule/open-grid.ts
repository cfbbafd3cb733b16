// The instants of an interval that its exclusions leave. In seconds.
//
//   segment of the zone ─► this day ─► next day of the segment with a time that the interval can meet
//     ▲                                  │ none in this segment
//     └─ next day that is not closed ◄───┘   (closed in every zone: the zone need not be asked)
//
// Days are found by months. An interval meets of a day the times that equal `local time modulo g`, where g
// divides the day and the interval; so most days are like one before, until the zone's offset changes.
import { DAY_SECONDS } from './calendar.js';
import { EVERY_DAY, nextDay, previousDay } from './civil-walk.js';
import { type DayGates, type MonthDays, monthKey, type OpenMinutes } from './day-gates.js';
import { nextOnGrid, previousOnGrid } from './open-minutes.js';
import type { Zone } from './zone/zone.js';

/** phase + n × every. */
export interface Interval {
  readonly every: number;
  readonly phase: number;
}

export interface OpenGrid {
  /** The least instant in [from, last] that is not excluded, or null. */
  readonly next: (from: number, last: number) => number | null;
  /** The greatest instant in [first, to] that is not excluded, or null. */
  readonly previous: (to: number, first: number) => number | null;
}

const dayAt = (local: number): number => Math.floor(local / DAY_SECONDS);

/** @param gates of a schedule at every second */
export function createOpenGrid({ every, phase }: Interval, zone: Zone, gates: DayGates): OpenGrid {
  const atOrAfter = (second: number) => phase + Math.ceil((second - phase) / every) * every;
  const atOrBefore = (second: number) => phase + Math.floor((second - phase) / every) * every;
  const daysMet = createDaysMet(every, gates);

  return {
    next(second, last) {
      let at = atOrAfter(second);
      while (at <= last) {
        const { offset, end } = zone.segmentAt(at);
        const local = at + offset;
        const today = dayAt(local);
        const gate = gates.gateOf(today);
        if (gate === 'open') return at;
        const midnight = today * DAY_SECONDS - offset;
        const until = Math.min(midnight + DAY_SECONDS, end);
        const found = gate === 'closed' ? until : midnight + nextOnGrid(gate, at - midnight, every);
        if (found < until) return found <= last ? found : null;
        const day = nextDay(EVERY_DAY, daysMet(local), today + 1, dayAt(Math.min(end, last) + offset));
        let from = day * DAY_SECONDS - offset;
        if (from >= end) {
          // An offset is shorter than a day.
          const open = nextDay(EVERY_DAY, gates.openDays, dayAt(end) - 1, dayAt(last) + 1);
          from = Math.max(end, (open - 1) * DAY_SECONDS);
        }
        at = atOrAfter(from);
      }
      return null;
    },
    previous(second, first) {
      let at = atOrBefore(second);
      while (at >= first) {
        const { offset, start } = zone.segmentAt(at);
        const local = at + offset;
        const today = dayAt(local);
        const gate = gates.gateOf(today);
        if (gate === 'open') return at;
        const midnight = today * DAY_SECONDS - offset;
        const since = Math.max(midnight, start);
        const found = gate === 'closed' ? since - 1 : midnight + previousOnGrid(gate, at - midnight, every);
        if (found >= since) return found >= first ? found : null;
        const day = previousDay(EVERY_DAY, daysMet(local), today - 1, dayAt(Math.max(start, first) + offset));
        let to = (day + 1) * DAY_SECONDS - offset - 1;
        if (to < start) {
          const open = previousDay(EVERY_DAY, gates.openDays, dayAt(start) + 1, dayAt(first) - 1);
          to = Math.min(start, (open + 2) * DAY_SECONDS) - 1;
        }
        at = atOrBefore(to);
      }
      return null;
    },
  };
}

/** By a local time that the interval meets: the days on which it can meet one that is left. */
function createDaysMet(every: number, gates: DayGates): (local: number) => MonthDays {
  const step = greatestDivisor(every, DAY_SECONDS);
  // Each minute is met, today or another day.
  if (step <= 60) return () => gates.openDays;
  const known = new Map<number, MonthDays>();
  return local => {
    const first = ((local % step) + step) % step;
    const days = known.get(first) ?? daysWith(gates, createMeets(first, step));
    known.set(first, days);
    return days;
  };
}

/** Asks each gate once: there are far fewer gates than days. */
function createMeets(first: number, step: number): (gate: OpenMinutes) => boolean {
  const known = new Map<OpenMinutes, boolean>();
  return gate => {
    const meets = known.get(gate) ?? nextOnGrid(gate, first, step) < DAY_SECONDS;
    known.set(gate, meets);
    return meets;
  };
}

/** The open days whose gate is wide open or meets. */
function daysWith(gates: DayGates, meets: (gate: OpenMinutes) => boolean): MonthDays {
  const known = new Map<number, number>();
  return (month, length, firstWeekday) => {
    const key = monthKey(month, length, firstWeekday);
    let days = known.get(key);
    if (days !== undefined) return days;
    days = gates.openDays(month, length, firstWeekday);
    for (const [index, gate] of gates.gatesOf(month, length, firstWeekday).entries())
      if (typeof gate !== 'string' && !meets(gate)) days &= ~(1 << index);
    known.set(key, days);
    return days;
  };
}

function greatestDivisor(a: number, b: number): number {
  return b === 0 ? a : greatestDivisor(b, a % b);
}
