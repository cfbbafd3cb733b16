// Creates the coming partitions in time, or warns, if no prune does.

import { isConnectionFailure } from '../../store/connection/errors.js';
import { arePartitionsDue, makeComingPartitions } from '../../store/partitions/coming-partitions.js';
import type { Engine } from '../engine.js';

export interface Upkeep {
  /** Resolves when it is over, whatever the result. */
  readonly done: Promise<void>;
}

/**
 * Asks, at almost no cost, whether partitions are to be made, and begins. Called by daemons, and by ticks
 * with something to do; of all of them one checks, once an hour.
 * @throws if the database cannot be reached
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
    if (isLeft) warn(engine, 'another session held locks on the history for too long');
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
