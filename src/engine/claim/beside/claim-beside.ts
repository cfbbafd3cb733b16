// A second claim under way beside the one that continues, for a worker that executes runs faster than claims
// one after another bring them.
import { performance } from 'node:perf_hooks';
import type { Claim, ClaimPosition } from '../../../store/runs/claim/claim.js';
import type { ClaimTurn } from './claim-turns.js';

/** By then the claim under way has found its runs and moved the front behind them; this one begins there. */
const SENT_AFTER_MS = 5;

/** Room for so many runs is always worth a claim. */
export const ALWAYS_WORTH_CLAIMING = 500;

export interface ClaimBeside {
  /** Room that is kept for it. */
  readonly reserved: number;
  /** Soon sends one beside the claim that continues at this position, if there is room for it. */
  begin(position: ClaimPosition): void;
  /** Resolves when none is under way. One that is not sent yet is given up. */
  idle(): Promise<unknown>;
}

export interface ClaimBesideOptions {
  /** How many more runs the worker may claim, besides those that the claim under way may bring. */
  readonly room: () => number;
  readonly takeTurn: () => ClaimTurn;
  /** Claims at most `limit` runs from the front. */
  readonly claim: (limit: number, position: ClaimPosition) => Promise<Claim>;
  readonly accept: (claim: Claim, sentAt: number) => Promise<unknown>;
  readonly onFailed: () => void;
  /** It is over, and keeps no room. */
  readonly onIdle: () => void;
}

/** None under way yet. */
export function createClaimBeside(options: ClaimBesideOptions): ClaimBeside {
  const { room, takeTurn, claim, accept, onFailed, onIdle } = options;
  let reserved = 0;
  let timer: NodeJS.Timeout | undefined;
  let underWay: Promise<void> | null = null;

  const claimAndAccept = async (position: ClaimPosition, limit: number): Promise<void> => {
    reserved = limit;
    const turn = takeTurn();
    try {
      const sentAt = performance.now();
      const claimed = await claim(limit, position);
      await turn.answered(claimed.positions[0] ?? null);
      reserved = 0;
      if (claimed.runs.length > 0) await accept(claimed, sentAt);
    } catch {
      // The claims that continue fail too, and that is reported.
      onFailed();
    } finally {
      reserved = 0;
      turn.over();
    }
  };

  const send = (position: ClaimPosition) => {
    timer = undefined;
    const limit = room();
    if (limit < ALWAYS_WORTH_CLAIMING) return;
    underWay = claimAndAccept(position, limit).finally(() => {
      underWay = null;
      onIdle();
    });
  };

  return {
    get reserved() {
      return reserved;
    },
    begin(position) {
      if (underWay === null) timer ??= setTimeout(send, SENT_AFTER_MS, position);
    },
    async idle() {
      clearTimeout(timer);
      timer = undefined;
      await underWay;
    },
  };
}
