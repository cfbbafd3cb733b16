// The connection to PostgreSQL: one way to run a statement, one way to open a transaction. No statement waits
// forever, and no lost client ends the process.

import { CompiledQuery, Kysely, PostgresDialect, type Transaction } from 'kysely';
import type * as pg from 'pg';
import type { Clock } from '../../model/clock.js';
import type { CurrentUrl } from '../../model/database/current-url.js';
import type { JobTransaction } from '../../model/job/job-database.js';
import { checkSchemaName } from '../../model/names.js';
import { DEFAULT_CONNECTIONS, endPool, openPoolTo, requireReachable } from './connection.js';
import { noteCommits, poolWithDeadlines, queryWithin } from './deadline.js';
import { isSerializationFailure } from './errors.js';
import { watchWriter } from './hosts/watch-writer.js';
import { createPreparer, type TableSizes } from './preparer.js';
import { schemaRewriter } from './schema-name.js';
import { type HandlerDatabase, openHandlerDatabase } from './shares/handler-database.js';
import { asIs, type Checkout } from './shares/kept-connection.js';
import { type PoolShares, sharesOf } from './shares/pool-shares.js';
import { type PREPARED, type Session, statement } from './statement.js';

export type { Session };

export interface Database extends Session {
  readonly clock: Clock;
  readonly pool: pg.Pool;
  readonly shares: PoolShares;
  readonly handlers: HandlerDatabase;
  readonly schema: string;
  /** The statement with the configured schema in it, for clients that are not ours. */
  rewrite(text: string): string;
  /**
   * One transaction, READ COMMITTED whatever the role's default is: SKIP LOCKED needs it. Rolled back when
   * `work` throws. Retried as a whole on a deadlock or a serialization failure, at most five times: so `work`
   * must do nothing but SQL, unless `retries` is 0. Each statement has its deadline; with `mayTakeLong`, only
   * those that begin and end the transaction do, since the others are a migration's.
   */
  transaction<T>(
    work: (session: Session) => Promise<T>,
    options?: { readonly retries?: number; readonly mayTakeLong?: boolean },
  ): Promise<T>;
  /** A connection of the pool, for longer than a statement. It is the caller's until it releases it. */
  connect(): Promise<pg.PoolClient>;
  /** What a caller has of {@link handlers}, for effects whose rows commit with what a handler does. */
  sessionOf(trx: JobTransaction): Session;
  /** The host of the newest connection; null: there was none, or only one address is known. */
  host(): string | null;
  /**
   * Called whenever the server that takes writes is lost, or is another one now: no connection that is open
   * is to be used any longer. Those that are idle are closed already. Returns what ends the calls.
   */
  onWriterLost(callback: () => void): () => void;
  close(): Promise<void>;
}

export interface DatabaseOptions {
  readonly clock: Clock;
  readonly connectionString?: CurrentUrl;
  /** The app's own pool; it stays open at `close`. */
  readonly pool?: pg.Pool;
  readonly schema?: string;
  /** The maximum of connections of our own pool. Default 10. */
  readonly connections?: number;
  /**
   * Longest time for one of Tock's own statements, in milliseconds; then its connection is closed and the
   * error is TOCK_DATABASE_UNREACHABLE. Does not apply to statements of handlers. Default 60,000.
   */
  readonly statementTimeoutMs?: number;
}

const MAX_RETRIES = 5;
const STATEMENT_TIMEOUT_MS = 60_000;

// Of a table that is not there, null.
const TABLE_SIZES = statement<object, TableSizes>(
  'table-sizes',
  `select pg_relation_size(to_regclass('tock.job_runs_live'))::float8 as runs, pg_relation_size(to_regclass('tock.job_slots'))::float8 as slots`,
);

