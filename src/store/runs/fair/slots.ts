// The slots of a run that is to be inserted, with that of its fair key, on which it is blocked from the
// start.

/** SQL, of a run that is to be inserted: what says its fair key, and what it needs beside that. */
interface NewRun {
  readonly queue: string;
  readonly job: string;
  readonly payload: string;
  readonly slotKeys?: string;
  readonly slotLimits?: string;
}

/**
 * CTE `come`: the fair keys of runs that are new, or due now, are ready once this is committed. It must be
 * read.
 * @param runs a set with the column `blocked_on`
 */
export const fairRunsCome = (runs: string) => `come as (
  select tock.fair_runs_come(array_agg(distinct c.blocked_on)) from ${runs} c where c.blocked_on like '~%' having count(*) > 0
)`;

/**
 * To be joined where runs are inserted: their concurrency keys, as `f.keys`, and the limits of these, as
 * `f.limits`. The function is called once for each run.
 */
export const joinFairSlots = ({ queue, job, payload, slotKeys = 'null', slotLimits = 'null' }: NewRun) =>
  `cross join lateral (select tock.fair_slots(${slotKeys}, ${queue}, ${job}, ${payload}) as keys offset 0) k
  cross join lateral (select k.keys, tock.fair_limits(k.keys, ${slotLimits}) as limits) f`;
