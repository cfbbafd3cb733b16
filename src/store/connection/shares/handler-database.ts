// What handlers use of the database: Kysely, whose connections are taken in turn. It is loaded when it is
// first asked for.

import type { ConnectionProvider, Kysely } from 'kysely';
import type { Clock } from '../../../model/clock.js';
import type { JobDatabase, JobTransaction } from '../../../model/job/job-database.js';
import { loadAppsKysely } from '../apps-kysely/apps-kysely.js';
import { poolWithDeadlines } from '../deadline.js';
import { asIs } from './kept-connection.js';
import type { PoolShares } from './pool-shares.js';

export interface HandlerDatabase {
  /** @throws TockError TOCK_BAD_OPTION if the app has no kysely */
  readonly db: JobDatabase;
  /** One transaction, READ COMMITTED, of which only the statements that begin and end it have a deadline. */
  transaction<T>(work: (trx: JobTransaction) => Promise<T>): Promise<T>;
}

/**
 * @param deadlineMs for a connection of the pool, and for what begins and ends a transaction
 * @param isOwn whether a statement in such a transaction is one of Tock's own
 */
export function openHandlerDatabase(
  clock: Clock,
  shares: PoolShares,
  deadlineMs: number,
  isOwn: (text: string) => boolean,
): HandlerDatabase {
  let opened: JobDatabase | undefined;
  const open = () => {
    opened ??= openKysely(clock, shares, deadlineMs, isOwn) as JobDatabase;
    return opened;
  };
  return {
    get db() {
      return open();
    },
    async transaction(work) {
      return await open()
        .transaction()
        .setIsolationLevel('read committed')
        .execute(trx => work(trx as JobTransaction));
    },
  };
}

function openKysely(
  clock: Clock,
  shares: PoolShares,
  deadlineMs: number,
  isOwn: (text: string) => boolean,
): Kysely<object> {
  const { DefaultQueryExecutor, Kysely, PostgresDialect } = loadAppsKysely();
  const acquire = async () => {
    const leave = await shares.turns.take(deadlineMs);
    try {
      const checkout = asIs(await shares.connect(deadlineMs));
      return {
        client: checkout.client,
        release: (failure?: Error) => {
          checkout.release(failure);
          leave();
        },
      };
    } catch (error) {
      leave();
      throw error;
    }
  };
  const dialect = new PostgresDialect({ pool: poolWithDeadlines(clock, acquire, deadlineMs, null, isOwn) });
  const driver = dialect.createDriver();
  const ready = driver.init();
  const provider: ConnectionProvider = {
    async provideConnection(consumer) {
      await ready;
      const connection = await driver.acquireConnection();
      try {
        return await shares.turns.holding(() => consumer(connection));
      } finally {
        await driver.releaseConnection(connection);
      }
    },
  };
  const executor = new DefaultQueryExecutor(dialect.createQueryCompiler(), dialect.createAdapter(), provider);
  return new Kysely({ config: { dialect }, dialect, driver, executor });
}
