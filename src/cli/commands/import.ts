// `tock import`: definitions from what ran before, a crontab or another scheduler. `undo`: all as before.
import type { Command } from 'commander';
import { TockError } from '../../model/errors.js';
import { quote } from '../../model/names.js';
import { didYouMean } from '../../model/nearest.js';
import { examples } from '../flags/flags.js';
import { action, type CommonOptions, type Shell } from '../shell.js';

const SUBCOMMANDS = ['crontab', 'systemd', 'kubernetes', 'pg_cron', 'pg-boss', 'graphile-worker', 'undo'];
const ALL = `${SUBCOMMANDS.slice(0, -1).join(', ')} or undo`;

/** Its subcommands are loaded only when they are called: see import/commands.ts. */
export function addImport(program: Command): Command {
  return program
    .command('import')
    .summary('turn a crontab, or what another scheduler runs, into definitions')
    .description(
      'Turns the lines of a crontab, timers of systemd, CronJobs of Kubernetes, and the schedules of pg_cron, pg-boss and graphile-worker into definitions in TypeScript, and says what differs. Then it switches them off where they ran (systemd and Kubernetes: it says how), and can switch them on again. Each takes --json.',
    )
    .argument('[source|undo]', 'what to import; see tock import crontab --help')
    .addHelpText(
      'after',
      examples(
        ['tock import crontab --out jobs/crontab.ts', 'write definitions for the lines of your crontab'],
        ['tock import crontab --dry-run', 'compare cron’s times with Tock’s over 90 days'],
        ['tock import crontab --switch', 'comment out the lines that are now definitions'],
        ['tock import undo', 'put them back'],
        ['tock import systemd --out jobs/timers.ts', 'write definitions for the timers of systemd'],
        ['tock import kubernetes deploy/ --out jobs/cron-jobs.ts', 'for CronJobs of Kubernetes'],
        [
          'tock import pg_cron --out jobs/pg-cron.ts',
          'for the jobs of pg_cron; likewise pg-boss, graphile-worker',
        ],
      ),
    )
    .action(action(refuse));
}

async function refuse(_shell: Shell, _flags: CommonOptions, word: string | undefined): Promise<number> {
  throw new TockError(
    'TOCK_BAD_OPTION',
    word === undefined
      ? `say what: tock import ${ALL} (see tock import --help)`
      : `${quote(word)} is not a command${didYouMean(word, SUBCOMMANDS) || ':'} tock import ${ALL} (see tock import --help)`,
  );
}
