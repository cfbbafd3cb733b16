// Room: engine, second of a tick. Takes back the runs whose lease has expired, before anything else is done:
// so recovery needs no schedule of its own.
// In: nothing. Out: how many are to be tried again, and how many are dead.
import { parseDuration } from '../model/duration.js';
import { DEFAULT_BASE, DEFAULT_MAX } from '../model/retry.js';
import { mendLimits } from '../store/admit-runs.js';
import { isUnstorable, sqlState } from '../store/database-errors.js';
import {
  type ReapedBatch,
  type ReapedRuns,
  readExpired,
  reapRuns,
  type StoredBackoff,
} from '../store/reap-runs.js';
import { settle } from './aftermath.js';
import { type Engine, retryPolicyOf } from './engine.js';
import { tellReapedDead } from './hooks.js';

const BATCH = 500;

type Options = Parameters<typeof reapRuns>[1];

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
  };
  const total = { failed: 0, dead: 0, cancelled: 0 };
  for (;;) {
    const batch = await reapBatch(engine, options);
    total.failed += batch.failed;
    total.dead += batch.dead;
    total.cancelled += batch.cancelled;
    // What a process that died in between left undone, and what follows from what was just taken back.
    await settle(engine, { freed: batch.freed, told: batch.told || batch.has_outbox, dead: batch.dead_ids });
    await tellReapedDead(engine, batch.dead_ids);
    if (batch.has_limits) await mendLimits(engine.database);
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

/** Where PostgreSQL can never store what becomes of one, the others are taken back one by one, and that one is left. */
async function reapBatch(engine: Engine, options: Options): Promise<ReapedBatch> {
  const { database, logger } = engine;
  try {
    return await database.transaction(session => reapRuns(session, options));
  } catch (error) {
    if (!isUnstorable(error)) throw error;
  }
  let sum = NOTHING;
  for (const id of await readExpired(database, options.limit)) {
    try {
      sum = plus(sum, await database.transaction(session => reapRuns(session, { ...options, id })));
    } catch (error) {
      if (!isUnstorable(error)) throw error;
      logger.error(
        { event: 'reap.refused', run_id: id, error: String(error), code: sqlState(error) },
        'PostgreSQL refuses what would become of a run whose lease has expired; it stays as it is',
      );
    }
  }
  return sum;
}

const NOTHING: ReapedBatch = {
  failed: 0,
  dead: 0,
  cancelled: 0,
  dead_ids: [],
  freed: null,
  told: false,
  has_limits: false,
  has_outbox: false,
};

function plus(a: ReapedBatch, b: ReapedBatch): ReapedBatch {
  return {
    failed: a.failed + b.failed,
    dead: a.dead + b.dead,
    cancelled: a.cancelled + b.cancelled,
    dead_ids: [...a.dead_ids, ...b.dead_ids],
    freed: [...new Set([...(a.freed ?? []), ...(b.freed ?? [])])].sort(),
    told: a.told || b.told,
    has_limits: a.has_limits || b.has_limits,
    has_outbox: a.has_outbox || b.has_outbox,
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
