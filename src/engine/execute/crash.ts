// The runs of a worker when an uncaught error ends its process.
import { endingAtCrash } from '../../model/run/crash.js';
import type { Ending } from '../../model/run/decide.js';
import type { RunAtWork } from '../worker/worker-interface.js';
import type { ActiveRun } from './active-run.js';
import { isSuspect } from './execute.js';

export function runsAtWork(activeRuns: Iterable<ActiveRun>): RunAtWork[] {
  return [...activeRuns].filter(isAtWork).map(({ run, isIsolated }) => ({
    id: run.id,
    job: run.job,
    attempt: run.attempts,
    maxAttempts: run.max_attempts,
    isIsolated,
  }));
}

/** How each attempt ends that has started and not ended. `thrown` null: no run is to blame. */
export function endingsAtCrash(activeRuns: Iterable<ActiveRun>, thrown: unknown): [ActiveRun, Ending][] {
  const all = [...activeRuns];
  // Includes attempts that have just ended, because something they left behind may have thrown.
  const count = all.filter(active => active.startedAt !== null && !active.isIsolated).length;
  return all
    .filter(active => active.startedAt !== null && !active.isFinalizing)
    .map(active => {
      const run = { isIsolated: active.isIsolated, isSuspect: isSuspect(active) };
      return [active, endingAtCrash(run, count, thrown)];
    });
}

function isAtWork({ startedAt, isFinalizing, isCommitted }: ActiveRun): boolean {
  return startedAt !== null && !isFinalizing && !isCommitted;
}
