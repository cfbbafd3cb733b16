// Looks for runs below the floors of a worker's claims, beside them, for as long as there are floors.
import { performance } from 'node:perf_hooks';
import { isConnectionFailure } from '../../store/connection/errors.js';
import { readBelow } from '../../store/runs/claim/walk.js';
import type { Engine } from '../engine.js';
import type { ClaimFloors } from './claim-floors.js';

export interface LooksBelow {
  /** To be called when floors are in use. Looks until they no longer are. */
  begin(): void;
  /** No more looks. One that is under way is not waited for, and changes nothing. */
  stop(): void;
}

export interface LooksBelowOptions {
  readonly floors: ClaimFloors;
  /** Whether the worker could claim what a look finds, and finds it in no other way. */
  readonly canLook: () => boolean;
  /** There are runs; floors are forgotten. */
  readonly onFound: () => void;
}

/** None yet. Each comes a pause after the last one; a look that fails is logged once, and tried again. */
export function createLooksBelow(
  { database, logger }: Engine,
  { floors, canLook, onFound }: LooksBelowOptions,
): LooksBelow {
  let timer: NodeJS.Timeout | undefined;
  let isStopped = false;
  let isFailing = false;

  const look = async () => {
    const sentAt = performance.now();
    try {
      const below = await readBelow(database, floors.used);
      isFailing = false;
      if (isStopped) return;
      floors.lookedBelow(below, sentAt, performance.now());
      if (below.hasRuns) onFound();
    } catch (error) {
      // Without a connection the claims fail too, and that is reported.
      if (isStopped || isFailing || isConnectionFailure(error)) return;
      isFailing = true;
      logger.warn(
        { event: 'claim.unlooked', error: String(error) },
        `cannot look for runs that were given back or enqueued for the past, so they wait: ${String(error)}; tock doctor names sessions whose snapshots keep ended runs from being vacuumed`,
      );
    }
  };

  const lookAndGoOn = async () => {
    if (floors.used.length > 0 && canLook()) await look();
    timer = undefined;
    begin();
  };

  const begin = () => {
    if (isStopped || timer !== undefined || floors.used.length === 0) return;
    timer = setTimeout(() => void lookAndGoOn(), floors.pauseMs);
    timer.unref();
  };

  return {
    begin,
    stop() {
      isStopped = true;
      clearTimeout(timer);
    },
  };
}
