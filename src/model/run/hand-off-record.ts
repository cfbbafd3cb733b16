// A handoff of a run, as people see it.
import { formatSpan } from '../duration.js';
import { OFFERED_UNTIL } from './states.js';

/** What another system has said of a run that it was handed; `dead`: it is not to be tried again. */
export type HandOffDecision = 'succeeded' | 'failed' | 'dead';

/** One handoff of a run, or an answer that came before it. */
export interface HandOffRecord {
  readonly fence: number;
  /** Null: the answer came, but the handler did not hand the run off. */
  readonly handedOffAt: Date | null;
  /** Who is to complete it, as the handler has said; null: nothing was said. */
  readonly to: string | null;
  /** The end of its lease; null: not handed off. */
  readonly leaseUntil: Date | null;
  readonly decidedAt: Date | null;
  readonly decision: HandOffDecision | null;
  /** How many calls came too late and changed nothing. */
  readonly refused: number;
}

/** ` to finance`; empty if that is not known. */
export const receiverText = ({ to }: Pick<HandOffRecord, 'to'>) => (to === null ? '' : ` to ${to}`);

const DECISIONS: Readonly<Record<HandOffDecision, string>> = {
  succeeded: 'completed',
  failed: 'said to have failed',
  dead: 'said to have failed for good',
};

/**
 * - `open`: it waits to be completed
 * - `decided`: it was; the next tick writes that
 * - `cancelled`: an operator has cancelled it; the next tick writes that
 * - `overdue`: its lease has ended; the next tick takes it back
 */
export type HandOffPhase = 'open' | 'decided' | 'cancelled' | 'overdue';

/**
 * What the state of a handoff means for its run, and as text: `it was handed off to finance 2h ago, and
 * its lease ends in 22h`.
 * @param now epoch milliseconds, by the database's clock
 */
export function handOffState(
  handOff: HandOffRecord,
  isCancelRequested: boolean,
  now: number,
): { readonly phase: HandOffPhase; readonly text: string } {
  const { handedOffAt, leaseUntil, decidedAt, decision } = handOff;
  const ago = (at: Date | null) => `${formatSpan(Math.max(now - (at?.getTime() ?? now), 0))} ago`;
  const handed = `it was handed off${receiverText(handOff)} ${ago(handedOffAt)}`;
  if (decision !== null)
    return { phase: 'decided', text: `${handed}, and was ${DECISIONS[decision]} ${ago(decidedAt)}` };
  if (isCancelRequested) return { phase: 'cancelled', text: `${handed}, and was cancelled` };
  if (leaseUntil !== null && leaseUntil.getTime() >= Date.parse(OFFERED_UNTIL))
    return {
      phase: 'open',
      text: `it was offered to workers that speak SQL ${ago(handedOffAt)}, and none has claimed it`,
    };
  const left = (leaseUntil?.getTime() ?? now) - now;
  return left > 0
    ? { phase: 'open', text: `${handed}, and its lease ends in ${formatSpan(left)}` }
    : { phase: 'overdue', text: `${handed}, and its lease ended ${formatSpan(-left)} ago` };
}

/** Calls that came too late, in a sentence for each fence; empty if there were none. */
export function refusedTexts(handOffs: readonly HandOffRecord[]): string[] {
  return handOffs
    .filter(({ refused }) => refused > 0)
    .map(
      ({ refused, fence }) =>
        `${refused} ${refused === 1 ? 'call' : 'calls'} under fence ${fence} came too late and changed nothing`,
    );
}
