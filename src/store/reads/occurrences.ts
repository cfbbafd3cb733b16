// What the tables hold about the occurrences of definitions, for the calendar and the strips. Each read walks
// the index (definition_id, scheduled_for), and is bounded.
import { isSpan } from '../../model/explain/without-row.js';
import type { OccurrenceRow } from '../../model/occurrences/merge.js';
import { stateOfRun } from '../../model/occurrences/occurrence.js';
import type { RunStatus, Trigger } from '../../model/run/states.js';
import type { Session } from '../connection/database.js';
import { statement } from '../connection/statement.js';
import { epochMs, readable } from '../connection/values/readable-instant.js';

/** Half-open, epoch milliseconds. */
export interface InstantSpan {
  readonly from: number;
  readonly to: number;
}

/** Instants as epoch milliseconds. */
interface Row {
  readonly id: string;
  readonly at: number;
  readonly first: number | null;
  readonly started: number | null;
  readonly finished: number | null;
  readonly status: RunStatus;
  readonly trigger: Trigger;
  readonly skip_reason: string | null;
  readonly occurrence_count: number;
  readonly attempts: number;
  readonly generation: number;
  readonly has_key: boolean;
  readonly was_claimed: boolean;
}

const epoch = (column: string) => epochMs(readable(column));
const COLUMNS = `r.id::text as id, ${epoch('r.scheduled_for')} as at, ${epoch('r.interval_start')} as first,
  ${epoch('r.started_at')} as started, ${epoch('r.finished_at')} as finished, r.status, r.trigger, r.skip_reason,
  r.occurrence_count, r.attempts, r.generation, r.idempotency_key is not null as has_key, r.fence > 0 as was_claimed`;

function rowOf(row: Row): OccurrenceRow {
  const { id, at, first, status, attempts, generation, skip_reason: reason } = row;
  return {
    id,
    at,
    state: stateOfRun(status, attempts, generation),
    reason: status === 'skipped' || status === 'cancelled' ? reason : null,
    spanFrom: isSpan(row) && first !== null ? first : null,
    standsFor: row.occurrence_count,
    attempts,
    startedAt: row.started,
    finishedAt: row.finished,
  };
}

interface Asked {
  readonly definitionId: string;
  /** ISO text. */
  readonly from: string;
  readonly to: string;
  readonly limit: number;
}

const READ_ROWS = statement<Asked, Row>(
  'read-occurrences',
  `
select ${COLUMNS} from tock.job_runs r
where r.definition_id = :definitionId::bigint and r.scheduled_for >= :from::timestamptz and r.scheduled_for < :to::timestamptz
order by r.scheduled_for limit :limit::integer`,
);

// A row that stands for a span lies at the span's end.
const READ_SPANS_AFTER = statement<Pick<Asked, 'definitionId' | 'to'>, Row>(
  'read-spans-after',
  `
select * from (
  select ${COLUMNS} from tock.job_runs r
  where r.definition_id = :definitionId::bigint and r.scheduled_for >= :to::timestamptz
  order by r.scheduled_for limit 50
) after where status = 'skipped' and occurrence_count > 1`,
);

// A minute's schedule has 20,000 rows in two weeks. One text for all instants of a kind is read in a tenth of
// the time; rows that stand for spans are read one by one.
const READ_GROUPS = statement<
  Asked,
  Pick<Row, 'status' | 'skip_reason'> & { readonly is_retried: boolean; readonly instants: string }
>(
  'read-occurrence-groups',
  `
select status, skip_reason, is_retried, string_agg(second::text, ',') as instants from (
  select r.status, case when r.status = 'skipped' then r.skip_reason end as skip_reason,
    r.status = 'succeeded' and (r.attempts > 1 or r.generation > 1) as is_retried,
    extract(epoch from ${readable('r.scheduled_for')})::bigint as second
  from tock.job_runs r
  where r.definition_id = :definitionId::bigint and r.scheduled_for >= :from::timestamptz and r.scheduled_for < :to::timestamptz
    and not (r.status = 'skipped' and r.occurrence_count > 1)
  order by r.scheduled_for limit :limit::integer
) rows group by status, skip_reason, is_retried`,
);

const READ_SPANS = statement<Asked, Row>(
  'read-spans',
  `
select ${COLUMNS} from tock.job_runs r
where r.definition_id = :definitionId::bigint and r.scheduled_for >= :from::timestamptz and r.scheduled_for < :to::timestamptz
  and r.status = 'skipped' and r.occurrence_count > 1
order by r.scheduled_for limit :limit::integer`,
);

