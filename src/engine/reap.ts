// Room: engine, second of a tick. Takes back the runs whose lease has expired, before anything else is done:
// so recovery needs no schedule of its own.
// In: nothing. Out: how many are to be tried again, and how many are dead.
import { parseDuration } from '../model/duration.js';
import { DEFAULT_BASE, DEFAULT_MAX } from '../model/run/retry.js';
import { fixSlots } from '../store/runs/claim/unblock.js';
import {
  type ReapedBatch,
  type ReapedRuns,
  type ReapOptions,
  readExpired,
  reapRuns,
  type StoredBackoff,
} from '../store/runs/reap.js';
import { isDataError } from '../store/runs/set-aside.js';
import { type Engine, retryPolicyOf } from './engine.js';
import { settle } from './finalize/after-commit.js';
import { tellReapedDead } from './finalize/hooks.js';
import { eachByItself } from './set-aside.js';

const BATCH = 500;

/**
 * Reaps every expired lease, in batches, each a transaction of its own: a tick that is killed in between has lost
 * nothing. The attempt was counted at its claim, so that a run that kills its workers ends dead.
 */
export async function reap(engine: Engine): Promise<ReapedRuns> {
  const { base = DEFAULT_BASE, max = DEFAULT_MAX } = engine.settings.retry;
  const options = {
    limit: BATCH,
    backoffMs: parseDuration(base),
    maxBackoffMs: parseDuration(max),
    policies: backoffsOf(engine),
    canIsolate: engine.isolation !== null,
  };
  const total = { failed: 0, dead: 0, cancelled: 0 };
  for (;;) {
    const batch = await reapBatch(engine, options);
    total.failed += batch.failed;
    total.dead += batch.dead;
    total.cancelled += batch.cancelled;
    // What a process that died in between left undone, and what follows from what was just taken back.
    const outboxWritten = batch.outboxWritten || batch.has_outbox;
    await settle(engine, { freed: batch.freed, outboxWritten, dead: batch.dead_ids });
    await tellReapedDead(engine, batch.dead_ids);
    if (batch.has_limits) await fixSlots(engine.database);
    if (batch.failed + batch.dead + batch.cancelled < BATCH) break;
  }
  const count = total.failed + total.dead + total.cancelled;
  if (count > 0) {
    engine.logger.warn(
      { event: 'runs.reaped', ...total },
      `took back ${count} ${count === 1 ? 'run' : 'runs'} whose lease had expired, ${total.dead} of them dead, ${total.cancelled} cancelled`,
    );
  }
  return total;
}

/**
 * A batch; where it fails because of a row's data, of runs that are reaped one by one. What cannot be reaped even so is
 * left, and logged: whoever reaps has other things to do besides.
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
      'a reaping failed because of what some row holds; runs are reaped one by one',
    );
  }
  const { done: batches, failure } = await eachByItself(
    engine,
    await readExpired(database, options.limit),
    id => reapOnly({ ids: [id] }),
    ({ failed, dead, cancelled }) => failed + dead + cancelled > 0,
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
  };
}

/** How the runs of each job wait. What a function of the job would say of an expired lease is not asked. */
function backoffsOf(engine: Engine): StoredBackoff[] {
  return [...engine.registry.jobs.values()].flatMap(job => {
    if (job.retry === undefined) return [];
    const {
      backoff = 'exponential',
      base = DEFAULT_BASE,
      max = DEFAULT_MAX,
    } = retryPolicyOf(engine, job.name);
    const kind = typeof backoff === 'function' ? 'exponential' : backoff;
    return [{ job: job.name, backoff: kind, base: parseDuration(base), max: parseDuration(max) }];
  });
}
