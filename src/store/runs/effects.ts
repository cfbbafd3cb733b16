// The ledger of effects (job_effects), and the lease under which it is written.
import { TRANSITIONS } from '../../model/run/states.js';
import type { Session } from '../connection/database.js';
import { statement } from '../connection/statement.js';
import { type FencedBatch, fencedBatch, type Held, lockHeld } from './transition.js';

/** The fence and the worker id of a run's lease. */
export interface LeaseHolder {
  readonly id: string;
  readonly fence: number;
  readonly workerId: string;
}

/** `result` is JSON as text; null if the work returned nothing. */
export interface StoredEffect {
  readonly result: string | null;
}

// Results are read as text: an app's own pool may parse jsonb differently, and a JSON null is not a missing
// result.
const RESULT = 'result::text as result';
/** Whether the lease is still held: a query for EXISTS. */
export const HELD_ROW = `select from tock.job_runs_live r
  where r.id = :id and r.fence = :fence and r.locked_by = :workerId and r.status = '${TRANSITIONS.claim.to}'`;

/** No row: it has not happened yet. */
export const readEffect = statement<{ key: string }, StoredEffect>(
  'read effect',
  `select ${RESULT} from tock.job_effects where key = :key`,
);

/** Reads an effect if the lease is still held. */
export const readEffectIfHeld = statement<LeaseHolder & { key: string }, StoredEffect>(
  'read effect if held',
  `select ${RESULT} from tock.job_effects where key = :key and exists (${HELD_ROW})`,
);

/** Keeps the result of a step if the lease is held. No row: the lease is lost, or it is kept already. */
export const keepStep = statement<LeaseHolder & { key: string; result: string | null }, StoredEffect>(
  'keep step',
  `insert into tock.job_effects (key, run_id, result) select :key, :id, :result where exists (${HELD_ROW})
on conflict (key) do nothing
returning ${RESULT}`,
);

/**
 * Reserves a key at the beginning of the effect's transaction. Waits for another transaction that has
 * reserved it. No row: that one has committed, so the effect has happened.
 */
export const reserveEffect = statement<{ key: string; id: string }, { readonly key: string }>(
  'reserve effect',
  'insert into tock.job_effects (key, run_id) values (:key, :id) on conflict do nothing returning key',
);

/** Keeps the result of a reserved effect, at the end of its transaction. */
export const keepResult = statement<{ key: string; result: string | null }, StoredEffect>(
  'keep result of effect',
  `update tock.job_effects set result = :result where key = :key returning ${RESULT}`,
);

interface AdvancedCursors extends FencedBatch {
  readonly runs: readonly string[];
  readonly keys: readonly string[];
  readonly results: readonly string[];
}

// What comes late has a lower number. Heartbeats pass FOR KEY SHARE: another session may be at the row of a
// cursor, or wait to end a run.
const KEEP_CURSORS = statement<AdvancedCursors, unknown>(
  'keep-cursors',
  `with ${lockHeld('succeed', 'key share')}
insert into tock.job_effects as e (key, run_id, result)
select c.key, c.id, c.result from unnest(:runs::bigint[], :keys::text[], :results::jsonb[]) as c(id, key, result)
where c.id = any(array(select id from held)) order by c.key
on conflict (key) do update set result = excluded.result where (e.result ->> 'n')::bigint < (excluded.result ->> 'n')::bigint`,
);

/** Keeps how far handlers have come, of the runs that are still held. */
export async function keepCursors(
  session: Session,
  entries: readonly (Held & { readonly cursors: ReadonlyMap<string, string> })[],
  workerId: string,
): Promise<void> {
  const rows = entries.flatMap(({ id, cursors }) =>
    [...cursors].map(([key, result]) => ({ id, key, result })),
  );
  await KEEP_CURSORS.run(session, {
    ...fencedBatch(entries, workerId),
    runs: rows.map(row => row.id),
    keys: rows.map(row => row.key),
    results: rows.map(row => row.result),
  });
}

/**
 * Holds a run until the transaction ends. FOR KEY SHARE admits heartbeats, but not a reaper that would move
 * the row while we commit. No row: the lease is lost.
 */
export const lockHeldRun = statement<LeaseHolder, Record<string, never>>(
  'lock held run',
  `${HELD_ROW} for key share`,
);
