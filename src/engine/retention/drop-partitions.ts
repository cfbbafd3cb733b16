// Drops partitions of finished runs, with or without a copy of the runs that stay.
import { randomBytes } from 'node:crypto';
import { neighbourOf, type Partition } from '../../model/planning/retention.js';
import { withLockRetries } from '../../store/connection/lock-retries.js';
import {
  beginCopy,
  copySlice,
  detach,
  dropLeftover,
  type Replacement,
  readLeftovers,
} from '../../store/partitions/detach.js';
import { type Cutoffs, readPartitions, type Slice } from '../../store/partitions/partitions.js';
import type { Engine } from '../engine.js';
import { type Stop, walkBlocks } from './walk-blocks.js';

export interface PrunedPartitions {
  readonly dropped: string[];
  /** Their locks could not be had. */
  readonly left: string[];
  keptRuns: number;
}

/**
 * Drops what an earlier prune detached, and copies that it did not attach. A table that a session still reads
 * is left: it holds nothing that is to be kept.
 */
export async function dropLeftovers(engine: Engine, pruned: PrunedPartitions, stop: Stop): Promise<void> {
  for (const leftover of await readLeftovers(engine.database)) {
    const done = await withLockRetries(engine.database, session => dropLeftover(session, leftover), stop);
    if (done === null) pruned.left.push(leftover.name);
    else if (leftover.was !== null) pruned.dropped.push(leftover.was);
  }
}

/** Drops a partition as a whole. Returns whether it could be locked. */
export async function dropPartition(
  engine: Engine,
  { name }: Partition,
  pruned: PrunedPartitions,
  stop: Stop,
): Promise<boolean> {
  const done = await withLockRetries(engine.database, session => detach(session, [name], null), stop);
  if (done === null) return false;
  await dropLeftovers(engine, pruned, stop);
  return true;
}

/** Replaces a partition by a small one with the runs that stay. Returns whether it could be locked. */
export async function compactPartition(
  engine: Engine,
  partition: Partition,
  cutoffs: Cutoffs,
  pruned: PrunedPartitions,
  stop: Stop,
): Promise<boolean> {
  const { low, high } = partition;
  if (low === null || high === null) return true;
  const neighbour = neighbourOf(partition, await readPartitions(engine.database));
  const sources = neighbour ? [neighbour.name, partition.name] : [partition.name];
  const from = neighbour?.low ?? low;
  const replacement: Replacement = {
    table: `job_runs_kept_${randomBytes(6).toString('hex')}`,
    name: `job_runs_finished_${new Date(from).toISOString().slice(0, 10).replaceAll('-', '_')}_kept`,
    low: from,
    high,
    cutoffs,
  };
  const { table } = replacement;
  const begun = await withLockRetries(
    engine.database,
    session => beginCopy(session, table, sources, replacement),
    stop,
  );
  if (begun === null) return false;
  let kept = 0;
  for (const source of sources) {
    const copy = async (slice: Slice) => {
      // Without rests: a lock and its connection are held meanwhile.
      stop.signal?.throwIfAborted();
      const copied = await copySlice(engine.database, table, source, cutoffs, slice);
      if (source === partition.name) kept += copied;
    };
    await walkBlocks(engine.database, source, `what stays of ${source}`, copy, stop);
  }
  const done = await withLockRetries(engine.database, session => detach(session, sources, replacement), stop);
  if (done !== null) pruned.keptRuns += kept;
  // The sources; or the copy, if it was not attached.
  await dropLeftovers(engine, pruned, stop);
  return done !== null;
}
