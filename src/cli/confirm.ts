// Asks before an action that cannot be undone.
import { createInterface } from 'node:readline/promises';
import { TockError } from '../model/errors.js';
import type { Shell } from './shell.js';

/** In a terminal it asks; elsewhere --yes is required. @throws TockError TOCK_BAD_OPTION without both */
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
