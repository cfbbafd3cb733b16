// In which state a schedule is, in one or two words: what its pill says.
import { stopOf } from '../../model/explain/without-row.js';
import type { Occurrence, OccurrenceState } from '../../model/occurrences/occurrence.js';
import type { WhyDefinition } from '../../store/reads/why/why.js';

export interface Condition {
  /** A class of the pill. */
  readonly look: 'ok' | 'dead' | 'retry' | 'skip' | 'run' | 'wait';
  readonly word: string;
}

type Conditioned = Omit<WhyDefinition, 'seen_at'>;

/** @param occurrences the last ones, oldest first, up to now */
export function conditionOf(
  definition: Conditioned,
  occurrences: readonly Occurrence[],
  hasNext: boolean,
): Condition {
  switch (stopOf(definition)) {
    case 'broken':
      return { look: 'dead', word: 'broken' };
    case 'vanished':
      return { look: 'wait', word: 'removed' };
    case 'paused':
      return { look: 'skip', word: 'paused' };
    case 'used-up':
      return { look: 'wait', word: 'used up' };
    default:
  }
  const late = occurrences.filter(({ state }) => state === 'late').length;
  if (late > 0) return { look: 'dead', word: late === 1 ? 'late, no tick' : `${late} late, no tick` };
  const dead = deadInARow(occurrences);
  if (dead > 0) return { look: 'dead', word: dead === 1 ? 'last one dead' : `${dead} dead in a row` };
  const lost = occurrences.filter(({ state }) => state === 'lost').length;
  if (lost > 0) return { look: 'retry', word: `${lost} missed` };
  const last = occurrences.at(-1);
  if (last?.state === 'failed') return { look: 'retry', word: 'retrying' };
  if (last?.state === 'running') return { look: 'run', word: 'running' };
  if (!hasSchedule(definition)) return { look: 'wait', word: 'by hand' };
  if (!hasNext && !definition.after) return { look: 'wait', word: 'over' };
  if (last === undefined) return { look: 'wait', word: 'not run yet' };
  return { look: 'ok', word: 'on time' };
}

export function hasSchedule({ cron, every_ms: every, at, after }: Conditioned): boolean {
  return cron !== null || every !== null || at !== null || after !== null;
}

const ENDED: readonly OccurrenceState[] = ['succeeded', 'retried', 'dead'];

/** How many of the last executions died without a success in between. */
function deadInARow(occurrences: readonly Occurrence[]): number {
  const ended = occurrences.filter(({ state }) => ENDED.includes(state));
  const success = ended.findLastIndex(({ state }) => state !== 'dead');
  return ended.length - 1 - success;
}
