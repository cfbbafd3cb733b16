// Room: engine. The runs of a worker at the moment in which an error that nothing caught ends its process.
// In: the runs that are active. Out: whose handlers are at work, and how each attempt ends.
import { endingAtCrash } from '../../model/run/crash.js';
import type { Ending } from '../../model/run/decide.js';
import type { ActiveRun } from './active-run.js';
import { isSuspect } from './execute.js';

/** A run whose handler is at work, as a report names it. */
export interface RunAtWork {
  readonly id: string;
  readonly job: string;
  readonly attempt: number;
  readonly maxAttempts: number;
  /** In a child process. */
  readonly isIsolated: boolean;
}

export function runsAtWork(active: Iterable<ActiveRun>): RunAtWork[] {
  return [...active].filter(isAtWork).map(({ run, isIsolated }) => ({
    id: run.id,
    job: run.job,
    attempt: run.attempts,
    maxAttempts: run.max_attempts,
    isIsolated,
  }));
}

/** How the attempts end that have begun, and not ended by themselves. `thrown` null: nobody is to blame. */
export function endingsAtCrash(active: Iterable<ActiveRun>, thrown: unknown): [ActiveRun, Ending][] {
  const all = [...active];
  // Also those that have just ended: what they left behind may have thrown.
  const count = all.filter(each => each.begunAt !== null && !each.isIsolated).length;
  return all
    .filter(each => each.begunAt !== null && !each.isFinalizing)
    .map(each => {
      const run = { isIsolated: each.isIsolated, isSuspect: isSuspect(each) };
      return [each, endingAtCrash(run, count, thrown)];
    });
}

function isAtWork({ begunAt, isFinalizing, isSettled }: ActiveRun): boolean {
  return begunAt !== null && !isFinalizing && !isSettled;
}
