// The last errors of runs that are dead, and of those that wait for another attempt, newest first.
import type { LastError } from '../../../model/run/errors/error-counts.js';
import { MAX_COMPARED } from '../../../model/run/errors/error-group.js';
import type { Session } from '../../connection/database.js';
import { statement } from '../../connection/statement.js';
import { innermostCause } from '../../connection/values/error-parts.js';
import { epochMs } from '../../connection/values/readable-instant.js';

interface Params {
  readonly from: Date;
  readonly to: Date;
  readonly limit: number;
}

/** Without their stacks, which are most of what is stored of an error. `offset 0`: each is unpacked once. */
const COLUMNS = `r.id::text, r.job, e.last ->> 'name' as name, e.last ->> 'code' as code,
  left(e.last ->> 'message', ${MAX_COMPARED}) as message, ${innermostCause('e.last')} as cause, e.last ->> 'deploy' as deploy`;
const LAST = `cross join lateral (select r.errors -> -1 as last offset 0) e`;

const DEAD = statement<Params, LastError>(
  'last-errors-of-dead',
  `
select ${COLUMNS}, ${epochMs('r.finished_at')} as at from tock.job_runs_finished r ${LAST}
where r.status = 'dead' and r.finished_at >= :from::timestamptz and r.finished_at < :to::timestamptz
order by r.finished_at desc limit :limit::integer`,
);

// By the beginning of the attempt: the time of its error is text, and a row may be written by hand.
const FAILING = statement<Params, LastError>(
  'last-errors-of-failing',
  `
select ${COLUMNS}, ${epochMs('r.started_at')} as at from tock.job_runs_live r ${LAST}
where r.status = 'failed' and r.started_at >= :from::timestamptz and r.started_at < :to::timestamptz
order by r.id desc limit :limit::integer`,
);

export interface LastErrors {
  readonly errors: readonly LastError[];
  /** There may be more: only the newest were read. */
  readonly isCapped: boolean;
}

/** How many runs are looked at. */
export const MAX_ERRORS_READ = 5000;

export async function readLastErrors(
  session: Session,
  of: 'dead' | 'failing',
  { from, to }: { readonly from: Date; readonly to: Date },
): Promise<LastErrors> {
  const errors = await (of === 'dead' ? DEAD : FAILING).run(session, { from, to, limit: MAX_ERRORS_READ });
  return { errors, isCapped: errors.length >= MAX_ERRORS_READ };
}
