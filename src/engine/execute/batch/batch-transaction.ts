// ctx.transaction of a batch: what the handler writes is committed with the success of its runs, or nothing.
import { TockError } from '../../../model/errors.js';
import type { BatchContext } from '../../../model/job/batch/batch-job.js';
import { successWith } from '../../../model/run/decide.js';
import type { Session } from '../../../store/connection/database.js';
import { isConnectionFailure, isTransient, isUnstorable } from '../../../store/connection/errors.js';
import { inSavepoint } from '../../../store/connection/savepoint.js';
import { type Finalization, finalizeRuns, readEndedAttempts } from '../../../store/runs/finalize.js';
import type { Engine } from '../../engine.js';
import { afterCommit, type Committed } from '../../finalize/after-commit.js';
import { refusedOutcome } from '../../finalize/outcome-of.js';
import { retryUntil } from '../../finalize/retry-until.js';
import type { ActiveRun } from '../active-run.js';
import { MAX_END_OF_TRANSACTION_MS } from '../effects.js';
import { logWarning } from '../run-logger.js';
import { writeSpans } from '../spans.js';

export interface BatchToCommit {
  readonly actives: readonly ActiveRun[];
  readonly isInterrupted: () => boolean;
  /** The runs that are to succeed, with their outputs. */
  readonly outputs: () => ReadonlyMap<ActiveRun, unknown>;
  /** Keeps what was said of runs until now; the returned function forgets what was said since. */
  readonly keep: () => () => void;
  readonly onLeaseLost: (error: TockError) => void;
}

export function batchTransaction(
  engine: Engine,
  workerId: string,
  { actives, isInterrupted, outputs, keep, onLeaseLost }: BatchToCommit,
): BatchContext['transaction'] {
  const { clock, database } = engine;
  const loseLeases = (ids: readonly string[]): never => {
    const error = leasesLost(ids);
    onLeaseLost(error);
    throw error;
  };
  const canRetry = (error: unknown) => isTransient(error) && !isInterrupted();

  /** Each outcome under its fence; a single one that is lost undoes all. */
  const succeed = async (session: Session, outcomes: readonly Finalization[]) => {
    const finalized = await finalizeRuns(session, outcomes, workerId);
    const [failed] = finalized.failed;
    if (failed) throw failed.error;
    if (finalized.lost.size > 0) loseLeases([...finalized.lost]);
    return finalized;
  };

  /** Retries only the end of the transaction, in a savepoint that keeps what the handler did. */
  const atEnd = async (session: Session, outcomes: readonly Finalization[]) => {
    const until = clock.now() + MAX_END_OF_TRANSACTION_MS;
    return await retryUntil(
      engine.clock,
      () => inSavepoint(session, () => succeed(session, outcomes)),
      error => canRetry(error) && !isConnectionFailure(error) && clock.now() < until,
    );
  };

  return async work => {
    const forget = keep();
    let written: readonly ActiveRun[] = [];
    try {
      const { value, committed } = await database.handlers.transaction(async trx => {
        if (actives.some(({ isCommitted }) => isCommitted))
          throw new TockError(
            'TOCK_BAD_STATE',
            'ctx.transaction of a batch commits the success of its runs, so it can be called once',
          );
        const returned = await work(trx);
        const successes = outputs();
        written = [...successes.keys()];
        const lost = written.filter(({ isLost }) => isLost).map(({ run }) => run.id);
        if (lost.length > 0) loseLeases(lost);
        const session = database.sessionOf(trx);
        await writeSpans(session, engine, workerId, written);
        const outcomes = [...successes].map(([active, output]) => {
          const outcome = successWith(output);
          logWarning(engine, active, outcome);
          return { id: active.run.id, fence: active.run.fence, outcome };
        });
        const { freed, outboxWritten } = await atEnd(session, outcomes).catch(async (error: unknown) => {
          if (!isUnstorable(error)) throw error;
          const storable = outcomes.map(each =>
            each.outcome.output === null
              ? each
              : { ...each, outcome: refusedOutcome(engine, each.id, each.outcome, error) },
          );
          return await atEnd(session, storable);
        });
        const done: Committed = { freed, outboxWritten, dead: [] };
        return { value: returned, committed: done };
      });
      for (const active of written) active.isCommitted = true;
      await afterCommit(engine, committed);
      return value;
    } catch (error) {
      if (isConnectionFailure(error)) await readBack(engine, written, workerId, isInterrupted, error);
      if (!written.some(({ isCommitted }) => isCommitted)) forget();
      throw error;
    }
  };
}

function leasesLost(ids: readonly string[]): TockError {
  const named = `${ids.slice(0, 5).join(', ')}${ids.length > 5 ? ` and ${ids.length - 5} more` : ''}`;
  return new TockError(
    'TOCK_LEASE_LOST',
    `the lease of ${ids.length === 1 ? 'run' : 'runs'} ${named} is lost, so nothing of the batch is committed; the other runs are given back, and go without it`,
  );
}

/** The COMMIT may have succeeded though its reply was lost: ask, never guess, never repeat the work. */
async function readBack(
  engine: Engine,
  written: readonly ActiveRun[],
  workerId: string,
  isInterrupted: () => boolean,
  cause: unknown,
): Promise<void> {
  if (written.length === 0) return;
  const succeeded = await retryUntil(
    engine.clock,
    () =>
      readEndedAttempts(
        engine.database,
        written.map(({ run }) => run),
        workerId,
      ),
    error => isTransient(error) && !isInterrupted(),
  ).catch(() => null);
  if (succeeded === null)
    throw new TockError(
      'TOCK_OUTCOME_UNKNOWN',
      'the connection was lost at the commit, and it cannot be read now whether the commit succeeded',
      { cause },
    );
  // All or none: the reaper may have taken back runs only if nothing was committed.
  for (const active of written) active.isCommitted = succeeded.has(active.run.id);
}
