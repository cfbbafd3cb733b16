// `tock deploy list` and `deploy mark`.
import type { Command } from 'commander';
import type { DeployRecord } from '../../model/deploys/deploys.js';
import { TockError } from '../../model/errors.js';
import { quote } from '../../model/names.js';
import { didYouMean } from '../../model/nearest.js';
import { count, examples, instant, withJson } from '../flags/flags.js';
import { action, type CommonOptions, type Shell, withTock } from '../shell.js';
import { cleanLine, paint } from '../terminal.js';
import { drawTable } from '../views/table.js';
import { localTime, relative } from '../views/time-text.js';

interface ListFlags extends CommonOptions {
  readonly limit?: number;
}

interface MarkFlags extends CommonOptions {
  readonly at?: Date;
  readonly note?: string;
}

export function addDeploy(program: Command): Command {
  const deploy = withJson(program.command('deploy'))
    .summary('which versions of the app were deployed when; mark one')
    .description(
      'Deploys: versions of the app, as TOCK_DEPLOY names them where workers run, and as operators mark them. Without a subcommand, lists them.',
    )
    .argument('[list|mark]', 'what to do (default list); see tock deploy mark --help')
    // Lets --json after the subcommand belong to the subcommand.
    .enablePositionalOptions()
    .addHelpText(
      'after',
      examples(
        ['tock deploy', 'the latest first'],
        ["tock deploy mark v42 --note 'new mailer'", 'charts show it from now on'],
        ['tock runs --deploy v42 --status dead', 'what died in it'],
      ),
    )
    .action(action(listOrRefuse));
  for (const add of [addList, addMark]) add(deploy).helpOption('-h, --help', 'print this help');
  return deploy;
}

function addList(deploy: Command): Command {
  return withJson(deploy.command('list'))
    .summary('list the deploys')
    .description('Lists the deploys that a worker had or an operator has marked, the latest first.')
    .option('--limit <n>', 'at most this many (default 50)', count(1, 1000))
    .addHelpText('after', examples(["tock deploy list --json | jq -r '.deploys[0].name'", 'the latest']))
    .action(action(list));
}

function addMark(deploy: Command): Command {
  return withJson(deploy.command('mark'))
    .summary('mark a deploy, so that charts show it')
    .description(
      'Marks a deploy with a time, by the database’s clock. The same name as TOCK_DEPLOY, or any other. Again: changes its time and note.',
    )
    .argument('<name>', 'such as a version or a commit: at most 100 bytes, without blanks')
    .option('--at <instant>', 'when, such as 2026-03-08T07:30:00Z (default now)', instant)
    .option('--note <text>', 'shown with it')
    .addHelpText(
      'after',
      examples(['tock deploy mark "$(git rev-parse --short HEAD)"', 'the last step of a deployment']),
    )
    .action(action(mark));
}

async function listOrRefuse(shell: Shell, flags: ListFlags, word: string | undefined): Promise<number> {
  if (word === undefined) return await list(shell, flags);
  throw new TockError(
    'TOCK_BAD_OPTION',
    `${quote(word)} is not a command${didYouMean(word, ['list', 'mark'])}: tock deploy list or mark (see tock deploy --help)`,
  );
}

async function list(shell: Shell, { limit = 50 }: ListFlags): Promise<number> {
  return await withTock(shell, { needsJobs: false, onlyReads: true }, async ({ tock }) => {
    const deploys = await tock.deploys.list({ limit });
    shell.document({ deploys });
    if (shell.json) return 0;
    if (deploys.length === 0)
      shell.say('no deploy is known: set TOCK_DEPLOY where workers run, or call tock deploy mark <name>');
    else shell.say(await drawDeploys(deploys));
    return 0;
  });
}

async function drawDeploys(deploys: readonly DeployRecord[]): Promise<string> {
  const columns = [
    { title: 'deploy', flexible: true },
    { title: 'at', keepsEnd: true as const },
    { title: '' },
    { title: 'first worker', optional: true as const },
    { title: 'marked by', optional: true as const },
    { title: 'note', flexible: true },
  ];
  const rows = deploys.map(({ name, at, firstSeenAt, markedAt, markedBy, note }) => [
    name,
    localTime(at),
    relative(at),
    firstSeenAt === null ? 'none seen' : relative(firstSeenAt),
    markedAt === null ? '' : (markedBy ?? ''),
    note ?? '',
  ]);
  return await drawTable(columns, rows);
}

async function mark(shell: Shell, { at, note }: MarkFlags, name: string): Promise<number> {
  return await withTock(shell, { needsJobs: false }, async ({ tock }) => {
    const deploy = await tock.deploys.mark(name, {
      ...(at === undefined ? {} : { at }),
      ...(note === undefined ? {} : { note }),
    });
    shell.document({ deploy });
    const seen = deploy.firstSeenAt === null ? '; no worker has named it yet' : '';
    shell.say(`deploy ${paint('bold', cleanLine(deploy.name))} is marked at ${localTime(deploy.at)}${seen}`);
    return 0;
  });
}
