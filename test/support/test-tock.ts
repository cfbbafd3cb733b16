// Room: test support. A migrated Tock on a database of its own, with a clock that the test sets.
// In: jobs and options. Out: the Tock, plain SQL beside it, and the hands of the clock.
import pg from 'pg';
import { parseDuration } from '../../src/model/duration.js';
import type { AnyJob } from '../../src/model/job/job.js';
import { DEFAULT_CONNECTIONS, openPoolTo } from '../../src/store/connection/connection.js';
import { createTock } from '../../src/tock/create-tock.js';
import type { TockOptions } from '../../src/tock/options.js';
import type { Tock } from '../../src/tock/types.js';
import { clockStatements } from './clock.js';
import { ADOPT, copyTemplate, type TestDatabase } from './embedded-database.js';
import { emptyDatabase, noteSchema } from './empty-database.js';

export { until } from './until.js';

export interface TestTock {
  readonly tock: Tock;
  readonly url: string;
  /** Runs one statement on a connection of its own. */
  readonly sql: <Row = Record<string, unknown>>(text: string, values?: unknown[]) => Promise<Row[]>;
  /** Makes time stand still at an instant. Null lets it run again. */
  readonly setClock: (instant: string | null) => Promise<void>;
  /** Moves a standing clock on. */
  readonly advance: (duration: string) => Promise<void>;
  /** Another Tock on the same database, such as a second host, or a newer version of the code. */
  readonly another: (options?: Partial<TockOptions>) => Tock;
  readonly close: () => Promise<void>;
}

/** Opens a Tock for a test: silent, short leases unless told otherwise. */
export async function openTestTock(
  jobs: readonly AnyJob[] = [],
  options: Partial<TockOptions> = {},
): Promise<TestTock> {
  const { schema = 'tock' } = options;
  const database = await copyTemplate(schema === 'tock' ? 'schema with clock' : 'nothing');
  const pool = openPool(database);
  const test = makeTestTock(
    database,
    pool,
    jobs,
    options,
    () => ({}),
    async () => {
      await pool.end();
      await database.drop();
    },
  );
  if (schema === 'tock') {
    await test.sql(ADOPT);
  } else {
    await test.tock.migrate();
    for (const statement of clockStatements(schema)) await test.sql(statement);
  }
  return test;
}

/** A database, and the pools over it: that of the test, and one for each Tock that the test opens. */
interface Kept {
  readonly database: TestDatabase;
  readonly pool: pg.Pool;
  readonly pools: pg.Pool[];
}

/** Databases that tests of this process have used, and left with the schema that they had. */
const used: Kept[] = [];

/**
 * The same, on a database that an earlier test may have used, with its tables emptied: neither the copy, the partitions nor the
 * connections, with what each has read and planned, need be made again. For tests that do not alter the database or a
 * role, and look at no plan, partition, file or session. A database is dropped if a table, a function or a setting of it was altered.
 */
export async function reuseTestTock(
  jobs: readonly AnyJob[] = [],
  options: Partial<Omit<TockOptions, 'schema'>> = {},
): Promise<TestTock> {
  for (let kept = used.pop(); kept !== undefined; kept = used.pop()) {
    const pools = [kept.pool, ...kept.pools];
    if (await emptyDatabase(kept.pool, pools)) return makeKeptTock(kept, jobs, options);
    await Promise.all(pools.map(pool => pool.end()));
    await kept.database.drop();
  }
  const database = await copyTemplate('schema with clock');
  const pool = openPool(database);
  await pool.query(ADOPT);
  await noteSchema(pool);
  return makeKeptTock({ database, pool, pools: [] }, jobs, options);
}

function makeKeptTock(
  kept: Kept,
  jobs: readonly AnyJob[],
  options: Partial<Omit<TockOptions, 'schema'>>,
): TestTock {
  const { database, pool, pools } = kept;
  let opened = 0;
  // Where a test says how Tock connects, it does.
  const ownPool = (more: Partial<TockOptions>) => {
    if (more.pool || more.connectionString !== undefined || more.connections !== undefined) return {};
    const own = (pools[opened++] ??= openPoolTo({ connectionString: database.url }, DEFAULT_CONNECTIONS));
    return { pool: own };
  };
  return makeTestTock(database, pool, jobs, options, ownPool, () => {
    used.push(kept);
    return Promise.resolve();
  });
}

function openPool(database: TestDatabase): pg.Pool {
  const pool = new pg.Pool({ connectionString: database.url, max: 4 });
  pool.on('error', () => undefined);
  return pool;
}

function makeTestTock(
  database: TestDatabase,
  pool: pg.Pool,
  jobs: readonly AnyJob[],
  options: Partial<TockOptions>,
  ownPool: (options: Partial<TockOptions>) => Pick<TockOptions, 'pool'>,
  leave: () => Promise<void>,
): TestTock {
  const { schema = 'tock' } = options;
  const opened: Tock[] = [];
  const another = (more: Partial<TockOptions> = {}) => {
    // A leap of the clock must not remove what a test looks at.
    const all = { jobs, logger: false as const, retention: false as const, ...options, ...more };
    const own = ownPool(all);
    const tock = createTock({ ...(own.pool ? own : { connectionString: database.url }), ...all });
    opened.push(tock);
    return tock;
  };
  const sql = async <Row>(text: string, values: unknown[] = []) =>
    (await pool.query(text, values)).rows as Row[];
  return {
    tock: another(),
    url: database.url,
    sql,
    another,
    setClock: async instant => {
      await sql(`update ${schema}.test_clock set at = $1`, [instant]);
    },
    advance: async duration => {
      await sql(`update ${schema}.test_clock set at = at + $1 * interval '1 millisecond'`, [
        parseDuration(duration),
      ]);
    },
    close: async () => {
      await Promise.all(opened.map(each => each.close()));
      await leave();
    },
  };
}
