// Room: engine. Effects that happen once: ctx.step, ctx.once, ctx.transaction.
// In: a run whose lease we hold, and the handler's work. Out: its result, and a ledger row committed with it.
import { performance } from 'node:perf_hooks';
import type { Transaction } from 'kysely';
import { TockError } from '../../model/errors.js';
import type { AnyDatabase } from '../../model/job/job.js';
import { resultText } from '../../model/job/payload.js';
import { isStorable, quote } from '../../model/names.js';
import type { Outcome } from '../../model/run/decide.js';
import { describeOutput } from '../../model/run/sanitize.js';
import type { Session } from '../../store/connection/database.js';
import { isConnectionFailure, isTransient, isUnstorable } from '../../store/connection/errors.js';
import { inSavepoint } from '../../store/connection/savepoint.js';
import { finalizeRuns, readEndedAttempts } from '../../store/runs/finalize.js';
import type { Engine } from '../engine.js';
import { settle } from '../finalize/after-commit.js';
import { refusedOutcome } from '../finalize/refused-outcome.js';
import { keepTrying } from '../finalize/retry-until.js';
import type { ActiveRun } from './active-run.js';

/** Nothing that a handler does in a transaction is done again by us: what it did outside of it would be doubled. */
const HANDLERS_OWN = { retries: 0, isPatient: true } as const;

/** How long a transaction of the handler's may be held open, with its locks, for a server that does not take its end. */
const LONGEST_IN_TRANSACTION_MS = 10_000;

const IS_HELD = `exists (
  select from tock.job_runs_live r where r.id = $2 and r.fence = $3 and r.locked_by = $4 and r.status = 'running')`;
// Results as text: an app's own pool may read jsonb in a way of its own, and a JSON null is not the same as none.
const READ_EFFECT = 'select result::text as result from tock.job_effects where key = $1';
const READ_IF_HELD = `${READ_EFFECT} and ${IS_HELD}`;
const CLAIM_EFFECT =
  'insert into tock.job_effects (key, run_id) values ($1, $2) on conflict do nothing returning key';
const KEEP_RESULT = 'update tock.job_effects set result = $2 where key = $1 returning result::text as result';
const KEEP_STEP = `
insert into tock.job_effects (key, run_id, result) select $1, $2, $5 where ${IS_HELD}
on conflict (key) do nothing
returning result::text as result`;
// FOR KEY SHARE lets heartbeats through, but not a reaper that would move the row while we commit.
const HOLD_LEASE = `
select from tock.job_runs_live r where r.id = $1 and r.fence = $2 and r.locked_by = $3 and r.status = 'running'
for key share`;

export interface Effects {
  readonly step: <T>(name: string, work: () => Promise<T> | T) => Promise<T>;
  readonly once: <T>(key: string, work: (trx: Transaction<AnyDatabase>) => Promise<T> | T) => Promise<T>;
  readonly transaction: <T>(work: (trx: Transaction<AnyDatabase>) => Promise<T> | T) => Promise<T>;
}

/** A row of the ledger; the result is null where there was none. */
interface Kept {
  readonly result: string | null;
}

/**
 * The effects of one attempt. Each refuses with TOCK_LEASE_LOST, and rolls back, once the lease is lost. What they keep
 * is given back as it is read from the ledger, so that the first caller gets what all later ones get. They go on
 * through what the server refuses for now, until the handler is to stop; but the handler's work is done once.
 */
