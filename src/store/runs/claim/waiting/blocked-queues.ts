// The queues in which runs wait for a slot under a key, and the first such run of each. Only a claim knows
// which queue can start a run now: a queue may be closed, full, or served by nobody. So no queue waits for
// another.
import { limitUnder } from '../../../definitions/job-limits.js';

/** The first run `n` that waits for the key `key`, in the first of some queues: its limit, and its order. */
const firstOf = (key: string, ofQueues = '') => `cross join lateral (
    select r.queue, ${limitUnder(key, `r.slot_limits[array_position(r.slot_keys, ${key})]`)} as slot_limit, r.priority, r.run_at, r.id
    from tock.job_runs_live r where r.blocked_on = ${key}${ofQueues}
    order by r.queue, r.priority, r.run_at, r.id limit 1) n`;

/**
 * Recursive CTE `blocked_queues`: each queue in which runs are blocked on a key of the set `keys`, with the
 * first of these runs. A loose index scan finds them. It reads nothing more of a key for which no run waits,
 * as is the case for most.
 *
 * Nearly all keys have one queue. The planner expects tens of rows of each recursion, and a server with JIT
 * compiles a statement that looks so large each time. So only keys that have a further queue begin a
 * recursion, by a condition that the planner expects to be rare.
 *
 * @param keys a set with the column `key`, in SQL
 * @param kept further columns of the set
 */
export const blockedQueues = (keys: string, kept: readonly string[] = []) => {
  const columns = (set: string) => ['key', ...kept].map(column => `${set}.${column}`).join(', ');
  const all = [columns('p'), 'p.queue', 'p.slot_limit', 'p.priority', 'p.run_at', 'p.id'].join(', ');
  return `first_queues as materialized (
  select ${columns('k')}, n.*, (select r.queue from tock.job_runs_live r where r.blocked_on = k.key order by r.queue desc limit 1) as last_queue
  from ${keys} ${firstOf('k.key')}
), further_queues as (
  select ${columns('p')}, n.* from first_queues p ${firstOf('p.key', ' and r.queue > p.queue')}
  where case when p.queue < p.last_queue then 1 end = 1
  union all
  select ${columns('p')}, n.* from further_queues p ${firstOf('p.key', ' and r.queue > p.queue')}
), blocked_queues as materialized (
  select ${all} from first_queues p union all select ${all} from further_queues p
)`;
};
