// Removes what is old: finished runs by their partitions, keys and effects in small batches. No statement
// holds a lock for long.
import { MAX_TARGETS } from '../../model/audit.js';
import { TockError } from '../../model/errors.js';
import {
  fateOf,
  longestOf,
  type Partition,
  type Retention,
  readRetention,
  unitOf,
} from '../../model/planning/retention.js';
import type { PruneOptions, PruneResult } from '../../model/scheduler-view.js';
import { readClock } from '../../store/connection/clock.js';
import { isTableMissing } from '../../store/connection/errors.js';
import { makeComingPartitions } from '../../store/partitions/coming-partitions.js';
import {
  type Cutoffs,
  deleteKeys,
  deleteRuns,
  deleteVersions,
  notePruned,
  readPartitions,
  readVolume,
  type Slice,
  withRetentionLock,
} from '../../store/partitions/partitions.js';
import { noteWholePrune, readKept } from '../../store/partitions/upkeep.js';
import { deleteOldChanges, numberAllChanges } from '../../store/reads/changes/changes.js';
import { audit } from '../audit.js';
import type { Engine } from '../engine.js';
import { createRollUp } from '../metrics/roll-up.js';
import { compactPartition, dropLeftovers, dropPartition, type PrunedPartitions } from './drop-partitions.js';
import { pruneLogs } from './prune-logs.js';
import { inPace, type Stop, walkBlocks } from './walk-blocks.js';

const BATCH = 5000;
const KEEP_CHANGES_MS = 7 * 86_400_000;
/** How long ended runs may be counted before any is dropped. */
const ROLL_UP_MS = 60_000;

/**
 * Removes finished runs that ended longer ago than `keep` says for their state, keys and effects older than
 * `keepKeys`, logs of runs older than `keepLogs`, rows of the audit older than `keepAudit`, and events older
 * than `keepEvents`; makes the coming partitions. Safe to repeat, and after a crash at any point: the next
 * one finishes.
 *
 * A partition goes when the shortest keep is over for all of it. Runs in it that stay are moved to a small
 * partition of the same span, which replaces it in one transaction. In monthly partitions, and in kept or
 * default ones, single runs are deleted in batches before that; a daily one waits for its end.
 *
 * The exclusive lock on `job_runs_finished` is requested with a short lock_timeout, several times; without it
 * the rest is `left` to the next prune. While one changes partitions, another one does nothing: an advisory
 * lock of a transaction that stays open meanwhile, on a connection of its own. Each batch of runs takes it.
 * @param isByHand the audit gets a row with what was removed, also if the prune fails or is stopped halfway
 * @throws TockError TOCK_BAD_OPTION, TOCK_BAD_DURATION
 */
export async function prune(
  engine: Engine,
  options: PruneOptions = {},
  { isByHand = false } = {},
): Promise<PruneResult> {
  readRetention(options);
  const { database, settings } = engine;
  if (!hasTwoConnections(engine)) {
    throw new TockError(
      'TOCK_BAD_OPTION',
      'prune needs two connections, one of which holds its lock; raise connections, or max of the pool',
    );
  }
  const own = settings.retention === null ? [] : [settings.retention];
  const others = (await readKept(database)).filter(each => each !== false);
  const retention = readRetention(options, longestOf([...own, ...others]));
  const { onProgress, signal } = options;
  const way = { onProgress, signal, mayCopy: true, mayTakeLong: true, isByHand };
  return await pruneBy(engine, retention, way);
}

/** One connection holds the lock while the other one works. */
export const hasTwoConnections = ({ database }: Engine): boolean => database.shares.max >= 2;

/** What ends a prune, and what it may do. */
export interface PruneWay extends Stop {
  /** What stays of a partition may be copied, so that the rest goes at once. If not, it goes in batches. */
  readonly mayCopy: boolean;
  /** Whether making the coming partitions may scan for longer than a statement may take. */
  readonly mayTakeLong?: boolean;
  /** The audit gets a row of it. */
  readonly isByHand?: boolean;
}

