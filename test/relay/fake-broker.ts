// Room: test support. A broker in memory for tests of consume().
// In: messages. Out: the answers that were confirmed, the messages that were acknowledged and those that came back.
import type { Broker, OnMessage, RelayAnswer, RelayMessage } from '../../src/relay.js';

export interface FakeBroker extends Broker {
  readonly answers: RelayAnswer[];
  readonly acknowledged: unknown[];
  readonly returned: unknown[];
  /** Delivers a message, and resolves to whether it was acknowledged. */
  readonly deliver: (body: unknown) => Promise<boolean>;
  /** What `answer` does before it confirms. */
  onAnswer: (answer: RelayAnswer) => Promise<void>;
  readonly received: { queues: readonly string[]; concurrency: number }[];
}

export function openFakeBroker(): FakeBroker {
  let handler: OnMessage | null = null;
  const atWork = new Set<Promise<boolean>>();
  const broker: FakeBroker = {
    name: 'fake',
    answers: [],
    acknowledged: [],
    returned: [],
    received: [],
    onAnswer: () => Promise.resolve(),
    async deliver(body) {
      if (handler === null) throw new Error('nobody receives');
      const work = handler(body).then(
        () => {
          broker.acknowledged.push(body);
          return true;
        },
        () => {
          broker.returned.push(body);
          return false;
        },
      );
      atWork.add(work);
      return await work.finally(() => atWork.delete(work));
    },
    publish: messages => Promise.resolve(messages.map(() => null)),
    receiveAnswers: () => Promise.resolve({ stop: () => Promise.resolve() }),
    receiveMessages(options, onMessage) {
      handler = onMessage;
      broker.received.push(options);
      return Promise.resolve({
        async stop() {
          await Promise.all(atWork);
        },
      });
    },
    async answer(body) {
      const answer = JSON.parse(JSON.stringify(body)) as RelayAnswer;
      await broker.onAnswer(answer);
      broker.answers.push(answer);
    },
    close: () => Promise.resolve(),
  };
  return broker;
}

export const messageFor = (job: string, more: Partial<RelayMessage> = {}): RelayMessage => ({
  tock: 1,
  run: '812',
  fence: 3,
  job,
  queue: 'mail',
  definition: null,
  attempt: 1,
  maxAttempts: 3,
  trigger: 'api',
  scheduledFor: null,
  intervalStart: null,
  occurrenceCount: 1,
  idempotencyKey: null,
  payload: {},
  leaseMs: 60_000,
  publishedAt: new Date().toISOString(),
  traceparent: null,
  ...more,
});