/** Connects on first use. */
export function openDatabase(options: DatabaseOptions): Database {
  const { clock } = options;
  const schema = checkSchemaName(options.schema === undefined ? 'tock' : options.schema);
  const deadlineMs = options.statementTimeoutMs ?? STATEMENT_TIMEOUT_MS;
  requireReachable(options);
  const pool =
    options.pool ??
    openPoolTo({ connectionString: options.connectionString }, options.connections ?? DEFAULT_CONNECTIONS, {
      deadlineMs,
    });
  const shares = sharesOf(pool);
  const connect = () => shares.connect(deadlineMs);
  /** For a short statement or transaction of our own. */
  const acquire = (): Promise<Checkout> => {
    if (shares.max === 1) shares.turns.refuseHolder();
    return shares.kept.acquire(deadlineMs);
  };
  const rewrite = schemaRewriter(schema);
  /** What Tock sends in transactions of handlers, whose own statements are read as the app reads them. */
  const own = new Set<string>();
  const kyselyOver = (get: () => Promise<Checkout>, statementMs: number | null) =>
    new Kysely<object>({
      dialect: new PostgresDialect({
        pool: poolWithDeadlines(clock, get, deadlineMs, statementMs, () => true),
      }),
    });
  const quick = kyselyOver(acquire, deadlineMs);
  const long = kyselyOver(async () => asIs(await connect()), null);
  const release = listenToClients(pool);
  const writer = watchWriter(pool);
  writer.onLost(() => shares.kept.renew());
  const isolation = isolationProbe(clock, acquire, deadlineMs);
  const preparing = createPreparer(async () => await TABLE_SIZES.first(database, {}), clock);

  const database: Database = {
    clock,
    pool,
    shares,
    handlers: openHandlerDatabase(clock, shares, deadlineMs, text => own.has(text)),
    schema,
    rewrite,
    connect,
    sessionOf: trx =>
      sessionOf(trx, text => {
        const rewritten = rewrite(text);
        own.add(rewritten);
        return rewritten;
      }),
    async run<Row>(text: string, values: readonly unknown[] = [], prepared?: typeof PREPARED) {
      // A lone statement runs at the role's default isolation; other than READ COMMITTED, it gets a
      // transaction.
      if (!(await isolation())) return await database.transaction(session => session.run<Row>(text, values));
      const rewritten = rewrite(text);
      const run = (name: string | null) =>
        queryWithin(clock, acquire, { name, text: rewritten }, values, deadlineMs);
      return await retried(
        async () => (prepared ? await preparing(rewritten, run) : await run(null)) as Row[],
        MAX_RETRIES,
      );
    },
    transaction(work, { retries = MAX_RETRIES, mayTakeLong = false } = {}) {
      const kysely = mayTakeLong ? long : quick;
      return retried(
        () =>
          kysely
            .transaction()
            .setIsolationLevel('read committed')
            .execute(trx => work(sessionOf(trx, rewrite))),
        retries,
      );
    },
    host: () => writer.host(),
    onWriterLost: callback => writer.onLost(callback),
    async close() {
      release();
      writer.close();
      if (!options.pool) await endPool(pool, clock);
    },
  };
  return database;
}

/** Once each, however often a Tock is made over an app's pool and closed. */
const listened = new WeakSet<pg.PoolClient>();

/**
 * Listens to 'error' of each client: Node ends the process for an 'error' without a listener, and the pool's
 * own covers idle clients only. And to what the server says of its commits. At 'acquire', not at 'connect',
 * because clients of an app's pool may have connected earlier.
 */
function listenToClients(pool: pg.Pool): () => void {
  const listen = (client: pg.PoolClient) => {
    if (listened.has(client)) return;
    listened.add(client);
    client.on('error', () => undefined);
    noteCommits(client);
  };
  pool.on('acquire', listen);
  return () => pool.off('acquire', listen);
}

/** Whether lone statements run READ COMMITTED; asked once, and again if asking failed. */
function isolationProbe(
  clock: Clock,
  acquire: () => Promise<Checkout>,
  deadlineMs: number,
): () => Promise<boolean> {
  let asked: Promise<boolean> | null = null;
  const ask = async () => {
    const text = `select current_setting('default_transaction_isolation') as isolation`;
    const rows = (await queryWithin(clock, acquire, { name: null, text }, [], deadlineMs)) as {
      isolation: string;
    }[];
    return rows[0]?.isolation === 'read committed';
  };
  return async () => {
    asked ??= ask();
    try {
      return await asked;
    } catch (error) {
      asked = null;
      throw error;
    }
  };
}

function sessionOf(trx: Transaction<object>, rewrite: (text: string) => string): Session {
  return {
    async run<Row>(text: string, values: readonly unknown[] = []) {
      const result = await trx.executeQuery(CompiledQuery.raw(rewrite(text), [...values]));
      return result.rows as Row[];
    },
  };
}

async function retried<T>(work: () => Promise<T>, retries: number): Promise<T> {
  for (let attempt = 0; ; attempt++) {
    try {
      return await work();
    } catch (error) {
      if (attempt >= retries || !isSerializationFailure(error)) throw error;
    }
  }
}