/** {@link prune}, by what was read of its options. */
export async function pruneBy(engine: Engine, retention: Retention, way: PruneWay): Promise<PruneResult> {
  const done = nothingDone();
  try {
    const isBusy = !(await pruneAll(engine, retention, way, done));
    const result = { ...resultOf(done, retention), isBusy };
    if (!isBusy && done.left.length === 0) await noteWholePrune(engine.database);
    engine.logger.info({ event: 'history.pruned', ...result }, 'history pruned');
    if (way.isByHand) await auditPrune(engine, done, false);
    return result;
  } catch (error) {
    // What it has removed stays so.
    if (way.isByHand) await auditPrune(engine, done, true).catch(() => undefined);
    throw error;
  }
}

/** Small tables first: what takes long keeps nothing waiting. Returns whether all was done. */
async function pruneAll(engine: Engine, retention: Retention, way: PruneWay, done: Done): Promise<boolean> {
  const { database } = engine;
  // What is dropped is counted before.
  await createRollUp(engine)(way.signal, ROLL_UP_MS);
  const now = (await readClock(database)).getTime();
  const pruning = { now, cutoffs: cutoffsAt(now, retention), done, way };
  await deleteSmall(engine, retention, pruning);
  const changed = await withRetentionLock(database, async () => {
    await changePartitions(engine, retention, pruning);
    return true;
  });
  if (changed === null || !(await deleteOldRuns(engine, retention, pruning))) return false;
  await deleteOld(engine, 'job_keys', now - retention.keepKeysMs, pruning, 'deletedKeys');
  await notePruned(database, 'pruned-keys', now - retention.keepKeysMs);
  await deleteOld(engine, 'job_occurrences', now - retention.keepKeysMs, pruning, 'deletedKeys');
  return true;
}

/** What a prune has done so far. */
interface Done extends PrunedPartitions {
  deletedRuns: number;
  deletedKeys: number;
  deletedEffects: number;
  deletedEvents: number;
  deletedAudit: number;
  madePartitions: number;
  unit: 'month' | 'day';
}

const nothingDone = (): Done => ({
  dropped: [],
  left: [],
  keptRuns: 0,
  deletedRuns: 0,
  deletedKeys: 0,
  deletedEffects: 0,
  deletedEvents: 0,
  deletedAudit: 0,
  madePartitions: 0,
  unit: 'month',
});

function resultOf({ dropped, unit, ...counts }: Done, retention: Retention): PruneResult {
  const {
    keepMs,
    keepKeysMs: keys,
    keepLogsMs: logs,
    keepAuditMs: audited,
    keepEventsMs: events,
  } = retention;
  const keeps = { ...keepMs, keys, logs, audit: audited, events };
  return { keeps, ...counts, droppedPartitions: dropped, partition: unit, isBusy: false };
}

async function auditPrune(engine: Engine, done: Done, isStopped: boolean): Promise<void> {
  const { dropped, left: _left, unit: _unit, ...counts } = done;
  const isIdle = dropped.length === 0 && Object.values(counts).every(count => count === 0);
  const details = {
    ...counts,
    droppedPartitions: dropped.slice(0, MAX_TARGETS),
    isStopped: isStopped || undefined,
  };
  await audit(engine.database, engine, { action: 'prune', targets: [], count: isIdle ? 0 : 1, details });
}

async function changePartitions(engine: Engine, retention: Retention, pruning: Pruning): Promise<void> {
  const { database } = engine;
  const { now, done, way } = pruning;
  await dropLeftovers(engine, done, way);
  done.unit = unitOf(retention.partition, await readVolume(database));
  const { signal } = way;
  const coming = await makeComingPartitions(database, {
    unit: done.unit,
    mayTakeLong: way.mayTakeLong === true,
    signal,
  });
  done.madePartitions = coming.made;
  if (coming.isLeft) done.left.push('coming partitions');
  await notePruned(database, 'pruned-runs', now - retention.shortestMs);
  await prunePartitions(engine, retention, pruning);
  await pruneLogs(engine, retention, done, way);
}

