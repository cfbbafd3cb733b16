// Receives from queues on one channel, and from another one when that is lost.
import type { AsyncMessage } from 'rabbitmq-client';
import type { Subscription } from '../broker.js';
import { asError, pause, within } from '../driver/deadline.js';
import { type Delivery, parseBody, type Receiver } from '../driver/delivery.js';
import { type Channel, declareQueue, type Link } from './link.js';

interface Intake {
  readonly queues: readonly string[];
  /** How many messages of each queue may be here unacknowledged. */
  readonly prefetch: number;
  readonly receiver: Receiver;
}

const MIN_RETRY_MS = 250;
const MAX_RETRY_MS = 10_000;
/** How long RabbitMQ has to confirm that it sends no more. */
const MAX_CANCEL_MS = 3000;

/** Resolves when it has begun to subscribe. @throws TockError if rabbitmq-client is missing */
export async function subscribe(link: Link, { queues, prefetch, receiver }: Intake): Promise<Subscription> {
  await link.connection();
  const logger = await link.logger();
  const stopping = new AbortController();
  let current: { readonly channel: Channel; readonly tags: readonly string[] } | null = null;

  /** Resolves when the channel is lost, or RabbitMQ has ended a subscription: its queue was deleted. */
  const receive = async () => {
    const connection = await link.connection();
    const channel = await connection.acquire({ emitErrorsFromChannel: true });
    channel.on('error', () => undefined);
    const lost = new Promise<void>(resolve => {
      channel.once('close', resolve);
      channel.once('basic.cancel', () => resolve());
    });
    try {
      for (const queue of queues) await declareQueue(connection, queue);
      await channel.basicQos({ prefetchCount: prefetch });
      const tags: string[] = [];
      for (const queue of queues) {
        const { consumerTag } = await channel.basicConsume({ queue }, message =>
          receiver.take(deliveryOf(channel, message)),
        );
        if (consumerTag !== undefined) tags.push(consumerTag);
      }
      // A stop meanwhile has not seen this channel.
      if (stopping.signal.aborted) return;
      current = { channel, tags };
      await lost;
    } finally {
      // A drain acknowledges on this channel, and closes it then.
      const isDraining = stopping.signal.aborted && current?.channel === channel;
      if (!isDraining) await channel.close().catch(() => undefined);
    }
  };

  const run = async () => {
    let retryMs = MIN_RETRY_MS;
    while (!stopping.signal.aborted && !link.isClosed()) {
      try {
        await receive();
        retryMs = MIN_RETRY_MS;
      } catch (error) {
        const { message } = asError(error);
        if (!stopping.signal.aborted && !link.isClosed())
          logger.warn(
            { event: 'broker.unsubscribed', broker: 'rabbitmq', queues, error: message },
            `cannot receive from RabbitMQ: ${message}`,
          );
      }
      await pause(retryMs, stopping.signal);
      retryMs = Math.min(2 * retryMs, MAX_RETRY_MS);
    }
  };
  void run();

  const cancel = async () => {
    if (!current?.channel.active) return;
    for (const tag of current.tags) await current.channel.basicCancel(tag);
  };
  return {
    async stop() {
      stopping.abort();
      await within(MAX_CANCEL_MS, cancel());
      await receiver.stop();
      // Its answer says that RabbitMQ has read all acknowledgements.
      if (current?.channel.active) await within(MAX_CANCEL_MS, current.channel.close());
    },
  };
}

function deliveryOf(channel: Channel, { body, deliveryTag }: AsyncMessage): Delivery {
  return {
    body: Buffer.isBuffer(body) || typeof body === 'string' ? parseBody(body.toString()) : (body as unknown),
    ack: () => whileOpen(channel, () => channel.basicAck({ deliveryTag })),
    giveBack: () => whileOpen(channel, () => channel.basicNack({ deliveryTag, requeue: true })),
    isGone: () => !channel.active,
  };
}

/** RabbitMQ delivers again by itself what a lost channel had not acknowledged. */
function whileOpen(channel: Channel, send: () => void): void {
  try {
    if (channel.active) send();
  } catch {
    // It was lost just now.
  }
}
