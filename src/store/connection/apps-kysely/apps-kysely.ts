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
    const { code, message } = cause as { readonly code?: string; readonly message?: string };
    const why = code?.endsWith('MODULE_NOT_FOUND')
      ? 'npm install kysely'
      : `it cannot be loaded here (${message?.split('\n', 1)[0]}); for Jest, see docs/testing.md`;
    throw new TockError(
      'TOCK_BAD_OPTION',
      `a handler that uses the database needs the package kysely: ${why}`,
      { cause },
    );
  }
}

/** Loads it ahead where no ES module can be required, as in Jest on Node 20. Does nothing where one can. */
export async function importAppsKysely(): Promise<void> {
  try {
    loader.load();
  } catch {
    const loaded = await loader.importLate().catch(() => null);
    if (loaded !== null) loader.load = () => loaded;
  }
}
