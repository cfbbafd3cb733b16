// Room: engine. Executes one attempt in a child process: the parent's side.
// In: a run whose lease this worker holds and goes on renewing. Out: what the handler returned or threw; or, where
// its process ended instead, an error that says how.
import { performance } from 'node:perf_hooks';
import { TockError } from '../../../model/errors.js';
import type { Isolate } from '../../../model/job/isolate.js';
import { packError, unpackError } from '../../../model/run/error-data.js';
import { isTransient } from '../../../store/connection/errors.js';
import { readEndedAttempts } from '../../../store/runs/finalize.js';
import type { Engine } from '../../engine.js';
import { keepTrying } from '../../finalize/retry-until.js';
import { signalOf } from '../abort.js';
import { type ActiveRun, isHeld } from '../active-run.js';
import { type Child, type ChildEnd, forkChild } from './fork-child.js';
import type { Isolation } from './isolation.js';
import type { Answer, FromChild, Order } from './protocol.js';

/** Between SIGTERM and SIGKILL, and between an answer and the end of the process that gave it. */
const TERM_MS = 1000;
/** A process that SIGKILL does not end hangs in the kernel; the attempt ends without it. */
const GIVE_UP_MS = 5000;

/**
 * Executes the handler in a fresh process and resolves to what it returned.
 *
 * When the signal aborts, the child is told; after the engine's grace its process group gets SIGTERM, a second
 * later SIGKILL. Every half heartbeat the child is told for how long the lease still lasts: should this process
 * be killed or frozen, the child ends by itself.
 *
 * @throws what the handler threw; TockError TOCK_CHILD_EXITED where its process ended without an answer
 */
export async function executeIsolated(
  engine: Engine,
  active: ActiveRun,
  workerId: string,
  isolate: Isolate,
): Promise<unknown> {
  const { isolation, settings } = engine;
  const signal = signalOf(active.interrupt);
  if (isolation === null)
    throw new TockError('TOCK_BAD_OPTION', 'an isolated job needs jobsModule; pass it to createTock');
  signal.throwIfAborted();

  const heard: { answer: Answer | null } = { answer: null };
  const child = forkChild(isolation.entry, isolate.memoryMb, message => {
    if (message.kind === 'returned' || message.kind === 'threw') {
      heard.answer ??= message;
      ladder.expectEnd();
    } else hear(engine, active, message);
  });
  const ladder = startLadder(child, signal, settings.graceMs);
  let allowedUntil = Number.POSITIVE_INFINITY;
  let isOverdue = false;
  const allow = () => {
    const ms = ladder.remainingMs() ?? leaseLeft(engine, active);
    isOverdue ||= performance.now() > allowedUntil;
    allowedUntil = performance.now() + ms;
    child.allow(ms);
  };
  const beats = setInterval(allow, settings.heartbeatMs / 2);
  allow();
  child.tell({ kind: 'begin', order: orderOf(engine, active, workerId, isolation) });
  const end = await Promise.race([child.ended, ladder.givenUp]);
  clearInterval(beats);
  ladder.stop();
  isOverdue ||= performance.now() > allowedUntil;
  const { answer } = heard;
  if (answer === null && (await hasSettled(engine, active, workerId, end))) return null;
  if (answer === null) {
    const told = tellEnd(end, isolate, isOverdue);
    throw new TockError('TOCK_CHILD_EXITED', told, end.error ? { cause: end.error } : {});
  }
  if (answer.kind === 'threw') throw unpackError(answer.error);
  return answer.value;
}

function orderOf(engine: Engine, { run }: ActiveRun, workerId: string, isolation: Isolation): Order {
  const { maxAttempts } = engine.settings.retry;
  return {
    run,
    workerId,
    connection: isolation.connection,
    schema: engine.database.schema,
    jobsModule: isolation.jobsModule,
    // The rest of the retry policy, which may hold a function, is the worker's affair.
    settings: { ...engine.settings, retry: maxAttempts === undefined ? {} : { maxAttempts } },
  };
}

