// Whether the job module that is loaded is older than the TypeScript that it was compiled from.
import { readdirSync, statSync } from 'node:fs';
import path from 'node:path';

/**
 * The newest TypeScript file that is newer than every compiled file beside the module: of `jobs/` for
 * `dist/jobs/index.js`, otherwise of the module's own folder. Null if there is none, or the module is
 * TypeScript itself. By the times of the files, which a copy may not keep: it is a hint.
 */
export function newerSource(modulePath: string | null): string | null {
  if (modulePath === null || !COMPILED.test(modulePath)) return null;
  const folder = path.dirname(modulePath);
  const parent = path.dirname(folder);
  const sources =
    path.basename(parent) === 'dist' ? path.join(path.dirname(parent), path.basename(folder)) : folder;
  const source = newest(sources, SOURCE);
  const compiled = newest(folder, COMPILED);
  return source !== null && compiled !== null && source.at > compiled.at ? source.file : null;
}

const COMPILED = /\.[cm]?js$/;
const SOURCE = /(?<!\.d)\.[cm]?tsx?$/;

/** Null if the folder has no such file, or cannot be read. */
function newest(folder: string, name: RegExp): { readonly file: string; readonly at: number } | null {
  try {
    const times = readdirSync(folder, { recursive: true, encoding: 'utf8' })
      .filter(file => name.test(file) && !file.includes('node_modules'))
      .map(file => ({ file: path.join(folder, file), at: statSync(path.join(folder, file)).mtimeMs }));
    return times.sort((a, b) => b.at - a.at)[0] ?? null;
  } catch {
    return null;
  }
}

/** Names both files, and the remedy. */
export const staleWords = (modulePath: string, source: string) =>
  `the jobs come from ${modulePath}, which is older than ${source}: build the project, or name the other module with --jobs or TOCK_JOBS`;
