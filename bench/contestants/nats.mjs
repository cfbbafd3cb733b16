// NATS JetStream alone: publish with acknowledgement, a pull consumer, explicit acknowledgements.
// In: URLs of its nodes, separated by commas. Out: what every contestant gives (see contestants/index.mjs).
import { jetstream, jetstreamManager } from '@nats-io/jetstream';
import { connect } from '@nats-io/transport-node';

const STREAM = 'bench';
const SUBJECT = 'bench.noop';
const CONSUMER = 'worker';
/** A batch of publishes waits for its last one. */
const PUBLISH_WITHIN_MS = 60_000;

const connectTo = async url => await connect({ servers: url.split(',') });

export const nats = {
  name: 'NATS JetStream',
  parts: ['consumer'],
  install: async url => {
    const connection = await connectTo(url);
    const manager = await jetstreamManager(connection);
    await manager.streams.add({
      name: STREAM,
      subjects: [SUBJECT],
      retention: 'workqueue',
      storage: 'file',
      num_replicas: url.split(',').length,
    });
    await manager.consumers.add(STREAM, { durable_name: CONSUMER, ack_policy: 'explicit' });
    await connection.close();
  },
  producer: async url => {
    const connection = await connectTo(url);
    const client = jetstream(connection, { timeout: PUBLISH_WITHIN_MS });
    const publish = async payload => {
      await client.publish(SUBJECT, JSON.stringify(payload));
      return payload.n;
    };
    return {
      add: publish,
      addMany: async payloads => void (await Promise.all(payloads.map(publish))),
      close: async () => await connection.close(),
    };
  },
  worker: async (url, { handler, concurrency, completed, times }) => {
    const connection = await connectTo(url);
    const consumer = await jetstream(connection).consumers.get(STREAM, CONSUMER);
    const execute = async message => {
      const payload = message.json();
      await handler(payload);
      // The second form waits until the server has recorded it.
      if (!times) return message.ack();
      await message.ackAck();
      completed(payload.n);
    };
    const messages = await consumer.consume({
      max_messages: concurrency,
      callback: message => void execute(message),
    });
    return {
      stop: async () => {
        messages.stop();
        await connection.drain();
      },
    };
  },
  observe: async url => {
    const connection = await connectTo(url);
    const manager = await jetstreamManager(connection);
    return {
      waiting: async () => {
        const { num_pending: pending, num_ack_pending: unacknowledged } = await manager.consumers.info(
          STREAM,
          CONSUMER,
        );
        return pending + unacknowledged;
      },
      finished: async () => {
        const { state } = await manager.streams.info(STREAM);
        return state.last_seq - state.messages;
      },
      close: async () => await connection.close(),
    };
  },
};
