// Room: engine, fifth of a tick. Executes one claimed run and tells how its attempt ended.
// In: a run whose lease we hold. Out: an Ending, or null when the lease was lost and nothing may be written.

import { parseDuration } from '../../model/duration.js';
import { TockError } from '../../model/errors.js';
import { type Isolate, readIsolate } from '../../model/job/isolate.js';
import type { AnyJob } from '../../model/job/job.js';
import { findJob } from '../../model/job/registry.js';
import { windowIn } from '../../model/planning/window.js';
import type { Ending } from '../../model/run/decide.js';
import { jobLimit, SUSPECTS } from '../../model/run/limits.js';
import type { Engine } from '../engine.js';
import { abort, onAbort } from './abort.js';
import type { ActiveRun } from './active-run.js';
import { callHandler, readPayload } from './call-handler.js';
import { leaseLost } from './effects.js';
import { executeIsolated } from './isolate/parent.js';

/** Why a handler's signal aborted, as `signal.reason`. */
export const drainReason = () => new TockError('TOCK_DRAINING', 'the worker is shutting down');

const SUSPECTED: Isolate = { memoryMb: null };
/** Whether a run may have ended a process before: where one can be had, it gets a process of its own. */
export const isSuspect = ({ run }: ActiveRun) => run.slot_keys?.includes(SUSPECTS.key) === true;

/**
 * Executes the handler, and calls `end` once, later, with how the attempt ended; null where the lease was lost and
 * nothing may be written. Never throws.
 *
 * When the signal aborts (timeout, cancel, drain, lost lease), the handler has `graceMs` to stop; then the
 * attempt ends without it, and that of an isolated job is killed. No database transaction is open meanwhile,
 * unless the handler asked for one. A handler that nobody interrupts costs its own promise and one more, and no timer.
 */
export function executeRun(
  engine: Engine,
  active: ActiveRun,
  workerId: string,
  end: (ending: Ending | null) => void,
): void {
  new Attempt(engine, active, workerId, end).begin();
}

/** A class, since of closures each would be made anew for each run. */
class Attempt {
  private timeout: NodeJS.Timeout | undefined;
  private grace: NodeJS.Timeout | undefined;
  private isOver = false;
  private readonly engine: Engine;
  private readonly active: ActiveRun;
  private readonly workerId: string;
  private readonly end: (ending: Ending | null) => void;

  constructor(engine: Engine, active: ActiveRun, workerId: string, end: (ending: Ending | null) => void) {
    this.engine = engine;
    this.active = active;
    this.workerId = workerId;
    this.end = end;
  }

  begin(): void {
    const { engine, active } = this;
    try {
      const early = endingBefore(active);
      // Later, like every other end: whoever is told may begin the next one.
      if (early !== undefined) return queueMicrotask(() => this.finish(early));
      const job = findJob(engine.registry, active.run.job);
      // That of an isolated job is read again by its child: what a schema makes of it may not survive the way there.
      const payload = readPayload(job, active);
      if (payload instanceof Promise)
        payload.then(read => this.call(job, read)).catch((error: unknown) => this.fail(error));
      else this.call(job, payload);
    } catch (error) {
      queueMicrotask(() => this.fail(error));
    }
  }

  private call(job: AnyJob, payload: unknown): void {
    const { engine, active, workerId } = this;
    // Enqueued in SQL, or before the job had a limit: it comes back once it has its place.
    const limit = jobLimit(job, payload);
    if (limit && !active.run.slot_keys?.includes(limit.key))
      return queueMicrotask(() => this.finish({ kind: 'unplaced', limits: [limit] }));
    if (job.timeout !== undefined) this.timeout = startTimeout(active, parseDuration(job.timeout));
    const isolate = readIsolate(job.isolate) ?? (engine.isolation && isSuspect(active) ? SUSPECTED : null);
    active.isIsolated = isolate !== null;
    // A child is given its grace by who watches it.
    if (!isolate) onAbort(active.interrupt, () => this.startGrace());
    const running = isolate
      ? executeIsolated(engine, active, workerId, isolate)
      : callHandler(engine, active, workerId, job, payload);
    running.then(
      value => this.finish(active.isLost ? null : { kind: 'returned', value }),
      (error: unknown) => this.fail(error),
    );
  }

  private startGrace(): void {
    const { active, engine } = this;
    const abandon = () => this.fail(active.isLost ? leaseLost(active) : active.interrupt.reason);
    this.grace = setTimeout(abandon, engine.settings.graceMs);
  }

  private fail(error: unknown): void {
    this.finish(endingOf(this.active, error));
  }

  private finish(ending: Ending | null): void {
    if (this.isOver) return;
    this.isOver = true;
    if (this.timeout !== undefined) clearTimeout(this.timeout);
    if (this.grace !== undefined) clearTimeout(this.grace);
    onAbort(this.active.interrupt, null);
    this.end(ending);
  }
}

/** How an attempt ends whose handler is not to be called at all; undefined where it is. */
function endingBefore(active: ActiveRun): Ending | null | undefined {
  const { run } = active;
  if (run.is_late) return { kind: 'late' };
  if (run.window) {
    const { hours, timezone, outside, now } = run.window;
    const window = windowIn(hours, timezone);
    if (!window.isOpen(now))
      return { kind: 'outside', opensAt: outside === 'skip' ? null : window.opening(now) };
  }
  // Cancelled, or told to drain, while it was waiting for its turn in this process.
  return active.interrupt.isAborted ? endingOf(active, active.interrupt.reason) : undefined;
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
