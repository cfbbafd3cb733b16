// Room: test support. Live runs as rows, for tests of the statements that move them.
// In: columns that matter. Out: ids; and a lock on rows, as another process would hold it.
import pg from 'pg';
import { afterEach } from 'vitest';
import type { Database } from '../../src/store/connection/database.js';
import type { ReapOptions } from '../../src/store/runs/reap/reap.js';
import { openDatabase } from './database.js';
import { emptyingTables } from './empty-database.js';
import { type TestTock, until } from './test-tock.js';

/** Columns of `tock.job_runs_live`; the others are those of a run that is due, of the job `noop`. */
export type RunRow = Readonly<Record<string, unknown>>;

/** How tests reap that do not say otherwise. */
export const REAPING: ReapOptions = {
  limit: 100,
  backoff: 'exponential',
  backoffMs: 1000,
  maxBackoffMs: 1000,
  policies: [],
  canIsolate: false,
};

/** Inserts runs in this order, and returns their ids. */
export async function addRuns(test: TestTock, ...rows: readonly RunRow[]): Promise<string[]> {
  const ids: string[] = [];
  for (const row of rows) {
    const columns = { job: 'noop', payload: '{}', status: 'queued', ...row };
    const names = Object.keys(columns);
    const values = names.map((_, index) => `$${index + 1}`);
    const [made] = await test.sql<{ id: string }>(
      `insert into tock.job_runs (${names.join()}) values (${values.join()}) returning id`,
      Object.values(columns),
    );
    ids.push(made?.id ?? '');
  }
  await test.sql(reversed(ids));
  return ids;
}

/** Writes the live rows anew, the last one first, so that what nobody sorts does not come in the order of the ids. */
const reversed = (ids: readonly string[]) =>
  [
    'set local session_replication_role = replica',
    ...ids.toReversed().map(id => `update tock.job_runs_live set job = job where id = ${id}`),
  ].join(';');

/** Ends the leases of all running runs, as when their processes have been gone for long. */
export async function expireLeases(test: TestTock): Promise<void> {
  await test.sql(
    `update tock.job_runs_live set locked_until = tock.now() - interval '1 second' where status = 'running'`,
  );
}

/** Empties the tables, and begins with id 1 again, by the clock as it stands: quicker than a new database. */
export async function emptyTables(test: TestTock): Promise<void> {
  await test.sql(await emptyingTables(test.sql));
}

/**
 * Does something over connections that may use no index: what comes in an order that nobody asked for then comes in
 * another one.
 */
export async function withoutIndexes<T>(
  test: TestTock,
  work: (database: Database) => Promise<T>,
): Promise<T> {
  const url = new URL(test.url);
  const off = ['indexscan', 'indexonlyscan', 'bitmapscan'].map(kind => `-c enable_${kind}=off`);
  url.searchParams.set('options', [url.searchParams.get('options') ?? '', ...off].join(' ').trim());
  const database = openDatabase({ connectionString: url.href });
  try {
    return await work(database);
  } finally {
    await database.close();
  }
}

/** Sessions that wait for a lock. */
export const WAITING_FOR_A_LOCK = `select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`;

/** Other sessions, which end with the test; and how many sessions wait for a lock. */
export function otherSessions(test: Pick<TestTock, 'url' | 'sql'>) {
  const clients: pg.Client[] = [];
  afterEach(async () => {
    await Promise.all(clients.splice(0).map(client => client.end()));
  });
  const open = async () => {
    const client = new pg.Client({ connectionString: test.url });
    clients.push(client);
    await client.connect();
    return client;
  };
  return {
    open,
    /** With a transaction that is open, after these statements. */
    begin: async (statements = '') => {
      const client = await open();
      await client.query(`begin; ${statements}`);
      return client;
    },
    blocked: async (count: number, where = '') =>
      await until(
        async () => (await test.sql(`${WAITING_FOR_A_LOCK} ${where}`)).length === count,
        `${count} sessions to wait for a lock`,
      ),
  };
}

/** Does something while another session holds a lock on live runs. */
export async function whileLocked<T>(
  test: TestTock,
  ids: readonly string[],
  work: () => Promise<T>,
): Promise<T> {
  return await whileHeld(test, 'select from tock.job_runs_live where id = any($1) for update', [ids], work);
}

/**
 * Begins something while another session has carried out a statement and not committed it; and commits that once it is
 * waited for. `meanwhile` gets that session.
 */
export async function whileWaitedFor<T>(
  test: TestTock,
  text: string,
  work: () => Promise<T>,
  meanwhile: (client: pg.Client) => unknown = () => undefined,
): Promise<T> {
  const client = new pg.Client({ connectionString: test.url });
  await client.connect();
  try {
    await client.query('begin');
    await client.query(text);
    const working = work();
    working.catch(() => undefined);
    const { rows } = await client.query<{ pid: number }>('select pg_backend_pid() as pid');
    const waiting =
      'select from pg_stat_activity where datname = current_database() and $1 = any(pg_blocking_pids(pid))';
    await until(
      async () => (await test.sql(waiting, [rows[0]?.pid])).length > 0,
      'a session to wait for this one',
    );
    await meanwhile(client);
    await client.query('commit');
    return await working;
  } finally {
    await client.end();
  }
}

/** Does something while another session holds the locks of a statement. */
export async function whileHeld<T>(
  test: TestTock,
  text: string,
  values: readonly unknown[],
  work: () => Promise<T>,
): Promise<T> {
  const client = new pg.Client({ connectionString: test.url });
  await client.connect();
  try {
    await client.query('begin');
    await client.query(text, [...values]);
    return await work();
  } finally {
    await client.end();
  }
}
