// Room: test support. A daemon that may be asleep, so that enqueueing sends notifications.
// In: plain SQL, the queues that it claims from. Out: its rows in `workers` and `sleepers`.
import type { PoolClient } from 'pg';
import { afterEach, beforeEach } from 'vitest';
import type { Database } from '../../src/store/connection/database.js';
import type { TestTock } from './test-tock.js';
import { until } from './until.js';

export const SLEEPER_ID = '00000000-0000-4000-8000-000000000001';

/** Inserts the rows of a daemon that does not exist. @param queues null: all */
export async function insertSleeper({ sql }: Pick<TestTock, 'sql'>, queues: readonly string[] | null = null) {
  await insertWorker({ sql });
  await sql('insert into tock.sleepers values ($1, $2)', [SLEEPER_ID, queues]);
}

/** Inserts the row of a daemon that has announced that it is awake. */
export async function insertWorker({ sql }: Pick<TestTock, 'sql'>) {
  await sql(
    `insert into tock.workers (id, kind, host, pid, capacity) values ($1, 'daemon', 'nowhere', 1, 1)`,
    [SLEEPER_ID],
  );
}

/** What a daemon that is asleep would be woken by: gives the notifications since the last call. */
export function hearEach(test: Pick<TestTock, 'sql'>, database: Pick<Database, 'pool'>) {
  let notifications: string[];
  let listener: PoolClient;
  beforeEach(async () => {
    notifications = [];
    listener = await database.pool.connect();
    listener.on('notification', ({ payload }) => notifications.push(payload ?? ''));
    await listener.query('listen tock');
    await insertSleeper(test);
  });
  afterEach(() => listener.release(true));
  return async () => {
    // It arrives after all that were committed before.
    await listener.query(`select pg_notify('tock', 'mark')`);
    await until(async () => notifications.includes('mark'), 'the last notification');
    return notifications.splice(0).filter(each => each !== 'mark');
  };
}
