// Decides when waiting outcomes are sent: how many together, and how long they wait for others.
import type { Clock, Timer } from '../../model/clock.js';

export const MAX_BATCH = 2000;
const SEND_AFTER_MS = 3;
/** After a batch of this size outcomes come quickly, so the next batch is gathered for longer. */
const QUICK_BATCH = 50;
const GATHER_MS = 30;
const MAX_GATHERED = 500;

export interface OutcomeGathering<Entry> {
  readonly length: number;
  /** @param isFree no batch is under way */
  add(entry: Entry, isFree: boolean): void;
  /** No other outcome is expected soon: the next batch follows at once on the one under way. */
  expectNoOther(): void;
  /** Called when no batch is under way any more. @param sentAt of the last one, by the engine's clock */
  batchDone(size: number, sentAt: number): void;
  /** Waits for no more outcomes, until the next one is added. */
  stopWaiting(): void;
  /** Removes and returns the first outcomes that wait. */
  take(count: number): readonly Entry[];
}

export interface GatheringOptions<Entry> {
  readonly clock: Clock;
  /** Other runs wait for this one to end. */
  readonly isAwaited: (entry: Entry) => boolean;
  /** Takes the waiting outcomes, and sends them. */
  readonly send: () => void;
}

/**
 * Calls `send` at 2,000 outcomes, or when the previous batch is written, or 3 ms after the first outcome.
 * After a batch of 50 or more, calls it 30 ms after that batch was sent, or at 500 outcomes, or at an outcome
 * that other runs wait for: each statement has a cost of its own, and with small batches that cost fills the
 * cores.
 */
export function createOutcomeGathering<Entry>(options: GatheringOptions<Entry>): OutcomeGathering<Entry> {
  const { clock, isAwaited, send } = options;
  let waiting: Entry[] = [];
  let timer: Timer | undefined;
  let isGathering = false;
  let isNoOtherExpected = false;

  const isEnough = (added: readonly Entry[]) => waiting.length >= MAX_GATHERED || added.some(isAwaited);

  return {
    get length() {
      return waiting.length;
    },
    add(entry, isFree) {
      waiting.push(entry);
      if (waiting.length >= MAX_BATCH || (isGathering && isEnough([entry]))) send();
      else if (isFree) timer ??= clock.setTimeout(send, SEND_AFTER_MS);
    },
    expectNoOther() {
      isNoOtherExpected = true;
    },
    batchDone(size, sentAt) {
      const waitMs = size < QUICK_BATCH ? 0 : GATHER_MS - (clock.now() - sentAt);
      // Sends all that have gathered meanwhile: the slower the database, the larger the batches.
      if (waitMs <= 0 || isNoOtherExpected || isEnough(waiting)) return send();
      isGathering = true;
      timer = clock.setTimeout(send, waitMs);
    },
    stopWaiting() {
      clock.clear(timer);
      timer = undefined;
      isGathering = false;
      isNoOtherExpected = false;
    },
    take(count) {
      const taken = waiting.slice(0, count);
      waiting = waiting.slice(count);
      return taken;
    },
  };
}
