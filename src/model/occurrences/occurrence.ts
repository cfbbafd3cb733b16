// An occurrence as a calendar shows it: what the schedule expects, and what became of it.
import type { Exception } from '../planning/exceptions.js';
import type { RunStatus, SkipReason } from '../run/states.js';
import { SKIP_REASONS } from '../run/states.js';

/**
 * The states of a run, of which `retried` is a success after more than one attempt; or, without a row:
 *
 * - `upcoming`, `due`: a tick will make the run
 * - `late`: due, and no tick has come for two minutes
 * - `held`: the definition makes no runs, since it is paused, broken, vanished or used up
 * - `lost`: it was considered, and nothing is on record
 * - `edited`: the same, but the schedule was another one then
 * - `pruned`: its run was deleted since
 * - `moved`, `excepted`: an operator has moved it to a time that is to come, or it is to be skipped
 */
export type OccurrenceState =
  | RunStatus
  | 'retried'
  | 'due'
  | 'late'
  | 'held'
  | 'lost'
  | 'edited'
  | 'pruned'
  | 'moved'
  | 'excepted'
  | 'upcoming';

export interface Occurrence {
  /** Nominal time, epoch milliseconds. */
  readonly at: number;
  readonly state: OccurrenceState;
  /** Why it was skipped, or why no run will be made; null where the state says it all. */
  readonly reason: string | null;
  /** Its run, or the skipped row that stands for it. Null without one, and in groups of many. */
  readonly runId: string | null;
  /** False: the schedule as it is now does not have it. */
  readonly isExpected: boolean;
  /** An operator has skipped or moved it: which, to when, who and why. Undefined: it is as scheduled. */
  readonly exception?: Exception;
  /** How many occurrences its run stands for. */
  readonly standsFor: number;
  readonly attempts: number;
  readonly startedAt: number | null;
  readonly finishedAt: number | null;
}

/** In the order in which a legend lists them. */
export const OCCURRENCE_STATES = [
  'succeeded',
  'retried',
  'running',
  'queued',
  'failed',
  'dead',
  'cancelled',
  'skipped',
  'late',
  'lost',
  'held',
  'due',
  'edited',
  'pruned',
  'moved',
  'excepted',
  'upcoming',
] as const satisfies readonly OccurrenceState[];

/** In the words of a legend. */
export const STATE_WORDS: Readonly<Record<OccurrenceState, string>> = {
  succeeded: 'ran',
  retried: 'ran after retries',
  running: 'running',
  queued: 'waiting',
  failed: 'failed, will try again',
  dead: 'dead',
  cancelled: 'cancelled',
  skipped: 'skipped',
  late: 'missed, no tick yet',
  lost: 'missed, nothing on record',
  held: 'no run will be made',
  due: 'due now',
  edited: 'before the last edit',
  pruned: 'ran, record deleted',
  moved: 'moved, to come',
  excepted: 'to be skipped',
  upcoming: 'to come',
};

/** States that need attention, the worst first. */
export const TROUBLE: readonly OccurrenceState[] = ['dead', 'lost', 'late', 'failed'];

/** Short words for why an occurrence was skipped; the reason itself if it is not one of ours. */
function skipPhrase(reason: string | null): string {
  if (reason === null) return 'the reason is not on record';
  return Object.hasOwn(SKIP_REASONS, reason) ? PHRASES[reason as SkipReason] : reason;
}

const PHRASES: Readonly<Record<SkipReason, string>> = {
  overlap: 'an earlier run was still live',
  catchup: 'missed, and left out by the catch-up policy',
  deadline: 'it could not start in time',
  window: 'outside its window',
  chain: 'what it runs after did not end as asked',
  paused: 'the schedule was paused',
  edited: 'the schedule was edited or removed',
  excepted: 'an operator has skipped it',
};

/** The state of an occurrence that has a run. */
export function stateOfRun(status: RunStatus, attempts: number, generation: number): OccurrenceState {
  return status === 'succeeded' && (attempts > 1 || generation > 1) ? 'retried' : status;
}

/** `ran`, `skipped: an earlier run was still live`, `missed, no tick yet`. */
export function stateText({ state, reason }: Pick<Occurrence, 'state' | 'reason'>): string {
  if (state === 'skipped') return `skipped: ${skipPhrase(reason)}`;
  return reason === null ? STATE_WORDS[state] : `${STATE_WORDS[state]}: ${reason}`;
}
