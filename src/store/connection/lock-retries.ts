// Room: store. Locks that live traffic may be in the way of.
// In: a transaction's work. Out: what it gave; or null, when its locks could not be had in several short tries.
import { setTimeout as pause } from 'node:timers/promises';
import type { Database, Session } from './database.js';
import { isLockTimeout } from './errors.js';

/** While we wait for a lock, all who come after us wait behind us: so shortly, and rather several times. */
export const LOCK_TIMEOUT = '500ms';
const PAUSES_MS = [250, 500, 1000, 2000];

export interface LockRetries {
  readonly signal?: AbortSignal | undefined;
  /** The statements may take as long as they take. */
  readonly isPatient?: boolean | undefined;
}

/** Five tries, each with 500 ms for a lock unless `work` says otherwise, with growing pauses between them in which others go ahead. */
export async function withLockRetries<T>(
  database: Database,
  work: (session: Session) => Promise<T>,
  { signal, isPatient = false }: LockRetries = {},
): Promise<{ readonly value: T } | null> {
  for (let attempt = 0; ; attempt++) {
    signal?.throwIfAborted();
    try {
      const value = await database.transaction(
        async session => {
          await session.run(`set local lock_timeout = '${LOCK_TIMEOUT}'`);
          return await work(session);
        },
        { isPatient },
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
