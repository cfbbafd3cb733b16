// The claim of runs that were left behind, beside the claims that continue: it may walk far, and urgent runs
// would wait for it.
import { performance } from 'node:perf_hooks';
import {
  type Claim,
  type ClaimOptions,
  type ClaimPosition,
  claimRunsBehind,
} from '../../../store/runs/claim/claim.js';
import type { Engine } from '../../engine.js';
import { claimDespiteBadRows } from '../../set-aside.js';
import type { ClaimCursor } from '../claim-cursor.js';

/** How many runs it takes. If there are more, the claims that continue go on there. */
export const MAX_BEHIND = 100;

export interface ClaimBehind {
  readonly isUnderWay: boolean;
  /** Room that is kept for it. */
  readonly reserved: number;
  /** Sends one. */
  begin(wanted: ClaimOptions, positions: readonly ClaimPosition[]): void;
  /** Resolves when none is under way. */
  idle(): Promise<unknown>;
}

export interface ClaimBehindOptions {
  readonly cursor: ClaimCursor;
  readonly accept: (claim: Claim, sentAt: number) => Promise<unknown>;
  readonly onFailed: () => void;
  readonly onIdle: () => void;
}

/** None under way yet. */
export function createClaimBehind(engine: Engine, options: ClaimBehindOptions): ClaimBehind {
  const { cursor, accept, onFailed, onIdle } = options;
  let reserved = 0;
  let underWay: Promise<void> | null = null;

  const claimAndAccept = async (wanted: ClaimOptions, positions: readonly ClaimPosition[]) => {
    reserved = MAX_BEHIND;
    const sentAt = performance.now();
    try {
      const claimed = await claimDespiteBadRows(engine, wanted, () =>
        claimRunsBehind(engine.database, wanted, positions),
      );
      cursor.restarted(claimed, sentAt, performance.now());
      reserved = 0;
      if (claimed.runs.length + claimed.limited.length > 0) await accept(claimed, sentAt);
    } catch {
      // If the claims in its place fail too, that is reported.
      onFailed();
    } finally {
      reserved = 0;
    }
  };

  return {
    get isUnderWay() {
      return underWay !== null;
    },
    get reserved() {
      return reserved;
    },
    begin(wanted, positions) {
      underWay = claimAndAccept({ ...wanted, limit: MAX_BEHIND }, positions).finally(() => {
        underWay = null;
        onIdle();
      });
    },
    async idle() {
      await underWay;
    },
  };
}
