// The second step of a tick: takes back runs whose lease has expired, so recovery needs no schedule.
import { type IsOver, NEVER_OVER } from '../model/clock.js';
import { parseDuration } from '../model/duration.js';
import { DEFAULT_BASE, DEFAULT_MAX, type RetryPolicy } from '../model/run/retry.js';
import { fixSlots } from '../store/runs/claim/unblock.js';
import { forgetFairKeys } from '../store/runs/fair/arrive.js';
import {
  beginReaping,
  type Found,
  NONE_REAPED,
  type ReapedBatch,
  type ReapedRuns,
  type ReapOptions,
  readExpired,
  reapRuns,
  type StoredBackoff,
} from '../store/runs/reap/reap.js';
import { isDataError } from '../store/runs/set-aside.js';
import { endAll } from './definitions/ends.js';
import { type Engine, expectRuns, lowerWatermarks, retryPolicyOf } from './engine.js';
import { afterCommit } from './finalize/after-commit.js';
import { writeDecided } from './finalize/decided.js';
import { notifyDead } from './finalize/hooks.js';
import { takeBackOffers } from './finalize/take-back-offers.js';
import { oneByOne } from './set-aside.js';

const BATCH_SIZE = 500;

const NOTHING_FOUND: Found = {
  hasLimits: false,
  hasOutbox: false,
  hasDecided: false,
  waitsForCode: false,
  hasFair: false,
  hasEnded: false,
  hasOffers: false,
  relaysToSql: false,
};

/** What a reaping did, and what it has found. */
export interface Reaping extends Found {
  readonly reaped: ReapedRuns;
  /** Its bound was over: leases may have expired that it has not reaped. */
  readonly isMore: boolean;
}

/**
 * Reaps every expired lease, in batches, each in its own transaction, until its bound is over: a tick that is
 * killed in between loses nothing. The attempt was counted at its claim, so a run that kills its workers ends
 * dead. Also writes what was decided elsewhere about runs that are handed off, and ends freezes, pauses and
 * what was set in queues where their time has come, and takes back what is offered in queues that are closed.
 * Where runs wait for code, the workers of this process check whether they know the jobs.
 */
export async function reap(engine: Engine, isOver: IsOver = NEVER_OVER): Promise<Reaping> {
  const { backoff, base, max } = storedBackoff(engine.settings.retry);
  const options = {
    limit: BATCH_SIZE,
    backoff,
    backoffMs: base,
    maxBackoffMs: max,
    policies: backoffsOf(engine),
    canIsolate: engine.isolation !== null,
  };
  const total = { failed: 0, dead: 0, cancelled: 0 };
  let found: Found;
  let isMore = true;
  do {
    const batch = await reapBatch(engine, options);
    found = batch.found;
    total.failed += batch.failed;
    total.dead += batch.dead;
    total.cancelled += batch.cancelled;
    // Follows up this batch, and whatever a process that died after its commit left undone.
    const { freed, dead_ids: dead } = batch;
    const outboxWritten = batch.outboxWritten || found.hasOutbox;
    await afterCommit(engine, { freed, outboxWritten, dead }, isOver);
    await notifyDead(engine, batch.dead_ids);
    if (found.hasDecided) await writeDecided(engine, isOver);
    if (found.hasLimits)
      lowerWatermarks(engine, await fixSlots(engine.database, { onRefused: logRefused(engine) }));
    isMore = batch.failed + batch.dead + batch.cancelled >= BATCH_SIZE;
  } while (isMore && !isOver());
  const count = total.failed + total.dead + total.cancelled;
  if (count > 0) {
    engine.logger.warn(
      { event: 'runs.reaped', ...total },
      `took back ${count} ${count === 1 ? 'run' : 'runs'} whose lease had expired, ${total.dead} of them dead, ${total.cancelled} cancelled`,
    );
  }
  if (found.hasEnded) await endAll(engine, isOver);
  if (found.hasOffers) await takeBackOffers(engine, isOver);
  if (found.waitsForCode) expectRuns(engine, 'waiting');
  if (found.hasFair) {
    await forgetFairKeys(engine.database);
    expectRuns(engine, 'fair');
  }
  return { ...found, reaped: total, isMore };
}

const logRefused =
  ({ logger }: Engine) =>
  (key: string, error: unknown) =>
    logger.error(
      { event: 'unblock.refused', key, error: String(error) },
      `the runs that wait for ${key} cannot be unblocked: ${String(error)}; they stay as they are`,
    );

/**
 * Reaps a batch; if a row's data make it fail, one run at a time. What cannot be reaped even so is logged and
 * left, because the tick has more to do.
 */
async function reapBatch(
  engine: Engine,
  options: ReapOptions,
): Promise<ReapedBatch & { readonly found: Found }> {
  const { database } = engine;
  let found = NOTHING_FOUND;
  const reapOnly = (more: Partial<ReapOptions> = {}) =>
    database.transaction(async session => {
      const { isMine, ...begun } = await beginReaping(session);
      found = begun;
      return isMine || more.ids !== undefined
        ? await reapRuns(session, { ...options, ...more })
        : NONE_REAPED;
    });
  try {
    return { ...(await reapOnly()), found };
  } catch (error) {
    if (!isDataError(error)) throw error;
    engine.logger.warn(
      { event: 'reap.singly', error: String(error) },
      "a reaping failed because of a row's data; runs are reaped one by one",
    );
  }
  const { done: batches, failure } = await oneByOne(
    engine,
    await readExpired(database, options.limit),
    id => reapOnly({ ids: [id] }),
    ({ failed, dead, cancelled }) => failed + dead + cancelled > 0,
    count => readExpired(database, count),
  );
  if (failure !== null)
    engine.logger.error(
      { event: 'reap.refused', error: String(failure.error) },
      `runs whose lease has expired cannot be taken back: ${String(failure.error)}; they stay as they are`,
    );
  const sum = (of: 'failed' | 'dead' | 'cancelled') => batches.reduce((total, batch) => total + batch[of], 0);
  return {
    failed: sum('failed'),
    dead: sum('dead'),
    cancelled: sum('cancelled'),
    dead_ids: batches.flatMap(batch => batch.dead_ids),
    freed: batches.flatMap(batch => batch.freed ?? []),
    outboxWritten: batches.some(batch => batch.outboxWritten),
    found,
  };
}

/** The backoff of each job that differs from the default. */
function backoffsOf(engine: Engine): StoredBackoff[] {
  return [...engine.registry.jobs.values()].flatMap(job => {
    if (job.retry === undefined) return [];
    const policy = storedBackoff(retryPolicyOf(engine, job.name));
    return [job.name, ...(job.aliases ?? [])].map(name => ({ job: name, ...policy }));
  });
}

/** A backoff that is a function is not called for an expired lease. */
function storedBackoff(policy: RetryPolicy): Omit<StoredBackoff, 'job'> {
  const { backoff = 'exponential', base = DEFAULT_BASE, max = DEFAULT_MAX } = policy;
  return {
    backoff: typeof backoff === 'function' ? 'exponential' : backoff,
    base: parseDuration(base),
    max: parseDuration(max),
  };
}
