// `tock dashboard --all`: several databases, each of which may be away.

import { readDatabases } from '../../runtime/databases.js';
import { createTock } from '../../tock/create-tock.js';
import { serveFor } from '../dashboard/serve-dashboard.js';
import type { AddressFlags } from '../flags/address-flags.js';
import { operatorOfCommand } from '../operator-of-command.js';
import { aborted, type Shell } from '../shell.js';

/** Serves until `stop`. Connects to none of them before a page is asked for. */
export async function serveAll(shell: Shell, flags: AddressFlags, stop: AbortSignal): Promise<number> {
  const { schema } = shell.config;
  const databases = readDatabases(process.env).map(({ name, url }) => ({
    name,
    tock: createTock({
      connectionString: url,
      schema,
      jobs: [],
      operator: operatorOfCommand(shell.config).name,
      logger: false,
    }),
  }));
  shell.note('the pages show everything, but enqueue nothing by hand: jobs are known to one database each');
  try {
    const { url, linkFile, close } = await serveFor(shell, databases, flags);
    shell.document({ url, linkFile, databases: databases.map(({ name }) => name) });
    await aborted(stop);
    await close();
    return 0;
  } finally {
    await Promise.all(databases.map(async ({ tock }) => await tock.close()));
  }
}
