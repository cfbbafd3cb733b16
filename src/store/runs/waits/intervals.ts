// Scheduled runs that wait for the occurrences of other definitions in their data intervals. At first such a
// run has no wait: it is due at the end of time, until each of these occurrences has a run. Then it is the
// join of these runs, as that of any group; see groups.ts.
//
//   tick A                                        tick B
//   materializes daily's run, due never;
//   outbox: interval; commits
//                                                 materializes an hourly run, and ends it;
//                                                 outbox: chain; commits
//   takes its row out, locks daily's run          takes its row out, waits for A's lock
//   reads the hourly runs: one is missing
//   commits
//                                                 reads them: all are there; joins daily's run to them
//
// What is missing comes with a tick, a backfill or an edit, each of which is followed by a row of the outbox.
import type { InInterval, IntervalRun } from '../../../model/flow/interval-wait.js';
import type { Session } from '../../connection/database.js';
import { statement } from '../../connection/statement.js';
import { epochMs, readable } from '../../connection/values/readable-instant.js';
import { IS_FROZEN } from '../../definitions/freeze/frozen.js';

/** Whether a run waits for its data interval, of which not all is there: no wait was written for it yet. */
export const lacksInterval = (run: string) =>
  `(${run}.run_at = '9999-12-31' and ${run}.trigger in ('cron', 'backfill') and ${run}.scheduled_for is not null
    and not exists (select from tock.job_waits w where w.run_id = ${run}.id))`;

/** A live run `r` that no wait was written for yet. */
const HAS_NO_WAIT = `r.status = 'queued' and ${lacksInterval('r')}`;

/** Notes that runs of these definitions wait, which is looked at after the commit. */
export const noteIntervals = statement<{ readonly ids: readonly string[] }, unknown>(
  'note-intervals',
  `insert into tock.job_outbox (kind, definition_id) select 'interval', i.id from unnest(:ids::bigint[]) as i(id) order by i.id`,
);

/**
 * The same for those of these definitions that wait for one which the next tick is to materialize. What comes
 * due later, or after a freeze, brings a row itself.
 */
export const noteIfDue = statement<{ readonly ids: readonly string[] }, { readonly count: number }>(
  'note-due-intervals',
  `
with noted as (
  insert into tock.job_outbox (kind, definition_id) select 'interval', d.id from tock.job_definitions d
  where d.id = any(:ids::bigint[]) and not ${IS_FROZEN} and exists (
    select from tock.job_definitions p where p.name = any(array(select jsonb_array_elements_text(d.waits_for -> 'definitions')))
      and p.next_at <= tock.now() and tock.why_stopped(p) is null)
  order by d.id returning id
)
select count(*)::integer as count from noted`,
);

/** The same for all whose runs are not joins yet, and whose definition waits, or is one of those written. */
export const lookAgain = statement<{ readonly written: readonly string[] }, unknown>(
  'look-at-intervals-again',
  `
insert into tock.job_outbox (kind, definition_id) select 'interval', d.id from tock.job_definitions d
where (d.waits_for is not null or d.name = any(:written::text[]))
  and exists (select from tock.job_runs_live r where r.definition_id = d.id and ${HAS_NO_WAIT})
order by d.id`,
);

const INTERVAL_RUN = `r.id::text, d.id::text as definition, ${epochMs(readable('coalesce(r.interval_start, r.scheduled_for)'))} as "from",
  ${epochMs(readable('r.scheduled_for'))} as "to", coalesce(d.waits_for -> 'definitions', '[]') as definitions,
  coalesce(d.waits_for ->> 'on', 'success') as "on"`;

// Two at once: the second waits for the first, and reads what is there in a statement of its own. What a
// tick made says also that its definition has considered what came before it, for all later intervals; what
// stands for several, for any. A run of a backfill concerns the interval that it lies in.
const LOCK = statement<
  {
    readonly own: readonly string[];
    readonly definitions: readonly string[];
    readonly runs: readonly string[];
  },
  { readonly id: string }
>(
  'lock-interval-runs',
  `
with ended as materialized (
  select distinct p.name, n.scheduled_for as at, n.occurrence_count > 1 as is_many, n.trigger = 'backfill' as is_backfilled
  from unnest(:definitions::bigint[], :runs::bigint[]) as e(definition_id, run_id)
  join tock.job_definitions p on p.id = e.definition_id
    and exists (select from tock.job_definitions w where w.waits_for is not null and w.waits_for -> 'definitions' ? p.name)
  join tock.job_runs n on n.id = e.run_id
)
select r.id::text
from tock.job_definitions d join tock.job_runs_live r on r.definition_id = d.id and ${HAS_NO_WAIT}
where d.id = any(:own::bigint[]) or d.waits_for is not null and exists (
  select from ended e where d.waits_for -> 'definitions' ? e.name and (e.is_many or e.at < r.scheduled_for)
    and (not e.is_backfilled or e.at >= coalesce(r.interval_start, r.scheduled_for)))
order by r.id for no key update of r`,
);

const LOCK_ONE = statement<{ readonly id: string }, { readonly id: string }>(
  'lock-interval-run',
  `select r.id::text from tock.job_runs_live r where r.id = :id and ${HAS_NO_WAIT} for no key update`,
);

