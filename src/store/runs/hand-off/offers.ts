// Which queues are relayed to sql, what is to be offered there, and which offers are to be taken back.
import { SQL_RELAY } from '../../../model/queue/queue-limits.js';
import { HANDED_OFF, OFFERED_UNTIL } from '../../../model/run/states.js';
import type { Session } from '../../connection/database.js';
import { statement } from '../../connection/statement.js';
import { mayStart } from '../../definitions/freeze/frozen.js';
import { isClaimable, isQueueOpen, liesIn, type Watermark } from '../claim/queue-lanes.js';
import type { Held } from '../transition.js';

/** Whether there are queues that are relayed to sql. */
export const RELAYS_TO_SQL = `exists (select from tock.job_queues q where q.relayed_to = '${SQL_RELAY}')`;

/** Whether runs of a queue may not be given out any more: it is closed in some way, or not relayed to sql. */
const isClosed = (name: string, queue: string) =>
  `(${queue}.relayed_to is distinct from '${SQL_RELAY}' or not ${mayStart(name)} or not (${isQueueOpen(queue)}))`;

/** Whether runs may be due in such a queue that is open: a few look-ups each. Needs the CTE queue_lanes. */
export const HAS_OFFERABLE = `exists (select from tock.job_queues s where not ${isClosed('s.name', 's')} and (
    exists (select from queue_lanes p cross join lateral (
      select r.id from tock.job_runs_live r where ${liesIn('r', 'p')} and ${isClaimable('r')} order by r.run_at, r.id limit 1) d where p.queue = s.name)
    or exists (select from tock.fair_keys k where k.queue = s.name and (k.is_ready or k.ready_at <= tock.now()))))`;

/** Whether runs are offered. */
export const HAS_OFFERS = 'exists (select from tock.job_offers)';

/** Whether there are offers that are to be taken back. */
export const HAS_LEFT_OFFERS = `exists (select from tock.job_offers o left join tock.job_queues q on q.name = o.queue where ${isClosed('o.queue', 'q')})`;

/** A queue, and how many more of its runs may be offered. */
export interface OfferRoom {
  readonly queue: string;
  readonly room: number;
}

const READ_ROOMS = statement<{ readonly most: number }, OfferRoom>(
  'read-offer-rooms',
  `
select q.name as queue, (:most::integer - n.count)::integer as room from tock.job_queues q
cross join lateral (select count(*) as count from tock.job_offers o where o.queue = q.name) n
where not ${isClosed('q.name', 'q')} and n.count < :most::integer order by q.name`,
);

/** The queues in which more may be offered. @param most in one queue */
export async function readOfferRooms(session: Session, most: number): Promise<OfferRoom[]> {
  return await READ_ROOMS.run(session, { most });
}

/** An offer that nobody may claim any more; its run waits for nothing else. */
export interface LeftOffer extends Held, Pick<Watermark, 'queue' | 'priority'> {
  /** When the run was due, in epoch milliseconds. */
  readonly due_ms: number;
}

const REMOVE_LEFT = statement<{ readonly limit: number }, LeftOffer>(
  'remove-left-offers',
  `
with left_over as materialized (
  select o.queue, o.priority, o.id from tock.job_offers o left join tock.job_queues q on q.name = o.queue
  where ${isClosed('o.queue', 'q')} order by o.queue, o.priority, o.id limit :limit for update of o skip locked
), removed as materialized (
  delete from tock.job_offers o using left_over l where o.queue = l.queue and o.priority = l.priority and o.id = l.id
  returning o.run_id, o.fence, o.queue, o.priority
)
select r.id::text as id, r.fence, o.queue, o.priority, (extract(epoch from coalesce(h.due_at, tock.now())) * 1000)::float8 as due_ms
from removed o left join tock.job_hand_offs h on h.run_id = o.run_id and h.fence = o.fence
left join tock.job_runs_live r on r.id = o.run_id and r.fence = o.fence and r.status = 'running' and r.locked_by = '${HANDED_OFF}'
  and r.locked_until = '${OFFERED_UNTIL}'`,
);

/**
 * Removes offers of closed queues, and returns them: their runs are to be given back in the same transaction.
 * The id is null where the run has gone another way.
 */
export async function removeLeftOffers(
  session: Session,
  limit: number,
): Promise<readonly (LeftOffer | (Omit<LeftOffer, 'id'> & { readonly id: null }))[]> {
  return await REMOVE_LEFT.run(session, { limit });
}

/** Removes offers whose runs were cancelled, or are under another fence: claims would pass over them. */
export const removeStaleOffers = statement<object, never>(
  'remove-stale-offers',
  `
delete from tock.job_offers o where (o.queue, o.priority, o.id) in (
  select s.queue, s.priority, s.id from tock.job_offers s where not exists (
    select from tock.job_runs_live r where r.id = s.run_id and r.fence = s.fence and r.status = 'running'
      and r.locked_by = '${HANDED_OFF}' and r.locked_until = '${OFFERED_UNTIL}')
  order by s.queue, s.priority, s.id limit 1000 for update of s skip locked)`,
);
