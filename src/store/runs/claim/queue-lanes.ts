// From which queue lanes runs may start now. A queue lane is one priority of a queue.
import { DEFAULT_QUEUE, OWN_QUEUE } from '../../../model/planning/services.js';
import { opaqueToPlanner } from '../../connection/statement.js';
import { mayStart } from '../../definitions/freeze/frozen.js';
import { statuses } from '../transition.js';
import { claimsFrom } from '../workers/alive.js';

/** Whether a live run is due, and has a status in which it can be claimed. */
export const isDue = (run: string) =>
  `${run}.run_at <= tock.now() and ${run}.status in (${statuses('claim')})`;

/** The same, and it waits for nothing else. */
export const isClaimable = (run: string) => `${run}.blocked_on is null and ${isDue(run)}`;

/** Whether a live run is in a queue lane: `lane` has the columns queue and priority. */
export const liesIn = (run: string, lane: string) =>
  `${run}.queue = ${lane}.queue and ${run}.priority = ${lane}.priority`;

/**
 * CTE `queue_lanes`: each lane that has runs which wait for no slot. A loose index scan finds them, since
 * there are few lanes, however many runs there are. Source: the PostgreSQL wiki, "Loose indexscan".
 */
export const QUEUE_LANES = `recursive queue_lanes as (
  (select queue, priority from tock.job_runs_live where blocked_on is null order by queue, priority limit 1)
  union all
  select n.queue, n.priority from queue_lanes p cross join lateral (
    select r.queue, r.priority from tock.job_runs_live r
    where r.blocked_on is null and (r.queue, r.priority) > (p.queue, p.priority) order by r.queue, r.priority limit 1) n
)`;

/** The next lane, after one and before another, that has runs which wait for no slot. */
const nextBetween = (after: string, before: string) => `cross join lateral (
    select r.queue, r.priority from tock.job_runs_live r
    where r.blocked_on is null and (r.queue, r.priority) > (${after}) and (r.queue, r.priority) < (${before})
    order by r.queue, r.priority limit 1) n`;

/**
 * The run of a queue lane up to which a worker has claimed all, as far as it knows. The worker's claims start
 * after it. So they do not read the index entries of ended runs again, which stay until a vacuum, and for as
 * long as some session holds an older snapshot.
 */
export interface Watermark {
  readonly queue: string;
  readonly priority: number;
  /** The run's `run_at`, as ISO 8601 or as JSON has it. */
  readonly at: string;
  readonly id: string;
}

/** Where a lane has no more, its watermark lies so long before the last run: some commits come late. */
export const WATERMARK_MARGIN_MS = 1000;

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
 * The rows of {@link WatermarkParameters}: queue, priority, after_at, after_id; turn is their order, from 1.
 */
export const WATERMARKS = `unnest(${opaqueToPlanner('queueNames', 'text[]')}, ${opaqueToPlanner('priorities', 'integer[]')},
    ${opaqueToPlanner('times', 'timestamptz[]')}, ${opaqueToPlanner('ids', 'bigint[]')}) with ordinality as m(queue, priority, after_at, after_id, turn)`;

/**
 * As {@link QUEUE_LANES}, with the watermark of each lane: the beginning of time where there is none. A lane
 * with a watermark counts as one that has runs, and the loose index scan searches only the gaps between these
 * lanes. Names of queues begin with a letter or digit, so they sort between '' and '~'. Uses
 * {@link WatermarkParameters}.
 */
export const QUEUE_LANES_WITH_WATERMARKS = `recursive watermarks as materialized (
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
), queue_lanes as (
  select w.* from watermarks w
  union all
  select o.queue, o.priority, timestamptz '-infinity', 0 from others o
)`;

/** Whether a run comes after the watermark of its lane: a row with the columns of {@link WATERMARKS}. */
export const isAfterWatermark = (run: string, lane: string) =>
  `(${run}.run_at, ${run}.id) > (${lane}.after_at, ${lane}.after_id)`;

/** Whether a queue has a limit of its own. `queue`: its row, which may be null. */
export const isQueueLimited = (queue: string) =>
  `(${queue}.concurrency is not null or ${queue}.rate_count is not null)`;

/**
 * Whether a queue is neither paused, nor closed by a handler, nor outside of its hours. `queue`: its row,
 * which may be null. `at`: SQL for when.
 */
export function isQueueOpen(queue: string, at = 'tock.now()'): string {
  const time = `(${at} at time zone ${queue}.timezone)::time`;
  const from = `split_part(${queue}.active_window, '-', 1)`;
  const to = `split_part(${queue}.active_window, '-', 2)`;
  return `${queue}.paused_at is null and coalesce(${queue}.closed_until <= ${at}, true) and (${queue}.active_window is null or case when ${from} < ${to}
    then ${time} >= ${from}::time and ${time} < ${to}::time
    else ${time} >= ${from}::time or ${time} < ${to}::time end)`;
}

