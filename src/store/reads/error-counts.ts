// The last errors of runs that are dead, and of those that wait for another attempt, counted.

import type { CountedError } from '../../model/run/error-counts.js';
import { MAX_COMPARED } from '../../model/run/error-group.js';
import type { Session } from '../connection/database.js';
import { statement } from '../connection/statement.js';

export interface ErrorSpan {
  readonly from: Date;
  readonly to: Date;
  /** Into how many parts it is divided. */
  readonly parts: number;
}

interface Params extends ErrorSpan {
  readonly limit: number;
}

/** Of the newest runs, so that the answer has a bound however many have failed. */
const counted = (newest: string) => `
with newest as materialized (${newest})
select n.job, n.error ->> 'name' as name, n.error ->> 'code' as code, left(n.error ->> 'message', ${MAX_COMPARED}) as message,
  least(floor(extract(epoch from n.at - :from::timestamptz) / extract(epoch from :to::timestamptz - :from::timestamptz) * :parts::integer), :parts::integer - 1)::integer as part,
  count(*)::integer as count, (extract(epoch from min(n.at)) * 1000)::float8 as "firstAt", (extract(epoch from max(n.at)) * 1000)::float8 as "lastAt",
  (array_agg(n.id::text order by n.at desc, n.id desc))[1] as "lastId"
from newest n group by 1, 2, 3, 4, 5`;

const DEAD = statement<Params, CountedError>(
  'count-errors-of-dead',
  counted(`
  select r.id, r.job, r.finished_at as at, r.errors -> -1 as error from tock.job_runs_finished r
  where r.status = 'dead' and r.finished_at >= :from::timestamptz and r.finished_at < :to::timestamptz
  order by r.finished_at desc limit :limit::integer`),
);

// By the beginning of the attempt: the time of its error is text, and a row may be written by hand.
const FAILING = statement<Params, CountedError>(
  'count-errors-of-failing',
  counted(`
  select r.id, r.job, r.started_at as at, r.errors -> -1 as error from tock.job_runs_live r
  where r.status = 'failed' and r.started_at >= :from::timestamptz and r.started_at < :to::timestamptz
  order by r.id desc limit :limit::integer`),
);

export interface CountedErrors {
  readonly rows: readonly CountedError[];
  /** There were more runs than were looked at: the newest count. */
  readonly isCapped: boolean;
}

/** How many runs are looked at. */
export const MAX_ERRORS_READ = 10_000;

export async function readErrorCounts(
  session: Session,
  of: 'dead' | 'failing',
  span: ErrorSpan,
): Promise<CountedErrors> {
  const rows = await (of === 'dead' ? DEAD : FAILING).run(session, { ...span, limit: MAX_ERRORS_READ });
  return { rows, isCapped: rows.reduce((count, row) => count + row.count, 0) >= MAX_ERRORS_READ };
}
