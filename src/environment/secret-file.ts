// Secrets in files, which variables such as DATABASE_URL_FILE name.
import { readFileSync } from 'node:fs';
import { TockError } from '../model/errors.js';
import { quote } from '../model/names.js';

/** @throws TockError TOCK_BAD_OPTION that names the variable, if the file cannot be read */
export function readSecretFile(variable: string, file: string): string {
  try {
    return readFileSync(file, 'utf8').trim();
  } catch (error) {
    throw new TockError('TOCK_BAD_OPTION', `${variable} names ${quote(file)}, which cannot be read`, {
      cause: error,
    });
  }
}

/**
 * Reads the file, and again with each call of what it returns: a secret is replaced while processes run. A
 * file that is absent or empty by then counts as not replaced yet. Null: it is empty now.
 * @throws TockError TOCK_BAD_OPTION that names the variable, if the file cannot be read now
 */
export function followSecretFile(variable: string, file: string): (() => string) | null {
  let last = readSecretFile(variable, file);
  if (last === '') return null;
  return () => {
    try {
      last = readSecretFile(variable, file) || last;
    } catch {
      // Being replaced.
    }
    return last;
  };
}
