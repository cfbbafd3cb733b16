// Room: engine. Effects that happen once: ctx.step, ctx.once, ctx.transaction.
// In: a run whose lease we hold, and the handler's work. Out: its result, and a ledger row committed with it.
import type { Transaction } from 'kysely';
import { TockError } from '../model/errors.js';
import type { AnyDatabase, Json } from '../model/job.js';
import { isStorable, quote } from '../model/names.js';
import { describeOutput } from '../model/sanitize.js';
import type { Session } from '../store/database.js';
import { isConnectionFailure } from '../store/database-errors.js';
import { finalizeRuns, readSettled } from '../store/finalize-runs.js';
import type { ActiveRun } from './active-run.js';
import { settle } from './aftermath.js';
import type { Engine } from './engine.js';

/** Nothing that a handler does in a transaction is done again by us: what it did outside of it would be doubled. */
const HANDLERS_OWN = { retries: 0, isPatient: true } as const;

const READ_EFFECT = 'select result from tock.job_effects where key = $1';
const CLAIM_EFFECT =
  'insert into tock.job_effects (key, run_id) values ($1, $2) on conflict do nothing returning key';
const KEEP_RESULT = 'update tock.job_effects set result = $2 where key = $1 returning key';
const KEEP_STEP = `
insert into tock.job_effects (key, run_id, result)
select $1, $2, $3 where exists (
  select from tock.job_runs_live r where r.id = $2 and r.fence = $4 and r.locked_by = $5 and r.status = 'running')
on conflict (key) do nothing
returning key`;
// FOR KEY SHARE lets heartbeats through, but not a reaper that would move the row while we commit.
const HOLD_LEASE = `
select from tock.job_runs_live r where r.id = $1 and r.fence = $2 and r.locked_by = $3 and r.status = 'running'
for key share`;

export interface Effects {
  readonly step: <T>(name: string, work: () => Promise<T> | T) => Promise<T>;
  readonly once: <T>(key: string, work: (trx: Transaction<AnyDatabase>) => Promise<T> | T) => Promise<T>;
  readonly transaction: <T>(work: (trx: Transaction<AnyDatabase>) => Promise<T> | T) => Promise<T>;
}

/** The effects of one attempt. Each refuses with TOCK_LEASE_LOST, and rolls back, once the lease is lost. */
export function createEffects(engine: Engine, active: ActiveRun, workerId: string): Effects {
  const { database } = engine;
  const { id, fence } = active.run;
  return {
    async step<T>(name: string, work: () => Promise<T> | T) {
      const key = `step:${id}:${checkEffectKey(name)}`;
      const [kept] = await database.run<{ result: T }>(READ_EFFECT, [key]);
      if (kept) return kept.result;
      const result = await work();
      const rows = await database.run(KEEP_STEP, [key, id, stored(result), fence, workerId]);
      if (rows.length === 0) throw leaseLost(active);
      return result;
    },

    once<T>(key: string, work: (trx: Transaction<AnyDatabase>) => Promise<T> | T) {
      const ledgerKey = `once:${checkEffectKey(key)}`;
      return database.transaction(async (session, trx) => {
        const claimed = await session.run(CLAIM_EFFECT, [ledgerKey, id]);
        if (claimed.length === 0) {
          const [kept] = await session.run<{ result: T }>(READ_EFFECT, [ledgerKey]);
          return (kept?.result ?? null) as T;
        }
        const result = await work(trx);
        await demandLease(session, active, workerId);
        // An SQL error that the work swallowed has aborted the transaction: then this fails, and so it must.
        await session.run(KEEP_RESULT, [ledgerKey, stored(result)]);
        return result;
      }, HANDLERS_OWN);
    },

    async transaction<T>(work: (trx: Transaction<AnyDatabase>) => Promise<T> | T) {
      try {
        const { value, left } = await database.transaction(async (session, trx) => {
          const done = await work(trx);
          const outcome = {
            transition: 'succeed',
            output: describeOutput(done),
            error: null,
            delayMs: 0,
            skipReason: null,
          } as const;
          const { lost, freed, told } = await finalizeRuns(session, [{ id, fence, outcome }], workerId);
          if (lost.has(id)) throw leaseLost(active);
          return { value: done, left: { freed, told, dead: [] } };
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
  const settled = await readSettled(engine.database, [active.run], workerId).catch(() => null);
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

function stored(result: unknown): string | null {
  const json: Json | null = describeOutput(result);
  return json === null ? null : JSON.stringify(json);
}
