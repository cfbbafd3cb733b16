// The definitions that `tock simulate` and `tock next` use, from code and from the database.

import { existsSync } from 'node:fs';
import { readPlanFacts } from '../answers/plan/read-facts.js';
import { TockError, type TockErrorCode } from '../model/errors.js';
import { createRegistry } from '../model/job/registry.js';
import type { SharedLimits } from '../model/plan/slot-keys.js';
import type { SimulatedDefinition } from '../model/plan/walk.js';
import { noFacts, type PlanFacts, queuesWithCode, withCodeOf } from '../model/plan/with-code.js';
import { databaseOf } from '../tock/database-of.js';
import { jobsInCode } from './jobs-in-code.js';
import { type Shell, withTock } from './shell.js';
import { unknownName } from './unknown-names.js';

export interface Simulated {
  readonly definitions: readonly SimulatedDefinition[];
  readonly limits: SharedLimits;
  readonly leftOut: readonly { readonly name: string; readonly reason: string }[];
}

/** After one of these errors, the definitions in code are simulated alone. */
export const NO_DATABASE: readonly TockErrorCode[] = [
  'TOCK_DATABASE_UNREACHABLE',
  'TOCK_EMBEDDED_SERVER_FAILED',
  'TOCK_NO_EMBEDDED_SERVER',
  'TOCK_FOLDER_NOT_WRITABLE',
  'TOCK_NOT_MIGRATED',
];

/**
 * Finds the definitions, or only those of `names`.
 * @param options hasDurations false: how long runs take is not asked
 * @throws TockError TOCK_UNKNOWN_JOB with near misses
 */
export async function findSimulated(
  shell: Shell,
  names: readonly string[],
  { hasDurations = true } = {},
): Promise<Simulated> {
  const [registry, facts] = [
    createRegistry(await jobsInCode(shell), [], shell.config.service),
    await storedIn(shell, hasDurations),
  ];
  const pairs = withCodeOf(facts, registry);
  const vanished = facts.definitions.filter(
    ({ name, vanished_at, origin }) =>
      vanished_at !== null && origin === 'code' && !pairs.some(pair => pair.name === name),
  );
  const known = new Set([...pairs, ...vanished].map(({ name }) => name));
  const unknown = names.find(name => !known.has(name));
  if (unknown !== undefined) throw unknownName('definition', unknown, known);
  const isWanted = ({ name }: { readonly name: string }) => names.length === 0 || names.includes(name);
  // One that this code lacks may be another project's.
  const wanted = pairs.filter(isWanted).flatMap(({ before, after }) => after ?? before ?? []);
  const leftOut = [
    ...wanted.flatMap(({ name, reason }) => (reason === null ? [] : [{ name, reason }])),
    ...vanished.filter(isWanted).map(({ name }) => ({ name, reason: 'vanished from code' })),
  ];
  return {
    definitions: wanted.flatMap(({ simulated }) => simulated ?? []),
    limits: { queues: queuesWithCode(facts, createRegistry([])).before, workers: facts.workers },
    leftOut: leftOut.sort((one, other) => (one.name < other.name ? -1 : 1)),
  };
}

/** Whether a database is named, or an embedded one was made. */
export function hasDatabase({ config: { databaseUrl, isEmbedded, dataFolder } }: Shell): boolean {
  return databaseUrl !== null || (isEmbedded && existsSync(dataFolder));
}

/** Without a database: nothing, and no embedded server is created. */
async function storedIn(shell: Shell, hasDurations: boolean): Promise<PlanFacts> {
  const nothing = noFacts(new Date());
  if (!hasDatabase(shell)) return nothing;
  try {
    return await withTock(shell, { needsJobs: false, onlyReads: true }, async ({ tock }) =>
      readPlanFacts(await databaseOf(tock), shell.config.service, { hasDurations }),
    );
  } catch (error) {
    if (!(error instanceof TockError) || !NO_DATABASE.includes(error.code)) throw error;
    shell.note(`only the definitions in code: ${error.message}`);
    return nothing;
  }
}
