// Claims the runs of fair keys, by turns with other runs.
import type { Timer } from '../../model/clock.js';
import type { Claim, ClaimOptions } from '../../store/runs/claim/claim.js';
import { claimFair } from '../../store/runs/fair/claim-fair.js';
import type { Engine } from '../engine.js';

export interface FairClaim {
  /** Keys may be ready. Otherwise `claim` sends nothing. */
  readonly isExpected: boolean;
  /** Whether keys were ever expected: this process need not look for them otherwise. */
  readonly isUsed: boolean;
  /** Keys may be ready from now on. */
  expect(): void;
  /** Nothing is expected any more, until it is said again. */
  forget(): void;
  /** Whether such runs come first: every other time, so that neither they nor others starve. */
  takesTurn(): boolean;
  /** Claims at most so many. Returns how many were accepted. */
  claim(limit: number): Promise<number>;
  /** No more claims will come. */
  stop(): void;
}

/** A key that is ready later than this is found by a poll. */
const MAX_WAIT_MS = 60_000;

export interface FairClaimOptions extends Pick<ClaimOptions, 'workerId' | 'queues'> {
  readonly accept: (claim: Claim, sentAt: number) => Promise<number>;
  /** A key for which the last claim was too early is ready. */
  readonly onReady: () => void;
}

/** Nothing is expected yet. */
export function createFairClaim(engine: Engine, { accept, onReady, ...wanted }: FairClaimOptions): FairClaim {
  const { clock, database, settings } = engine;
  let expectedAt = Number.POSITIVE_INFINITY;
  let hadTurn = false;
  let isUsed = false;
  let timer: Timer | undefined;
  const fair: FairClaim = {
    get isExpected() {
      return clock.now() >= expectedAt;
    },
    get isUsed() {
      return isUsed;
    },
    expect() {
      isUsed = true;
      expectedAt = 0;
    },
    forget() {
      expectedAt = Number.POSITIVE_INFINITY;
    },
    takesTurn() {
      hadTurn = fair.isExpected && !hadTurn;
      return hadTurn;
    },
    async claim(limit) {
      if (!fair.isExpected || limit <= 0) return 0;
      // Before the statement: what comes meanwhile is expected again.
      expectedAt = Number.POSITIVE_INFINITY;
      const sentAt = clock.now();
      const claim = await claimFair(database, { ...wanted, leaseMs: settings.leaseMs, limit });
      const nextAt = claim.nextMs === null ? Number.POSITIVE_INFINITY : clock.now() + claim.nextMs;
      expectedAt = Math.min(expectedAt, claim.hasMore ? 0 : nextAt);
      clock.clear(timer);
      if (claim.nextMs !== null && claim.nextMs < MAX_WAIT_MS) {
        timer = clock.setTimeout(onReady, Math.max(0, Math.ceil(claim.nextMs)));
        timer.unref();
      }
      return await accept(claim, sentAt);
    },
    stop() {
      clock.clear(timer);
    },
  };
  return fair;
}
