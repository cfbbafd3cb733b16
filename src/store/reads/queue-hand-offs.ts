// What became of the runs of relayed queues that were handed off in the last 24 hours.
import { HANDED_OFF } from '../../model/run/states.js';
import type { QueueHandOffs } from '../../model/scheduler-view.js';
import type { Session } from '../connection/database.js';
import { statement } from '../connection/statement.js';

// The rows of a day are found by a BRIN index; only those without an answer are looked up among live runs.
// A relay hands off to `<broker>: <prefix>.work.<queue>`.
const READ_QUEUE_HAND_OFFS = statement<{ readonly queues: readonly string[] | null }, QueueHandOffs>(
  'read-queue-hand-offs',
  `
with relayed as materialized (
  select q.name, q.relayed_to from tock.job_queues q
  where q.relayed_to is not null and (:queues::text[] is null or q.name = any(:queues))
), handed_off as (
  select substr(h.handed_to, strpos(h.handed_to, '.work.') + 6) as queue, split_part(h.handed_to, ': ', 1) as broker,
    count(*)::integer as count,
    (count(*) filter (where h.decision = 'succeeded'))::integer as completed,
    (count(*) filter (where h.decision in ('failed', 'dead')))::integer as failed,
    (count(*) filter (where h.decision is null))::integer as unanswered,
    (count(*) filter (where h.decision is null and exists (
      select from tock.job_runs_live r where r.id = h.run_id and r.fence = h.fence and r.locked_by = '${HANDED_OFF}')))::integer as waiting,
    sum(h.refused_count)::integer as refused
  from tock.job_hand_offs h
  where h.created_at > (select tock.now() - interval '24 hours') and h.handed_off_at is not null and strpos(h.handed_to, '.work.') > 0
  group by 1, 2
)
select q.name as queue, q.relayed_to as "relayedTo", coalesce(h.count, 0) as "handedOff", coalesce(h.completed, 0) as completed,
  coalesce(h.failed, 0) as failed, coalesce(h.unanswered - h.waiting, 0) as "leaseEnded", coalesce(h.waiting, 0) as waiting,
  coalesce(h.refused, 0) as refused
from relayed q left join handed_off h on h.queue = q.name and h.broker = q.relayed_to
order by q.name`,
);

/** @param queues only these; default: all that are relayed */
export async function readQueueHandOffs(
  session: Session,
  queues: readonly string[] | null = null,
): Promise<QueueHandOffs[]> {
  return await READ_QUEUE_HAND_OFFS.run(session, { queues });
}
