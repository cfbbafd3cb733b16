// Room: store. The outcomes that the holder of a lease writes. Each is one statement, fenced, and sorted by id.
// In: runs by id and fence. Out: the ids that really changed; the others' lease is lost.
import type { Outcome } from '../../model/run/decide.js';
import { TRANSITIONS } from '../../model/run/states.js';
import type { Session } from '../connection/database.js';
import { isConnectionFailure } from '../connection/errors.js';
import { PREPARED } from '../connection/prepared.js';
import {
  AFTERMATH,
  type Aftermath,
  APPENDED_ERRORS,
  DATED,
  FREED,
  fenced,
  HELD,
  type Held,
  IS_HELD,
  inOrder,
  json,
  KEPT,
  SUSPECTED,
  TOLD,
  UNDER_ITS_FENCE,
  WITHDRAW_ASKED,
} from './transition.js';

// Which of the batch have moved: null where all of them have, as nearly always.
const MOVED = "case when count(*) < cardinality($1) then coalesce(array_agg(id::text), '{}') end as ids";

// DELETE and INSERT, not an UPDATE of the partition key: a row that an UPDATE moves makes a concurrent locker
// fail ("tuple to be locked was already moved to another partition"), a deleted one is skipped.
//
// The one batch that is not locked first in the order of its ids: that cost a tenth of a run's whole price. The batch
// comes sorted, an index scan deletes in that order, and heartbeats leave out what is being finalized, so that nobody
// else takes several of these rows at once; what is left to chance is retried (40P01).
const finishing = (outcomes: string, from: string, values: string) => `
with ${outcomes}gone as (
  delete from tock.job_runs_live r where ${IS_HELD('succeed')} returning r.*
), ended as (
  insert into tock.job_runs_finished (id, ${KEPT}, finished_at, status, output, errors, skip_reason)
  select id, ${KEPT}, tock.now(), ${values}
  from ${from}
  returning id, generation, definition_id, scheduled_for, job, status
), ${FREED('gone', 'true')}, ${TOLD('ended', 'e.status')}
select ${MOVED}, ${AFTERMATH} from ended`;

const FINISH = finishing(
  `outcome as materialized (
  select * from unnest($1::bigint[], $4::text[], $5::jsonb[], $6::jsonb[], $7::text[]) as o(id, status, output, error, skip_reason)
), `,
  'gone join outcome o using (id)',
  `o.status, o.output, case when o.error is null then gone.errors else ${APPENDED_ERRORS('gone.errors', DATED('o.error'))} end,
    case when o.status in ('cancelled', 'skipped') then coalesce(o.skip_reason, gone.skip_reason) end`,
);

// A batch of handlers that returned nothing, as most do that run by the thousand: what moves is handed on once, not twice.
const FINISH_PLAIN = `
with gone as (
  delete from tock.job_runs_live r where ${IS_HELD('succeed')} returning r.id, r.errors, ${KEPT}
), ended as (
  insert into tock.job_runs_finished (id, errors, ${KEPT}, finished_at, status)
  select id, errors, ${KEPT}, tock.now(), '${TRANSITIONS.succeed.to}' from gone
), ${FREED('gone', 'true')}, ${TOLD('gone', `'${TRANSITIONS.succeed.to}'`)}
select ${MOVED}, ${AFTERMATH} from gone`;

// An operator may have asked to cancel while the handler was ending: then the run is withdrawn, not put back.
const FAIL = `
with outcome as materialized (
  select * from unnest($1::bigint[], $4::jsonb[], $5::float8[], $6::boolean[]) as o(id, error, delay_ms, is_suspect)
), ${HELD('fail')}, ${WITHDRAW_ASKED('held')}, failed as (
  update tock.job_runs_live r
  set status = '${TRANSITIONS.fail.to}', run_at = tock.now() + o.delay_ms * interval '1 millisecond',
      locked_by = null, locked_until = null, errors = ${APPENDED_ERRORS('r.errors', DATED('o.error'))}, ${SUSPECTED('o.is_suspect')}
  from held join outcome o using (id) where r.id = held.id and r.cancel_requested_at is null
  returning r.id
), ${FREED('held', 'm.id in (select id from asked)')}, ${TOLD('asked', `'${TRANSITIONS.withdraw.to}'`)}
select ${MOVED}, ${AFTERMATH} from (select id from failed union all select id from withdrawn) moved`;

