// Claims one run that is named, as `tock run` does.
import { type Claim, type ClaimOptions, claimFreeRun } from '../../store/runs/claim/claim.js';
import type { Engine } from '../engine.js';
import { oneByOne } from '../set-aside.js';

/**
 * Also while everything is frozen, and where the run waits for code that has its job, as this has. Null if
 * the run is not due or not free, or was set aside because its row cannot be claimed.
 */
export async function claimById(
  engine: Engine,
  runId: string,
  lease: Pick<ClaimOptions, 'workerId' | 'leaseMs'>,
): Promise<Claim | null> {
  const jobs = [...engine.registry.jobs.keys(), ...(engine.registry.aliases?.keys() ?? [])];
  const { done, failure } = await oneByOne(
    engine,
    [runId],
    id => claimFreeRun(engine.database, id, lease, { jobs }),
    ({ runs }) => runs.length > 0,
  );
  if (failure !== null) throw failure.error;
  return done[0] ?? null;
}
