// The waits of a run, for its record.
import { type RawBuilder, sql } from 'kysely';
import { jsonArrayFrom } from 'kysely/helpers/postgres';
import type { AwaitedRuns, RunWait } from '../../../model/run/run-wait.js';
import { db, readableText } from '../../connection/query.js';

/** Of a run; the latest. */
const MAX_SHOWN = 100;

type AsText<Row> = { readonly [Name in keyof Row]: Date extends Row[Name] ? string | null : Row[Name] };
/** As JSON has it. */
export type WaitRow = AsText<RunWait>;

/** The first five awaited runs `a` that are to end, then of those that did not succeed. */
const firstOf = (column: string) =>
  sql.raw(
    `coalesce(to_jsonb((array_agg(${column} order by a.status is not null, a.position) filter (where a.status is null or a.status <> 'succeeded'))[1:5]), '[]')`,
  );

/** A column of a query of runs `r`: their waits, the latest first. */
export const WAITS: RawBuilder<readonly WaitRow[]> = jsonArrayFrom(
  db
    .selectFrom('tock.job_waits as w')
    .where('w.run_id', '=', sql.ref<string>('r.id'))
    .select(w => [
      'w.kind',
      'w.name',
      'w.key',
      'w.reason',
      'w.outcome',
      'w.needs_success as needsSuccess',
      readableText(w.ref('w.created_at')).as('since'),
      readableText(w.ref('w.until')).as('until'),
      readableText(w.ref('w.ended_at')).as('endedAt'),
      sql<AwaitedRuns | null>`case when w.kind in ('runs', 'group') then (
        select jsonb_build_object('count', count(*), 'left', count(*) filter (where a.status is null),
          'failed', count(*) filter (where a.status <> 'succeeded'),
          'next', ${firstOf('a.run_id::text')}, 'names', case when bool_and(a.name is not null) then ${firstOf('a.name')} end)
        from tock.job_awaited_runs a where a.wait_id = w.id) end`.as('runs'),
    ])
    .orderBy('w.created_at', 'desc')
    .limit(MAX_SHOWN),
);

/** Earliest first. */
export function readWaits(rows: readonly WaitRow[]): RunWait[] {
  const date = (text: string | null) => (text === null ? null : new Date(text));
  return rows
    .map(
      ({ since, until, endedAt, ...wait }): RunWait => ({
        ...wait,
        since: date(since) ?? new Date(0),
        until: date(until),
        endedAt: date(endedAt),
      }),
    )
    .toReversed();
}
