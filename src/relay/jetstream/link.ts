// The connection to NATS: made at first use, tried until it stands, and kept by the client from then on.
import type * as Jet from '@nats-io/jetstream';
import type * as Transport from '@nats-io/transport-node';
import { TockError } from '../../model/errors.js';
import type { Logger } from '../../model/logger.js';
import { asError, pause, within } from '../driver/deadline.js';

export interface Clients {
  readonly transport: Pick<typeof Transport, 'connect' | 'headers' | 'nanos'>;
  readonly jet: Pick<typeof Jet, 'jetstream' | 'jetstreamManager'>;
}

/** A connection that stands, or that the client is making again. */
export interface Open {
  readonly connection: Transport.NatsConnection;
  readonly client: Jet.JetStreamClient;
  readonly manager: Jet.JetStreamManager;
  readonly transport: Clients['transport'];
}

export interface Link {
  /** Waits until there is a connection. @throws TockError TOCK_CLOSED, TOCK_BAD_OPTION */
  readonly open: () => Promise<Open>;
  /** Loads the packages. @throws TockError TOCK_BAD_OPTION if one is missing */
  readonly load: () => Promise<Clients>;
  readonly logger: () => Promise<Logger>;
  /** Why there is no connection; null: there is one. */
  readonly problem: () => string | null;
  readonly isClosed: () => boolean;
  readonly close: () => Promise<void>;
}

interface LinkParts {
  readonly servers: () => string[];
  readonly more: Readonly<Record<string, unknown>>;
  readonly load: () => Promise<Clients>;
  readonly openLogger: () => Promise<Logger>;
}

const OPTIONS = {
  name: 'pg-tock',
  timeout: 5000,
  maxReconnectAttempts: -1,
  reconnectTimeWait: 500,
  pingInterval: 10_000,
  maxPingOut: 2,
};
/** Of a request to the servers about streams and consumers. */
const API_TIMEOUT_MS = 5000;
const MIN_RETRY_MS = 500;
const MAX_RETRY_MS = 5000;
const MAX_CLOSE_MS = 2000;

export function openLink({ servers, more, load: loadClients, openLogger }: LinkParts): Link {
  let loading: Promise<Clients> | null = null;
  let opening: Promise<Open> | null = null;
  let logging: Promise<Logger> | null = null;
  let problem: string | null = 'no connection has been made yet';
  const closing = new AbortController();
  const isClosed = () => closing.signal.aborted;
  const logger = async () => await (logging ??= openLogger());
  const load = async () => await (loading ??= loadClients());

  const fail = (log: Logger, text: string) => {
    // One line for a series.
    if (problem !== text) log.warn({ event: 'broker.lost', broker: 'nats', error: text }, `NATS: ${text}`);
    problem = text;
  };
  const succeed = (log: Logger, server: string) => {
    problem = null;
    log.info({ event: 'broker.connected', broker: 'nats', server }, `connected to NATS at ${server}`);
  };
  const watch = async (connection: Transport.NatsConnection, log: Logger) => {
    for await (const status of connection.status()) {
      if (status.type === 'disconnect') fail(log, `the connection to ${status.server} is lost`);
      if (status.type === 'reconnect') succeed(log, status.server);
      if (status.type === 'error') fail(log, asError(status.error).message);
    }
  };

  const connectOnce = async ({ transport, jet }: Clients, log: Logger): Promise<Open> => {
    const connection = await transport.connect({ ...OPTIONS, servers: servers(), ...more });
    succeed(log, connection.getServer());
    void watch(connection, log);
    void connection.closed().then(error => {
      opening = null;
      if (!isClosed()) fail(log, error ? error.message : 'the connection was closed');
    });
    const options = { timeout: API_TIMEOUT_MS };
    return {
      connection,
      client: jet.jetstream(connection, options),
      manager: await jet.jetstreamManager(connection, { ...options, checkAPI: false }),
      transport,
    };
  };
  const connect = async (): Promise<Open> => {
    const [clients, log] = await Promise.all([load(), logger()]);
    for (let retryMs = MIN_RETRY_MS; !isClosed(); retryMs = Math.min(2 * retryMs, MAX_RETRY_MS)) {
      try {
        const open = await connectOnce(clients, log);
        if (!isClosed()) return open;
        await open.connection.close();
      } catch (error) {
        fail(log, asError(error).message);
        await pause(retryMs, closing.signal);
      }
    }
    throw closedError();
  };

  return {
    async open() {
      if (isClosed()) throw closedError();
      opening ??= connect().catch((error: unknown) => {
        opening = null;
        throw error;
      });
      return await opening;
    },
    load,
    logger,
    problem: () => problem,
    isClosed,
    async close() {
      if (isClosed()) return;
      const current = opening;
      closing.abort();
      if (current === null) return;
      // One that is still being made closes itself.
      await within(
        MAX_CLOSE_MS,
        current.then(async ({ connection }) => {
          // What was acknowledged last is written.
          if (!connection.isClosed()) await within(MAX_CLOSE_MS / 2, connection.flush());
          await connection.close();
        }),
      );
    },
  };
}

const closedError = () =>
  new TockError('TOCK_CLOSED', 'this broker is closed; make another with jetstream()');
