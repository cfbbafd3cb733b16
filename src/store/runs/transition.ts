// Room: store. What the moves of a run have in common: where they may begin, the fence, what a finished row keeps.
// In: a move of states.ts. Out: pieces of the statements in claim-, finalize-, reap-runs.ts and operator-moves.ts.
//
// How the fence works: a claim raises it, and every write of the holder names the fence it was given and the
// worker's own id. A worker that slept past its lease names an old fence and changes nothing.
// The fences come as an array beside that of the ids, both in the order of the ids, and width_bucket finds a row's
// place in it by halving. Compared as text, `(id || ':' || fence) = any(…)`, each row was compared with each of the
// batch: a third of what a finalize cost, and more with larger batches. A join with unnest left the planner to guess
// how many rows are the holder's own: it guesses one, and goes through the batch once per row.
import { SUSPECTS } from '../../model/run/limits.js';
import { TRANSITIONS, type TransitionName } from '../../model/run/states.js';

/** A run and the fence its holder was given. */
export interface Held {
  readonly id: string;
  readonly fence: number;
}

/** The states a move may begin in, as a list for SQL. */
export function statuses(name: TransitionName): string {
  return TRANSITIONS[name].from.map(status => `'${status}'`).join(', ');
}

/** Whether a row `r` is in a batch of {@link fenced} runs, under the fence that stands beside its id. */
export const UNDER_ITS_FENCE = `r.id = any($1::bigint[]) and ($2::integer[])[width_bucket(r.id, $1::bigint[])] = r.fence`;

/** Whether a row `r` is one of the batch that its holder still holds. */
export const IS_HELD = (name: TransitionName) =>
  `${UNDER_ITS_FENCE} and r.locked_by = $3 and r.status in (${statuses(name)})`;

/** The rows of a batch that its holder still holds, locked in the order of their ids. */
export const HELD = (name: TransitionName) => `held as materialized (
  select r.id from tock.job_runs_live r
  where ${IS_HELD(name)}
  order by r.id
  for update
)`;

/** Columns that a finished run keeps as they were. */
export const KEPT = `definition_id, run_at, priority, attempts, max_attempts, fence, releases, generation, occurrence_count,
  scheduled_for, interval_start, start_by, locked_by, created_at, started_at, job, queue, trigger, idempotency_key,
  payload, progress, slot_keys, slot_limits, live_key`;

/**
 * Gives back the places of the runs in a set, in the statement that moves them: the set `freed`. The serial place of a
 * definition is kept over all attempts of its run; it goes only where `ends`, an SQL condition over the set `m`, holds.
 */
export const FREED = (moved: string, ends: string) => `freed as (
  delete from tock.job_slots s using ${moved} m
  where s.run_id = m.id and (${ends} or s.concurrency_key not like 'definition:%') returning s.concurrency_key
)`;

/**
 * Notes in the outbox what follows from runs that end, in the statement that ends them: the set `told`. `ended` is a
 * set with id, generation, definition_id, scheduled_for and job, `status` an SQL expression over it as `e`.
 */
export const TOLD = (ended: string, status: string) => `told as (
  insert into tock.job_outbox (kind, run_id, generation, definition_id, scheduled_for)
  select k.kind, e.id, e.generation, e.definition_id, e.scheduled_for from ${ended} e cross join lateral (
    select 'chain' as kind from tock.job_definitions d
    where d.id = e.definition_id and d.has_followers and e.scheduled_for is not null
    union all
    select 'dead' from tock.job_definitions d where ${status} = 'dead' and d.name = e.job and d.on_dead is not null
  ) k
  where e.definition_id is not null or ${status} = 'dead'
  returning id
)`;

/** The columns that tell what such a statement left to be done: an {@link Aftermath}. */
export const AFTERMATH = `(select array_agg(distinct concurrency_key) from freed) as freed, exists (select from told) as told`;

/** What is still to be done once runs have moved: there are free places under these keys; the outbox has rows. */
export interface Aftermath {
  readonly freed: readonly string[] | null;
  readonly told: boolean;
}
/** The last errors are kept; a run with thousands of attempts must not grow without bound. */
export const APPENDED_ERRORS = (errors: string, entry: string) => `case when ${entry} is null then ${errors}
  else (case when jsonb_array_length(${errors}) >= 50 then ${errors} - 0 else ${errors} end) || ${entry} end`;
/** The time of the failure is the database's. */
export const DATED = (entry: string) =>
  `(jsonb_build_object('at', to_char(tock.now() at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')) || ${entry})`;

/**
 * Makes a run a suspect where an SQL condition over it, `r`, holds: it may have ended a process, so that from then on it
 * needs a place under {@link SUSPECTS}.
 */
export const SUSPECTED = (when: string) => {
  const isNew = `${when} and '${SUSPECTS.key}' <> all(coalesce(r.slot_keys, '{}'))`;
  return `slot_keys = case when ${isNew} then array_append(r.slot_keys, '${SUSPECTS.key}') else r.slot_keys end,
      slot_limits = case when ${isNew} then array_append(r.slot_limits, ${SUSPECTS.limit}) else r.slot_limits end`;
};

/**
 * Ends the runs of a locked set that an operator asked to cancel; what else is done with the set leaves them out. The
 * ids as an array, here and elsewhere: a join gives the planner a reason to read the whole table.
 */
export const WITHDRAW_ASKED = (lockedSet: string) => `asked as (
  delete from tock.job_runs_live r where r.id = any(array(select id from ${lockedSet})) and r.cancel_requested_at is not null returning r.*
), withdrawn as (
  insert into tock.job_runs_finished (id, ${KEPT}, status, finished_at, errors, skip_reason)
  select id, ${KEPT}, '${TRANSITIONS.withdraw.to}', tock.now(), errors, skip_reason from asked
  returning id
)`;

/**
 * The two arrays that HELD takes, in the order of the ids: the ids, and their fences. As PostgreSQL writes arrays of
 * numbers: a driver would look at each of them for what to escape.
 */
export function fenced(held: readonly Held[]): [string, string] {
  const sorted = inOrder(held);
  return [`{${sorted.map(each => each.id).join()}}`, `{${sorted.map(each => each.fence).join()}}`];
}

/** In the order of their ids, which are numbers; one with fewer digits is the smaller. */
export function inOrder<Each extends Held>(batch: readonly Each[]): readonly Each[] {
  const isAfter = (each: Each, next: Each) =>
    each.id.length === next.id.length ? each.id > next.id : each.id.length > next.id.length;
  if (!batch.some((each, index) => index > 0 && isAfter(batch[index - 1] as Each, each))) return batch;
  return batch.toSorted((a, b) => (isAfter(a, b) ? 1 : -1));
}

/** A value for a jsonb parameter. */
export function json(value: unknown): string | null {
  return value === null || value === undefined ? null : JSON.stringify(value);
}
