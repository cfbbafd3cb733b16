// The subcommands of `tock import`: crontab, systemd, Kubernetes, pg_cron, pg-boss, graphile-worker, undo.

import { readFile } from 'node:fs/promises';
import { hostname } from 'node:os';
import { type Command, Option } from 'commander';
import { osUser } from '../../environment/os-user.js';
import { jobCode } from '../../import/code/job-code.js';
import { compareLine } from '../../import/crontab/compare.js';
import { importReport } from '../../import/crontab/report.js';
import { codeJobOf, translate } from '../../import/crontab/translate.js';
import type { CronKind } from '../../model/crontab/cron-field.js';
import { readCrontab } from '../../model/crontab/crontab.js';
import { switchedLines, switchOn } from '../../model/crontab/switched-lines.js';
import { TockError } from '../../model/errors.js';
import { utcText } from '../../model/schedule/instant-text.js';
import { checkZoneName } from '../../model/schedule/zone/zone-names.js';
import { cronKindOfHost, readHomes, readSources, textOf, zoneOfHost } from '../../runtime/crontab-sources.js';
import { count, examples, instant, withJson } from '../flags/flags.js';
import { action, type CommonOptions, type Shell } from '../shell.js';
import { checkFoundFlags, DAY_MS, DEFAULT_DAYS, type FoundFlags } from './finish-import.js';
import { addGraphileWorker } from './graphile-worker.js';
import { checkPlaces, writeImport } from './import-files.js';
import { addKubernetes } from './kubernetes.js';
import { addPgBoss } from './pg-boss.js';
import { addPgCron } from './pg-cron.js';
import { sayComparison } from './say-comparison.js';
import { type SourceFlags, sourceUrl } from './source-url.js';
import { type Imported, switchOff, undoSwitch } from './switch-crontab.js';
import { savedSwitchOf, undoFound } from './switch-found.js';
import { addSystemd } from './systemd.js';

interface ImportFlags extends CommonOptions, FoundFlags {
  readonly system?: true;
  readonly cron?: CronKind;
  readonly timezone?: string;
}

/** What is imported from, and the way back. */
export function addSources(command: Command): void {
  const sources = [addCrontab, addSystemd, addKubernetes, addPgCron, addPgBoss, addGraphileWorker];
  for (const add of [...sources, addUndo]) add(command).helpOption('-h, --help', 'print this help');
}

function addCrontab(command: Command): Command {
  return withJson(command.command('crontab'))
    .summary('definitions from a crontab')
    .description(
      'Reads a crontab as cron does and writes a definition for each line, in TypeScript to be reviewed, with a report of what differs. Without a file it reads your own crontab (crontab -l). Nothing is changed without --switch, and no file is overwritten without a question. Needs no database.',
    )
    .argument('[file]', 'a crontab, a folder such as /etc/cron.d, or - for standard input')
    .option(
      '--system',
      'a user stands before each command; without a file, reads /etc/crontab and /etc/cron.d',
    )
    .addOption(
      new Option(
        '--cron <kind>',
        'whose rules: debian, or cronie of Red Hat (default: those of this host)',
      ).choices(['debian', 'cronie']),
    )
    .option('--timezone <zone>', 'the zone of the host with this crontab (default: of this host)')
    .option('--out <file>', 'write the code there (default: standard output)')
    .option('--report <file>', 'write the report there (default: standard error)')
    .option('--dry-run', 'compare the instants of each line under cron and in Tock, and write nothing')
    .option('--from <instant>', 'with --dry-run: from when on (default now)', instant)
    .option('--days <n>', `with --dry-run: how many days (default ${DEFAULT_DAYS})`, count(1, 3660))
    .option('--switch', 'comment out the lines whose definitions are in the job module')
    .option('-y, --yes', 'do not ask')
    .addHelpText(
      'after',
      examples(
        ['tock import crontab', 'look at code and report'],
        ['sudo tock import crontab --system --out jobs/crontab.ts', 'what the system runs'],
        ['ssh web-1 crontab -l | tock import crontab - --timezone Europe/Berlin', 'from another host'],
        ['tock import crontab --dry-run --days 366', 'through both changes of the clock'],
      ),
    )
    .action(action(importCrontab));
}

function addUndo(command: Command): Command {
  return withJson(command.command('undo'))
    .summary('switch on again what --switch has switched off')
    .description(
      'Removes the marks that --switch has put before lines of a crontab, so that cron or graphile-worker runs them again. With the file that --switch has kept of pg_cron or pg-boss, it sets the jobs active again, or puts the schedules back. Other changes that you have made since are kept.',
    )
    .argument('[file]', 'the crontab that was changed, or the file that was kept (default: your own crontab)')
    .option('--database <url>', 'of pg_cron or pg-boss: the database (default: DATABASE_URL)')
    .option('-y, --yes', 'do not ask')
    .addHelpText(
      'after',
      examples(
        ['tock import undo', 'cron runs the lines again'],
        ['tock import undo /etc/cron.d/app', 'in a file'],
        ['tock import undo ~/.local/state/tock/pg-boss-of-shop-2026-11-20.json', 'schedules of pg-boss'],
      ),
    )
    .action(action(undo));
}

