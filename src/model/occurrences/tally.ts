// How many occurrences are in which state, and the one of them that matters most.
import {
  OCCURRENCE_STATES,
  type Occurrence,
  type OccurrenceState,
  STATE_WORDS,
  TROUBLE,
} from './occurrence.js';

export interface Tally {
  readonly total: number;
  /** The states that occur, in the order of a legend. */
  readonly counts: readonly { readonly state: OccurrenceState; readonly count: number }[];
  /** The worst state if there is trouble, else the most frequent; null where nothing occurs. */
  readonly leading: OccurrenceState | null;
}

export function tallyOf(occurrences: readonly Pick<Occurrence, 'state'>[]): Tally {
  const counted = new Map<OccurrenceState, number>();
  for (const { state } of occurrences) counted.set(state, (counted.get(state) ?? 0) + 1);
  const counts = OCCURRENCE_STATES.flatMap(state => {
    const count = counted.get(state);
    return count === undefined ? [] : [{ state, count }];
  });
  const worst = TROUBLE.find(state => counted.has(state));
  const [most] = [...counts].sort((a, b) => b.count - a.count);
  return { total: occurrences.length, counts, leading: worst ?? most?.state ?? null };
}

/** `58 ran, 2 skipped`; empty where nothing occurs. */
export function tallyText({ counts }: Tally): string {
  return counts.map(({ state, count }) => `${count} ${STATE_WORDS[state]}`).join(', ');
}
