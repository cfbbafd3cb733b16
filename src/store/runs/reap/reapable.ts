// What reaping would find to do: expired leases, and what dead processes left behind. Conditions and sets
// over the CTE `queue_lanes` of queue-lanes.ts.
//
// There is no index on leases, so that claims and renewals stay HOT updates. But what is leased was due: so
// expired leases are searched among what is due in each queue lane, and future runs are never
// read.
import { HAS_ENDED_FREEZE } from '../../definitions/freeze/frozen.js';
import { liesIn } from '../claim/queue-lanes.js';
import { FAIR } from '../fair/arrive.js';
import { HAS_DECIDED } from '../hand-off/handed-off.js';
import { HAS_LEFT_OFFERS } from '../hand-off/offers.js';
import { statuses } from '../transition.js';

/** Whether a leased run's lease has expired. */
export const isLeaseExpired = (run: string) =>
  `(${run}.locked_until < tock.now() or ${run}.locked_until is null)`;

/** Whether a run of a queue lane is to be reaped. */
export const isExpired = (run: string, lane: string) =>
  `${run}.blocked_on is null and ${liesIn(run, lane)} and ${run}.run_at <= tock.now()
      and ${run}.status in (${statuses('reapToFailed')}) and ${isLeaseExpired(run)}`;

/**
 * Ids of at most ten workers that were not seen for ten minutes and hold no run. `workers` is never analyzed,
 * so the planner expects hundreds: with a NOT EXISTS over all live runs, servers with JIT compiled the
 * statement each time. Each minute it may be another ten: some of the oldest may hold long leases.
 */
export const GONE_WORKERS = `select w.id from (
    select id from tock.workers where seen_at < tock.now() - interval '10 minutes'
    order by hashtext(id::text || to_char(tock.now(), 'HH24MI')) limit 10) w
  where 0 = (select count(*) from (select from queue_lanes p cross join lateral (
    select from tock.job_runs_live r
    where r.blocked_on is null and ${liesIn('r', 'p')} and r.run_at <= tock.now()
      and r.locked_by = w.id and r.status = 'running'
    order by r.run_at, r.id limit 1) h limit 1) held)`;

/** Whether some run holds a slot, or waits for one. */
export const HAS_LIMITS = `(exists (select from tock.job_slots) or (select blocked_on from tock.job_runs_live where blocked_on < '${FAIR}'
    order by blocked_on, queue, priority, run_at, id limit 1) is not null)`;

/** Whether something that follows from ended runs has not been made yet. */
export const HAS_OUTBOX = `exists (select from tock.job_outbox)`;

/**
 * Whether something has come to its end that an operator has made: a freeze, a pause of a queue or of a
 * definition, or what was set in a queue on top of its code.
 */
export const HAS_ENDED = `(exists (select from tock.job_queues q where q.override_ends_at <= tock.now() or q.paused_until <= tock.now())
    or coalesce((select min(d.paused_until) from tock.job_definitions d where d.paused_until is not null) <= tock.now(), false) or ${HAS_ENDED_FREEZE})`;

export const NEEDS_REAPING = `(exists (select from queue_lanes p cross join lateral (
    select from tock.job_runs_live r where ${isExpired('r', 'p')}
    order by r.run_at, r.id limit 1) e)
  or exists (${GONE_WORKERS}) or ${HAS_LIMITS} or ${HAS_OUTBOX} or ${HAS_DECIDED}
  or ${HAS_ENDED} or ${HAS_LEFT_OFFERS})`;
