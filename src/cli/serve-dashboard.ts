// Serves the dashboard for `tock dashboard` and `tock start --dashboard`, and says where it is.
import type { Command } from 'commander';
import { readServedBasePath } from '../dashboard/access/base-path.js';
import { DEFAULT_HOST } from '../dashboard/server/hosts.js';
import type { ServeOptions } from '../dashboard/server/serve.js';
import { type DashboardSettings, readDashboardSettings } from '../dashboard/server/settings.js';
import { count } from './flags/flags.js';
import { LinkFile } from './link-file.js';
import type { Shell } from './shell.js';
import { cleanLine, paint } from './terminal.js';

export interface AddressFlags {
  readonly host?: string;
  readonly port?: number;
  readonly basePath?: string;
}

export interface Served {
  readonly url: string;
  /** Has the link that signs one browser in, once. Null: it was printed, or passwords or a proxy do that. */
  readonly linkFile: string | null;
  readonly close: () => Promise<void>;
}

/** `--host`, `--port` and `--base-path`. */
export function withAddress(command: Command, when = ''): Command {
  return command
    .option('--host <host>', `${when}the address to listen on (default 127.0.0.1)`)
    .option('--port <n>', `${when}the port (default 8625, or the next one that is free)`, count(0, 65_535))
    .option(
      '--base-path <path>',
      `${when}the path below which a proxy serves the pages, such as /tock (default the root, or TOCK_DASHBOARD_BASE_PATH)`,
    );
}

/** Refuses an address that others could reach unasked, before anything is opened. @throws TockError */
export async function checkAddress(flags: AddressFlags): Promise<void> {
  const { requireSafeAddress } = await import('../dashboard/server/server-access.js');
  requireSafeAddress(flags.host ?? DEFAULT_HOST, settingsOf(flags));
}

function settingsOf({ basePath }: AddressFlags): DashboardSettings {
  const settings = readDashboardSettings(process.env);
  return basePath === undefined
    ? settings
    : { ...settings, basePath: readServedBasePath(basePath, '--base-path') };
}

/** Serves until `close`. Says where. Whenever a link was used, the next is on the terminal or in a file. */
export async function serveFor(
  shell: Shell,
  tock: ServeOptions['tock'],
  flags: AddressFlags,
): Promise<Served> {
  // Loaded only here: few commands serve pages.
  const { serveDashboard } = await import('../dashboard/server/serve.js');
  const isShown = process.stdout.isTTY && !shell.json;
  const linkFile = new LinkFile();
  let link: string | null = null;
  const served = await serveDashboard({
    tock,
    host: flags.host ?? DEFAULT_HOST,
    port: flags.port ?? null,
    settings: settingsOf(flags),
    onLink: url => {
      if (!isShown) linkFile.write(url);
      else if (link !== null)
        shell.say(`dashboard: signed in; for another browser, once: ${paint('cyan', cleanLine(url))}`);
      link = url;
    },
  });
  const { file, problem } = linkFile;
  const shown = isShown && link !== null ? link : served.url;
  const how =
    file !== null
      ? ` (the link that signs one browser in, once, is in ${cleanLine(file)})`
      : link === null || problem !== null
        ? ''
        : ' (signs one browser in, once)';
  shell.say(`dashboard: ${paint('cyan', cleanLine(shown))}${how}`);
  if (problem !== null)
    shell.note(
      `nobody can sign in by a link, which cannot be written to a file: ${cleanLine(problem)}. Set TMPDIR to a folder of this user, or name users in TOCK_DASHBOARD_USERS_FILE`,
    );
  return {
    url: served.url,
    linkFile: file,
    close: async () => {
      await served.close();
      await linkFile.remove();
    },
  };
}
