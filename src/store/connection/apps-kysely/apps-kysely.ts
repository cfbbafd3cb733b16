// The app's own kysely, a peer dependency, so that what handlers get fits its types and `instanceof`. Tock's
// own statements are built by the kysely in its bundles.
import type * as kysely from 'kysely';
import { TockError } from '../../../model/errors.js';
import loader from './load-kysely.cjs';

/** What handlers need of it. */
export type AppsKysely = Pick<typeof kysely, 'DefaultQueryExecutor' | 'Kysely' | 'PostgresDialect'>;

/** Loads it. @throws TockError TOCK_BAD_OPTION if it is not installed */
export function loadAppsKysely(): AppsKysely {
  try {
    return loader.load() as AppsKysely;
  } catch (cause) {
    throw new TockError(
      'TOCK_BAD_OPTION',
      'a handler that uses the database needs the package kysely: npm install kysely',
      { cause },
    );
  }
}
