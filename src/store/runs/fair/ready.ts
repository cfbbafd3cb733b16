// Whether there are keys to be served, and in which queues.
import { mayStart } from '../../definitions/freeze/frozen.js';
import {
  freeQueueSlots,
  isClaimable,
  isLeft,
  isQueueLimited,
  isQueueOpen,
  isServed,
} from '../claim/queue-lanes.js';
import { queueTokens } from '../claim/queue-tokens.js';
import { FAIR } from './arrive.js';

const scopesAfter = (condition: string) =>
  `select k.queue, k.job from tock.fair_keys k where k.is_ready${condition} order by k.queue, k.job limit 1`;

/**
 * CTE `ready_scopes`, recursive: the queues, and jobs in them, that have ready keys. A loose index scan:
 * there are few.
 */
export const READY_SCOPES = `ready_scopes as (
  (${scopesAfter('')})
  union all
  select n.queue, n.job from ready_scopes s cross join lateral (${scopesAfter(' and (k.queue, k.job) > (s.queue, s.job)')}) n
)`;

/** Runs that had their turn and have not started, by the index on `unblocked_on`: '0' comes after '/'. */
const standing = (queue: string) => `(select count(*) from (
    select from tock.job_runs_live r where r.unblocked_on >= '${FAIR}' || ${queue}.name || '/' and r.unblocked_on < '${FAIR}' || ${queue}.name || '0'
      and ${isClaimable('r')} limit 1000) s)`;

/**
 * How many runs of fair keys may get their turn in a queue that has a limit: no more than may start now.
 * Otherwise they would leave their keys, and wait in the order in which they came. Null: no limit.
 */
export const queueRoom = (queue: string) =>
  `case when ${isQueueLimited(queue)} then least(${freeQueueSlots(queue)}, ${queueTokens(queue)}) - ${standing(queue)} end`;

/**
 * Whether keys of a set with the column `queue` can be served here. `q`: the row of the queue, or null. Uses
 * the parameters :queues and :ownService.
 */
export const isOpenHere = (set: string) =>
  `${mayStart(`${set}.queue`)} and ${isServed(`${set}.queue`, 'q')} and not ${isLeft(`${set}.queue`)} and ${isQueueOpen('q')} and coalesce(${queueRoom('q')} > 0, true)`;

/** Over {@link READY_SCOPES}: whether a key is ready in a queue that is open. */
export const IS_FAIR_DUE = `(exists (select from ready_scopes s left join tock.job_queues q on q.name = s.queue where ${isOpenHere('s')})
  or exists (select from tock.fair_keys k left join tock.job_queues q on q.name = k.queue
    where not k.is_ready and k.ready_at <= tock.now() and ${isOpenHere('k')}))`;

/** When the next key is ready that is not yet; null: none waits for a time. */
export const NEXT_FAIR = `(select min(k.ready_at) from tock.fair_keys k where not k.is_ready and k.ready_at > tock.now())`;

/** Whether there may be fair keys, or runs of them in the outbox. */
export const HAS_FAIR = '(exists (select from tock.fair_scopes) or exists (select from tock.fair_keys))';