async function importCrontab(shell: Shell, flags: ImportFlags, file: string | undefined): Promise<number> {
  checkFoundFlags(flags);
  if (flags.switch && file === '-')
    throw new TockError(
      'TOCK_BAD_OPTION',
      'standard input cannot be changed: name the file, or leave it out for your own crontab',
    );
  const timezone = flags.timezone ?? zoneOfHost();
  checkZoneName(timezone);
  const imported = await readAll(shell, flags, file, timezone);
  if (flags.dryRun) return compare(shell, flags, imported, timezone);
  if (flags.switch) return await switchOff(shell, imported, flags.yes);
  checkPlaces(flags);
  const report = importReport(
    imported.map(({ source, translation }) => ({ source: source.source, translation })),
    timezone,
    Date.now(),
  ).join('\n');
  const code = jobCode(
    imported.flatMap(({ source, translation }) =>
      translation.taken.map(line => codeJobOf(line, `${source.source} on ${hostname()}`)),
    ),
    'cron by `tock import crontab`',
  );
  shell.document({
    timezone,
    code,
    taken: imported.flatMap(({ source, translation }) =>
      translation.taken.map(({ entry, job, differences }) => ({
        source: source.source,
        line: entry.line,
        ...job,
        differences,
      })),
    ),
    left: imported.flatMap(({ source, translation }) =>
      translation.left.map(line => ({ source: source.source, ...line })),
    ),
  });
  return await writeImport(shell, flags, code, report);
}

async function readAll(
  shell: Shell,
  flags: ImportFlags,
  file: string | undefined,
  timezone: string,
): Promise<Imported[]> {
  const kind = flags.cron ?? cronKindOfHost();
  const sources = await readSources({ file, system: flags.system === true, kind });
  const homes = await readHomes();
  const names = new Set<string>();
  const imported = sources.map(source => {
    const { text, isUtf8 } = textOf(source);
    if (!isUtf8) shell.note(`${source.source} is not UTF-8; it is read as ISO 8859-1`);
    const crontab = readCrontab(switchOn(text), { hasUser: source.hasUser, kind });
    const users = crontab.entries.map(({ command }) => /^\S+/.exec(command)?.[0] ?? '');
    if (!source.hasUser && users.length > 0 && users.every(user => homes.has(user)))
      shell.note(
        `each command in ${source.source} begins with the name of a user: add --system if a user stands there`,
      );
    const context = {
      kind,
      timezone,
      hasUser: source.hasUser,
      // Under sudo, the lines of root are those of another user.
      user: process.env['SUDO_USER'] || osUser(),
      homeOf: (user: string | null) => homes.get(user ?? osUser()) ?? null,
    };
    const { taken, left, mailTo } = translate(crontab, context, names);
    // A line that is switched off keeps its name, and is no more than that.
    const switched = new Set(switchedLines(text));
    return {
      source,
      translation: {
        taken: taken.filter(({ entry }) => !switched.has(entry.line)),
        left: left.filter(({ line }) => !switched.has(line)),
        mailTo,
      },
    };
  });
  if (imported.every(({ translation: { taken, left } }) => taken.length + left.length === 0)) {
    const where = sources.map(({ source }) => source).join(', ') || 'the system';
    throw new TockError('TOCK_NOT_FOUND', `${where} has no line with a command: there is nothing to import`);
  }
  return imported;
}

function compare(shell: Shell, flags: ImportFlags, imported: readonly Imported[], timezone: string): number {
  const from = flags.from?.getTime() ?? Date.now();
  const days = flags.days ?? DEFAULT_DAYS;
  const lines = imported.flatMap(({ source, translation }) =>
    translation.taken.map(line => ({
      source: source.source,
      line: line.entry.line,
      name: line.job.name,
      comparison: compareLine(line, timezone, from, from + days * DAY_MS),
    })),
  );
  sayComparison(shell, lines, {
    title: `${days} days from ${utcText(from)}, cron by the clock of ${timezone}:`,
    facts: { timezone, from: utcText(from), days },
    left: imported.reduce((sum, { translation }) => sum + translation.left.length, 0),
    command: 'crontab',
  });
  return 0;
}

interface UndoFlags extends CommonOptions, SourceFlags {
  readonly yes?: true;
}

async function undo(shell: Shell, flags: UndoFlags, file: string | undefined): Promise<number> {
  const bytes = file === undefined || file === '-' ? null : await readFile(file).catch(() => null);
  const saved = bytes === null ? null : savedSwitchOf(bytes);
  if (saved !== null) return await undoFound(shell, saved, sourceUrl(shell, flags), flags.yes);
  if (flags.database !== undefined)
    throw new TockError(
      'TOCK_BAD_OPTION',
      '--database belongs to a file that --switch has kept of pg_cron or pg-boss: name that file',
    );
  return await undoSwitch(shell, file, flags.yes);
}
