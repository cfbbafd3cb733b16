// Decides which occurrences become runs while earlier runs of their definition are live.
import type { OverlapPolicy } from './policies.js';

/** The most live runs of a definition under `buffer_all`; further occurrences are skipped. */
export const MAX_BUFFERED = 1000;

/** What becomes of occurrences, and of the live runs. */
export interface OverlapPlan<T> {
  readonly kept: readonly T[];
  readonly dropped: readonly T[];
  readonly isSerial: boolean;
  /** How the definition's live runs make way for the new one. */
  readonly displaces: 'cancel' | 'terminate' | null;
}

/**
 * Decides which occurrences become runs while `liveRuns` earlier ones are live.
 *
 * `skip`: none. `buffer_one`: one may wait for the live one. `buffer_all`: all wait, up to
 * {@link MAX_BUFFERED}. `cancel_other`, `terminate_other`: only the last, replacing live ones. `allow_all`:
 * all, side by side. Otherwise a definition's runs are serial: each waits for its turn.
 *
 * Source: the six overlap policies of Temporal's schedules.
 * @param isCaughtUp whether it had come due before any of the live runs was made: then it overlaps none of
 * them under `skip`
 */
export function planOverlap<T>(
  overlap: OverlapPolicy,
  liveRuns: number,
  wanted: readonly T[],
  isCaughtUp: (each: T) => boolean = () => false,
): OverlapPlan<T> {
  const first = (count: number): OverlapPlan<T> => ({
    kept: wanted.slice(0, Math.max(count, 0)),
    dropped: wanted.slice(Math.max(count, 0)),
    isSerial: true,
    displaces: null,
  });
  switch (overlap) {
    case 'skip':
      return {
        kept: wanted.filter(each => liveRuns === 0 || isCaughtUp(each)),
        dropped: wanted.filter(each => liveRuns > 0 && !isCaughtUp(each)),
        // A single run waits for none and needs no slot.
        isSerial: liveRuns > 0 || wanted.length > 1,
        displaces: null,
      };
    case 'buffer_one':
      return first(2 - liveRuns);
    case 'buffer_all':
      return first(MAX_BUFFERED - liveRuns);
    case 'allow_all':
      return { kept: wanted, dropped: [], isSerial: false, displaces: null };
    case 'cancel_other':
    case 'terminate_other':
      return {
        kept: wanted.slice(-1),
        dropped: wanted.slice(0, -1),
        isSerial: true,
        displaces:
          wanted.length === 0 || liveRuns === 0 ? null : overlap === 'cancel_other' ? 'cancel' : 'terminate',
      };
  }
}