// The attempt is given back, at most a hundred times: a run that is always caught by a drain must end some day.
const RELEASE = `
with outcome as materialized (
  select * from unnest($1::bigint[], $4::jsonb[], $5::boolean[]) as o(id, error, is_suspect)
), ${HELD('release')}, ${WITHDRAW_ASKED('held')}, released as (
  update tock.job_runs_live r
  set status = '${TRANSITIONS.release.to}', locked_by = null, locked_until = null, releases = r.releases + 1,
      attempts = case when r.releases < 100 then r.attempts - 1 else least(r.attempts, r.max_attempts - 1) end,
      errors = ${APPENDED_ERRORS('r.errors', DATED('o.error'))}, ${SUSPECTED('o.is_suspect')}
  from held join outcome o using (id) where r.id = held.id and r.cancel_requested_at is null
  returning r.id
), ${FREED('held', 'm.id in (select id from asked)')}, ${TOLD('asked', `'${TRANSITIONS.withdraw.to}'`)}
select ${MOVED}, ${AFTERMATH} from (select id from released union all select id from withdrawn) moved`;

// The attempt is given back: the handler was not called. To wait for a time, or to be claimed with its places.
const DEFER = `
with waits as materialized (
  select * from unnest($1::bigint[], $4::timestamptz[], $5::jsonb[]) as w(id, run_at, limits)
), ${HELD('defer')}, ${WITHDRAW_ASKED('held')}, deferred as (
  update tock.job_runs_live r
  set status = '${TRANSITIONS.defer.to}', locked_by = null, locked_until = null, attempts = r.attempts - 1,
      run_at = coalesce(w.run_at, r.run_at),
      slot_keys = nullif(coalesce(r.slot_keys, '{}') || array(select l.value ->> 'key' from jsonb_array_elements(w.limits) l), '{}'),
      slot_limits = nullif(coalesce(r.slot_limits, '{}') || array(select (l.value ->> 'limit')::integer from jsonb_array_elements(w.limits) l), '{}')
  from held join waits w using (id) where r.id = held.id and r.cancel_requested_at is null
  returning r.id
), ${FREED('held', 'm.id in (select id from asked)')}, ${TOLD('asked', `'${TRANSITIONS.withdraw.to}'`)}
select ${MOVED}, ${AFTERMATH} from (select id from deferred union all select id from withdrawn) moved`;

/** An outcome and the run it is for. */
export type Finalization = Held & { readonly outcome: Outcome };

/** A part of a batch whose statement failed, and why. The parts beside it were written all the same. */
export interface FailedPart<Each> {
  readonly part: readonly Each[];
  readonly error: unknown;
}

/** What became of a batch, and what is left to be done. */
export interface Finalized<Each> {
  /** The ids that did not move: they were taken away, since their lease had expired. Empty nearly always. */
  readonly lost: ReadonlySet<string>;
  readonly failed: readonly FailedPart<Each>[];
  /** Concurrency keys under which places are free now. */
  readonly freed: readonly string[];
  /** The outbox has rows. */
  readonly told: boolean;
}

/** One row for a statement; `ids`: those that moved, null for all. */
type Moved = Aftermath & { readonly ids: readonly string[] | null };
const NONE_MOVED: Moved = { ids: [], freed: null, told: false };

/**
 * Carries out the outcomes of a batch of attempts: four statements at most, however large the batch. Each commits by
 * itself, unless `session` is a transaction. Does not throw: an error concerns one part, and stands in `failed`.
 */
