// Figures of ended runs over a span of time: from the roll-up, and from the runs where that lags.
//
// A reader asks how far the roll-up is, and then reads hours, minutes and runs up to and from there.
// Meanwhile the roll-up may go on: what was counted since is read as runs all the same.
import type { FlowSpan, PartCount } from '../../../model/explain/queue-flow.js';
import type { JobPart } from '../../../model/metrics/job-weeks.js';
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
import { countEnded, FIGURES, sumOfBuckets } from '../../figures/ended-runs.js';
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

const JOB_PARTS = statement<Span & { job: string; part: string }, JobPart>(
  'read-job-parts',
  `
with ${FIGURES_OF_SPAN}
select (extract(epoch from date_bin(:part::interval, f.at, :start::timestamptz)) * 1000)::float8 as at, f.status,
  sum(f.run_count)::float8 as count, (${sumOfBuckets('f.durations')})::float8[] as durations, (${sumOfBuckets('f.waits')})::float8[] as waits
from figures f where f.job = :job group by 1, 2`,
);

/**
 * What became of a job's runs since the beginning of an hour, in parts of some whole hours.
 * @param from epoch milliseconds, a whole hour
 */
export async function readJobParts(
  session: Session,
  job: string,
  { from, hours }: { readonly from: number; readonly hours: number },
): Promise<JobPart[]> {
  const span = spanSince(from, await readProgress(session));
  return await JOB_PARTS.run(session, { ...span, start: new Date(from), job, part: `${hours} hours` });
}

const QUEUE_ENDS = statement<Span & { queue: string; part: string }, PartCount>(
  'read-queue-ends',
  `
with ${FIGURES_OF_SPAN}
select (extract(epoch from date_bin(:part::interval, f.at, :start::timestamptz)) * 1000)::float8 as at, sum(f.run_count)::float8 as count
from figures f where f.queue = :queue and f.status <> 'skipped' group by 1`,
);

/** How many runs of a queue ended in each part of a span up to now, skipped ones aside. */
export async function readQueueEnds(
  session: Session,
  queue: string,
  { from, partMs }: FlowSpan,
): Promise<PartCount[]> {
  const progress = await readProgress(session);
  // Minutes are read as such, also where their hour is summed up.
  const hoursUntil = Math.min(progress.hoursUntil, floorTo(HOUR_MS, from));
  const span = { ...spanSince(from, { ...progress, hoursUntil }), start: new Date(from) };
  return await QUEUE_ENDS.run(session, { ...span, queue, part: `${partMs} milliseconds` });
}
