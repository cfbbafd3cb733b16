// Effects that happen once: ctx.step, ctx.once, ctx.transaction. The ledger row commits with the effect.
import { TockError } from '../../model/errors.js';
import type { ChildOptions } from '../../model/job/enqueue-options.js';
import type { AnyJob, NewRun } from '../../model/job/job.js';
import type { JobTransaction } from '../../model/job/job-database.js';
import { resultText } from '../../model/job/payload/payload.js';
import type { Cursor } from '../../model/job/wait-methods.js';
import { quote } from '../../model/names.js';
import { type Outcome, successWith } from '../../model/run/decide.js';
import type { Session } from '../../store/connection/database.js';
import { isConnectionFailure, isTransient, isUnstorable } from '../../store/connection/errors.js';
import { inSavepoint } from '../../store/connection/savepoint.js';
import {
  keepCursors,
  keepResult,
  keepStep,
  lockHeldRun,
  readEffect,
  readEffectIfHeld,
  reserveEffect,
  type StoredEffect,
} from '../../store/runs/effects.js';
import { finalizeRuns, readEndedAttempts } from '../../store/runs/finalize.js';
import { markAwaited } from '../../store/runs/waits/waits.js';
import type { Engine } from '../engine.js';
import { checkChildOptions, enqueueing } from '../enqueue.js';
import { afterCommit } from '../finalize/after-commit.js';
import { refusedOutcome } from '../finalize/outcome-of.js';
import { retryUntil } from '../finalize/retry-until.js';
import { addingToGroup } from '../groups.js';
import { type ActiveRun, leaseLost } from './active-run.js';
import { type AdvancedCursors, checkEffectKey, type OpenTransactions, openCursors } from './cursor.js';
import { refuseHandOff } from './hand-off.js';
import { logWarning } from './run-logger.js';
import { writeSpans } from './spans.js';
import { refuseWait } from './suspend.js';

/** How long a handler's transaction, with its locks, stays open for a server that rejects its end. */
export const MAX_END_OF_TRANSACTION_MS = 10_000;

export interface Effects {
  readonly step: <T>(name: string, work: () => Promise<T> | T) => Promise<T>;
  readonly once: <T>(key: string, work: (trx: JobTransaction) => Promise<T> | T) => Promise<T>;
  readonly transaction: <T>(work: (trx: JobTransaction) => Promise<T> | T) => Promise<T>;
  readonly cursor: <T>(name: string, initial: T) => Promise<Cursor<T>>;
  readonly child: (
    name: string,
    job: string | AnyJob,
    payload: unknown,
    options?: ChildOptions,
  ) => Promise<string>;
  readonly addToGroup: (name: string, runs: readonly NewRun[]) => Promise<readonly string[]>;
}

/**
 * The effects of one attempt. Each fails with TOCK_LEASE_LOST, and rolls back, once the lease is lost.
 * Results are returned as the ledger has them, so that all callers get the same. What the server rejects for
 * now is retried until the handler must stop; but the handler's work is done once.
 */
