// Counts ended runs by minute, and sums them up by hour.
//
// The process that counts holds the lock of the one row of figures_progress, so only one counts at a time.
// A minute is counted for good once no transaction can add to it. A run's end has the time at which its
// statement began, and is seen when its transaction commits:
//
//   worker A                            process B, which counts           figures_progress
//   12:00:59 begin; a run ends
//                                       12:01:10 watch: A is writing      watched_until 12:01, writers {A}
//                                       12:02:10 A is still there         (12:00 is read as it is)
//   12:02:30 commit
//                                       12:03:10 A is gone:               final_until 12:01
//                                       count 12:00, A's run included
//
// Writers are known by their lock on job_runs_finished, which each statement that ends runs asks for as it
// begins, and its transaction keeps. A is seen by the count: a transaction's rows can be seen before its
// locks are released, and the count is a statement of its own, after the look at the locks. ADR 0027.
import {
  HOUR_MS,
  MINUTES_KEPT_MS,
  type RollUpProgress,
  type RollUpStep,
} from '../../model/metrics/roll-up.js';
import type { Session } from '../connection/database.js';
import { statement } from '../connection/statement.js';
import { epochMs } from '../connection/values/readable-instant.js';
import { COUNTS, countEnded, eachBucket, FIGURES, HISTOGRAMS, KEY, sumOfFigures } from './ended-runs.js';

const KEEP_MINUTES = `interval '${MINUTES_KEPT_MS / HOUR_MS} hours'`;
const KEEP_HOURS = `interval '13 months'`;
/** With each hour, at most this many old rows and twice as many as were added are deleted. */
const MAX_DELETED = 20_000;

/** Columns of a {@link RollUpProgress}, of a row `p` of figures_progress. */
const PROGRESS = `${epochMs('tock.now()')} as now, ${epochMs('p.final_until')} as "finalUntil", ${epochMs('p.counted_until')} as "countedUntil",
  ${epochMs('p.hours_until')} as "hoursUntil", ${epochMs('p.watched_until')} as "watchedUntil",
  ${epochMs('(select min(m.at) from tock.figures_by_minute m where m.at >= p.hours_until)')} as "firstMinute"`;

// The locks of this database's transactions on the finished runs, held or waited for.
const WRITERS = `select l.virtualtransaction from pg_locks l
  where l.locktype = 'relation' and l.mode = 'RowExclusiveLock' and l.relation = 'tock.job_runs_finished'::regclass
    and l.database = (select d.oid from pg_database d where d.datname = current_database())`;

const IS_DUE = statement<object, { isDue: boolean }>(
  'are-figures-due',
  `select p.final_until <= tock.now() - interval '70 seconds' or p.counted_until > tock.now()
    or p.hours_until <= p.final_until - interval '1 hour' as "isDue"
  from tock.figures_progress p`,
);

/** Whether there is, perhaps, something to count: reads one row. */
export async function areFiguresDue(session: Session): Promise<boolean> {
  return (await IS_DUE.first(session, {}))?.isDue === true;
}

// The planner takes a span of the history for more than it is, and would compile the count.
const LOCK = statement<object, RollUpProgress>(
  'lock-figures',
  `
select set_config('jit', 'off', true) as jit, ${PROGRESS}, not exists (${WRITERS} and l.virtualtransaction = any(p.writers)) as "writersEnded"
from tock.figures_progress p for update of p skip locked`,
);

/** Locks the progress until the transaction ends, and turns JIT off. Undefined: another process counts. */
export async function lockProgress(session: Session): Promise<RollUpProgress | undefined> {
  return await LOCK.first(session, {});
}

const READ = statement<object, Pick<RollUpProgress, 'now' | 'hoursUntil' | 'countedUntil'>>(
  'read-figures-progress',
  `select ${epochMs('tock.now()')} as now, ${epochMs('p.hours_until')} as "hoursUntil", ${epochMs('p.counted_until')} as "countedUntil"
  from tock.figures_progress p`,
);

/** How far the figures are, without a lock. */
export async function readProgress(
  session: Session,
): Promise<Pick<RollUpProgress, 'now' | 'hoursUntil' | 'countedUntil'>> {
  const row = await READ.first(session, {});
  if (!row) throw new Error('figures_progress has no row');
  return row;
}

const WATCH = statement<{ until: Date }, { count: number }>(
  'watch-writers',
  `update tock.figures_progress set watched_until = :until, writers = array(select distinct w.virtualtransaction from (${WRITERS}) w)
  returning cardinality(writers) as count`,
);

/** Notes who is writing finished runs. Returns how many. */
export async function watchWriters(session: Session, until: number): Promise<number> {
  return (await WATCH.first(session, { until: new Date(until) }))?.count ?? 0;
}

// A count replaces an earlier one of the same minute. Only if it is not lower: counters never fall.
const REPLACE = `on conflict (at, ${KEY}) do update set ${[...COUNTS, ...HISTOGRAMS]
  .map(column => `${column} = excluded.${column}`)
  .join(', ')} where excluded.run_count >= f.run_count`;

