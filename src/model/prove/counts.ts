// Whether a row that stands for several occurrences counts as many as the schedule has.
import { MAX_COUNTED } from '../planning/plan-occurrences.js';
import type { CompiledSchedule } from '../schedule/compile.js';
import type { WideRow } from './match.js';
import { countedBy, type Segment } from './versions.js';

/**
 * What is wrong about the count of a row; null: nothing. Counts stop at 100,000, and those of a pause at what
 * `remaining` had left.
 */
export function wrongCount(
  row: WideRow,
  { version, from, left }: Segment,
  schedule: CompiledSchedule,
): string | null {
  const { at, first, count, reason } = row;
  if (first === null) {
    // More would only be walked for nothing: the count says "at least".
    if (count >= MAX_COUNTED) return null;
    let earliest: number | null = at * 1000;
    for (let left = count - 1; left > 0 && earliest !== null && earliest > from; left--)
      earliest = schedule.previous(earliest);
    return earliest !== null && earliest > from
      ? null
      : `it stands for ${count} occurrences, and the schedule had fewer up to it`;
  }
  const isCounted = countedBy(version, reason);
  let found = 0;
  for (let each: number | null = first * 1000; each !== null && each <= at * 1000; each = schedule.next(each))
    if (isCounted(each)) found++;
  if (count === found || (count >= MAX_COUNTED && found >= count)) return null;
  if ((reason === 'paused' || reason === 'edited') && count === left && found > count) return null;
  return `it stands for ${count} ${count === 1 ? 'occurrence' : 'occurrences'}, of which the schedule had ${found}`;
}