function leaseLeft({ settings }: Engine, active: ActiveRun): number {
  // Once the run has succeeded there is no lease to outlive.
  if (active.isSettled) return settings.leaseMs;
  return Math.max(0, settings.leaseMs - (performance.now() - active.renewedAt));
}

/** What a handler says while it works. */
function hear(engine: Engine, active: ActiveRun, message: Exclude<FromChild, Answer>): void {
  if (message.kind === 'log') engine.logger[message.level](message.fields, message.message);
  else if (message.kind === 'settled') active.isSettled = true;
  else active.progress = { fraction: message.fraction, stage: message.stage, events: message.events };
}

/** Abort, SIGTERM, SIGKILL; and in the end not to wait for a process that not even that has ended. */
function startLadder(child: Child, signal: AbortSignal, graceMs: number) {
  const timers: NodeJS.Timeout[] = [];
  let killsAt: number | null = null;
  let giveUp = (_end: ChildEnd) => undefined as void;
  const givenUp = new Promise<ChildEnd>(resolve => {
    giveUp = resolve;
  });
  const killAfter = (ms: number) => {
    timers.push(setTimeout(() => child.kill('SIGKILL'), ms));
    const end: ChildEnd = { code: null, signal: 'SIGKILL', isOutOfMemory: false, error: null };
    timers.push(setTimeout(() => giveUp(end), ms + GIVE_UP_MS));
  };
  const onAbort = () => {
    killsAt = performance.now() + graceMs + TERM_MS;
    child.allow(graceMs + TERM_MS);
    child.tell({ kind: 'abort', reason: packError(signal.reason) });
    timers.push(setTimeout(() => child.kill('SIGTERM'), graceMs));
    killAfter(graceMs + TERM_MS);
  };
  signal.addEventListener('abort', onAbort, { once: true });
  return {
    givenUp,
    /** The child has answered: it is about to end. */
    expectEnd: () => killAfter(TERM_MS),
    /** How long until SIGKILL; null before the signal has aborted. */
    remainingMs: () => (killsAt === null ? null : Math.max(0, killsAt - performance.now())),
    stop: () => {
      signal.removeEventListener('abort', onAbort);
      for (const timer of timers) clearTimeout(timer);
    },
  };
}

/** It may have committed its success and died before it could say so: ask, never guess. */
async function hasSettled(
  engine: Engine,
  active: ActiveRun,
  workerId: string,
  end: ChildEnd,
): Promise<boolean> {
  if (active.isSettled || end.error !== null) return active.isSettled;
  const settled = await keepTrying(
    () => readEndedAttempts(engine.database, [active.run], workerId),
    error => isTransient(error) && isHeld(active, engine.settings.leaseMs),
  ).catch(() => null);
  active.isSettled = settled?.has(active.run.id) === true;
  return active.isSettled;
}

function tellEnd(
  { code, signal, error, isOutOfMemory }: ChildEnd,
  { memoryMb }: Isolate,
  isOverdue: boolean,
): string {
  if (error) return `the handler's process could not be started: ${error.message}`;
  if (isOutOfMemory) {
    const limit = memoryMb === null ? 'the heap reached its limit' : `the heap reached ${memoryMb} MB`;
    return `the handler's process ran out of memory (${limit}); let it hold less at a time, or set isolate.memoryMb higher`;
  }
  if (signal === 'SIGKILL' && isOverdue)
    return "the handler's process ended itself when its lease was over: its worker was frozen, too busy to renew it, or cut off from the database";
  if (signal === 'SIGKILL')
    return "the handler's process was killed by SIGKILL; where nobody sent it, the system had no memory left";
  if (signal !== null)
    return `the handler's process was ended by ${signal}${signal === 'SIGTERM' ? '' : ', a crash in native code unless somebody sent it'}`;
  return `the handler's process ended with exit code ${code} before the handler returned; a handler must not call process.exit`;
}
