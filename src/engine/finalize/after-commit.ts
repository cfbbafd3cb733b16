// The work that follows once transitions of runs are committed. If the process dies before that work, the
// next reaping unblocks runs and makes followers; a failing definition is paused after its next dead run.
import { pauseFailing } from '../../store/definitions/pause-failing.js';
import { unblockRuns } from '../../store/runs/claim/unblock.js';
import { type Engine, lowerWatermarks } from '../engine.js';
import { followUp } from '../materialize/follow-chains.js';

export interface Committed {
  /** Concurrency keys under which slots are free now. */
  readonly freed: readonly string[] | null;
  /** The outbox has rows: other runs follow from those that ended. */
  readonly outboxWritten: boolean;
  /** Ids of runs that have ended dead. */
  readonly dead: readonly string[];
}

/**
 * Unblocks runs, pauses failing definitions and makes followers. Never throws: a failure is logged. Returns
 * in how many queue lanes runs were unblocked.
 */
export async function afterCommit(
  engine: Engine,
  { freed, outboxWritten, dead }: Committed,
): Promise<number> {
  let count = 0;
  try {
    if (freed && freed.length > 0) {
      const unblocked = await unblockRuns(engine.database, freed);
      lowerWatermarks(engine, unblocked);
      count = unblocked.length;
    }
    if (dead.length > 0) await pauseAndLog(engine, dead);
    if (outboxWritten) await followUp(engine);
  } catch (error) {
    engine.logger.warn(
      { event: 'after_commit.failed', error: String(error) },
      'what follows from ended runs could not be done now; the next reaping does it',
    );
  }
  return count;
}

async function pauseAndLog(engine: Engine, dead: readonly string[]): Promise<void> {
  for (const { name, job, pause_reason: reason } of await pauseFailing.run(engine.database, { dead })) {
    engine.logger.error(
      { event: 'definition.paused', definition: name, job, note: reason },
      `definition ${name} is ${reason}; fix it, then: tock resume ${name}`,
    );
  }
}
