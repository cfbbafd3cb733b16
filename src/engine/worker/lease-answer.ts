// Applies what the database answers about held runs: lost, to be cancelled, or still held.
import { Cancel } from '../../model/errors.js';
import type { Engine } from '../engine.js';
import { abort } from '../execute/abort.js';
import type { ActiveRun } from '../execute/active-run.js';
import { leaseLost } from '../execute/active-run.js';

/** A run that is still held. A run that the answer lacks is lost. */
export interface HeldRow {
  readonly id: string;
  readonly cancel_requested: boolean;
}

/**
 * Aborts the handlers of lost and cancelled runs. Returns the runs that are still held.
 * @param activeRuns the runs that the worker holds now: others may have ended since the statement was sent
 */
export function applyLeaseAnswer(
  engine: Engine,
  activeRuns: ReadonlySet<ActiveRun>,
  checked: readonly ActiveRun[],
  answer: readonly HeldRow[],
): ActiveRun[] {
  const rows = new Map(answer.map(row => [row.id, row]));
  return checked.filter(active => {
    const row = rows.get(active.run.id);
    // A run that was finalized while the statement was under way is done, not lost.
    if (row === undefined && activeRuns.has(active) && !active.isCommitted && !active.isFinalizing)
      loseLease(engine, active);
    if (row?.cancel_requested) requestCancel(active);
    return row !== undefined;
  });
}

export function loseLease(engine: Engine, active: ActiveRun): void {
  if (active.isLost) return;
  active.isLost = true;
  engine.logger.error(
    { event: 'run.lease_lost', run_id: active.run.id, job: active.run.job, fence: active.run.fence },
    "the lease is lost; the handler's signal is aborted and nothing of this attempt is kept",
  );
  abort(active.interrupt, leaseLost(active));
}

function requestCancel(active: ActiveRun): void {
  if (active.cancelRequested) return;
  active.cancelRequested = true;
  abort(active.interrupt, new Cancel('cancelled by an operator'));
}
