// Room: engine/retention. Makes the coming partitions where nobody prunes.
// In: nothing. Out: partitions that are there in time; or a warning.

import { isConnectionFailure } from '../../store/connection/errors.js';
import { arePartitionsDue, makeComingPartitions } from '../../store/partitions/coming-partitions.js';
import type { Engine } from '../engine.js';

/** Work that goes on beside the runs. */
export interface Upkeep {
  /** Resolves when it is over, whatever came of it. */
  readonly done: Promise<void>;
}

/**
 * Asks whether partitions are to be made, which costs next to nothing, and begins. Ticks that have something
 * to do and daemons call it; of all of them one looks, once an hour.
 *
 * @throws what says that the database cannot be reached
 */
export async function beginUpkeep(engine: Engine, signal?: AbortSignal): Promise<Upkeep | null> {
  try {
    if (!(await arePartitionsDue(engine.database))) return null;
  } catch (error) {
    if (isConnectionFailure(error)) throw error;
    warn(engine, String(error));
    return null;
  }
  return { done: makePartitions(engine, signal) };
}

async function makePartitions(engine: Engine, signal: AbortSignal | undefined): Promise<void> {
  try {
    const { made, isLeft } = await makeComingPartitions(engine.database, { unit: null, signal });
    if (made > 0) engine.logger.info({ event: 'partitions.made', made }, `made ${made} coming partitions`);
    if (isLeft) warn(engine, 'somebody held locks on the history for too long');
  } catch (error) {
    if (signal?.aborted !== true) warn(engine, String(error));
  }
}

function warn(engine: Engine, error: string): void {
  engine.logger.warn(
    { event: 'partitions.left', error },
    `the coming partitions could not be made: ${error}. They are tried again in an hour; or run tock prune, or tock migrate, as the owner`,
  );
}
