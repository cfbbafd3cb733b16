// `tock dashboard`: serves the pages until Ctrl-C.
import { existsSync } from 'node:fs';
import type { Command } from 'commander';
import { DASHBOARD_VARIABLES } from '../../../dashboard/server/variables.js';
import { stopSignal } from '../../../runtime/stop-signal.js';
import { ALL } from '../../databases/each-database.js';
import { type AddressFlags, withAddress } from '../../flags/address-flags.js';
import { examples, withJson } from '../../flags/flags.js';
import { aborted, action, type CommonOptions, type Shell, withTock } from '../../shell.js';
import { noteMisspelt } from '../../unknown-names.js';

type DashboardFlags = CommonOptions & AddressFlags & { readonly all?: true };

export function addDashboard(program: Command): Command {
  return withAddress(withJson(program.command('dashboard')))
    .summary('serve pages that show and operate the scheduler')
    .description(
      'Serves the dashboard until Ctrl-C, and prints a link that signs one browser in; where standard output is no terminal, the link is in a private file. Executes no runs. On another address than this machine’s own it needs users with passwords, or a proxy that signs people in: see docs/dashboard.md.',
    )
    .option(...ALL)
    .addHelpText('after', variables())
    .addHelpText(
      'after',
      examples(
        ['tock dashboard', 'on this machine, with a one-time link'],
        [
          'TOCK_DASHBOARD_USERS_FILE=/etc/tock/users tock dashboard --host 0.0.0.0',
          'for others, with passwords',
        ],
        ['tock dashboard --base-path /tock', 'below a path of a proxy, whether the proxy removes it or not'],
        ['tock dashboard --all', 'the databases of TOCK_DATABASES, on one page and each on its own'],
      ),
    )
    .action(action(dashboard));
}

function variables(): string {
  const width = Math.max(...Object.keys(DASHBOARD_VARIABLES).map(name => name.length));
  const lines = Object.entries(DASHBOARD_VARIABLES).map(
    ([name, meaning]) => `  ${name.padEnd(width)}  ${meaning}`,
  );
  return `\nEnvironment (each but the base path and the hosts also with _FILE, which names a file):\n${lines.join('\n')}`;
}

async function dashboard(shell: Shell, flags: DashboardFlags): Promise<number> {
  // Loaded late, like everything that only one command needs.
  const [{ readAddress }, { serveFor }] = await Promise.all([
    import('../../dashboard/address.js'),
    import('../../dashboard/serve-dashboard.js'),
  ]);
  readAddress(flags);
  noteMisspelt(shell);
  const stop = stopSignal();
  if (flags.all) {
    const { serveAll } = await import('../../databases/serve-all.js');
    return await serveAll(shell, flags, stop);
  }
  const { jobsModule } = shell.config;
  const needsJobs = jobsModule !== null && existsSync(jobsModule);
  return await withTock(shell, { needsJobs, keepServer: true }, async ({ tock, where }) => {
    if (!needsJobs)
      shell.note(
        `there is no job module${jobsModule === null ? '' : ` ${jobsModule}`}: the pages show everything, but enqueue nothing by hand (name it with --jobs or TOCK_JOBS)`,
      );
    const { url, linkFile, close } = await serveFor(shell, tock, flags);
    shell.document({ url, linkFile, where });
    await aborted(stop);
    await close();
    return 0;
  });
}
