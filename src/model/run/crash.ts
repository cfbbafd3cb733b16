// Room: model. What an error that nothing caught means for the runs of the process that it ends.
// In: the error, and a run that was executed. Out: how its attempt ends. Pure.
import type { Ending } from './decide.js';
import { describeError } from './sanitize.js';

/** A run whose handler was at work when the error came. */
export interface CrashedRun {
  /** In a child process, from which such an error does not come. */
  readonly isIsolated: boolean;
  /** It was at work in an earlier crash too. If it is not isolated all the same, no child could be had for it. */
  readonly isSuspect: boolean;
}

/**
 * How its attempt ends. Nobody can say whose error it was: what one handler has left behind may throw while others are at
 * work. A run that was alone is taken for the culprit, and its attempt counts. Of several each is given back uncounted,
 * once: from then on it is a suspect, and its attempts get processes of their own.
 *
 * @param count how many were executed in the process itself
 * @param thrown null where nobody is to blame
 */
export function endingAtCrash({ isIsolated, isSuspect }: CrashedRun, count: number, thrown: unknown): Ending {
  if (isIsolated || thrown === null) return { kind: 'drained' };
  const isCounted = count === 1 || isSuspect;
  return { kind: 'crashed', error: crashError(thrown, isCounted, count), isCounted };
}

/** What the run keeps: the error that ended the process, and what that means for the run. */
function crashError(thrown: unknown, isCounted: boolean, count: number): Error {
  const { name, message, stack } = describeError(thrown, 0);
  const meaning = isCounted
    ? 'nothing caught it, and it ended the process'
    : `nothing caught it, and it ended the process with ${count} runs at work; the attempt does not count, and the next one gets a process of its own`;
  const error = new Error(`${message} (${meaning})`, { cause: thrown });
  return Object.assign(error, { name, code: 'TOCK_PROCESS_CRASHED', stack: stack ?? '' });
}
