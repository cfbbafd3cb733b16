// What a daemon logs about its database: one line when it is away, one when it is back, one when it has
// moved.
import type { Engine } from '../engine/engine.js';
import { isConnectionFailure, isPoolEnded, messageOf } from '../store/connection/errors.js';

export interface DatabaseLog {
  /** A pass has worked. Returns what that means. */
  works(): 'back' | 'moved' | 'same';
  /** A pass has failed; only the first in a row is logged. `ended`: no later pass can work. */
  fails(error: unknown): 'away' | 'ended';
}

export function createDatabaseLog({ database, logger }: Pick<Engine, 'database' | 'logger'>): DatabaseLog {
  let isAway = false;
  let used: string | null = null;
  return {
    works() {
      const host = database.host();
      const before = used;
      used = host ?? used;
      if (isAway) {
        isAway = false;
        const at = host === null ? '' : `, at ${host}`;
        logger.info(
          { event: 'database.back', ...(host === null ? {} : { host }) },
          `the database is back${at}`,
        );
        return 'back';
      }
      if (before === null || host === null || host === before) return 'same';
      logger.info(
        { event: 'database.moved', host, from: before },
        `the database is at ${host} now, no longer at ${before}`,
      );
      return 'moved';
    },
    fails(error) {
      if (isPoolEnded(error)) {
        logger.error({ event: 'pool.ended' }, `this daemon stops: ${messageOf(error)}`);
        return 'ended';
      }
      if (!isAway)
        logger[isConnectionFailure(error) ? 'warn' : 'error'](
          { event: 'database.away', error: String(error) },
          `cannot work with the database, trying again: ${String(error)}`,
        );
      isAway = true;
      return 'away';
    },
  };
}
