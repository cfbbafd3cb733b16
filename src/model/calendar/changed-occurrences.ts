// Which occurrences an edit of a calendar adds and removes.
import type { CompiledSchedule } from '../schedule/compile.js';
import type { ChangedOccurrences } from './calendar.js';

/** The most occurrences that are looked at for one definition: those of each minute for two months. */
const MOST = 100_000;

/** Counts in (from, to], epoch milliseconds. A null schedule has no occurrences. */
export function changedOccurrences(
  before: CompiledSchedule | null,
  after: CompiledSchedule | null,
  { from, to }: { readonly from: number; readonly to: number },
): Omit<ChangedOccurrences, 'definition'> {
  const nextOf = (schedule: CompiledSchedule | null, at: number): number => {
    const next = schedule?.next(at) ?? Number.POSITIVE_INFINITY;
    return next > to ? Number.POSITIVE_INFINITY : next;
  };
  let [removed, added] = [0, 0];
  let [old, now] = [nextOf(before, from), nextOf(after, from)];
  for (let looked = 0; looked < MOST; looked++) {
    const at = Math.min(old, now);
    if (at === Number.POSITIVE_INFINITY) return { removed, added, isComplete: true };
    if (now > at) removed++;
    if (old > at) added++;
    if (old === at) old = nextOf(before, at);
    if (now === at) now = nextOf(after, at);
  }
  return { removed, added, isComplete: false };
}
