// Room: engine. Locks that live traffic may be in the way of.
// In: a transaction's work. Out: what it gave; or null, when its locks could not be had in several short tries.
import { setTimeout as pause } from 'node:timers/promises';
import type { Session } from '../store/database.js';
import { isLockTimeout } from '../store/database-errors.js';
import { LOCK_TIMEOUT } from '../store/detach-partitions.js';
import type { Engine } from './engine.js';

const PAUSES_MS = [250, 500, 1000, 2000];

/** Five tries, each with 500 ms for a lock unless `work` says otherwise, with growing pauses between them in which others go ahead. */
export async function patiently<T>(
  { database }: Engine,
  work: (session: Session) => Promise<T>,
  signal?: AbortSignal,
): Promise<{ readonly value: T } | null> {
  for (let attempt = 0; ; attempt++) {
    signal?.throwIfAborted();
    try {
      const value = await database.transaction(async session => {
        await session.run(`set local lock_timeout = '${LOCK_TIMEOUT}'`);
        return await work(session);
      });
      return { value };
    } catch (error) {
      if (!isLockTimeout(error)) throw error;
      const pauseMs = PAUSES_MS[attempt];
      if (pauseMs === undefined) return null;
      await pause(pauseMs, undefined, signal ? { signal } : {});
    }
  }
}
