// Removes what is old: finished runs by their partitions, keys and effects in small batches. No statement
// holds a lock for long.
import { TockError } from '../../model/errors.js';
import {
  fateOf,
  type Partition,
  type Retention,
  readRetention,
  unitOf,
} from '../../model/planning/retention.js';
import type { PruneOptions, PruneResult } from '../../model/scheduler-view.js';
import { readClock } from '../../store/connection/clock.js';
import { makeComingPartitions } from '../../store/partitions/coming-partitions.js';
import {
  type Cutoffs,
  deleteKeys,
  deleteRuns,
  readPartitions,
  readVolume,
  type Slice,
  withRetentionLock,
} from '../../store/partitions/partitions.js';
import type { Engine } from '../engine.js';
import { compactPartition, dropLeftovers, dropPartition, type PrunedPartitions } from './drop-partitions.js';
import { pruneLogs } from './prune-logs.js';
import { type Stop, walkBlocks } from './walk-blocks.js';

const BATCH = 5000;

/**
 * Removes finished runs that ended longer ago than `keep` says for their state, and keys and effects older
 * than `keepKeys`; makes the coming partitions. Safe to repeat, and after a crash at any point: the next one
 * finishes.
 *
 * Logs of runs go by segments, as `keepLogs` says. A partition goes when the shortest keep is over for all of it. Runs in it that stay are moved to a small
 * partition of the same span, which replaces it in one transaction. In monthly partitions, and in kept or
 * default ones, single runs are deleted in batches before that; a daily one waits for its end.
 *
 * The exclusive lock on `job_runs_finished` is requested with a short lock_timeout, several times; without it
 * the rest is `left` to the next prune. Of two prunes at once the second one does nothing: an advisory lock
 * of a transaction that stays open meanwhile, on a connection of its own.
 * @throws TockError TOCK_BAD_OPTION, TOCK_BAD_DURATION
 */
export async function prune(engine: Engine, options: PruneOptions = {}): Promise<PruneResult> {
  const retention = readRetention(options);
  const { database } = engine;
  if ((database.pool.options?.max ?? 2) < 2) {
    throw new TockError(
      'TOCK_BAD_OPTION',
      'prune needs two connections, one of which holds its lock; raise connections, or max of the pool',
    );
  }
  const result = await withRetentionLock(database, () => pruneLocked(engine, retention, options));
  return result ?? { ...NOTHING, isBusy: true };
}

const NOTHING: PruneResult = {
  droppedPartitions: [],
  keptRuns: 0,
  deletedRuns: 0,
  deletedKeys: 0,
  deletedEffects: 0,
  madePartitions: 0,
  partition: 'month',
  left: [],
  isBusy: false,
};

async function pruneLocked(engine: Engine, retention: Retention, stop: Stop): Promise<PruneResult> {
  const { database } = engine;
  const now = (await readClock(database)).getTime();
  const cutoffs = cutoffsAt(now, retention);
  const pruned: PrunedPartitions = { dropped: [], left: [], keptRuns: 0 };
  await dropLeftovers(engine, pruned, stop);
  const unit = unitOf(retention.partition, await readVolume(database));
  const { made, isLeft } = await makeComingPartitions(database, { unit, mayTakeLong: true, ...stop });
  if (isLeft) pruned.left.push('coming partitions');
  await prunePartitions(engine, retention, { now, cutoffs, pruned, stop });
  await pruneLogs(engine, retention, pruned, stop);
  const result: PruneResult = {
    droppedPartitions: pruned.dropped,
    keptRuns: pruned.keptRuns,
    deletedRuns: await deleteOldRuns(engine, retention, { now, cutoffs, stop }),
    deletedKeys:
      (await deleteOld(engine, 'job_keys', now - retention.keepKeysMs, stop)) +
      (await deleteOld(engine, 'job_occurrences', now - retention.keepKeysMs, stop)),
    deletedEffects: await deleteOld(engine, 'job_effects', now - retention.keepKeysMs, stop),
    madePartitions: made,
    partition: unit,
    left: pruned.left,
    isBusy: false,
  };
  engine.logger.info({ event: 'history.pruned', ...result }, 'history pruned');
  return result;
}

function cutoffsAt(now: number, { keepMs }: Retention): Cutoffs {
  return {
    succeeded: now - keepMs.succeeded,
    dead: now - keepMs.dead,
    cancelled: now - keepMs.cancelled,
    skipped: now - keepMs.skipped,
  };
}

interface Pruning {
  readonly now: number;
  readonly cutoffs: Cutoffs;
  readonly stop: Stop;
}

/** Oldest first. If one cannot be locked, the rest waits: each further try would hold up traffic again. */
async function prunePartitions(
  engine: Engine,
  retention: Retention,
  { now, cutoffs, pruned, stop }: Pruning & { readonly pruned: PrunedPartitions },
): Promise<void> {
  const due = (await readPartitions(engine.database))
    .map(partition => ({ partition, action: fateOf(partition, retention, now) }))
    .filter(({ action }) => action === 'drop' || action === 'compact');
  for (const [index, { partition, action }] of due.entries()) {
    const isGone =
      action === 'drop'
        ? await dropPartition(engine, partition, pruned, stop)
        : await compactPartition(engine, partition, cutoffs, pruned, stop);
    if (isGone) continue;
    pruned.left.push(...due.slice(index).map(each => each.partition.name));
    return;
  }
}

async function deleteOldRuns(
  engine: Engine,
  retention: Retention,
  { now, cutoffs, stop }: Pruning,
): Promise<number> {
  const hasOld = (partition: Partition) => fateOf(partition, retention, now) === 'delete-runs';
  let total = 0;
  for (const { name } of (await readPartitions(engine.database)).filter(hasOld)) {
    const remove = (slice: Slice) => deleteRuns(engine.database, name, cutoffs, slice, BATCH);
    total += await inBatches(engine, name, `old runs in ${name}`, remove, stop);
  }
  return total;
}

async function deleteOld(
  engine: Engine,
  table: 'job_keys' | 'job_occurrences' | 'job_effects',
  before: number,
  stop: Stop,
): Promise<number> {
  const remove = (slice: Slice) => deleteKeys(engine.database, table, before, slice, BATCH);
  return await inBatches(engine, table, `old rows of ${table}`, remove, stop);
}

async function inBatches(
  engine: Engine,
  table: string,
  stage: string,
  remove: (slice: Slice) => Promise<number>,
  stop: Stop,
): Promise<number> {
  let total = 0;
  const visit = async (slice: Slice) => {
    for (;;) {
      stop.signal?.throwIfAborted();
      const count = await remove(slice);
      total += count;
      if (count < BATCH) return;
    }
  };
  await walkBlocks(engine.database, table, stage, visit, stop);
  return total;
}
