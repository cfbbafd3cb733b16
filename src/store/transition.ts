// Room: store. What the moves of a run have in common: where they may begin, the fence, what a finished row keeps.
// In: a move of states.ts. Out: pieces of the statements in claim-, finalize-, reap-runs.ts and operator-moves.ts.
//
// How the fence works: a claim raises it, and every write of the holder names the fence it was given and the
// worker's own id. A worker that slept past its lease names an old fence and changes nothing.
// The fence is compared as text in an array, `(id || ':' || fence) = any(…)`: through a join with unnest the
// same batch took twice as long.
import { TRANSITIONS, type TransitionName } from '../model/states.js';

/** A run and the fence its holder was given. */
export interface Held {
  readonly id: string;
  readonly fence: number;
}

/** The states a move may begin in, as a list for SQL. */
export function statuses(name: TransitionName): string {
  return TRANSITIONS[name].from.map(status => `'${status}'`).join(', ');
}

/** The rows of a batch that its holder still holds, locked in the order of their ids. */
export const HELD = (name: TransitionName) => `held as materialized (
  select r.id from tock.job_runs_live r
  where r.id = any($1::bigint[]) and (r.id || ':' || r.fence) = any($2::text[]) and r.locked_by = $3
    and r.status in (${statuses(name)})
  order by r.id
  for update
)`;

/** Columns that a finished run keeps as they were. */
export const KEPT = `definition_id, run_at, priority, attempts, max_attempts, fence, releases, generation, occurrence_count,
  scheduled_for, interval_start, start_by, locked_by, created_at, started_at, job, queue, trigger, idempotency_key,
  payload, progress`;
/** The last errors are kept; a run with thousands of attempts must not grow without bound. */
export const APPENDED_ERRORS = (errors: string, entry: string) => `case when ${entry} is null then ${errors}
  else (case when jsonb_array_length(${errors}) >= 50 then ${errors} - 1 else ${errors} end) || ${entry} end`;
/** The time of the failure is the database's. */
export const DATED = (entry: string) =>
  `(jsonb_build_object('at', to_char(tock.now() at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')) || ${entry})`;

/** Ends the runs of a locked set that an operator asked to cancel; what else is done with the set leaves them out. */
export const WITHDRAW_ASKED = (lockedSet: string) => `asked as (
  delete from tock.job_runs_live r using ${lockedSet} l where r.id = l.id and r.cancel_requested_at is not null returning r.*
), withdrawn as (
  insert into tock.job_runs_finished (id, ${KEPT}, status, finished_at, errors, skip_reason)
  select id, ${KEPT}, '${TRANSITIONS.withdraw.to}', tock.now(), errors, skip_reason from asked
  returning id
)`;

/** The two arrays that HELD takes: ids, and ids with their fences. */
export function fenced(held: readonly Held[]): [string[], string[]] {
  return [held.map(each => each.id), held.map(each => `${each.id}:${each.fence}`)];
}

/** A value for a jsonb parameter. */
export function json(value: unknown): string | null {
  return value === null || value === undefined ? null : JSON.stringify(value);
}
