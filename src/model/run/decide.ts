// Decides what the end of an attempt means for its run; finalize carries it out.
import { parseDuration } from '../duration.js';
import { isSteering, TockError } from '../errors.js';
import type { Json } from '../job/job.js';
import { keepOutput } from '../job/payload/output.js';
import type { Limit } from './limits.js';
import { backoffMs, type RetryLater, type RetryPolicy } from './retry.js';
import { describeError, type ErrorEntry } from './sanitize.js';
import { decideSnooze, isSnooze, isSuspension, type Wait, waitOf } from './snooze.js';
import type { SkipReason, TransitionName } from './states.js';

export type Ending =
  | { readonly kind: 'returned'; readonly value: unknown }
  | { readonly kind: 'threw'; readonly error: unknown }
  /** The handler has returned ctx.handOff(…). */
  | { readonly kind: 'handedOff'; readonly handOff: HandedOff }
  /** No broker has confirmed its message: a relay publishes another at `retryAt` (epoch milliseconds). */
  | { readonly kind: 'unpublished'; readonly retryAt: number }
  /** An operator has cancelled it, and the handler has stopped. */
  | { readonly kind: 'cancelled' }
  /** The worker drains, and the handler has stopped or was abandoned. */
  | { readonly kind: 'drained' }
  | { readonly kind: 'late' }
  /** Claimed outside its window: waits until `opensAt` (epoch milliseconds), or is skipped if null. */
  | { readonly kind: 'outside'; readonly opensAt: number | null }
  /** Claimed without a free slot under these limits. */
  | { readonly kind: 'noSlot'; readonly limits: readonly Limit[] }
  /** Claimed by code that has no such job. */
  | { readonly kind: 'unknownJob'; readonly job: string }
  /** An uncaught error ends the process. `isCounted`: this run is taken to be its cause. */
  | { readonly kind: 'crashed'; readonly error: unknown; readonly isCounted: boolean };

/** What a deferred run waits for: a time in epoch milliseconds, slots under limits, or other code. */
export interface Deferral {
  readonly runAt: number | null;
  readonly limits: readonly Limit[];
  /** The job that a worker's code must have. */
  readonly needsJob?: string;
}

/** To whom a run is handed off, if that is said, and for how long. */
export interface HandedOff {
  readonly leaseMs: number;
  readonly to: string | null;
  /** Offered to workers that speak SQL: there is no lease until one claims it. */
  readonly offer?: {
    /** As code has computed it; undefined: the run has it. */
    readonly payload: unknown;
  };
}

/** A move of states.ts by the holder of the lease. */
export type HolderMove = Extract<
  TransitionName,
  'succeed' | 'fail' | 'exhaust' | 'release' | 'suspend' | 'defer' | 'withdraw' | 'expire'
>;

/** What happens to the run. */
export interface Outcome {
  /** `handOff` changes the holder, not the state. */
  readonly transition: HolderMove | 'handOff';
  readonly output: Json | null;
  readonly error: ErrorEntry | null;
  /** Wait before the next attempt; only for `fail`. */
  readonly delayMs: number;
  readonly skipReason: SkipReason | null;
  /** Only for `defer`. */
  readonly deferral?: Deferral;
  /** Only for `suspend`. */
  readonly wait?: Wait;
  /** Only for `handOff`. */
  readonly handOff?: HandedOff;
  /** For the run's log: what of the handler's result, or of the job's policy, does not count. */
  readonly warning?: string;
  /** Only for `fail` and `release`: may have ended a process, so its attempts get their own processes. */
  readonly isSuspect?: boolean;
}

/** What deciding an outcome needs of a run. */
export interface Attempted {
  /** 1, 2, … */
  readonly attempt: number;
  readonly maxAttempts: number;
  /** How long ago the run was first started, in milliseconds, without frozen time. Default: 0. */
  readonly ageMs?: number;
}

