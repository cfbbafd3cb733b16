// What an operator does to a run: retry, cancel.
import { TockError } from '../../model/errors.js';
import { quote, storableNote } from '../../model/names.js';
import { checkMaxAttempts } from '../../model/run/retry.js';
import type { RunRecord } from '../../model/run/run-record.js';
import { isFinished, TRANSITIONS } from '../../model/run/states.js';
import type { Session } from '../../store/connection/database.js';
import { isUniqueViolation } from '../../store/connection/errors.js';
import { type PendingRun, pendingText, readPendingRun } from '../../store/reads/runs/successors.js';
import { getRun } from '../../store/reads/runs.js';
import { EXEC_TRIGGER } from '../../store/runs/exec/begin.js';
import { cancelRun, type RetryPace, retryRun } from '../../store/runs/operator-moves.js';
import { isDataError } from '../../store/runs/set-aside.js';
import { audit } from '../audit.js';
import type { Engine } from '../engine.js';
import { afterCommit } from '../finalize/after-commit.js';
import { reasonOf } from '../materialize/broken-definition.js';

/** How often an act is tried on a run that others are moving at the same time. */
const MAX_TRIES = 3;

/** A run, or the successor that will have this id. @throws TockError TOCK_NOT_FOUND */
export async function findRunOrPending(session: Session, id: string): Promise<RunRecord | PendingRun> {
  const found =
    (await getRun(session, id)) ??
    (await readPendingRun(session, id)) ??
    // It may have become a run in between.
    (await getRun(session, id));
  if (found) return found;
  throw new TockError(
    'TOCK_NOT_FOUND',
    `there is no run ${quote(id)}; it may have been pruned (tock runs lists what is there)`,
  );
}

/** @throws TockError TOCK_NOT_FOUND */
export async function findRun(session: Session, id: string): Promise<RunRecord> {
  const found = await findRunOrPending(session, id);
  if (!isPending(found)) return found;
  throw new TockError('TOCK_NOT_FOUND', `${pendingText(found)}; until then it is no run`);
}

export const isPending = (found: RunRecord | PendingRun): found is PendingRun => 'follows' in found;

/** What an act did to a run, null: nothing; and the run as the act has left it. */
interface Acted<Done> {
  readonly done: Done | null;
  readonly run: RunRecord;
}

/**
 * Acts on a run and reads it in the same transaction: after the commit a worker may have been quicker. Tries
 * again where nothing was done and the run, as it is read, could have been acted on: it has moved in between.
 * @throws TockError TOCK_NOT_FOUND
 */
async function actOn<Done>(
  session: Session,
  id: string,
  act: () => Promise<Done | null>,
  isPossible: (run: RunRecord) => boolean,
): Promise<Acted<Done>> {
  for (let tries = 1; ; tries++) {
    const acted = { done: await act(), run: await findRun(session, id) };
    if (acted.done !== null || !isPossible(acted.run) || tries === MAX_TRIES) return acted;
  }
}

/**
 * Puts a dead or cancelled run back into the queue, due now, with `attempts` more attempts (default: as many
 * as its job has). Its earlier errors stay on record.
 * @throws TockError TOCK_NOT_FOUND, TOCK_BAD_STATE
 */
export async function retry(
  engine: Engine,
  id: string,
  options: { readonly attempts?: number } = {},
): Promise<RunRecord> {
  const attempts = options.attempts === undefined ? null : checkMaxAttempts(options.attempts);
  const { done, run } = await tryRetry(engine, id, attempts);
  if (done) return run;
  if (run.trigger === EXEC_TRIGGER) throw notRepeatable(id);
  throw new TockError(
    'TOCK_BAD_STATE',
    `run ${id} is ${run.status}; only ${TRANSITIONS.retry.from.join(' and ')} runs can be retried`,
  );
}

/**
 * The same, which leaves a run that is neither dead nor cancelled, or was executed by `tock exec`.
 * @throws TockError TOCK_NOT_FOUND; TOCK_BAD_STATE for a run that cannot be live again
 */
export async function tryRetry(
  engine: Engine,
  id: string,
  attempts: number | null,
  pace: RetryPace | null = null,
): Promise<Acted<true>> {
  const before = await findRun(engine.database, id);
  try {
    return await engine.database.transaction(async session => {
      const act = async () => (await retryRun(session, before.id, attempts, pace)) || null;
      const acted = await actOn(session, before.id, act, isRetryable);
      const details = { job: before.job, attempts: attempts ?? undefined };
      if (acted.done) await audit(session, engine, { action: 'runs.retry', targets: [before.id], details });
      return acted;
    });
  } catch (error) {
    throw refusedRetry(before, error);
  }
}

/** What an error of a retry says to people. */
export function refusedRetry({ id, idempotencyKey }: RunRecord, error: unknown): unknown {
  if (isDataError(error))
    return new TockError(
      'TOCK_BAD_STATE',
      `run ${id} cannot be retried, since its row holds what no run may have: ${reasonOf(error)}; enqueue a new one in its place`,
      { cause: error },
    );
  if (!isUniqueViolation(error)) return error;
  return new TockError(
    'TOCK_BAD_STATE',
    `run ${id} cannot be retried now: another run with its key ${quote(idempotencyKey)} is live, and the key is unique among live runs`,
    { cause: error },
  );
}

const isRetryable = ({ status, trigger }: RunRecord) =>
  TRANSITIONS.retry.from.some(each => each === status) && trigger !== EXEC_TRIGGER;

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
  const found = await findRunOrPending(engine.database, id);
  const { done, run } = await engine.database.transaction(async session => {
    const act = async () => {
      const cancelled = await cancelRun(session, found.id, reason);
      return cancelled.result === null ? null : cancelled;
    };
    const acted = await actOn(session, found.id, act, each => !isFinished(each.status));
    if (acted.done === null) return acted;
    const isAsked = (acted.done.result === 'asked' && acted.run.handOff === null) || undefined;
    const details = { job: found.job, reason: reason ?? undefined, isAsked };
    await audit(session, engine, { action: 'runs.cancel', targets: [found.id], details });
    return acted;
  });
  if (done === null)
    throw new TockError('TOCK_BAD_STATE', `run ${id} is ${run.status} already; there is nothing to cancel`);
  await afterCommit(engine, { freed: done.freed, outboxWritten: done.outboxWritten, dead: [] });
  return run;
}
