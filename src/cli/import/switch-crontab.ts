// Takes imported lines out of a crontab, and puts them back. Shows the change, asks, and keeps a copy.

import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { osHome, osUser } from '../../environment/os-user.js';
import type { TakenLine, Translation } from '../../import/crontab/translate.js';
import { lineChanges } from '../../model/crontab/line-changes.js';
import { switchOff as commentOut, switchedLines, switchOn } from '../../model/crontab/switched-lines.js';
import { TockError } from '../../model/errors.js';
import { shellWord } from '../../model/shell-word.js';
import { readOwnCrontab, writeOwnCrontab } from '../../runtime/crontab.js';
import { type CrontabSource, readSources } from '../../runtime/crontab-sources.js';
import { loadJobs } from '../../runtime/job-module.js';
import { isConfirmed } from '../confirm.js';
import type { Shell } from '../shell.js';
import { cleanLine, paint } from '../terminal.js';

/** A crontab, and what becomes of it. */
export interface Imported {
  readonly source: CrontabSource;
  readonly translation: Translation;
}

/** Comments out the lines whose definitions, by name and schedule, are in the job module; the others stay. */
export async function switchOff(
  shell: Shell,
  imported: readonly Imported[],
  yes: true | undefined,
): Promise<number> {
  const jobs = await loadJobs(shell.config.jobsModule);
  // Names are given in the order of the lines: where lines have changed since, one may have another's name.
  const isInCode = ({ job: { name, cron, timezone } }: TakenLine) =>
    jobs.some(
      ({ name: known, schedule }) =>
        known === name && schedule?.cron === cron && schedule.timezone === timezone,
    );
  const taken = imported.flatMap(({ translation }) => translation.taken);
  const missing = taken.filter(line => !isInCode(line));
  if (missing.length === taken.length) {
    throw new TockError(
      'TOCK_NOT_FOUND',
      `no definition of these lines is in ${shell.config.jobsModule}, so nothing would run them: write them with tock import crontab --out FILE, add importedJobs to the job module, and build`,
    );
  }
  const changed = imported.flatMap(({ source, translation }) => {
    const lines = translation.taken.filter(isInCode).map(({ entry }) => entry.line);
    const before = source.bytes.toString('latin1');
    return lines.length === 0
      ? []
      : [{ source, before, after: commentOut(before, lines), count: lines.length }];
  });
  for (const { entry, job } of missing)
    shell.note(
      `line ${entry.line} stays: no job named ${job.name} with ${job.cron} ${job.timezone} is in the job module`,
    );
  for (const { source, before, after } of changed) showChanges(shell, source.source, before, after);
  const count = changed.reduce((sum, each) => sum + each.count, 0);
  const lines = `${count} line${count === 1 ? '' : 's'}`;
  if (!(await isConfirmed(shell, yes, `comment out ${lines}`))) {
    shell.note('nothing was changed');
    return 1;
  }
  const copies: string[] = [];
  for (const { source, after } of changed) {
    copies.push(await keepCopy(copyName(source), source.bytes));
    await replace(source, after);
  }
  shell.document({ commentedOut: count, left: missing.map(({ job }) => job.name), copies });
  shell.say(`commented out ${lines}; Tock runs them from its next tick on`);
  for (const copy of copies) shell.say(`the crontab as it was: ${cleanLine(copy)}`);
  const files = changed.map(({ source }) => (source.file === null ? '' : ` ${shellWord(source.file)}`));
  shell.say(`to go back: ${files.map(file => `tock import undo${file}`).join('; ')}`);
  return 0;
}

/** Comments out lines of one file. Resolves to the exit code. @param lines their numbers, from 1 */
export async function switchLines(
  shell: Shell,
  source: CrontabSource,
  lines: readonly number[],
  yes: true | undefined,
): Promise<number> {
  const before = source.bytes.toString('latin1');
  const after = commentOut(before, lines);
  const count = `${lines.length} line${lines.length === 1 ? '' : 's'}`;
  showChanges(shell, source.source, before, after);
  if (!(await isConfirmed(shell, yes, `comment out ${count}`))) {
    shell.note('nothing was changed');
    return 1;
  }
  const copy = await keepCopy(copyName(source), source.bytes);
  await replace(source, after);
  shell.document({ commentedOut: lines.length, copies: [copy] });
  shell.say(`commented out ${count}; Tock runs them from its next tick on`);
  shell.say(`the crontab as it was: ${cleanLine(copy)}`);
  shell.say(`to go back: tock import undo ${shellWord(source.file ?? '')}`);
  return 0;
}