/**
 * When the hours of a queue begin, or end, next; over its row. If its clock is put forward before, by the
 * wall; if it is put back, by the span until then: it may be earlier, as the second of two equal times.
 */
function nextLocal(queue: string, part: 1 | 2): string {
  const local = `(tock.now() at time zone ${queue}.timezone)`;
  const time = `split_part(${queue}.active_window, '-', ${part})::time`;
  const next = `(${local}::date + ${time} + case when ${local}::time < ${time} then interval '0' else interval '1 day' end)`;
  return `least(${next} at time zone ${queue}.timezone, tock.now() + (${next} - ${local}))`;
}
export const opensAt = (queue: string): string => nextLocal(queue, 1);
export const closesAt = (queue: string): string => nextLocal(queue, 2);

/**
 * Whether a worker claims from a queue: the worker names it, or names none and the queue is not relayed.
 * `queue`: the queue's row, which may be null. Uses the parameter :queues, in which `default` stands for the
 * default queues of all services.
 */
export const isServed = (name: string, queue: string) =>
  `case when ${opaqueToPlanner('queues', 'text[]')} is null then ${queue}.relayed_to is null else ${isNamed(name)} end`;

/** Whether a worker that names queues, in the parameter :queues, names this one. */
export const isNamed = (name: string) =>
  `(${name} = any(:queues) or '${DEFAULT_QUEUE}' = any(:queues) and ${name} like '${OWN_QUEUE}%')`;

/**
 * Whether a claim of plain runs leaves a queue to a worker of another service: it is the default queue of
 * that, which claims from it, and this worker does not name it. Uses the parameters :queues and :ownService.
 */
export const isLeft = (name: string) =>
  `(${name} like '${OWN_QUEUE}%' and ${name} <> '${OWN_QUEUE}' || ${opaqueToPlanner('ownService', 'text')}
    and (${opaqueToPlanner('queues', 'text[]')} is null or ${name} <> all (:queues))
    and exists (select from tock.workers w where w.service = substr(${name}, ${OWN_QUEUE.length + 1}) and ${claimsFrom('w', name, 'null')}))`;

/**
 * Whether a queue's next start is later than its rate allows: then the clock was set back since, and the
 * instant does not count. A rate puts the next start one share of the period ahead; a minute more allows for
 * small corrections of the clock.
 */
export const isRateClockAhead = (queue: string) =>
  `${queue}.rate_next_at > tock.now()
    + least(${queue}.rate_period_ms, ${queue}.rate_period_ms / ${queue}.rate_count + 60000) * interval '1 millisecond'`;

/** How many slots a queue with a concurrency has left; null for a queue without one. */
export const freeQueueSlots = (queue: string) =>
  `${queue}.concurrency - (select count(*) from tock.job_slots s where s.concurrency_key = 'queue:' || ${queue}.name)`;

/**
 * CTE `open`, over {@link QUEUE_LANES}: the lanes from which runs can be claimed now, and `room`: how many
 * runs at most. Uses the parameters :queues: only these; null: all that are not relayed; and
 * :ownService, whose workers leave the default queues of others to theirs.
 *
 * Reads the first due run of each lane, not EXISTS, which the planner may turn into a join with all runs.
 *
 * @param limit SQL for the most runs that the caller wants
 * @param hasWatermarks over {@link QUEUE_LANES_WITH_WATERMARKS}, with its watermarks. In a queue with a limit
 * they do not count: runs that have long been due start when the limit lets them
 */
export function openQueueLanes(limit: string, hasWatermarks = false): string {
  const watermark = `case when ${isQueueLimited('q')} then timestamptz '-infinity' else p.after_at end`;
  const isAfter = `(r.run_at, r.id) > (${watermark}, p.after_id)`;
  return `open as materialized (
  select p.queue, p.priority, ${hasWatermarks ? `${watermark} as after_at, p.after_id, ` : ''}${isQueueLimited('q')} as is_limited,
    least(${limit}, ${freeQueueSlots('q')}) as room, count(*) over (partition by p.priority) as siblings
  from queue_lanes p left join tock.job_queues q on q.name = p.queue
  where ${mayStart('p.queue')} and ${isServed('p.queue', 'q')} and not ${isLeft('p.queue')} and ${isQueueOpen('q')}
    and (q.concurrency is null or ${freeQueueSlots('q')} > 0)
    and (q.rate_next_at is null or q.rate_count is null or q.rate_next_at <= tock.now() or ${isRateClockAhead('q')})
    and (select true from tock.job_runs_live r where ${liesIn('r', 'p')} and ${isClaimable('r')}${hasWatermarks ? ` and ${isAfter}` : ''}
      order by r.run_at, r.id limit 1)
)`;
}
