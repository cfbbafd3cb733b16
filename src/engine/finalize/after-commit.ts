// The work that follows once transitions of runs are committed. If the process dies before that work, the
// next reaping unblocks runs and makes followers; a failing definition is paused after its next dead run.
import { type IsOver, NEVER_OVER } from '../../model/clock.js';
import { pauseFailing } from '../../store/definitions/pause-failing.js';
import { unblockRuns } from '../../store/runs/claim/unblock.js';
import { fairKeysArrive, isFair, notifyFair, wakeHeldKeys } from '../../store/runs/fair/arrive.js';
import { type Engine, expectRuns, lowerWatermarks } from '../engine.js';
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
 * @param isOver followers that are left then, the next reaping makes. Default: none is left
 */
export async function afterCommit(
  engine: Engine,
  { freed, outboxWritten, dead }: Committed,
  isOver: IsOver = NEVER_OVER,
): Promise<number> {
  let count = 0;
  try {
    if (freed && freed.length > 0) {
      const unblocked = await unblockRuns(engine.database, freed);
      lowerWatermarks(engine, unblocked);
      count = unblocked.length;
      await wakeFair(engine, freed);
    }
    if (dead.length > 0) await pauseAndLog(engine, dead);
    if (outboxWritten) await followUp(engine, isOver);
  } catch (error) {
    engine.logger.warn(
      { event: 'after_commit.failed', error: String(error) },
      'what follows from ended runs could not be done now; the next reaping does it',
    );
  }
  return count;
}

/**
 * Makes followers as {@link afterCommit} does, one call at a time: those that come meanwhile share the next,
 * so that the ends of a large group are not followed up by transactions that wait for each other.
 */
export function createFollowUps(engine: Engine): () => Promise<unknown> {
  let current: Promise<unknown> | null = null;
  let next: Promise<unknown> | null = null;
  const begin = () => {
    next = null;
    current = afterCommit(engine, { freed: null, outboxWritten: true, dead: [] }).finally(() => {
      current = null;
    });
    return current;
  };
  return () => {
    if (current === null) return begin();
    next ??= current.then(begin);
    return next;
  };
}

/**
 * Fair keys whose own slots are free are ready, and those whose runs wait for another limit. A worker that
 * has ended the runs has room, and claims: other processes learn of it at their next poll. An operator's
 * process has no worker.
 */
async function wakeFair(engine: Engine, freed: readonly string[]): Promise<void> {
  const fair = freed.filter(isFair);
  await fairKeysArrive(engine.database, fair);
  const isUsed = [...engine.workers].some(worker => worker.usesFair);
  if (isUsed)
    await wakeHeldKeys(
      engine.database,
      freed.filter(key => !isFair(key)),
    );
  if (fair.length > 0 || isUsed) expectRuns(engine, 'fair');
  if (fair.length > 0 && engine.workers.size === 0) await notifyFair(engine.database);
}

async function pauseAndLog(engine: Engine, dead: readonly string[]): Promise<void> {
  for (const { name, job, pause_reason: reason } of await pauseFailing.run(engine.database, { dead })) {
    engine.logger.error(
      { event: 'definition.paused', definition: name, job, note: reason },
      `definition ${name} is ${reason}; fix it, then: tock resume ${name}`,
    );
  }
}
