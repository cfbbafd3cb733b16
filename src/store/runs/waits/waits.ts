// What runs wait for whose handlers end to wait (job_waits). A wait is on record before its handler ends, and
// is looked at once more after that: what it is for may have been committed in between, unseen by it.
//
//   worker A, holds run 1 under fence 1             caller, or worker B
//   no such wait: insert it; commit                 commits an event: there is no wait that it sees
//   look: the event is there, the wait is over      outbox: the wait is over already
//   commit; the handler goes on
//
// Where the look finds nothing, the outbox comes later, and finds the wait. The run may be about to end its
// attempt then; so the statement that suspends it asks again, under the lock of the run (wait_is_over).
import type { WaitKind, WaitOutcome } from '../../../model/run/run-wait.js';
import type { Session } from '../../connection/database.js';
import { opaqueToPlanner, statement } from '../../connection/statement.js';
import type { QueueLane } from '../claim/claim.js';
import { HELD_ROW, type LeaseHolder } from '../effects.js';
import { fairRunsCome } from '../fair/slots.js';
import { insertFinished, isoText, writeOutbox } from '../transition.js';

/** A wait that a handler names. */
export interface AskedWait extends LeaseHolder {
  readonly kind: WaitKind;
  readonly name: string;
  readonly key: string;
  readonly delayMs: number | null;
  /** ISO texts. */
  readonly until: string | null;
  readonly since: string | null;
  /** The ids of the runs that it is for, in order; null: for none. */
  readonly runs: readonly string[] | null;
}

export interface OpenedWait {
  readonly id: string;
  /** Runs that are neither live, nor ended, nor to follow a live one: then nothing is begun. */
  readonly unknown: readonly string[] | null;
  readonly outcome: WaitOutcome | null;
  /** JSON. */
  readonly result: string | null;
  /** Epoch milliseconds; null: not at a time. */
  readonly until: number | null;
  readonly isOver: boolean;
}

const RETURNED = 'w.id, w.outcome, w.result, w.until';

/**
 * Begins a wait if there is none of this name. No row: the lease is lost. Whoever is waited for is marked, so
 * that its end is written to the outbox; the marks, sorted, wait for claims and heartbeats of those runs.
 */
export const openWait = statement<AskedWait, OpenedWait>(
  'open-wait',
  `
with found as materialized (
  select ${RETURNED} from tock.job_waits w where w.run_id = :id and w.kind = :kind and w.name = :name and w.key = :key
), unknown as materialized (
  select a.run_id from unnest(:runs::bigint[]) as a(run_id)
  where not exists (select from found) and not exists (select from tock.job_runs r where r.id = a.run_id)
    and not exists (select from tock.job_successors s where s.run_id = a.run_id)
), made as (
  insert into tock.job_waits as w (run_id, kind, name, key, until, since)
  select r.id, :kind, :name, :key, coalesce(:until::timestamptz, tock.now() + :delayMs::float8 * interval '1 millisecond'),
    coalesce(:since::timestamptz, r.created_at)
  from tock.job_runs_live r
  where r.id = :id and not exists (select from found) and not exists (select from unknown) and exists (${HELD_ROW})
  returning ${RETURNED}
), awaited as (
  insert into tock.job_awaited_runs (wait_id, position, run_id)
  select made.id, a.position, a.run_id from made cross join unnest(:runs::bigint[]) with ordinality as a(run_id, position)
  returning run_id
), unmarked as materialized (
  select r.id from tock.job_runs_live r where r.id = any(array(select a.run_id from awaited a)) and r.has_waiters is null
  order by r.id for no key update
), marked as (
  update tock.job_runs_live r set has_waiters = true where r.id = any(array(select u.id from unmarked u))
)
select o.id::text, o.outcome, o.result::text, (extract(epoch from o.until) * 1000)::float8 as until,
  coalesce(o.until <= tock.now(), false) as "isOver", (select array_agg(u.run_id::text) from unknown u) as unknown
from (values (1)) as one left join (select * from made union all select * from found where exists (${HELD_ROW})) o on true
where o.id is not null or exists (select from unknown)`,
);

