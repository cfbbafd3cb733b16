// Explains the occurrences of a whole local day, including nominal times that the clocks skip.

import type { Zone } from '../schedule/zone/zone.js';
import { type Explained, explainCivil, explainInstant, followsLocalTime, type Timetable } from './instant.js';
import { placeOfCivil } from './local-clock.js';

/** Explains a day's nominal local times, or its occurrences of `every` and `at`; at most `limit`. */
export function explainDay(
  table: Timetable,
  day: number,
  limit: number,
): { explained: Explained[]; isCut: boolean } {
  const start = day * 86_400;
  const explained: Explained[] = [];
  const schedule = table.nominal ?? table.compiled;
  const shift = table.nominal ? 0 : firstInstant(table.zone, start) - start;
  const end = table.nominal ? start + 86_400 : firstInstant(table.zone, start + 86_400) - shift;
  for (let at = schedule.next((start + shift) * 1000 - 1); at !== null; at = schedule.next(at)) {
    const second = at / 1000;
    if (second - shift >= end) break;
    if (explained.length === limit) return { explained, isCut: true };
    const answer = table.nominal ? explainCivil(table, second) : explainInstant(table, second);
    // A continuous schedule loses nothing in a gap, so there is nothing to explain.
    if (answer.verdict !== 'nonexistent' || followsLocalTime(table)) explained.push(answer);
  }
  return { explained, isCut: false };
}

/** The first instant at or after which a zone's clocks show a civil time. */
export function firstInstant(zone: Zone, civil: number): number {
  const { instants, gap } = placeOfCivil(zone, civil);
  return instants[0] ?? gap?.start ?? civil;
}