async function deleteSmall(engine: Engine, retention: Retention, pruning: Pruning): Promise<void> {
  const { database } = engine;
  const { now, way } = pruning;
  // In the order of their positions, so that a reader can tell what it has missed.
  await numberAllChanges(database);
  await whileFull(engine, () => deleteOldChanges(database, now - KEEP_CHANGES_MS, BATCH), way);
  await deleteOld(engine, 'job_events', now - retention.keepEventsMs, pruning, 'deletedEvents');
  const before = now - retention.keepKeysMs;
  await deleteOld(engine, 'job_exceptions', before, pruning, 'deletedKeys');
  await whileFull(engine, () => deleteVersions(database, before, BATCH), way);
  await deleteOld(engine, 'job_effects', before, pruning, 'deletedEffects');
  await deleteOld(engine, 'job_waits', before, pruning, 'deletedEffects');
  await deleteOld(engine, 'job_hand_offs', before, pruning, 'deletedEffects');
  await deleteOld(engine, 'audit', now - retention.keepAuditMs, pruning, 'deletedAudit');
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
  readonly done: Done;
  readonly way: PruneWay;
}

/** Oldest first. If one cannot be locked, the rest waits: each further try would hold up traffic again. */
async function prunePartitions(
  engine: Engine,
  retention: Retention,
  { now, cutoffs, done, way }: Pruning,
): Promise<void> {
  const due = (await readPartitions(engine.database))
    .map(partition => ({ partition, action: fateOf(partition, retention, now, way.mayCopy) }))
    .filter(({ action }) => action === 'drop' || action === 'compact');
  for (const [index, { partition, action }] of due.entries()) {
    const isGone =
      action === 'drop'
        ? await dropPartition(engine, partition, done, way)
        : await compactPartition(engine, partition, cutoffs, done, way);
    if (isGone) continue;
    done.left.push(...due.slice(index).map(each => each.partition.name));
    return;
  }
}

/**
 * Each batch under the lock: of a partition that is copied, none goes. Returns whether the lock could always
 * be had.
 */
async function deleteOldRuns(
  engine: Engine,
  retention: Retention,
  { now, cutoffs, done, way }: Pruning,
): Promise<boolean> {
  const { database } = engine;
  const hasOld = (partition: Partition) => fateOf(partition, retention, now, way.mayCopy) === 'delete-runs';
  let isBusy = false;
  for (const { name } of (await readPartitions(database)).filter(hasOld)) {
    const remove = async (slice: Slice) => {
      const count = await withRetentionLock(database, locked =>
        deleteRuns(locked, name, cutoffs, slice, BATCH),
      );
      isBusy ||= count === null;
      done.deletedRuns += count ?? 0;
      return count ?? 0;
    };
    await inBatches(engine, name, `old runs in ${name}`, remove, way).catch((error: unknown) => {
      // Another prune has dropped it.
      if (!isTableMissing(error)) throw error;
    });
    if (isBusy) return false;
  }
  return true;
}

async function deleteOld(
  engine: Engine,
  table: Parameters<typeof deleteKeys>[1],
  before: number,
  { done, way }: Pruning,
  counter: 'deletedKeys' | 'deletedEffects' | 'deletedEvents' | 'deletedAudit',
): Promise<void> {
  const remove = async (slice: Slice) => {
    const count = await deleteKeys(engine.database, table, before, slice, BATCH);
    done[counter] += count;
    return count;
  };
  await inBatches(engine, table, `old rows of ${table}`, remove, way);
}

async function inBatches(
  engine: Engine,
  table: string,
  stage: string,
  remove: (slice: Slice) => Promise<number>,
  stop: Stop,
): Promise<void> {
  const visit = async (slice: Slice) => await whileFull(engine, () => remove(slice), stop);
  await walkBlocks(engine.database, table, stage, visit, stop);
}

async function whileFull(
  { database: { clock } }: Engine,
  remove: () => Promise<number>,
  stop: Stop,
): Promise<void> {
  while ((await inPace(clock, stop, remove)) === BATCH);
}
