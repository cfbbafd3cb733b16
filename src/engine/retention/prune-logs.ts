// Retention of the logs of runs: by segments, each of which goes as a whole.
import { isSegmentDue, isSegmentOver, type Retention } from '../../model/planning/retention.js';
import { readNow } from '../../store/connection/clock.js';
import { withLockRetries } from '../../store/connection/lock-retries.js';
import {
  detachSegment,
  hasLogs,
  openNextSegment,
  readSegments,
  segmentTable,
} from '../../store/partitions/log-segments.js';
import type { Engine } from '../engine.js';
import { dropLeftovers, type PrunedPartitions } from './drop-partitions.js';
import type { Stop } from './walk-blocks.js';

/** Closes the open segment in time, unless it is empty, and drops closed ones that are past their time. */
export async function pruneLogs(
  engine: Engine,
  retention: Retention,
  pruned: PrunedPartitions,
  stop: Stop,
): Promise<void> {
  const { database } = engine;
  const open = (await readSegments(database)).find(each => each.closedAt === null);
  const isDue = open !== undefined && isSegmentDue(open, retention, await readNow(database));
  if (isDue && (await hasLogs(database, open.segment))) {
    const opened = await withLockRetries(database, session => openNextSegment(session, open.segment), stop);
    if (opened === null) pruned.left.push(segmentTable(open.segment));
  }
  const now = await readNow(database);
  const over = (await readSegments(database)).filter(each => isSegmentOver(each, retention, now));
  for (const { segment } of over) {
    const detached = await withLockRetries(database, session => detachSegment(session, segment), stop);
    if (detached === null) pruned.left.push(segmentTable(segment));
  }
  if (over.length > 0) await dropLeftovers(engine, pruned, stop);
}
