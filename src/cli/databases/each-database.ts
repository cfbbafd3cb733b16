// Asks several databases the same, at once. One that does not answer does not keep the others from it.
import type { NamedDatabase } from '../../model/database/databases.js';
import { TockError } from '../../model/errors.js';
import { readDatabases } from '../../runtime/databases.js';
import { judgeError, type Verdict } from '../../runtime/exit-codes.js';
import type { OpenTock } from '../../runtime/open.js';
import { type Shell, withTock } from '../shell.js';

/** What a database answered, or why it did not. */
export type Answer<T> = { readonly name: string } & (
  | { readonly value: T; readonly error: null }
  | { readonly value: null; readonly error: Pick<Verdict, 'code' | 'message'> }
);

/** Beyond it a database counts as one that cannot be reached. */
const PATIENCE_MS = 10_000;

export const ALL = ['--all', 'of all databases in TOCK_DATABASES'] as const;

/** In the order in which they are listed. @throws TockError TOCK_BAD_OPTION for a list that cannot be read */
export async function askEach<T>(
  shell: Shell,
  ask: (open: OpenTock) => Promise<T>,
): Promise<readonly Answer<T>[]> {
  return await Promise.all(
    readDatabases(process.env).map(async database => await askOne(shell, database, ask)),
  );
}

async function askOne<T>(
  shell: Shell,
  { name, url }: NamedDatabase,
  ask: (open: OpenTock) => Promise<T>,
): Promise<Answer<T>> {
  const config = { ...shell.config, databaseUrl: url, isEmbedded: false };
  const own: Shell = { ...shell, config, note: text => shell.note(`${name}: ${text}`) };
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    const message = `it has not answered within ${PATIENCE_MS / 1000} seconds`;
    timer = setTimeout(() => reject(new TockError('TOCK_DATABASE_UNREACHABLE', message)), PATIENCE_MS);
  });
  try {
    const value = await Promise.race([withTock(own, { needsJobs: false }, ask), late]);
    return { name, value, error: null };
  } catch (error) {
    const { code, message } = judgeError(error, config.schema);
    return { name, value: null, error: { code, message } };
  } finally {
    clearTimeout(timer);
  }
}
