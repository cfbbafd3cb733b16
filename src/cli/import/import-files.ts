// The files of an import: what it reads, and what it writes, code and report, unless to the terminal.
import { existsSync, statSync } from 'node:fs';
import { readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { TockError } from '../../model/errors.js';
import { shellWord } from '../../model/shell-word.js';
import { isConfirmed } from '../confirm.js';
import type { Shell } from '../shell.js';
import { cleanBlock, cleanLine } from '../terminal.js';
import { showChanges } from './switch-crontab.js';

export interface WriteFlags {
  readonly out?: string;
  readonly report?: string;
  readonly yes?: true;
}

/** @throws TockError TOCK_NOT_FOUND */
export async function readText(file: string): Promise<string> {
  return await readFile(file, 'utf8').catch((error: unknown) => {
    const why = error instanceof Error ? error.message : String(error);
    throw new TockError('TOCK_NOT_FOUND', `${file} cannot be read: ${why}`, { cause: error });
  });
}

/** Resolves to the exit code: 1 if a file is not to be overwritten. */
export async function writeImport(
  shell: Shell,
  { out, report: to, yes }: WriteFlags,
  code: string,
  report: string,
): Promise<number> {
  if (out === undefined) shell.print(code.trimEnd());
  else if (!(await write(shell, out, code, yes))) return 1;
  if (to !== undefined) return (await write(shell, to, `${report}\n`, yes)) ? 0 : 1;
  if (!shell.json) process.stderr.write(`${cleanBlock(report)}\n`);
  return 0;
}

/** Before anything is printed or written. @throws TockError for what can be no file */
export function checkPlaces({ out, report }: WriteFlags): void {
  for (const file of [out, report]) if (file !== undefined) checkPlace(file);
}

function checkPlace(file: string): void {
  const folder = path.dirname(file);
  if (!existsSync(folder))
    throw new TockError(
      'TOCK_FOLDER_NOT_WRITABLE',
      `${file} cannot be written: there is no folder ${folder} (mkdir -p ${shellWord(folder)})`,
    );
  if (existsSync(file) && statSync(file).isDirectory())
    throw new TockError('TOCK_BAD_OPTION', `${file} is a folder: name a file`);
}

/** False: the person does not want it. */
async function write(shell: Shell, file: string, content: string, yes: true | undefined): Promise<boolean> {
  if (existsSync(file)) {
    const before = await readFile(file, 'latin1');
    const after = Buffer.from(content).toString('latin1');
    if (before === after) {
      shell.say(`${cleanLine(file)} is as it would be written`);
      return true;
    }
    showChanges(shell, file, before, after);
    if (!(await isConfirmed(shell, yes, `overwrite ${file}`))) {
      shell.note('nothing was written');
      return false;
    }
  }
  await writeFile(file, content).catch((error: unknown) => {
    const why = error instanceof Error ? error.message : String(error);
    throw new TockError('TOCK_FOLDER_NOT_WRITABLE', `${file} cannot be written: ${why}`, { cause: error });
  });
  shell.say(`wrote ${cleanLine(file)}`);
  return true;
}
