// `tock crontab install`, `remove` and `show`: the line that ticks, as a marked block in the user's crontab.

import { constants, existsSync } from 'node:fs';
import { access, readFile } from 'node:fs/promises';
import path from 'node:path';
import type { Command } from 'commander';
import { osUser } from '../../../environment/os-user.js';
import { readBlock, withBlock, withoutBlock } from '../../../model/crontab/tick-block.js';
import {
  type Checkout,
  findTickLines,
  isIn,
  isInCache,
  tickLineFor,
  URL_FILE,
  versionManagerOf,
  withUrlFile,
} from '../../../model/doctor/crontab.js';
import { TockError } from '../../../model/errors.js';
import { quote } from '../../../model/names.js';
import { didYouMean } from '../../../model/nearest.js';
import { shellWord } from '../../../model/shell-word.js';
import { isCronRunning, readOwnCrontab, thisCheckout, writeOwnCrontab } from '../../../runtime/crontab.js';
import { isConfirmed } from '../../confirm.js';
import { examples, withJson } from '../../flags/flags.js';
import { showChanges } from '../../import/switch-crontab.js';
import { action, type CommonOptions, type Shell } from '../../shell.js';
import { cleanLine } from '../../terminal.js';

interface CrontabFlags extends CommonOptions {
  readonly databaseUrlFile?: string;
  readonly yes?: true;
}

const SUBCOMMANDS = ['install', 'remove', 'show'];
/** Of a command in Debian's cron and in cronie, with some to spare. */
const MAX_LINE = 990;

export function addCrontab(program: Command): Command {
  const command = program
    .command('crontab')
    .summary('install, remove or show the line that ticks')
    .description(
      'Keeps one marked block in your crontab: the line that ticks, with the absolute paths of this project on this host. All other lines stay, byte for byte. install, remove and show each take --json.',
    )
    .argument('[install|remove|show]', 'what to do; see tock crontab install --help')
    .addHelpText(
      'after',
      examples(
        ['tock crontab show', 'the line, and whether it is installed'],
        ['tock crontab install', 'shows the change, and asks'],
        ['tock crontab remove --yes', 'in a script'],
      ),
    )
    .action(action(refuse));
  for (const add of [addInstall, addRemove, addShow])
    add(command).helpOption('-h, --help', 'print this help');
  return command;
}

function addInstall(command: Command): Command {
  return takingUrlFile(
    withJson(command.command('install'))
      .summary('add the line that ticks, or bring it up to date')
      .description(
        'Adds the block to your crontab, or replaces the one of this project. Cron gives a command almost no environment, so the line names everything that .env in the folder does not: node, the tick, the folder, and the file with the database’s URL.',
      ),
  )
    .option('-y, --yes', 'do not ask')
    .addHelpText(
      'after',
      examples(
        ['tock crontab install', 'after npm run build'],
        ['tock crontab install --database-url-file /etc/tock/database-url --yes', 'in a script'],
      ),
    )
    .action(action(install));
}

function addRemove(command: Command): Command {
  return withJson(command.command('remove'))
    .summary('remove the line that ticks')
    .description('Removes the block of this project from your crontab.')
    .option('-y, --yes', 'do not ask')
    .addHelpText('after', examples(['tock crontab remove', 'shows the change, and asks']))
    .action(action(remove));
}

function addShow(command: Command): Command {
  return takingUrlFile(
    withJson(command.command('show'))
      .summary('show the line that ticks')
      .description('Shows the block of this project in your crontab, and the line that install would write.'),
  )
    .addHelpText('after', examples(['tock crontab show', 'changes nothing']))
    .action(action(show));
}

function takingUrlFile(command: Command): Command {
  return command.option(
    '--database-url-file <file>',
    `the file that holds the database’s URL (default: DATABASE_URL_FILE, then what the installed line names; ${URL_FILE} if only DATABASE_URL is set)`,
  );
}

async function refuse(_shell: Shell, _flags: CommonOptions, word: string | undefined): Promise<number> {
  throw new TockError(
    'TOCK_BAD_OPTION',
    word === undefined
      ? 'say what: tock crontab install, remove or show (see tock crontab --help)'
      : `${quote(word)} is not a command${didYouMean(word, SUBCOMMANDS) || ':'} tock crontab install, remove or show (see tock crontab --help)`,
  );
}

