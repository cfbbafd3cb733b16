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
import { isTransient } from '../../store/connection/errors.js';
import { type LargePayload, readLargePayload } from '../../store/runs/large-payload.js';
import type { Engine } from '../engine.js';
import { abort, onAbort } from './abort.js';
import { type ActiveRun, isSuspect, leaseLost } from './active-run.js';
import { callHandler, payloadOf, readPayload } from './call-handler.js';
import { endingBefore, endingOf, MAX_TIMEOUT_MS, NOT_STARTED, timeoutReason } from './endings.js';
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

// Executes claimed runs, and reads large payloads first, of which memory holds only so many.
//
// A claim brings no large payload: it would be undone if the process ended for want of memory, and made
// again, for ever. Here the attempt is counted already.

/** Bytes of text of large payloads that are at work at once; parsed, they take several times as much. */
const MAX_HELD = 32 * 1024 * 1024;
/** PostgreSQL writes JSON with spaces, which do not count against `maxPayloadBytes`. */
const SPACED = 2;

type OnEnd = (ending: Ending | null) => void;

/** A large payload was read: `unload` gives up its memory. Or how the attempt ends without it. */
type Loaded = { readonly unload: () => void } | { readonly ending: Ending | null };

export interface Executor {
  /** As {@link executeRun}, which must not be called with a run whose payload is still to be read. */
  readonly execute: (active: ActiveRun, onEnd: OnEnd) => void;
  /** Reads the large payload of a run, once there is room for it. Never rejects. */
  readonly load: (active: ActiveRun) => Promise<Loaded>;
}

export function createExecutor(engine: Engine, workerId: string): Executor {
  const room = createRoom(MAX_HELD);
  const { maxPayloadBytes } = engine.settings;
  const most = SPACED * maxPayloadBytes;

  const read = async (active: ActiveRun): Promise<LargePayload | null> => {
    const payload = await readLargePayload(engine.database, active.run, most);
    if (payload?.text !== null) return payload;
    throw new TockError(
      'TOCK_BAD_PAYLOAD',
      `the payload has ${payload.bytes} bytes, over the limit of this worker (maxPayloadBytes ${maxPayloadBytes}): store the data in a table and pass its id, or raise the limit`,
    );
  };

  const load = async (active: ActiveRun): Promise<Loaded> => {
    const { run } = active;
    let held = most;
    await room.take(held);
    const unload = () => {
      // Its outcome may wait to be written for long.
      active.run = run;
      room.give(held);
    };
    const without = (ending: Ending | null): Loaded => {
      unload();
      return { ending };
    };
    // Cancelled or drained while it waited: its attempt ends without its payload.
    if (active.interrupt.isAborted) return { unload };
    try {
      const payload = await read(active);
      if (payload === null) return without(null);
      const text = payload.text ?? '';
      room.give(held - payload.bytes);
      held = payload.bytes;
      active.run = { ...run, payload: JSON.parse(text), payload_length: text.length };
      return { unload };
    } catch (error) {
      // A database that is away says nothing about the run: it is given back.
      return without(isTransient(error) ? NOT_STARTED : { kind: 'threw', error });
    }
  };

  const executeLarge = async (active: ActiveRun, onEnd: OnEnd): Promise<void> => {
    const loaded = await load(active);
    if ('ending' in loaded) return onEnd(loaded.ending);
    executeRun(engine, active, workerId, ending => {
      loaded.unload();
      onEnd(ending);
    });
  };

  return {
    load,
    execute: (active, onEnd) => {
      if (active.run.is_large) void executeLarge(active, onEnd);
      else executeRun(engine, active, workerId, onEnd);
    },
  };
}

// Room for so many bytes at once, first come, first served.

export interface Room {
  /** Resolves when there is room for so many bytes; for one alone there is, however many it takes. */
  readonly take: (bytes: number) => Promise<void>;
  readonly give: (bytes: number) => void;
}

/** @param most bytes */
export function createRoom(most: number): Room {
  const waiting: { readonly bytes: number; readonly begin: () => void }[] = [];
  let taken = 0;
  const admit = () => {
    for (let next = waiting[0]; next && (taken === 0 || taken + next.bytes <= most); next = waiting[0]) {
      waiting.shift();
      taken += next.bytes;
      next.begin();
    }
  };
  return {
    take: bytes =>
      new Promise(begin => {
        waiting.push({ bytes, begin });
        admit();
      }),
    give(bytes) {
      taken -= bytes;
      admit();
    },
  };
}
