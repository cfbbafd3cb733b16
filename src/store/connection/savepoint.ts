// Room: store. A part of a transaction that may fail without the rest.
// In: an open transaction, and the part. Out: what the part gave; or its error, with the transaction as it was before.
import type { Session } from './database.js';
import { isConnectionFailure } from './errors.js';

/** Runs a part of a transaction. When it throws, what it wrote and locked is undone, and the transaction may go on. */
export async function inSavepoint<T>(session: Session, part: () => Promise<T>): Promise<T> {
  // In a transaction that an error has aborted already, this is refused.
  await session.run('savepoint tock_part');
  try {
    return await part();
  } catch (error) {
    if (!isConnectionFailure(error)) await session.run('rollback to savepoint tock_part');
    throw error;
  }
}
