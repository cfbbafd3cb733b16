// Publishes to RabbitMQ, and says of each message whether it is confirmed.
import { MessageRefused } from '../broker.js';
import { asError, type Deadline, startDeadline } from '../driver/deadline.js';
import { encodeBody } from '../driver/encode.js';
import { type Channel, declareQueue, type Link } from './link.js';

export interface Outgoing {
  readonly queue: string;
  /** Of an attempt; null: of answers. */
  readonly id: string | null;
  readonly body: object;
  /** After this time in the queue RabbitMQ drops it; null: never. */
  readonly expirationMs: number | null;
  readonly traceparent: string | null;
}

export interface Outbox {
  /** Never rejects: null for each message that is confirmed, else why not. */
  readonly send: (messages: readonly Outgoing[]) => Promise<readonly (Error | null)[]>;
  readonly close: () => void;
}

const MAX_TRIES = 5;
const RETRY_MS = 200;

export function openOutbox(link: Link, timeoutMs: number): Outbox {
  let opening: Promise<Channel> | null = null;
  let serial = 0;
  /** Queues that are known to be there. */
  const declared = new Set<string>();
  /** Why messages came back, by their serial number. */
  const returned = new Map<string, string>();

  const openChannel = async (): Promise<Channel> => {
    const connection = await link.connection();
    const channel = await connection.acquire({ emitErrorsFromChannel: true });
    channel.on('error', () => undefined);
    channel.on('basic.return', ({ correlationId, replyText, routingKey }) => {
      declared.delete(routingKey);
      if (correlationId !== undefined) returned.set(correlationId, replyText);
    });
    await channel.confirmSelect();
    return channel;
  };
  const channel = async (): Promise<Channel> => {
    const current = await opening?.catch(() => null);
    if (current?.active) return current;
    // Another call may have begun while this one waited.
    const latest = opening;
    if (latest !== null && (await latest.catch(() => null))?.active) return await latest;
    opening = openChannel();
    return await opening;
  };
  const declare = async (queue: string): Promise<void> => {
    if (declared.has(queue)) return;
    await declareQueue(await link.connection(), queue);
    declared.add(queue);
  };

  const sendOne = async (open: Channel, message: Outgoing): Promise<Error | null> => {
    const correlationId = String(++serial);
    const { queue, id, expirationMs, traceparent } = message;
    const body = encodeBody(message.body);
    await open.basicPublish(
      {
        routingKey: queue,
        mandatory: true,
        durable: true,
        ...(id !== null && { messageId: id }),
        correlationId,
        contentType: 'application/json',
        ...(expirationMs !== null && { expiration: String(expirationMs) }),
        ...(traceparent !== null && { headers: { traceparent } }),
      },
      body,
    );
    // What comes back is announced by setImmediate, and was received before the confirmation.
    await new Promise(setImmediate);
    const reason = returned.get(correlationId);
    returned.delete(correlationId);
    return reason === undefined ? null : new Error(`no queue took it: ${queue} (${reason})`);
  };

  /** A queue that is just being made, or whose leader changes, refuses messages for a moment. */
  const sendUntilTaken = async (open: Channel, message: Outgoing): Promise<Error | null> => {
    for (let tries = 1; ; tries++) {
      try {
        return await sendOne(open, message);
      } catch (error) {
        if ((error as { readonly code?: unknown }).code !== 'NACK' || tries === MAX_TRIES) throw error;
        await new Promise(resolve => setTimeout(resolve, RETRY_MS));
      }
    }
  };

  const sendOver = async (open: Channel, messages: readonly Outgoing[], deadline: Deadline) =>
    await Promise.all(
      messages.map(async message => await deadline.race(sendUntilTaken(open, message)).catch(asError)),
    );

  /**
   * A message that is refused ends its channel, and with it what else was under way there. So each half of
   * those messages is sent again over a channel of its own, until one that is refused is alone.
   */
  const sendHalves = async (sent: Results, deadline: Deadline): Promise<Results> => {
    const cutOff = [...sent].flatMap(([message, error]) => (isCutOff(error) ? [message] : []));
    // It would say the same of each of them.
    if (cutOff.length === 0 || [...sent.values()].some(isOfBroker)) return sent;
    const half = Math.ceil(cutOff.length / 2);
    const results = new Map(sent);
    for (const part of [cutOff.slice(0, half), cutOff.slice(half)])
      for (const [message, error] of await sendApart(part, deadline)) results.set(message, error);
    return results;
  };
  const sendApart = async (messages: readonly Outgoing[], deadline: Deadline): Promise<Results> => {
    if (messages.length === 0) return new Map();
    let own: Channel | null = null;
    try {
      own = await deadline.race(openChannel());
      const sent = resultsOf(messages, await sendOver(own, messages, deadline));
      return messages.length === 1 ? new Map([...sent].map(judgeAlone)) : await sendHalves(sent, deadline);
    } catch (error) {
      return resultsOf(
        messages,
        messages.map(() => asError(error)),
      );
    } finally {
      void own?.close().catch(() => undefined);
    }
  };

  const sendAll = async (open: Channel, messages: readonly Outgoing[], deadline: Deadline) => {
    const queues = [...new Set(messages.map(message => message.queue))];
    const failures = new Map<string, Error>();
    for (const queue of queues)
      await deadline.race(declare(queue)).catch((error: unknown) => failures.set(queue, asError(error)));
    const sendable = messages.filter(({ queue }) => !failures.has(queue));
    const sent = resultsOf(sendable, await sendOver(open, sendable, deadline));
    const results = await sendHalves(sent, deadline);
    return messages.map(message => failures.get(message.queue) ?? results.get(message) ?? null);
  };

  return {
    async send(messages) {
      if (messages.length === 0) return [];
      if (link.isBlocked()) {
        const blocked = new Error('RabbitMQ takes no messages for now: its memory or disk is nearly used up');
        return messages.map(() => blocked);
      }
      const deadline = startDeadline(
        timeoutMs,
        () =>
          new Error(
            `RabbitMQ did not confirm it within ${timeoutMs}ms${link.problem() === null ? '' : `: ${link.problem()}`}`,
          ),
      );
      let used: Channel | null = null;
      try {
        used = await deadline.race(channel());
        return await sendAll(used, messages, deadline);
      } catch (error) {
        return messages.map(() => asError(error));
      } finally {
        deadline.clear();
        // What is confirmed later is of no use any more; the next batch gets a channel of its own.
        if (deadline.isOver()) void used?.close().catch(() => undefined);
      }
    },
    close() {
      // Not awaited: what is under way is given up.
      void opening?.then(open => open.close()).catch(() => undefined);
      opening = null;
    },
  };
}

