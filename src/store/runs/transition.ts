// The SQL that all moves of a run share: the fence, what a finished run keeps, what follows. Fenced parts use
// the parameters :ids, :fences and :workerId, see `fencedBatch`.
//
// A claim raises the fence of its run, and each write of the holder names the fence it was given:
//
//   worker A           worker B                            job_runs_live
//   claim                                                  running, fence 1, locked by A
//   (frozen)                                               its lease expires
//                      reap                                failed,  fence 1
//                      claim                               running, fence 2, locked by B
//   succeed, fence 1                                       no row: nothing is written, the run is B's
//
// Fences come in an array beside the ids, and width_bucket finds the position of an id by bisection.
// Comparing id and fence as text cost a third of a finalize; a join with unnest made the planner loop over
// the batch.
import { SUSPECTS } from '../../model/run/limits.js';
import { TRANSITIONS, type TransitionName } from '../../model/run/states.js';
import { noteEnds } from './alert-events.js';

/** A run and the fence its holder was given. */
export interface Held {
  readonly id: string;
  readonly fence: number;
}

/** The states in which a move may begin, as a list for SQL. */
export function statuses(name: TransitionName): string {
  return TRANSITIONS[name].from.map(status => `'${status}'`).join(', ');
}

/** Whether a run is in the batch, under the fence that the batch has for it. */
export const isUnderItsFence = (run: string) =>
  `${run}.id = any(:ids::bigint[]) and (:fences::integer[])[width_bucket(${run}.id, :ids::bigint[])] = ${run}.fence`;

/** Whether a run is in the batch and its holder still holds it. */
export const isHeld = (run: string, move: TransitionName) =>
  `${isUnderItsFence(run)} and ${run}.locked_by = :workerId and ${run}.status in (${statuses(move)})`;

/**
 * CTE `held`: the runs of the batch that are still held, locked in the order of their ids. A write that moves
 * no run need not wait for a caller that leaves a successor to it.
 */
export const lockHeld = (
  move: TransitionName,
  lock: 'update' | 'no key update' | 'key share' = 'update',
) => `held as materialized (
  select r.id from tock.job_runs_live r
  where ${isHeld('r', move)}
  order by r.id
  for ${lock}
)`;

/** Whether a handler may have been called for a run. */
export const hasBegun = (run: string) =>
  `tock.has_begun(${['attempts', 'releases', 'generation', 'began_at'].map(column => `${run}.${column}`).join(', ')})`;

export interface FencedBatch {
  readonly ids: string;
  readonly fences: string;
  readonly workerId: string;
}

/**
 * A batch as parameters, in the order of the ids; values beside it need that order too, see
 * {@link sortedById}. Arrays are in PostgreSQL's own form: the driver would look for quotes in each number.
 */
export function fencedBatch(held: readonly Held[], workerId: string): FencedBatch {
  const sorted = sortedById(held);
  return {
    ids: `{${sorted.map(run => run.id).join()}}`,
    fences: `{${sorted.map(run => run.fence).join()}}`,
    workerId,
  };
}

/** By numeric id. Returns the same array if it is already sorted. */
export function sortedById<Run extends Held>(batch: readonly Run[]): readonly Run[] {
  const isAfter = (run: Run, next: Run) =>
    run.id.length === next.id.length ? run.id > next.id : run.id.length > next.id.length;
  if (!batch.some((run, index) => index > 0 && isAfter(batch[index - 1] as Run, run))) return batch;
  return batch.toSorted((a, b) => (isAfter(a, b) ? 1 : -1));
}

/** The columns that a run keeps when it ends. */
export const FINISHED_COLUMNS: readonly string[] = [
  'id definition_id run_at priority attempts max_attempts fence releases generation occurrence_count',
  'scheduled_for interval_start start_by locked_by created_at started_at job queue trigger idempotency_key',
  'payload errors progress slot_keys slot_limits live_key traceparent last_traceparent began_at snoozes has_waiters has_parents tags',
].flatMap(columns => columns.split(' '));

