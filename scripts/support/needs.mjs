// What some tests and scripts need beside npm's packages: programs of Debian's, packages in folders of their own. Each is in
// needs.json: files, one of which is there; or a program; or a command whose output has a text; and how to get it.
// In: a name. Out: whether it is not installed, noted for the table of scripts/check.mjs.
import { spawnSync } from 'node:child_process';
import { appendFileSync, existsSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';

const here = path.dirname(fileURLToPath(import.meta.url));
const root = path.join(here, '..', '..');
const FOLDERS = ['/bin', '/usr/bin', '/usr/sbin', '/usr/local/bin', '/opt/homebrew/bin'];

export const NEEDS = JSON.parse(readFileSync(path.join(here, 'needs.json'), 'utf8'));

/** Whether one of them is not installed. Says so: in the table of `npm run check`, or else here. */
export function lacks(...names) {
  const lacking = names.filter(name => !isInstalled(name));
  for (const name of lacking) {
    const file = process.env.TOCK_CHECK_LACKS;
    if (file === undefined) console.warn(`skipped: ${name} is not installed (${NEEDS[name].get})`);
    else appendFileSync(file, `${name}\n`);
  }
  return lacking.length > 0;
}

export function isInstalled(name) {
  const { files = [], program, prints, text } = NEEDS[name];
  if (files.some(file => existsSync(path.resolve(root, file)))) return true;
  if (program !== undefined) return programPath(program) !== null;
  if (prints === undefined) return false;
  const [command, ...args] = prints;
  return spawnSync(command, args, { encoding: 'utf8' }).stdout?.includes(text) ?? false;
}

/** On the PATH, or where systems keep programs; null where there is none. */
export function programPath(name) {
  const folders = [...(process.env.PATH ?? '').split(':').filter(folder => folder !== ''), ...FOLDERS];
  return folders.map(folder => path.join(folder, name)).find(file => existsSync(file)) ?? null;
}
