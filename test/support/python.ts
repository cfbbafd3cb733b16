// Room: test support. Debian's Python with psycopg 3, for tests of the client in Python.
// In: nothing. Out: its path, and whether it is missing.
import { existsSync } from 'node:fs';

export const PYTHON = '/usr/bin/python3';

/** For `describe.skipIf`. Fails where TOCK_NEEDS_PYTHON asks for it. */
export function hasNoPsycopg(): boolean {
  if (existsSync('/usr/lib/python3/dist-packages/psycopg')) return false;
  if (process.env['TOCK_NEEDS_PYTHON'] !== undefined)
    throw new Error(
      'no psycopg 3 is installed, and TOCK_NEEDS_PYTHON asks for it: apt-get install python3-psycopg',
    );
  console.warn('skipped: no psycopg 3 here (apt-get install python3-psycopg)');
  return true;
}
