// Room: engine. What is done when a statement over many runs fails because of the data of one: each is tried by itself, and
// the one with which it fails is set aside, so that the others go on.
// In: the error, and what to try. Out: what it gave for the others.
//
// A constraint or a trigger of somebody's own makes it fail with all of them. That is no reason to end them: unless it
// succeeds with some, only those are set aside whose rows are out of bounds.

import { sqlState } from '../store/connection/errors.js';
import { pauseQueue } from '../store/reads/queues.js';
import type { Admitted } from '../store/runs/claim/admit.js';
import { type Claim, type ClaimOptions, claimFreeRun, readClaimable } from '../store/runs/claim/claim.js';
import { type Blame, isDataError, probeQueue, readQueueNames, setRunAside } from '../store/runs/set-aside.js';
import type { Engine } from './engine.js';
import { settle } from './finalize/after-commit.js';
import { tellReapedDead } from './finalize/hooks.js';
import { reasonOf } from './materialize/broken-definition.js';

/** Few, since each is claimed by itself while the leases of those before run; the next claim is for all again. */
const MOST_CLAIMED_SINGLY = 100;

/** Ends a run dead whose row makes statements fail. Whether it was there to be ended, and is to blame. */
export async function setAside(engine: Engine, id: string, blame: Blame): Promise<boolean> {
  const { reason, freed, outboxWritten } = await setRunAside(engine.database, id, blame);
  if (reason === null) return false;
  engine.logger.error({ event: 'run.set_aside', run_id: id, reason }, `run ${id} is dead: ${reason}`);
  await settle(engine, { freed, outboxWritten, dead: [id] });
  await tellReapedDead(engine, [id]);
  return true;
}

/** What was done, and what it failed with where that explains nothing: none was set aside, and nothing moved. */
export interface DoneSingly<T> {
  readonly done: readonly T[];
  readonly failure: { readonly error: unknown } | null;
}

/**
 * Does `work` for each run by itself, and sets aside those whose data make it fail. One that cannot even be set aside stays
 * as it is.
 *
 * @param hasMoved whether it did something with the run
 */
export async function eachByItself<T>(
  engine: Engine,
  ids: readonly string[],
  work: (id: string) => Promise<T>,
  hasMoved: (done: T) => boolean,
): Promise<DoneSingly<T>> {
  const done: T[] = [];
  const failed: { readonly id: string; readonly error: unknown }[] = [];
  for (const id of ids) {
    try {
      done.push(await work(id));
    } catch (error) {
      if (!isDataError(error)) throw error;
      failed.push({ id, error });
    }
  }
  const isToBlame = done.some(hasMoved);
  let isExplained = isToBlame || failed.length === 0;
  for (const { id, error } of failed) {
    try {
      if (await setAside(engine, id, { reason: reasonOf(error), isToBlame })) isExplained = true;
    } catch (refusal) {
      if (!isDataError(refusal)) throw refusal;
      engine.logger.error(
        { event: 'run.refused', run_id: id, error: String(refusal), code: sqlState(refusal) },
        `PostgreSQL refuses what would become of run ${id}; it stays as it is`,
      );
    }
  }
  return { done, failure: isExplained ? null : { error: failed[0]?.error } };
}

/** As `claim`; where it fails because of a row's data, the runs that are due are claimed one by one. */
export async function claimDespite(
  engine: Engine,
  options: ClaimOptions,
  claim: () => Promise<Claim>,
): Promise<Claim> {
  const { database } = engine;
  let cause: unknown;
  try {
    return await claim();
  } catch (error) {
    if (!isDataError(error)) throw error;
    cause = error;
    engine.logger.warn(
      { event: 'claim.singly', error: String(error) },
      'a claim failed because of what some row holds; runs are claimed one by one',
    );
  }
  const paused = await pauseBadQueues(engine);
  const limit = Math.min(options.limit, MOST_CLAIMED_SINGLY);
  const ids = await readClaimable(database, { limit, queues: options.queues });
  if (ids.length === 0 && paused === 0) throw cause;
  const { done: claims, failure } = await eachByItself(
    engine,
    ids,
    id => claimFreeRun(database, id, options),
    ({ runs }) => runs.length > 0,
  );
  if (failure !== null) throw failure.error;
  return {
    runs: claims.flatMap(each => each.runs),
    limited: claims.flatMap(each => each.limited),
    positions: [],
    // What the next claim finds, of all that is due.
    hasMore: ids.length > 0,
  };
}

/** As `admit`; where it fails because of a row's data, for one run at a time. */
export async function admitDespite(
  engine: Engine,
  ids: readonly string[],
  admit: (ids: readonly string[]) => Promise<Admitted>,
): Promise<Admitted> {
  try {
    return await admit(ids);
  } catch (error) {
    if (!isDataError(error)) throw error;
  }
  await pauseBadQueues(engine);
  const { done, failure } = await eachByItself(
    engine,
    ids,
    id => admit([id]),
    ({ admitted }) => admitted.length > 0,
  );
  return {
    admitted: done.flatMap(each => each.admitted),
    failure: failure ?? done.find(each => each.failure !== null)?.failure ?? null,
  };
}

/** Pauses the queues of which nobody can say whether they are open: each claim would fail. Returns how many. */
async function pauseBadQueues(engine: Engine): Promise<number> {
  const { database, logger } = engine;
  let count = 0;
  for (const name of await readQueueNames(database)) {
    try {
      await probeQueue(database, name);
    } catch (error) {
      if (!isDataError(error)) throw error;
      const note = `its limits cannot be read: ${reasonOf(error)}; set them anew, then resume it`;
      await pauseQueue(database, name, note.slice(0, 500));
      count++;
      logger.error({ event: 'queue.paused', queue: name, note }, `queue ${name} is paused: ${note}`);
    }
  }
  return count;
}
