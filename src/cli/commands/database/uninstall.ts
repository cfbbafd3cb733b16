// `tock uninstall`: drops the schema, after it has shown what is lost.
import type { Command } from 'commander';
import { findTickLines } from '../../../model/doctor/crontab.js';
import type { Config } from '../../../runtime/configuration.js';
import { readCrontabs } from '../../../runtime/crontab.js';
import type { RowCount, UninstallPreview } from '../../../store/schema/uninstall.js';
import { databaseOf } from '../../../tock/database-of.js';
import { isConfirmed } from '../../confirm.js';
import { examples, withJson } from '../../flags/flags.js';
import { action, type CommonOptions, type Shell, withTock } from '../../shell.js';
import { cleanLine, paint } from '../../terminal.js';
import { counted, sizeText } from '../../views/size-text.js';

interface UninstallFlags extends CommonOptions {
  readonly dryRun?: true;
  readonly yes?: true;
  readonly force?: true;
}

/** A line that ticks in a crontab of this host. */
interface CronLine {
  readonly source: string;
  readonly line: string;
}

export function addUninstall(program: Command): Command {
  return withJson(program.command('uninstall'))
    .summary('drop the schema, with all that it holds')
    .description(
      'Shows what is lost, asks, and drops the schema in one transaction. It refuses while workers are alive, a schema that is not Tock’s, and one that holds, or is used by, something that Tock has not made. Then it says what remains: roles, publications, settings, and the lines in crontabs. There is no undo but a backup. Needs the owner’s rights.',
    )
    .option('--dry-run', 'show what would be lost, and change nothing')
    .option('-y, --yes', 'do not ask; required without a terminal')
    .option('--force', 'also while workers are alive; their runs fail')
    .addHelpText(
      'after',
      examples(
        ['tock uninstall --dry-run', 'what would be lost'],
        ['tock uninstall', 'shows it, and asks'],
        ['TOCK_SCHEMA=jobs tock uninstall --yes', 'another schema, in a script'],
      ),
    )
    .action(action(run));
}

async function run(shell: Shell, flags: UninstallFlags): Promise<number> {
  const options = { migrate: 'unchecked', needsJobs: false } as const;
  return await withTock(shell, options, async ({ tock, where }) => {
    const database = await databaseOf(tock);
    const { previewUninstall, requireNoWorkers, uninstall } = await import(
      '../../../store/schema/uninstall.js'
    );
    const preview = await previewUninstall(database);
    const crontab = findTickLines((await readCrontabs()) ?? [])
      .filter(({ isCommentedOut }) => !isCommentedOut)
      .map(({ source, line }): CronLine => ({ source, line }));
    const document = (dropped: boolean) => shell.document({ ...preview, crontab, dropped });
    for (const line of lossLines(preview, where)) shell.say(line);
    if (flags.dryRun) {
      document(false);
      return 0;
    }
    if (!flags.force) requireNoWorkers(preview.workers);
    if (!(await isConfirmed(shell, flags.yes, `drop the schema ${preview.schema} on ${cleanLine(where)}`))) {
      shell.note('nothing was changed');
      return 1;
    }
    await uninstall(database, { force: flags.force === true });
    document(true);
    shell.say(paint('bold', `dropped the schema ${preview.schema}`));
    for (const line of remainLines(preview, crontab, shell.config)) shell.say(line);
    return 0;
  });
}

const MAX_NAMES = 10;

function lossLines(preview: UninstallPreview, where: string): string[] {
  const { schema, owner, bytes, live, finished, definitions, operatorMade, limitedQueues } = preview;
  const waiting = live.queued + live.failed;
  const facts: [string, string][] = [
    ['live runs', `${waiting.toLocaleString('en')} waiting, ${live.running.toLocaleString('en')} running`],
    ['finished runs', rowsText(finished)],
    ['definitions', `${definitions.toLocaleString('en')}, ${operatorMade.length} of them not in code`],
    ...(operatorMade.length > 0 ? [['not in code', listed(operatorMade)] as [string, string]] : []),
    ['keys', `${rowsText(preview.keys)} of callers, ${rowsText(preview.occurrences)} of occurrences`],
    ...(limitedQueues.length > 0 ? [['queue limits', listed(limitedQueues)] as [string, string]] : []),
    ['audit', rowsText(preview.audit)],
    ['workers', workersText(preview)],
  ];
  return [
    paint('bold', `schema ${schema} on ${cleanLine(where)}, ${sizeText(bytes)}, owner ${cleanLine(owner)}`),
    'this is lost:',
    ...facts.map(([name, value]) => `  ${paint('dim', name.padEnd(13))}  ${value}`),
  ];
}

function rowsText({ count, isEstimate }: RowCount): string {
  return `${isEstimate ? 'about ' : ''}${count.toLocaleString('en')}`;
}

function listed(names: readonly string[]): string {
  const shown = names.slice(0, MAX_NAMES).join(', ');
  return cleanLine(
    names.length > MAX_NAMES ? `${shown} and ${counted(names.length - MAX_NAMES, 'other')}` : shown,
  );
}

function workersText({ workers }: UninstallPreview): string {
  if (workers.length === 0) return 'none is alive';
  const text = listed(workers.map(({ kind, host, pid }) => `${kind} on ${host}, pid ${pid}`));
  return paint('red', `${workers.length} alive: ${text}`);
}

/** What the transaction does not touch. */
function remainLines(
  { roles, publications, settings, ticks }: UninstallPreview,
  crontab: readonly CronLine[],
  { databaseUrl, dataFolder }: Pick<Config, 'databaseUrl' | 'dataFolder'>,
): string[] {
  const hosts = ticks.map(({ host, folder, kind }) => `${kind} on ${host} in ${folder}`);
  const lines = [
    ...(roles.length > 0
      ? [`roles that had rights in it: ${listed(roles)} (drop role removes one that nothing else needs)`]
      : []),
    ...(publications.length > 0
      ? [`publications that had tables of it: ${listed(publications)} (drop publication)`]
      : []),
    ...settings.map(each => `a setting; remove it with: ${cleanLine(each)}`),
    ...(hosts.length > 0 ? [`what has ticked within a day, and fails from now on: ${listed(hosts)}`] : []),
    ...crontab.map(({ source, line }) => `a line that ticks, in ${cleanLine(source)}: ${cleanLine(line)}`),
    ...(databaseUrl === null
      ? [`the embedded server, in ${cleanLine(dataFolder)}; delete that folder if nothing else is in it`]
      : []),
  ];
  return lines.length === 0
    ? ['nothing else remains, as far as this host can see']
    : ['this remains:', ...lines.map(line => `  ${line}`)];
}
