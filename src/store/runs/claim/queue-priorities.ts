// From which queues, and at which priorities, runs may start now.
import { hidden } from '../../connection/statement.js';
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

/** The next queue and priority after one and before another that has runs which wait for no slot. */
const nextBetween = (after: string, before: string) => `cross join lateral (
    select r.queue, r.priority from tock.job_runs_live r
    where r.blocked_on is null and (r.queue, r.priority) > (${after}) and (r.queue, r.priority) < (${before})
    order by r.queue, r.priority limit 1) n`;

/**
 * A queue and priority, and a run in it up to which all that could be claimed has been claimed, as far as a
 * worker knows. Claims start after it, so that they do not walk over the index entries of ended runs, which
 * stay until a vacuum, and for as long as some session holds an older snapshot.
 */
export interface Watermark {
  readonly queue: string;
  readonly priority: number;
  /** The run's `run_at`, as ISO 8601 or as JSON has it. */
  readonly at: string;
  readonly id: string;
}

export interface WatermarkParameters {
  readonly queueNames: readonly string[];
  readonly priorities: readonly number[];
  readonly times: readonly string[];
  readonly ids: readonly string[];
}

export const watermarkParameters = (watermarks: readonly Watermark[]): WatermarkParameters => ({
  queueNames: watermarks.map(mark => mark.queue),
  priorities: watermarks.map(mark => mark.priority),
  times: watermarks.map(mark => mark.at),
  ids: watermarks.map(mark => mark.id),
});

/**
 * The rows of {@link WatermarkParameters}: queue, priority, after_at, after_id; turn is their order, from
 * 1.
 */
export const WATERMARKS = `unnest(${hidden('queueNames', 'text[]')}, ${hidden('priorities', 'integer[]')},
    ${hidden('times', 'timestamptz[]')}, ${hidden('ids', 'bigint[]')}) with ordinality as m(queue, priority, after_at, after_id, turn)`;

/**
 * As {@link QUEUE_PRIORITIES}, with the watermark of each: the beginning of time where there is none. A queue
 * and priority with a watermark is taken to have runs, and the loose index scan goes only between these, so
 * that it does not walk through them. Names of queues begin with a letter or digit, so they lie between ''
 * and '~'. Uses {@link WatermarkParameters}.
 */
export const QUEUE_PRIORITIES_ABOVE = `recursive watermarks as materialized (
  select m.queue collate "C" as queue, m.priority, m.after_at, m.after_id from ${WATERMARKS}
), gaps as materialized (
  select b.queue, b.priority, lead(b.queue, 1, '~') over borders as before_queue, lead(b.priority, 1, 0) over borders as before_priority
  from (select '' collate "C" as queue, 0 as priority union all select w.queue, w.priority from watermarks w) b
  window borders as (order by b.queue, b.priority)
), others as (
  select n.queue, n.priority, g.before_queue, g.before_priority
  from gaps g ${nextBetween('g.queue, g.priority', 'g.before_queue, g.before_priority')}
  union all
  select n.queue, n.priority, p.before_queue, p.before_priority
  from others p ${nextBetween('p.queue, p.priority', 'p.before_queue, p.before_priority')}
), queue_priorities as (
  select w.* from watermarks w
  union all
  select o.queue, o.priority, timestamptz '-infinity', 0 from others o
)`;

/** Whether a run lies above the watermark of its queue and priority, in a row of {@link WATERMARKS}. */
export const isAbove = (run: string, place: string) =>
  `(${run}.run_at, ${run}.id) > (${place}.after_at, ${place}.after_id)`;

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
  `case when ${hidden('queues', 'text[]')} is null then ${queue}.relayed_to is null else ${name} = any(:queues) end`;

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
 * at most. Uses the parameter :queues: only these; null: all that are not relayed.
 *
 * A look at the first due run of each, not EXISTS, which the planner may turn into a join with all runs.
 *
 * @param limit SQL for the most that is asked for
 * @param hasWatermarks over {@link QUEUE_PRIORITIES_ABOVE}, with its watermarks. A queue with a limit has
 * none: runs that have long been due start when it lets them
 */
export function openQueuePriorities(limit: string, hasWatermarks = false): string {
  const watermark = `case when ${isQueueLimited('q')} then timestamptz '-infinity' else p.after_at end`;
  const isAboveIt = `(r.run_at, r.id) > (${watermark}, p.after_id)`;
  return `open as materialized (
  select p.queue, p.priority, ${hasWatermarks ? `${watermark} as after_at, p.after_id, ` : ''}${isQueueLimited('q')} as is_limited,
    least(${limit}, ${freeQueueSlots('q')}) as room, count(*) over (partition by p.priority) as siblings
  from queue_priorities p left join tock.job_queues q on q.name = p.queue
  where ${isServed('p.queue', 'q')} and ${isQueueOpen('q')}
    and (q.concurrency is null or ${freeQueueSlots('q')} > 0)
    and (q.rate_next_at is null or q.rate_count is null or q.rate_next_at <= tock.now() or ${isRateVoid('q')})
    and (select true from tock.job_runs_live r where ${liesIn('r', 'p')} and ${isClaimable('r')}${hasWatermarks ? ` and ${isAboveIt}` : ''}
      order by r.run_at, r.id limit 1)
)`;
}
