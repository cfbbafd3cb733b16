// Keeps the figures of ended runs up to date: each process that ticks or beats counts a few minutes' runs.
import { afterStep, nextRollUpStep, type RollUpStep } from '../../model/metrics/roll-up.js';
import type { Database } from '../../store/connection/database.js';
import { isConnectionFailure } from '../../store/connection/errors.js';
import { areFiguresDue, lockProgress, takeStep, watchWriters } from '../../store/figures/roll-up.js';
import type { Engine } from '../engine.js';

/** How long one call goes on; it ends with the step that is under way. */
const BUDGET_MS = 250;
/** The most minutes that one step covers where nothing ended in the step before. */
const MAX_EMPTY_MINUTES = 28 * 24 * 60;
/** The most minutes that one step covers otherwise. */
const MAX_MINUTES = 24 * 60;
/** A step that counts fewer runs is short, and the next one may have more minutes. */
const FEW_RUNS = 2000;
const GROWTH = 8;

/**
 * Counts the runs that ended in minutes that are over, and sums up hours. Reads one row if there is nothing
 * to do. Each step is a short transaction. Of several processes at once one counts; the others leave.
 * @returns how many steps were taken
 */
export async function rollUp(
  database: Database,
  {
    signal,
    budgetMs = BUDGET_MS,
  }: { readonly signal?: AbortSignal | undefined; readonly budgetMs?: number } = {},
): Promise<number> {
  if (!(await areFiguresDue(database))) return 0;
  const { clock } = database;
  const until = clock.now() + budgetMs;
  let maxMinutes = 1;
  let steps = 0;
  let isMore: boolean;
  do {
    const taken = await takeNextStep(database, maxMinutes);
    if (taken === null) break;
    steps++;
    isMore = taken.isMore;
    // Where little ended, as in a night without ticks, it goes on in larger steps.
    if (taken.step.kind === 'count') maxMinutes = nextMaxMinutes(maxMinutes, taken.found);
  } while (isMore && !signal?.aborted && clock.now() < until);
  return steps;
}

function nextMaxMinutes(maxMinutes: number, runs: number): number {
  if (runs === 0) return Math.min(maxMinutes * GROWTH, MAX_EMPTY_MINUTES);
  if (runs < FEW_RUNS) return Math.min(maxMinutes * GROWTH, MAX_MINUTES);
  return Math.max(1, Math.floor(maxMinutes / GROWTH));
}

interface Taken {
  readonly step: RollUpStep;
  readonly found: number;
  readonly isMore: boolean;
}

/** Null: there was nothing to do, or another process does it. */
async function takeNextStep(database: Database, maxMinutes: number): Promise<Taken | null> {
  return await database.transaction(async session => {
    let progress = await lockProgress(session);
    if (progress === undefined) return null;
    let step = nextRollUpStep(progress, maxMinutes);
    if (step?.kind === 'watch') {
      const writersEnded = (await watchWriters(session, step.until)) === 0;
      progress = { ...progress, watchedUntil: step.until, writersEnded };
      step = nextRollUpStep(progress, maxMinutes);
    }
    if (step === null || step.kind === 'watch') return null;
    const found = await takeStep(session, step);
    return { step, found, isMore: nextRollUpStep(afterStep(progress, step), maxMinutes) !== null };
  });
}

/** {@link rollUp} for ticks, daemons and prune: never throws, and logs the first of several failures. */
export function createRollUp({
  database,
  logger,
}: Engine): (signal?: AbortSignal, budgetMs?: number) => Promise<void> {
  let hasFailed = false;
  return async (signal, budgetMs) => {
    try {
      await rollUp(database, { signal, ...(budgetMs === undefined ? {} : { budgetMs }) });
      hasFailed = false;
    } catch (error) {
      // The next step that needs the database reports that it is away.
      if (hasFailed || isConnectionFailure(error)) return;
      hasFailed = true;
      logger.warn(
        { event: 'figures.left', error: String(error) },
        `ended runs could not be counted: ${String(error)}. Nothing is lost: they are counted later, and read as they are until then`,
      );
    }
  };
}
