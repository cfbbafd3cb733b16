// The files of a job module: the module and what it imports, as far as that belongs to the project.
import { readFileSync, type Stats, statSync } from 'node:fs';
import { createRequire } from 'node:module';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { packageFolder } from '../../environment/paths.js';
import { importsIn } from '../../model/watch/imports-in.js';

const MAX_FILES = 2000;
const CODE = /\.[cm]?[jt]sx?$/;
/** TypeScript's names of the files that an import names as JavaScript. */
const SOURCES: Readonly<Record<string, readonly string[]>> = {
  '.js': ['.ts', '.tsx'],
  '.jsx': ['.tsx'],
  '.mjs': ['.mts'],
  '.cjs': ['.cts'],
};
const EXTENSIONS = ['.ts', '.tsx', '.mts', '.cts', '.js', '.mjs', '.cjs', '.json'];

/**
 * The text of each file, beginning with the given ones; null for one that is not there, such as one that is
 * imported and still has to be written.
 */
export function readJobFiles(entries: readonly string[]): Map<string, string | null> {
  const texts = new Map<string, string | null>();
  const found = [...entries];
  for (const file of found) {
    if (texts.has(file) || texts.size >= MAX_FILES) continue;
    const text = readText(file);
    texts.set(file, text);
    if (text === null || !CODE.test(file)) continue;
    for (const specifier of importsIn(text)) found.push(...filesOf(file, specifier));
  }
  return texts;
}

/** When the files were written last, as one text. */
export function timesOf(files: Iterable<string>): string {
  return Array.from(files, file => {
    const stat = statOf(file);
    return stat === null ? '' : `${stat.ino}:${stat.size}:${stat.mtimeMs}`;
  }).join();
}

/** Null if there is no such file, or a file where a folder would have to be. */
function statOf(file: string): Stats | null {
  try {
    return statSync(file);
  } catch {
    return null;
  }
}

function readText(file: string): string | null {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return null;
  }
}

/** What an import may mean; if none of it exists, all that it could mean. */
function filesOf(from: string, specifier: string): string[] {
  if (!/^(?:\.{0,2}\/|\.{1,2}$|file:)/.test(specifier)) return ofPackage(from, specifier);
  const target = specifier.startsWith('file:')
    ? fileURLToPath(specifier)
    : path.resolve(path.dirname(from), specifier);
  const candidates = candidatesOf(target).filter(isOfProject);
  const existing = candidates.filter(each => statOf(each)?.isFile());
  return existing.length > 0 ? existing : candidates;
}

function candidatesOf(target: string): string[] {
  const extension = path.extname(target);
  const sources = (SOURCES[extension] ?? []).map(each => target.slice(0, -extension.length) + each);
  const added = EXTENSIONS.flatMap(each => [`${target}${each}`, path.join(target, `index${each}`)]);
  return [target, ...sources, ...added];
}

/** Imports that begin with `#` name the project's own files; so do packages of the same workspace. */
function ofPackage(from: string, specifier: string): string[] {
  try {
    return [createRequire(from).resolve(specifier)].filter(
      file => path.isAbsolute(file) && isOfProject(file),
    );
  } catch {
    return [];
  }
}

function isOfProject(file: string): boolean {
  if (file.split(path.sep).includes('node_modules')) return false;
  const own = packageFolder();
  const dist = path.join(own ?? '', 'dist') + path.sep;
  return own === null || !file.startsWith(dist) || file.startsWith(path.join(dist, 'jobs'));
}
