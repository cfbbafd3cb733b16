// A pool whose connections lead to whichever host of a list is what is wanted, such as the primary.
import pg from 'pg';
import {
  attemptsOf,
  type DatabaseHost,
  type HostAttempt,
  NoHostError,
  type Target,
} from '../../../model/database/hosts.js';
import { unreadable } from '../client-class.js';
import { HostFailure, hostClientClass, hostOf } from './host-client.js';

// Imported as an ES module, it loads Node's worker threads from Node 24 on.
const { callbackify } = process.getBuiltinModule('node:util');

/** What is known of the hosts of a pool. */
export interface PoolHosts {
  /** The host of the newest connection; null: there was none yet. */
  readonly current: () => DatabaseHost | null;
  /** Looks for a host that fits, over a connection of its own. Null: there is none. */
  readonly find: () => Promise<DatabaseHost | null>;
  /** Whether there can be one only that fits: then connections to any other are of no more use. */
  readonly isOne: boolean;
}

const hostsOfPools = new WeakMap<pg.Pool, PoolHosts>();

/** Null for a pool whose connections lead to one address. */
export const hostsOf = (pool: pg.Pool): PoolHosts | null => hostsOfPools.get(pool) ?? null;

/**
 * Opens the pool. `connect` tries the hosts in turn, and rejects with one error that names each and why.
 * @param readHosts called for each connection; may throw
 * @param withinMs how long connecting to one host may take
 */
export function openHostPool(
  readHosts: () => readonly DatabaseHost[],
  target: Target,
  withinMs: number,
  options: pg.PoolConfig,
): pg.Pool {
  let hosts = readHosts();
  let last: DatabaseHost | null = null;
  let chosen: HostAttempt | null = null;
  const next = (): HostAttempt => {
    // Without a choice: the pool makes a client for a caller that has waited for one.
    const attempt = chosen ?? attemptsOf(hosts, target, last)[0];
    if (attempt === undefined) throw new Error('there is no host');
    return attempt;
  };
  const Client = hostClientClass(next, withinMs);
  // Ends later than the client's own, which says what it waited for.
  const poolMs = Math.max(options.connectionTimeoutMillis ?? 0, 2 * withinMs + 1000);
  const pool = new pg.Pool({ ...options, Client, connectionTimeoutMillis: poolMs });
  pool.on('connect', client => {
    last = hostOf(client);
  });

  const readNow = () => {
    try {
      return readHosts();
    } catch (error) {
      throw unreadable(error);
    }
  };

  /** The client is made before `connect` returns its promise. */
  const choosing = <T>(attempt: HostAttempt, connect: () => Promise<T>): Promise<T> => {
    chosen = attempt;
    try {
      return connect();
    } finally {
      chosen = null;
    }
  };

  /** Tries each host, and returns what the first one that fits gives. */
  const tryEach = async <T>(connect: () => Promise<T>): Promise<T> => {
    hosts = readNow();
    const reasons = new Map<string, string>();
    let failure: unknown;
    for (const attempt of attemptsOf(hosts, target, last)) {
      try {
        return await choosing(attempt, connect);
      } catch (error) {
        if (!(error instanceof HostFailure)) throw error;
        reasons.set(error.host.name, error.reason);
        failure = error.cause ?? error;
      }
    }
    throw new NoHostError(target, reasons, { cause: failure });
  };

  type Release = (error?: Error | boolean) => void;
  type Callback = (error: Error | undefined, client: pg.PoolClient | undefined, done: Release) => void;
  const connectOnce = pool.connect.bind(pool) as () => Promise<pg.PoolClient>;
  const connect = (callback?: Callback) => {
    const connectToOne = () => tryEach(connectOnce);
    if (callback === undefined) return connectToOne();
    callbackify(connectToOne)((error, client) => {
      if (error) callback(error, undefined, () => undefined);
      else callback(undefined, client, release => client.release(release));
    });
    return undefined;
  };
  Object.assign(pool, { connect });

  hostsOfPools.set(pool, {
    current: () => last,
    isOne: target === 'read-write' || target === 'primary',
    async find() {
      try {
        const client = await tryEach(async () => {
          const opened = new Client(options);
          await opened.connect();
          return opened;
        });
        void client.end().catch(() => undefined);
        last = hostOf(client);
        return last;
      } catch {
        return null;
      }
    },
  });
  return pool;
}