/** Whose waits may be over: those of events, of ended runs, and these. */
interface MayBeOver {
  readonly events: readonly string[];
  readonly runs: readonly string[];
  /** For the ends of these, a wait has begun that they do not know. */
  readonly awaited: readonly string[];
  /** Waits of runs that the caller holds. */
  readonly waits: readonly string[];
}

export interface EndedWait {
  readonly id: string;
  /** `cancelled`: not the wait is over, but its run; that is not on record, as a retry of it waits on. */
  readonly outcome: WaitOutcome | 'cancelled';
  /** JSON. */
  readonly result: string | null;
}

/** Whether an awaited run `a` is still to end. */
const IS_LIVE = `(exists (select from tock.job_runs_live l where l.id = a.run_id)
  or exists (select from tock.job_successors s where s.run_id = a.run_id))`;

const OF_WAITS =
  'select w.id, w.run_id from tock.job_waits w where w.id = any(:waits::bigint[]) and w.outcome is null';
const OF_RUNS = `select w.id, w.run_id from tock.job_awaited_runs a join tock.job_waits w on w.id = a.wait_id and w.outcome is null
  where a.run_id = any(:runs::bigint[])`;
const ofEvents = (ids: string) => `select w.id, w.run_id from tock.job_events e cross join lateral (
    select w.id, w.run_id from tock.job_waits w
    where w.kind = 'event' and w.outcome is null and w.name = e.name and w.key = e.key and w.since <= e.created_at) w
  where e.id = any(${ids})`;

/** The event that a wait `w` gets. */
const EVENT = `select jsonb_build_object('id', e.id::text, 'payload', e.payload, 'emittedAt', ${isoText('e.created_at')})
    from tock.job_events e where e.name = w.name and e.key = w.key and e.created_at >= w.since order by e.id limit 1`;

const HAVE_ENDED = `w.kind in ('runs', 'group') and not tock.has_live_runs(w.id)
      and (w.needs_success is not true or not exists (
        select from tock.job_awaited_runs a where a.wait_id = w.id
          and coalesce(a.status, (select f.status from tock.job_runs_finished f where f.id = a.run_id), 'pruned') <> 'succeeded'))`;

const candidates = (sources: string, others = '') => `candidate as materialized (
  ${sources}
), locked as materialized (
  select r.id from tock.job_runs_live r where r.id = any(array(select c.run_id from candidate c)${others}) order by r.id for no key update
)`;

// The ids as arrays: the planner answers joins by reading all waits, where few of them are taken for many.
// The run is resumed by its id alone, not by its state: an UPDATE compares the row of its snapshot, and the
// run may be suspended meanwhile.
const ending = (waits: string, outcome: string, held = `'{}'`) => `over as materialized (
  select w.id, w.run_id, e.result, ${outcome} as outcome
  from tock.job_waits w left join lateral (select case when w.kind = 'event' then (${EVENT}) end as result) e on true
  where w.id = any(${waits}) and exists (select from tock.job_runs_live r where r.id = w.run_id)
), ended as (
  update tock.job_waits w set outcome = o.outcome, result = o.result, ended_at = tock.now()
  from over o where w.id = o.id and w.id = any(array(select o.id from over o where o.outcome is not null)) and w.outcome is null
  returning w.id, w.run_id, w.outcome, w.result
), resumed as (
  update tock.job_runs_live r set run_at = case when r.status = 'queued' then least(r.run_at, tock.now()) else r.run_at end
  where r.id = any(array(select e.run_id from ended e where e.id <> all(${held}::bigint[])))
  returning r.queue, r.priority, r.blocked_on
), ${fairRunsCome('resumed')}`;
const OF_CANDIDATES = 'array(select c.id from candidate c join locked on locked.id = c.run_id)';

const IF_EVENT = `when e.result is not null then 'event'`;
const IF_LATE = `when w.until <= tock.now() then case w.kind when 'sleep' then 'time' else 'timeout' end`;

