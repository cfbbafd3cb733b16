// What an uncaught error means for the runs of the process that it ends.
import type { Ending } from './decide.js';
import { describeError } from './sanitize.js';

export interface CrashedRun {
  /** In a child process, so the error is not its own. */
  readonly isIsolated: boolean;
  /** It was executing in an earlier crash too. Not isolated only where child processes are impossible. */
  readonly isSuspect: boolean;
}

/**
 * How its attempt ends. Which run threw cannot be known: what one handler left behind may throw while others
 * execute. A run that was alone is taken to be the cause, and its attempt counts. Several runs are released
 * uncounted, once; from then on they are suspects, whose attempts get their own processes.
 * @param count how many handlers were executing in the process itself
 * @param thrown null if no run is to blame
 */
export function endingAtCrash({ isIsolated, isSuspect }: CrashedRun, count: number, thrown: unknown): Ending {
  if (isIsolated || thrown === null) return { kind: 'drained' };
  const isCounted = count === 1 || isSuspect;
  return { kind: 'crashed', error: crashError(thrown, isCounted, count), isCounted };
}

function crashError(thrown: unknown, isCounted: boolean, count: number): Error {
  const { name, message, stack } = describeError(thrown, 0);
  const meaning = isCounted
    ? 'nothing caught it, and it ended the process'
    : `nothing caught it, and it ended the process with ${count} runs at work; the attempt does not count, and the next one gets its own process`;
  const error = new Error(`${message} (${meaning})`, { cause: thrown });
  return Object.assign(error, { name, code: 'TOCK_PROCESS_CRASHED', stack: stack ?? '' });
}
