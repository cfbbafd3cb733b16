// Room: engine, fifth of a tick. Executes one claimed run and tells how its attempt ended.
// In: a run whose lease we hold. Out: an Ending, or null when the lease was lost and nothing may be written.

import type { Ending } from '../model/decide.js';
import { parseDuration } from '../model/duration.js';
import { TockError } from '../model/errors.js';
import { readIsolate } from '../model/isolate.js';
import { jobLimit } from '../model/limits.js';
import { findJob } from '../model/registry.js';
import { windowIn } from '../model/window.js';
import type { ActiveRun } from './active-run.js';
import { callHandler, readPayload } from './call-handler.js';
import { leaseLost } from './effects.js';
import type { Engine } from './engine.js';
import { abort, offAbort, onAbort } from './interrupt.js';
import { executeIsolated } from './isolate.js';

/** Why a handler's signal aborted, as `signal.reason`. */
export const drainReason = () => new TockError('TOCK_DRAINING', 'the worker is shutting down');

/**
 * Executes the handler. Never throws.
 *
 * When the signal aborts (timeout, cancel, drain, lost lease), the handler has `graceMs` to stop; then the
 * attempt ends without it, and that of an isolated job is killed. No database transaction is open meanwhile,
 * unless the handler asked for one.
 */
export async function executeRun(
  engine: Engine,
  active: ActiveRun,
  workerId: string,
): Promise<Ending | null> {
  const { run } = active;
  if (run.is_late) return { kind: 'late' };
  if (run.window) {
    const { hours, timezone, outside, now } = run.window;
    const window = windowIn(hours, timezone);
    if (!window.isOpen(now))
      return { kind: 'outside', opensAt: outside === 'skip' ? null : window.opening(now) };
  }
  let timer: NodeJS.Timeout | undefined;
  // Cancelled, or told to drain, while it was waiting for its turn in this process.
  if (active.interrupt.isAborted) return endingOf(active, active.interrupt.reason);
  try {
    const job = findJob(engine.registry, run.job);
    // That of an isolated job is read again by its child: what a schema makes of it may not survive the way there.
    const read = readPayload(job, active);
    const payload = read instanceof Promise ? await read : read;
    // Enqueued in SQL, or before the job had a limit: it comes back once it has its place.
    const limit = jobLimit(job, payload);
    if (limit && !run.slot_keys?.includes(limit.key)) return { kind: 'unplaced', limits: [limit] };
    if (job.timeout !== undefined) timer = startTimeout(active, parseDuration(job.timeout));
    const isolate = readIsolate(job.isolate);
    const value = await (isolate
      ? executeIsolated(engine, active, workerId, isolate)
      : executeHere(engine, active, () => callHandler(engine, active, workerId, job, payload)));
    return active.isLost ? null : { kind: 'returned', value };
  } catch (error) {
    return endingOf(active, error);
  } finally {
    clearTimeout(timer);
  }
}

/**
 * Calls the handler, and leaves it behind `graceMs` after the signal has aborted: then it did not heed it. One promise
 * and no timer for a handler that nobody interrupts.
 */
function executeHere(engine: Engine, active: ActiveRun, call: () => Promise<unknown>): Promise<unknown> {
  const { interrupt } = active;
  return new Promise((resolve, reject) => {
    let timer: NodeJS.Timeout | undefined;
    const startGrace = () => {
      const abandon = () => reject(active.isLost ? leaseLost(active) : interrupt.reason);
      timer = setTimeout(abandon, engine.settings.graceMs);
    };
    const stopWatching = () => {
      if (timer !== undefined) clearTimeout(timer);
      offAbort(interrupt, startGrace);
    };
    onAbort(interrupt, startGrace);
    call().then(
      value => {
        stopWatching();
        resolve(value);
      },
      (error: unknown) => {
        stopWatching();
        reject(error);
      },
    );
  });
}

function endingOf(active: ActiveRun, error: unknown): Ending | null {
  if (active.isLost) return null;
  if (active.cancelRequested) return { kind: 'cancelled' };
  const { reason } = active.interrupt;
  if (reason instanceof TockError) {
    if (reason.code === 'TOCK_DRAINING') return { kind: 'drained' };
    if (reason.code === 'TOCK_TIMEOUT') return { kind: 'threw', error: reason };
  }
  return { kind: 'threw', error };
}

function startTimeout(active: ActiveRun, timeoutMs: number): NodeJS.Timeout {
  const end = () => {
    active.isTimedOut = true;
    abort(
      active.interrupt,
      new TockError('TOCK_TIMEOUT', `the attempt took longer than its timeout of ${timeoutMs}ms`),
    );
  };
  // setTimeout counts in 32 bits; a timeout of over 24 days never fires in practice.
  return setTimeout(end, Math.min(timeoutMs, 2 ** 31 - 1));
}
