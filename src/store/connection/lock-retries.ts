// Room: store/connection. Locks on tables that are in use.
// In: a transaction's work. Out: what it gave; or null, where it did not get its locks in several short
// tries.
import { setTimeout as pause } from 'node:timers/promises';
import type { Database, Session } from './database.js';
import { isLockTimeout } from './errors.js';

/** Short, and rather several times: while we wait for a lock, all later statements wait behind us. */
export const LOCK_TIMEOUT = '500ms';
const PAUSES_MS = [250, 500, 1000, 2000];

export interface LockRetries {
  readonly signal?: AbortSignal | undefined;
  /** Statements have no deadline. */
  readonly mayTakeLong?: boolean | undefined;
}

/**
 * Five tries, each with 500 ms for a lock unless `work` sets another time, with growing pauses in which
 * others go ahead.
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
          await session.run(`set local lock_timeout = '${LOCK_TIMEOUT}'`);
          return await work(session);
        },
        { mayTakeLong },
      );
      return { value };
    } catch (error) {
      if (!isLockTimeout(error)) throw error;
      const pauseMs = PAUSES_MS[attempt];
      if (pauseMs === undefined) return null;
      await pause(pauseMs, undefined, signal ? { signal } : {});
    }
  }
}
