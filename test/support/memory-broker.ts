// Room: test support. A message broker in memory that keeps a broker's promises: at least once, confirmed, in batches.
// In: switches for what goes wrong. Out: what was published, and how often it was tried.
import {
  type Broker,
  MessageRefused,
  type OnAnswers,
  type OnMessage,
  type Subscription,
} from '../../src/relay/broker.js';
import { messageId, type RelayMessage } from '../../src/relay/messages.js';

const copy = <T>(value: T): T => JSON.parse(JSON.stringify(value)) as T;
const turn = () => new Promise(resolve => setTimeout(resolve, 2));

export class MemoryBroker implements Broker {
  readonly name: string = 'memory';
  /** Nothing is confirmed, delivered or received. */
  isAway = false;
  /** Messages that it refuses for what they hold, and says so. */
  refusesContent: (message: RelayMessage) => boolean = () => false;
  /** Messages that it refuses, without saying whose fault it is. */
  refuses: (message: RelayMessage) => boolean = () => false;
  /** It takes messages, and its confirmations are lost. */
  losesConfirms: (message: RelayMessage) => boolean = () => false;
  /** Each message and each answer is delivered twice. */
  deliversTwice = false;
  /** Publishing waits until this resolves; null: it does not. */
  held: Promise<void> | null = null;
  /** Every message that it took, in this order. */
  readonly taken: RelayMessage[] = [];
  /** How many messages each call of `publish` had. */
  readonly calls: number[] = [];
  /** How often the relay has rejected a batch of answers. */
  rejections = 0;
  private readonly messages: RelayMessage[] = [];
  /** What waits to be received. */
  readonly answers: unknown[] = [];
  private receiving: Promise<void>[] = [];
  private isClosed = false;

  async publish(messages: readonly RelayMessage[]): Promise<readonly (Error | null)[]> {
    this.calls.push(messages.length);
    await this.held;
    await turn();
    return messages.map(message => {
      if (this.isAway) return new Error('no route to the broker');
      if (this.refusesContent(message)) return new MessageRefused('it is too large');
      if (this.refuses(message)) return new Error('the queue is full');
      for (let times = this.deliversTwice ? 2 : 1; times > 0; times--) this.messages.push(copy(message));
      this.taken.push(copy(message));
      return this.losesConfirms(message) ? new Error('the confirmation was lost') : null;
    });
  }

  receiveAnswers({ maxBatch }: { readonly maxBatch: number }, onAnswers: OnAnswers): Promise<Subscription> {
    if (this.isAway) return Promise.reject(new Error('no route to the broker'));
    return Promise.resolve(
      this.receive(async () => {
        const batch = this.answers.splice(0, maxBatch);
        if (batch.length === 0) return;
        try {
          await onAnswers(batch);
        } catch {
          this.rejections++;
          this.answers.unshift(...batch);
          await turn();
        }
      }),
    );
  }

  receiveMessages(
    { queues, concurrency }: { readonly queues: readonly string[]; readonly concurrency: number },
    onMessage: OnMessage,
  ): Promise<Subscription> {
    return Promise.resolve(
      this.receive(async () => {
        const mine = this.messages.filter(({ queue }) => queues.includes(queue)).slice(0, concurrency);
        for (const message of mine) this.messages.splice(this.messages.indexOf(message), 1);
        const again = (message: RelayMessage) => void this.messages.push(message);
        await Promise.all(mine.map(message => onMessage(message).catch(() => again(message))));
      }),
    );
  }

  /** Once per turn, until it is stopped. */
  private receive(step: () => Promise<void>): Subscription {
    let isStopped = false;
    const work = async () => {
      while (!isStopped && !this.isClosed) {
        if (!this.isAway) await step();
        await turn();
      }
    };
    const working = work();
    this.receiving.push(working);
    return {
      stop: async () => {
        isStopped = true;
        await working;
      },
    };
  }

  answer(body: object): Promise<void> {
    if (this.isAway) return Promise.reject(new Error('no route to the broker'));
    for (let times = this.deliversTwice ? 2 : 1; times > 0; times--) this.answers.push(copy(body));
    return Promise.resolve();
  }

  /** Delivers any body as an answer, as a consumer with a fault would send it. */
  forge(...bodies: readonly unknown[]): void {
    this.answers.push(...bodies);
  }

  async close(): Promise<void> {
    this.isClosed = true;
    await Promise.all(this.receiving);
    this.receiving = [];
  }

  /** The ids of the messages that it took. */
  get ids(): string[] {
    return this.taken.map(messageId);
  }
}

/** Answers every message of some queues with success. */
export async function echo(broker: Broker, queues: readonly string[]): Promise<Subscription> {
  return await broker.receiveMessages({ queues, concurrency: 100 }, async body => {
    const { run, fence, payload } = body as RelayMessage;
    await broker.answer({ tock: 1, run, fence, kind: 'succeeded', result: payload });
  });
}
