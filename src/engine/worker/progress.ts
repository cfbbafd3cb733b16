// Writes the progress and the cursors that handlers have reported, in one statement each.
import { isUnstorable } from '../../store/connection/errors.js';
import { keepCursors } from '../../store/runs/effects.js';
import { writeProgress } from '../../store/runs/leases.js';
import type { Engine } from '../engine.js';
import type { ActiveRun } from '../execute/active-run.js';

/** If this fails, the next flush writes the progress. */
export async function flushProgress(
  engine: Engine,
  workerId: string,
  activeRuns: Iterable<ActiveRun>,
): Promise<void> {
  const pending = [...activeRuns].flatMap(active => {
    if (active.progress === null || active.isLost || active.isCommitted) return [];
    const { progress, run } = active;
    active.progress = null;
    return [{ id: run.id, fence: run.fence, progress, active }];
  });
  if (pending.length === 0) return;
  try {
    await writeProgress(engine.database, pending, workerId);
  } catch (error) {
    if (isUnstorable(error)) return;
    for (const { active, progress } of pending) active.progress ??= progress;
  }
}

/**
 * Cursors stay with their run until they are written: an attempt that ends meanwhile writes them once more,
 * under the same numbers, before its outcome gives up the lease. If this fails, the next flush writes them.
 */
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
