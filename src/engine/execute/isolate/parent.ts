// Executes one attempt in a child process: the worker's side. The worker holds and renews the lease.
import { TockError } from '../../../model/errors.js';
import { HandOff } from '../../../model/job/hand-off.js';
import type { Isolate } from '../../../model/job/isolate.js';
import { unpackError } from '../../../model/run/errors/error-data.js';
import { isTransient } from '../../../store/connection/errors.js';
import { readEndedAttempts } from '../../../store/runs/finalize.js';
import type { Engine } from '../../engine.js';
import { retryUntil } from '../../finalize/retry-until.js';
import { signalOf } from '../abort.js';
import { type ActiveRun, isHeld } from '../active-run.js';
import { keepSentLine } from '../run-logger.js';
import { type ChildEnd, forkChild } from './fork-child.js';
import type { Isolation } from './isolation.js';
import { KillEscalation } from './kill-escalation.js';
import type { Answer, FromChild, Order } from './protocol.js';

/**
 * Executes the handler in a new process and resolves to its result. An aborted signal ends it by
 * KillEscalation. Every half heartbeat the child is sent how long the lease still lasts: if this process is
 * killed or frozen, the child ends itself.
 * @throws what the handler threw; TockError TOCK_CHILD_EXITED if its process ended without an answer
 */
export async function executeIsolated(
  engine: Engine,
  active: ActiveRun,
  workerId: string,
  isolate: Isolate,
): Promise<unknown> {
  const { clock, isolation, settings } = engine;
  const signal = signalOf(active.interrupt);
  if (isolation === null)
    throw new TockError('TOCK_BAD_OPTION', 'an isolated job needs jobsModule; pass it to createTock');
  signal.throwIfAborted();

  const received: { answer: Answer | null } = { answer: null };
  const child = forkChild(clock, isolation.entry, isolate.memoryMb, message => {
    if (message.kind === 'returned' || message.kind === 'handedOff' || message.kind === 'threw') {
      received.answer ??= message;
      escalation.expectEnd();
    } else onReport(engine, active, message);
  });
  const escalation = new KillEscalation(clock, child, signal, settings.graceMs);
  let allowedUntil = Number.POSITIVE_INFINITY;
  let isOverdue = false;
  const allow = () => {
    const ms = escalation.remainingMs() ?? leaseLeft(engine, active);
    isOverdue ||= clock.now() > allowedUntil;
    allowedUntil = clock.now() + ms;
    child.allow(ms);
  };
  const beats = clock.setInterval(allow, settings.heartbeatMs / 2);
  allow();
  child.send({ kind: 'begin', order: orderOf(engine, active, workerId, isolation) });
  const end = await Promise.race([child.ended, escalation.abandoned]);
  clock.clear(beats);
  escalation.stop();
  isOverdue ||= clock.now() > allowedUntil;
  const { answer } = received;
  if (answer === null && (await hasCommitted(engine, active, workerId, end))) return null;
  if (answer === null) {
    const message = describeEnd(end, isolate, isOverdue);
    throw new TockError('TOCK_CHILD_EXITED', message, end.error ? { cause: end.error } : {});
  }
  if (answer.kind === 'threw') throw unpackError(answer.error);
  return answer.kind === 'returned' ? answer.value : new HandOff(answer.handOff.leaseMs, answer.handOff.to);
}

function orderOf(engine: Engine, { run, span }: ActiveRun, workerId: string, isolation: Isolation): Order {
  const { maxAttempts } = engine.settings.retry;
  return {
    run,
    workerId,
    connection: isolation.connection(),
    schema: engine.database.schema,
    jobsModule: isolation.jobsModule,
    appName: engine.appName,
    traceparent: span?.traceparent ?? null,
    // The rest of the retry policy may hold a function, and only the worker uses it.
    settings: { ...engine.settings, retry: maxAttempts === undefined ? {} : { maxAttempts } },
  };
}

function leaseLeft({ clock, settings }: Engine, active: ActiveRun): number {
  // A run that has succeeded has no lease any more.
  if (active.isCommitted) return settings.leaseMs;
  return Math.max(0, settings.leaseMs - (clock.now() - active.renewedAt));
}

function onReport(engine: Engine, active: ActiveRun, message: Exclude<FromChild, Answer>): void {
  if (message.kind === 'log') engine.logger[message.level](message.fields, message.message);
  else if (message.kind === 'line') keepSentLine(engine, active, message);
  else if (message.kind === 'committed') active.isCommitted = true;
  else if (message.kind === 'cursor')
    active.cursors = (active.cursors ?? new Map()).set(message.key, message.result);
  else active.progress = { fraction: message.fraction, stage: message.stage, events: message.events };
}

/** The child may have committed the success and died before it could report that: ask, never guess. */
async function hasCommitted(
  engine: Engine,
  active: ActiveRun,
  workerId: string,
  end: ChildEnd,
): Promise<boolean> {
  if (active.isCommitted || end.error !== null) return active.isCommitted;
  const succeeded = await retryUntil(
    engine.clock,
    () => readEndedAttempts(engine.database, [active.run], workerId),
    error => isTransient(error) && isHeld(active, engine.settings.leaseMs, engine.clock.now()),
  ).catch(() => null);
  active.isCommitted = succeeded?.has(active.run.id) === true;
  return active.isCommitted;
}

function describeEnd(
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
    return "the handler's process was killed by SIGKILL; unless it was sent on purpose, the system had no memory left";
  if (signal !== null)
    return `the handler's process was ended by ${signal}${signal === 'SIGTERM' ? '' : ', a crash in native code unless it was sent on purpose'}`;
  return `the handler's process ended with exit code ${code} before the handler returned; a handler must not call process.exit`;
}
