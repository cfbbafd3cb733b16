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

/** If this fails, they stay for the next flush. */
export async function flushCursors(
  engine: Engine,
  workerId: string,
  activeRuns: Iterable<ActiveRun>,
): Promise<void> {
  const pending = [...activeRuns].flatMap(active => {
    const { cursors, run } = active;
    if (cursors === null || active.isLost || active.isCommitted) return [];
    active.cursors = null;
    return [{ id: run.id, fence: run.fence, cursors, active }];
  });
  if (pending.length === 0) return;
  try {
    await keepCursors(engine.database, pending, workerId);
  } catch (error) {
    if (isUnstorable(error)) return;
    for (const { active, cursors } of pending)
      active.cursors = new Map([...cursors, ...(active.cursors ?? [])]);
  }
}
