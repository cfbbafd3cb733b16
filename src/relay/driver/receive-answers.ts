// Gathers deliveries into batches: one batch at a time, of what has arrived meanwhile.
import type { OnAnswers } from '../broker.js';
import { answersIn } from '../read-answer.js';
import type { Delivery, Receiver } from './delivery.js';

const MIN_RETRY_MS = 250;
const MAX_RETRY_MS = 10_000;

/**
 * A batch ends with the delivery that brings it to `maxBatch` answers. One that was rejected is given again
 * after a moment, from memory: a broker may drop what it has delivered too often (RabbitMQ 4 after twenty
 * times).
 */
export function receiveAnswers(maxBatch: number, onAnswers: OnAnswers): Receiver {
  const waiting: Delivery[] = [];
  let batch: readonly Delivery[] = [];
  let isStopping = false;
  let working: Promise<void> | null = null;
  let notifyRoom = () => undefined as void;
  let endPause = () => undefined as void;

  const pause = async (ms: number) =>
    await new Promise<void>(resolve => {
      const timer = setTimeout(resolve, ms);
      endPause = () => {
        clearTimeout(timer);
        resolve();
      };
    });
  const takeWaiting = (room: number) => {
    let count = 0;
    for (let left = room; left > 0 && count < waiting.length; count++)
      left -= answersIn(waiting[count]?.body).length;
    return waiting.splice(0, count);
  };
  const work = async () => {
    let retryMs = MIN_RETRY_MS;
    while (!isStopping && (waiting.length > 0 || batch.length > 0)) {
      // What the socket holds besides comes first.
      if (batch.length === 0) await new Promise(setImmediate);
      // Those whose connection is lost come again.
      batch = [...batch, ...takeWaiting(maxBatch - answersOf(batch).length)].filter(
        delivery => !delivery.isGone(),
      );
      if (batch.length === 0) continue;
      try {
        await onAnswers(answersOf(batch));
        for (const delivery of batch) delivery.ack();
        batch = [];
        retryMs = MIN_RETRY_MS;
        notifyRoom();
      } catch {
        await pause(isStopping ? 0 : retryMs);
        retryMs = Math.min(2 * retryMs, MAX_RETRY_MS);
      }
    }
  };
  const begin = () => {
    working ??= work().finally(() => {
      working = null;
      if (waiting.length > 0 && !isStopping) begin();
    });
  };

  return {
    capacity: 2 * maxBatch,
    room: () => 2 * maxBatch - waiting.length - batch.length,
    onRoom(callback) {
      notifyRoom = callback;
    },
    take(delivery) {
      if (isStopping) return delivery.giveBack();
      waiting.push(delivery);
      begin();
    },
    async stop() {
      isStopping = true;
      endPause();
      await working;
      for (const delivery of [...batch, ...waiting.splice(0)]) delivery.giveBack();
      batch = [];
    },
  };
}

const answersOf = (deliveries: readonly Delivery[]) => deliveries.flatMap(({ body }) => answersIn(body));
