// What an operator does to a run: retry, cancel.
import { TockError } from '../../model/errors.js';
import { quote, storableNote } from '../../model/names.js';
import { checkMaxAttempts } from '../../model/run/retry.js';
import type { RunRecord } from '../../model/run/run-record.js';
import { TRANSITIONS } from '../../model/run/states.js';
import { isUniqueViolation } from '../../store/connection/errors.js';
import { type PendingRun, pendingText, readPendingRun } from '../../store/reads/runs/successors.js';
import { getRun } from '../../store/reads/runs.js';
import { EXEC_TRIGGER } from '../../store/runs/exec/begin.js';
import { cancelRun, type RetryPace, retryRun } from '../../store/runs/operator-moves.js';
import { isDataError } from '../../store/runs/set-aside.js';
import { cancelSuccessor } from '../../store/runs/successors.js';
import { audit } from '../audit.js';
import type { Engine } from '../engine.js';
import { afterCommit } from '../finalize/after-commit.js';
import { reasonOf } from '../materialize/broken-definition.js';

/** A run, or the successor that will have this id. @throws TockError TOCK_NOT_FOUND */
export async function findRunOrPending(engine: Engine, id: string): Promise<RunRecord | PendingRun> {
  const found =
    (await getRun(engine.database, id)) ??
    (await readPendingRun(engine.database, id)) ??
    // It may have become a run in between.
    (await getRun(engine.database, id));
  if (found) return found;
  throw new TockError(
    'TOCK_NOT_FOUND',
    `there is no run ${quote(id)}; it may have been pruned (tock runs lists what is there)`,
  );
}

/** @throws TockError TOCK_NOT_FOUND */
async function findRun(engine: Engine, id: string): Promise<RunRecord> {
  const found = await findRunOrPending(engine, id);
  if (!isPending(found)) return found;
  throw new TockError('TOCK_NOT_FOUND', `${pendingText(found)}; until then it is no run`);
}

export const isPending = (found: RunRecord | PendingRun): found is PendingRun => 'follows' in found;

/**
 * Puts a dead or cancelled run back into the queue, due now, with `attempts` more attempts (default: as many
 * as its job has). Its earlier errors stay on record.
 * @throws TockError TOCK_NOT_FOUND, TOCK_BAD_STATE
 */
export async function retry(
  engine: Engine,
  id: string,
  options: { readonly attempts?: number } = {},
  pace: RetryPace | null = null,
): Promise<RunRecord> {
  const attempts = options.attempts === undefined ? null : checkMaxAttempts(options.attempts);
  const before = await findRun(engine, id);
  try {
    const isRetried = await engine.database.transaction(async session => {
      if (!(await retryRun(session, before.id, attempts, pace))) return false;
      const details = { job: before.job, attempts: attempts ?? undefined };
      await audit(session, engine, { action: 'runs.retry', targets: [before.id], details });
      return true;
    });
    if (isRetried) return await findRun(engine, id);
  } catch (error) {
    if (isDataError(error))
      throw new TockError(
        'TOCK_BAD_STATE',
        `run ${id} cannot be retried, since its row holds what no run may have: ${reasonOf(error)}; enqueue a new one in its place`,
        { cause: error },
      );
    if (!isUniqueViolation(error)) throw error;
    throw new TockError(
      'TOCK_BAD_STATE',
      `run ${id} cannot be retried now: another run with its key ${quote(before.idempotencyKey)} is live, and the key is unique among live runs`,
      { cause: error },
    );
  }
  const now = await findRun(engine, id);
  if (now.trigger === EXEC_TRIGGER) throw notRepeatable(id);
  throw new TockError(
    'TOCK_BAD_STATE',
    `run ${id} is ${now.status}; only ${TRANSITIONS.retry.from.join(' and ')} runs can be retried`,
  );
}

/** For a run of `tock exec`. */
export function notRepeatable(id: string): TockError {
  return new TockError(
    'TOCK_BAD_STATE',
    `run ${id} was executed by tock exec, and no worker can repeat it: call tock exec again, with another --key`,
  );
}

/**
 * Cancels a run: at once if it is not running, otherwise its holder is asked to stop and its signal aborts.
 * A successor that is no run yet is cancelled likewise.
 * @throws TockError TOCK_NOT_FOUND, TOCK_BAD_STATE
 */
export async function cancel(
  engine: Engine,
  id: string,
  options: { readonly reason?: string } = {},
): Promise<RunRecord> {
  const reason = storableNote(options.reason);
  const found = await findRunOrPending(engine, id);
  const isDone = isPending(found) && (await cancelPending(engine, found, reason));
  const before = await findRun(engine, id);
  if (isDone) return before;
  const { result, freed, outboxWritten } = await engine.database.transaction(async session => {
    const cancelled = await cancelRun(session, before.id, reason);
    const isAsked = (cancelled.result === 'asked' && before.handOff === null) || undefined;
    const details = { job: before.job, reason: reason ?? undefined, isAsked };
    const count = cancelled.result === null ? 0 : 1;
    await audit(session, engine, { action: 'runs.cancel', targets: [before.id], count, details });
    return cancelled;
  });
  await afterCommit(engine, { freed, outboxWritten, dead: [] });
  if (result) return await findRun(engine, id);
  const now = await findRun(engine, id);
  throw new TockError('TOCK_BAD_STATE', `run ${id} is ${now.status} already; there is nothing to cancel`);
}

async function cancelPending(
  engine: Engine,
  { id, job }: PendingRun,
  reason: string | null,
): Promise<boolean> {
  return await engine.database.transaction(async session => {
    const isCancelled = await cancelSuccessor(session, id, reason);
    const details = { job, reason: reason ?? undefined };
    if (isCancelled) await audit(session, engine, { action: 'runs.cancel', targets: [id], details });
    return isCancelled;
  });
}
