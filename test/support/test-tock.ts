// Room: test support. A migrated Tock on a database of its own, with a clock that the test sets.
// In: jobs and options. Out: the Tock, plain SQL beside it, and the hands of the clock.
import pg from 'pg';
import { parseDuration } from '../../src/model/duration.js';
import type { AnyJob } from '../../src/model/job/job.js';
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
  const test = makeTestTock(database, pool, jobs, options, () => database.drop());
  if (schema === 'tock') {
    await test.sql(ADOPT);
  } else {
    await test.tock.migrate();
    for (const statement of clockStatements(schema)) await test.sql(statement);
  }
  return test;
}

/** Databases that tests of this process have used, and left with the schema that they had. */
const used: TestDatabase[] = [];

/**
 * The same, on a database that an earlier test may have used, with its tables emptied: neither the copy nor the partitions
 * need be made again. For tests that do not alter the database or a role, and look at no plan, partition or file. A
 * database in which a table or function was altered is dropped.
 */
export async function reuseTestTock(
  jobs: readonly AnyJob[] = [],
  options: Partial<Omit<TockOptions, 'schema'>> = {},
): Promise<TestTock> {
  for (let database = used.pop(); database !== undefined; database = used.pop()) {
    const pool = openPool(database);
    if (await emptyDatabase(pool)) return makeTestTock(database, pool, jobs, options, keep(database));
    await pool.end();
    await database.drop();
  }
  const database = await copyTemplate('schema with clock');
  const pool = openPool(database);
  await pool.query(ADOPT);
  await noteSchema(pool);
  return makeTestTock(database, pool, jobs, options, keep(database));
}

function keep(database: TestDatabase): () => Promise<void> {
  return () => {
    used.push(database);
    return Promise.resolve();
  };
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
  leave: () => Promise<void>,
): TestTock {
  const { schema = 'tock' } = options;
  const opened: Tock[] = [];
  const another = (more: Partial<TockOptions> = {}) => {
    const tock = createTock({ connectionString: database.url, jobs, logger: false, ...options, ...more });
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
      await pool.end();
      await leave();
    },
  };
}
