// Room: engine. How attempts ended, counted and told.
// In: an attempt and its outcome. Out: a tally, and one log line for each.

import { formatDuration } from '../../model/duration.js';
import { isEnabled } from '../../model/logger.js';
import type { Outcome } from '../../model/run/decide.js';
import { TRANSITIONS, type TransitionName } from '../../model/run/states.js';
import type { ClaimedRun } from '../../store/runs/claim/claimed-run.js';
import type { Engine } from '../engine.js';
import type { ActiveRun } from '../execute/active-run.js';

/** How many attempts ended how. `deferred` were claimed outside their window, or without a place under a limit. `lost` are those whose lease had expired before the outcome could be written. */
export type Tally = Record<
  'claimed' | 'succeeded' | 'failed' | 'dead' | 'cancelled' | 'skipped' | 'deferred' | 'released' | 'lost',
  number
>;

/** A tally in which nothing has happened yet. */
export function emptyTally(): Tally {
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

/** What a log line about a run holds; never its payload. */
export function fieldsOf(run: ClaimedRun) {
  return {
    run_id: run.id,
    job: run.job,
    attempt: run.attempts,
    ...(run.scheduled_for === null ? {} : { scheduled_for: new Date(run.scheduled_for).toISOString() }),
  };
}

const LEVELS: Readonly<Record<keyof Tally, 'debug' | 'info' | 'warn' | 'error'>> = {
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
export function reportEnd(
  engine: Engine,
  tally: Tally,
  each: ActiveRun,
  outcome: Outcome | null,
  isWritten: boolean,
  durationMs: number,
): void {
  const word = isWritten ? wordFor(each.isSettled ? 'succeed' : (outcome?.transition ?? 'succeed')) : 'lost';
  tally[word]++;
  if (!isEnabled(engine.logger, LEVELS[word])) return;
  const error = outcome?.error;
  const why = error ? `: ${error.message.split('\n')[0]}` : '';
  const next = outcome?.transition === 'fail' ? `; next attempt in ${formatDuration(outcome.delayMs)}` : '';
  engine.logger[LEVELS[word]](
    {
      event: `run.${word}`,
      ...fieldsOf(each.run),
      duration_ms: Math.round(durationMs),
      ...(error ? { error: { name: error.name, code: error.code, message: error.message } } : {}),
    },
    `run ${each.run.id} of ${each.run.job} ${word} after ${formatDuration(durationMs)} (attempt ${each.run.attempts} of ${each.run.max_attempts})${why}${next}`,
  );
}

function wordFor(transition: TransitionName): keyof Tally {
  if (transition === 'release') return 'released';
  return transition === 'defer' ? 'deferred' : (TRANSITIONS[transition].to as keyof Tally);
}
