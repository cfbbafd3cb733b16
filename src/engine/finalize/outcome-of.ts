// What becomes of an attempt's run, by the job's retry policy.
import { hostname } from 'node:os';
import { decideOutcome, type Ending, type Outcome } from '../../model/run/decide.js';
import { sqlState } from '../../store/connection/errors.js';
import type { ClaimedRun } from '../../store/runs/claim/claimed-run.js';
import { type Engine, retryPolicyOf } from '../engine.js';

const UNSTORABLE = { name: 'Error', code: null, message: 'the error could not be stored', stack: null };
const worker = `${hostname()} pid ${process.pid}`;

/**
 * Adds to an error which worker, of which deploy, executed the attempt: the row in `workers` is removed soon
 * after its end.
 * @param elapsedMs since the attempt started
 * @param batchSize how many runs its handler was called with, for a handler of batches
 */
export function outcomeOf(
  engine: Engine,
  run: ClaimedRun,
  ending: Ending,
  elapsedMs: number,
  batchSize = 0,
): Outcome {
  const { deploy } = engine.settings;
  const ageMs = (run.begun?.ageMs ?? 0) + elapsedMs;
  const attempts = { attempt: run.attempts, maxAttempts: run.max_attempts, ageMs };
  const outcome = decideOutcome(ending, attempts, retryPolicyOf(engine, run.job), Math.random());
  if (outcome.error === null) return outcome;
  const more = { ...(deploy === null ? {} : { deploy }), ...(batchSize > 1 ? { batch: batchSize } : {}) };
  return { ...outcome, error: { ...outcome.error, worker, ...more } };
}

/** Whether the run cannot be due again soon: it has succeeded, or waits elsewhere. */
export const isGone = (outcome: Outcome | null) =>
  outcome?.transition === 'succeed' ||
  outcome?.transition === 'handOff' ||
  outcome?.deferral?.needsJob !== undefined;

/**
 * For an outcome that PostgreSQL can never store: one with the same transition, a constant error, and no
 * output. Logs that it was refused.
 */
export function refusedOutcome(engine: Engine, runId: string, outcome: Outcome, error: unknown): Outcome {
  engine.logger.error(
    { event: 'finalize.refused', run_id: runId, error: String(error), code: sqlState(error) },
    'PostgreSQL refused the outcome; a constant text replaces it',
  );
  return {
    ...outcome,
    output: null,
    error: outcome.error && { ...UNSTORABLE, attempt: outcome.error.attempt },
  };
}
