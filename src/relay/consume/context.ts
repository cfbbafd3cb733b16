// The context of a handler that a consumer calls: as in a worker, but for what needs the database.
import { type Calls, tracked } from '../../engine/execute/calls/calls.js';
import { TockError } from '../../model/errors.js';
import type { JobContext } from '../../model/job/job.js';
import type { Logger } from '../../model/logger.js';
import type { Trigger } from '../../model/run/states.js';
import type { RelayMessage } from '../messages.js';

export interface ContextParts {
  readonly message: RelayMessage;
  readonly signal: () => AbortSignal;
  readonly log: Logger;
  readonly onProgress: (fraction: number, stage?: string) => void;
  readonly calls: Calls;
}

const MAX_STAGE = 200;

export function createContext(parts: ContextParts): JobContext {
  return tracked(contextOf(parts), parts.calls);
}

function contextOf({ message, signal, log, onProgress }: ContextParts): JobContext {
  const scheduledFor = message.scheduledFor === null ? null : new Date(message.scheduledFor);
  const start = message.intervalStart === null ? scheduledFor : new Date(message.intervalStart);
  return {
    runId: message.run,
    job: message.job,
    definition: message.definition,
    attempt: message.attempt,
    maxAttempts: message.maxAttempts,
    snoozes: 0,
    fence: message.fence,
    scheduledFor,
    dataInterval: scheduledFor && start && { start, end: scheduledFor },
    occurrenceCount: message.occurrenceCount,
    idempotencyKey: message.idempotencyKey,
    trigger: message.trigger as Trigger,
    get signal() {
      return signal();
    },
    log,
    progress(fraction, stage) {
      if (typeof fraction !== 'number' || Number.isNaN(fraction)) return;
      const word = stage?.slice(0, MAX_STAGE).replaceAll('\0', '').toWellFormed();
      onProgress(Math.min(1, Math.max(0, fraction)), word);
    },
    get db(): never {
      throw needsDatabase('db', 'give the job a connection of its own, or let a worker execute this queue');
    },
    get scheduler(): never {
      throw needsDatabase('scheduler', ELSEWHERE);
    },
    step: async () => await Promise.reject(needsDatabase('step', KEEP)),
    once: async () => await Promise.reject(needsDatabase('once', KEEP)),
    transaction: async () => await Promise.reject(needsDatabase('transaction', RETURN)),
    cursor: async () => await Promise.reject(needsDatabase('cursor', KEEP)),
    sleep: async () => await Promise.reject(needsDatabase('sleep', LATER)),
    waitFor: async () => await Promise.reject(needsDatabase('waitFor', LATER)),
    waitForRuns: async () => await Promise.reject(needsDatabase('waitForRuns', ELSEWHERE)),
    closeUntil: async () => await Promise.reject(needsDatabase('closeUntil', LATER)),
    child: async () => await Promise.reject(needsDatabase('child', FOLLOW)),
    get parents(): never {
      throw needsDatabase('parents', ELSEWHERE);
    },
    get group(): never {
      throw needsDatabase('group', ELSEWHERE);
    },
    emit: async () => await Promise.reject(needsDatabase('emit', ELSEWHERE)),
    enqueue: async () => await Promise.reject(needsDatabase('enqueue', FOLLOW)),
    enqueueMany: async () => await Promise.reject(needsDatabase('enqueueMany', FOLLOW)),
    complete: async () => await Promise.reject(needsDatabase('complete', ELSEWHERE)),
    fail: async () => await Promise.reject(needsDatabase('fail', ELSEWHERE)),
    extend: async () => await Promise.reject(needsDatabase('extend', ELSEWHERE)),
    get runs(): never {
      throw needsDatabase('runs', ELSEWHERE);
    },
    get queues(): never {
      throw needsDatabase('queues', ELSEWHERE);
    },
    handOff() {
      throw needsDatabase('handOff', 'the run is handed off already: to this consumer');
    },
  };
}

const KEEP =
  'use ctx.idempotencyKey, or ctx.runId, as the key in the system that you change; or let a worker execute this queue';
const FOLLOW = 'give the follow-up a schedule with after: [this job], where the relay runs';
const LATER = 'throw RetryLater, which counts as an attempt; or let a worker execute this queue';
const ELSEWHERE = 'let a worker execute this queue';
const RETURN = 'return the result, which completes the run; or let a worker execute this queue';

function needsDatabase(member: string, remedy: string): TockError {
  return new TockError(
    'TOCK_NEEDS_DATABASE',
    `ctx.${member} needs the database, which a consumer of a relay does not have: ${remedy}`,
  );
}