/** Inserts ended runs. @param changed SQL for each column that does not keep its value */
export const insertFinished = (
  from: string,
  changed: Readonly<Record<string, string>> & { readonly status: string },
) =>
  insertRuns('job_runs_finished', from, {
    ...Object.fromEntries(FINISHED_COLUMNS.map(column => [column, column])),
    finished_at: 'tock.now()',
    ...changed,
  });

/** Inserts runs, with SQL for each column. */
export const insertRuns = (
  table: 'job_runs_live' | 'job_runs_finished',
  from: string,
  columns: Readonly<Record<string, string>>,
) => `insert into tock.${table} (${Object.keys(columns).join(', ')})
  select ${Object.values(columns).join(', ')}
  from ${from}`;

/**
 * Whether a run keeps its slot under this key over all its attempts: the serial slot of its definition, and
 * that of a key whose order is strict.
 */
export const isKept = (key: string) => `(${key} like 'definition:%' or ${key} like '~!%')`;

/**
 * CTE `freed`: gives back the slots of the runs in a set, in the statement that moves them. One that
 * {@link isKept} is freed only if `isEnded`, a condition over the set as `m`. The ids as
 * an array: where statistics say that few slots are taken, the planner answers a join by
 * reading all slots for each run.
 */
export const freeSlots = (moved: string, isEnded: string) => `freed as (
  delete from tock.job_slots s where s.run_id = any(array(select m.id from ${moved} m))${
    isEnded === 'true'
      ? ''
      : `
    and (not ${isKept('s.concurrency_key')} or s.run_id = any(array(select m.id from ${moved} m where ${isEnded})))`
  }
  returning s.concurrency_key
)`;

/** Ends that alerts are not about. */
const IS_UNALERTED = /^'(?:cancelled|skipped)'$/;

/**
 * CTEs `noted` and `alerted`: writes to the outbox what follows from runs that end, and to `alert_events`
 * what alerts are about, in the statement that ends them.
 * @param ended a set with id, generation, definition_id, scheduled_for, job and has_waiters
 * @param status SQL over that set as `e`
 */
export const writeOutbox = (ended: string, status: string) => `noted as (
  insert into tock.job_outbox (kind, run_id, run_ids, generation, definition_id, scheduled_for)
  select k.kind, e.id, null::bigint[], e.generation, e.definition_id, e.scheduled_for from ${ended} e cross join lateral (
    select 'chain' as kind from tock.job_definitions d
    where d.id = e.definition_id and d.has_followers and e.scheduled_for is not null
    union all
    select 'dead' from tock.job_definitions d where ${status} = 'dead' and d.name = e.job and d.on_dead is not null
  ) k
  where e.definition_id is not null or ${status} = 'dead'
  union all
  select 'end', null, array_agg(e.id order by e.id), 1, null, null from ${ended} e where e.has_waiters having count(*) > 0
  returning id
)${IS_UNALERTED.test(status) ? '' : `, ${noteEnds(ended, status)}`}`;

/**
 * CTE `retried`: notes the ends of runs that a statement takes out of the history, so that each end is
 * counted once. Every statement that retries runs has it. What is counted for good needs no note.
 */
export const noteRetried = (gone: string) => `retried as (
  insert into tock.figures_retried (run_id, generation, finished_at, job, queue, status, skip_reason, occurrence_count, run_at, started_at)
  select g.id, g.generation, g.finished_at, g.job, g.queue, g.status, g.skip_reason, g.occurrence_count, g.run_at, g.started_at
  from ${gone} g where g.finished_at >= (select p.final_until from tock.figures_progress p)
  on conflict do nothing
)`;

/** What is left to do once a statement that moves runs has committed. */
export interface AfterMove {
  /** Concurrency keys under which slots are free now. */
  readonly freed: readonly string[] | null;
  /** The outbox has rows. */
  readonly outboxWritten: boolean;
}

/** The columns of an {@link AfterMove}, over {@link freeSlots} and {@link writeOutbox}. */
export const AFTER_MOVE = `(select array_agg(distinct concurrency_key) from freed) as freed, exists (select from noted) as "outboxWritten"`;

