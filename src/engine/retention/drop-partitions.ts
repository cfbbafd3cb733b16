// Room: engine. Lets partitions of finished runs go: what stays is copied, the rest is detached, then dropped.
// In: partitions whose time is over. Out: which are gone, how many runs stay, which could not be had.
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
import { type Stop, walk } from './walk-blocks.js';

export interface Forgotten {
  readonly dropped: string[];
  readonly left: string[];
  kept: number;
}

/**
 * Drops what an earlier prune detached, or copied in vain. A table that somebody still reads is left: it holds nothing
 * that is to be kept.
 */
export async function dropLeftovers(engine: Engine, gone: Forgotten, stop: Stop): Promise<void> {
  for (const leftover of await readLeftovers(engine.database)) {
    const done = await withLockRetries(engine.database, session => dropLeftover(session, leftover), stop);
    if (done === null) gone.left.push(leftover.name);
    else if (leftover.was !== null) gone.dropped.push(leftover.was);
  }
}

/** Lets one partition go as a whole. Whether it could be had. */
export async function forget(
  engine: Engine,
  { name }: Partition,
  gone: Forgotten,
  stop: Stop,
): Promise<boolean> {
  const done = await withLockRetries(engine.database, session => detach(session, [name], null), stop);
  if (done === null) return false;
  await dropLeftovers(engine, gone, stop);
  return true;
}

/** Lets one partition go, but for the runs that stay: they are in a small one of its span then. Whether it could be had. */
export async function thin(
  engine: Engine,
  partition: Partition,
  cutoffs: Cutoffs,
  gone: Forgotten,
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
      const copied = await copySlice(engine.database, table, source, cutoffs, slice);
      if (source === partition.name) kept += copied;
    };
    await walk(engine.database, source, `what stays of ${source}`, copy, stop);
  }
  const done = await withLockRetries(engine.database, session => detach(session, sources, replacement), stop);
  if (done !== null) gone.kept += kept;
  // The sources; or the copy, which has come to nothing.
  await dropLeftovers(engine, gone, stop);
  return done !== null;
}