export function createEffects(engine: Engine, active: ActiveRun, workerId: string): Effects {
  const { clock, database } = engine;
  const open: OpenTransactions = new Map();
  /** Never retried: what the handler did outside of it would happen twice. */
  const inTransaction = async <T>(
    work: (session: Session, trx: JobTransaction, advanced: AdvancedCursors) => Promise<T>,
  ): Promise<T> => {
    const advanced: AdvancedCursors = { cursors: new Map(), undo: [] };
    try {
      return await database.handlers.transaction(
        async trx => await work(database.sessionOf(trx), trx, advanced),
      );
    } catch (error) {
      for (const each of advanced.undo.toReversed()) each();
      throw error;
    }
  };
  const { id, fence } = active.run;
  const holder = { id, fence, workerId };
  const canRetry = (error: unknown) => isTransient(error) && !active.interrupt.isAborted;

  /** Retries only the end of a handler's transaction, in a savepoint that keeps what the handler did. */
  const atEnd = async <T>(session: Session, work: () => Promise<T>): Promise<T> => {
    const until = clock.now() + MAX_END_OF_TRANSACTION_MS;
    return await retryUntil(
      engine.clock,
      () => inSavepoint(session, work),
      error => canRetry(error) && !isConnectionFailure(error) && clock.now() < until,
    );
  };

  /** The handler cannot end to wait meanwhile. */
  const atWork = async <T>(work: () => Promise<T> | T): Promise<T> => {
    active.openEffects++;
    try {
      return await work();
    } finally {
      active.openEffects--;
    }
  };

  /** The same in a transaction, with which the cursors commit that the handler advances meanwhile. */
  const atWorkIn = async <T>(trx: JobTransaction, advanced: AdvancedCursors, work: () => Promise<T> | T) => {
    open.set(trx, advanced);
    return await atWork(work).finally(() => open.delete(trx));
  };

  /** Does the work in a transaction that also keeps its result under the key; or returns what was kept. */
  const onceUnder = async <T>(
    key: string,
    effect: string,
    work: (session: Session, trx: JobTransaction) => Promise<T> | T,
  ): Promise<T> => {
    let hasStarted = false;
    const attempt = () =>
      inTransaction(async (session, trx, advanced) => {
        const reserved = await reserveEffect.first(session, { key, id });
        if (!reserved) return valueOf(await readEffect.first(session, { key })) as T;
        hasStarted = true;
        const result = resultText(await atWorkIn(trx, advanced, () => work(session, trx)), effect);
        const { cursors } = advanced;
        if (cursors.size > 0)
          await atEnd(session, () => keepCursors(session, [{ id, fence, cursors }], workerId));
        // Fails, as it must, if the work swallowed an SQL error: that has aborted the transaction.
        const row = await atEnd(session, async () => {
          await requireLease(session, active, workerId);
          return await keepResult.first(session, { key, result });
        }).catch((error: unknown) => refuse(error, effect));
        return valueOf(row) as T;
      });
    return await retryUntil(clock, attempt, error => !hasStarted && canRetry(error));
  };

  /** Under way or done in this attempt, by the keys of the ledger. */
  const used = new Set<string>();
  /**
   * What is done once in this run under a name: gives what an earlier attempt has kept, or does the work. In
   * one attempt a name is used once, except after an error: what is called in a loop would be done only for
   * its first pass.
   */
  const keptUnder = async <T>(
    kind: keyof typeof KINDS,
    name: string,
    work: (key: string, effect: string) => Promise<T>,
  ): Promise<T> => {
    const key = `${kind}:${id}:${checkEffectKey(name)}`;
    if (used.has(key)) throw usedTwice(KINDS[kind], name);
    used.add(key);
    try {
      const kept = await retryUntil(clock, () => readEffect.first(database, { key }), canRetry);
      return kept ? (valueOf(kept) as T) : await work(key, `${KINDS[kind]} ${quote(name)}`);
    } catch (error) {
      used.delete(key);
      throw error;
    }
  };

  const succeed = async (session: Session, outcome: Outcome) => {
    await writeSpans(session, engine, workerId, [active]);
    const finalized = await finalizeRuns(session, [{ id, fence, outcome }], workerId);
    const [failed] = finalized.failed;
    if (failed) throw failed.error;
    if (finalized.lost.has(id)) throw leaseLost(active);
    return finalized;
  };

  return {
    cursor: openCursors(engine, active, open),

    async step<T>(name: string, work: () => Promise<T> | T) {
      return await keptUnder('step', name, async (key, effect) => {
        const result = resultText(await atWork(work), effect);
        const row = await retryUntil(
          clock,
          async () => {
            const inserted = await keepStep.first(database, { ...holder, key, result });
            // An earlier try may have kept it and lost the reply.
            return inserted ?? (await readEffectIfHeld.first(database, { ...holder, key }));
          },
          canRetry,
        ).catch((error: unknown) => refuse(error, effect));
        if (!row) throw leaseLost(active);
        return valueOf(row) as T;
      });
    },

    async once<T>(key: string, work: (trx: JobTransaction) => Promise<T> | T) {
      return await onceUnder(`once:${checkEffectKey(key)}`, `once ${quote(key)}`, (_, trx) => work(trx));
    },

    async child(name, job, payload, options) {
      refuseWait(active, null, 'ctx.child');
      return await keptUnder('child', name, async (key, effect) => {
        const write = await enqueueing(engine, [{ ...checkChildOptions(job, options), job, payload }]);
        return await onceUnder(key, effect, async session => {
          const [made] = await write(session);
          if (!made) throw new TockError('TOCK_BAD_STATE', 'nothing was enqueued');
          await markAwaited.run(session, { id: made.id });
          return made.id;
        });
      });
    },

    async addToGroup(name, runs) {
      refuseWait(active, null, 'ctx.group.add');
      return await keptUnder('group', name, async (key, effect) => {
        const write = await addingToGroup(engine, id, runs);
        return await onceUnder(key, effect, async session => await write(session));
      });
    },

    async transaction<T>(work: (trx: JobTransaction) => Promise<T> | T) {
      try {
        const { value, committed } = await inTransaction(async (session, trx, advanced) => {
          // Its cursors are not kept: the run has succeeded, or nothing was done.
          const returned = await atWorkIn(trx, advanced, () => work(trx));
          refuseHandOff(active, returned);
          const outcome = successWith(returned);
          logWarning(engine, active, outcome);
          const { freed, outboxWritten } = await atEnd(session, () => succeed(session, outcome)).catch(
            async (error: unknown) => {
              if (!isUnstorable(error)) throw error;
              return await atEnd(session, () => succeed(session, refusedOutcome(engine, id, outcome, error)));
            },
          );
          return { value: returned, committed: { freed, outboxWritten, dead: [] } };
        });
        active.isCommitted = true;
        await afterCommit(engine, committed);
        return value;
      } catch (error) {
        if (isConnectionFailure(error)) await readBack(engine, active, workerId, error);
        throw error;
      }
    },
  };
}