const NOT_JOINED = statement<{ readonly ids: readonly string[] }, IntervalRun>(
  'read-interval-runs',
  `
select ${INTERVAL_RUN}
from tock.job_runs_live r join tock.job_definitions d on d.id = r.definition_id
where r.id = any(:ids::bigint[]) and ${HAS_NO_WAIT} order by r.id`,
);

/** Rows of the outbox: definitions whose runs wait, and ended runs for which others may wait. */
export interface NewsOfIntervals {
  readonly own: readonly string[];
  readonly ended: readonly { readonly definition_id: string | null; readonly run_id: string }[];
}

const lockConcerned = async (session: Session, { own, ended }: NewsOfIntervals) =>
  await LOCK.run(session, {
    own,
    definitions: ended.map(each => each.definition_id ?? ''),
    runs: ended.map(each => each.run_id),
  });

/**
 * The runs that are not joins yet, locked in the order of their ids: those of the definitions `own`, and
 * those for which it matters that `ended` have; or one by its id.
 */
export async function lockIntervalRuns(
  session: Session,
  which: NewsOfIntervals | { readonly id: string },
): Promise<IntervalRun[]> {
  const locked = 'id' in which ? await LOCK_ONE.run(session, which) : await lockConcerned(session, which);
  if (locked.length === 0) return [];
  return await NOT_JOINED.run(session, { ids: locked.map(({ id }) => id) });
}

/** A run that waits for occurrences, joined to their runs or not. No row: there is none of this id. */
export const readIntervalRun = statement<{ readonly id: string }, IntervalRun>(
  'read-interval-run',
  `
select ${INTERVAL_RUN}
from tock.job_runs_live r join tock.job_definitions d on d.id = r.definition_id
where r.id = :id and r.status = 'queued' and r.run_at = '9999-12-31' and d.waits_for is not null and r.scheduled_for is not null`,
);

interface AskedIntervals {
  readonly runs: readonly string[];
  readonly from: readonly string[];
  readonly to: readonly string[];
  readonly names: readonly string[];
}

// A row of a span names its first occurrence as the start of its interval; that of one occurrence does not.
// Spans have an index: those of all that came later may end after the interval.
const SKIPPED = `
    select o.id, o.definition_id, o.scheduled_for, o.occurrence_count, o.skip_reason, o.scheduled_for as first from tock.job_runs o
    where o.definition_id = u.id and o.status = 'skipped' and o.occurrence_count = 1 and o.scheduled_for >= i."from" and o.scheduled_for < i."to"
    union all
    select p.id, p.definition_id, p.scheduled_for, p.occurrence_count, p.skip_reason, coalesce(p.interval_start, p.scheduled_for) from tock.job_runs p
    where p.definition_id = u.id and p.status = 'skipped' and p.occurrence_count > 1 and p.scheduled_for >= i."from"
      and coalesce(p.interval_start, p.scheduled_for) < i."to"`;

/** For each run and definition that is asked for, in order. What is in no row of it counts for nothing. */
const READ = statement<AskedIntervals, InInterval>(
  'read-intervals',
  `
select i.run_id::text as run, i.name, u.id::text, coalesce(u.cron is not null or u.every_ms is not null or u.at is not null, false) as "hasTimes",
  tock.why_stopped(u) as stop, ${epochMs(readable('u.cursor'))} as cursor, ${epochMs('u.next_at')} as next,
  coalesce(r.list, '[]') as runs, coalesce(s.list, '[]') as skipped
from unnest(:runs::bigint[], :from::timestamptz[], :to::timestamptz[], :names::text[]) with ordinality as i(run_id, "from", "to", name, place)
left join tock.job_definitions u on u.name = i.name
cross join lateral (
  select jsonb_agg(jsonb_build_object('id', r.id::text, 'at', ${epochMs('r.scheduled_for')}, 'status', r.status) order by r.scheduled_for, r.id) as list
  from tock.job_runs r
  where r.definition_id = u.id and r.scheduled_for >= i."from" and r.scheduled_for < i."to" and r.status <> 'skipped') r
cross join lateral (
  select jsonb_agg(jsonb_build_object('id', s.id::text, 'first', ${epochMs('s.first')}, 'last', ${epochMs('s.scheduled_for')}, 'reason', s.skip_reason,
    'standsForThem', case when s.skip_reason = 'catchup' then (
      select jsonb_build_object('id', n.id::text, 'at', ${epochMs('n.scheduled_for')}, 'status', n.status) from (
        select n.id, n.occurrence_count, n.scheduled_for, n.status from tock.job_runs n
        where n.definition_id = s.definition_id and n.scheduled_for > s.scheduled_for and n.status <> 'skipped' order by n.scheduled_for limit 1) n
      where n.occurrence_count > s.occurrence_count) end) order by s.scheduled_for, s.id) as list
  from (${SKIPPED}) s) s
order by i.place`,
);

/** What is on record of the definitions that runs wait for, in the data interval of each. */
export async function readIntervals(session: Session, runs: readonly IntervalRun[]): Promise<InInterval[]> {
  const asked = runs.flatMap(({ id, from, to, definitions }) =>
    definitions.map(name => ({ id, from, to, name })),
  );
  if (asked.length === 0) return [];
  const iso = (ms: number) => new Date(ms).toISOString();
  return await READ.run(session, {
    runs: asked.map(({ id }) => id),
    from: asked.map(({ from }) => iso(from)),
    to: asked.map(({ to }) => iso(to)),
    names: asked.map(({ name }) => name),
  });
}
