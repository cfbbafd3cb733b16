// How many runs of each job may be at work at once, as the code in force says: also those that were enqueued
// under another limit.
import type { Session } from '../connection/database.js';
import { statement } from '../connection/statement.js';

/** More than a job's concurrency may be: the job has no limit any more. */
const NO_LIMIT = 10_001;

/** How many slots there are under a key of a run, in SQL. @param enqueued how many when it was enqueued */
export const limitUnder = (key: string, enqueued: string) =>
  `coalesce(case when ${key} like 'job:%' then (select coalesce(l.slot_limit, ${NO_LIMIT}) from tock.job_limits l where l.job = split_part(substr(${key}, 5), '/', 1)) end, ${enqueued})`;

const WRITE = statement<
  { readonly jobs: readonly string[]; readonly limits: readonly (number | null)[] },
  unknown
>(
  'write-job-limits',
  `
insert into tock.job_limits as l (job, slot_limit)
select n.job, n.slot_limit from unnest(:jobs::text[], :limits::integer[]) as n(job, slot_limit)
where n.slot_limit is not null or exists (select from tock.job_limits b where b.job = n.job)
order by n.job
on conflict (job) do update set slot_limit = excluded.slot_limit where l.slot_limit is distinct from excluded.slot_limit`,
);

/** These are the limits of these jobs from now on; null: none. */
export async function writeJobLimits(
  session: Session,
  limits: ReadonlyMap<string, number | null>,
): Promise<void> {
  await WRITE.run(session, { jobs: [...limits.keys()], limits: [...limits.values()] });
}
