// Whether the compiler refuses a mutant: then nobody could have made that fault, and it says nothing about the tests.
// In: a mutant that no test has found out. Out: the compiler's first error; or null.
import { execFile } from 'node:child_process';
import { cpSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { ROOT, readSource } from './mutants.mjs';

/** What is left unused is no fault: a statement that is removed may have been the only one that used it. */
const OPTIONS = { noUnusedLocals: false, noUnusedParameters: false };

/** Nor is the empty statement in place of one that is removed. */
const OF_EMPTY_STATEMENT = 'TS1313:';

/** @returns {{ errorOf: (mutant: import('./mutants.mjs').Mutant) => Promise<string | null>, close: () => void }} */
export function createCompiler() {
  let folder = null;
  let before = Promise.resolve();

  const open = () => {
    folder = mkdtempSync(path.join(os.tmpdir(), 'tock-mutate-'));
    for (const name of ['src', 'package.json', 'tsconfig.json'])
      cpSync(path.join(ROOT, name), path.join(folder, name), { recursive: true });
    symlinkSync(path.join(ROOT, 'node_modules'), path.join(folder, 'node_modules'));
    const config = { extends: './tsconfig.json', compilerOptions: OPTIONS, include: ['src'] };
    writeFileSync(path.join(folder, 'tsconfig.mutant.json'), JSON.stringify(config));
  };

  const compile = async ({ file, code }) => {
    if (folder === null) open();
    writeFileSync(path.join(folder, file), code);
    const error = await firstError(folder);
    writeFileSync(path.join(folder, file), readSource(file));
    return error;
  };

  return {
    /** One at a time: they share a folder. */
    errorOf(mutant) {
      const answer = before.then(() => compile(mutant));
      before = answer.catch(() => undefined);
      return answer;
    },
    close: () => folder !== null && rmSync(folder, { recursive: true, force: true }),
  };
}

const firstError = folder =>
  new Promise((resolve, reject) => {
    const tsc = path.join(folder, 'node_modules', '.bin', 'tsc');
    execFile(tsc, ['-p', 'tsconfig.mutant.json'], { cwd: folder }, (failure, stdout) => {
      const errors = [...stdout.matchAll(/^.*error (TS\d+: .*)$/gm)].map(([, error]) => error);
      if (failure && errors.length === 0) reject(failure);
      else resolve(errors.find(error => !error.startsWith(OF_EMPTY_STATEMENT)) ?? null);
    });
  });
