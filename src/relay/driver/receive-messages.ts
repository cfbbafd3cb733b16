// Gives deliveries one by one to a handler, so many at a time; the others wait in the order of their arrival.
import type { OnMessage } from '../broker.js';
import type { Delivery, Receiver } from './delivery.js';

/** A message that was rejected is not delivered again at once, in a circle. */
const GIVE_BACK_AFTER_MS = 1000;

export function receiveMessages(concurrency: number, onMessage: OnMessage): Receiver {
  const waiting: Delivery[] = [];
  const atWork = new Set<Promise<void>>();
  /** Rejected ones, with the timers after which they go back. */
  const rejected = new Map<Delivery, NodeJS.Timeout>();
  let isStopping = false;
  let notifyRoom = () => undefined as void;

  const begin = (delivery: Delivery) => {
    const work = execute(delivery).finally(() => {
      atWork.delete(work);
      beginNext();
      notifyRoom();
    });
    atWork.add(work);
  };
  const execute = async (delivery: Delivery) => {
    try {
      await onMessage(delivery.body);
      delivery.ack();
    } catch {
      if (isStopping) return delivery.giveBack();
      const giveBack = () => {
        rejected.delete(delivery);
        delivery.giveBack();
        notifyRoom();
      };
      rejected.set(delivery, setTimeout(giveBack, GIVE_BACK_AFTER_MS));
    }
  };
  const beginNext = () => {
    while (atWork.size < concurrency) {
      const next = waiting.shift();
      if (next === undefined) return;
      // The broker delivers it again.
      if (!next.isGone()) begin(next);
    }
  };

  return {
    capacity: concurrency,
    room: () => Math.max(0, concurrency - atWork.size - waiting.length - rejected.size),
    onRoom(callback) {
      notifyRoom = callback;
    },
    take(delivery) {
      if (isStopping) return delivery.giveBack();
      waiting.push(delivery);
      beginNext();
    },
    async stop() {
      isStopping = true;
      for (const delivery of waiting.splice(0)) delivery.giveBack();
      for (const [delivery, timer] of rejected) {
        clearTimeout(timer);
        delivery.giveBack();
      }
      rejected.clear();
      await Promise.all(atWork);
    },
  };
}
