// The second step of a tick: takes back runs whose lease has expired, so recovery needs no schedule.
import { type IsOver, NEVER_OVER } from '../model/clock.js';
import { parseDuration } from '../model/duration.js';
import { DEFAULT_BASE, DEFAULT_MAX, type RetryPolicy } from '../model/run/retry.js';
import { fixSlots } from '../store/runs/claim/unblock.js';
import { forgetFairKeys } from '../store/runs/fair/arrive.js';
import {
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

/** What a reaping did, and what it has found. */
export interface Reaping {
  readonly reaped: ReapedRuns;
  /** Its bound was over: leases may have expired that it has not reaped. */
  readonly isMore: boolean;
  readonly waitsForCode: boolean;
  readonly hasFair: boolean;
  readonly relaysToSql: boolean;
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
  let waitsForCode = false;
  let hasFair = false;
  let hasEnded = false;
  let hasOffers = false;
  let relaysToSql = false;
  let isMore = true;
  do {
    const batch = await reapBatch(engine, options);
    total.failed += batch.failed;
    total.dead += batch.dead;
    total.cancelled += batch.cancelled;
    // Follows up this batch, and whatever a process that died after its commit left undone.
    const { freed, dead_ids: dead } = batch;
    const outboxWritten = batch.outboxWritten || batch.has_outbox;
    await afterCommit(engine, { freed, outboxWritten, dead }, isOver);
    await notifyDead(engine, batch.dead_ids);
    if (batch.has_decided) await writeDecided(engine, isOver);
    if (batch.has_limits)
      lowerWatermarks(engine, await fixSlots(engine.database, { onRefused: logRefused(engine) }));
    waitsForCode ||= batch.waits_for_code;
    hasFair ||= batch.has_fair;
    hasEnded ||= batch.has_ended;
    hasOffers ||= batch.has_offers;
    relaysToSql ||= batch.relays_to_sql;
    isMore = batch.failed + batch.dead + batch.cancelled >= BATCH_SIZE;
  } while (isMore && !isOver());
  const count = total.failed + total.dead + total.cancelled;
  if (count > 0) {
    engine.logger.warn(
      { event: 'runs.reaped', ...total },
      `took back ${count} ${count === 1 ? 'run' : 'runs'} whose lease had expired, ${total.dead} of them dead, ${total.cancelled} cancelled`,
    );
  }
  if (hasEnded) await endAll(engine, isOver);
  if (hasOffers) await takeBackOffers(engine, isOver);
  if (waitsForCode) expectRuns(engine, 'waiting');
  if (hasFair) {
    await forgetFairKeys(engine.database);
    expectRuns(engine, 'fair');
  }
  return { reaped: total, isMore, waitsForCode, hasFair, relaysToSql };
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
async function reapBatch(engine: Engine, options: ReapOptions): Promise<ReapedBatch> {
  const { database } = engine;
  const reapOnly = (more: Partial<ReapOptions> = {}) =>
    database.transaction(session => reapRuns(session, { ...options, ...more }));
  try {
    return await reapOnly();
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
    has_limits: batches.some(batch => batch.has_limits),
    has_outbox: batches.some(batch => batch.has_outbox),
    has_decided: batches.some(batch => batch.has_decided),
    waits_for_code: batches.some(batch => batch.waits_for_code),
    has_fair: batches.some(batch => batch.has_fair),
    has_ended: batches.some(batch => batch.has_ended),
    has_offers: batches.some(batch => batch.has_offers),
    relays_to_sql: batches.some(batch => batch.relays_to_sql),
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
