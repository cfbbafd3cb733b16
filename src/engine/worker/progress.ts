// Writes the progress and the cursors that handlers have reported, in one statement each.
import { isUnstorable } from '../../store/connection/errors.js';
import { keepCursors } from '../../store/runs/effects.js';
import { writeProgress } from '../../store/runs/leases.js';
import type { Engine } from '../engine.js';
import type { ActiveRun } from '../execute/active-run.js';

/**
 * Progress stays with its run until it is written: an attempt that ends meanwhile writes it once more, before
 * its outcome gives up the lease. If this fails, the next flush writes it.
 */
export async function flushProgress(
  engine: Engine,
  workerId: string,
  activeRuns: Iterable<ActiveRun>,
): Promise<void> {
  const pending = [...activeRuns].flatMap(active => {
    const { progress, run } = active;
    if (progress === null || active.isLost || active.isCommitted) return [];
    return [{ id: run.id, fence: run.fence, progress, active }];
  });
  if (pending.length === 0) return;
  try {
    await writeProgress(engine.database, pending, workerId);
  } catch (error) {
    if (!isUnstorable(error)) return;
  }
  for (const { active, progress } of pending) if (active.progress === progress) active.progress = null;
}

/** As flushProgress, for cursors: the end of the attempt writes them under the same numbers. */
export async function flushCursors(
  engine: Engine,
  workerId: string,
  activeRuns: Iterable<ActiveRun>,
): Promise<void> {
  const pending = [...activeRuns].flatMap(active => {
    const { cursors, run } = active;
    if (cursors === null || active.isLost || active.isCommitted) return [];
    return [{ id: run.id, fence: run.fence, cursors: new Map(cursors), active }];
  });
  if (pending.length === 0) return;
  try {
    await keepCursors(engine.database, pending, workerId);
  } catch (error) {
    if (!isUnstorable(error)) return;
    const runs = pending.map(({ id }) => id);
    engine.logger.error(
      { event: 'cursor.refused', runs, error: String(error) },
      `PostgreSQL refused the cursors of runs ${runs.join(', ')}: their next attempts begin with older ones`,
    );
  }
  for (const { active, cursors } of pending) {
    for (const [key, written] of cursors)
      if (active.cursors?.get(key) === written) active.cursors.delete(key);
    if (active.cursors?.size === 0) active.cursors = null;
  }
}