/** Null for a message that is confirmed, else why it is not. */
type Results = ReadonlyMap<Outgoing, Error | null>;

const resultsOf = (messages: readonly Outgoing[], errors: readonly (Error | null)[]): Results =>
  new Map(messages.map((message, index) => [message, errors[index] ?? null]));

/** Codes of the client's errors: RabbitMQ, or the client, refuses a message, as one over max_message_size. */
const REFUSALS: readonly unknown[] = ['PRECONDITION_FAILED', 'CODEC'];
const codeOf = (error: Error) => (error as { readonly code?: unknown }).code;

/** Only of a message that is alone on its channel: of several, the client gives this error to any. */
const isRefusal = (error: Error) =>
  REFUSALS.includes(codeOf(error)) || error instanceof RangeError || error instanceof TypeError;
/** Whether its channel was closed because of a message, which may be another one. */
const isCutOff = (error: Error | null) =>
  error !== null && (codeOf(error) === 'CH_CLOSE' || isRefusal(error));
/** Whether RabbitMQ has closed the channel for another reason, as for a missing right. */
const isOfBroker = (error: Error | null) => error?.name === 'AMQPChannelError' && !isCutOff(error);

const judgeAlone = ([message, error]: readonly [Outgoing, Error | null]) =>
  [
    message,
    error !== null && isRefusal(error) ? new MessageRefused(error.message, { cause: error }) : error,
  ] as const;
