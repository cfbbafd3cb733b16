// Publishes to JetStream, and says of each message whether it is confirmed.
import { TockError } from '../../model/errors.js';
import { asError, type Deadline, startDeadline } from '../driver/deadline.js';
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

export function openOutbox(link: Link, streams: Streams, timeoutMs: number): Outbox {
  const sendOne = async ({ connection, client, transport }: Open, message: Outgoing): Promise<null> => {
    const payload = JSON.stringify(message.body);
    checkSize(payload, connection.info?.max_payload);
    const headers = transport.headers();
    headers.set('Content-Type', 'application/json');
    if (message.traceparent !== null) headers.set('traceparent', message.traceparent);
    await client.publish(message.subject, payload, {
      headers,
      timeout: timeoutMs,
      ...(message.id !== null && { msgID: message.id }),
    });
    return null;
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
        if (results.some(error => error !== null)) streams.forget(stream);
        return results;
      } catch (error) {
        return messages.map(() => asError(error));
      } finally {
        deadline.clear();
      }
    },
  };
}

/** @throws TockError TOCK_BAD_RESULT, which no repetition helps */
function checkSize(payload: string, maxBytes: number | undefined): void {
  if (maxBytes === undefined || payload.length * 3 <= maxBytes) return;
  const bytes = Buffer.byteLength(payload);
  if (bytes > maxBytes)
    throw new TockError(
      'TOCK_BAD_RESULT',
      `the message has ${bytes} bytes, over the limit of the NATS server (max_payload ${maxBytes}): raise it there, or pass less`,
    );
}
