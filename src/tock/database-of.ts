// The database of a Tock, for Tock's own parts that read it: it is no part of the public interface.
import { TockError } from '../model/errors.js';
import type { Database } from '../store/connection/database.js';

/** What is behind a Tock. */
interface Behind {
  readonly database: Database;
  readonly hearChanges: (wake: () => void) => () => void;
}

const databases = new WeakMap<object, () => Promise<Behind>>();

export function rememberDatabase(tock: object, open: () => Promise<Behind>): void {
  databases.set(tock, open);
}

/**
 * The database that a Tock works on; it stays the Tock's.
 * @throws TockError TOCK_BAD_OPTION for an object that createTock has not made, TOCK_CLOSED
 */
export async function databaseOf(tock: object): Promise<Database> {
  return (await behind(tock)).database;
}

/**
 * Calls `wake` when changes of runs are notified, and when that may have been missed. Without a connection to
 * spare it never does. Resolves to a function that ends this.
 * @throws TockError as {@link databaseOf}
 */
export async function hearChanges(tock: object, wake: () => void): Promise<() => void> {
  return (await behind(tock)).hearChanges(wake);
}

async function behind(tock: object): Promise<Behind> {
  const open = databases.get(tock);
  if (open === undefined)
    throw new TockError('TOCK_BAD_OPTION', 'tock is not a Tock of this package; make it with createTock');
  return await open();
}
