// Somebody who closes a queue and opens it again, all the time: pauses, no slot, few slots, no token.
// In: a Tock that no fault meets. Out: how often the queue was closed; it is open in the end.
import type { Tock } from '../../../src/tock/types.js';
import { random } from '../../model/schedule/random.js';
import { SHUT_QUEUE } from './load.js';
import { sleep } from './sleep.js';

/** Longer closed than open, so that its runs wait in front of those of open queues. */
const OPEN_MS = 700;
const CLOSED_MS = 4000;

export interface QueueKeeper {
  readonly closings: () => number;
  /** Opens the queue, and ends. */
  readonly stop: () => Promise<void>;
}

export function keepQueue(tock: Tock, seed: number, signal: AbortSignal): QueueKeeper {
  const lots = random(seed ^ 0x3c6ef372);
  const over = new AbortController();
  let closings = 0;
  const closes = [
    () => tock.queues.pause(SHUT_QUEUE, { note: 'by lot' }),
    () => tock.queues.set(SHUT_QUEUE, { concurrency: 0 }),
    () => tock.queues.set(SHUT_QUEUE, { concurrency: 1 }),
    () => tock.queues.set(SHUT_QUEUE, { rate: { count: 1, per: '1m' } }),
  ];
  const open = async () => {
    await tock.queues.resume(SHUT_QUEUE);
    await tock.queues.set(SHUT_QUEUE, { concurrency: null, rate: null });
  };
  const live = async () => {
    for (let isOpen = true; !signal.aborted && !over.signal.aborted; isOpen = !isOpen) {
      // The server may be away. What was not done is done in a later turn.
      if (isOpen)
        await lots
          .pick(closes)()
          .then(
            () => closings++,
            () => undefined,
          );
      else await open().catch(() => undefined);
      const ms = isOpen ? CLOSED_MS : OPEN_MS;
      await sleep(ms / 2 + lots.below(ms), AbortSignal.any([signal, over.signal]));
    }
  };
  const lived = live();
  return {
    closings: () => closings,
    async stop() {
      over.abort();
      await lived;
      while (!signal.aborted) {
        if (
          await open().then(
            () => true,
            () => false,
          )
        )
          return;
        await sleep(OPEN_MS, signal);
      }
    },
  };
}
