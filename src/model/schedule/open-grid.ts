// The instants of an interval that its exclusions leave, found by days: a day without any is passed over in
// one step. In seconds.
import { DAY_SECONDS } from './calendar.js';
import { type DayGates, isOpenAt, type OpenMinutes } from './day-gates.js';
import type { Zone } from './zone.js';

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

/** The first and the last time of a day, in seconds, that is left; both -1 if there is none. */
interface Ends {
  readonly first: number;
  readonly last: number;
}

/** @param gates of a schedule at every second */
export function createOpenGrid({ every, phase }: Interval, zone: Zone, gates: DayGates): OpenGrid {
  const atOrAfter = (second: number) => phase + Math.ceil((second - phase) / every) * every;
  const atOrBefore = (second: number) => phase + Math.floor((second - phase) / every) * every;
  const known = new Map<OpenMinutes, Map<number, Ends>>();

  /** By what is left of the day, and by where the interval meets it: most days are like one before. */
  const endsOf = (gate: OpenMinutes, time: number): Ends => {
    const meeting = time % every;
    const ofGate = known.get(gate) ?? new Map<number, Ends>();
    known.set(gate, ofGate);
    const ends = ofGate.get(meeting) ?? findEnds(gate, meeting, every);
    ofGate.set(meeting, ends);
    return ends;
  };

  return {
    next(from, last) {
      let at = atOrAfter(from);
      while (at <= last) {
        const { offset, end } = zone.segmentAt(at);
        const day = Math.floor((at + offset) / DAY_SECONDS);
        const gate = gates(day);
        if (gate === 'open') return at;
        const until = Math.min((day + 1) * DAY_SECONDS - offset, end);
        if (gate !== 'closed') {
          let time = at + offset - day * DAY_SECONDS;
          const ends = endsOf(gate, time);
          while (time <= ends.last && !isOpenAt(gate, time)) time += every;
          const found = day * DAY_SECONDS + time - offset;
          if (time <= ends.last && found < until) return found <= last ? found : null;
        }
        at = atOrAfter(until);
      }
      return null;
    },
    previous(to, first) {
      let at = atOrBefore(to);
      while (at >= first) {
        const { offset, start } = zone.segmentAt(at);
        const day = Math.floor((at + offset) / DAY_SECONDS);
        const gate = gates(day);
        if (gate === 'open') return at;
        const since = Math.max(day * DAY_SECONDS - offset, start);
        if (gate !== 'closed') {
          let time = at + offset - day * DAY_SECONDS;
          const ends = endsOf(gate, time);
          while (ends.first >= 0 && time >= ends.first && !isOpenAt(gate, time)) time -= every;
          const found = day * DAY_SECONDS + time - offset;
          if (ends.first >= 0 && time >= ends.first && found >= since) return found >= first ? found : null;
        }
        at = atOrBefore(since - 1);
      }
      return null;
    },
  };
}

function findEnds(gate: OpenMinutes, meeting: number, every: number): Ends {
  let first = meeting;
  while (first < DAY_SECONDS && !isOpenAt(gate, first)) first += every;
  if (first >= DAY_SECONDS) return { first: -1, last: -1 };
  let last = meeting + Math.floor((DAY_SECONDS - 1 - meeting) / every) * every;
  while (!isOpenAt(gate, last)) last -= every;
  return { first, last };
}
