// Somebody who closes a queue and opens it again, all the time: pauses, no slot, few slots, no token.
// In: a Tock that no fault meets. Out: how often the queue was closed; it is open in the end.
import type { Tock } from '../../../src/tock/types.js';
import { random } from '../../model/schedule/random.js';
import { SHUT_QUEUE } from './load.js';
import { sleep, startLoop } from './loop.js';

/** Longer closed than open, so that its runs wait in front of those of open queues. */
const OPEN_MS = 700;
const CLOSED_MS = 4000;

export function keepQueue(tock: Tock, seed: number, signal: AbortSignal) {
  const lots = random(seed ^ 0x3c6ef372);
  let isOpen = true;
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
  const pauseMs = () => {
    const ms = isOpen ? OPEN_MS : CLOSED_MS;
    return ms / 2 + lots.below(ms);
  };
  const loop = startLoop(signal, pauseMs, async () => {
    isOpen = !isOpen;
    if (isOpen) return await open();
    await lots.pick(closes)();
    closings++;
  });
  return {
    closings: () => closings,
    /** Opens the queue, and ends. */
    async stop() {
      await loop.stop();
      for (isOpen = false; !isOpen && !signal.aborted; ) {
        isOpen = await open().then(
          () => true,
          () => false,
        );
        if (!isOpen) await sleep(OPEN_MS, signal);
      }
    },
  };
}
