// Room: test support. A daemon that may be asleep, so that enqueueing sends notifications.
// In: plain SQL, the queues that it claims from. Out: its rows in `workers` and `sleepers`.
import type { TestTock } from './test-tock.js';

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