/** The COMMIT may have succeeded though its reply was lost: ask, never guess, never repeat the work. */
async function readBack(engine: Engine, active: ActiveRun, workerId: string, cause: unknown): Promise<void> {
  const succeeded = await retryUntil(
    engine.clock,
    () => readEndedAttempts(engine.database, [active.run], workerId),
    error => isTransient(error) && !active.interrupt.isAborted,
  ).catch(() => null);
  if (succeeded?.has(active.run.id)) active.isCommitted = true;
  if (succeeded === null) {
    throw new TockError(
      'TOCK_OUTCOME_UNKNOWN',
      'the connection was lost at the commit, and it cannot be read now whether the commit succeeded',
      { cause },
    );
  }
}

async function requireLease(session: Session, { run }: ActiveRun, workerId: string): Promise<void> {
  const held = await lockHeldRun.first(session, { id: run.id, fence: run.fence, workerId });
  if (!held) throw leaseLost({ run });
}

/** What has a name of its own in a run, as messages call it. */
const KINDS = { step: 'step', child: 'child', group: 'group.add' } as const;

function usedTwice(what: string, name: string): TockError {
  return new TockError(
    'TOCK_BAD_STATE',
    `ctx.${what} ${quote(name)} is called twice in this attempt, and what has this name is done once: give each call its own name, such as \`mail \${user.id}\` in a loop`,
  );
}

function valueOf(kept: StoredEffect | undefined): unknown {
  return typeof kept?.result === 'string' ? JSON.parse(kept.result) : undefined;
}

/** PostgreSQL may refuse a result that passed our checks. */
function refuse(error: unknown, effect: string): never {
  if (!isUnstorable(error)) throw error;
  throw new TockError(
    'TOCK_BAD_RESULT',
    `the result of ${effect} cannot be kept: PostgreSQL refused it (${error instanceof Error ? error.message : String(error)}); return something smaller or plainer`,
    { cause: error },
  );
}
