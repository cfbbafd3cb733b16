import {
  BatchRequestTooLong,
  ChangeMessageVisibilityCommand,
  DeleteMessageBatchCommand,
  DeleteMessageCommand,
  type Message,
  ReceiveMessageCommand,
  SendMessageBatchCommand,
  SendMessageCommand,
  type SQSClient,
} from '@aws-sdk/client-sqs';
import { type Broker, MessageRefused, messageId, type RelayMessage, type Subscription } from 'pg-tock/relay';

/** URLs of the queues. */
export interface SqsUrls {
  readonly work: (queue: string) => string;
  readonly answers: string;
}

const VISIBLE_AGAIN_S = 60;
/** The most that SQS takes and gives at once. */
const BATCH = 10;

export function sqs(client: SQSClient, urls: SqsUrls): Broker {
  const sendBatch = async (url: string, messages: readonly RelayMessage[]): Promise<(Error | null)[]> => {
    const Entries = messages.map((message, index) => ({
      Id: String(index),
      MessageBody: JSON.stringify(message),
      MessageAttributes: { id: { DataType: 'String', StringValue: messageId(message) } },
    }));
    try {
      const { Failed = [] } = await client.send(new SendMessageBatchCommand({ QueueUrl: url, Entries }));
      return messages.map((_, index) => {
        const failure = Failed.find(({ Id }) => Id === String(index));
        if (!failure) return null;
        const reason = failure.Message ?? failure.Code ?? 'it says no reason';
        return isOfMessage(failure.Code) ? new MessageRefused(reason) : new Error(reason);
      });
    } catch (error) {
      if (!(error instanceof BatchRequestTooLong)) return messages.map(() => error as Error);
      if (messages.length === 1) return [new MessageRefused(error.message, { cause: error })];
      // Together they are too large.
      return (await Promise.all(messages.map(message => sendBatch(url, [message])))).flat();
    }
  };

  /** Receives until it is stopped. What `take` rejects with comes again after the visibility timeout. */
  const poll = (url: string, count: number, take: (messages: Message[]) => Promise<void>): Subscription => {
    const stopping = new AbortController();
    const receive = new ReceiveMessageCommand({
      QueueUrl: url,
      MaxNumberOfMessages: count,
      WaitTimeSeconds: 20,
      VisibilityTimeout: VISIBLE_AGAIN_S,
    });
    const run = async () => {
      while (!stopping.signal.aborted) {
        try {
          const { Messages = [] } = await client.send(receive, { abortSignal: stopping.signal });
          if (Messages.length > 0) await take(Messages);
        } catch {
          if (!stopping.signal.aborted) await new Promise(resolve => setTimeout(resolve, 1000));
        }
      }
    };
    const running = run();
    return {
      async stop() {
        stopping.abort();
        await running;
      },
    };
  };
  const all = (subscriptions: readonly Subscription[]): Subscription => ({
    stop: async () => void (await Promise.all(subscriptions.map(each => each.stop()))),
  });

  return {
    name: 'sqs',
    async publish(messages) {
      const results = new Map<RelayMessage, Error | null>();
      for (const queue of new Set(messages.map(message => message.queue))) {
        const ofQueue = messages.filter(message => message.queue === queue);
        for (let from = 0; from < ofQueue.length; from += BATCH) {
          const batch = ofQueue.slice(from, from + BATCH);
          const sent = await sendBatch(urls.work(queue), batch);
          for (const [index, message] of batch.entries()) results.set(message, sent[index] ?? null);
        }
      }
      return messages.map(message => results.get(message) ?? null);
    },
    async answer(body) {
      await client.send(
        new SendMessageCommand({ QueueUrl: urls.answers, MessageBody: JSON.stringify(body) }),
      );
    },
    receiveAnswers: async ({ maxBatch }, onAnswers) =>
      poll(urls.answers, Math.min(maxBatch, BATCH), async received => {
        await onAnswers(received.map(({ Body = '' }) => parse(Body)));
        const Entries = received.map(({ ReceiptHandle }, index) => ({ Id: String(index), ReceiptHandle }));
        await client.send(new DeleteMessageBatchCommand({ QueueUrl: urls.answers, Entries }));
      }),
    receiveMessages: async ({ queues, concurrency }, onMessage) =>
      // One poll for each message at a time, spread over the queues.
      all(
        Array.from({ length: Math.max(concurrency, queues.length) }, (_, index) => {
          const url = urls.work(queues[index % queues.length] ?? '');
          return poll(url, 1, async ([message]) => {
            const handle = { QueueUrl: url, ReceiptHandle: message?.ReceiptHandle };
            const prolong = new ChangeMessageVisibilityCommand({
              ...handle,
              VisibilityTimeout: VISIBLE_AGAIN_S,
            });
            const prolonging = setInterval(
              () => void client.send(prolong).catch(() => undefined),
              (VISIBLE_AGAIN_S / 3) * 1000,
            );
            try {
              await onMessage(parse(message?.Body ?? ''));
            } finally {
              clearInterval(prolonging);
            }
            await client.send(new DeleteMessageCommand(handle));
          });
        }),
      ),
    async close() {
      client.destroy();
    },
  };
}

/** Other codes speak of the sender's rights, or of the queue. */
const isOfMessage = (code: string | undefined) =>
  code === 'InvalidMessageContents' || code === 'InvalidParameterValue';

/** A text that is no JSON is passed on as it is: the reader refuses it, and it is deleted. */
function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}
