// Serves the dashboard for `tock dashboard` and `tock start`, and says where it is. Loaded there only.
import { type KeptDashboard, type ServeOptions, serveDashboard } from '../../dashboard/server/serve.js';
import type { AddressFlags } from '../flags/address-flags.js';
import type { Shell } from '../shell.js';
import { cleanLine, paint } from '../terminal.js';
import { readAddress } from './address.js';
import { LinkFile } from './link-file.js';

export interface Served {
  readonly url: string;
  /** Has the link that signs one browser in, once. Null: it was printed, or passwords or a proxy do that. */
  readonly linkFile: string | null;
  readonly close: () => Promise<void>;
}

/** What one worker of `tock start --watch` leaves to the next. */
export interface Handover {
  /** Null: none was served before. */
  readonly kept?: KeptDashboard | null;
  readonly onKept?: ((kept: KeptDashboard) => void) | undefined;
}

/**
 * Serves until `close`. Says where, unless that was said before. Whenever a link was used, the next is on the
 * terminal or in a file.
 */
export async function serveFor(
  shell: Shell,
  tock: ServeOptions['tock'],
  flags: AddressFlags,
  { kept = null, onKept }: Handover = {},
): Promise<Served> {
  const isShown = process.stdout.isTTY && !shell.json;
  const linkFile = new LinkFile();
  let link: string | null = null;
  const served = await serveDashboard({
    tock,
    ...readAddress(flags),
    port: flags.port ?? null,
    kept: kept ?? undefined,
    onKept,
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
  // A link that was kept is on the terminal already; a file is a new one.
  if (kept === null || file !== null) shell.say(`dashboard: ${paint('cyan', cleanLine(shown))}${how}`);
  if (file !== null && process.stderr.isTTY) shell.note(`the sign-in link of the dashboard is in ${file}`);
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
