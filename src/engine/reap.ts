// Room: engine, second of a tick. Takes back the runs whose lease has expired, before anything else is done:
// so recovery needs no schedule of its own.
// In: nothing. Out: how many are to be tried again, and how many are dead.
import { parseDuration } from '../model/duration.js';
import { type ReapedRuns, reapRuns } from '../store/reap-runs.js';
import type { Engine } from './engine.js';

const BATCH = 500;

/**
 * Reaps every expired lease, in batches, each a statement of its own: a tick that is killed in between has lost
 * nothing. The attempt was counted at its claim, so that a run that kills its workers ends dead.
 */
export async function reap(engine: Engine): Promise<ReapedRuns> {
  const { base = '10s', max = '1h' } = engine.settings.retry;
  const options = { limit: BATCH, backoffMs: parseDuration(base), maxBackoffMs: parseDuration(max) };
  const total = { failed: 0, dead: 0, cancelled: 0 };
  for (;;) {
    const batch = await reapRuns(engine.database, options);
    total.failed += batch.failed;
    total.dead += batch.dead;
    total.cancelled += batch.cancelled;
    if (batch.failed + batch.dead + batch.cancelled < BATCH) break;
  }
  const count = total.failed + total.dead + total.cancelled;
  if (count > 0) {
    engine.logger.warn(
      { event: 'runs.reaped', ...total },
      `took back ${count} ${count === 1 ? 'run' : 'runs'} whose lease had expired, ${total.dead} of them dead, ${total.cancelled} cancelled`,
    );
  }
  return total;
}
