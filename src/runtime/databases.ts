// The databases that --all means: TOCK_DATABASES, or the file that TOCK_DATABASES_FILE names.
import { readFileSync } from 'node:fs';
import { type NamedDatabase, readDatabaseList } from '../model/database/databases.js';
import { TockError } from '../model/errors.js';
import { quote } from '../model/names.js';

/** @throws TockError TOCK_BAD_OPTION */
export function readDatabases(env: NodeJS.ProcessEnv): readonly NamedDatabase[] {
  const listed = env['TOCK_DATABASES']?.trim();
  if (listed) return readDatabaseList(listed, 'TOCK_DATABASES');
  const file = env['TOCK_DATABASES_FILE']?.trim();
  if (!file)
    throw new TockError(
      'TOCK_BAD_OPTION',
      '--all needs the databases: set TOCK_DATABASES to billing=postgres://user@host:5432/database mail=…, or TOCK_DATABASES_FILE',
    );
  let text: string;
  try {
    text = readFileSync(file, 'utf8');
  } catch (error) {
    throw new TockError('TOCK_BAD_OPTION', `TOCK_DATABASES_FILE names ${quote(file)}, which cannot be read`, {
      cause: error,
    });
  }
  return readDatabaseList(text, `the file ${quote(file)}`);
}
