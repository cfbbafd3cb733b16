// Room: model. A whole local day as questions about its occurrences.
// In: a schedule and a day. Out: one explanation for each nominal time, those that the clocks skip included. Pure.

import type { Zone } from '../schedule/zone.js';
import { type Explained, explainCivil, explainInstant, isTied, type Timetable } from './instant.js';
import { placeOfCivil } from './local-clock.js';

/** The nominal local times of a day, or for `every` and `at` the occurrences in it, as questions; at most `most`. */
export function questionsOfDay(
  table: Timetable,
  day: number,
  most: number,
): { explained: Explained[]; isCut: boolean } {
  const start = day * 86_400;
  const explained: Explained[] = [];
  const schedule = table.nominal ?? table.compiled;
  const shift = table.nominal ? 0 : firstInstant(table.zone, start) - start;
  const end = table.nominal ? start + 86_400 : firstInstant(table.zone, start + 86_400) - shift;
  for (let at = schedule.next((start + shift) * 1000 - 1); at !== null; at = schedule.next(at)) {
    const second = at / 1000;
    if (second - shift >= end) break;
    if (explained.length === most) return { explained, isCut: true };
    const answer = table.nominal ? explainCivil(table, second) : explainInstant(table, second);
    // A continuous schedule loses nothing in a gap: there is nothing to tell of it.
    if (answer.verdict !== 'nonexistent' || isTied(table)) explained.push(answer);
  }
  return { explained, isCut: false };
}

/** The first instant at or after the moment at which a zone's clocks show a civil time. */
export function firstInstant(zone: Zone, civil: number): number {
  const { instants, gap } = placeOfCivil(zone, civil);
  return instants[0] ?? gap?.start ?? civil;
}
