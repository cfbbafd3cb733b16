// The upkeep of the history, by whoever's turn it is: the coming partitions are made, and what is old is pruned.

import { processIdentity } from '../../environment/process-identity.js';
import { type Kept, longestOf, readRetention } from '../../model/planning/retention.js';
import { isConnectionFailure } from '../../store/connection/errors.js';
import { makeComingPartitions } from '../../store/partitions/coming-partitions.js';
import { claimUpkeep, passOnRetention } from '../../store/partitions/upkeep.js';
import type { Engine } from '../engine.js';
import { hasTwoConnections, type PruneWay, pruneBy } from './prune.js';

export interface Upkeep {
  /** Resolves when the coming partitions are made, or cannot be. */
  readonly made: Promise<void>;
  /** What live workers keep, if it is this process's turn to prune; null: it is not. */
  readonly carried: readonly Kept[] | null;
}

const NOTHING: Upkeep = { made: Promise.resolve(), carried: null };

/**
 * Asks, at almost no cost, what is this process's turn, and begins to make the coming partitions. Called by daemons,
 * once an hour, and by ticks with something to do.
 * @throws if the database cannot be reached
 */
export async function beginUpkeep(engine: Engine, signal?: AbortSignal): Promise<Upkeep> {
  try {
    const prunes = engine.settings.retention !== null && hasTwoConnections(engine);
    const { areDue, carried } = await claimUpkeep(engine.database, {
      prunes,
      hostMs: processIdentity().hostMs,
    });
    return { made: areDue ? makePartitions(engine, signal) : NOTHING.made, carried };
  } catch (error) {
    if (isConnectionFailure(error)) throw error;
    warn(engine, String(error));
    return NOTHING;
  }
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

/**
 * Prunes in this process's turn, by the longest of what live workers keep. Where it does not get through, somebody
 * goes on in an hour. Never rejects.
 */
export async function pruneInTurn(engine: Engine, carried: readonly Kept[], way: PruneWay): Promise<void> {
  const { database, logger, settings } = engine;
  if (settings.retention === null) return;
  const own = settings.retention;
  try {
    const retention = readRetention({ partition: own.partition }, longestOf([own, ...carried]));
    const { isBusy, left } = await pruneBy(engine, retention, way);
    if (!isBusy && left.length === 0) return;
  } catch (error) {
    if (way.signal?.aborted !== true)
      logger.warn(
        { event: 'history.unpruned', error: String(error) },
        `what is past its time could not be pruned: ${String(error)}. It is tried again in an hour; or run tock prune, as the owner`,
      );
  }
  await passOnRetention(database).catch((error: unknown) =>
    logger.debug(
      { event: 'history.turn_kept', error: String(error) },
      'the turn to prune comes again in a day',
    ),
  );
}