// A statement of its own: the next one decides by a snapshot that is taken under these locks. A retry of an
// awaited run takes back what was noted of its end, under the lock of the wait, and the decision must see all
// of that or nothing. Runs first, in the order of their ids. A run that is marked here either ends after this
// commit, with the mark, or has ended before the next statement, which sees that.
const LOCK_WAITS = statement<MayBeOver, LockedWait>(
  'lock-waits',
  `
with ${candidates([OF_WAITS, ofEvents(':events::bigint[]'), OF_RUNS].join('\n  union\n  '), ' || :awaited::bigint[]')}, marked as (
  update tock.job_runs_live r set has_waiters = true
  where r.id = any(:awaited::bigint[]) and r.has_waiters is null and (select count(*) from locked) > 0
)
select w.id::text, w.cancels from tock.job_waits w
where w.id = any(array(select c.id from candidate c)) and (select count(*) from locked) >= 0 and w.outcome is null
order by w.id for no key update`,
);

interface LockedWaits {
  readonly locked: readonly string[];
  readonly runs: readonly string[];
  /** Of runs that the caller holds. */
  readonly held: readonly string[];
}

// Decided by the states of the runs in this statement's snapshot, never by counting ends. Each end is
// followed by such a statement, and the one whose snapshot is the latest sees all of them.
const END_WAITS = statement<LockedWaits, EndedWait>(
  'end-waits',
  `
with ${ending(
    ':locked::bigint[]',
    `case ${IF_EVENT} when ${HAVE_ENDED} then 'ended' ${IF_LATE} end`,
    ':held',
  )}, unnoted as materialized (
    select a.wait_id, a.position, a.run_id from tock.job_awaited_runs a where a.run_id = any(:runs::bigint[]) and a.status is null
    union
    select a.wait_id, a.position, a.run_id from tock.job_awaited_runs a
    where a.wait_id = any(:held::bigint[] || array(select o.id from over o where o.outcome = 'ended')) and a.status is null
  ), noted as (
  update tock.job_awaited_runs a
  set status = coalesce(f.status, 'pruned'), output = f.output, error = case f.status when 'dead' then f.errors -> -1 ->> 'message' else f.skip_reason end
  from (
    select a.wait_id, a.position, f.status, f.output, f.errors, f.skip_reason from unnoted a left join tock.job_runs_finished f on f.id = a.run_id
    where f.id is not null or not ${IS_LIVE}
    order by a.wait_id, a.position
  ) f
  where a.wait_id = f.wait_id and a.position = f.position and a.status is null
)
select id::text, outcome, result::text, (select count(*) from come) as come from ended`,
);

// What waits for others has no slot, and nobody waits behind it. Its own children are in the outbox then.
const CANCEL_CHILDREN = statement<{ readonly waits: readonly string[] }, EndedWait>(
  'cancel-children',
  `
with failed as materialized (
  select distinct on (w.id) w.id as wait_id, w.run_id, 'parent ' || case when a.name = a.run_id::text then '' else a.name || ' ' end
    || '(run ' || a.run_id || ') ' || case a.status when 'dead' then 'is dead' when 'pruned' then 'was removed' else 'was ' || a.status end as reason
  from tock.job_waits w join tock.job_awaited_runs a on a.wait_id = w.id and a.status <> 'succeeded'
  where w.id = any(:waits::bigint[]) and w.cancels and w.outcome is null order by w.id, a.position
), gone as (
  delete from tock.job_runs_live r using failed f where r.id = f.run_id and r.status = 'queued' returning r.*, f.wait_id, f.reason
), cancelled as (
  ${insertFinished('gone', { status: `'cancelled'`, skip_reason: 'reason' })}
), ${writeOutbox('gone', `'cancelled'`)}
select g.wait_id::text as id, 'cancelled' as outcome, null as result from gone g`,
);

/** A wait that may be over, locked with its run. */
export interface LockedWait {
  readonly id: string;
  readonly cancels: boolean | null;
}

const allOf = (mayBeOver: Partial<MayBeOver>): MayBeOver => ({
  events: [],
  waits: [],
  awaited: [],
  ...mayBeOver,
  runs: [...(mayBeOver.runs ?? []), ...(mayBeOver.awaited ?? [])],
});

