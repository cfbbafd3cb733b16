// What becomes of an attempt's run, by the job's retry policy.
import { decideOutcome, type Ending, type Outcome } from '../../model/run/decide.js';
import type { ClaimedRun } from '../../store/runs/claim/claimed-run.js';
import { type Engine, retryPolicyOf } from '../engine.js';

export function outcomeOf(engine: Engine, run: ClaimedRun, ending: Ending): Outcome {
  const attempts = { attempt: run.attempts, maxAttempts: run.max_attempts };
  return decideOutcome(ending, attempts, retryPolicyOf(engine, run.job), Math.random());
}
