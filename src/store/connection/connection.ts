// How to connect to the database, as plain data, so that a child process can too.
import pg, { type ClientConfig, type Pool, type PoolConfig } from 'pg';
import type { Clock, Timer } from '../../model/clock.js';
import { type CurrentUrl, urlNow } from '../../model/database/current-url.js';
import { type DatabaseHosts, readHosts, type Target } from '../../model/database/hosts.js';
import { withVerifyFull } from '../../model/database/tls.js';
import { TockError } from '../../model/errors.js';
import { quote } from '../../model/names.js';
import { clientClass } from './client-class.js';
import { openHostPool } from './hosts/host-pool.js';

/** What pg.Pool takes, without functions. Holds the password, so it never goes into argv or a log. */
export type Connection = Readonly<Record<string, unknown>>;

/** A URL, or the app's own pool. */
interface Reach {
  readonly connectionString?: CurrentUrl;
  readonly pool?: Pool;
}

const KEPT_OPTIONS = [
  'connectionString',
  'host',
  'port',
  'database',
  'user',
  'password',
  'ssl',
  'options',
  'client_encoding',
  'application_name',
  'statement_timeout',
  'lock_timeout',
  'idle_in_transaction_session_timeout',
  'keepAlive',
  'keepAliveInitialDelayMillis',
] as const;

/**
 * Describes the connection, as it is now. Options that a pool leaves out come from the environment (PGHOST
 * and the like), which a child process inherits.
 * @throws TockError TOCK_BAD_OPTION for a pool whose options hold a function
 */
export function connectionOf(options: Reach): Connection {
  if (options.connectionString !== undefined) return { connectionString: urlNow(options.connectionString) };
  const stated = (options.pool as { readonly options?: Readonly<Record<string, unknown>> } | undefined)
    ?.options;
  try {
    if (stated === undefined) throw new Error('it has no options');
    // One by one, because pg hides the password from enumeration.
    return structuredClone(Object.fromEntries(KEPT_OPTIONS.map(key => [key, stated[key]])));
  } catch (error) {
    throw new TockError(
      'TOCK_BAD_OPTION',
      'a job has isolate: true, but its child process cannot connect as the pool does, whose options cannot be copied (a password function?); pass connectionString beside pool',
      { cause: error },
    );
  }
}

/** What `pg` accepts at the beginning of a URL; a path names the folder of a socket. */
const SCHEMES = ['postgres:', 'postgresql:', 'pg:', 'socket:'];

/** Whether it has many connections, unlike a client, which is one. */
export function isPool(given: unknown): given is Pool {
  const { connect, totalCount } = (given ?? {}) as Partial<Pool>;
  return typeof connect === 'function' && typeof totalCount === 'number';
}

/** Refuses options that do not name a PostgreSQL database. @throws TockError TOCK_BAD_OPTION */
export function requireReachable({ connectionString, pool }: Reach): void {
  if (isPool(pool)) return;
  if (pool !== undefined && pool !== null)
    throw new TockError(
      'TOCK_BAD_OPTION',
      'pool is no pool of pg: pass new pg.Pool(), not a client, which is one connection; or connectionString',
    );
  const url = typeof connectionString === 'function' ? connectionString() : (connectionString ?? '');
  if (typeof url !== 'string')
    throw new TockError(
      'TOCK_BAD_OPTION',
      `connectionString is ${quote(url)}: write postgres://user@host:5432/database, or a function that returns it`,
    );
  const scheme = /^[a-z][a-z0-9+.-]*:/i.exec(url)?.[0].toLowerCase();
  if (scheme !== undefined && !SCHEMES.includes(scheme)) {
    throw new TockError(
      'TOCK_BAD_OPTION',
      `the database URL begins with ${scheme}//; Tock needs PostgreSQL: write postgres://user@host:5432/database`,
    );
  }
  if (scheme === undefined && url !== '' && !url.startsWith('/'))
    throw new TockError(
      'TOCK_BAD_OPTION',
      'the database URL cannot be read; write it as postgres://user@host:5432/database',
    );
  if (url) return void readHosts(url);
  throw new TockError(
    'TOCK_BAD_OPTION',
    'no database is named: set DATABASE_URL, or pass connectionString or pool',
  );
}

/** As many as a pool of `pg` has. */
export const DEFAULT_CONNECTIONS = 10;

const CONNECT_MS = 10_000;
/** To one host of several: the next one may be the right one. */
const CONNECT_HOST_MS = 3000;

export interface PoolOptions {
  /** The longest time for a statement, which connecting does not exceed, in milliseconds. Default 10,000. */
  readonly deadlineMs?: number;
  /** What a host must be where the URL names several and does not say. Default `read-write`. */
  readonly target?: Target;
}

/**
 * Opens a pool of at most `max` connections, which connects on first use. An error of an idle client does not
 * end the process. Connecting may take 10 s, or 3 s for each of several hosts, unless the URL says otherwise,
 * or as long as a statement if that is shorter. A URL that is a function is read for each connection.
 */
export function openPoolTo(
  connection: Connection | { readonly connectionString: CurrentUrl },
  max: number,
  options: PoolOptions = {},
): Pool {
  const { deadlineMs = CONNECT_MS, target = 'read-write' } = options;
  const url = connection['connectionString'] as CurrentUrl | undefined;
  const hostsNow = (): DatabaseHosts | null =>
    url === undefined ? null : readHosts(withVerifyFull(urlNow(url)), target);
  const read = hostsNow();
  const within = (ms: number) => Math.max(1, Math.min(read?.connectMs ?? ms, deadlineMs));
  const settings: PoolConfig = {
    application_name: 'tock',
    ...connection,
    connectionString: undefined,
    max,
    connectionTimeoutMillis: within(CONNECT_MS),
    idleTimeoutMillis: 30_000,
    // Detects in half a minute that a connection that only waits (LISTEN, a long statement) is dead.
    keepAlive: true,
    keepAliveInitialDelayMillis: 15_000,
    allowExitOnIdle: true,
  };
  const pool = read?.target
    ? openHostPool(() => hostsNow()?.hosts ?? [], read.target, within(CONNECT_HOST_MS), settings)
    : new pg.Pool({ ...settings, Client: clientClass(pooled => withUrl(pooled, hostsNow())) });
  // Without a listener, Node ends the process for a lost client.
  pool.on('connect', client => client.on('error', () => undefined));
  pool.on('error', () => undefined);
  return pool;
}

/** What is under way may go on for so long; then only a handler that was given up still has a connection. */
const END_MS = 1000;

/**
 * Ends a pool. Statements that are under way end first, but a connection that a handler keeps for ever, in a
 * transaction that it has left open, is not waited for.
 */
export async function endPool(pool: Pool, clock: Clock): Promise<void> {
  let timer: Timer | undefined;
  const late = new Promise<void>(resolve => {
    timer = clock.setTimeout(resolve, END_MS);
  });
  await Promise.race([pool.end(), late]).finally(() => clock.clear(timer));
}

/** For a pool that was opened to one host. */
function withUrl(pooled: ClientConfig, read: DatabaseHosts | null): ClientConfig {
  const [host, ...others] = read?.hosts ?? [];
  // As they are: pg hides the password from a copy.
  if (host === undefined) return pooled;
  if (others.length === 0 && read?.target === null) return { ...pooled, connectionString: host.url };
  throw new TockError(
    'TOCK_BAD_OPTION',
    'the database URL names several hosts now, or says what they must be: restart the process for that',
  );
}
