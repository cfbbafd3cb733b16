// Executes one attempt of a claimed run whose lease is held.

import { lossCount } from '../../environment/output.js';
import type { Clock, Timer } from '../../model/clock.js';
import { parseDuration } from '../../model/duration.js';
import { TockError } from '../../model/errors.js';
import { type Isolate, readIsolate } from '../../model/job/isolate.js';
import type { AnyJob } from '../../model/job/job.js';
import { knownJob } from '../../model/job/registry.js';
import type { Ending } from '../../model/run/decide.js';
import { jobLimits } from '../../model/run/limits.js';
import type { Engine } from '../engine.js';
import { abort, onAbort } from './abort.js';
import { type ActiveRun, isSuspect, leaseLost } from './active-run.js';
import { callHandler, payloadOf, readPayload } from './call-handler.js';
import { endingBefore, endingOf, MAX_TIMEOUT_MS, timeoutReason } from './endings.js';
import { endingOfResult } from './hand-off.js';
import { executeIsolated } from './isolate/parent.js';
import type { RelaySeam } from './relay-seam.js';
import { keepLosses } from './run-logger.js';

/** The `signal.reason` of handlers when their worker drains. */
export const drainReason = () => new TockError('TOCK_DRAINING', 'the worker is shutting down');

const SUSPECT_ISOLATE: Isolate = { memoryMb: null };

/**
 * Executes the handler and later calls `onEnd` once with how the attempt ended; null if the lease was lost
 * and nothing may be written. Never throws.
 *
 * When the signal aborts (timeout, cancel, drain, lost lease), the handler has `graceMs` to stop; then the
 * attempt ends without it, and an isolated handler is killed. No database transaction is open meanwhile,
 * unless the handler opened one. An uninterrupted handler costs three promises, and no timer.
 */
export function executeRun(
  engine: Engine,
  active: ActiveRun,
  workerId: string,
  onEnd: (ending: Ending | null) => void,
): void {
  new Attempt(engine, active, workerId, onEnd).start();
}

/** A class, because closures would be allocated for each run. */
class Attempt {
  private timeout: Timer | undefined;
  private grace: Timer | undefined;
  private isOver = false;
  private readonly losses = lossCount();
  private readonly engine: Engine;
  private readonly active: ActiveRun;
  private readonly workerId: string;
  private readonly onEnd: (ending: Ending | null) => void;

  constructor(engine: Engine, active: ActiveRun, workerId: string, onEnd: (ending: Ending | null) => void) {
    this.engine = engine;
    this.active = active;
    this.workerId = workerId;
    this.onEnd = onEnd;
  }

  start(): void {
    const { engine, active } = this;
    try {
      const early = endingBefore(engine, active);
      // Deferred, because `onEnd` may start the next run.
      if (early !== undefined) return queueMicrotask(() => this.finish(early));
      const job = knownJob(engine.registry, active.run.job);
      if (job === undefined) return this.withoutJob();
      // An isolated job's child parses it again, because the parsed value may not survive serialization.
      const payload = readPayload(engine, job, active);
      if (payload instanceof Promise)
        payload.then(read => this.callLater(job, read)).catch((error: unknown) => this.fail(error));
      else this.call(job, payload);
    } catch (error) {
      queueMicrotask(() => this.fail(error));
    }
  }

  /** A consumer elsewhere may know the job, or a worker with other code. */
  private withoutJob(): void {
    const { engine, active } = this;
    if (engine.relay) this.handOff(engine.relay, active.run.payload ?? {});
    else queueMicrotask(() => this.finish({ kind: 'unknownJob', job: active.run.job }));
  }

  /** Its schema took time, in which the run may have been cancelled, or its lease have become too old. */
  private callLater(job: AnyJob, payload: unknown): void {
    const early = endingBefore(this.engine, this.active);
    if (early === undefined) this.call(job, payload);
    else this.finish(early);
  }

  private call(job: AnyJob, payload: unknown): void {
    const { engine, active, workerId } = this;
    // Enqueued in SQL, or before the job had a limit: it is claimed again when it has a slot.
    const limits = jobLimits(job, payload).filter(({ key }) => !active.run.slot_keys?.includes(key));
    if (limits.length > 0) return queueMicrotask(() => this.finish({ kind: 'noSlot', limits }));
    // Its consumer parses it again, because the parsed value may not survive serialization.
    if (engine.relay) return this.handOff(engine.relay, payloadOf(engine, job, active));
    if (job.timeout !== undefined)
      this.timeout = startTimeout(engine.clock, active, parseDuration(job.timeout));
    // A child loads the project's jobs, not Tock's own.
    const canIsolate = engine.isolation !== null && engine.registry.jobs.has(job.name);
    const isolate = readIsolate(job.isolate) ?? (canIsolate && isSuspect(active) ? SUSPECT_ISOLATE : null);
    active.isIsolated = isolate !== null;
    // A child's grace is up to KillEscalation.
    if (!isolate) onAbort(active.interrupt, () => this.startGrace());
    if (engine.tracing) active.span = engine.tracing.attempt(active.run, job, workerId);
    const call = () =>
      isolate
        ? executeIsolated(engine, active, workerId, isolate)
        : callHandler(engine, active, workerId, job, payload);
    const running = active.span === null ? call() : active.span.around(call);
    running.then(
      value => this.finish(active.isLost ? null : endingOfResult(active, value)),
      (error: unknown) => this.fail(error),
    );
  }

  /** Without the job's timeout, which is the consumer's. */
  private handOff(relay: RelaySeam, payload: unknown): void {
    const { active } = this;
    onAbort(active.interrupt, () => this.startGrace());
    relay.handOff(active, payload).then(
      ending => this.finish(active.isLost ? null : ending),
      (error: unknown) => this.fail(error),
    );
  }

  private startGrace(): void {
    const { active, engine } = this;
    const abandon = () => this.fail(active.isLost ? leaseLost(active) : active.interrupt.reason);
    this.grace = engine.clock.setTimeout(abandon, engine.settings.graceMs);
  }

  private fail(error: unknown): void {
    this.finish(endingOf(this.active, error));
  }

  private finish(ending: Ending | null): void {
    if (this.isOver) return;
    this.isOver = true;
    const { clock } = this.engine;
    clock.clear(this.timeout);
    clock.clear(this.grace);
    onAbort(this.active.interrupt, null);
    keepLosses(this.engine, this.active, this.losses);
    this.onEnd(ending);
  }
}

function startTimeout(clock: Clock, active: ActiveRun, timeoutMs: number): Timer {
  const end = () => {
    active.isTimedOut = true;
    abort(active.interrupt, timeoutReason(timeoutMs));
  };
  return clock.setTimeout(end, Math.min(timeoutMs, MAX_TIMEOUT_MS));
}
