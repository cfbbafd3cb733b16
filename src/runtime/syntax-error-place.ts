// Finds the line of a syntax error, which an import that fails does not have: by `node --check` of the job
// module and of the files that it imports. Nothing of them is executed.
import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';

export interface FilePlace {
  readonly file: string;
  readonly line: string;
}

const MAX_FILES = 50;
const MAX_CHECK_MS = 5000;
const IMPORTED = /(?:\bfrom|\bimport|\bimport\s*\()\s*['"](\.{1,2}\/[^'"]+)['"]/g;

/** Null if it is not found in the files that are imported by relative paths. */
export function syntaxErrorPlace(entry: string): FilePlace | null {
  const files = [entry];
  for (let index = 0; index < files.length && index < MAX_FILES; index++) {
    const file = files[index] ?? '';
    const line = failingLine(file);
    if (line !== null) return { file, line };
    files.push(...importsOf(file).filter(each => !files.includes(each)));
  }
  return null;
}

function failingLine(file: string): string | null {
  const options = { encoding: 'utf8', timeout: MAX_CHECK_MS } as const;
  const { status, stderr } = spawnSync(process.execPath, ['--check', file], options);
  return status === 0 ? null : (/^.+:(\d+)$/m.exec(stderr)?.[1] ?? null);
}

function importsOf(file: string): string[] {
  const text = readFileSync(file, 'utf8');
  return [...text.matchAll(IMPORTED)]
    .map(([, specifier = '']) => path.resolve(path.dirname(file), specifier))
    .filter(each => /\.[cm]?js$/.test(each) && existsSync(each));
}
