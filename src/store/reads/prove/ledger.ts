// What the tables hold about occurrences, many spans of many definitions in one statement: their keys and
// their rows, of one snapshot. Each span walks the index (definition_id, scheduled_for).
import { isSpan } from '../../../model/explain/without-row.js';
import type { Ledger, LedgerSpan, WideRow } from '../../../model/prove/match.js';
import type { RunStatus, Trigger } from '../../../model/run/states.js';
import type { Session } from '../../connection/database.js';
import { statement } from '../../connection/statement.js';

interface Spans {
  readonly ids: readonly string[];
  /** Epoch seconds, half-open. */
  readonly lows: readonly number[];
  readonly highs: readonly number[];
  readonly limit: number;
}

/** A row that stands for several occurrences. Epoch seconds. */
interface StoredWide {
  readonly id: string;
  readonly at: number;
  readonly first: number | null;
  readonly status: RunStatus;
  readonly trigger: Trigger;
  readonly reason: string | null;
  readonly count: number;
  readonly has_key: boolean;
  readonly was_claimed: boolean;
}

const second = (column: string) => `floor(extract(epoch from ${column}))::bigint`;
// A pause counts no more than `remaining` had left, and stands for all that came due.
const isCut = (first: string, at: string) =>
  `r.status = 'skipped' and r.skip_reason in ('paused', 'edited') and ${first} < ${at}`;
const WIDE = `'id', r.id::text, 'at', r.at, 'first', r.first, 'status', r.status, 'trigger', r.trigger, 'reason', r.skip_reason,
  'count', r.occurrence_count, 'has_key', r.idempotency_key is not null, 'was_claimed', r.fence > 0`;
const COLUMNS = `r.id, ${second('r.scheduled_for')} as at, ${second('r.interval_start')} as first, r.status, r.trigger, r.skip_reason,
      r.occurrence_count, r.idempotency_key, r.fence`;

// One text for all: a million rows are read in a tenth of the time. `instant:run:kind`, of which a kind is
// the trigger of a run, or `=` and the reason of a skipped row.
const READ_LEDGER = statement<
  Spans,
  {
    readonly place: number;
    readonly keys: string | null;
    readonly key_count: number;
    readonly rows: string | null;
    readonly wide: readonly StoredWide[] | null;
    readonly row_count: number;
  }
>(
  'read-ledger',
  `
select u.place::integer, k.keys, k.key_count, r.rows, r.wide, r.row_count
from unnest(:ids::bigint[], :lows::float8[], :highs::float8[]) with ordinality as u(definition_id, low, high, place)
cross join lateral (
  select string_agg(o.at || ':' || o.run_id, ',') as keys, count(*)::integer as key_count from (
    select ${second('o.scheduled_for')} as at, o.run_id from tock.job_occurrences o
    where o.definition_id = u.definition_id and o.scheduled_for >= to_timestamp(u.low) and o.scheduled_for < to_timestamp(u.high)
    order by o.scheduled_for limit :limit::integer) o
) k
cross join lateral (
  select string_agg(r.at || ':' || r.id || ':' || case r.status when 'skipped' then '=' || replace(coalesce(r.skip_reason, ''), ',', ' ')
      else r.trigger end, ',') as rows,
    jsonb_agg(jsonb_build_object(${WIDE})) filter (where r.occurrence_count > 1 or ${isCut('r.first', 'r.at')}) as wide, count(*)::integer as row_count
  from (
    select ${COLUMNS}
    from tock.job_runs r
    where r.definition_id = u.definition_id and r.scheduled_for >= to_timestamp(u.low) and r.scheduled_for < to_timestamp(u.high)
    order by r.scheduled_for, r.id limit :limit::integer) r
) r
order by u.place`,
);

/** The most rows of a span that are read at once. */
export const MAX_ROWS = 200_000;

/**
 * Reads the ledger of each span, in their order. Where one holds more than 200,000 rows or keys, `end` says
 * up to where it was read.
 */
export async function readLedger(
  session: Session,
  spans: readonly (LedgerSpan & { readonly definitionId: string })[],
): Promise<Ledger[]> {
  const rows = await READ_LEDGER.run(session, {
    ids: spans.map(each => each.definitionId),
    lows: spans.map(each => each.low),
    highs: spans.map(each => each.high),
    limit: MAX_ROWS,
  });
  return spans.map(({ low, high }, index) => {
    const row = rows[index];
    const keys = pairsIn(row?.keys ?? null);
    const runs = triplesIn(row?.rows ?? null);
    // The last instant may have more: the next span begins there.
    const ends = [
      row?.key_count === MAX_ROWS ? (keys.at.at(-1) ?? high) : high,
      row?.row_count === MAX_ROWS ? (runs.at.at(-1) ?? high) : high,
    ];
    const end = Math.max(Math.min(...ends), low + 1);
    return { end, keys, runs, wide: widesOf(row?.wide ?? []) };
  });
}

