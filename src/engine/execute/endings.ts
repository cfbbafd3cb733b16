// How attempts end: before their handler is called, when it throws or was stopped, and with their process.
import { TockError } from '../../model/errors.js';
import { windowIn } from '../../model/planning/window.js';
import { endingAtCrash } from '../../model/run/crash.js';
import type { Ending } from '../../model/run/decide.js';
import { isWait } from '../../model/run/snooze.js';
import type { Engine } from '../engine.js';
import type { RunAtWork } from '../worker/worker-interface.js';
import { type ActiveRun, isSuspect, mayBegin } from './active-run.js';
import { endingOfThrown } from './suspend.js';

/** A run is given back as it was claimed: its handler was not called, and the attempt does not count. */
export const NOT_STARTED: Ending = { kind: 'noSlot', limits: [] };

/** What is thrown in place of calling the handler, if {@link isLeaseOld}. */
export const leaseOld = new Error('the lease is too old for the handler to be called');

/** How the attempt ends without its handler being called; undefined if the handler is to be called. */
export function endingBefore(engine: Engine, active: ActiveRun): Ending | null | undefined {
  const { run } = active;
  if (run.is_late) return { kind: 'late' };
  if (run.window) {
    const { hours, timezone, outside, now } = run.window;
    const window = windowIn(hours, timezone);
    if (!window.isOpen(now))
      return {
        kind: 'outside',
        opensAt: outside === 'skip' && !run.begun ? null : window.opening(now),
      };
  }
  // Cancelled or drained while it was prefetched.
  if (active.interrupt.isAborted) return endingOf(active, active.interrupt.reason);
  return isLeaseOld(engine, active) ? NOT_STARTED : undefined;
}

/** Whether the lease is too old for the handler to be called. Logs that it is. */
export function isLeaseOld({ clock, logger, settings }: Engine, active: ActiveRun): boolean {
  if (mayBegin(active, settings.leaseMs, clock.now())) return false;
  const { id, job, fence } = active.run;
  logger.warn(
    { event: 'run.lease_old', run_id: id, job, fence },
    'the lease was over, or nearly, before the handler could be called; the run is given back, uncounted',
  );
  return true;
}

/** How the attempt ends whose handler threw, or was stopped; null if its lease is lost. */
export function endingOf(active: ActiveRun, error: unknown): Ending | null {
  if (active.isLost) return null;
  if (active.cancelRequested) return { kind: 'cancelled' };
  if (error === leaseOld) return NOT_STARTED;
  const { reason } = active.interrupt;
  if (reason instanceof TockError) {
    // A wait that began meanwhile is kept.
    if (reason.code === 'TOCK_DRAINING')
      return isWait(error) ? { kind: 'threw', error } : { kind: 'drained' };
    if (reason.code === 'TOCK_TIMEOUT') return { kind: 'threw', error: reason };
  }
  return endingOfThrown(active, error);
}

/** The `signal.reason` of handlers after their timeout, in milliseconds. */
export const timeoutReason = (timeoutMs: number) =>
  new TockError('TOCK_TIMEOUT', `the attempt took longer than its timeout of ${timeoutMs}ms`);

/** setTimeout counts in 32 bits; a timeout of over 24 days never fires in practice. */
export const MAX_TIMEOUT_MS = 2 ** 31 - 1;

/** The runs whose handlers are executing. */
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