/** @param random a number in [0, 1) for the jitter of the backoff */
export function decideOutcome(ending: Ending, run: Attempted, policy: RetryPolicy, random: number): Outcome {
  switch (ending.kind) {
    case 'returned':
      return successWith(ending.value);
    case 'handedOff':
      return { ...NOTHING, transition: 'handOff', handOff: ending.handOff };
    case 'unpublished':
      return { ...NOTHING, transition: 'defer', deferral: { runAt: ending.retryAt, limits: [] } };
    case 'cancelled':
      return { ...NOTHING, transition: 'withdraw' };
    case 'drained':
      return { ...NOTHING, transition: 'release' };
    case 'late':
      return { ...NOTHING, transition: 'expire', skipReason: 'deadline' };
    case 'outside':
      return ending.opensAt === null
        ? { ...NOTHING, transition: 'expire', skipReason: 'window' }
        : { ...NOTHING, transition: 'defer', deferral: { runAt: ending.opensAt, limits: [] } };
    case 'noSlot':
      return { ...NOTHING, transition: 'defer', deferral: { runAt: null, limits: ending.limits } };
    case 'unknownJob':
      return { ...NOTHING, transition: 'defer', deferral: { runAt: null, limits: [], needsJob: ending.job } };
    case 'threw':
      return decideFailure(ending.error, run, policy, random);
    case 'crashed':
      return {
        ...(ending.isCounted
          ? decideFailure(ending.error, run, policy, random)
          : { ...NOTHING, transition: 'release', error: describeError(ending.error, run.attempt) }),
        isSuspect: true,
      };
  }
}

const NOTHING = { output: null, error: null, delayMs: 0, skipReason: null } as const;
/** Shared by all handlers that return nothing. */
const SUCCEEDED: Outcome = { ...NOTHING, transition: 'succeed' };

/** The success of a handler with this result. */
export function successWith(value: unknown): Outcome {
  const { output, warning } = keepOutput(value);
  if (output === null) return SUCCEEDED;
  return { ...SUCCEEDED, output, ...(warning === null ? {} : { warning }) };
}

function decideFailure(
  error: unknown,
  { attempt, maxAttempts, ageMs = 0 }: Attempted,
  policy: RetryPolicy,
  random: number,
): Outcome {
  if (isSuspension(error)) return { ...NOTHING, transition: 'suspend', wait: waitOf(error) };
  if (isSnooze(error)) {
    const wait = decideSnooze(error, ageMs);
    if (!(wait instanceof TockError)) return { ...NOTHING, transition: 'suspend', wait };
    return { ...NOTHING, transition: 'exhaust', error: describeError(wait, attempt) };
  }
  const entry = describeError(error, attempt);
  if (isSteering(error, 'tock.cancel')) return { ...NOTHING, transition: 'withdraw', error: entry };
  if (isSteering(error, 'tock.dead') || attempt >= maxAttempts)
    return { ...NOTHING, transition: 'exhaust', error: entry };
  return {
    ...NOTHING,
    transition: 'fail',
    error: entry,
    ...delayAfter(error, attempt, policy, random),
  };
}

function delayAfter(
  error: unknown,
  attempt: number,
  policy: RetryPolicy,
  random: number,
): Pick<Outcome, 'delayMs' | 'warning'> {
  try {
    if (!isSteering(error, 'tock.retry-later')) return { delayMs: backoffMs(policy, attempt, error, random) };
    return { delayMs: parseDuration((error as RetryLater).delay, 'the delay of RetryLater') };
  } catch (refused) {
    // An invalid policy or delay must not cost the run its retry.
    const { message } = describeError(refused, attempt);
    const warning = `the next attempt waits as by default, since its backoff has failed: ${message}`;
    return { delayMs: backoffMs({}, attempt, error, random), warning };
  }
}

export function payloadError(
  job: string,
  issues: readonly { readonly message: string; readonly path?: readonly unknown[] | undefined }[],
): TockError {
  const texts = issues.slice(0, 5).map(({ message, path }) => {
    const at = (path ?? [])
      .map(part => String(typeof part === 'object' && part !== null ? (part as { key: unknown }).key : part))
      .join('.');
    return at === '' ? message : `${at}: ${message}`;
  });
  return new TockError(
    'TOCK_BAD_PAYLOAD',
    `the payload does not fit the schema of job ${job}: ${texts.join('; ')}`,
  );
}