const READ_KEYS = statement<Asked, { readonly instants: string | null }>(
  'read-occurrence-keys',
  `
select string_agg(second::text, ',') as instants from (
  select extract(epoch from o.scheduled_for)::bigint as second from tock.job_occurrences o
  where o.definition_id = :definitionId::bigint and o.scheduled_for >= :from::timestamptz and o.scheduled_for < :to::timestamptz
  order by o.scheduled_for limit :limit::integer
) keys`,
);

/** The most rows that a span of marks is read with, and one of counts. */
const MAX_ROWS = 5000;
const MAX_GROUPED = 100_000;
const iso = (ms: number) => new Date(ms).toISOString();

/**
 * The rows of a definition's occurrences in a span, oldest first, at most 5,000; and the skipped rows after
 * it that may stand for some of them.
 */
export async function readOccurrences(
  session: Session,
  definitionId: string,
  { from, to }: InstantSpan,
): Promise<OccurrenceRow[]> {
  const asked = { definitionId, from: iso(from), to: iso(to), limit: MAX_ROWS };
  const rows = await READ_ROWS.run(session, asked);
  return [...rows, ...(await READ_SPANS_AFTER.run(session, asked))].map(rowOf);
}

/** The same for schedules with many occurrences, at most 100,000: without ids and times of execution. */
export async function readOccurrenceGroups(
  session: Session,
  definitionId: string,
  { from, to }: InstantSpan,
): Promise<OccurrenceRow[]> {
  const asked = { definitionId, from: iso(from), to: iso(to), limit: MAX_GROUPED };
  const groups = await READ_GROUPS.run(session, asked);
  const spans = [
    ...(await READ_SPANS.run(session, { ...asked, limit: MAX_ROWS })),
    ...(await READ_SPANS_AFTER.run(session, asked)),
  ];
  const many = groups.flatMap(({ status, skip_reason: reason, is_retried: isRetried, instants }) => {
    const shared = { ...NOTHING, state: isRetried ? ('retried' as const) : status, reason };
    return instants.split(',').map(second => ({ ...shared, at: Number(second) * 1000 }));
  });
  return [...many, ...spans.map(rowOf)];
}

const NOTHING = {
  id: null,
  spanFrom: null,
  standsFor: 1,
  attempts: 0,
  startedAt: null,
  finishedAt: null,
} as const;

/** The occurrences in a span whose keys are kept, at most 100,000: they had a run, which may be deleted. */
export async function readOccurrenceKeys(
  session: Session,
  definitionId: string,
  { from, to }: InstantSpan,
): Promise<ReadonlySet<number>> {
  const asked = { definitionId, from: iso(from), to: iso(to), limit: MAX_GROUPED };
  const instants = (await READ_KEYS.first(session, asked))?.instants ?? null;
  return new Set(instants === null ? [] : instants.split(',').map(second => Number(second) * 1000));
}

/** The latest rows of a definition, and how long its runs take. */
export interface RecentRows {
  readonly definitionId: string;
  /** Newest first. */
  readonly rows: readonly OccurrenceRow[];
  /** Milliseconds, over these rows: of those that succeeded, from the start of the last attempt. */
  readonly p50: number | null;
  readonly p95: number | null;
}

const READ_RECENT = statement<
  { readonly ids: readonly string[]; readonly limit: number },
  {
    readonly definition_id: string;
    readonly rows: readonly Row[];
    readonly p50: number | null;
    readonly p95: number | null;
  }
>(
  'read-recent-occurrences',
  `
select d.id::text as definition_id, r.rows, r.p50, r.p95 from unnest(:ids::bigint[]) as d(id) cross join lateral (
  select coalesce(jsonb_agg(to_jsonb(n) - 'place' order by n.place), '[]') as rows,
    percentile_cont(0.5) within group (order by n.finished - n.started) filter (where n.status = 'succeeded') as p50,
    percentile_cont(0.95) within group (order by n.finished - n.started) filter (where n.status = 'succeeded') as p95
  from (
    select ${COLUMNS}, row_number() over (order by r.scheduled_for desc) as place from (
      select * from tock.job_runs j where j.definition_id = d.id and j.scheduled_for is not null
      order by j.scheduled_for desc limit :limit::integer
    ) r
  ) n
) r`,
);

/** The last rows of each of these definitions, at most 60 each. One statement. */
export async function readRecentOccurrences(
  session: Session,
  definitionIds: readonly string[],
  limit = 30,
): Promise<ReadonlyMap<string, RecentRows>> {
  if (definitionIds.length === 0) return new Map();
  const rows = await READ_RECENT.run(session, { ids: definitionIds, limit: Math.min(limit, 60) });
  return new Map(
    rows.map(({ definition_id: definitionId, rows: recent, p50, p95 }) => [
      definitionId,
      { definitionId, rows: recent.map(rowOf), p50, p95 },
    ]),
  );
}
