// A worker whose process has ended on this host renews no lease, so its runs need not wait until theirs end.
import { hostname } from 'node:os';
import { hasEnded } from '../../environment/process-life.js';
import { endLeases, type Neighbour } from '../../store/runs/workers/worker-rows.js';
import type { Engine } from '../engine.js';

/**
 * Ends the leases of those of these workers whose process has certainly ended. The next reaping takes their
 * runs back as it does after any crash. What fails here costs no more than the wait for the lease.
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