export function createEffects(engine: Engine, active: ActiveRun, workerId: string): Effects {
  const { database } = engine;
  const { id, fence } = active.run;
  const mayGoOn = (error: unknown) => isTransient(error) && !active.interrupt.isAborted;

  /** The end of a transaction of the handler's: what fails for now is done again, what the handler did is left as it is. */
  const atTheEnd = async <T>(session: Session, part: () => Promise<T>): Promise<T> => {
    const until = performance.now() + LONGEST_IN_TRANSACTION_MS;
    return await keepTrying(
      () => inSavepoint(session, part),
      error => mayGoOn(error) && !isConnectionFailure(error) && performance.now() < until,
    );
  };

  /** Writes the success, in the handler's transaction. */
  const succeed = async (session: Session, outcome: Outcome) => {
    const finalized = await finalizeRuns(session, [{ id, fence, outcome }], workerId);
    const [failed] = finalized.failed;
    if (failed) throw failed.error;
    if (finalized.lost.has(id)) throw leaseLost(active);
    return finalized;
  };

  return {
    async step<T>(name: string, work: () => Promise<T> | T) {
      const key = `step:${id}:${checkEffectKey(name)}`;
      const effect = `step ${quote(name)}`;
      const [kept] = await keepTrying(() => database.run<Kept>(READ_EFFECT, [key]), mayGoOn);
      if (kept) return valueOf(kept) as T;
      const result = resultText(await work(), effect);
      const held = [key, id, fence, workerId];
      const [row] = await keepTrying(async () => {
        const rows = await database.run<Kept>(KEEP_STEP, [...held, result]);
        // It is there already if an earlier try has kept it and its reply was lost.
        return rows.length > 0 ? rows : await database.run<Kept>(READ_IF_HELD, held);
      }, mayGoOn).catch((error: unknown) => refuse(error, effect));
      if (!row) throw leaseLost(active);
      return valueOf(row) as T;
    },

    async once<T>(key: string, work: (trx: Transaction<AnyDatabase>) => Promise<T> | T) {
      const ledgerKey = `once:${checkEffectKey(key)}`;
      const effect = `once ${quote(key)}`;
      let hasBegun = false;
      const attempt = () =>
        database.transaction(async (session, trx) => {
          const claimed = await session.run(CLAIM_EFFECT, [ledgerKey, id]);
          if (claimed.length === 0) {
            const [kept] = await session.run<Kept>(READ_EFFECT, [ledgerKey]);
            return valueOf(kept) as T;
          }
          hasBegun = true;
          const result = resultText(await work(trx), effect);
          // An SQL error that the work swallowed has aborted the transaction: then this fails, and so it must.
          const [row] = await atTheEnd(session, async () => {
            await demandLease(session, active, workerId);
            return await session.run<Kept>(KEEP_RESULT, [ledgerKey, result]);
          }).catch((error: unknown) => refuse(error, effect));
          return valueOf(row) as T;
        }, HANDLERS_OWN);
      return await keepTrying(attempt, error => !hasBegun && mayGoOn(error));
    },

    async transaction<T>(work: (trx: Transaction<AnyDatabase>) => Promise<T> | T) {
      try {
        const { value, left } = await database.transaction(async (session, trx) => {
          const done = await work(trx);
          const outcome: Outcome = {
            transition: 'succeed',
            output: describeOutput(done),
            error: null,
            delayMs: 0,
            skipReason: null,
          };
          const { freed, outboxWritten } = await atTheEnd(session, () => succeed(session, outcome)).catch(
            async (error: unknown) => {
              if (!isUnstorable(error)) throw error;
              return await atTheEnd(session, () =>
                succeed(session, refusedOutcome(engine, id, outcome, error)),
              );
            },
          );
          return { value: done, left: { freed, outboxWritten, dead: [] } };
        }, HANDLERS_OWN);
        active.isSettled = true;
        await settle(engine, left);
        return value;
      } catch (error) {
        if (isConnectionFailure(error)) await readBack(engine, active, workerId, error);
        throw error;
      }
    },
  };
}

/** The COMMIT may have been carried out though its reply was lost: ask, never guess, never do the work again. */
async function readBack(engine: Engine, active: ActiveRun, workerId: string, cause: unknown): Promise<void> {
  const settled = await keepTrying(
    () => readEndedAttempts(engine.database, [active.run], workerId),
    error => isTransient(error) && !active.interrupt.isAborted,
  ).catch(() => null);
  if (settled?.has(active.run.id)) active.isSettled = true;
  if (settled === null) {
    throw new TockError(
      'TOCK_OUTCOME_UNKNOWN',
      'the connection was lost at the commit, and whether it was carried out cannot be read now',
      { cause },
    );
  }
}

async function demandLease(session: Session, active: ActiveRun, workerId: string): Promise<void> {
  const rows = await session.run(HOLD_LEASE, [active.run.id, active.run.fence, workerId]);
  if (rows.length === 0) throw leaseLost(active);
}

export function leaseLost(active: ActiveRun): TockError {
  return new TockError(
    'TOCK_LEASE_LOST',
    `the lease of run ${active.run.id} is lost: another worker may have taken it; nothing of this attempt is kept`,
  );
}

function checkEffectKey(key: string): string {
  if (
    typeof key === 'string' &&
    isStorable(key) &&
    Buffer.byteLength(key) >= 1 &&
    Buffer.byteLength(key) <= 900
  )
    return key;
  throw new TockError(
    'TOCK_BAD_KEY',
    `${quote(key)} cannot be the key of an effect: it must have 1 to 900 bytes, without NUL`,
  );
}

/** What a row of the ledger holds; undefined where there was no result. */
function valueOf(kept: Kept | undefined): unknown {
  return typeof kept?.result === 'string' ? JSON.parse(kept.result) : undefined;
}

/** PostgreSQL itself may refuse what looked sound. */
function refuse(error: unknown, effect: string): never {
  if (!isUnstorable(error)) throw error;
  throw new TockError(
    'TOCK_BAD_RESULT',
    `the result of ${effect} cannot be kept: PostgreSQL refused it (${error instanceof Error ? error.message : String(error)}); return something smaller or plainer`,
    { cause: error },
  );
}
