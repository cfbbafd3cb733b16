// A message broker, as the relay and consumers see it: neither knows which one it is.
import type { RelayMessage } from './messages.js';

/**
 * Says that a broker, or its client, refuses one message for what that message holds, and would refuse it
 * again: it is too large, or it cannot be encoded.
 */
export class MessageRefused extends Error {
  readonly kind = 'tock.message-refused';
  constructor(reason: string, options?: ErrorOptions) {
    super(reason, options);
    this.name = 'MessageRefused';
  }
}

/** By kind, not by class: the broker may come from another copy of the package. */
export const isRefused = (error: unknown): error is MessageRefused =>
  error instanceof Error && (error as { readonly kind?: unknown }).kind === 'tock.message-refused';

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
   * why not. A {@link MessageRefused} says that the fault is the message's: it fails the attempt. Any other
   * error says that the broker could not take it now: it is published again, and if nothing is confirmed, the
   * broker counts as away. A message that was not confirmed may be delivered nevertheless. Never rejects.
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
  /**
   * Publishes an answer, alone or with others; resolves when it is confirmed. Rejects if it is not: with
   * {@link MessageRefused} if the fault is the answer's.
   */
  answer(body: object): Promise<void>;
  /** Ends the connection. What is under way is given up. */
  close(): Promise<void>;
}
