// NATS JetStream as the broker of a relay, by the optional packages @nats-io/transport-node and
// @nats-io/jetstream. Needs nats-server 2.9 or later, with JetStream.
//
//   stream <prefix>-work      subjects <prefix>.work.<queue>; one durable pull consumer for each queue
//   stream <prefix>-answers   subject <prefix>.answers; one durable pull consumer, `relay`
//
// Both are work queues, in files. In subjects and names of durable consumers a `.` of a queue's name is
// written as `=2E`; NATS allows the other characters that a name may have. The message id (Nats-Msg-Id) is
// `<run>.<fence>`, the header `traceparent` the trace. Messages do not expire: consumers drop late ones.
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
import { openLink } from './jetstream/link.js';
import { openOutbox } from './jetstream/outbox.js';
import { openStreams } from './jetstream/streams.js';
import { subscribe } from './jetstream/subscribe.js';
import { messageId } from './messages.js';

/** Options of {@link jetstream}. */
export interface JetstreamOptions extends DriverOptions {
  /**
   * `nats://host:4222`, or `tls://…`. Several: servers of one cluster, tried in turn. A function that returns
   * them is called for each new connection, since a password may change.
   */
  readonly servers: string | readonly string[] | (() => string | readonly string[]);
  /**
   * On how many servers each message is kept, 1 to 5, when the streams are made. Default: three, or as many
   * as the cluster has. What is there already keeps its number.
   */
  readonly replicas?: number;
  /** More options of `connect`, such as `user` and `pass`, `token`, `tls` or `authenticator`. */
  readonly connection?: Readonly<Record<string, unknown>>;
}

const OPTIONS = optionNames<JetstreamOptions>({
  servers: true,
  replicas: true,
  connection: true,
  prefix: true,
  publishTimeout: true,
  logger: true,
});

/**
 * A broker over NATS JetStream. Connects when it is first used, and again when the connection is lost;
 * streams and consumers are made where they are missing.
 * @throws TockError TOCK_BAD_OPTION, TOCK_BAD_DURATION; with the first use, if a package is missing
 */
export function jetstream(options: JetstreamOptions): Broker {
  checkOptions(options, OPTIONS, 'jetstream');
  const prefix = readPrefix(options);
  const servers = () =>
    readServers(typeof options.servers === 'function' ? options.servers() : options.servers);
  servers();
  const link = openLink({
    servers,
    more: options.connection ?? {},
    load: async () => {
      const [transport, jet] = await loadPackages('jetstream()', [
        '@nats-io/transport-node',
        '@nats-io/jetstream',
      ]);
      return {
        // oxlint-disable-next-line typescript/consistent-type-imports -- loaded late, by a variable
        transport: transport as typeof import('@nats-io/transport-node'),
        // oxlint-disable-next-line typescript/consistent-type-imports -- loaded late, by a variable
        jet: jet as typeof import('@nats-io/jetstream'),
      };
    },
    openLogger: async () => await openLogger(options),
  });
  const streams = openStreams(link, readReplicas(options.replicas));
  const outbox = openOutbox(link, streams, readPublishTimeout(options));
  const work = { name: `${prefix}-work`, subjects: [`${prefix}.work.*`] };
  const answers = { name: `${prefix}-answers`, subjects: [`${prefix}.answers`] };

  return {
    name: 'nats',
    prefix,
    publish: async messages =>
      await outbox.send(
        work,
        messages.map(message => ({
          subject: `${prefix}.work.${tokenOf(message.queue)}`,
          id: messageId(message),
          body: message,
          traceparent: message.traceparent,
        })),
      ),
    answer: gatherAnswers(async body => {
      const [error = null] = await outbox.send(answers, [
        { subject: `${prefix}.answers`, id: null, body, traceparent: null },
      ]);
      return error;
    }),
    receiveAnswers: async ({ maxBatch }, onAnswers): Promise<Subscription> =>
      await subscribe(link, streams, receiveAnswers(maxBatch, onAnswers), [
        { stream: answers, durable: 'relay', subject: `${prefix}.answers` },
      ]),
    receiveMessages: async ({ queues, concurrency }, onMessage): Promise<Subscription> =>
      await subscribe(
        link,
        streams,
        receiveMessages(concurrency, onMessage),
        queues.map(queue => ({
          stream: work,
          durable: tokenOf(queue),
          subject: `${prefix}.work.${tokenOf(queue)}`,
        })),
      ),
    close: async () => await link.close(),
  };
}

/** A queue's name as one token of a subject. Not `%2E`: nats-server formats texts with names of consumers. */
function tokenOf(queue: string): string {
  return queue.replaceAll('.', '=2E');
}

function readServers(given: string | readonly string[]): string[] {
  const servers: readonly unknown[] = typeof given === 'string' ? [given] : (given ?? []);
  const isServer = (server: unknown) => typeof server === 'string' && server.trim() !== '';
  if (Array.isArray(servers) && servers.length > 0 && servers.every(isServer)) return servers as string[];
  throw new TockError(
    'TOCK_BAD_OPTION',
    "servers is missing: pass one such as 'nats://host:4222', or a list",
  );
}

function readReplicas(replicas: number | undefined): number | null {
  if (replicas === undefined) return null;
  if (Number.isInteger(replicas) && replicas >= 1 && replicas <= 5) return replicas;
  throw new TockError('TOCK_BAD_OPTION', `replicas ${quote(replicas)} is not a whole number from 1 to 5`);
}
