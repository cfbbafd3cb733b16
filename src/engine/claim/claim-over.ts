// The claim that a notice causes, over the connection that brought it.
import type { Session } from '../../store/connection/database.js';
import type { Claim, ClaimOptions, QueuePriority } from '../../store/runs/claim/claim.js';
import { claimNotifiedRuns } from '../../store/runs/claim/claim-in-queue.js';
import type { Engine } from '../engine.js';
import { claimDespiteBadRows } from '../set-aside.js';
import type { Notified } from '../worker/worker-interface.js';
import type { ClaimFloors } from './claim-floors.js';

/** Claims in one queue and priority, above its floor. What must be done singly goes over the pool. */
export async function claimOver(
  engine: Engine,
  session: Session,
  place: QueuePriority,
  wanted: ClaimOptions,
  floors: ClaimFloors,
): Promise<Claim> {
  const from = floors.beginIn(place);
  const claimed = await claimDespiteBadRows(engine, wanted, () =>
    claimNotifiedRuns(session, wanted, place, from.floors[0]),
  );
  floors.claimed(claimed, from);
  return claimed;
}

/** What such a claim has found, once its runs are `accepted`. */
export async function notifiedOf({ runs, hasMore }: Claim, accepted: Promise<number>): Promise<Notified> {
  return { claimed: await accepted, isAll: runs.length > 0 && !hasMore };
}

/** Waits for one claim at a time, however it ends. */
export class ClaimUnderWay<T> {
  private claim: Promise<T> | null = null;

  get isUnderWay(): boolean {
    return this.claim !== null;
  }

  start(claim: Promise<T>): Promise<T> {
    this.claim = claim.finally(() => {
      this.claim = null;
    });
    return this.claim;
  }

  /** Resolves when no claim is under way. A failure is for those who started it. */
  async idle(): Promise<void> {
    await this.claim?.catch(() => undefined);
  }
}