async function install(shell: Shell, flags: CrontabFlags): Promise<number> {
  const project = checkoutFor(flags);
  if (!existsSync(project.tickScript))
    throw new TockError(
      'TOCK_NOT_FOUND',
      `there is no ${project.tickScript}: build the project first (npm run build)`,
    );
  if (isInCache(project.tickScript))
    throw new TockError(
      'TOCK_NOT_FOUND',
      `${project.tickScript} is in a cache that may be emptied: npm install pg-tock in this project, and repeat`,
    );
  await checkLog(project);
  const before = await readCrontabText();
  const checkout = withUrlFile(project, blockOf(project, before) ?? []);
  const line = Buffer.from(tickLineFor(checkout)).toString('latin1');
  if (line.length > MAX_LINE)
    throw new TockError(
      'TOCK_BAD_STATE',
      `the line would have ${line.length} characters, and cron reads ${MAX_LINE}: give the project and its files shorter paths`,
    );
  const problem = await urlFileProblem(checkout);
  if (problem !== null) throw new TockError('TOCK_BAD_OPTION', problem);
  const after = withBlock(before ?? '', folderOf(checkout), [line]);
  const isChanged = before !== after;
  for (const note of await notesOn(shell, checkout, before ?? '')) shell.note(note);
  if (!isChanged) {
    await noteSilence(shell);
    shell.document({ changed: false, installed: true, line: tickLineFor(checkout) });
    shell.say('the line is in place: nothing to change');
    return 0;
  }
  return await change(shell, flags, { before, after, installed: true, line: tickLineFor(checkout) });
}

async function remove(shell: Shell, flags: CrontabFlags): Promise<number> {
  const checkout = checkoutFor(flags);
  const before = await readCrontabText();
  const after = withoutBlock(before ?? '', folderOf(checkout));
  if (before === null || before === after) {
    shell.document({ changed: false, installed: false });
    shell.say(`the crontab of ${osUser()} has no block of ${cleanLine(checkout.folder)}: nothing to remove`);
    return 0;
  }
  return await change(shell, flags, { before, after, installed: false });
}

async function show(shell: Shell, flags: CrontabFlags): Promise<number> {
  const project = checkoutFor(flags);
  const { text, why } = await readCrontabText().then(
    read => ({ text: read, why: null }),
    (error: unknown) => {
      if (!(error instanceof TockError)) throw error;
      return { text: null, why: error.message };
    },
  );
  const found = blockOf(project, text);
  const checkout = withUrlFile(project, found ?? []);
  const line = tickLineFor(checkout);
  const isCurrent = found?.length === 1 && found[0] === line;
  shell.document({ installed: found !== null, isCurrent, block: found, line });
  const problem = await urlFileProblem(checkout);
  if (problem !== null) shell.note(problem);
  if (found !== null) await noteSilence(shell);
  if (why !== null) {
    shell.note(why);
    shell.say('the line that ticks, for the crontab of a user who may have one:');
  } else if (found === null) shell.say('not installed; tock crontab install would add:');
  else {
    for (const each of found) shell.print(cleanLine(each));
    if (isCurrent) return 0;
    shell.say('this is not what this project needs now; tock crontab install would write:');
  }
  shell.print(cleanLine(line));
  return 0;
}

interface Change {
  readonly before: string | null;
  readonly after: string;
  readonly installed: boolean;
  readonly line?: string;
}

async function change(
  shell: Shell,
  { yes }: CrontabFlags,
  { before, after, ...result }: Change,
): Promise<number> {
  showChanges(shell, `crontab of ${osUser()}`, before ?? '', after);
  if (!(await isConfirmed(shell, yes, `change the crontab of ${osUser()}`))) {
    shell.note('nothing was changed');
    return 1;
  }
  if ((await readCrontabText()) !== before)
    throw new TockError('TOCK_BAD_STATE', 'the crontab has just been changed; look again');
  await writeOwnCrontab(after === '' ? null : Buffer.from(after, 'latin1'));
  const isSilent = result.installed && (await noteSilence(shell));
  shell.document({ changed: true, ...result });
  if (!result.installed) shell.say('removed: cron no longer ticks this project');
  else shell.say(isSilent ? 'installed' : 'installed: the next minute ticks');
  return 0;
}

