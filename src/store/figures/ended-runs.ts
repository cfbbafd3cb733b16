// Counts ended runs of a span, in the form in which the tables of figures keep them.
import { BUCKET_BOUNDS } from '../../model/metrics/buckets.js';
import { SKIP_REASONS } from '../../model/run/states.js';
import { readable } from '../connection/values/readable-instant.js';

const BUCKETS = BUCKET_BOUNDS.length + 1;

/** What a row of figures is about. */
export const KEY = 'job, queue, status, reason';
/** What is counted, apart from the buckets. */
export const COUNTS = ['run_count', 'occurrence_count', 'duration_us', 'wait_us'] as const;
export const HISTOGRAMS = ['durations', 'waits'] as const;
export const FIGURES = `${KEY}, ${[...COUNTS, ...HISTOGRAMS].join(', ')}`;

/** SQL of one element for each bucket, as an array, under a condition; else null. */
export const eachBucket = (when: string, type: 'integer' | 'bigint', element: (bucket: number) => string) =>
  `case when ${when} then array[${Array.from({ length: BUCKETS }, (_, index) => element(index + 1)).join(', ')}]::${type}[] end`;

// width_bucket includes the lower bound of each bucket, and these include the upper one: so it gets them
// negated.
const BOUNDS = `'{${BUCKET_BOUNDS.toReversed()
  .map(bound => -Math.round(bound * 1_000_000))
  .join()}}'::bigint[]`;
const bucketOf = (micros: string) => `${BUCKETS} - width_bucket(-${micros}, ${BOUNDS})`;

/** Three years at most, so that no sum of a row written by hand can leave its type. */
const microsBetween = (from: string, to: string) =>
  `least(greatest(extract(epoch from ${readable(to)} - ${readable(from)}) * 1000000, 0), 1e14)::bigint`;

const REASONS = Object.keys(SKIP_REASONS)
  .map(reason => `'${reason}'`)
  .join(', ');

const COLUMNS = 'finished_at, job, queue, status, skip_reason, occurrence_count, run_at, started_at';
const inSpan = (run: string) =>
  `${run}.finished_at >= :from::timestamptz and ${run}.finished_at < :to::timestamptz`;

/**
 * CTEs up to `name`: the figures by minute of what ended in [:from, :to), retried runs included. Its columns
 * are `at` and {@link FIGURES}.
 * @param more a condition on a run `r`
 */
export const countEnded = (name: string, more = 'true') => `ended_runs as (
  select ${COLUMNS} from tock.job_runs_finished r where ${inSpan('r')} and ${more}
  union all
  select ${COLUMNS} from tock.figures_retried r where ${inSpan('r')} and ${more}
), measured_runs as (
  select date_bin('1 minute', r.finished_at, 'epoch') as at, r.job collate "C" as job, r.queue, r.status collate "C" as status,
    case when r.status <> 'skipped' then '' when r.skip_reason in (${REASONS}) then r.skip_reason else 'other' end collate "C" as reason,
    r.occurrence_count, case when m.is_measured then ${microsBetween('r.started_at', 'r.finished_at')} end as duration_us,
    case when m.is_measured then ${microsBetween('r.run_at', 'r.started_at')} end as wait_us
  from ended_runs r cross join lateral (select r.started_at is not null and r.status in ('succeeded', 'dead') as is_measured) m
), cells as (
  select at, ${KEY}, ${bucketOf('duration_us')} as duration_bucket, ${bucketOf('wait_us')} as wait_bucket,
    count(*) as run_count, sum(occurrence_count) as occurrence_count, sum(duration_us) as duration_us, sum(wait_us) as wait_us
  from measured_runs group by at, ${KEY}, duration_bucket, wait_bucket
), ${name} as materialized (
  select at, ${KEY}, sum(run_count)::bigint as run_count, sum(occurrence_count)::bigint as occurrence_count,
    coalesce(sum(duration_us), 0)::bigint as duration_us, coalesce(sum(wait_us), 0)::bigint as wait_us,
    ${histogramOf('duration_bucket')} as durations,
    ${histogramOf('wait_bucket')} as waits
  from cells group by at, ${KEY}
)`;

function histogramOf(bucket: string): string {
  return eachBucket(
    `count(${bucket}) > 0`,
    'integer',
    n => `coalesce(sum(run_count) filter (where ${bucket} = ${n}), 0)`,
  );
}

/** SQL for sums of {@link FIGURES} without the key, over rows of figures. */
export const sumOfFigures = (rows: string) =>
  [
    ...COUNTS.map(column => `sum(${rows}.${column})::bigint as ${column}`),
    ...HISTOGRAMS.map(column => `${sumOfBuckets(`${rows}.${column}`)} as ${column}`),
  ].join(',\n    ');

/** SQL for the sum of arrays of buckets; null where all are null. */
export const sumOfBuckets = (column: string, type: 'integer' | 'bigint' = 'bigint') =>
  eachBucket(`count(${column}) > 0`, type, n => `sum(${column}[${n}])`);
