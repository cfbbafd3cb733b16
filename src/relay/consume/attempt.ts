// One attempt at a consumer: its handler, under the message's lease, the job's timeout and the drain.
import { performance } from 'node:perf_hooks';
import { abort, createInterrupt, onAbort, signalOf } from '../../engine/execute/abort.js';
import { awaitHandler, Calls } from '../../engine/execute/calls/calls.js';
import { systemClock } from '../../environment/system-clock.js';
import { parseDuration } from '../../model/duration.js';
import { TockError } from '../../model/errors.js';
import type { AnyJob } from '../../model/job/job.js';
import type { Occurrence } from '../../model/job/job-schedule.js';
import { parsePayload } from '../../model/job/registry.js';
import type { Logger } from '../../model/logger.js';
import type { RetryPolicy } from '../../model/run/retry.js';
import type { Broker } from '../broker.js';
import type { RelayMessage } from '../messages.js';
import { extendBy, type FinalAnswer, failed, progressOf, succeeded } from './answers.js';
import { createContext } from './context.js';
import { keepLease } from './keep-lease.js';

/** `lost`: nothing may be answered. `drained`: the message goes back, and another consumer gets it. */
export type Ending =
  | { readonly kind: 'answered'; readonly answer: FinalAnswer }
  | { readonly kind: 'lost' }
  | { readonly kind: 'drained' };

export interface AttemptParts {
  readonly broker: Broker;
  readonly job: AnyJob;
  readonly message: RelayMessage;
  /** What is left of the message's lease. */
  readonly remainingMs: number;
  readonly logger: Logger;
  /** The job's backoff; null: the relay's process knows it. */
  readonly policy: RetryPolicy | null;
}

export interface Attempt {
  /** Resolves with how it ended; never rejects. */
  readonly ended: Promise<Ending>;
  /** Aborts the signal: the consumer stops. */
  readonly drain: () => void;
}

/** How long a handler has to stop after its signal has aborted; at a drain it has had its time before. */
const GRACE_MS = 10_000;
const DRAIN_GRACE_MS = 1000;
const TIME = { clock: systemClock, settings: { graceMs: GRACE_MS } };
const PROGRESS_EVERY_MS = 1000;
/** setTimeout counts in 32 bits; a longer timeout never fires in practice. */
const MAX_TIMER_MS = 2 ** 31 - 1;

export function beginAttempt({ broker, job, message, remainingMs, logger, policy }: AttemptParts): Attempt {
  const interrupt = createInterrupt();
  const log = logger.child({ run_id: message.run, job: message.job, attempt: message.attempt });
  const lease = keepLease({
    leaseMs: message.leaseMs,
    remainingMs,
    extend: async () => await broker.answer(extendBy(message)),
    onLost() {
      log.error({ event: 'run.lease_lost', fence: message.fence }, 'the lease ended before it was extended');
      abort(interrupt, leaseLost(message));
    },
  });
  const progress = reportProgress(
    (fraction, stage) => void broker.answer(progressOf(message, fraction, stage)).catch(() => undefined),
  );
  let timeout: NodeJS.Timeout | undefined;
  let grace: NodeJS.Timeout | undefined;

  const callHandler = async () => {
    const payload = await parsePayload(job, payloadOf(job, message));
    if (job.timeout !== undefined) timeout = startTimeout(parseDuration(job.timeout));
    const calls = new Calls();
    const signal = () => signalOf(interrupt);
    const ctx = createContext({ message, signal, log, onProgress: progress.report, calls });
    return await awaitHandler(TIME, calls, () => job.run(ctx, payload));
  };
  const startTimeout = (timeoutMs: number) =>
    setTimeout(
      () =>
        abort(
          interrupt,
          new TockError('TOCK_TIMEOUT', `the attempt took longer than its timeout of ${timeoutMs}ms`),
        ),
      Math.min(timeoutMs, MAX_TIMER_MS),
    );
  /** Rejects when the handler has not stopped in time; it is left behind. */
  const abandoned = new Promise<never>((_, reject) =>
    onAbort(interrupt, () => {
      // The lease is not held for what must stop.
      lease.stop();
      const graceMs = codeOf(interrupt.reason) === 'TOCK_DRAINING' ? DRAIN_GRACE_MS : GRACE_MS;
      grace = setTimeout(() => reject(interrupt.reason as Error), graceMs);
    }),
  );
  const endingOf = (error: unknown): Ending => {
    const code = codeOf(interrupt.reason);
    if (code === 'TOCK_DRAINING') return { kind: 'drained' };
    const cause = code === 'TOCK_TIMEOUT' ? interrupt.reason : error;
    return { kind: 'answered', answer: failed(message, cause, policy) };
  };

  const execute = async (): Promise<Ending> => {
    try {
      const value = await Promise.race([callHandler(), abandoned]);
      if (codeOf(interrupt.reason) === 'TOCK_LEASE_LOST') return { kind: 'lost' };
      return { kind: 'answered', answer: succeeded(message, value) };
    } catch (error) {
      return codeOf(interrupt.reason) === 'TOCK_LEASE_LOST' ? { kind: 'lost' } : endingOf(error);
    } finally {
      lease.stop();
      progress.stop();
      clearTimeout(timeout);
      clearTimeout(grace);
      onAbort(interrupt, null);
    }
  };
  return { ended: execute(), drain: () => abort(interrupt, drainReason()) };
}

export const drainReason = () => new TockError('TOCK_DRAINING', 'the consumer is shutting down');

function leaseLost({ run }: RelayMessage): TockError {
  return new TockError(
    'TOCK_LEASE_LOST',
    `the lease of run ${run} is lost: it could not be extended in time, and the run may be with another consumer; nothing of this attempt is kept`,
  );
}

const codeOf = (reason: unknown) => (reason instanceof TockError ? reason.code : null);

/** The payload; or the one that code computes, if that failed when the run was made. As in a worker. */
function payloadOf(job: AnyJob, message: RelayMessage): unknown {
  if (message.payload !== null) return message.payload;
  const compute: unknown = job.schedule?.payload;
  if (typeof compute !== 'function' || message.scheduledFor === null) return {};
  const scheduledFor = new Date(message.scheduledFor);
  return (compute as (occurrence: Occurrence) => unknown)({
    scheduledFor,
    dataInterval: { start: new Date(message.intervalStart ?? scheduledFor), end: scheduledFor },
    occurrenceCount: message.occurrenceCount,
  });
}

interface ProgressReporter {
  readonly report: (fraction: number, stage?: string) => void;
  readonly stop: () => void;
}

/** The first at once, then at most one a second; the last one within that second. */
function reportProgress(send: (fraction: number, stage?: string) => void): ProgressReporter {
  let sentAt = Number.NEGATIVE_INFINITY;
  let latest: readonly [number, string?] | null = null;
  let timer: NodeJS.Timeout | undefined;
  const flush = () => {
    timer = undefined;
    if (latest === null) return;
    sentAt = performance.now();
    send(...latest);
    latest = null;
  };
  return {
    report(fraction, stage) {
      latest = stage === undefined ? [fraction] : [fraction, stage];
      const waitMs = sentAt + PROGRESS_EVERY_MS - performance.now();
      if (waitMs <= 0) flush();
      else timer ??= setTimeout(flush, waitMs);
    },
    stop() {
      clearTimeout(timer);
      latest = null;
    },
  };
}
