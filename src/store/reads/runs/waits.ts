// The waits of a run, for its record.
import { type RawBuilder, sql } from 'kysely';
import { jsonArrayFrom } from 'kysely/helpers/postgres';
import type { RunWait } from '../../../model/run/run-wait.js';
import { db, readableText } from '../../connection/query.js';

/** Of a run; the latest. */
const MAX_SHOWN = 100;

type AsText<Row> = { readonly [Name in keyof Row]: Date extends Row[Name] ? string | null : Row[Name] };
/** As JSON has it. */
export type WaitRow = AsText<RunWait>;

/** A column of a query of runs `r`: their waits, the latest first. */
export const WAITS: RawBuilder<readonly WaitRow[]> = jsonArrayFrom(
  db
    .selectFrom('tock.job_waits as w')
    .where('w.run_id', '=', sql.ref<string>('r.id'))
    .select(w => [
      'w.kind',
      'w.name',
      'w.reason',
      'w.outcome',
      readableText(w.ref('w.created_at')).as('since'),
      readableText(w.ref('w.until')).as('until'),
      readableText(w.ref('w.ended_at')).as('endedAt'),
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
