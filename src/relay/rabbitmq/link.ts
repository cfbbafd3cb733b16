// The connection to RabbitMQ: made at first use, and again whenever it is lost, which the client does itself;
// where the URL has changed meanwhile, another client does.
import type * as RabbitmqClient from 'rabbitmq-client';
import { TockError } from '../../model/errors.js';
import type { Logger } from '../../model/logger.js';
import { asError, within } from '../driver/deadline.js';

export type Client = Pick<typeof RabbitmqClient, 'Connection'>;
export type Connection = RabbitmqClient.Connection;
export type Channel = RabbitmqClient.Channel;

export interface Link {
  /**
   * Ask again after a failure: the URL may have changed.
   * @throws TockError TOCK_CLOSED; TOCK_BAD_OPTION if the package is missing, or the URL is none
   */
  readonly connection: () => Promise<Connection>;
  readonly logger: () => Promise<Logger>;
  /** Why it was last lost, or could not be made; null: it stands. */
  readonly problem: () => string | null;
  /** Whether RabbitMQ takes no messages, because its memory or disk is nearly used up. */
  readonly isBlocked: () => boolean;
  readonly isClosed: () => boolean;
  readonly close: () => Promise<void>;
}

interface LinkParts {
  readonly urls: () => readonly string[];
  readonly more: Readonly<Record<string, unknown>>;
  readonly load: () => Promise<Client>;
  readonly openLogger: () => Promise<Logger>;
}

const OPTIONS = {
  connectionName: 'pg-tock',
  connectionTimeout: 5000,
  // Seconds. The client gives up after four half-beats without a byte.
  heartbeat: 10,
  retryLow: 500,
  retryHigh: 5000,
};
/** How long a connection has to end in order, so that what was acknowledged last is written. */
const MAX_CLOSE_MS = 2000;

export function openLink({ urls, more, load, openLogger }: LinkParts): Link {
  let opening: Promise<Connection> | null = null;
  let opened: { readonly connection: Connection; readonly urls: readonly string[] } | null = null;
  let logging: Promise<Logger> | null = null;
  let problem: string | null = 'no connection has been made yet';
  let isBlocked = false;
  let isClosed = false;
  const logger = async () => await (logging ??= openLogger());

  const open = async () => {
    const [{ Connection }, log] = await Promise.all([load(), logger()]);
    const current = urls();
    const connection = new Connection({
      ...OPTIONS,
      url: current[0] ?? '',
      ...(current.length > 1 && { hosts: current.map(hostOf) }),
      ...more,
    });
    opened = { connection, urls: current };
    connection.on('connection', () => {
      if (problem !== null)
        log.info({ event: 'broker.connected', broker: 'rabbitmq' }, 'connected to RabbitMQ');
      problem = null;
      isBlocked = false;
    });
    // The client emits the first error of a series, and one for a channel that the server has closed.
    connection.on('error', (error: unknown) => {
      const { message } = asError(error);
      if (!connection.ready) problem = message;
      if (!isClosed)
        log.warn({ event: 'broker.lost', broker: 'rabbitmq', error: message }, `RabbitMQ: ${message}`);
    });
    connection.on('connection.blocked', (reason: string) => {
      isBlocked = true;
      log.warn({ event: 'broker.blocked', broker: 'rabbitmq', reason }, 'RabbitMQ takes no messages for now');
    });
    connection.on('connection.unblocked', () => {
      isBlocked = false;
    });
    return connection;
  };

  const isOutdated = () =>
    opened !== null && !opened.connection.ready && String(urls()) !== String(opened.urls);

  return {
    async connection() {
      if (isClosed) throw new TockError('TOCK_CLOSED', 'this broker is closed; make another with rabbitmq()');
      if (isOutdated()) {
        opened?.connection.unsafeDestroy();
        [opened, opening] = [null, null];
      }
      opening ??= open().catch((error: unknown) => {
        opening = null;
        throw error;
      });
      return await opening;
    },
    logger,
    problem: () => problem,
    isBlocked: () => isBlocked,
    isClosed: () => isClosed,
    async close() {
      if (isClosed) return;
      isClosed = true;
      const connection = await opening?.catch(() => null);
      if (!connection) return;
      await within(MAX_CLOSE_MS, connection.close());
      connection.unsafeDestroy();
    },
  };
}

function hostOf(url: string): string {
  const { hostname, port, protocol } = new URL(url);
  return `${hostname}:${port === '' ? (protocol === 'amqps:' ? '5671' : '5672') : port}`;
}

/** The queues of a relay: replicated, and kept on disk by a majority of the nodes that hold them. */
export async function declareQueue(connection: Connection, queue: string): Promise<void> {
  await connection.queueDeclare({ queue, durable: true, arguments: { 'x-queue-type': 'quorum' } });
}
