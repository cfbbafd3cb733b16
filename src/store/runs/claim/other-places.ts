// What a worker that claims from its positions does not see: runs elsewhere, queues that have closed.
import type { Session } from '../../connection/database.js';
import { hidden, statement } from '../../connection/statement.js';
import type { ClaimPosition, QueuePriority } from './claim.js';
import {
  gapsBetween,
  isQueueLimited,
  isQueueOpen,
  isServed,
  nextBetween,
  openQueuePriorities,
} from './queue-priorities.js';

export interface OtherPlaces {
  /**
   * Open queues and priorities that have no position, no limit, and due runs; none that come after the
   * priorities with a position.
   */
  readonly places: readonly QueuePriority[];
  /** A queue with a position has closed or has a limit now, or one with a limit has due runs. */
  readonly mustRestart: boolean;
}

/** What comes after this priority in its queue is of no use: goes on with the next queue. */
const unlessLast = (priority: string) =>
  `case when ${priority} >= (select max(k.priority) from known k) then 2147483647 else ${priority} end`;

// A loose index scan between the positions, never through them: there the entries lie of all the runs that
// have just ended.
const OTHER_PLACES = statement<
  {
    readonly names: readonly string[];
    readonly priorities: readonly number[];
    readonly queues: readonly string[] | null;
  },
  OtherPlaces
>(
  'other-places',
  `
with recursive known as materialized (
  select k.queue collate "C" as queue, k.priority from unnest(${hidden('names', 'text[]')}, ${hidden('priorities', 'integer[]')}) as k(queue, priority)
), ${gapsBetween('known')}, others as (
  select n.queue, n.priority, g.before_queue, g.before_priority
  from gaps g ${nextBetween(`g.queue, ${unlessLast('g.priority')}`, 'g.before_queue, g.before_priority')}
  union all
  select n.queue, n.priority, p.before_queue, p.before_priority
  from others p ${nextBetween(`p.queue, ${unlessLast('p.priority')}`, 'p.before_queue, p.before_priority')}
), queue_priorities as (
  select o.queue, o.priority from others o where o.priority <= (select max(k.priority) from known k)
), ${openQueuePriorities('1')}
select coalesce((select jsonb_agg(jsonb_build_object('queue', o.queue, 'priority', o.priority)) from open o where not o.is_limited), '[]') as places,
  exists (select from open o where o.is_limited) or exists (select from known k join tock.job_queues q on q.name = k.queue
    where not (${isQueueOpen('q')} and ${isServed('k.queue', 'q')}) or ${isQueueLimited('q')}) as "mustRestart"`,
  { prepared: true },
);

/**
 * Reads what claims from these positions do not see, by a few index look-ups for each queue and priority.
 * Locks nothing.
 *
 * @param queues only these; null: all
 */
export async function readOtherPlaces(
  session: Session,
  positions: readonly ClaimPosition[],
  queues: readonly string[] | null,
): Promise<OtherPlaces> {
  const names = positions.map(position => position.queue);
  const priorities = positions.map(position => position.priority);
  const found = await OTHER_PLACES.first(session, { names, priorities, queues });
  return found ?? { places: [], mustRestart: true };
}
