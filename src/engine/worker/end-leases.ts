// Ends the leases of workers whose process has ended on this host. So their runs need not wait for the
// leases.
import { hostname } from 'node:os';
import { hasEnded } from '../../environment/process-life.js';
import { endLeases, type Neighbour } from '../../store/runs/workers/worker-rows.js';
import type { Engine } from '../engine.js';

/**
 * Of these workers, ends the leases of those whose process has certainly ended. The next reaping takes their
 * runs back, as after any crash. If this fails, the runs wait for their leases.
 */
export async function endLeasesOfEnded(
  { database, logger }: Pick<Engine, 'database' | 'logger'>,
  neighbours: readonly Neighbour[],
): Promise<void> {
  const ended = neighbours.filter(({ pid, process: life }) => hasEnded(pid, life));
  if (ended.length === 0) return;
  try {
    const runs = await endLeases.run(database, { ids: ended.map(({ id }) => id) });
    if (runs.length === 0) return;
    const pids = ended.map(({ pid }) => pid);
    logger.warn(
      { event: 'leases.ended', host: hostname(), pids, run_ids: runs.map(({ id }) => id) },
      `${runs.length} runs of processes of this host that have ended (pid ${pids.join(', ')}) are taken back now`,
    );
  } catch (error) {
    logger.warn(
      { event: 'leases.kept', error: String(error) },
      'the leases of processes of this host that have ended could not be ended; they expire',
    );
  }
}