export async function finalizeRuns<Each extends Finalization>(
  session: Session,
  batch: readonly Each[],
  workerId: string,
): Promise<Finalized<Each>> {
  const lost = new Set<string>();
  const failed: FailedPart<Each>[] = [];
  const freed = new Set<string>();
  let told = false;
  let away: { readonly error: unknown } | null = null;
  for (const [carryOut, part] of parts(inOrder(batch))) {
    if (part.length === 0) continue;
    let answer: Moved;
    try {
      // A server that is away is asked once.
      if (away !== null) throw away.error;
      [answer = NONE_MOVED] = await carryOut(session, part, workerId);
    } catch (error) {
      failed.push({ part, error });
      if (isConnectionFailure(error)) away = { error };
      continue;
    }
    if (answer.ids !== null) {
      const moved = new Set(answer.ids);
      for (const { id } of part) if (!moved.has(id)) lost.add(id);
    }
    for (const key of answer.freed ?? []) freed.add(key);
    told ||= answer.told;
  }
  return { lost, failed, freed: [...freed].sort(), told };
}

type CarryOut = (session: Session, part: readonly Finalization[], workerId: string) => Promise<Moved[]>;

/** A batch by the statements that carry it out. */
function parts<Each extends Finalization>(batch: readonly Each[]): [CarryOut, readonly Each[]][] {
  const of = (transition: Outcome['transition']) =>
    batch.filter(each => each.outcome.transition === transition);
  const others: [CarryOut, readonly Each[]][] = [
    [fail, of('fail')],
    [release, of('release')],
    [defer, of('defer')],
  ];
  const areElsewhere = new Set(others.flatMap(([, part]) => part));
  return [
    [finish, areElsewhere.size === 0 ? batch : batch.filter(each => !areElsewhere.has(each))],
    ...others,
  ];
}

const finish: CarryOut = async (session, part, workerId) => {
  if (part.every(({ outcome }) => outcome.transition === 'succeed' && outcome.output === null))
    return await session.run(FINISH_PLAIN, [...fenced(part), workerId], PREPARED);
  return await session.run(
    FINISH,
    [
      ...fenced(part),
      workerId,
      part.map(each => TRANSITIONS[each.outcome.transition].to),
      part.map(each => json(each.outcome.output)),
      part.map(each => json(each.outcome.error)),
      part.map(each => each.outcome.skipReason),
    ],
    PREPARED,
  );
};

const fail: CarryOut = async (session, part, workerId) =>
  await session.run(FAIL, [
    ...fenced(part),
    workerId,
    part.map(each => json(each.outcome.error)),
    part.map(each => each.outcome.delayMs),
    part.map(each => each.outcome.isSuspect === true),
  ]);

const release: CarryOut = async (session, part, workerId) =>
  await session.run(RELEASE, [
    ...fenced(part),
    workerId,
    part.map(each => json(each.outcome.error)),
    part.map(each => each.outcome.isSuspect === true),
  ]);

const defer: CarryOut = async (session, part, workerId) => {
  const times = part.map(({ outcome }) => {
    const runAt = outcome.deferral?.runAt ?? null;
    return runAt === null ? null : new Date(runAt).toISOString();
  });
  const limits = part.map(({ outcome }) => JSON.stringify(outcome.deferral?.limits ?? []));
  return await session.run(DEFER, [...fenced(part), workerId, times, limits]);
};

// An attempt that ended, but not its run, is back among the live ones, under its own fence and without a holder. So is
// one that was reaped, which says so itself.
const SETTLED = `
select id from tock.job_runs_finished r where ${UNDER_ITS_FENCE} and locked_by = $3
union all
select id from tock.job_runs_live r
where ${UNDER_ITS_FENCE} and locked_by is null and status <> 'running'
  and errors -> -1 ->> 'code' is distinct from 'TOCK_LEASE_LOST'`;

/**
 * Which of these runs ended by this very attempt. For the case that a finalize was sent and its reply was lost:
 * the state is read back, never guessed.
 */
export async function readSettled(
  session: Session,
  held: readonly Held[],
  workerId: string,
): Promise<Set<string>> {
  const rows = await session.run<{ id: string }>(SETTLED, [...fenced(held), workerId]);
  return new Set(rows.map(row => row.id));
}
