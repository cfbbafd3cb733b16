// The occurrences in a time span, and clock changes between them.

import { formatDuration } from '../../model/duration.js';
import type { CompiledSchedule } from '../../model/schedule/compile.js';
import { offsetMinutes, zoneAbbreviation } from './time-text.js';

/** Half-open: [from, to); without `to`, no end. */
export interface Window {
  readonly from: Date;
  readonly to: Date | null;
  readonly limit: number;
  /** Whether the user chose `limit`: then stopping there is expected. */
  readonly isLimitChosen: boolean;
}

/** Lists the occurrences; `isCut` says that the limit hides some that were asked for. */
export function listOccurrences(
  schedule: CompiledSchedule,
  window: Window,
): { found: Date[]; isCut: boolean } {
  const end = window.to?.getTime() ?? Number.POSITIVE_INFINITY;
  const found: Date[] = [];
  for (let at = schedule.next(window.from.getTime() - 1); at !== null && at < end; at = schedule.next(at)) {
    if (found.length === window.limit) return { found, isCut: !window.isLimitChosen };
    found.push(new Date(at));
  }
  return { found, isCut: false };
}

/** Empty if the clocks did not change between two occurrences. */
export function clockChange(previous: Date, at: Date, timezone: string): string {
  const minutes = offsetMinutes(at, timezone) - offsetMinutes(previous, timezone);
  if (minutes === 0) return '';
  const names = `${zoneAbbreviation(previous, timezone)} → ${zoneAbbreviation(at, timezone)}`;
  return `went ${minutes > 0 ? 'forward' : 'back'} ${formatDuration(Math.abs(minutes) * 60_000)} (${names})`;
}