/** Locks those waits that may be over, until the transaction ends. */
export async function lockWaits(session: Session, mayBeOver: Partial<MayBeOver>): Promise<LockedWait[]> {
  return await LOCK_WAITS.run(session, allOf(mayBeOver));
}

/** As {@link endWaits}, of waits that are locked. */
export async function endLocked(
  session: Session,
  waits: readonly LockedWait[],
  mayBeOver: Partial<MayBeOver>,
): Promise<EndedWait[]> {
  if (waits.length === 0) return [];
  const { runs, waits: held } = allOf(mayBeOver);
  const ended = await END_WAITS.run(session, { locked: waits.map(({ id }) => id), runs, held });
  const cancelling = waits.filter(({ cancels }) => cancels).map(({ id }) => id);
  if (cancelling.length === 0) return ended;
  return [...ended, ...(await CANCEL_CHILDREN.run(session, { waits: cancelling }))];
}

/**
 * Ends those waits that are over, and makes their runs due. Of several that do so at once, one ends each
 * wait. Runs of flows are cancelled where a parent has failed that cancels them; what follows from that is in
 * the outbox. The session must be in a transaction.
 */
export async function endWaits(session: Session, mayBeOver: Partial<MayBeOver>): Promise<EndedWait[]> {
  return await endLocked(session, await lockWaits(session, mayBeOver), mayBeOver);
}

/** Ends a wait of a run that the caller holds, for a time or an event, if it is over. */
export const endOwnWait = statement<{ readonly wait: string }, EndedWait>(
  'end-own-wait',
  `
with ${ending('array[:wait::bigint]', `case ${IF_EVENT} ${IF_LATE} end`, 'array[:wait::bigint]')}
select id::text, outcome, result::text from ended`,
);

// Nothing is lost where its commit does not reach the disk: then the outbox has the rows still.
const RESUME_FOR_EVENTS = statement<{ readonly limit: number }, Resumed>(
  'resume-for-events',
  `
with taken as (
  delete from tock.job_outbox o where o.id = any(array(
    select f.id from tock.job_outbox f where f.kind = 'event' order by f.id limit ${opaqueToPlanner('limit', 'integer')} for update skip locked))
  returning o.event_id
), ${candidates(ofEvents('array(select t.event_id from taken t)'))}, ${ending(OF_CANDIDATES, `case ${IF_EVENT} end`)}, lanes as (
  select queue, priority, tock.wake(array[queue], 'queued:' || priority || ':' || queue)::text from resumed group by 1, 2
)
select (select count(*) from taken)::integer as taken, (select count(*) from come) as come, set_config('synchronous_commit', 'off', true) as commit,
  (select jsonb_agg(jsonb_build_object('queue', l.queue, 'priority', l.priority)) from lanes l) as lanes`,
  { prepared: true },
);

interface Resumed {
  readonly taken: number;
  readonly lanes: readonly QueueLane[] | null;
}

/** Takes events out of the outbox, ends the waits for them, and says in which lanes runs are due now. */
export async function resumeForEvents(session: Session, limit: number): Promise<Resumed> {
  const row = await RESUME_FOR_EVENTS.first(session, { limit });
  return row ?? { taken: 0, lanes: null };
}

/** How an awaited run has ended. */
export interface AwaitedRun {
  readonly id: string;
  readonly status: string;
  /** JSON. */
  readonly output: string | null;
  /** Why it did not succeed. */
  readonly error: string | null;
}

/** In the order in which the wait names them. */
export const readAwaited = statement<{ readonly wait: string }, AwaitedRun>(
  'read-awaited',
  `
select a.run_id::text as id, a.status, a.output::text, a.error from tock.job_awaited_runs a
where a.wait_id = :wait and a.status is not null order by a.position`,
);

/** Marks a run that has just been made, before others can see it. */
export const markAwaited = statement<{ readonly id: string }, unknown>(
  'mark-awaited',
  'update tock.job_runs_live set has_waiters = true where id = :id and has_waiters is null',
);
