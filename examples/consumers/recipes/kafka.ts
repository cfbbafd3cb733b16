import type { Consumer, EachBatchPayload, Kafka } from 'kafkajs';
import { type Broker, MessageRefused, messageId, type RelayMessage, type Subscription } from 'pg-tock/relay';

const HEARTBEAT_MS = 3000;

export function kafka(client: Kafka, prefix = 'tock'): Broker {
  const producer = client.producer({ idempotent: true, maxInFlightRequests: 1 });
  let connecting: Promise<void> | null = null;
  const connected = async () => {
    connecting ??= producer.connect();
    await connecting.catch((error: unknown) => {
      connecting = null;
      throw error;
    });
  };
  const send = async (messages: readonly RelayMessage[]) => {
    const queues = [...new Set(messages.map(message => message.queue))];
    await producer.sendBatch({
      acks: -1,
      topicMessages: queues.map(queue => ({
        topic: `${prefix}.work.${queue}`,
        messages: messages
          .filter(message => message.queue === queue)
          .map(message => ({ key: messageId(message), value: JSON.stringify(message) })),
      })),
    });
  };
  const consumers: Consumer[] = [];
  const receive = async (
    group: string,
    topics: string[],
    concurrency: number,
    eachBatch: (payload: EachBatchPayload) => Promise<void>,
  ): Promise<Subscription> => {
    const consumer = client.consumer({ groupId: `${prefix}.${group}` });
    consumers.push(consumer);
    await consumer.connect();
    await consumer.subscribe({ topics, fromBeginning: true });
    await consumer.run({
      eachBatchAutoResolve: false,
      partitionsConsumedConcurrently: concurrency,
      async eachBatch(payload) {
        const beating = setInterval(() => void payload.heartbeat().catch(() => undefined), HEARTBEAT_MS);
        try {
          await eachBatch(payload);
        } finally {
          clearInterval(beating);
        }
      },
    });
    return { stop: async () => await consumer.stop() };
  };

  return {
    name: 'kafka',
    async publish(messages) {
      try {
        await connected();
        await send(messages);
        return messages.map(() => null);
      } catch (error) {
        if (!isTooLarge(error)) return messages.map(() => error as Error);
        // Kafka does not say which one.
        return await Promise.all(
          messages.map(async message => {
            try {
              await send([message]);
              return null;
            } catch (alone) {
              return isTooLarge(alone)
                ? new MessageRefused(String(alone), { cause: alone })
                : (alone as Error);
            }
          }),
        );
      }
    },
    async answer(body) {
      await connected();
      await producer.send({
        topic: `${prefix}.answers`,
        acks: -1,
        messages: [{ value: JSON.stringify(body) }],
      });
    },
    receiveAnswers: async ({ maxBatch }, onAnswers) =>
      await receive(
        'relay',
        [`${prefix}.answers`],
        1,
        async ({ batch, resolveOffset, commitOffsetsIfNecessary }) => {
          for (let from = 0; from < batch.messages.length; from += maxBatch) {
            const part = batch.messages.slice(from, from + maxBatch);
            await onAnswers(part.map(({ value }) => parse(value)));
            resolveOffset(part.at(-1)?.offset ?? '');
            await commitOffsetsIfNecessary();
          }
        },
      ),
    receiveMessages: async ({ queues, concurrency }, onMessage) =>
      await receive(
        'consumers',
        queues.map(queue => `${prefix}.work.${queue}`),
        concurrency,
        async ({ batch, resolveOffset, commitOffsetsIfNecessary, isRunning }) => {
          for (const { value, offset } of batch.messages) {
            if (!isRunning()) return;
            await onMessage(parse(value));
            resolveOffset(offset);
            await commitOffsetsIfNecessary();
          }
        },
      ),
    async close() {
      await Promise.all([producer.disconnect(), ...consumers.map(consumer => consumer.disconnect())]);
    },
  };
}

const isTooLarge = (error: unknown) =>
  // The client wraps what it does not try again.
  [error, (error as Error).cause].some(
    each => (each as { type?: unknown } | undefined)?.type === 'MESSAGE_TOO_LARGE',
  );

/** What is no JSON is passed on as it is: the reader refuses it. */
function parse(value: Buffer | null): unknown {
  const text = value?.toString() ?? '';
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}