/** Bytes as latin1 text, so that what is not UTF-8 stays; null: there is no crontab. */
async function readCrontabText(): Promise<string | null> {
  return (await readOwnCrontab('let systemd tick (tock init --systemd)'))?.toString('latin1') ?? null;
}

/** The lines of the project's block; null: there is none. */
const blockOf = (checkout: Checkout, crontab: string | null): string[] | null =>
  readBlock(crontab ?? '', folderOf(checkout))?.map(each => Buffer.from(each, 'latin1').toString('utf8')) ??
  null;

/** As it stands in the crontab. */
const folderOf = ({ folder }: Checkout): string => Buffer.from(folder).toString('latin1');

function checkoutFor({ databaseUrlFile: file }: CrontabFlags): Checkout {
  const checkout = thisCheckout(process.env);
  if (file === undefined) return checkout;
  return { ...checkout, variables: { ...checkout.variables, DATABASE_URL_FILE: path.resolve(file) } };
}

/**
 * The shell opens the log before it starts the tick: without it nothing ticks.
 * @throws TockError TOCK_FOLDER_NOT_WRITABLE
 */
async function checkLog({ folder }: Checkout): Promise<void> {
  const log = path.join(folder, 'tick.log');
  const isWritable = await access(existsSync(log) ? log : folder, constants.W_OK).then(
    () => true,
    () => false,
  );
  if (isWritable) return;
  const user = shellWord(osUser());
  const remedy = existsSync(log)
    ? `chown ${user} ${shellWord(log)}`
    : `install -m 0644 -o ${user} /dev/null ${shellWord(log)}`;
  throw new TockError(
    'TOCK_FOLDER_NOT_WRITABLE',
    `${osUser()} may not write ${log}, and the line needs it to tick: as root, ${remedy}`,
  );
}

const urlFileFor = ({ variables, hasUrlInEnvironment }: Checkout): string | null =>
  variables['DATABASE_URL_FILE'] ?? (hasUrlInEnvironment ? URL_FILE : null);

/** Why a tick could not read the URL from the file that its line names; null: it can, or there is none. */
async function urlFileProblem(checkout: Checkout): Promise<string | null> {
  const file = urlFileFor(checkout);
  if (file === null) return null;
  const read = await readFile(file, 'utf8').catch(() => null);
  if (read === null)
    return `${file} cannot be read, and cron has no other DATABASE_URL: write the database's URL into it; first, as root: install -D -m 0600 -o ${shellWord(osUser())} /dev/null ${shellWord(file)}`;
  return read.trim() === '' ? `${file} is empty: write the database's URL into it` : null;
}

/** Resolves to whether cron is known not to run. */
async function noteSilence(shell: Shell): Promise<boolean> {
  if ((await isCronRunning()) !== false) return false;
  shell.note(
    'no cron daemon runs on this host, as far as this user can see: until one does, nothing ticks (Debian: service cron start)',
  );
  return true;
}

async function notesOn({ config }: Shell, checkout: Checkout, crontab: string): Promise<string[]> {
  const notes: string[] = [];
  const { isNamedInFile, folder, node } = checkout;
  if (urlFileFor(checkout) === null && !isNamedInFile && !config.isEmbedded)
    notes.push('no database is named: write DATABASE_URL into .env, or give --database-url-file');
  if (config.jobsModule === null || !existsSync(config.jobsModule))
    notes.push(
      'no job module is found, so each tick would end with an error: tock init writes one, or set TOCK_JOBS in .env',
    );
  const manager = versionManagerOf(node);
  if (manager !== null)
    notes.push(
      `${node} is of ${manager}: when that version is replaced or removed, repeat tock crontab install`,
    );
  const text = Buffer.from(withoutBlock(crontab, folderOf(checkout)), 'latin1').toString('utf8');
  const other = findTickLines([{ source: '', hasUser: false, text }]).find(
    ({ isCommentedOut, command }) => !isCommentedOut && isIn(command, folder),
  );
  if (other !== undefined)
    notes.push(`another line ticks this folder already, which does no harm and is not needed: ${other.line}`);
  return notes;
}
