// The answers to an attempt: what its handler returned or threw, as the relay reads it.
import { parseDuration } from '../../model/duration.js';
import { isSteering, TockError } from '../../model/errors.js';
import type { Json } from '../../model/job/job.js';
import { completionText } from '../../model/job/payload/payload.js';
import { backoffMs, type RetryLater, type RetryPolicy } from '../../model/run/retry.js';
import { describeError } from '../../model/run/sanitize.js';
import { isSnooze } from '../../model/run/snooze.js';
import {
  type ExtendAnswer,
  type FailedAnswer,
  PROTOCOL,
  type ProgressAnswer,
  type RelayMessage,
  type SucceededAnswer,
} from '../messages.js';

/** The end of an attempt. */
export type FinalAnswer = SucceededAnswer | FailedAnswer;

const answerTo = ({ run, fence }: RelayMessage) => ({ tock: PROTOCOL, run, fence }) as const;

/** @throws TockError TOCK_BAD_RESULT for a result that JSON would change, or that is over 1 MiB */
export function succeeded(message: RelayMessage, value: unknown): SucceededAnswer {
  const text = completionText(value);
  const result = text === null ? {} : { result: JSON.parse(text) as Json };
  return { ...answerTo(message), kind: 'succeeded', ...result };
}

/** @param policy the job's backoff; null: the relay's process knows it */
export function failed(message: RelayMessage, thrown: unknown, policy: RetryPolicy | null): FailedAnswer {
  const error = isSnooze(thrown) ? CANNOT_SNOOZE : thrown;
  const { name, code, message: text, stack } = describeError(error, message.attempt);
  const isFinal = isSteering(error, 'tock.dead') || isSteering(error, 'tock.cancel');
  const delayMs = isFinal ? null : delayAfter(error, message.attempt, policy);
  return {
    ...answerTo(message),
    kind: 'failed',
    message: text,
    ...(isFinal && { retry: false }),
    ...(delayMs !== null && { retryAt: new Date(Date.now() + delayMs).toISOString() }),
    name,
    ...(code !== null && { code }),
    ...(stack !== null && { stack }),
  };
}

const CANNOT_SNOOZE = new TockError(
  'TOCK_BAD_STATE',
  'a consumer cannot make a relayed run wait by Snooze: throw RetryLater, which counts as an attempt',
);

export const extendBy = (message: RelayMessage): ExtendAnswer => ({
  ...answerTo(message),
  kind: 'extend',
  leaseMs: Math.max(1000, message.leaseMs),
});

export const progressOf = (message: RelayMessage, fraction: number, stage?: string): ProgressAnswer => ({
  ...answerTo(message),
  kind: 'progress',
  fraction,
  ...(stage !== undefined && { stage }),
});

/** Null: the relay decides. */
function delayAfter(error: unknown, attempt: number, policy: RetryPolicy | null): number | null {
  try {
    if (isSteering(error, 'tock.retry-later'))
      return parseDuration((error as RetryLater).delay, 'the delay of RetryLater');
    return policy === null ? null : backoffMs(policy, attempt, error, Math.random());
  } catch {
    // An invalid policy or delay must not cost the run its retry.
    return null;
  }
}
