// RabbitMQ as the broker of a relay, by the optional package rabbitmq-client. Needs RabbitMQ 3.10 or later.
//
//   <prefix>.work.<queue>   one durable quorum queue for each queue that is handed off
//   <prefix>.answers        the answers of all consumers
//
// Messages are persistent and published to the default exchange, confirmed, and `mandatory`: what no queue
// takes is refused. The message id is `<run>.<fence>`, the header `traceparent` the trace. A message expires
// in the broker when its lease has ended, by the broker's clock alone.
import { TockError } from '../model/errors.js';
import { quote } from '../model/names.js';
import { checkOptions, optionNames } from '../model/options.js';
import type { Broker, Subscription } from './broker.js';
import { gatherAnswers } from './driver/gather-answers.js';
import {
  type DriverOptions,
  loadPackages,
  openLogger,
  readPrefix,
  readPublishTimeout,
} from './driver/options.js';
import { receiveAnswers } from './driver/receive-answers.js';
import { receiveMessages } from './driver/receive-messages.js';
import { messageId, type RelayMessage } from './messages.js';
import { openLink } from './rabbitmq/link.js';
import { type Outgoing, openOutbox } from './rabbitmq/outbox.js';
import { subscribe } from './rabbitmq/subscribe.js';

/** Options of {@link rabbitmq}. */
export interface RabbitmqOptions extends DriverOptions {
  /**
   * `amqp://user:password@host:5672/vhost`, or `amqps://…`. Several: the nodes of one cluster, tried in turn,
   * with user, password and virtual host of the first. A function that returns them is called for each new
   * connection, and again when a connection is lost, since a password may change.
   */
  readonly url: string | readonly string[] | (() => string | readonly string[]);
  /** More options of rabbitmq-client's Connection, such as `tls`. */
  readonly connection?: Readonly<Record<string, unknown>>;
}

const OPTIONS = optionNames<RabbitmqOptions>({
  url: true,
  connection: true,
  prefix: true,
  publishTimeout: true,
  logger: true,
});
/** RabbitMQ counts expirations in 32 bits; what lives longer is dropped by consumers. */
const MAX_EXPIRATION_MS = 2 ** 32 - 1;
/** AMQP counts prefetched messages in 16 bits. */
const MAX_PREFETCH = 65_535;

/**
 * A broker over RabbitMQ. Connects when it is first used, to any of the nodes, and again when the connection
 * is lost; queues are made where they are missing.
 * @throws TockError TOCK_BAD_OPTION, TOCK_BAD_DURATION; with the first use, if rabbitmq-client is missing
 */
export function rabbitmq(options: RabbitmqOptions): Broker {
  checkOptions(options, OPTIONS, 'rabbitmq');
  const urls = () => readUrls(typeof options.url === 'function' ? options.url() : options.url);
  urls();
  const prefix = readPrefix(options);
  const publishTimeoutMs = readPublishTimeout(options);
  const link = openLink({
    urls,
    more: options.connection ?? {},
    load: async () => {
      const [client] = await loadPackages('rabbitmq()', ['rabbitmq-client']);
      // oxlint-disable-next-line typescript/consistent-type-imports -- loaded late, by a variable
      return client as typeof import('rabbitmq-client');
    },
    openLogger: async () => await openLogger(options),
  });
  const outbox = openOutbox(link, publishTimeoutMs);
  const answers = `${prefix}.answers`;
  const workOf = (queue: string) => `${prefix}.work.${queue}`;

  return {
    name: 'rabbitmq',
    prefix,
    publish: async messages => await outbox.send(messages.map(message => outgoing(workOf, message))),
    answer: gatherAnswers(async body => {
      const [error = null] = await outbox.send([
        { queue: answers, id: null, body, expirationMs: null, traceparent: null },
      ]);
      return error;
    }),
    receiveAnswers: async ({ maxBatch }, onAnswers): Promise<Subscription> =>
      await subscribe(link, {
        queues: [answers],
        prefetch: Math.min(2 * maxBatch, MAX_PREFETCH),
        receiver: receiveAnswers(maxBatch, onAnswers),
      }),
    receiveMessages: async ({ queues, concurrency }, onMessage): Promise<Subscription> =>
      await subscribe(link, {
        queues: queues.map(workOf),
        prefetch: Math.min(concurrency, MAX_PREFETCH),
        receiver: receiveMessages(concurrency, onMessage),
      }),
    async close() {
      outbox.close();
      await link.close();
    },
  };
}

function outgoing(workOf: (queue: string) => string, message: RelayMessage): Outgoing {
  return {
    queue: workOf(message.queue),
    id: messageId(message),
    body: message,
    expirationMs: Math.min(message.leaseMs, MAX_EXPIRATION_MS),
    traceparent: message.traceparent,
  };
}

function readUrls(given: string | readonly string[]): readonly string[] {
  const urls: readonly unknown[] = typeof given === 'string' ? [given] : (given ?? []);
  if (!Array.isArray(urls) || urls.length === 0)
    throw new TockError(
      'TOCK_BAD_OPTION',
      "url is missing: pass one such as 'amqp://user:password@host:5672'",
    );
  for (const url of urls) {
    if (typeof url === 'string' && URL.canParse(url) && /^amqps?:$/.test(new URL(url).protocol)) continue;
    // It may hold a password.
    throw new TockError(
      'TOCK_BAD_OPTION',
      `url ${typeof url === 'string' ? `of ${url.length} characters` : quote(url)} is not a URL that begins with amqp:// or amqps://`,
    );
  }
  return urls as readonly string[];
}
