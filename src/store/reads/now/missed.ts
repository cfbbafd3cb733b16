// What silences, freezes and pauses have left out, and has no run yet.
//
// Where nothing of that was in the last day, no run is looked at.
import type { Session } from '../../connection/database.js';
import { statement } from '../../connection/statement.js';
import { instant } from '../../connection/values/readable-instant.js';
import { beganAt, SILENCES } from '../ticks.js';

/** For so long after its end. */
const HOURS = 24;
/** A deploy is no outage. */
const LEAST = '5 minutes';
/** Of a host that comes and goes, the latest. */
const MAX_OUTAGES = 20;
/** Around the end of an outage: its last tick, which materializes, is noted once it has. */
const CAUGHT_UP_WITHIN = '10 minutes';
/** Skipped rows of one outage, the first ones. */
const MAX_SKIPPED = 20_000;
/** A definition’s last pause has one row; runs that a backfill has made may stand at the same time. */
const MAX_LATEST = 5;

/** Why occurrences were left out. */
export type MissedCause = 'silence' | 'freeze' | 'pause';

// Silences come first: of a freeze in which nothing ticked, they tell more.
const OUTAGES = `
  select o.*, case o.cause when 'silence' then ${beganAt('o."from"', 'o.until')} else o."from" end as began from (
    select 1 as rank, 'silence' as cause, s."from", s.until, s.until as over_at from (${SILENCES}) s
    union all
    select 2, 'freeze', f.began_at, f.until, coalesce(f.ended_at, f.until) from tock.freezes f where f.until <= tock.now()) o
  where o.until > tock.now() - interval '${HOURS} hours' and o.until - o."from" >= interval '${LEAST}'
  order by o.until desc limit ${MAX_OUTAGES}`;

const ROW = 'f.id, f.skip_reason, f.trigger, f.definition_id, f.scheduled_for';
// In the row of a run that came too late, interval_start is the occurrence before.
const FIRST = `case when f.skip_reason = 'deadline' then f.scheduled_for else f.interval_start end`;
const COUNT = `case when f.skip_reason = 'deadline' then 1 else f.occurrence_count end as count`;

// What has another run than the row that stands for it, was made since. What an operator has skipped or moved
// is in no span, but a moved one that came too late has a row of its own. Of a window outside of which
// everything is skipped, the rows do not say what would have run.
const GAPS = `
outages as materialized (${OUTAGES}
), skipped as materialized (
  select o.rank, o.cause, o.began as "from", o.until, r.* from outages o cross join lateral (
    select ${ROW}, ${FIRST} as first, ${COUNT} from tock.job_runs_finished f
    where f.finished_at > greatest(o."from", o.until - interval '${CAUGHT_UP_WITHIN}') and f.finished_at < o.over_at + interval '${CAUGHT_UP_WITHIN}'
      and f.status = 'skipped' and f.skip_reason in ('catchup', 'deadline') and f.scheduled_for >= o."from" and ${FIRST} <= o.until
    order by f.finished_at limit ${MAX_SKIPPED}) r
  union all
  select 3, 'pause', null, null, r.id, r.skip_reason, r.trigger, r.definition_id, r.scheduled_for, r.first, r.count
  from tock.job_definitions d cross join lateral (
    select ${ROW}, ${FIRST} as first, ${COUNT}, f.status, f.finished_at from tock.job_runs_finished f
    where f.definition_id = d.id and f.scheduled_for <= d.resumed_at
    order by f.scheduled_for desc limit ${MAX_LATEST}) r
  where d.resumed_at > (select tock.now() - interval '${HOURS} hours') and r.status = 'skipped' and r.skip_reason = 'paused'
    and r.finished_at > (select tock.now() - interval '${HOURS} hours')
), gaps as materialized (
  select distinct on (s.id) s.id, s.cause, s.skip_reason, s."from", s.until, s.definition_id, d.name, d.catchup, s.first, s.scheduled_for as last,
    s.count, t.taken
  from skipped s join tock.job_definitions d on d.id = s.definition_id
  cross join lateral (
    select count(*)::integer as taken from tock.job_occurrences o
    where o.definition_id = s.definition_id and o.scheduled_for between s.first and s.scheduled_for and o.run_id <> s.id
      and not exists (select from tock.job_exceptions e where e.definition_id = o.definition_id and e.scheduled_for = o.scheduled_for)) t
  where s.trigger = 'cron' and s.count > t.taken and d.vanished_at is null and d.broken_at is null
    and (d.cron is not null or d.every_ms is not null or d.at is not null) and d.remaining_count is distinct from 0
    and (d.active_window is null or d.outside_window = 'defer')
    and not exists (select from tock.job_exceptions e where e.definition_id = s.definition_id and e.scheduled_for = s.scheduled_for)
  order by s.id, s.rank
)`;

/** Occurrences of one definition that one skipped row stands for. */
export interface MissedSpan {
  /** The row. */
  readonly runId: string;
  readonly definition: string;
  readonly cause: MissedCause;
  /** When the outage began, and ended; null: a pause. */
  readonly from: Date | null;
  readonly until: Date | null;
  /** Its runs were made, and came too late to start. */
  readonly isTooLate: boolean;
  readonly first: Date;
  /** Included. */
  readonly last: Date;
  /** The occurrence whose run stands for them, by `latest`. */
  readonly stoodForBy: Date | null;
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
select g.id::text as "runId", g.name as definition, g.cause, ${instant('g."from"')} as "from", ${instant('g.until')} as until,
  g.skip_reason = 'deadline' as "isTooLate", ${instant('g.first')} as first, ${instant('g.last')} as last, ${instant('stands.at')} as "stoodForBy",
  g.count - g.taken as missed, g.taken, array(
    select (extract(epoch from e.scheduled_for) * 1000)::float8 from tock.job_exceptions e
    where e.definition_id = g.definition_id and e.scheduled_for between g.first and g.last order by e.scheduled_for) as excepted
from (select * from gaps order by name, first limit :limit) g
left join lateral (
  select r.scheduled_for as at
  from (
    select o.run_id from tock.job_occurrences o
    where o.definition_id = g.definition_id and o.scheduled_for > g.last
      and not exists (select from tock.job_exceptions e where e.definition_id = o.definition_id and e.scheduled_for = o.scheduled_for)
    order by o.scheduled_for limit 1) o
  join tock.job_runs r on r.id = o.run_id
  where r.occurrence_count > 1 and r.interval_start >= g.last and r.status <> 'skipped') stands on g.skip_reason = 'catchup' and g.catchup = 'latest'
order by g.name, g.first`,
);

/** What was left out in the last day and has no run yet, by name. */
export async function readMissedSpans(session: Session, limit: number): Promise<MissedSpan[]> {
  return await READ_SPANS.run(session, { limit });
}
