// Ends runs that were handed off and have succeeded elsewhere, as a worker ends the runs of its own
// handlers.
import { decideOutcome } from '../../model/run/decide.js';
import { completeMany, type Success } from '../../store/runs/hand-off/answers.js';
import { type Engine, retryPolicyOf } from '../engine.js';
import { afterCommit } from './after-commit.js';
import { notifyOutcome } from './hooks.js';
import { logOutcome, wordFor } from './log-outcome.js';

/**
 * Ends, in one statement, those of the runs that still wait for an answer, and returns their ids. No run may
 * be named twice.
 * @throws if the database cannot be reached, or refuses one of the results: then nothing was written
 */
export async function endCompleted(engine: Engine, successes: readonly Success[]): Promise<Set<string>> {
  const { runs, freed, outboxWritten } = await completeMany(engine.database, successes);
  await afterCommit(engine, { freed, outboxWritten, dead: [] });
  const results = new Map(successes.map(({ id, result }) => [id, result]));
  for (const run of runs) {
    const result = results.get(run.id) ?? null;
    const outcome = decideOutcome(
      { kind: 'returned', value: result === null ? null : JSON.parse(result) },
      { attempt: run.attempts, maxAttempts: run.max_attempts },
      retryPolicyOf(engine, run.job),
      0,
    );
    logOutcome(engine, run, wordFor(outcome.transition), outcome, run.duration_ms);
    notifyOutcome(engine, run, outcome, run.duration_ms);
  }
  return new Set(runs.map(({ id }) => id));
}
