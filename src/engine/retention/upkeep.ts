// The upkeep of the history: the process whose turn it is makes coming partitions, and prunes what is old.

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
  /** What processes keep, if it is this one's turn to prune; null: it is not. */
  readonly kept: readonly Kept[] | null;
}

const NOTHING: Upkeep = { made: Promise.resolve(), kept: null };

/**
 * Asks, at almost no cost, what is this process's turn, and begins to make the coming partitions. Called by
 * daemons, once an hour, and by ticks with something to do.
 * @param isTick whether it has a budget: a copy might not end in it, and would be begun anew by each tick
 * @throws if the database cannot be reached
 */
export async function beginUpkeep(engine: Engine, isTick: boolean, signal?: AbortSignal): Promise<Upkeep> {
  try {
    const { areDue, kept } = await claimUpkeep(engine.database, {
      prunes: engine.settings.retention !== null && hasTwoConnections(engine),
      mayCopy: !isTick,
      hostMs: processIdentity().hostMs,
    });
    return { made: areDue ? makePartitions(engine, signal) : NOTHING.made, kept };
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
 * Prunes in this process's turn, by the longest of what processes keep. Where it does not get through,
 * somebody goes on in an hour. Never rejects.
 */
export async function pruneInTurn(
  engine: Engine,
  kept: readonly Kept[],
  way: Omit<PruneWay, 'mayTakeLong' | 'isByHand'>,
): Promise<void> {
  const { database, logger } = engine;
  const { retention: own } = engine.settings;
  if (own === null) return;
  const hasEnded = () => way.signal?.aborted === true;
  try {
    if (!hasEnded()) {
      // Where a copy holds one of two connections, handlers have none.
      const mayCopy = way.mayCopy && database.shares.max > 2;
      const retention = readRetention({ partition: own.partition }, longestOf([own, ...kept]));
      const { isBusy, left } = await pruneBy(engine, retention, { ...way, mayCopy });
      if (!isBusy && left.length === 0) return;
    }
  } catch (error) {
    if (!hasEnded())
      logger.warn(
        { event: 'history.unpruned', error: String(error) },
        `what is past its time could not be pruned: ${String(error)}. It is tried again in an hour; or run tock prune, as the owner`,
      );
  }
  await passOn(engine);
}

/** The turn comes again in an hour, to anybody; if that cannot be written, in a day. Never rejects. */
export async function passOn({ database, logger }: Engine): Promise<void> {
  await passOnRetention(database).catch((error: unknown) =>
    logger.debug({ event: 'history.kept', error: String(error) }, 'the turn to prune comes again in a day'),
  );
}
