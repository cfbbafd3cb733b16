// How the runs of the last day and the last hour ended, for a page: never more runs are read than the cap.
import { FINISHED_STATUSES, type FinishedStatus } from '../../model/run/states.js';
import type { Session } from '../connection/database.js';
import { statement } from '../connection/statement.js';

const MAX_OF_DAY = 10_000;
const MAX_OF_HOUR = 50_000;

type Counts = Readonly<Record<FinishedStatus, number>>;

/** `isCapped`: there were more, so that each count is a lower bound. */
export type EndedCounts = Counts & { readonly isCapped: boolean };

/** The minute that begins at `at`. */
export type EndedInMinute = Counts & { readonly at: Date };

const none = () =>
  Object.fromEntries(FINISHED_STATUSES.map(status => [status, 0])) as Record<FinishedStatus, number>;

const OF_DAY = statement<{ limit: number }, { status: FinishedStatus; count: number }>(
  'count-ended-of-day',
  `
select e.status, count(*)::int as count from (
  select r.status from tock.job_runs_finished r
  where r.finished_at > tock.now() - interval '24 hours' and r.finished_at <= tock.now() limit :limit) e
group by e.status`,
);

export async function countEndedOfDay(session: Session): Promise<EndedCounts> {
  const rows = await OF_DAY.run(session, { limit: MAX_OF_DAY + 1 });
  const total = rows.reduce((sum, { count }) => sum + count, 0);
  const counts = Object.fromEntries(rows.map(({ status, count }) => [status, count]));
  return { ...none(), ...counts, isCapped: total > MAX_OF_DAY };
}

const OF_HOUR = statement<
  { from: Date; limit: number },
  { minute: number; status: FinishedStatus; count: number }
>(
  'count-ended-by-minute',
  `
select floor(extract(epoch from e.finished_at - :from::timestamptz) / 60)::int as minute, e.status, count(*)::int as count
from (select r.finished_at, r.status from tock.job_runs_finished r
  where r.finished_at >= :from and r.finished_at <= tock.now() limit :limit) e
group by 1, 2`,
);

const MINUTE_MS = 60_000;

/** The last sixty minutes, oldest first; the last is not over. Null: too many ended for a quick answer. */
export async function countEndedByMinute(session: Session, now: Date): Promise<EndedInMinute[] | null> {
  const from = (Math.floor(now.getTime() / MINUTE_MS) - 59) * MINUTE_MS;
  const rows = await OF_HOUR.run(session, { from: new Date(from), limit: MAX_OF_HOUR + 1 });
  if (rows.reduce((sum, { count }) => sum + count, 0) > MAX_OF_HOUR) return null;
  return Array.from({ length: 60 }, (_, minute) => ({
    at: new Date(from + minute * MINUTE_MS),
    ...none(),
    ...Object.fromEntries(
      rows.filter(row => row.minute === minute).map(({ status, count }) => [status, count]),
    ),
  }));
}
