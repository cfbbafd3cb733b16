// Figures of ended runs over a span of time: from the roll-up, and from the runs where that lags.
//
// A reader asks how far the roll-up is, and then reads hours, minutes and runs up to and from there.
// Meanwhile the roll-up may go on: what was counted since is read as runs all the same.
import { percentile } from '../../../model/metrics/buckets.js';
import {
  floorTo,
  HOUR_MS,
  MINUTE_MS,
  type RollUpProgress,
  spanOfFigures,
} from '../../../model/metrics/roll-up.js';
import { FINISHED_STATUSES, type FinishedStatus } from '../../../model/run/states.js';
import type { Session } from '../../connection/database.js';
import { statement } from '../../connection/statement.js';
import { instant } from '../../connection/values/readable-instant.js';
import { countEnded, FIGURES, sumOfBuckets, sumOfFigures } from '../../figures/ended-runs.js';
import { readProgress } from '../../figures/roll-up.js';

/** Where the figures of a span are, as parameters. */
interface Span {
  readonly start: Date;
  readonly hoursFrom: Date;
  readonly hoursTo: Date;
  readonly countedUntil: Date;
  /** The runs that are not counted yet. */
  readonly from: Date;
  readonly to: string;
}

/** CTEs up to `figures`: rows of figures of a {@link Span}, by minute or hour. */
const FIGURES_OF_SPAN = `${countEnded('uncounted')}, figures as (
  select h.at, ${FIGURES} from tock.figures_by_hour h where h.at >= :hoursFrom and h.at < :hoursTo
  union all
  select m.at, ${FIGURES} from tock.figures_by_minute m where m.at >= :start and m.at < :hoursFrom and m.at < :countedUntil
  union all
  select m.at, ${FIGURES} from tock.figures_by_minute m where m.at >= :hoursTo and m.at < :countedUntil
  union all
  select u.at, ${FIGURES} from uncounted u
)`;

function spanSince(
  from: number,
  progress: Pick<RollUpProgress, 'now' | 'hoursUntil' | 'countedUntil'>,
): Span {
  const { from: start, hoursFrom, hoursTo, liveFrom } = spanOfFigures(from, progress);
  return {
    start: new Date(start),
    hoursFrom: new Date(hoursFrom),
    hoursTo: new Date(hoursTo),
    countedUntil: new Date(liveFrom),
    from: new Date(liveFrom),
    to: 'infinity',
  };
}

/** How many runs ended in a minute, by how they ended. */
export type OutcomesOfMinute = Readonly<Record<FinishedStatus, number>> & { readonly at: Date };

const OUTCOMES = statement<Span, { at: Date; status: FinishedStatus; count: number }>(
  'read-outcomes',
  `
with ${FIGURES_OF_SPAN}
select ${instant('f.at')} as at, f.status, sum(f.run_count)::float8 as count from figures f group by f.at, f.status`,
);

/** How runs ended. */
export interface Outcomes {
  /** Over the whole span, which begins with a whole minute. */
  readonly total: Readonly<Record<FinishedStatus, number>>;
  /**
   * Each of the last minutes, oldest first, those without any run included. The last one is the current
   * minute, which is not over.
   */
  readonly minutes: readonly OutcomesOfMinute[];
  /** What ended at this instant or later is left out. Null: nothing is. */
  readonly until: Date | null;
}

/**
 * How many runs ended in the last hours, and in each of the last minutes. Scans once what is not counted yet.
 * @param minutes at most a day, and no longer than the hours
 * @param countedOnly leaves out what the roll-up has not counted yet, which takes long if millions ended
 */
export async function readOutcomes(
  session: Session,
  { hours = 24, minutes = 60, countedOnly = false } = {},
): Promise<Outcomes> {
  const progress = await readProgress(session);
  const last = floorTo(MINUTE_MS, progress.now);
  const first = last - (minutes - 1) * MINUTE_MS;
  // Minutes that are listed are read as such, also where their hour is summed up.
  const hoursUntil = Math.min(progress.hoursUntil, floorTo(HOUR_MS, first));
  const span = spanSince(progress.now - hours * HOUR_MS, { ...progress, hoursUntil });
  const rows = await OUTCOMES.run(
    session,
    countedOnly ? { ...span, to: span.countedUntil.toISOString() } : span,
  );
  const total = noOutcomes();
  const byMinute = new Map<number, Record<FinishedStatus, number>>();
  for (let at = first; at <= last; at += MINUTE_MS) byMinute.set(at, noOutcomes());
  for (const { at, status, count } of rows) {
    total[status] += count;
    const counts = byMinute.get(at.getTime());
    if (counts) counts[status] += count;
  }
  return {
    total,
    minutes: [...byMinute].map(([at, counts]) => ({ at: new Date(at), ...counts })),
    until: countedOnly ? span.countedUntil : null,
  };
}

function noOutcomes(): Record<FinishedStatus, number> {
  return Object.fromEntries(FINISHED_STATUSES.map(status => [status, 0])) as Record<FinishedStatus, number>;
}

/**
 * What a job's runs did over a span. Times in milliseconds, of runs that succeeded or are dead; null where
 * there was none. Percentiles are estimates from buckets (1, 2, 5, 10 ms …).
 */
export interface JobFigures extends Readonly<Record<FinishedStatus, number>> {
  readonly job: string;
  readonly meanMs: number | null;
  readonly p50Ms: number | null;
  readonly p95Ms: number | null;
  /** Of the wait: from when a run was due to the start of its last attempt. */
  readonly waitP95Ms: number | null;
}

const BY_JOB = statement<
  Span & { jobs: readonly string[] | null },
  {
    job: string;
    counts: Record<FinishedStatus, number>;
    micros: number;
    durations: number[] | null;
    waits: number[] | null;
  }
>(
  'read-job-figures',
  `
with ${FIGURES_OF_SPAN}, statuses as (
  select f.job, f.status, ${sumOfFigures('f')}
  from figures f where :jobs::text[] is null or f.job = any(:jobs) group by f.job, f.status
)
select s.job, jsonb_object_agg(s.status, s.run_count) as counts, sum(s.duration_us)::float8 as micros,
  (${sumOfBuckets('s.durations')})::float8[] as durations, (${sumOfBuckets('s.waits')})::float8[] as waits
from statuses s group by s.job order by s.job`,
);

/**
 * Figures of each job that had a run end in the last hours: 24, or 168 for a week.
 * @param jobs only these; null: all
 */
export async function readJobFigures(
  session: Session,
  { hours = 24, jobs = null }: { readonly hours?: number; readonly jobs?: readonly string[] | null } = {},
): Promise<JobFigures[]> {
  const progress = await readProgress(session);
  const rows = await BY_JOB.run(session, { ...spanSince(progress.now - hours * HOUR_MS, progress), jobs });
  return rows.map(({ job, counts, micros, durations, waits }) => {
    const measured = (durations ?? []).reduce((sum, count) => sum + count, 0);
    return {
      ...noOutcomes(),
      ...counts,
      job,
      meanMs: measured === 0 ? null : micros / measured / 1000,
      p50Ms: msAt(durations, 0.5),
      p95Ms: msAt(durations, 0.95),
      waitP95Ms: msAt(waits, 0.95),
    };
  });
}

function msAt(counts: readonly number[] | null, share: number): number | null {
  const seconds = percentile(counts ?? [], share);
  return seconds === null ? null : seconds * 1000;
}
