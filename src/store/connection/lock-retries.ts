// Locks on tables that are in use.
import type { Database, Session } from './database.js';
import { isLockTimeout } from './errors.js';

/** Short, but tried several times: while we wait for a lock, all later statements wait behind us. */
export const LOCK_TIMEOUT = '500ms';
/**
 * A process that is stopped amid such a transaction holds its locks no longer than the server lets it idle.
 */
const SHORT_LOCKS = `select set_config('lock_timeout', '${LOCK_TIMEOUT}', true), set_config('idle_in_transaction_session_timeout', '10s', true)`;
const PAUSES_MS = [250, 500, 1000, 2000];

export interface LockRetries {
  readonly signal?: AbortSignal | undefined;
  readonly mayTakeLong?: boolean | undefined;
}

/**
 * Makes five tries, with growing pauses for others; each waits 500 ms for a lock unless `work` sets another
 * time. Null if none of them got its locks.
 */
export async function withLockRetries<T>(
  database: Database,
  work: (session: Session) => Promise<T>,
  { signal, mayTakeLong = false }: LockRetries = {},
): Promise<{ readonly value: T } | null> {
  for (let attempt = 0; ; attempt++) {
    signal?.throwIfAborted();
    try {
      const value = await database.transaction(
        async session => {
          await session.run(SHORT_LOCKS);
          return await work(session);
        },
        { mayTakeLong },
      );
      return { value };
    } catch (error) {
      if (!isLockTimeout(error)) throw error;
      const pauseMs = PAUSES_MS[attempt];
      if (pauseMs === undefined) return null;
      await database.clock.sleep(pauseMs, signal);
    }
  }
}
