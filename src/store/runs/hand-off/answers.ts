// Answers to runs that were handed off, many per statement.
//
// Successes end their runs at once, under the conditions of tock.complete and tock.decide:
//
//   relay                                            reaper
//   lock run 1, where it is handed off under
//   fence 1, its lease lasts, and nothing is
//   decided
//                                                    the lease of run 1 ends: skips it, for it is locked
//   note the decision with the handoff;
//   the run moves to job_runs_finished
//   commit; acknowledge the answers                  sees run 1 in one table, never in both or none
//
// What did not hold is given to tock.complete, which keeps an answer that came before the handoff was
// recorded, and counts one that came too late. Then, as after a failure, the outcome waits with the handoff
// until it is written; see decided.ts.
import { MAX_DEPTH } from '../../../model/json-depth.js';
import { HANDED_OFF, OFFERED_UNTIL, TRANSITIONS } from '../../../model/run/states.js';
import type { Session } from '../../connection/database.js';
import { statement } from '../../connection/statement.js';
import { readable } from '../../connection/values/readable-instant.js';
import type { ClaimedRun } from '../claim/claimed-run.js';
import {
  AFTER_MOVE,
  type AfterMove,
  type FencedBatch,
  fencedBatch,
  freeSlots,
  type Held,
  insertFinished,
  isHeld,
  sortedById,
  writeOutbox,
} from '../transition.js';

/** `result`: JSON; null: none. */
export interface Success extends Held {
  readonly result: string | null;
}

/** A run that a success has ended. */
export type Completed = Pick<
  ClaimedRun,
  'id' | 'job' | 'definition' | 'attempts' | 'max_attempts' | 'scheduled_for' | 'trigger'
> & { readonly duration_ms: number };

/** What tock.complete may refuse, or is measured without jsonb's blanks when it is written, goes there. */
const isKeepable = (result: string) => `(${result} is null or (octet_length(${result}::text) <= 1048576
    and not jsonb_path_exists(${result}, 'strict $.**{${MAX_DEPTH + 1}}')
    and not jsonb_path_exists(${result}, '$.** ? (@.type() == "number" && (@ > 9007199254740991 || @ < -9007199254740991))')))`;

const COMPLETE_MANY = statement<
  FencedBatch & { readonly results: readonly (string | null)[] },
  Completed & AfterMove
>(
  'complete-many',
  `
with answer as materialized (
  select * from unnest(:ids::bigint[], :results::jsonb[]) as a(id, result)
), held as materialized (
  select r.id, r.fence from tock.job_runs_live r
  where ${isHeld('r', 'succeed')} and r.trigger <> 'exec' and r.locked_until >= tock.now() and r.locked_until < '${OFFERED_UNTIL}'
    and r.id = any(array(select a.id from answer a where ${isKeepable('a.result')}))
  order by r.id for update
), decided as (
  insert into tock.job_hand_offs as h (run_id, fence, handed_off_at, decided_at, decision, written_at)
  select held.id, held.fence, tock.now(), tock.now(), 'succeeded', tock.now() from held order by held.id
  on conflict (run_id, fence) do update set handed_off_at = coalesce(h.handed_off_at, excluded.handed_off_at),
    decided_at = excluded.decided_at, decision = excluded.decision, written_at = excluded.written_at, output = null, error = null, retry_at = null
  where h.decided_at is null
  returning h.run_id, h.due_at
), gone as (
  delete from tock.job_runs_live r where r.id = any(array(select run_id from decided)) returning r.*
), ended as (
  ${insertFinished('gone join answer a using (id) join decided h on h.run_id = gone.id', {
    status: `'${TRANSITIONS.succeed.to}'`,
    // While it was handed off, its own run_at was the end of the lease.
    run_at: 'coalesce(h.due_at, gone.run_at)',
    output: 'a.result',
  })}
  returning id, generation, definition_id, scheduled_for, job, status, has_waiters
), ${freeSlots('gone', 'true')}, ${writeOutbox('ended', `'${TRANSITIONS.succeed.to}'`)}
select g.id::text as id, g.job, d.name as definition, g.attempts, g.max_attempts, g.trigger,
  (extract(epoch from ${readable('g.scheduled_for')}) * 1000)::float8 as scheduled_for,
  greatest(0, extract(epoch from tock.now() - g.started_at) * 1000)::float8 as duration_ms, ${AFTER_MOVE}
from gone g left join tock.job_definitions d on d.id = g.definition_id`,
  { prepared: true },
);

/** The runs that were completed, and what is left to do. */
export interface CompletedMany extends AfterMove {
  readonly runs: readonly Completed[];
}

