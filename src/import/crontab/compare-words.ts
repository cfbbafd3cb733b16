// A comparison in words: "the same 90 instants", or where they differ and why.
import { utcText } from '../../model/schedule/instant-text.js';
import type { Comparison, DifferenceReason, InstantDifference } from './compare.js';

/** How the differences to one system are explained. */
export interface ComparedWords extends Readonly<Record<DifferenceReason, string>> {
  /** What the system is called. */
  readonly system: string;
  /** Why something is not compared. */
  readonly uncompared: string;
}

const CRON: ComparedWords = {
  system: 'cron',
  uncompared: 'cronie chooses a time at random',
  gap: 'the clock goes forward: cron starts what was skipped right after the change; Tock as long after the change as it would have been',
  overlap: 'the clock goes back: cron starts fixed times in the first pass only',
  unknown: 'no change of the clock explains it',
};
const SHOWN = 6;

/** One line, and one more for each change of the clock at which they differ. */
export function compareWords({ same, differences }: Comparison, words: ComparedWords = CRON): string[] {
  if (same === null) return [`not compared: ${words.uncompared}`];
  const [first] = differences;
  if (first === undefined) return [same === 0 ? 'no instant in either' : `the same ${instants(same)}`];
  const byReason = new Map<DifferenceReason, InstantDifference[]>();
  for (const difference of differences) {
    const list = byReason.get(difference.reason);
    if (list === undefined) byReason.set(difference.reason, [difference]);
    else list.push(difference);
  }
  const lines = [...byReason].map(([reason, list]) => {
    const shown = list
      .slice(0, SHOWN)
      .map(({ at, by }) => `${by === 'tock' ? by : words.system} ${utcText(at)}`);
    const more = list.length > SHOWN ? ` and ${list.length - SHOWN} more` : '';
    return `  only ${shown.join(', ')}${more}: ${words[reason]}`;
  });
  return [`${instants(same)} the same, ${differences.length} not`, ...lines];
}

const instants = (count: number): string => `${count.toLocaleString('en')} instant${count === 1 ? '' : 's'}`;
