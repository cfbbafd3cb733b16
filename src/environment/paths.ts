// Paths of the package, its migrations, and the project.
import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';

/** The folder of this package: the nearest folder above this file with Tock's package.json. */
export function packageFolder(): string {
  return findPackage().folder;
}

/** The version in this package's package.json. */
export function packageVersion(): string {
  return findPackage().version;
}

interface Package {
  readonly folder: string;
  readonly version: string;
}

let known: Package | undefined;

function findPackage(): Package {
  known ??= searchPackage();
  return known;
}

function searchPackage(): Package {
  let folder = path.dirname(fileURLToPath(import.meta.url));
  for (;;) {
    const manifest = path.join(folder, 'package.json');
    if (existsSync(manifest)) {
      const read = JSON.parse(readFileSync(manifest, 'utf8')) as { name?: unknown; version?: string };
      if (read.name === 'pg-tock') return { folder, version: read.version ?? 'unknown' };
    }
    const parent = path.dirname(folder);
    if (parent === folder) return { folder: process.cwd(), version: 'unknown' };
    folder = parent;
  }
}

export function migrationsFolder(): string {
  return path.join(packageFolder(), 'migrations');
}

export function isolatedEntry(): string {
  return path.join(packageFolder(), 'dist', 'isolated.js');
}

/** The project's folder: this package itself, or the working directory if it is a dependency. */
export function projectFolder(): string {
  const folder = packageFolder();
  return folder.split(path.sep).includes('node_modules') ? process.cwd() : folder;
}
