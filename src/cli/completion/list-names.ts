// Names from the database while a person types. No answer in time is no names, and never an error.

import { performance } from 'node:perf_hooks';
import type { NameKind } from '../../answers/names.js';
import { systemClock } from '../../environment/system-clock.js';
import type { CurrentUrl } from '../../model/database/current-url.js';
import { isName } from '../../model/names.js';
import type { Config } from '../../runtime/configuration.js';

/** From the start of the process: longer would be felt at the key. */
const LIMIT_MS = 300;

/** Empty without a database of one's own: the embedded server is not started for this. */
export async function listNames(
  { databaseUrl, schema }: Pick<Config, 'databaseUrl' | 'schema'>,
  kind: NameKind,
  limitMs = LIMIT_MS - performance.now(),
): Promise<string[]> {
  if (databaseUrl === null) return [];
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<string[]>(resolve => {
    timer = setTimeout(() => resolve([]), Math.max(limitMs, 0));
  });
  const read = readFrom(databaseUrl, schema, kind).catch((): string[] => []);
  return await Promise.race([read, late]).finally(() => clearTimeout(timer));
}

async function readFrom(databaseUrl: CurrentUrl, schema: string, kind: NameKind): Promise<string[]> {
  const { readNames } = await import('../../answers/names.js');
  // What else could be in a table must not reach the shell.
  return (await readNames({ clock: systemClock, connectionString: databaseUrl, schema }, kind)).filter(
    isName,
  );
}
