// The folders of the package and of the project, and the package's version.
import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';

/** The build puts the version here; from the sources it is read from package.json. */
declare const TOCK_VERSION: string | undefined;

interface Package {
  readonly folder: string;
  readonly version: string;
}

let known: Package | null | undefined;

/** The folder of this package; null where it was bundled into an app, which has none of its files. */
export function packageFolder(): string | null {
  return findPackage()?.folder ?? null;
}

export function packageVersion(): string {
  return typeof TOCK_VERSION === 'string' ? TOCK_VERSION : (findPackage()?.version ?? 'unknown');
}

function findPackage(): Package | null {
  if (known === undefined) known = searchPackage();
  return known;
}

/** The nearest folder above this file with Tock's package.json. Never falls back to another folder. */
function searchPackage(): Package | null {
  // In an app that was bundled as CommonJS, this file has no address.
  const here = import.meta.url as string | undefined;
  if (here === undefined) return null;
  for (let file = fileURLToPath(here); path.dirname(file) !== file; file = path.dirname(file)) {
    const folder = path.dirname(file);
    const manifest = path.join(folder, 'package.json');
    if (!existsSync(manifest)) continue;
    const read = JSON.parse(readFileSync(manifest, 'utf8')) as { name?: unknown; version?: string };
    if (read.name === 'pg-tock') return { folder, version: read.version ?? 'unknown' };
  }
  return null;
}

/** What the child process of an isolated job runs; null in a bundled app. */
export function isolatedEntry(): string | null {
  const folder = packageFolder();
  return folder === null ? null : path.join(folder, 'dist', 'isolated.js');
}

/** Whether this is a clone of the repository, which is its own project, and no dependency of another one. */
export function isClone(): boolean {
  const folder = packageFolder();
  // The script's path is as it was called: npm link makes a link in node_modules to a clone.
  const called = path.dirname(process.argv[1] ?? '');
  return folder !== null && !isInModules(folder) && (!isInModules(called) || isNpxWithin(folder, called));
}

/** In a clone, `npx tock` makes a link in its cache to the clone. */
function isNpxWithin(folder: string, called: string): boolean {
  return (
    called.split(path.sep).includes('_npx') &&
    `${process.cwd()}${path.sep}`.startsWith(`${folder}${path.sep}`)
  );
}

const isInModules = (folder: string) => folder.split(path.sep).includes('node_modules');

/** The project's folder: a clone itself, otherwise the working directory. */
export function projectFolder(): string {
  return (isClone() ? packageFolder() : null) ?? process.cwd();
}
