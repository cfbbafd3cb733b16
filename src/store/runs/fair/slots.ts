// The slots of a run that is to be inserted, with those of its fair key.

/** SQL, of a run that is to be inserted: what says its fair key, and what it needs beside that. */
interface NewRun {
  readonly queue: string;
  readonly job: string;
  readonly payload: string;
  readonly slotKeys?: string;
  readonly slotLimits?: string;
}

/**
 * To be joined where runs are inserted: their concurrency keys, as `f.keys`, and the limits of these, as
 * `f.limits`. The function is called once for each run.
 */
export const joinFairSlots = ({ queue, job, payload, slotKeys = 'null', slotLimits = 'null' }: NewRun) =>
  `cross join lateral (select tock.fair_slots(${slotKeys}, ${queue}, ${job}, ${payload}) as keys offset 0) k
  cross join lateral (select k.keys, tock.fair_limits(k.keys, ${slotLimits}) as limits) f`;
