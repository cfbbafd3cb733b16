// A message broker, as the relay and consumers see it: neither knows which one it is.
import { TockError } from '../model/errors.js';
import type { RelayMessage } from './messages.js';

/** Something that receives until it is stopped. */
export interface Subscription {
  /** Receives no more. Resolves when what was received has been processed; what was not goes back. */
  stop(): Promise<void>;
}

/** A batch of answers, as received, each alone or in an array of several: nobody has checked them. */
export type OnAnswers = (answers: readonly unknown[]) => Promise<void>;

/** Resolves when the message can be acknowledged; if it rejects, the broker delivers it again. */
export type OnMessage = (body: unknown) => Promise<void>;

/**
 * A broker. An implementation connects when it is first used, goes on trying when the connection is lost, and
 * makes the queues that it needs. Names: messages of a queue are in `<prefix>.work.<queue>`, answers in
 * `<prefix>.answers`; the prefix is `tock` unless the implementation is given another.
 */
export interface Broker {
  /** For people: `rabbitmq`, `nats`. */
  readonly name: string;
  /** Of the names of its queues. Default `tock`. */
  readonly prefix?: string;
  /**
   * Publishes messages under their ids (`messageId`), and resolves when the broker has confirmed or refused
   * each one: null if it is confirmed, and on the disks of a majority where the broker has several; otherwise
   * why not. A message that was not confirmed may be delivered nevertheless. Never rejects.
   */
  publish(messages: readonly RelayMessage[]): Promise<readonly (Error | null)[]>;
  /**
   * Receives answers in batches of about `maxBatch`, one batch at a time, and acknowledges a batch after
   * `onAnswers` has resolved. If it rejects, the batch comes again. A message may hold several answers.
   */
  receiveAnswers(options: { readonly maxBatch: number }, onAnswers: OnAnswers): Promise<Subscription>;
  /** Receives messages of these queues, at most `concurrency` at a time, and acknowledges each one. */
  receiveMessages(
    options: { readonly queues: readonly string[]; readonly concurrency: number },
    onMessage: OnMessage,
  ): Promise<Subscription>;
  /** Publishes an answer, alone or with others; resolves when it is confirmed. Rejects if it is not. */
  answer(body: object): Promise<void>;
  /** Ends the connection. What is under way is given up. */
  close(): Promise<void>;
}

/** Whether the broker refuses the answer for what it holds, so that it would refuse it again. */
export const isRefused = (error: unknown) => error instanceof TockError && error.code === 'TOCK_BAD_RESULT';
