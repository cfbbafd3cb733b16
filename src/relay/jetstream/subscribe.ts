// Receives from durable pull consumers: asks for as many messages as there is room for.
import type * as Jet from '@nats-io/jetstream';
import { manyMayListen } from '../../environment/many-listeners.js';
import type { Subscription } from '../broker.js';
import { asError, pause, within } from '../driver/deadline.js';
import { type Delivery, parseBody, type Receiver } from '../driver/delivery.js';
import type { Link, Open } from './link.js';
import { ACK_WAIT_MS, type Source, type Streams } from './streams.js';

const MIN_RETRY_MS = 250;
const MAX_RETRY_MS = 10_000;
/** How long a request for messages is open. */
const PULL_MS = 30_000;
const MAX_FLUSH_MS = 3000;

/** Resolves when it has begun to subscribe. @throws TockError if a package is missing */
export async function subscribe(
  link: Link,
  streams: Streams,
  receiver: Receiver,
  sources: readonly Source[],
): Promise<Subscription> {
  await link.load();
  const logger = await link.logger();
  const stopping = new AbortController();
  manyMayListen(stopping.signal);
  const asks = new Set<() => void>();
  receiver.onRoom(() => {
    for (const ask of asks) ask();
  });
  const held = new Set<Jet.JsMsg>();
  /** Reports to JetStream that they are in progress, so that it does not deliver them again. */
  const working = setInterval(() => {
    for (const message of held) whileOpen(() => message.working());
  }, ACK_WAIT_MS / 3);
  let open: Open | null = null;

  const run = async (source: Source) => {
    let retryMs = MIN_RETRY_MS;
    while (!stopping.signal.aborted && !link.isClosed()) {
      try {
        const current = await link.open();
        open = current;
        const consumer = await streams.consumerOf(current, source);
        await pullFrom(consumer, message => receiver.take(deliveryOf(current, held, message)));
        retryMs = MIN_RETRY_MS;
      } catch (error) {
        streams.forget(source.stream);
        const { message } = asError(error);
        if (!stopping.signal.aborted && !link.isClosed())
          logger.warn(
            { event: 'broker.unsubscribed', broker: 'nats', subject: source.subject, error: message },
            `cannot receive from NATS: ${message}`,
          );
      }
      await pause(retryMs, stopping.signal);
      retryMs = Math.min(2 * retryMs, MAX_RETRY_MS);
    }
  };

  /** Resolves at the stop; rejects when JetStream no longer answers requests. */
  const pullFrom = async (consumer: Jet.Consumer, onMessage: (message: Jet.JsMsg) => void) => {
    const pulls = new Set<Jet.ConsumerMessages>();
    let asked = 0;
    let isOver = false;
    let end = (_error?: unknown) => undefined as void;
    const stop = () => end();

    const pull = async (count: number) => {
      let left = count;
      asked += count;
      try {
        const messages = await consumer.fetch({ max_messages: count, expires: PULL_MS });
        pulls.add(messages);
        if (isOver) messages.stop();
        try {
          for await (const message of messages) {
            if (left > 0) {
              left--;
              asked--;
            }
            onMessage(message);
          }
        } finally {
          pulls.delete(messages);
        }
      } finally {
        asked -= left;
      }
    };
    const ask = () => {
      const count = receiver.room() - asked;
      // Few large requests instead of many small ones, but never none.
      if (isOver || count < 1 || (asked > 0 && count < receiver.capacity / 4)) return;
      pull(count).then(ask, error => end(error));
    };

    try {
      await new Promise<void>((resolve, reject) => {
        end = error => {
          if (error === undefined) resolve();
          else reject(asError(error));
        };
        stopping.signal.addEventListener('abort', stop, { once: true });
        if (stopping.signal.aborted) end();
        asks.add(ask);
        ask();
      });
    } finally {
      isOver = true;
      stopping.signal.removeEventListener('abort', stop);
      asks.delete(ask);
      for (const messages of pulls) messages.stop();
    }
  };

  const running = sources.map(run);
  // It would keep the process alive.
  void Promise.all(running).then(() => {
    if (link.isClosed()) clearInterval(working);
  });
  return {
    async stop() {
      stopping.abort();
      await receiver.stop();
      clearInterval(working);
      if (open && !open.connection.isClosed()) await within(MAX_FLUSH_MS, open.connection.flush());
      // Without a connection, they wait for one.
      if (link.problem() === null && !link.isClosed()) await within(MAX_FLUSH_MS, Promise.all(running));
    },
  };
}

function deliveryOf({ connection }: Open, held: Set<Jet.JsMsg>, message: Jet.JsMsg): Delivery {
  held.add(message);
  const end = (send: () => void) => {
    held.delete(message);
    whileOpen(send);
  };
  return {
    body: parseBody(message.string()),
    ack: () => end(() => message.ack()),
    giveBack: () => end(() => message.nak()),
    isGone: () => connection.isClosed(),
  };
}

/** What a lost connection has not acknowledged is delivered again after {@link ACK_WAIT_MS}. */
function whileOpen(send: () => void): void {
  try {
    send();
  } catch {
    // It was lost just now.
  }
}
