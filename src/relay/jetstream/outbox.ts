// Publishes to JetStream, and says of each message whether it is confirmed.
import { isRefused, MessageRefused } from '../broker.js';
import { asError, type Deadline, startDeadline } from '../driver/deadline.js';
import { encodeBody } from '../driver/encode.js';
import type { Link, Open } from './link.js';
import type { StreamName, Streams } from './streams.js';

export interface Outgoing {
  readonly subject: string;
  /** JetStream takes a second one with this id for the same message; null: it has none. */
  readonly id: string | null;
  readonly body: object;
  readonly traceparent: string | null;
}

export interface Outbox {
  /** Never rejects: null for each message that is confirmed, else why not. */
  readonly send: (stream: StreamName, messages: readonly Outgoing[]) => Promise<readonly (Error | null)[]>;
}

const MAX_TRIES = 5;
const RETRY_MS = 200;

/** Names of the client's errors about what it was given: a header, a subject, a size over `max_payload`. */
const CLIENT_REFUSALS: readonly unknown[] = ['InvalidArgumentError', 'InvalidSubjectError'];
/** Codes of the API's errors: the message, or its headers, are over the `max_msg_size` of the stream. */
const STREAM_REFUSALS: readonly unknown[] = [10_054, 10_097];

export function openOutbox(link: Link, streams: Streams, timeoutMs: number): Outbox {
  const sendOne = async ({ connection, client, transport }: Open, message: Outgoing): Promise<null> => {
    const payload = encodeBody(message.body);
    checkSize(payload, connection.info?.max_payload);
    try {
      const headers = transport.headers();
      headers.set('Content-Type', 'application/json');
      if (message.traceparent !== null) headers.set('traceparent', message.traceparent);
      await client.publish(message.subject, payload, {
        headers,
        timeout: timeoutMs,
        ...(message.id !== null && { msgID: message.id }),
      });
      return null;
    } catch (error) {
      throw isOfMessage(error) ? new MessageRefused(asError(error).message, { cause: error }) : error;
    }
  };

  /** Nothing listens at the subject of a stream that was made just now, until all servers know of it. */
  const sendUntilTaken = async (open: Open, message: Outgoing, deadline: Deadline): Promise<null> => {
    for (let tries = 1; ; tries++) {
      try {
        return await sendOne(open, message);
      } catch (error) {
        if (asError(error).name !== 'JetStreamNotEnabled' || tries === MAX_TRIES || deadline.isOver())
          throw error;
        await new Promise(resolve => setTimeout(resolve, RETRY_MS));
      }
    }
  };

  const sendAll = async (stream: StreamName, messages: readonly Outgoing[], deadline: Deadline) => {
    const open = await deadline.race(link.open());
    await deadline.race(streams.ensureStream(open, stream));
    return await Promise.all(
      messages.map(
        async message => await deadline.race(sendUntilTaken(open, message, deadline)).catch(asError),
      ),
    );
  };

  return {
    async send(stream, messages) {
      if (messages.length === 0) return [];
      const deadline = startDeadline(
        timeoutMs,
        () =>
          new Error(
            `NATS did not confirm it within ${timeoutMs}ms${link.problem() === null ? '' : `: ${link.problem()}`}`,
          ),
      );
      try {
        const results = await sendAll(stream, messages, deadline);
        // The stream may have been deleted, so that nothing takes the message.
        if (results.some(error => error !== null && !isRefused(error))) streams.forget(stream);
        return results;
      } catch (error) {
        return messages.map(() => asError(error));
      } finally {
        deadline.clear();
      }
    },
  };
}

function isOfMessage(error: unknown): boolean {
  const { name, code } = asError(error) as Error & { readonly code?: unknown };
  return CLIENT_REFUSALS.includes(name) || STREAM_REFUSALS.includes(code);
}

/** @throws MessageRefused */
function checkSize({ length }: Buffer, maxBytes: number | undefined): void {
  if (maxBytes !== undefined && length > maxBytes)
    throw new MessageRefused(
      `the message has ${length} bytes, over the limit of the NATS server (max_payload ${maxBytes}): raise it there, or pass less`,
    );
}