const COUNT = statement<{ from: Date; to: Date; isFinal: boolean }, { runs: number }>(
  'count-ended-runs',
  `
with ${countEnded('figures')}, written as (
  insert into tock.figures_by_minute as f (at, ${FIGURES}) select at, ${FIGURES} from figures order by at, ${KEY}
  ${REPLACE} returning at
), forgotten as (
  delete from tock.figures_retried r where r.finished_at < :to and :isFinal::boolean
), moved as (
  update tock.figures_progress p set counted_until = greatest(p.counted_until, :to),
    final_until = case when :isFinal then :to else p.final_until end
)
select coalesce(sum(run_count), 0)::float8 as runs from figures`,
);

const addBuckets = (column: string) =>
  `${column} = ${eachBucket(`coalesce(t.${column}, excluded.${column}) is not null`, 'bigint', n => `coalesce(t.${column}[${n}], 0) + coalesce(excluded.${column}[${n}], 0)`)}`;

// Old counts are deleted by ctid: with statistics of a nearly empty table, a join by the key is a loop over
// both sides.
const SUM = statement<{ from: Date; to: Date }, { hours: number }>(
  'sum-up-hours',
  `
with hours as materialized (
  select date_bin('1 hour', m.at, 'epoch') as at, ${KEY}, ${sumOfFigures('m')}
  from tock.figures_by_minute m where m.at >= :from and m.at < :to group by 1, ${KEY}
), kept as (
  insert into tock.figures_by_hour as f (at, ${FIGURES})
  select at, ${KEY}, ${COUNTS.join(', ')}, ${HISTOGRAMS.map(column => `${column}::integer[]`).join(', ')} from hours order by at, ${KEY}
  ${REPLACE}
), added as (
  insert into tock.figures_total as t (last_at, ${FIGURES})
  select max(h.at), ${KEY}, ${sumOfFigures('h')} from hours h group by ${KEY} order by ${KEY}
  on conflict (${KEY}) do update set last_at = greatest(t.last_at, excluded.last_at),
    ${COUNTS.map(column => `${column} = t.${column} + excluded.${column}`).join(', ')},
    ${HISTOGRAMS.map(addBuckets).join(',\n    ')}
), old_minutes as (
  delete from tock.figures_by_minute m where m.ctid = any(array(
    select o.ctid from tock.figures_by_minute o
    where o.at < least(tock.now() - ${KEEP_MINUTES}, :from) order by o.at
    limit (select ${MAX_DELETED} + 2 * count(*) from tock.figures_by_minute n where n.at >= :from and n.at < :to)))
), old_hours as (
  delete from tock.figures_by_hour h where h.ctid = any(array(
    select o.ctid from tock.figures_by_hour o where o.at < tock.now() - ${KEEP_HOURS} order by o.at
    limit (select ${MAX_DELETED} + 2 * count(*) from hours)))
), old_totals as (
  delete from tock.figures_total t where t.last_at < tock.now() - ${KEEP_HOURS} and not exists (select from hours h where ${sameKey('h', 't')})
), moved as (
  update tock.figures_progress p set hours_until = :to
)
select count(distinct at)::integer as hours from hours`,
);

function keyOf(row: string): string {
  return KEY.split(', ')
    .map(column => `${row}.${column}`)
    .join(', ');
}

function sameKey(row: string, other: string): string {
  return `(${keyOf(row)}) = (${keyOf(other)})`;
}

// Hours from then on leave the total again, since their runs are read again.
const RESET = statement<{ at: Date; hour: Date }, never>(
  'reset-figures',
  `
with hours as materialized (
  delete from tock.figures_by_hour h where h.at >= :hour returning h.*
), sums as (
  select ${KEY}, ${sumOfFigures('h')} from hours h group by ${KEY}
), less as (
  update tock.figures_total t set ${COUNTS.map(column => `${column} = t.${column} - s.${column}`).join(', ')},
    ${HISTOGRAMS.map(
      column =>
        `${column} = ${eachBucket(`t.${column} is not null`, 'bigint', n => `t.${column}[${n}] - coalesce(s.${column}[${n}], 0)`)}`,
    ).join(',\n    ')}
  from sums s where ${sameKey('s', 't')}
)
update tock.figures_progress p set final_until = least(p.final_until, :at), counted_until = least(p.counted_until, :at),
  hours_until = least(p.hours_until, :hour), watched_until = null, writers = '{}'`,
);

/**
 * Carries out a step under the lock of the progress. Returns how many runs it counted, or how many hours had
 * runs.
 */
export async function takeStep(
  session: Session,
  step: Exclude<RollUpStep, { kind: 'watch' }>,
): Promise<number> {
  switch (step.kind) {
    case 'count': {
      const { from, to, isFinal } = step;
      const row = await COUNT.first(session, { from: new Date(from), to: new Date(to), isFinal });
      return row?.runs ?? 0;
    }
    case 'sum': {
      const row = await SUM.first(session, { from: new Date(step.from), to: new Date(step.to) });
      return row?.hours ?? 0;
    }
    case 'reset':
      await RESET.run(session, { at: new Date(step.at), hour: new Date(step.hour) });
      return 0;
  }
}
