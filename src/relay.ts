// `pg-tock/relay`: runs that are executed at the other end of a message broker.
export type { Broker, OnAnswers, OnMessage, Subscription } from './relay/broker.js';
export {
  type ConsumeOptions,
  consume,
  type RunningConsumer,
  type StopConsumerOptions,
} from './relay/consume/consume.js';
export type { DriverOptions } from './relay/driver/options.js';
export { type JetstreamOptions, jetstream } from './relay/jetstream.js';
export {
  type ExtendAnswer,
  type FailedAnswer,
  messageId,
  type ProgressAnswer,
  PROTOCOL,
  type RelayAnswer,
  type RelayMessage,
  type SucceededAnswer,
} from './relay/messages.js';
export { type RabbitmqOptions, rabbitmq } from './relay/rabbitmq.js';
