// A part of a transaction that may fail without the rest.
import type { Session } from './database.js';
import { isConnectionFailure } from './errors.js';
import { statement } from './statement.js';

const SAVE = statement<object, unknown>('savepoint', 'savepoint tock_part');
const RELEASE = statement<object, unknown>('release-savepoint', 'release savepoint tock_part');
const ROLL_BACK = statement<object, unknown>('rollback-to-savepoint', 'rollback to savepoint tock_part');

export interface SavepointOptions {
  /**
   * Releases the savepoint after the part, one more round trip, if there are many, or if it is a part of
   * another. Default false.
   */
  readonly isReleased?: boolean;
}

/** Runs a part of a transaction. If it throws, it is undone, and the transaction may go on. */
export async function inSavepoint<T>(
  session: Session,
  part: () => Promise<T>,
  { isReleased = false }: SavepointOptions = {},
): Promise<T> {
  // Refused in a transaction that an error has already aborted.
  await SAVE.run(session, {});
  try {
    const value = await part();
    if (isReleased) await RELEASE.run(session, {});
    return value;
  } catch (error) {
    if (!isConnectionFailure(error)) {
      await ROLL_BACK.run(session, {});
      // Of two savepoints of one name the later one counts: a part around this one must find its own.
      await RELEASE.run(session, {});
    }
    throw error;
  }
}
