// Writes the progress that handlers have reported, in one statement.
import { isUnstorable } from '../../store/connection/errors.js';
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
