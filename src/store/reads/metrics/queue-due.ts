// When the runs became due that wait in a queue.
import type { FlowSpan, PartCount } from '../../../model/explain/queue-flow.js';
import type { Session } from '../../connection/database.js';
import { statement } from '../../connection/statement.js';
import { statuses } from '../../runs/transition.js';

const DUE = statement<
  { readonly queue: string; readonly start: Date; readonly part: string; readonly limit: number },
  PartCount
>(
  'read-queue-due',
  `
select (extract(epoch from date_bin(:part::interval, d.run_at, :start::timestamptz)) * 1000)::float8 as at, count(*)::float8 as count from (
  select r.run_at from tock.job_runs_live r
  where r.queue = :queue and r.blocked_on is null and r.run_at <= tock.now() and r.status in (${statuses('claim')})
  limit :limit::integer) d
group by 1`,
);

/** By parts of the span; those from before it too. */
export async function readQueueDue(
  session: Session,
  queue: string,
  { span: { from, partMs }, limit }: { readonly span: FlowSpan; readonly limit: number },
): Promise<PartCount[]> {
  return await DUE.run(session, { queue, start: new Date(from), part: `${partMs} milliseconds`, limit });
}
