// Where runs wait for a slot under a key: in each queue some come first. Which queue can start one now,
// only claims know: it may be closed, full, or served by nobody. So no queue waits for another here.

/**
 * The run `n` that waits first for the key `key`, in the first queue of some: its limit, and its place there.
 */
const firstOf = (key: string, ofQueues = '') => `cross join lateral (
    select r.queue, r.slot_limits[array_position(r.slot_keys, ${key})] as slot_limit, r.priority, r.run_at, r.id
    from tock.job_runs_live r where r.blocked_on = ${key}${ofQueues}
    order by r.queue, r.priority, r.run_at, r.id limit 1) n`;

/**
 * Recursive CTE `places`: each queue in which runs are blocked on a key of the set `keys`, with the first
 * of them, found by a loose index scan. Of a key for which no run waits, as most are, nothing more is read.
 *
 * Nearly all keys have one queue. The planner takes each recursion for tens of rows, and servers with JIT
 * would compile a statement that looks so large each time: hence only keys that have a further queue begin
 * one, by a condition that it takes for rare.
 *
 * @param keys a set with the column `key`, in SQL
 * @param kept further columns of the set
 */
export const blockedPlaces = (keys: string, kept: readonly string[] = []) => {
  const columns = (set: string) => ['key', ...kept].map(column => `${set}.${column}`).join(', ');
  const all = [columns('p'), 'p.queue', 'p.slot_limit', 'p.priority', 'p.run_at', 'p.id'].join(', ');
  return `first_places as materialized (
  select ${columns('k')}, n.*, (select r.queue from tock.job_runs_live r where r.blocked_on = k.key order by r.queue desc limit 1) as last_queue
  from ${keys} ${firstOf('k.key')}
), further_places as (
  select ${columns('p')}, n.* from first_places p ${firstOf('p.key', ' and r.queue > p.queue')}
  where case when p.queue < p.last_queue then 1 end = 1
  union all
  select ${columns('p')}, n.* from further_places p ${firstOf('p.key', ' and r.queue > p.queue')}
), places as materialized (
  select ${all} from first_places p union all select ${all} from further_places p
)`;
};
