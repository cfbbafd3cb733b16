// Keeps one bad row from failing a statement over many runs: each run is tried alone, and the bad one ends
// dead.
//
// An app's own constraint or trigger may reject every row. That is no reason to end them all: unless the
// statement succeeds for some run, only those are set aside whose rows hold values out of bounds.

import type { Session } from '../store/connection/database.js';
import { sqlState } from '../store/connection/errors.js';
import { pauseQueue } from '../store/reads/queues.js';
import { type Admitted, admitRuns, type Lease } from '../store/runs/claim/admit.js';
import { type Claim, type ClaimOptions, claimFreeRun, readClaimable } from '../store/runs/claim/claim.js';
import { readWaitingRuns } from '../store/runs/claim/waiting/claim-waiting.js';
import { giveTurn, readFirstRuns } from '../store/runs/fair/single-turns.js';
import { type Blame, isDataError, probeQueue, readQueueNames, setRunAside } from '../store/runs/set-aside.js';
import type { Engine } from './engine.js';
import { afterCommit } from './finalize/after-commit.js';
import { notifyDead } from './finalize/hooks.js';
import { reasonOf } from './materialize/broken-definition.js';

/** Few, because the leases of the first run while the others are claimed; the next claim is for all again. */
const MAX_CLAIMED_SINGLY = 100;
/** Where none of the first can be moved, others may follow that can. */
const MAX_TRIED = 1000;

/** Ends a run dead whose row makes statements fail. False if the run is gone, or its row is not to blame. */
export async function setAside(engine: Engine, id: string, blame: Blame): Promise<boolean> {
  const { reason, freed, outboxWritten } = await setRunAside(engine.database, id, blame);
  if (reason === null) return false;
  engine.logger.error({ event: 'run.set_aside', run_id: id, reason }, `run ${id} is dead: ${reason}`);
  await afterCommit(engine, { freed, outboxWritten, dead: [id] });
  await notifyDead(engine, [id]);
  return true;
}

export interface OneByOne<T> {
  readonly done: readonly T[];
  /** An error that no bad row explains: no run was moved and none was set aside. */
  readonly failure: { readonly error: unknown } | null;
}

/**
 * Does `work` for one run at a time, and sets aside those whose data make it fail. A run that cannot even be
 * set aside stays as it is.
 * @param hasMoved whether the work changed the run
 * @param readFirst reads so many of the first runs, those of `ids` among them: where none of these moves,
 * what lies behind them is tried too
 */
