// `pg-tock/relay`: hands whole queues off to a message broker, and executes them at its other end. See
// docs/relay.md. What only consumers need must not load the engine: createRelay loads it with its first call.
import type { Relay, RelayOptions } from './relay/relay-options.js';

export {
  type Broker,
  MessageRefused,
  type OnAnswers,
  type OnMessage,
  type Subscription,
} from './relay/broker.js';
export {
  type ConsumeOptions,
  consume,
  type RunningConsumer,
  type StopConsumerOptions,
} from './relay/consume/consume.js';
export type { DriverOptions } from './relay/driver/options.js';
export { type JetstreamOptions, jetstream } from './relay/jetstream.js';
export {
  type Answer,
  type ExtendAnswer,
  type FailedAnswer,
  messageId,
  PROTOCOL,
  type ProgressAnswer,
  type RelayAnswer,
  type RelayMessage,
  type SucceededAnswer,
} from './relay/messages.js';
export { type RabbitmqOptions, rabbitmq } from './relay/rabbitmq.js';
export type { Relay, RelayFigures, RelayOptions } from './relay/relay-options.js';

/**
 * Starts a relay: it claims the runs of these queues as a daemon does, publishes them, and completes what
 * consumers answer. Until its `stop`, or until the Tock is closed.
 * @throws TockError TOCK_BAD_OPTION, also for a queue that is relayed to another broker; as `start` does
 */
export async function createRelay(options: RelayOptions): Promise<Relay> {
  const { startRelay } = await import('./relay/start-relay.js');
  return await startRelay(options);
}
