// What a daemon logs about its database: one line when it is away, one when it is back, one when it has
// moved.
import type { Engine } from '../engine/engine.js';
import { TockError, type TockErrorCode } from '../model/errors.js';
import { explainMissing, isConnectionFailure } from '../store/connection/errors.js';

/** What no later pass can change, and what says so. */
const ENDS: Partial<Readonly<Record<TockErrorCode, { readonly event: string }>>> = {
  TOCK_POOL_ENDED: { event: 'pool.ended' },
  TOCK_NOT_MIGRATED: { event: 'schema.missing' },
};

export interface DatabaseLog {
  /** A pass has worked. Returns what that means. */
  works(): 'back' | 'moved' | 'same';
  /** A pass has failed; only the first in a row is logged. Returns why no later pass can work, or null. */
  fails(error: unknown): TockError | null;
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
    fails(thrown) {
      const error = explainMissing(thrown, database.schema);
      const end = error instanceof TockError ? ENDS[error.code] : undefined;
      if (error instanceof TockError && end !== undefined) {
        logger.error(end, `this daemon stops: ${error.message}`);
        return error;
      }
      if (!isAway)
        logger[isConnectionFailure(error) ? 'warn' : 'error'](
          { event: 'database.away', error: String(error) },
          `cannot work with the database, trying again: ${String(error)}`,
        );
      isAway = true;
      return null;
    },
  };
}
