// A second claim under way beside the one that continues, for a worker that executes runs faster than claims
// one after another bring them.
import type { Claim, ClaimPosition } from '../../../store/runs/claim/claim.js';
import type { ClaimTurn } from './claim-turns.js';
import { createSideClaim, type SideClaim, type SideClaimOptions } from './side-claim.js';

/** By then the claim under way has found its runs and moved the front behind them; this one begins there. */
const SENT_AFTER_MS = 5;

/** Room for so many runs is always worth a claim. */
export const ALWAYS_WORTH_CLAIMING = 500;

export interface ClaimBeside extends Pick<SideClaim, 'reserved'> {
  /** Soon sends one beside the claim that continues at this position, if there is room for it. */
  begin(position: ClaimPosition): void;
  /** Resolves when none is under way. One that is not sent yet is given up. */
  idle(): Promise<unknown>;
}

export interface ClaimBesideOptions extends SideClaimOptions {
  /** How many more runs the worker may claim, besides those that the claim under way may bring. */
  readonly room: () => number;
  readonly takeTurn: () => ClaimTurn;
  /** Claims at most `limit` runs from the front. */
  readonly claim: (limit: number, position: ClaimPosition) => Promise<Claim>;
}

/** None under way yet. */
export function createClaimBeside(options: ClaimBesideOptions): ClaimBeside {
  const { room, takeTurn, claim } = options;
  const side = createSideClaim(options);
  let timer: NodeJS.Timeout | undefined;

  const send = (position: ClaimPosition) => {
    timer = undefined;
    const limit = room();
    if (limit < ALWAYS_WORTH_CLAIMING) return;
    const turn = takeTurn();
    const claimInTurn = async () => {
      const claimed = await claim(limit, position);
      await turn.answered(claimed.positions);
      return claimed;
    };
    side.begin(limit, claimInTurn, () => turn.over());
  };

  return {
    get reserved() {
      return side.reserved;
    },
    begin(position) {
      if (!side.isUnderWay) timer ??= setTimeout(send, SENT_AFTER_MS, position);
    },
    async idle() {
      clearTimeout(timer);
      timer = undefined;
      await side.idle();
    },
  };
}
