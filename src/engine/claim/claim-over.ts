// The claim that a notice causes, over the connection that brought it.
import type { Claim } from '../../store/runs/claim/claim.js';
import type { Notified } from '../worker/worker-interface.js';

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
