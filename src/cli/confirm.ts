// Shell: cli. Asks before something that cannot be undone.
// In: what would be done. Out: whether it is wanted.
import { createInterface } from 'node:readline/promises';
import { TockError } from '../model/errors.js';
import type { Shell } from './shell.js';

/** Asks in a terminal; elsewhere --yes must say so. @throws TockError TOCK_BAD_OPTION where nobody can be asked */
export async function isConfirmed(shell: Shell, yes: true | undefined, action: string): Promise<boolean> {
  if (yes) return true;
  if (shell.json || !process.stdin.isTTY || !process.stderr.isTTY)
    throw new TockError('TOCK_BAD_OPTION', `this would ${action}: repeat it with --yes`);
  const lines = createInterface({ input: process.stdin, output: process.stderr });
  try {
    return /^y(es)?$/i.test((await lines.question(`${action}? [y/N] `)).trim());
  } finally {
    lines.close();
  }
}