export async function oneByOne<T>(
  engine: Engine,
  ids: readonly string[],
  work: (id: string) => Promise<T>,
  hasMoved: (done: T) => boolean,
  readFirst?: (count: number) => Promise<readonly string[]>,
): Promise<OneByOne<T>> {
  const done: T[] = [];
  const failed: { readonly id: string; readonly error: unknown }[] = [];
  const tried = new Set<string>();
  for (let next = ids; next.length > 0; ) {
    for (const id of next) {
      tried.add(id);
      try {
        done.push(await work(id));
      } catch (error) {
        if (!isDataError(error)) throw error;
        failed.push({ id, error });
      }
    }
    if (readFirst === undefined || done.some(hasMoved) || tried.size >= MAX_TRIED) break;
    next = (await readFirst(tried.size + ids.length)).filter(id => !tried.has(id));
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

/** How runs are claimed one by one. */
interface Singly {
  readonly read: (session: Session, options: ClaimOptions) => Promise<string[]>;
  readonly claim: (session: Session, id: string, options: ClaimOptions) => Promise<Claim>;
  /** Whether the claim has changed the run. */
  readonly hasMoved: (claim: Claim) => boolean;
}

const PLAIN: Singly = { read: readClaimable, claim: claimFreeRun, hasMoved: ({ runs }) => runs.length > 0 };

/** Of fair keys: each run is given its turn, and is admitted. */
export const FAIR: Singly = {
  read: readFirstRuns,
  claim: giveTurn,
  hasMoved: ({ needsAdmission }) => needsAdmission.length > 0,
};

/** Of runs that wait for code with these jobs, which this process has. */
export const waitingFor = (jobs: readonly string[]): Singly => ({
  read: (session, options) => readWaitingRuns(session, jobs, options),
  claim: (session, id, options) => claimFreeRun(session, id, options, { jobs }),
  hasMoved: PLAIN.hasMoved,
});

/** Runs `claim`. If a row's data make it fail, claims the due runs one by one instead. */
export async function claimDespiteBadRows<Whole extends Claim>(
  engine: Engine,
  options: ClaimOptions,
  claim: () => Promise<Whole>,
  singly: Singly = PLAIN,
): Promise<Whole | Claim> {
  const { database } = engine;
  let cause: unknown;
  try {
    return await claim();
  } catch (error) {
    if (!isDataError(error)) throw error;
    cause = error;
    engine.logger.warn(
      { event: 'claim.singly', error: String(error) },
      "a claim failed because of a row's data; runs are claimed one by one",
    );
  }
  const paused = await pauseBadQueues(engine);
  const limit = Math.min(options.limit, MAX_CLAIMED_SINGLY);
  const read = (count: number) => singly.read(database, { ...options, limit: count });
  const ids = await read(limit);
  if (ids.length === 0 && paused === 0) throw cause;
  const { done: claims, failure } = await oneByOne(
    engine,
    ids,
    id => singly.claim(database, id, options),
    singly.hasMoved,
    read,
  );
  if (failure !== null) throw failure.error;
  return {
    runs: claims.flatMap(claimed => claimed.runs),
    needsAdmission: claims.flatMap(claimed => claimed.needsAdmission),
    lanes: [],
    // The next claim is for all due runs again.
    hasMore: ids.length > 0,
  };
}

/** As `admitRuns`. If a row's data make it fail, admits one run at a time instead. */
export async function admitDespiteBadRows(
  engine: Engine,
  ids: readonly string[],
  lease: Lease,
): Promise<Admitted> {
  const admit = (some: readonly string[]) => admitRuns(engine.database, some, lease);
  let first: Admitted = { admitted: [], unblocked: [], failure: null, waitsForTurn: false };
  try {
    const answer = await admit(ids);
    if (answer.failure === null || !isDataError(answer.failure.error)) return answer;
    first = answer;
  } catch (error) {
    if (!isDataError(error)) throw error;
  }
  const admittedFirst = new Set(first.admitted.map(run => run.id));
  const others = ids.filter(id => !admittedFirst.has(id)).slice(0, MAX_CLAIMED_SINGLY);
  try {
    return await admitSingly(engine, first, others, admit);
  } catch (error) {
    if (first.admitted.length === 0) throw error;
    return { ...first, failure: { error } };
  }
}

async function admitSingly(
  engine: Engine,
  first: Admitted,
  others: readonly string[],
  admit: (ids: readonly string[]) => Promise<Admitted>,
): Promise<Admitted> {
  await pauseBadQueues(engine);
  const { done, failure } = await oneByOne(
    engine,
    others,
    id => admit([id]),
    ({ admitted }) => admitted.length > 0,
  );
  return {
    admitted: [...first.admitted, ...done.flatMap(admission => admission.admitted)],
    unblocked: [...first.unblocked, ...done.flatMap(admission => admission.unblocked)],
    failure: failure ?? done.find(admission => admission.failure !== null)?.failure ?? null,
    waitsForTurn: [first, ...done].some(admission => admission.waitsForTurn),
  };
}

/** Pauses queues whose limits cannot be evaluated, as each claim would fail on them. Returns how many. */
async function pauseBadQueues(engine: Engine): Promise<number> {
  const { database, logger } = engine;
  let count = 0;
  for (const name of await readQueueNames(database)) {
    try {
      await probeQueue(database, name);
    } catch (error) {
      if (!isDataError(error)) throw error;
      const note = `its limits cannot be read: ${reasonOf(error)}; set them again, then resume it`;
      await pauseQueue(database, name, note.slice(0, 500));
      count++;
      logger.error({ event: 'queue.paused', queue: name, note }, `queue ${name} is paused: ${note}`);
    }
  }
  return count;
}