function pairsIn(text: string | null): Ledger['keys'] {
  const at: number[] = [];
  const run: string[] = [];
  for (const pair of text === null ? [] : text.split(',')) {
    const colon = pair.indexOf(':');
    at.push(Number(pair.slice(0, colon)));
    run.push(pair.slice(colon + 1));
  }
  return { at, run };
}

function triplesIn(text: string | null): Ledger['runs'] {
  const at: number[] = [];
  const run: string[] = [];
  const kind: string[] = [];
  for (const triple of text === null ? [] : text.split(',')) {
    const first = triple.indexOf(':');
    const last = triple.indexOf(':', first + 1);
    at.push(Number(triple.slice(0, first)));
    run.push(triple.slice(first + 1, last));
    kind.push(triple.slice(last + 1));
  }
  return { at, run, kind };
}

/** Of a run that was withdrawn, the interval reaches back, too; but it stands for itself alone. */
const widesOf = (rows: readonly StoredWide[]): WideRow[] =>
  rows.map(wideOf).filter(({ first, count }) => first !== null || count > 1);

const wideOf = ({ id, at, first, count, reason, ...row }: StoredWide): WideRow => ({
  id,
  at,
  count,
  reason,
  isSkipped: row.status === 'skipped',
  first: isSpan({ ...row, skip_reason: reason }) ? first : null,
});

const READ_LATER = statement<
  { readonly definitionId: string; readonly low: number; readonly high: number },
  { readonly wide: readonly StoredWide[] | null }
>(
  'read-later-spans',
  `
select jsonb_agg(jsonb_build_object(${WIDE})) as wide from (
  select ${COLUMNS} from tock.job_runs r
  where r.definition_id = :definitionId::bigint and r.scheduled_for >= to_timestamp(:low::float8)
    and r.scheduled_for < to_timestamp(:high::float8) and (r.occurrence_count > 1 or ${isCut('r.interval_start', 'r.scheduled_for')})
    and case r.status when 'skipped' then r.interval_start < to_timestamp(:low::float8)
      else exists (select from tock.job_occurrences o where o.definition_id = r.definition_id and o.scheduled_for = r.interval_start) end
  order by r.scheduled_for limit 100) r`,
);

/** The first rows from `low` on that may stand for occurrences before it; epoch seconds. */
export async function readLater(
  session: Session,
  definitionId: string,
  { low, high }: LedgerSpan,
): Promise<WideRow[]> {
  const row = await READ_LATER.first(session, { definitionId, low, high });
  return widesOf(row?.wide ?? []);
}

// What was skipped from the beginning does not count down: see isSpan.
const READ_COUNTED = statement<
  { readonly definitionId: string; readonly low: number; readonly high: number },
  { readonly count: number; readonly last: number | null }
>(
  'read-counted-runs',
  `
select count(*)::integer as count, max(${second('r.scheduled_for')})::float8 as last from tock.job_runs r
where r.definition_id = :definitionId::bigint and r.scheduled_for >= to_timestamp(:low::float8)
  and r.scheduled_for < to_timestamp(:high::float8) and r.trigger = 'cron'
  and not (r.status = 'skipped' and (r.idempotency_key is null or r.skip_reason in ('catchup', 'overlap', 'paused', 'excepted')
    or r.skip_reason = 'window' and r.fence = 0))`,
);

/** The scheduled runs in a span that have counted down `remaining`: how many, and the last instant. */
export async function readCounted(
  session: Session,
  definitionId: string,
  { low, high }: LedgerSpan,
): Promise<{ readonly count: number; readonly last: number | null }> {
  return (await READ_COUNTED.first(session, { definitionId, low, high })) ?? { count: 0, last: null };
}

const READ_KEYS_MADE = statement<
  { readonly definitionId: string; readonly instants: readonly number[]; readonly since: number },
  { readonly at: number }
>(
  'read-keys-made-since',
  `
select ${second('o.scheduled_for')}::float8 as at from unnest(:instants::float8[]) as i(at)
join tock.job_occurrences o on o.definition_id = :definitionId::bigint and o.scheduled_for = to_timestamp(i.at)
where o.created_at > to_timestamp(:since::float8 / 1000)
order by o.scheduled_for`,
);

/** Those of these keys that were written after an instant (epoch milliseconds): seconds. */
export async function readKeysMadeSince(
  session: Session,
  definitionId: string,
  instants: readonly number[],
  since: number,
): Promise<ReadonlySet<number>> {
  const rows = await READ_KEYS_MADE.run(session, { definitionId, instants, since });
  return new Set(rows.map(({ at }) => at));
}
