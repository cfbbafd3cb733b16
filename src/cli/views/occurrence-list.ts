// Shell: cli. The occurrences in a window, and what the clocks did between two of them.
// In: a compiled schedule. Out: Dates; words.

import { formatDuration } from '../../model/duration.js';
import type { CompiledSchedule } from '../../model/schedule/compile.js';
import { offsetMinutes, zoneAbbreviation } from './time-text.js';

/** Half-open: [from, to); without `to`, no end. */
export interface Window {
  readonly from: Date;
  readonly to: Date | null;
  readonly most: number;
  /** Whether somebody asked for `most`, so that stopping there is no loss. */
  readonly isBoundChosen: boolean;
}

/** Lists the occurrences; `isCut` says that there are more than were wanted to be left out. */
export function listOccurrences(
  schedule: CompiledSchedule,
  window: Window,
): { found: Date[]; isCut: boolean } {
  const end = window.to?.getTime() ?? Number.POSITIVE_INFINITY;
  const found: Date[] = [];
  for (let at = schedule.next(window.from.getTime() - 1); at !== null && at < end; at = schedule.next(at)) {
    if (found.length === window.most) return { found, isCut: !window.isBoundChosen };
    found.push(new Date(at));
  }
  return { found, isCut: false };
}

/** What the zone's clocks did between two occurrences; empty when they went on as ever. */
export function clockChange(previous: Date, at: Date, timezone: string): string {
  const minutes = offsetMinutes(at, timezone) - offsetMinutes(previous, timezone);
  if (minutes === 0) return '';
  const names = `${zoneAbbreviation(previous, timezone)} → ${zoneAbbreviation(at, timezone)}`;
  return `went ${minutes > 0 ? 'forward' : 'back'} ${formatDuration(Math.abs(minutes) * 60_000)} (${names})`;
}
