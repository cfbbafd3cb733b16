// Counts how attempts ended, and logs a line for each.
import type { Outcome } from '../../model/run/decide.js';
import type { OutcomeCounts } from '../../model/run/outcome-counts.js';
import type { Engine } from '../engine.js';
import type { ActiveRun } from '../execute/active-run.js';
import { logOutcome, wordFor } from '../finalize/log-outcome.js';

export function countOutcome(
  engine: Engine,
  counts: OutcomeCounts,
  active: ActiveRun,
  outcome: Outcome | null,
  isWritten: boolean,
  durationMs: number,
): void {
  const word = isWritten
    ? wordFor(active.isCommitted ? 'succeed' : (outcome?.transition ?? 'succeed'))
    : 'lost';
  counts[word]++;
  logOutcome(engine, active.run, word, outcome, durationMs);
}
