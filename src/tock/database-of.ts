// The database of a Tock, for Tock's own parts that read it: it is no part of the public interface.
import { TockError } from '../model/errors.js';
import type { Database } from '../store/connection/database.js';

const databases = new WeakMap<object, () => Promise<Database>>();

export function rememberDatabase(tock: object, open: () => Promise<Database>): void {
  databases.set(tock, open);
}

/**
 * The database that a Tock works on; it stays the Tock's.
 * @throws TockError TOCK_BAD_OPTION for an object that createTock has not made, TOCK_CLOSED
 */
export async function databaseOf(tock: object): Promise<Database> {
  const open = databases.get(tock);
  if (open === undefined)
    throw new TockError('TOCK_BAD_OPTION', 'tock is not a Tock of this package; make it with createTock');
  return await open();
}
