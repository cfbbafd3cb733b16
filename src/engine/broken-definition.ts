// Room: engine. Definitions that cannot be materialized: each is left out by itself, and the others go on.
// In: work in a savepoint; a definition and why. Out: a row that says so.
import type { Session } from '../store/database.js';
import { sqlState } from '../store/database-errors.js';
import { isDataError } from '../store/set-aside.js';
import type { Engine } from './engine.js';

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
  await session.run(
    `update tock.job_definitions set broken_at = tock.now(), broken_reason = left($2, 1000) where id = $1`,
    [id, reason],
  );
  engine.logger.error(
    { event: 'definition.broken', definition: name, reason },
    `definition ${name} is broken and left out: ${reason}`,
  );
}

/** Does `work` in a savepoint of the caller's transaction. Where its data make it fail, it is undone: the reason; else null. */
export async function inSavepoint(session: Session, work: () => Promise<unknown>): Promise<string | null> {
  await session.run('savepoint by_itself');
  try {
    await work();
  } catch (error) {
    if (!isDataError(error)) throw error;
    await session.run('rollback to savepoint by_itself');
    return reasonOf(error);
  }
  await session.run('release savepoint by_itself');
  return null;
}

/** What PostgreSQL says of a row's data. */
export function reasonOf(error: unknown): string {
  const message = error instanceof Error ? error.message : String(error);
  const state = sqlState(error);
  return state === null ? message : `${message} (${state})`;
}
