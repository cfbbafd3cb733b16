// Definitions that cannot be materialized: they are marked broken, and the others go on.
import type { Session } from '../../store/connection/database.js';
import { sqlState } from '../../store/connection/errors.js';
import { inSavepoint } from '../../store/connection/savepoint.js';
import { markDefinitionBroken } from '../../store/definitions/due.js';
import { isDataError, readBadDefinitions } from '../../store/runs/set-aside.js';
import type { Engine } from '../engine.js';

export interface Broken {
  readonly id: string;
  readonly name: string;
  readonly reason: string;
}

/** Leaves a definition out of what is materialized until it is edited. */
export async function markBroken(
  session: Session,
  engine: Engine,
  { id, name, reason }: Broken,
): Promise<void> {
  await markDefinitionBroken(session, id, reason);
  engine.logger.error(
    { event: 'definition.broken', definition: name, reason },
    `definition ${name} is broken and left out: ${reason}`,
  );
}

/** What it failed with. */
export interface Failed<Each> {
  readonly each: Each;
  readonly error: unknown;
}

/**
 * Does `work` for each by itself, in a savepoint of the caller's transaction; what fails because of its data
 * is undone.
 * Returns those with which it failed.
 */
export async function inSavepoints<Each>(
  session: Session,
  all: readonly Each[],
  work: (each: Each) => Promise<unknown>,
): Promise<Failed<Each>[]> {
  const failed: Failed<Each>[] = [];
  for (const each of all) {
    try {
      await inSavepoint(session, () => work(each), { isReleased: true });
    } catch (error) {
      if (!isDataError(error)) throw error;
      failed.push({ each, error });
    }
  }
  return failed;
}

/**
 * The definitions that are broken, of those that failed. Where all failed, something else may be the cause,
 * such as a constraint that an operator added: then only those that hold what no definition may.
 *
 * @param count how many were tried
 * @throws what it failed with, where that explains nothing
 */
export async function brokenOf(
  session: Session,
  failed: readonly Failed<{ readonly id: string; readonly name: string }>[],
  count: number,
): Promise<Broken[]> {
  const [first] = failed;
  if (first === undefined) return [];
  const ids = failed.map(({ each }) => each.id);
  const odd = failed.length < count ? new Set(ids) : await readBadDefinitions(session, ids);
  if (odd.size === 0) throw first.error;
  return failed
    .filter(({ each }) => odd.has(each.id))
    .map(({ each: { id, name }, error }) => ({ id, name, reason: reasonOf(error) }));
}

/** What PostgreSQL says of a row's data. */
export function reasonOf(error: unknown): string {
  const message = error instanceof Error ? error.message : String(error);
  const state = sqlState(error);
  return state === null ? message : `${message} (${state})`;
}
