// Counts how attempts ended, and logs a line for each.
import { formatDuration } from '../../model/duration.js';
import { isEnabled } from '../../model/logger.js';
import type { Outcome } from '../../model/run/decide.js';
import type { OutcomeCounts } from '../../model/run/outcome-counts.js';
import { causeText } from '../../model/run/root-cause.js';
import { withoutStacks } from '../../model/run/sanitize.js';
import { TRANSITIONS, type TransitionName } from '../../model/run/states.js';
import type { ClaimedRun } from '../../store/runs/claim/claimed-run.js';
import type { Engine } from '../engine.js';
import type { ActiveRun } from '../execute/active-run.js';

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
  const why = error ? `: ${error.message.split('\n')[0]}${causeText(error)}` : '';
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
