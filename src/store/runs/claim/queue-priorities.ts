// From which queues, and at which priorities, runs may start now.
import { statuses } from '../transition.js';

/** Whether a live run is due, waits for no slot, and has a status in which it can be claimed. */
export const isClaimable = (run: string) =>
  `${run}.blocked_on is null and ${run}.run_at <= tock.now() and ${run}.status in (${statuses('claim')})`;

/** Whether a live run lies in a queue and priority, both columns of `place`. */
export const liesIn = (run: string, place: string) =>
  `${run}.queue = ${place}.queue and ${run}.priority = ${place}.priority`;

/**
 * CTE `queue_priorities`: each queue and priority that has runs which wait for no slot, found by a loose
 * index scan, since there are few of them, however many runs there are. Source: the PostgreSQL wiki, "Loose
 * indexscan".
 */
export const QUEUE_PRIORITIES = `recursive queue_priorities as (
  (select queue, priority from tock.job_runs_live where blocked_on is null order by queue, priority limit 1)
  union all
  select n.queue, n.priority from queue_priorities p cross join lateral (
    select r.queue, r.priority from tock.job_runs_live r
    where r.blocked_on is null and (r.queue, r.priority) > (p.queue, p.priority) order by r.queue, r.priority limit 1) n
)`;

/** Whether a queue has a limit of its own; over its row, which may be null. */
export const isQueueLimited = (queue: string) =>
  `(${queue}.concurrency is not null or ${queue}.rate_count is not null)`;

/** Whether a queue is neither paused nor outside of its hours; over its row, which may be null. */
export function isQueueOpen(queue: string): string {
  const time = `(tock.now() at time zone ${queue}.timezone)::time`;
  const from = `split_part(${queue}.active_window, '-', 1)`;
  const to = `split_part(${queue}.active_window, '-', 2)`;
  return `${queue}.paused_at is null and (${queue}.active_window is null or case when ${from} < ${to}
    then ${time} >= ${from}::time and ${time} < ${to}::time
    else ${time} >= ${from}::time or ${time} < ${to}::time end)`;
}

/**
 * Whether a worker claims from a queue: it names the queue, or it names none and the queue is not relayed.
 * Over the queue's name and its row, which may be null. Uses the parameter :queues.
 */
export const isServed = (name: string, queue: string) =>
  `case when :queues::text[] is null then ${queue}.relayed_to is null else ${name} = any(:queues) end`;

/**
 * Whether a queue's next start lies further ahead than its rate ever puts it: the clock was set back since,
 * and the instant does not count. A rate puts it one start's share of the period ahead; a minute more allows
 * for a clock that is corrected by little.
 */
export const isRateVoid = (queue: string) =>
  `${queue}.rate_next_at > tock.now()
    + least(${queue}.rate_period_ms, ${queue}.rate_period_ms / ${queue}.rate_count + 60000) * interval '1 millisecond'`;

/** How many slots a queue with a concurrency has left; null where it has none. */
const freeQueueSlots = (queue: string) =>
  `${queue}.concurrency - (select count(*) from tock.job_slots s where s.concurrency_key = 'queue:' || ${queue}.name)`;

/**
 * CTE `open`, over {@link QUEUE_PRIORITIES}: those from which runs can be claimed now, and `room`: how many
 * at most. Uses the parameter :queues: only these; null: all
 * that are not relayed.
 *
 * @param limit SQL for the most that is asked for
 */
export const openQueuePriorities = (limit: string) => `open as materialized (
  select p.queue, p.priority, ${isQueueLimited('q')} as is_limited,
    least(${limit}, ${freeQueueSlots('q')}) as room, count(*) over (partition by p.priority) as siblings
  from queue_priorities p left join tock.job_queues q on q.name = p.queue
  where ${isServed('p.queue', 'q')} and ${isQueueOpen('q')}
    and (q.concurrency is null or ${freeQueueSlots('q')} > 0)
    and (q.rate_next_at is null or q.rate_count is null or q.rate_next_at <= tock.now() or ${isRateVoid('q')})
    and exists (select from tock.job_runs_live r where ${liesIn('r', 'p')} and ${isClaimable('r')})
)`;