/** Removes the marks. Other changes that were made since are kept. */
export async function undoSwitch(
  shell: Shell,
  file: string | undefined,
  yes: true | undefined,
): Promise<number> {
  const [source, ...others] = await readSources({ file, system: false, kind: 'debian' });
  if (source === undefined || others.length > 0 || file === '-')
    throw new TockError(
      'TOCK_BAD_OPTION',
      'name the file that was changed, or leave it out for your own crontab',
    );
  const before = source.bytes.toString('latin1');
  const count = switchedLines(before).length;
  const copy = await newestCopy(source);
  if (count === 0) {
    const hint = copy === null ? '' : `; a copy from before the import is ${copy}`;
    throw new TockError(
      'TOCK_NOT_FOUND',
      `${source.source} has no line that an import has commented out${hint}`,
    );
  }
  const after = switchOn(before);
  showChanges(shell, source.source, before, after);
  const lines = `${count} line${count === 1 ? '' : 's'}`;
  if (!(await isConfirmed(shell, yes, `let cron run ${lines} again`))) {
    shell.note('nothing was changed');
    return 1;
  }
  await replace(source, after);
  const isAsBefore = copy !== null && (await readFile(copy)).toString('latin1') === after;
  shell.document({ restored: count, isAsBefore, copy });
  shell.say(
    isAsBefore
      ? `${source.source} is as it was before the import, byte for byte`
      : `cron runs ${lines} again; what else was changed since is kept`,
  );
  shell.say(
    'Tock still has the definitions: take them out of the job module, or pause them (tock pause NAME)',
  );
  return 0;
}

/** Prints what goes and what comes; nothing under --json. */
export function showChanges(shell: Shell, title: string, before: string, after: string): void {
  if (shell.json) return;
  shell.say(paint('bold', cleanLine(title)));
  for (const { sign, line } of lineChanges(before, after)) {
    const text = Buffer.from(line, 'latin1').toString('utf8');
    shell.print(paint(sign === '-' ? 'red' : 'green', `${sign} ${cleanLine(text)}`));
  }
}

/** Writes it, unless it has changed since it was read. */
async function replace(source: CrontabSource, after: string): Promise<void> {
  const now = source.file === null ? await readOwnCrontab() : await readFile(source.file);
  if (now === null || !now.equals(source.bytes))
    throw new TockError('TOCK_BAD_STATE', `${source.source} has just been changed; look again`);
  const bytes = Buffer.from(after, 'latin1');
  if (source.file === null) await writeOwnCrontab(bytes);
  else {
    // Not renamed into place: owner and mode stay, which cron checks.
    await writeFile(source.file, bytes).catch((error: unknown) => {
      const why = error instanceof Error ? error.message : String(error);
      throw new TockError('TOCK_FOLDER_NOT_WRITABLE', `${source.file} cannot be written: ${why}`, {
        cause: error,
      });
    });
  }
}

/** Where copies are kept. */
function copyFolder(): string {
  const { XDG_STATE_HOME: state } = process.env;
  const home = osHome();
  if (!state && home === null)
    throw new TockError(
      'TOCK_FOLDER_NOT_WRITABLE',
      'this user has no home, in which a copy of what is changed would be kept: set XDG_STATE_HOME',
    );
  return path.join(state || path.join(home ?? '', '.local', 'state'), 'tock');
}

function copyName({ file }: CrontabSource): string {
  return file === null ? `crontab-of-${osUser()}-` : `${path.basename(file)}-`;
}

/**
 * Keeps what is about to be changed, for this user alone. Resolves to the file's path.
 * @param begin of the file's name, before the time
 * @throws TockError TOCK_FOLDER_NOT_WRITABLE
 */
export async function keepCopy(begin: string, content: Buffer | string, ending = ''): Promise<string> {
  const folder = copyFolder();
  const stamp = new Date().toISOString().replace(/[:.]/g, '-');
  const copy = path.join(folder, begin + stamp + ending);
  try {
    await mkdir(folder, { recursive: true, mode: 0o700 });
    await writeFile(copy, content, { mode: 0o600, flag: 'wx' });
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    throw new TockError('TOCK_FOLDER_NOT_WRITABLE', `no copy can be kept, so nothing was changed: ${why}`, {
      cause: error,
    });
  }
  return copy;
}

/** Null: there is none. Its names end with the time, so the last one is the newest. */
async function newestCopy(source: CrontabSource): Promise<string | null> {
  const folder = copyFolder();
  const names = await readdir(folder).catch(() => []);
  const prefix = copyName(source);
  const copies = names.filter(
    name => name.startsWith(prefix) && /^[\dTZ-]+$/.test(name.slice(prefix.length)),
  );
  const newest = copies.sort().at(-1);
  return newest === undefined ? null : path.join(folder, newest);
}
