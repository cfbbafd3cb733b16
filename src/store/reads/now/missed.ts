// What was missed while nothing ticked, everything was frozen or a definition was paused, and has no run yet.
//
// Where nothing of that was in the last day, no run is looked at.
import type { Session } from '../../connection/database.js';
import { statement } from '../../connection/statement.js';
import { instant } from '../../connection/values/readable-instant.js';
import { SILENCES } from '../ticks.js';

/** For so long after its end. */
const HOURS = 24;
/** Around the end of an outage: its last tick, which materializes, is noted once it has. */
const CAUGHT_UP_WITHIN = '10 minutes';
/** Ended runs that are looked at for each outage, the first ones; materializing comes first in a tick. */
const MAX_ENDED = 20_000;
/** A definition’s last pause has one row; runs that a backfill has made may stand at the same time. */
const MAX_LATEST = 5;

/** Why occurrences were missed. */
export type MissedCause = 'silence' | 'freeze' | 'pause';

// Silences come first: of a freeze in which nothing ticked, they tell more.
const OUTAGES = `
  select 1 as rank, 'silence' as cause, s."from", s.until, s.until as over_at from (${SILENCES}) s
  where s.until > tock.now() - interval '${HOURS} hours'
  union all
  select 2, 'freeze', f.began_at, f.until, coalesce(f.ended_at, f.until) from tock.freezes f
  where f.until > tock.now() - interval '${HOURS} hours' and f.until <= tock.now()`;

const ROW = 'f.id, f.finished_at, f.status, f.skip_reason, f.trigger, f.definition_id, f.scheduled_for';
// In the row of a run that came too late, interval_start is the occurrence before.
const FIRST = `case when f.skip_reason = 'deadline' then f.scheduled_for else f.interval_start end as first`;
const COUNT = `case when f.skip_reason = 'deadline' then 1 else f.occurrence_count end as count`;

// What has another run than the row that stands for it, was made since. What an operator has skipped or moved
// is in no span.
const GAPS = `
outages as materialized (${OUTAGES}
), skipped as (
  select o.rank, o.cause, o."from", o.until, r.* from outages o cross join lateral (
    select ${ROW}, ${FIRST}, ${COUNT} from tock.job_runs_finished f
    where f.finished_at > o.until - interval '${CAUGHT_UP_WITHIN}' and f.finished_at < o.over_at + interval '${CAUGHT_UP_WITHIN}'
    order by f.finished_at limit ${MAX_ENDED}) r
  where r.status = 'skipped' and r.skip_reason in ('catchup', 'deadline') and r.scheduled_for >= o."from" and r.first <= o.until
  union all
  select 3, 'pause', null, null, r.* from tock.job_definitions d cross join lateral (
    select ${ROW}, ${FIRST}, ${COUNT} from tock.job_runs_finished f
    where f.definition_id = d.id and f.scheduled_for <= d.resumed_at
    order by f.scheduled_for desc limit ${MAX_LATEST}) r
  where d.resumed_at > (select tock.now() - interval '${HOURS} hours') and r.status = 'skipped' and r.skip_reason = 'paused'
    and r.finished_at > (select tock.now() - interval '${HOURS} hours')
), gaps as materialized (
  select distinct on (s.id) s.id, s.cause, s.skip_reason, s."from", s.until, s.definition_id, d.name, s.first, s.scheduled_for as last,
    s.count, t.taken
  from skipped s join tock.job_definitions d on d.id = s.definition_id
  cross join lateral (
    select count(*)::integer as taken from tock.job_occurrences o
    where o.definition_id = s.definition_id and o.scheduled_for between s.first and s.scheduled_for and o.run_id <> s.id
      and not exists (select from tock.job_exceptions e where e.definition_id = o.definition_id and e.scheduled_for = o.scheduled_for)) t
  where s.trigger = 'cron' and s.count > t.taken and d.vanished_at is null and d.broken_at is null
    and (d.cron is not null or d.every_ms is not null or d.at is not null)
  order by s.id, s.rank
)`;

/** What one outage, or all pauses together, left out. */
export interface MissedTogether {
  readonly cause: MissedCause;
  /** Null: pauses, each of which has its own time. */
  readonly from: Date | null;
  readonly until: Date | null;
  readonly occurrences: number;
  /** How many definitions have missed anything, by whatever cause. */
  readonly definitions: number;
}

const READ_TOGETHER = statement<object, MissedTogether>(
  'read-missed-together',
  `
with ${GAPS}
select cause, ${instant('"from"')} as "from", ${instant('until')} as until, sum(count - taken)::float8 as occurrences,
  (select count(distinct definition_id)::integer from gaps) as definitions
from gaps group by cause, gaps."from", gaps.until order by gaps."from" nulls last`,
);

/** What was missed in the last day and has no run yet, by cause. */
export async function readMissedTogether(session: Session): Promise<MissedTogether[]> {
  return await READ_TOGETHER.run(session, {});
}

/** Occurrences of one definition that one skipped row stands for. */
export interface MissedSpan {
  /** The row. */
  readonly runId: string;
  readonly definition: string;
  readonly cause: MissedCause;
  /** Its runs were made, and came too late to start. */
  readonly isTooLate: boolean;
  readonly first: Date;
  /** Included. */
  readonly last: Date;
  /** How many of them have no run yet. */
  readonly missed: number;
  /** How many have a run. */
  readonly taken: number;
  /** Those that an operator has skipped or moved, in epoch milliseconds: in no count. */
  readonly excepted: readonly number[];
}

const READ_SPANS = statement<{ readonly limit: number }, MissedSpan>(
  'read-missed-spans',
  `
with ${GAPS}
select g.id::text as "runId", g.name as definition, g.cause, g.skip_reason = 'deadline' as "isTooLate", ${instant('g.first')} as first, ${instant('g.last')} as last,
  g.count - g.taken as missed, g.taken, array(
    select (extract(epoch from e.scheduled_for) * 1000)::float8 from tock.job_exceptions e
    where e.definition_id = g.definition_id and e.scheduled_for between g.first and g.last order by e.scheduled_for) as excepted
from gaps g order by g.name, g.first limit :limit`,
);

/** The spans of it, by name. */
export async function readMissedSpans(session: Session, limit: number): Promise<MissedSpan[]> {
  return await READ_SPANS.run(session, { limit });
}