/** Completes those of the runs that wait for it: no run may be named twice. */
export async function completeMany(session: Session, successes: readonly Success[]): Promise<CompletedMany> {
  const sorted = sortedById(successes);
  const runs = await COMPLETE_MANY.run(session, {
    ...fencedBatch(sorted, HANDED_OFF),
    results: sorted.map(({ result }) => result),
  });
  const [first] = runs;
  return { runs, freed: first?.freed ?? null, outboxWritten: first?.outboxWritten ?? false };
}

// The functions of the schema, for runs in the order in which they are given: locks are taken in the order of
// ids. A function is called for each, and two calls for one run see each other.

interface Answered {
  readonly held: boolean;
}

const COMPLETE_EACH = statement<
  {
    readonly ids: readonly string[];
    readonly fences: readonly number[];
    readonly results: readonly (string | null)[];
  },
  Answered
>(
  'complete-each',
  `select tock.complete(a.run, a.fence, a.result) as held
from unnest(:ids::bigint[], :fences::integer[], :results::jsonb[]) as a(run, fence, result)`,
);

export interface Failure extends Held {
  readonly message: string;
  readonly isRetried: boolean;
  /** ISO 8601. */
  readonly retryAt: string | null;
  /** JSON. */
  readonly details: string | null;
}

const FAIL_EACH = statement<
  {
    readonly ids: readonly string[];
    readonly fences: readonly number[];
    readonly messages: readonly string[];
    readonly areRetried: readonly boolean[];
    readonly times: readonly (string | null)[];
    readonly details: readonly (string | null)[];
  },
  Answered
>(
  'fail-each',
  `select tock.fail(a.run, a.fence, a.message, a.is_retried, a.retry_at, a.details) as held
from unnest(:ids::bigint[], :fences::integer[], :messages::text[], :areRetried::boolean[], :times::timestamptz[], :details::jsonb[])
  as a(run, fence, message, is_retried, retry_at, details)`,
);

const EXTEND_EACH = statement<
  { readonly ids: readonly string[]; readonly fences: readonly number[]; readonly leases: readonly number[] },
  Answered
>(
  'extend-each',
  `select tock.extend(a.run, a.fence, a.lease_ms * interval '1 millisecond') as held
from unnest(:ids::bigint[], :fences::integer[], :leases::float8[]) as a(run, fence, lease_ms)`,
);

const PROGRESS_EACH = statement<
  {
    readonly ids: readonly string[];
    readonly fences: readonly number[];
    readonly fractions: readonly number[];
    readonly stages: readonly (string | null)[];
  },
  Answered
>(
  'progress-each',
  `select tock.progress(a.run, a.fence, a.fraction, a.stage) as held
from unnest(:ids::bigint[], :fences::integer[], :fractions::float8[], :stages::text[]) as a(run, fence, fraction, stage)`,
);

const named = (sorted: readonly Held[]) => ({
  ids: sorted.map(({ id }) => id),
  fences: sorted.map(({ fence }) => fence),
});
const countHeld = (rows: readonly Answered[]) => rows.filter(({ held }) => held).length;

/** Gives successes to tock.complete. Returns how many held. */
export async function completeEach(session: Session, successes: readonly Success[]): Promise<number> {
  const sorted = sortedById(successes);
  return countHeld(
    await COMPLETE_EACH.run(session, { ...named(sorted), results: sorted.map(({ result }) => result) }),
  );
}

/** Gives failures to tock.fail. Returns how many held. */
export async function failEach(session: Session, failures: readonly Failure[]): Promise<number> {
  const sorted = sortedById(failures);
  const rows = await FAIL_EACH.run(session, {
    ...named(sorted),
    messages: sorted.map(({ message }) => message),
    areRetried: sorted.map(({ isRetried }) => isRetried),
    times: sorted.map(({ retryAt }) => retryAt),
    details: sorted.map(({ details }) => details),
  });
  return countHeld(rows);
}

/** Gives extensions of leases to tock.extend. Returns how many held. */
export async function extendEach(
  session: Session,
  extensions: readonly (Held & { readonly leaseMs: number })[],
): Promise<number> {
  const sorted = sortedById(extensions);
  return countHeld(
    await EXTEND_EACH.run(session, { ...named(sorted), leases: sorted.map(({ leaseMs }) => leaseMs) }),
  );
}

/** Gives reports of progress to tock.progress. Returns how many held. */
export async function progressEach(
  session: Session,
  reports: readonly (Held & { readonly fraction: number; readonly stage: string | null })[],
): Promise<number> {
  const sorted = sortedById(reports);
  const rows = await PROGRESS_EACH.run(session, {
    ...named(sorted),
    fractions: sorted.map(({ fraction }) => fraction),
    stages: sorted.map(({ stage }) => stage),
  });
  return countHeld(rows);
}
