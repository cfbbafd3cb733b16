// Why a run was not executed, in words.
import { SKIP_REASONS, type SkipReason } from '../../model/run/states.js';

/** In the words of the documentation; a reason written by hand as it is. */
export function skipWords(reason: string | null): string {
  const words: Readonly<Record<string, string>> = SKIP_REASONS;
  return reason === null ? 'the reason is not on record' : (words[reason] ?? reason);
}

/** The same in few words, for a list. */
const SHORT: Readonly<Record<SkipReason, string>> = {
  overlap: 'an earlier run was still live',
  catchup: 'missed, and left out by its catch-up',
  deadline: 'too late to start',
  window: 'outside its window',
  chain: 'what it runs after did not end as it asks',
  paused: 'its definition was paused',
  edited: 'its definition was edited or removed',
  excepted: 'an operator has skipped it',
};

export function shortSkipWords(reason: string | null): string {
  const words: Readonly<Record<string, string>> = SHORT;
  return reason === null ? '' : (words[reason] ?? reason);
}
