// Room: engine, second of a tick. Takes back the runs whose lease has expired, before anything else is done:
// so recovery needs no schedule of its own.
// In: nothing. Out: how many are to be tried again, and how many are dead.
import { parseDuration } from '../model/duration.js';
import { reapRuns } from '../store/reap-runs.js';
import type { Engine } from './engine.js';

const BATCH = 500;

export interface ReapResult {
  readonly failed: number;
  readonly dead: number;
}

/**
 * Reaps every expired lease, in batches, each a statement of its own: a tick that is killed in between has lost
 * nothing. The attempt was counted at its claim, so that a run that kills its workers ends dead.
 */
export async function reap(engine: Engine): Promise<ReapResult> {
  const { base = '10s', max = '1h' } = engine.settings.retry;
  const options = { limit: BATCH, backoffMs: parseDuration(base), maxBackoffMs: parseDuration(max) };
  let failed = 0;
  let dead = 0;
  for (;;) {
    const batch = await reapRuns(engine.database, options);
    failed += batch.failed;
    dead += batch.dead;
    if (batch.failed + batch.dead < BATCH) break;
  }
  if (failed + dead > 0) {
    engine.logger.warn(
      { event: 'runs.reaped', failed, dead },
      `took back ${failed + dead} runs whose lease had expired, ${dead} of them dead`,
    );
  }
  return { failed, dead };
}
