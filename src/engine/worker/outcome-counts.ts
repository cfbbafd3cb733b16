// Room: engine/worker. Counts and logs how attempts ended.
// In: an attempt and its outcome. Out: counts, and one log line for each attempt.
import { formatDuration } from '../../model/duration.js';
import { isEnabled } from '../../model/logger.js';
import type { Outcome } from '../../model/run/decide.js';
import { withoutStacks } from '../../model/run/sanitize.js';
import { TRANSITIONS, type TransitionName } from '../../model/run/states.js';
import type { ClaimedRun } from '../../store/runs/claim/claimed-run.js';
import type { Engine } from '../engine.js';
import type { ActiveRun } from '../execute/active-run.js';

/**
 * How many attempts ended in which way. `deferred`: claimed outside the window, or without a slot under a
 * limit. `lost`: the lease had expired before the outcome could be written.
 */
export type OutcomeCounts = Record<
  'claimed' | 'succeeded' | 'failed' | 'dead' | 'cancelled' | 'skipped' | 'deferred' | 'released' | 'lost',
  number
>;

/** All counts at zero. */
export function noOutcomes(): OutcomeCounts {
  return {
    claimed: 0,
    succeeded: 0,
    failed: 0,
    dead: 0,
    cancelled: 0,
    skipped: 0,
    deferred: 0,
    released: 0,
    lost: 0,
  };
}

/** The fields of a log line about a run; never its payload. */
export function logFields(run: ClaimedRun) {
  return {
    run_id: run.id,
    job: run.job,
    attempt: run.attempts,
    ...(run.scheduled_for === null ? {} : { scheduled_for: new Date(run.scheduled_for).toISOString() }),
  };
}

const LEVELS: Readonly<Record<keyof OutcomeCounts, 'debug' | 'info' | 'warn' | 'error'>> = {
  claimed: 'debug',
  succeeded: 'info',
  failed: 'warn',
  dead: 'error',
  cancelled: 'warn',
  skipped: 'warn',
  deferred: 'debug',
  released: 'info',
  lost: 'error',
};

/** Counts and logs how an attempt ended. */
export function countOutcome(
  engine: Engine,
  counts: OutcomeCounts,
  active: ActiveRun,
  outcome: Outcome | null,
  isWritten: boolean,
  durationMs: number,
): void {
  const { run } = active;
  const word = isWritten
    ? wordFor(active.isCommitted ? 'succeed' : (outcome?.transition ?? 'succeed'))
    : 'lost';
  counts[word]++;
  if (!isEnabled(engine.logger, LEVELS[word])) return;
  const error = outcome?.error;
  const why = error ? `: ${error.message.split('\n')[0]}` : '';
  const next = outcome?.transition === 'fail' ? `; next attempt in ${formatDuration(outcome.delayMs)}` : '';
  engine.logger[LEVELS[word]](
    {
      event: `run.${word}`,
      ...logFields(run),
      duration_ms: Math.round(durationMs),
      ...(error ? { error: withoutStacks(error) } : {}),
    },
    `run ${run.id} of ${run.job} ${word} after ${formatDuration(durationMs)} (attempt ${run.attempts} of ${run.max_attempts})${why}${next}`,
  );
}

function wordFor(transition: TransitionName): keyof OutcomeCounts {
  if (transition === 'release') return 'released';
  return transition === 'defer' ? 'deferred' : (TRANSITIONS[transition].to as keyof OutcomeCounts);
}