/**
 * As {@link AFTER_MOVE}, where the set `gone` has runs that waited: under their keys it may be the turn of
 * the runs that wait after them.
 */
export const AFTER_WAITING = `(select array_agg(distinct k.key) from (
    select concurrency_key as key from freed union all select unnest(g.slot_keys) from gone g) k) as freed,
  exists (select from noted) as "outboxWritten"`;

/** Appends an error to an array. Keeps the last 50, because attempts have no bound. */
export const appendError = (errors: string, error: string) =>
  `(case when jsonb_array_length(${errors}) >= 50 then ${errors} - 0 else ${errors} end) || ${error}`;

/** In the format of errors. */
export const isoText = (instant: string) =>
  `to_char(${instant} at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')`;

export const ERROR_TIME = isoText('tock.now()');

/** Of an attempt that failed: when it was due and began. The next claim replaces both. */
export const attemptTimes = (run: string, due = `${run}.run_at`) =>
  `jsonb_strip_nulls(jsonb_build_object('dueAt', ${isoText(due)}, 'startedAt', ${isoText(`${run}.started_at`)}))`;

/** A run's errors with that of its outcome, if it has one, and what is known of the attempt. */
export const appendOutcomeError = (run: string, error: string) =>
  `case when ${error} is null then ${run}.errors
    else ${appendError(`${run}.errors`, `(jsonb_build_object('at', ${ERROR_TIME}) || ${attemptTimes(run)} || ${error})`)} end`;

/**
 * Assigns to a run `r` that goes on after an attempt: when it was started first, from which Snooze gives up.
 */
export const KEEP_BEGUN = 'began_at = coalesce(r.began_at, r.started_at)';

/**
 * Marks a run `r` as a suspect under a condition: it may have ended a process, and needs a slot under
 * {@link SUSPECTS} from now on.
 */
export const setSuspect = (when: string) => {
  const isNew = `${when} and '${SUSPECTS.key}' <> all(coalesce(r.slot_keys, '{}'))`;
  return `slot_keys = case when ${isNew} then array_append(r.slot_keys, '${SUSPECTS.key}') else r.slot_keys end,
      slot_limits = case when ${isNew} then array_append(r.slot_limits, ${SUSPECTS.limit}) else r.slot_limits end`;
};

/**
 * CTEs `asked` and `withdrawn`: ends the runs of a locked set that an operator asked to cancel; whatever else
 * is done with the set must leave them out. The ids as an array: the planner answers a join by reading the
 * whole table.
 */
export const withdrawAsked = (lockedSet: string) =>
  withdraw(lockedSet, 'r.cancel_requested_at is not null', { skip_reason: 'skip_reason' });

/**
 * The same, and ends those that would wait for another attempt and have a successor, which starts in their
 * place. What is done with the others has the condition {@link IS_LEFT}.
 * @param waits which of the set would wait, a condition over the run `r`
 * @param errors SQL over `from`, which has `asked`
 */
export const withdrawReplaced = (
  lockedSet: string,
  { waits = 'true', from = 'asked', errors = 'errors' } = {},
) =>
  withdraw(
    lockedSet,
    `(r.cancel_requested_at is not null or r.live_key is not null and ${waits} and tock.successor_of(r.live_key) is not null)`,
    {
      errors,
      skip_reason: `case when cancel_requested_at is null then 'replaced by run ' || tock.successor_of(live_key) else skip_reason end`,
    },
    from,
  );

/** Whether a run `r` is left after {@link withdrawReplaced}. */
export const IS_LEFT = 'r.id <> all(array(select id from asked))';

const withdraw = (
  lockedSet: string,
  isWithdrawn: string,
  changed: Readonly<Record<string, string>>,
  from = 'asked',
) => `asked as (
  delete from tock.job_runs_live r where r.id = any(array(select id from ${lockedSet})) and ${isWithdrawn} returning r.*
), withdrawn as (
  ${insertFinished(from, { status: `'${TRANSITIONS.withdraw.to}'`, ...changed })}
  returning id
)`;

/** A value for a jsonb parameter. */
export function json(value: unknown): string | null {
  return value === null || value === undefined ? null : JSON.stringify(value);
}
