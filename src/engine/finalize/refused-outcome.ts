// Replaces an outcome that PostgreSQL can never store: with the same transition, a constant error, and no
// output.
import type { Outcome } from '../../model/run/decide.js';
import { sqlState } from '../../store/connection/errors.js';
import type { Engine } from '../engine.js';

/** Logs that the outcome was refused, and returns one that can be stored. */
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

const UNSTORABLE = { name: 'Error', code: null, message: 'the error could not be stored', stack: null };
