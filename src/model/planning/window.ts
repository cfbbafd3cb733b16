// Windows: the hours of the day in which runs may start, such as 23:00-06:00.
import { quote } from '../names.js';
import { badSchedule } from '../schedule/bad-schedule.js';
import { type CompiledSchedule, compileSchedule } from '../schedule/compile.js';
import { findZone } from '../schedule/zone/zone.js';

export const OUTSIDE_WINDOW = ['defer', 'skip'] as const;
/** A run that would start outside its window waits for the next opening, or is skipped. */
export type OutsideWindow = (typeof OUTSIDE_WINDOW)[number];

/** A window in a zone. Instants in epoch milliseconds. */
export interface Window {
  readonly isOpen: (at: number) => boolean;
  /** `at` itself while the window is open, else its next opening. */
  readonly opening: (at: number) => number;
}

/** The window of a definition; null: it has none. */
export function windowOf({
  active_window: hours,
  timezone,
}: {
  readonly active_window: string | null;
  readonly timezone: string;
}): Window | null {
  return hours === null ? null : windowIn(hours, timezone);
}

const WINDOW = /^\s*([01]\d|2[0-3]):([0-5]\d)\s*-\s*([01]\d|2[0-3]|24):([0-5]\d)\s*$/;
const DAY = 86_400;

/**
 * Checks a window `HH:MM-HH:MM` and returns it without spaces. The first time is inclusive, the last
 * exclusive; it may wrap midnight. `00:00-24:00` and empty windows are refused.
 * @throws TockError TOCK_BAD_SCHEDULE
 */
export function checkWindow(text: unknown): string {
  const found = typeof text === 'string' ? WINDOW.exec(text) : null;
  if (!found) throw badSchedule(`window ${quote(text)} is not two times of day; write it as 23:00-06:00`);
  const [, h1 = '', m1 = '', h2 = '', m2 = ''] = found;
  if (h2 === '24' && m2 !== '00') throw badSchedule(`window ${quote(text)} ends after 24:00`);
  const [from, to] = [seconds(h1, m1), seconds(h2, m2)];
  if (from === to % DAY)
    throw badSchedule(
      `window ${quote(text)} is ${from === to ? 'empty' : 'the whole day'}; leave it out, or write two different times`,
    );
  return `${h1}:${m1}-${h2}:${m2}`;
}

/** A window by the clocks of its zone, which change with summer time. */
export function windowIn(text: string, timezone: string): Window {
  const [from = '', to = ''] = checkWindow(text).split('-');
  const [first, last] = [timeOfDay(from), timeOfDay(to)];
  const zone = findZone(timezone);
  const changeAfter = (at: number) => zone.segmentAt(Math.floor(at / 1000)).end * 1000;
  let openings: CompiledSchedule | null = null;
  const isOpen = (at: number) => {
    const second = Math.floor(at / 1000);
    const time = mod(second + zone.segmentAt(second).offset, DAY);
    return first < last ? time >= first && time < last : time >= first || time < last;
  };
  return {
    isOpen,
    opening(at) {
      if (isOpen(at)) return at;
      const cron = `${from.slice(3)} ${from.slice(0, 2)} * * *`;
      openings ??= compileSchedule({ cron, timezone, dst: 'literal' });
      const opens = openings.next(at) ?? at;
      // A change of the clocks may lead into the window.
      let change = changeAfter(at);
      while (change < opens && !isOpen(change)) change = changeAfter(change);
      return Math.min(change, opens);
    },
  };
}

/**
 * When what comes at `at` starts: after its jitter where the window is open then, else as soon as the window
 * is open. So jitter never defers a run that could have started. Null: there is no window.
 */
export function startIn(window: Window | null, at: number, jitter = 0): number {
  return window === null || window.isOpen(at + jitter) ? at + jitter : window.opening(at);
}

function timeOfDay(text: string): number {
  return seconds(text.slice(0, 2), text.slice(3));
}

function seconds(hours: string, minutes: string): number {
  return Number(hours) * 3600 + Number(minutes) * 60;
}

function mod(a: number, b: number): number {
  return ((a % b) + b) % b;
}
