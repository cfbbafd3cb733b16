// Takes back what is offered in queues that were paused, frozen, closed or are relayed no more: the runs wait
// in their queue again, and no attempt is counted.
import type { IsOver } from '../../model/clock.js';
import { decideOutcome } from '../../model/run/decide.js';
import { HANDED_OFF } from '../../model/run/states.js';
import { sqlState } from '../../store/connection/errors.js';
import { type Finalization, finalizeRuns } from '../../store/runs/finalize.js';
import { removeLeftOffers, removeStaleOffers } from '../../store/runs/hand-off/offers.js';
import { type Engine, lowerWatermarks } from '../engine.js';
import { afterCommit } from './after-commit.js';

const BATCH_SIZE = 1000;

/** Never throws: a failure is logged, and the next reaping takes back what is left. */
export async function takeBackOffers(engine: Engine, isOver: IsOver): Promise<void> {
  try {
    await removeStaleOffers.run(engine.database, {});
    while ((await takeBackBatch(engine)) === BATCH_SIZE && !isOver());
  } catch (error) {
    engine.logger.error(
      { event: 'offers.left', error: String(error), code: sqlState(error) },
      'runs that nobody may claim by tock.claim now could not be taken back; the next reaping tries again',
    );
  }
}

/** Offers go together with the moves of their runs. Returns how many there were. */
async function takeBackBatch(engine: Engine): Promise<number> {
  const { left, freed, outboxWritten } = await engine.database.transaction(async session => {
    const removed = await removeLeftOffers(session, BATCH_SIZE);
    const entries = removed.flatMap(({ id, fence, due_ms: retryAt }): Finalization[] => {
      const attempts = { attempt: 1, maxAttempts: 1 };
      const outcome = decideOutcome({ kind: 'unpublished', retryAt }, attempts, {}, 0);
      return id === null ? [] : [{ id, fence, outcome }];
    });
    const { failed, ...moved } = await finalizeRuns(session, entries, HANDED_OFF);
    const [failure] = failed;
    if (failure !== undefined) throw failure.error;
    return { left: removed, ...moved };
  });
  if (left.length === 0) return 0;
  await afterCommit(engine, { freed, outboxWritten, dead: [] });
  lowerWatermarks(
    engine,
    left.map(({ queue, priority, due_ms: ms }) => ({ queue, priority, at: new Date(ms).toISOString() })),
  );
  engine.logger.info(
    { event: 'offers.taken_back', count: left.length },
    `took back ${left.length} ${left.length === 1 ? 'run' : 'runs'} that nobody had claimed by tock.claim`,
  );
  return left.length;
}
